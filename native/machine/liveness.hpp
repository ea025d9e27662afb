// Which lines of a program can influence an action, now or at any later step.
//
// Memory persists, so the question is a fixed point over time: a register matters at the end of a step if
// it matters at the start of the next one. For CADFs, whose memory persists from call to call, likewise.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/batch.hpp"

namespace arz {

struct RegisterSet {
  std::uint64_t bits[kKinds] = {0, 0, 0, 0};

  bool has(int kind, int number) const { return bits[kind] >> number & 1; }
  void add(int kind, int number) { bits[kind] |= std::uint64_t{1} << number; }
  void remove(int kind, int number) { bits[kind] &= ~(std::uint64_t{1} << number); }
  bool operator==(const RegisterSet&) const = default;
  friend RegisterSet operator|(RegisterSet a, const RegisterSet& b) {
    for (int k = 0; k < kKinds; ++k) a.bits[k] |= b.bits[k];
    return a;
  }
};

class Liveness {
 public:
  void analyse(const ProgramView& program);
  // The same, and remembers what matters between any two lines.
  void analyse_points(const ProgramView& program);

  // Whether a line can influence an action.
  bool is_live(int function, std::size_t line) const { return live_[function][line]; }
  // The registers whose values matter when GetAction starts, at the first step or a later one.
  const RegisterSet& entry() const { return entry_[0]; }

  // Whether what a CADF returns follows from what every call passes, so that one more call disturbs no other.
  bool is_pure(int f) const;
  // The registers whose values matter before a line, or, with the number of lines, after the last one; known after
  // analyse_points.
  const RegisterSet& point(int function, std::size_t line) const { return points_[function][line]; }

  // The program without the lines that do not matter, `_` for what no one reads of a call, without the
  // CADFs that are never called, and with start values of zero where they do not matter.
  void write_effective(const ProgramView& program, Genome& to) const;

 private:
  void scan_get_action(const ProgramView& program);
  void scan_cadf(const ProgramView& program, int f);
  bool has_effect(int f) const;

  RegisterSet entry_[kMaxFunctions];    // matter when the function starts
  RegisterSet landed_[kMaxFunctions];   // overwritten by arguments in every call
  RegisterSet written_[kMaxFunctions];  // may be changed by a call; of GetAction: by lines that are no calls
  bool needed_[kMaxFunctions][kCallResults];
  bool draws_[kMaxFunctions];  // a live line draws random numbers
  std::vector<std::uint8_t> live_[kMaxFunctions];
  std::vector<std::uint8_t> received_;  // per line of GetAction: which results of the call matter
  bool keeps_points_ = false;
  std::vector<RegisterSet> points_[kMaxFunctions];
};

// Reused from program to program, so that nothing is allocated in between.
class EffectiveForm {
 public:
  // The program itself, if it is known to be effective; else what `Liveness` writes, until the next call.
  ProgramView of(const ProgramView& program) {
    if (program.is_effective) return program;
    liveness_.analyse(program);
    liveness_.write_effective(program, genome_);
    return genome_.view();
  }

 private:
  Liveness liveness_;
  Genome genome_;
};

}  // namespace arz
