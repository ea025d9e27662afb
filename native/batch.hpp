// Many packed programs side by side, of one memory shape: what a search holds and hands over.
// A Batch is valid by construction (see check_batch); inside the core there is nothing left to check.
#pragma once

#include <string>
#include <vector>

#include "ops.generated.hpp"
#include "program.hpp"

namespace arz {

// One program, opened for change. Reused from program to program without allocating.
struct Genome {
  MemoryShape shape{};
  std::vector<Instruction> functions[kMaxFunctions];
  int cadfs = 0;
  std::vector<double> image;

  void assign(const ProgramView& program) {
    shape = *program.shape;
    cadfs = program.cadfs;
    for (int f = 0; f < kMaxFunctions; ++f)
      functions[f].assign(program.functions[f].begin(), program.functions[f].end());
    image.assign(program.image.begin(), program.image.end());
  }
  ProgramView view() const {
    ProgramView result{&shape, {}, cadfs, image};
    for (int f = 0; f < kMaxFunctions; ++f) result.functions[f] = functions[f];
    return result;
  }
};

class Batch {
 public:
  Batch() = default;
  explicit Batch(const MemoryShape& memory) : shape(memory) {}

  std::size_t size() const { return cadfs.size(); }

  ProgramView view(std::size_t p) const {
    ProgramView result{&shape, {}, cadfs[p], {images.data() + p * shape.image_size(), std::size_t(shape.image_size())}};
    for (int f = 0; f < kMaxFunctions; ++f) {
      const std::size_t first = ends[p * kMaxFunctions + f], last = ends[p * kMaxFunctions + f + 1];
      result.functions[f] = {code.data() + first, last - first};
    }
    return result;
  }

  // Room for this many programs with this many instructions in all, so that appending does not move them.
  void reserve(std::size_t programs, std::size_t instructions) {
    code.reserve(instructions);
    ends.reserve(1 + programs * kMaxFunctions);
    cadfs.reserve(programs);
    images.reserve(programs * shape.image_size());
  }

  void append(const ProgramView& program) {
    for (const auto& function : program.functions) {
      code.insert(code.end(), function.begin(), function.end());
      ends.push_back(code.size());
    }
    cadfs.push_back(static_cast<std::uint8_t>(program.cadfs));
    images.insert(images.end(), program.image.begin(), program.image.end());
  }

  MemoryShape shape{};
  std::vector<Instruction> code;
  std::vector<std::size_t> ends{0};  // of each function of each program; [0] is the start
  std::vector<std::uint8_t> cadfs;
  std::vector<double> images;
};

// A sentence on what is wrong, or nothing.
std::string check_shape(const MemoryShape& shape, int cadfs);
std::string check_program(const ProgramView& program);

}  // namespace arz
