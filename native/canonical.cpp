#include "canonical.hpp"

#include "interpreter.hpp"

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

void add_function(const ProgramView& program, int f, Names& names, Hasher& hasher) {
  const MemoryShape& shape = *program.shape;
  hasher.add(program.functions[f].size());
  for (const Instruction& x : program.functions[f]) {
    const OpInfo& op = kOps[x.op];
    hasher.add(std::uint64_t(x.op));
    for (int slot = 0; slot < op.slot_count; ++slot) {
      const int kind = kind_number(op.slots[slot]), value = x.args[slot];
      if (kind < 0 || value == kNone) {
        hasher.add(std::uint64_t(value));
        continue;
      }
      const bool starts = f == 0 && kind < 3 && names.is_new(kind, value);
      hasher.add(std::uint64_t(names.of(kind, value)));
      if (!starts) continue;
      const double* start = program.image.data() + shape.image_offset(kind, value);
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
