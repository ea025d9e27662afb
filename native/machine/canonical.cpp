#include "machine/canonical.hpp"

#include "machine/interpreter.hpp"

namespace arz {

namespace {

// New names for the registers of one function, in the order in which they are asked for.
class Names {
 public:
  Names() {
    for (auto& kind : given_) kind.fill(-1);
  }
  void fix(int kind, int number) { given_[kind][number] = kFixed + number; }
  bool is_new(int kind, int number) const { return given_[kind][number] < 0; }
  int of(int kind, int number) {
    int& name = given_[kind][number];
    if (name < 0) name = next_[kind]++;
    return name;
  }

 private:
  static constexpr int kFixed = 1000;
  std::array<std::array<int, kMaxRegisters>, kKinds> given_;
  std::array<int, kKinds> next_{};
};

// Small numbers, four to a word.
class Packer {
 public:
  explicit Packer(Hasher& hasher) : hasher_(hasher) {}
  void add(std::uint16_t number) {
    word_ |= std::uint64_t{number} << 16 * count_;
    if (++count_ == 4) flush();
  }
  void flush() {
    if (count_ > 0) hasher_.add(word_);
    word_ = count_ = 0;
  }

 private:
  Hasher& hasher_;
  std::uint64_t word_ = 0;
  int count_ = 0;
};

// Of each instruction the op and the arguments, then the start values of registers that appear for the first time, then
// the constants.
void add_function(const ProgramView& program, int f, Names& names, Hasher& hasher) {
  const MemoryShape& shape = *program.shape;
  hasher.add(std::uint64_t{program.functions[f].size()});
  for (const Instruction& x : program.functions[f]) {
    const OpInfo& op = kOps[x.op];
    int started[kMaxArguments], news = 0;  // slots of registers that appear for the first time
    Packer packer(hasher);
    packer.add(x.op);
    for (int slot = 0; slot < op.slot_count; ++slot) {
      const int kind = kind_number(op.slots[slot]), value = x.args[slot];
      if (kind < 0 || value == kNone) {
        packer.add(x.args[slot]);
        continue;
      }
      if (f == 0 && kind < 3 && names.is_new(kind, value)) started[news++] = slot;
      packer.add(static_cast<std::uint16_t>(names.of(kind, value)));
    }
    packer.flush();
    for (int n = 0; n < news; ++n) {
      const int kind = kind_number(op.slots[started[n]]);
      const double* start = program.image.data() + shape.image_offset(kind, x.args[started[n]]);
      for (int e = 0; e < shape.size(kind); ++e) hasher.add(start[e]);
    }
    for (int k = 0; k < op.constants; ++k) hasher.add(x.constants[k]);
  }
}

}  // namespace

Key program_key(const ProgramView& effective) {
  const MemoryShape& shape = *effective.shape;
  Hasher hasher;
  for (int value : {shape.observations, shape.actions, int(shape.stateful), effective.cadfs})
    hasher.add(std::uint64_t(value));
  Names main;
  main.fix(1, kObservationVector);
  main.fix(shape.action_kind(), shape.action_register());
  const double* action = effective.image.data() + shape.image_offset(shape.action_kind(), shape.action_register());
  for (int e = 0; e < shape.size(shape.action_kind()); ++e) hasher.add(action[e]);
  add_function(effective, 0, main, hasher);
  for (int f = 1; f < effective.function_count(); ++f) {
    Names own;
    for (int a = 0; a < kCallArgumentCount; ++a) own.fix(kind_number(kArgumentKinds[a]), kArgumentRegisters[a]);
    add_function(effective, f, own, hasher);
  }
  return hasher.key();
}

}  // namespace arz
