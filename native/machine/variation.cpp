#include "machine/variation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "machine/growth.hpp"

namespace arz {

namespace {

bool same(const Instruction& a, const Instruction& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

// At least one, otherwise the fraction, rounded.
int share(double fraction, int of) { return std::clamp(static_cast<int>(std::lround(fraction * of)), 1, of); }

// One of `count` values, but not the present one.
std::uint16_t draw_other(int present, int count, Stream& stream) {
  if (present >= count) return static_cast<std::uint16_t>(stream.below(count));
  return static_cast<std::uint16_t>((present + 1 + stream.below(count - 1)) % count);
}

// Calls `visit` for `count` distinct numbers below `of`, chosen at random.
template <class Visit>
void choose(int count, int of, Stream& stream, Visit visit) {
  // Selection sampling: each number is taken with the probability that keeps the count exact.
  for (int i = 0; i < of && count > 0; ++i)
    if (static_cast<int>(stream.below(of - i)) < count) {
      visit(i);
      --count;
    }
}

// A line of a function, uniform over those that `fits`; -1 where there is none.
template <class Fits>
int draw_line(const std::vector<Instruction>& code, Stream& stream, Fits fits) {
  int candidates = 0;
  for (const Instruction& x : code) candidates += fits(x);
  if (candidates == 0) return -1;
  int skip = static_cast<int>(stream.below(candidates));
  for (int line = 0;; ++line)
    if (fits(code[line]) && skip-- == 0) return line;
}

double other_constant(double value, Stream& stream) {
  double changed = value;
  while (changed == value || !std::isfinite(changed)) {
    if (value == 0.0 || !std::isfinite(changed))
      changed = stream.uniform(-1.0, 1.0);
    else if (stream.uniform() < 0.1)
      changed = -value;
    else
      changed = value * exp(true, stream.normal());
  }
  return changed;
}

// How many values a register-like argument can take; 1 or less where it cannot change.
int choices(const Genome& genome, char kind) {
  if (const int k = kind_number(kind); k >= 0) return genome.shape.counts[k];
  if (kind == 'f') return genome.cadfs;
  return kind == 'r' ? kNone : 0;  // element positions have a mutation of their own
}

int changeable_parameters(const Genome& genome, const Instruction& x) {
  const OpInfo& op = kOps[x.op];
  int count = op.constants;
  for (int slot = 0; slot < op.slot_count; ++slot) count += choices(genome, op.slots[slot]) > 1;
  return count;
}

int positions(const Instruction& x) {
  const OpInfo& op = kOps[x.op];
  return static_cast<int>(std::count(op.slots, op.slots + op.slot_count, 'd'));
}

// ---- the seven ----

bool insert_instruction(Genome& genome, int function, Stream& stream, const Sampler& sampler) {
  const Instruction x = sampler.instruction(genome, function, stream);
  auto& code = genome.functions[function];
  code.insert(code.begin() + stream.below(static_cast<std::uint32_t>(code.size() + 1)), x);
  return true;
}

bool delete_instruction(Genome& genome, int function, Stream& stream, const Sampler&) {
  auto& code = genome.functions[function];
  if (code.empty()) return false;
  code.erase(code.begin() + stream.below(static_cast<std::uint32_t>(code.size())));
  return true;
}

bool randomize_instruction(Genome& genome, int function, Stream& stream, const Sampler& sampler) {
  auto& code = genome.functions[function];
  if (code.empty()) return false;
  const std::uint32_t line = stream.below(static_cast<std::uint32_t>(code.size()));
  for (int attempt = 0; attempt < 16; ++attempt) {
    const Instruction x = sampler.instruction(genome, function, stream);
    if (same(x, code[line])) continue;
    code[line] = x;
    return true;
  }
  return false;
}

bool randomize_function(Genome& genome, int function, Stream& stream, const Sampler&) {
  auto& code = genome.functions[function];
  const auto differs = [&](const Instruction& x) { return !same(x, code.front()); };
  if (std::none_of(code.begin(), code.end(), differs)) return false;
  // Swapping in line order until something moved: the chance that a shuffle is the identity is small.
  for (bool moved = false; !moved;)
    for (std::size_t line = code.size() - 1; line > 0; --line) {
      const std::size_t other = stream.below(static_cast<std::uint32_t>(line + 1));
      moved = moved || !same(code[line], code[other]);
      std::swap(code[line], code[other]);
    }
  return true;
}

bool randomize_constants(Genome& genome, int, Stream& stream, const Sampler& sampler) {
  const MemoryShape& shape = genome.shape;
  int number = static_cast<int>(stream.below(shape.counts[0] + shape.counts[1] + shape.counts[2]));
  int kind = 0;
  while (number >= shape.counts[kind]) number -= shape.counts[kind++];
  double* values = genome.image.data() + shape.image_offset(kind, number);
  bool changed = false;
  double sigma = sampler.settings().sigma, fraction = sampler.settings().fraction;
  if (sampler.settings().decades > 0.0) {
    const double ten = 2.302585092994046;  // log(10)
    sigma *= exp(true, -ten * sampler.settings().decades * stream.uniform());
    fraction *= exp(true, -ten * sampler.settings().decades * stream.uniform());
  }
  choose(share(fraction, shape.size(kind)), shape.size(kind), stream, [&](int e) {
    const double value = values[e] + sigma * stream.normal();
    if (!std::isfinite(value)) return;
    changed = changed || value != values[e];
    values[e] = value;
  });
  return changed;
}

bool randomize_parameter(Genome& genome, int function, Stream& stream, const Sampler&) {
  auto& code = genome.functions[function];
  const int line = draw_line(code, stream, [&](const Instruction& x) { return changeable_parameters(genome, x) > 0; });
  if (line < 0) return false;
  Instruction& x = code[line];
  const OpInfo& op = kOps[x.op];
  int chosen = static_cast<int>(stream.below(changeable_parameters(genome, x)));
  if (chosen < op.constants) {
    x.constants[chosen] = other_constant(x.constants[chosen], stream);
    return true;
  }
  chosen -= op.constants;
  for (int slot = 0;; ++slot) {
    const int count = choices(genome, op.slots[slot]);
    if (count > 1 && chosen-- == 0) {
      x.args[slot] = draw_other(x.args[slot], count, stream);
      return true;
    }
  }
}

bool randomize_dim_indices(Genome& genome, int function, Stream& stream, const Sampler& sampler) {
  auto& code = genome.functions[function];
  const int dim = genome.shape.dim();
  const int line = dim > 1 ? draw_line(code, stream, [](const Instruction& x) { return positions(x) > 0; }) : -1;
  if (line < 0) return false;
  Instruction& x = code[line];
  const OpInfo& op = kOps[x.op];
  const int count = positions(x);
  choose(share(sampler.settings().fraction, count), count, stream, [&](int which) {
    for (int slot = 0; slot < op.slot_count; ++slot)
      if (op.slots[slot] == 'd' && which-- == 0) x.args[slot] = draw_other(x.args[slot], dim, stream);
  });
  return true;
}

}  // namespace

const NamedMutation kMutations[kMutationCount] = {
    {"insert_instruction", insert_instruction},       {"delete_instruction", delete_instruction},
    {"randomize_instruction", randomize_instruction}, {"randomize_function", randomize_function},
    {"randomize_constants", randomize_constants},     {"randomize_parameter", randomize_parameter},
    {"randomize_dim_indices", randomize_dim_indices}, {"grow_term", grow_term, kFewFailures},
    {"grow_call", grow_call, kFewFailures},           {"drop_term", drop_term, kFewFailures},
};

void WeightedChoice::assign(const std::vector<double>& weights) {
  // Relative to the largest, so that neither sums nor products leave the range of ordinary numbers.
  const double largest = weights.empty() ? 0.0 : *std::max_element(weights.begin(), weights.end());
  double total = 0.0;
  cumulative_.clear();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double weight = largest > 0.0 ? weights[i] / largest : 0.0;
    if (weight > 0.0) last_ = static_cast<int>(i);
    cumulative_.push_back(total += weight);
  }
}

int WeightedChoice::draw(Stream& stream) const {
  const double at = stream.uniform() * cumulative_.back();
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), at) - cumulative_.begin();
  return std::min(static_cast<int>(found), last_);
}

namespace {
// Whether an expression may contain an op: it makes a whole register of this kind from scalars, vectors and matrices,
// and a finite value from finite ones. (Indices stay where they are, and numbers inside an instruction are not tuned.)
bool can_grow(const OpInfo& op, int kind, const MemoryShape& shape) {
  const auto number = static_cast<Op>(&op - kOps);
  if (number == Op::vector_copy || number == Op::matrix_copy) return false;  // a line for nothing
  if (!op.is_tame || op.is_call || op.draws || op.writes_part || op.outputs != 1 || op.constants || op.slot_count < 2)
    return false;
  bool fits = kind_number(op.slots[0]) == kind;
  for (int slot = 0; slot < op.slot_count; ++slot) {
    const int k = kind_number(op.slots[slot]);
    fits = fits && k >= 0 && k < 3 && shape.counts[k] > 0;
  }
  return fits;
}
}  // namespace

Sampler::Sampler(const MemoryShape& shape, const VariationSettings& settings) : shape_(shape), settings_(settings) {
  if (!check_shape(shape, 1).empty()) settings_.max_cadfs = 0;  // no room for the arguments of a call
  for (int in_cadf = 0; in_cadf < 2; ++in_cadf) {
    std::vector<double> weights = settings.op_weights;
    for (int o = 0; o < kOpCount; ++o) {
      const OpInfo& op = kOps[o];
      bool possible = !op.is_call || (in_cadf == 0 && settings_.max_cadfs > 0);
      for (int slot = 0; slot < op.slot_count; ++slot)
        if (const int kind = kind_number(op.slots[slot]); kind >= 0) possible = possible && shape.counts[kind] > 0;
      if (!possible) weights[o] = 0.0;
    }
    ops_[in_cadf].assign(weights);
  }
  for (int kind = 0; kind < kKinds; ++kind) {
    std::vector<double> weights = settings.op_weights;
    for (int o = 0; o < kOpCount; ++o)
      if (!can_grow(kOps[o], kind, shape)) weights[o] = 0.0;
    growth_[kind].assign(weights);
  }
  mutations_.assign(settings.weights);
}

int Sampler::draw_growth(int kind, Stream& stream) const {
  return growth_[kind].is_possible() ? growth_[kind].draw(stream) : -1;
}

Instruction Sampler::instruction(Genome& genome, int function, Stream& stream) const {
  Instruction x{};
  x.op = static_cast<std::uint16_t>(ops_[function > 0].draw(stream));
  const OpInfo& op = kOps[x.op];
  for (int slot = 0; slot < op.slot_count; ++slot) {
    const char letter = op.slots[slot];
    if (const int kind = kind_number(letter); kind >= 0) {
      x.args[slot] = static_cast<std::uint16_t>(stream.below(shape_.counts[kind]));
    } else if (letter == 'd') {
      x.args[slot] = static_cast<std::uint16_t>(stream.below(shape_.dim()));
    } else if (letter == 'r') {
      x.args[slot] = static_cast<std::uint16_t>(stream.below(kNone));
    } else {
      const bool room = genome.cadfs < settings_.max_cadfs;
      x.args[slot] = static_cast<std::uint16_t>(stream.below(genome.cadfs + room));
      if (x.args[slot] == genome.cadfs) create_cadf(genome, stream);
    }
  }
  for (int k = 0; k < op.constants; ++k) x.constants[k] = stream.uniform(-1.0, 1.0);
  return x;
}

namespace {
int draw_length(const LengthRange& range, Stream& stream) {
  return range.least + static_cast<int>(stream.below(range.most - range.least + 1));
}
}  // namespace

void Sampler::create_cadf(Genome& genome, Stream& stream) const {
  const int f = 1 + genome.cadfs++;
  genome.functions[f].clear();
  const int length = draw_length(settings_.cadf_length, stream);
  for (int line = 0; line < length; ++line) genome.functions[f].push_back(instruction(genome, f, stream));
}

void Sampler::random_program(Genome& genome, Stream& stream) const {
  genome.shape = shape_;
  genome.cadfs = 0;
  for (auto& function : genome.functions) function.clear();
  genome.image.assign(shape_.image_size(), 0.0);
  if (settings_.initial_constants > 0.0)
    for (double& value : genome.image)
      if (settings_.density >= 1.0 || stream.uniform() < settings_.density)
        value = stream.uniform(-settings_.initial_constants, settings_.initial_constants);
  for (int c = 0; c < settings_.initial_cadfs; ++c) create_cadf(genome, stream);
  const int length = draw_length(settings_.length, stream);
  for (int line = 0; line < length; ++line) {
    const Instruction x = instruction(genome, 0, stream);
    genome.functions[0].push_back(x);
  }
}

int mutate(Genome& genome, Stream& stream, const Sampler& sampler) {
  int failed[kMutationCount] = {};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int chosen = sampler.mutations().draw(stream);
    if (chosen >= kMutationCount) return chosen;
    const int function = static_cast<int>(stream.below(1 + genome.cadfs));
    if (failed[chosen] == kMutations[chosen].most_failures) continue;
    if (kMutations[chosen].apply(genome, function, stream, sampler)) return chosen;
    ++failed[chosen];
  }
  return kNoMutation;
}

void crossover(const ProgramView& first, const ProgramView& second, Stream& stream, Genome& child) {
  if (first.cadfs == 0 || second.cadfs == 0) {
    child.assign(stream.below(2) == 0 ? first : second);
    return;
  }
  child.assign(first);
  const auto& donated = second.functions[1 + stream.below(second.cadfs)];
  child.functions[1 + stream.below(first.cadfs)].assign(donated.begin(), donated.end());
}

}  // namespace arz
