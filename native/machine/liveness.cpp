#include "machine/liveness.hpp"

#include "machine/interpreter.hpp"

namespace arz {

namespace {

RegisterSet without(RegisterSet a, const RegisterSet& b) {
  for (int k = 0; k < kKinds; ++k) a.bits[k] &= ~b.bits[k];
  return a;
}
RegisterSet shared(RegisterSet a, const RegisterSet& b) {
  for (int k = 0; k < kKinds; ++k) a.bits[k] &= b.bits[k];
  return a;
}

// Steps backwards over an instruction that is no call; returns whether it matters.
bool step_back(const Instruction& x, RegisterSet& live) {
  const OpInfo& op = kOps[x.op];
  if (op.outputs == 0) return false;
  const int kind = kind_number(op.slots[0]);
  if (!live.has(kind, x.args[0])) return false;
  if (!op.writes_part) live.remove(kind, x.args[0]);
  for (int slot = 1; slot < op.slot_count; ++slot)
    if (const int input = kind_number(op.slots[slot]); input >= 0) live.add(input, x.args[slot]);
  return true;
}

// `s1 < s1` never holds.
bool never_runs(const Instruction& call) { return call.args[kCallArguments] == call.args[kCallArguments + 1]; }

}  // namespace

bool Liveness::has_effect(int f) const {
  return draws_[f] || !(shared(without(entry_[f], landed_[f]), written_[f]) == RegisterSet{});
}

bool Liveness::is_pure(int f) const { return !draws_[f] && without(entry_[f], landed_[f]) == RegisterSet{}; }

void Liveness::analyse(const ProgramView& program) {
  const int functions = program.function_count();
  for (int f = 0; f < functions; ++f) {
    entry_[f] = landed_[f] = written_[f] = RegisterSet{};
    draws_[f] = needed_[f][0] = needed_[f][1] = needed_[f][2] = false;
    live_[f].assign(program.functions[f].size(), 0);
    for (const Instruction& x : program.functions[f])
      if (kOps[x.op].outputs && !kOps[x.op].is_call) written_[f].add(kind_number(kOps[x.op].slots[0]), x.args[0]);
    if (f == 0) continue;
    for (int a = 0; a < kCallArgumentCount; ++a) landed_[f].add(kind_number(kArgumentKinds[a]), kArgumentRegisters[a]);
  }
  for (const Instruction& x : program.functions[0]) {
    if (!kOps[x.op].is_call) continue;
    const int f = 1 + x.args[kCallCallee];
    for (int a = 0; a < kCallArgumentCount; ++a) {
      const int kind = kind_number(kArgumentKinds[a]), number = kArgumentRegisters[a];
      if (x.args[kCallArguments + a] == kNone)
        landed_[f].remove(kind, number);
      else
        written_[f].add(kind, number);
    }
  }
  received_.assign(program.functions[0].size(), 0);
  if (functions == 1) {
    // Lines become live by registers that they write, so only such new ones ask for another scan.
    RegisterSet known, asking;
    known.add(program.shape->action_kind(), program.shape->action_register());
    do {
      scan_get_action(program);
      asking = shared(without(entry_[0], known), written_[0]);
      known = known | entry_[0];
    } while (program.shape->stateful && !(asking == RegisterSet{}));
    return;
  }

  // All sets only grow, so this ends.
  for (bool changed = true; changed;) {
    RegisterSet before[kMaxFunctions];
    std::copy(entry_, entry_ + functions, before);
    bool needed_before[kMaxFunctions][kCallResults], draws_before[kMaxFunctions];
    std::copy(&needed_[0][0], &needed_[0][0] + functions * kCallResults, &needed_before[0][0]);
    std::copy(draws_, draws_ + functions, draws_before);
    scan_get_action(program);
    for (int f = 1; f < functions; ++f) scan_cadf(program, f);
    changed = !std::equal(entry_, entry_ + functions, before) ||
              !std::equal(draws_, draws_ + functions, draws_before) ||
              !std::equal(&needed_[0][0], &needed_[0][0] + functions * kCallResults, &needed_before[0][0]);
  }
}

void Liveness::analyse_points(const ProgramView& program) {
  const int functions = program.function_count();
  for (int f = 0; f < functions; ++f) points_[f].assign(program.functions[f].size() + 1, RegisterSet{});
  analyse(program);
  // Once more, until what matters at the start is known: start values that no line writes matter everywhere.
  keeps_points_ = true;
  RegisterSet before[kMaxFunctions];
  do {
    std::copy(entry_, entry_ + functions, before);
    scan_get_action(program);
    for (int f = 1; f < functions; ++f) scan_cadf(program, f);
  } while (!std::equal(entry_, entry_ + functions, before));
  keeps_points_ = false;
}

void Liveness::scan_get_action(const ProgramView& program) {
  const MemoryShape& shape = *program.shape;
  RegisterSet live;
  if (shape.stateful) live = entry_[0];
  live.add(shape.action_kind(), shape.action_register());
  for (std::size_t line = program.functions[0].size(); line-- > 0;) {
    if (keeps_points_) points_[0][line + 1] = live;
    const Instruction& x = program.functions[0][line];
    if (!kOps[x.op].is_call) {
      live_[0][line] = step_back(x, live);
      continue;
    }
    const int f = 1 + x.args[kCallCallee];
    received_[line] = 0;
    for (int r = 0; r < kCallResults; ++r)
      if (x.args[r] != kNone && live.has(kind_number(kResultKinds[r]), x.args[r])) received_[line] |= 1 << r;
    live_[0][line] = !never_runs(x) && (received_[line] != 0 || has_effect(f));
    if (!live_[0][line]) continue;
    for (int r = 0; r < kCallResults; ++r)
      if (received_[line] >> r & 1) needed_[f][r] = true;
    for (int a = 0; a < kCallArgumentCount; ++a) {
      const int kind = kind_number(kArgumentKinds[a]), from = x.args[kCallArguments + a];
      const bool compared = a < 2;
      if (from != kNone && (compared || entry_[f].has(kind, kArgumentRegisters[a]))) live.add(kind, from);
    }
  }
  if (keeps_points_) points_[0][0] = live;
  live.remove(1, kObservationVector);  // written before every step
  entry_[0] = entry_[0] | live;
}

void Liveness::scan_cadf(const ProgramView& program, int f) {
  RegisterSet live = without(entry_[f], landed_[f]);
  const auto results = last_written(program.functions[f]);
  for (int r = 0; r < kCallResults; ++r)
    if (needed_[f][r]) live.add(kind_number(kResultKinds[r]), results[r]);
  for (std::size_t line = program.functions[f].size(); line-- > 0;) {
    if (keeps_points_) points_[f][line + 1] = live;
    const Instruction& x = program.functions[f][line];
    live_[f][line] = step_back(x, live);
    draws_[f] = draws_[f] || (live_[f][line] && kOps[x.op].draws);
  }
  if (keeps_points_) points_[f][0] = live;
  entry_[f] = entry_[f] | live;
}

void Liveness::write_effective(const ProgramView& program, Genome& to) const {
  to.shape = *program.shape;
  for (auto& function : to.functions) function.clear();
  int renamed[kMaxFunctions];
  std::fill(renamed, renamed + kMaxFunctions, -1);
  for (std::size_t line = 0; line < program.functions[0].size(); ++line)
    if (live_[0][line] && kOps[program.functions[0][line].op].is_call)
      renamed[1 + program.functions[0][line].args[kCallCallee]] = 0;
  to.cadfs = 0;
  for (int f = 1; f < program.function_count(); ++f)
    if (renamed[f] == 0) {
      renamed[f] = ++to.cadfs;
      for (std::size_t line = 0; line < program.functions[f].size(); ++line)
        if (live_[f][line]) to.functions[renamed[f]].push_back(program.functions[f][line]);
    }
  for (std::size_t line = 0; line < program.functions[0].size(); ++line) {
    if (!live_[0][line]) continue;
    Instruction x = program.functions[0][line];
    if (kOps[x.op].is_call) {
      const int f = 1 + x.args[kCallCallee];
      for (int r = 0; r < kCallResults; ++r)
        if (!(received_[line] >> r & 1)) x.args[r] = kNone;
      for (int a = 2; a < kCallArgumentCount; ++a)
        if (!entry_[f].has(kind_number(kArgumentKinds[a]), kArgumentRegisters[a])) x.args[kCallArguments + a] = kNone;
      x.args[kCallCallee] = static_cast<std::uint16_t>(renamed[f] - 1);
    }
    to.functions[0].push_back(x);
  }
  to.image.assign(program.image.size(), 0.0);
  std::size_t first = 0;
  for (int kind = 0; kind < 3; ++kind)
    for (int number = 0; number < to.shape.counts[kind]; ++number, first += to.shape.size(kind))
      if (entry_[0].has(kind, number))
        std::copy_n(program.image.begin() + first, to.shape.size(kind), to.image.begin() + first);
}

}  // namespace arz
