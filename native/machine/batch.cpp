#include "machine/batch.hpp"

#include <cmath>

namespace arz {

namespace {

constexpr const char* kKindNames[] = {"scalars", "vectors", "matrices", "indices"};
constexpr int kMaxImage = 1 << 19;  // as text, such an image still fits into a file that the parser accepts
constexpr int kMaxDim = 4096;
constexpr std::size_t kMostKept = 4;  // programs kept in memory for each one selected: few must not keep many alive

std::string number(long long value) { return std::to_string(value); }

std::string place(int function, std::size_t line) {
  return (function == 0 ? std::string("GetAction") : "f" + number(function - 1)) + ", line " + number(line + 1) + ": ";
}

std::string check_argument(const ProgramView& program, const OpInfo& op, int slot, int value) {
  const char letter = op.slots[slot];
  const int kind = kind_number(letter);
  if (kind >= 0) {
    const bool may_be_none = op.is_call && (slot < kCallResults || slot >= kCallArguments + 2);
    if (value == kNone && may_be_none) return "";
    if (value >= program.shape->counts[kind])
      return std::string("register ") + letter + number(value) + " does not exist, the memory has " +
             number(program.shape->counts[kind]) + " " + kKindNames[kind];
  } else if (letter == 'd' && value >= program.shape->dim()) {
    return "element position " + number(value) + " is not below the dimension " + number(program.shape->dim());
  } else if (letter == 'r' && value == kNone) {
    return "random stream " + number(value) + " is not below " + number(kNone);
  } else if (letter == 'f' && value >= program.cadfs) {
    return "function f" + number(value) + " does not exist, the program has " + number(program.cadfs) + " CADFs";
  }
  return "";
}

std::string check_instruction(const ProgramView& program, int function, const Instruction& x) {
  if (x.op >= kOpCount) return "op number " + number(x.op) + " does not exist";
  const OpInfo& op = kOps[x.op];
  if (op.is_call && function != 0) return "a CADF cannot call a CADF";
  for (int slot = 0; slot < op.slot_count; ++slot)
    if (std::string what = check_argument(program, op, slot, x.args[slot]); !what.empty()) return what;
  for (int k = 0; k < op.constants; ++k)
    if (!std::isfinite(x.constants[k])) return "a constant is not finite";
  bool clean = true;
  for (int slot = op.slot_count; slot < kMaxArguments; ++slot) clean = clean && x.args[slot] == 0;
  for (int k = op.constants; k < kMaxConstants; ++k)
    clean = clean && x.constants[k] == 0 && !std::signbit(x.constants[k]);
  for (std::uint16_t value : x.unused) clean = clean && value == 0;
  return clean ? "" : std::string("an unused field of ") + op.name + " is not zero";
}

}  // namespace

Batch Batch::selected(const std::vector<std::size_t>& chosen) const {
  Batch result(shape);
  result.places_.reserve(chosen.size());
  std::vector<const Store*> used;
  for (std::size_t p : chosen) {
    const Place& place = result.places_.emplace_back(places_[p]);
    if (used.empty() || used.back() != place.store) used.push_back(place.store);
  }
  std::sort(used.begin(), used.end());
  for (const auto& store : stores_)
    if (std::binary_search(used.begin(), used.end(), store.get())) result.stores_.push_back(store);
  if (result.kept() <= kMostKept * chosen.size()) return result;
  const auto is_effective = [&](std::size_t p) { return view(p).is_effective; };
  auto own = std::make_shared<Store>(shape, std::all_of(chosen.begin(), chosen.end(), is_effective));
  for (std::size_t p : chosen) own->append(view(p));
  Batch copied(shape);
  copied.append(std::move(own));
  return copied;
}

std::string check_shape(const MemoryShape& shape, int cadfs) {
  if (shape.observations < 1 || shape.observations > kMaxDim)
    return "observations must be 1 to " + number(kMaxDim) + ", not " + number(shape.observations);
  if (shape.actions < 1 || shape.actions > kMaxDim)
    return "actions must be 1 to " + number(kMaxDim) + ", not " + number(shape.actions);
  const bool calls = cadfs > 0;
  const int least[kKinds] = {std::max(shape.actions == 1 ? kActionScalar + 1 : 0, calls ? 4 : 0),
                             shape.actions == 1 ? kObservationVector + 1 : kActionVector + 1, 0, calls ? 2 : 0};
  for (int kind = 0; kind < kKinds; ++kind)
    if (shape.counts[kind] < least[kind] || shape.counts[kind] > kMaxRegisters)
      return std::string(kKindNames[kind]) + " must be " + number(least[kind]) + " to " + number(kMaxRegisters) +
             ", not " + number(shape.counts[kind]) +
             (kind == 3 && calls ? " (CADFs take two indices)"
              : kind == 0        ? " (s3 holds a single action, CADFs take four scalars)"
              : kind == 1        ? " (v1 holds the observation, v4 several actions)"
                                 : "");
  const double image =
      shape.counts[0] + double(shape.counts[1]) * shape.dim() + double(shape.counts[2]) * shape.dim() * shape.dim();
  if (image > kMaxImage)
    return "the memory would hold " + number((long long)image) + " numbers, at most " + number(kMaxImage) +
           " are allowed";
  return "";
}

std::string check_program(const ProgramView& program) {
  for (int f = 0; f < program.function_count(); ++f)
    for (std::size_t line = 0; line < program.functions[f].size(); ++line)
      if (std::string what = check_instruction(program, f, program.functions[f][line]); !what.empty())
        return place(f, line) + what;
  for (double value : program.image)
    if (!std::isfinite(value)) return "StartEpisode: a start value is not finite";
  return "";
}

}  // namespace arz
