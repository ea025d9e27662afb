// What an interpreter executes of a program: its lines, but pairs of them as one, and CADFs that read vectors of the
// caller where they are. Nothing of it changes a result.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "machine/program.hpp"

namespace arz {

// A line; or two, where the first makes a vector that only the second reads: then op is a fused one (kFusions), and
// the vector needs no room.
struct PlannedLine {
  std::uint16_t op;
  const Instruction* line;
  const Instruction* first = nullptr;
};

class Plan {
 public:
  // Line by line and with a copy of each argument, if all that is written is to be seen.
  void make(const ProgramView& program, bool is_to_be_seen);

  const std::vector<PlannedLine>& lines(int function) const { return lines_[function]; }
  // Whether argument a of a CADF stays where the caller has it: a vector that every call passes and no line writes.
  // Every call has its own form of the lines then, so there are none where that would take much room.
  bool is_by_reference(int function, int a) const { return by_reference_[function][a]; }
  bool has_references(int function) const {
    return std::any_of(by_reference_[function], by_reference_[function] + kCallArgumentCount, std::identity{});
  }

 private:
  void fuse(const ProgramView& program, int f);
  void find_references(const ProgramView& program);

  std::vector<PlannedLine> lines_[kMaxFunctions];
  std::vector<std::uint8_t> is_absorbed_;
  bool by_reference_[kMaxFunctions][kCallArgumentCount];
};

}  // namespace arz
