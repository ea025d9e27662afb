#include "machine/plan.hpp"

#include "machine/interpreter.hpp"

namespace arz {

namespace {

constexpr std::size_t kMostForms = 1 << 13;  // lines of a CADF, times its calls

bool writes(const Instruction& x, char kind, int number) {
  const OpInfo& op = kOps[x.op];
  for (int slot = 0; slot < op.outputs; ++slot)
    if (op.slots[slot] == kind && x.args[slot] == number) return true;
  return false;
}
bool reads(const Instruction& x, char kind, int number) {
  const OpInfo& op = kOps[x.op];
  for (int slot = op.outputs; slot < op.slot_count; ++slot)
    if (op.slots[slot] == kind && x.args[slot] == number) return true;
  return op.writes_part && writes(x, kind, number);
}

// Whether what a vector holds after a line is never read: the lines after it, then those of the next time.
bool is_dead_after(std::span<const Instruction> code, std::size_t line, int number) {
  if (writes(code[line], 'v', number)) return true;
  for (std::size_t ahead = 1; ahead <= code.size(); ++ahead) {
    const Instruction& x = code[(line + ahead) % code.size()];
    if (reads(x, 'v', number)) return false;
    if (!kOps[x.op].is_call && writes(x, 'v', number)) return true;
  }
  return true;
}

}  // namespace

void Plan::make(const ProgramView& program, bool is_to_be_seen) {
  for (int f = 0; f < program.function_count(); ++f) {
    lines_[f].clear();
    for (bool& each : by_reference_[f]) each = false;
    if (is_to_be_seen)
      for (const Instruction& x : program.functions[f]) lines_[f].push_back({x.op, &x});
    else
      fuse(program, f);
  }
  if (!is_to_be_seen) find_references(program);
}

void Plan::fuse(const ProgramView& program, int f) {
  const std::span<const Instruction> code = program.functions[f];
  // What is read when the function is done: the action, or a result.
  const int kept = f > 0                               ? last_written(code)[1]
                   : program.shape->action_kind() == 1 ? program.shape->action_register()
                                                       : -1;
  is_absorbed_.assign(code.size(), false);
  for (std::size_t line = 0; line < code.size(); ++line) {
    const Instruction& x = code[line];
    PlannedLine planned{x.op, &x};
    for (std::size_t n = 0; n < std::size(kFusions) && planned.first == nullptr; ++n) {
      const Fusion& fusion = kFusions[n];
      const int made = x.args[fusion.slot];
      if (x.op != static_cast<std::uint16_t>(fusion.second) || (made == kept && !writes(x, 'v', made))) continue;
      int readers = 0;
      for (int slot = 1; slot < kOps[x.op].slot_count; ++slot)
        readers += kOps[x.op].slots[slot] == 'v' && x.args[slot] == made;
      if (readers != 1 || !is_dead_after(code, line, made)) continue;
      // The line that makes the vector, if what it reads is still the same here and nobody else reads the vector.
      for (std::size_t before = line; before-- > 0;) {
        const Instruction& other = code[before];
        if (!writes(other, 'v', made)) {
          if (reads(other, 'v', made)) break;
          continue;
        }
        const OpInfo& op = kOps[other.op];
        bool is_same = other.op == static_cast<std::uint16_t>(fusion.first);
        for (int slot = 1; slot < op.slot_count; ++slot)
          for (std::size_t between = before; between < line; ++between)
            is_same = is_same && !writes(code[between], op.slots[slot], other.args[slot]);
        if (is_same) {
          planned = {static_cast<std::uint16_t>(kOpCount + n), &x, &other};
          is_absorbed_[before] = true;
        }
        break;
      }
    }
    lines_[f].push_back(planned);
  }
  std::size_t line = 0;
  std::erase_if(lines_[f], [&](const PlannedLine&) { return is_absorbed_[line++]; });
}

void Plan::find_references(const ProgramView& program) {
  const std::span<const Instruction> main = program.functions[0];
  for (int f = 1; f < program.function_count(); ++f) {
    const auto calls_it = [&](const Instruction& x) { return kOps[x.op].is_call && 1 + x.args[kCallCallee] == f; };
    const std::size_t calls = std::count_if(main.begin(), main.end(), calls_it);
    for (int a = 0; a < kCallArgumentCount; ++a) {
      bool is_one = kArgumentKinds[a] == 'v' && calls * program.functions[f].size() <= kMostForms;
      for (const Instruction& x : program.functions[f])
        is_one = is_one && !writes(x, kArgumentKinds[a], kArgumentRegisters[a]);
      for (const Instruction& x : main) is_one = is_one && !(calls_it(x) && x.args[kCallArguments + a] == kNone);
      by_reference_[f][a] = is_one;
    }
  }
}

}  // namespace arz
