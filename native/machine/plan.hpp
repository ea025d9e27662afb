// What an interpreter executes of a program: its lines, but pairs of them as one, and CADFs that read vectors of the
// caller where they are. Nothing of it changes a result.
#pragma once

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
  bool is_by_reference(int function, int a) const { return by_reference_[function][a]; }

 private:
  void fuse(const ProgramView& program, int f);
  void find_references(const ProgramView& program);

  std::vector<PlannedLine> lines_[kMaxFunctions];
  std::vector<std::uint8_t> is_absorbed_;
  bool by_reference_[kMaxFunctions][kCallArgumentCount];
};

}  // namespace arz
