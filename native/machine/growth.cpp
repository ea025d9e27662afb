#include "machine/growth.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "machine/interpreter.hpp"
#include "machine/liveness.hpp"

namespace arz {

namespace {

constexpr int kScalar = 0, kVector = 1, kMatrix = 2;
constexpr int kAttempts = 12;

// How likely a term is for the action and not for another register; how likely an expression looks at the observation
// and not at the last action; and how likely what else it reads is there already and not a constant of its own.
constexpr double kForAction = 0.8, kObserves = 0.75, kShares = 0.15;
// How often an expression for a vector is a vector and not a number that scales one; and how often its other lines are.
constexpr double kVectorResult = 1.0 / 4, kVectorLine = 1.0 / 3;

std::uint16_t op_number(Op op) { return static_cast<std::uint16_t>(op); }

Instruction line(Op op, std::initializer_list<int> args) {
  Instruction x{};
  x.op = op_number(op);
  std::transform(args.begin(), args.end(), x.args, [](int value) { return static_cast<std::uint16_t>(value); });
  return x;
}

// Calls `visit(kind, number, is_output)` for each register that an instruction names.
template <class Visit>
void each_register(const Instruction& x, Visit visit) {
  const OpInfo& op = kOps[x.op];
  for (int slot = 0; slot < op.slot_count; ++slot)
    if (const int kind = kind_number(op.slots[slot]); kind >= 0 && x.args[slot] != kNone)
      visit(kind, int{x.args[slot]}, slot < op.outputs);
}

bool writes(const Instruction& x, int kind, int number) {
  bool found = false;
  each_register(x, [&](int k, int n, bool is_output) { found = found || (is_output && k == kind && n == number); });
  return found;
}

// Registers that have a meaning of their own and are never free: observation, action, and what a call hands over.
RegisterSet reserved(const MemoryShape& shape, int function) {
  RegisterSet result;
  if (function == 0) {
    result.add(kVector, kObservationVector);
    result.add(shape.action_kind(), shape.action_register());
  } else {
    for (int a = 0; a < kCallArgumentCount; ++a) result.add(kind_number(kArgumentKinds[a]), kArgumentRegisters[a]);
  }
  return result;
}

// What an expression may read though no line of the function computes it: observation and action, or those arguments of
// a CADF that every call hands over.
RegisterSet given(const Genome& genome, int function) {
  RegisterSet result = reserved(genome.shape, function);
  if (function == 0) return result;
  for (const Instruction& x : genome.functions[0])
    for (int a = 0; a < kCallArgumentCount; ++a)
      if (kOps[x.op].is_call && 1 + x.args[kCallCallee] == function && x.args[kCallArguments + a] == kNone)
        result.remove(kind_number(kArgumentKinds[a]), kArgumentRegisters[a]);
  return result;
}

// Whether a CADF writes a register of a kind, and so gives one to whom calls it.
bool gives(const std::vector<Instruction>& body, int kind) {
  return std::any_of(body.begin(), body.end(), [&](const Instruction& x) {
    return kOps[x.op].outputs == 1 && kind_number(kOps[x.op].slots[0]) == kind;
  });
}

// The program without what does not matter, and what matters between its lines.
struct Clean {
  Genome genome;
  Liveness liveness;

  void assign(const ProgramView& program) {
    liveness.analyse(program);
    liveness.write_effective(program, genome);
    liveness.analyse_points(genome.view());
  }
};

Clean& clean_copy(const ProgramView& program) {
  thread_local Clean clean;
  clean.assign(program);
  return clean;
}

// Where a term is added: to a register of a kind, at a line; it is computed there or at the start of the function.
struct Target {
  int kind, number;
  std::size_t line;
};

// One term on its way into one function.
class Growth {
 public:
  Growth(Clean& clean, int function, Stream& stream, const Sampler& sampler)
      : genome_(clean.genome),
        shape_(genome_.shape),
        liveness_(clean.liveness),
        function_(function),
        stream_(stream),
        sampler_(sampler),
        given_(given(genome_, function)),
        named_(reserved(shape_, function)) {
    for (const Instruction& x : code()) each_register(x, [&](int kind, int number, bool) { named_.add(kind, number); });
  }

  // Chooses a register that the function writes and that matters then: mostly the action, or nothing else.
  bool choose_target(bool is_action = false) {
    const auto& lines = code();
    std::vector<Target> found;
    int last_action = -1;
    for (std::size_t n = 0; n < lines.size(); ++n)
      each_register(lines[n], [&](int kind, int number, bool is_output) {
        if (!is_output || kind > kMatrix || !liveness_.point(function_, n + 1).has(kind, number)) return;
        if (function_ == 0 && kind == shape_.action_kind() && number == shape_.action_register())
          last_action = static_cast<int>(found.size());
        found.push_back({kind, number, n + 1});
      });
    if (found.empty() || (is_action && last_action < 0)) return false;
    const bool wants_action = stream_.uniform() < kForAction || is_action;
    const auto any = static_cast<int>(stream_.below(static_cast<std::uint32_t>(found.size())));
    target_ = found[wants_action && last_action >= 0 ? last_action : any];
    // Anywhere after the line that writes it, as long as it is not written again and still matters.
    std::size_t last = target_.line;
    while (last < lines.size() && !writes(lines[last], target_.kind, target_.number) &&
           liveness_.point(function_, last + 1).has(target_.kind, target_.number))
      ++last;
    target_.line += stream_.below(static_cast<std::uint32_t>(last - target_.line + 1));
    // What was computed is near the target; the last action is only there at the start.
    begin_ = stream_.below(2) == 0 ? 0 : target_.line;
    look_around();
    return true;
  }

  // Chooses the action, where the function ends, for an expression that is computed where it begins.
  bool choose_end() {
    target_ = {shape_.action_kind(), shape_.action_register(), code().size()};
    look_around();
    return liveness_.point(function_, target_.line).has(target_.kind, target_.number);
  }

  // A kind of value that can be made into a term for the target.
  int draw_kind() {
    if (target_.kind == kScalar || function_ > 0) return kScalar;
    if (target_.kind == kMatrix) return kMatrix;
    return stream_.uniform() < 1 - kVectorResult * sampler_.settings().growth_vectors ? kScalar : kVector;
  }

  // Draws an expression; its value is in the register that is returned, -1 where there is none.
  int express(int kind) {
    const int length = 1 + static_cast<int>(stream_.below(sampler_.settings().growth_length));
    int previous_kind = -1, previous = -1;
    for (int n = 1; n <= length; ++n) {
      int wanted = kind;
      if (n < length && kind != kMatrix)
        wanted = stream_.uniform() < 1 - kVectorLine * sampler_.settings().growth_vectors ? kScalar : kVector;
      previous = instruction(wanted, previous_kind, previous);
      if (previous < 0) return -1;
      previous_kind = wanted;
    }
    return previous;
  }

  // Adds a value, times a fresh coefficient, to the target.
  bool add(int kind, int value) {
    const int t = target_.number;
    if (function_ > 0) return add_in_cadf(value);
    if (target_.kind == kScalar) {
      const int c = coefficient(kScalar);
      if (c < 0) return false;
      after_.push_back(line(Op::scalar_multiply_add, {t, value, c, t}));
      return true;
    }
    const int product = temporary(target_.kind);
    const bool is_scaled = target_.kind == kMatrix || (kind == kVector && stream_.below(4) == 0);
    const int c = product < 0 ? -1 : coefficient(is_scaled ? kScalar : target_.kind);
    if (c < 0) return false;
    if (target_.kind == kMatrix) {
      after_.push_back(line(Op::matrix_scale, {product, c, value}));
      after_.push_back(line(Op::matrix_add, {t, t, product}));
      return true;
    }
    if (is_scaled)
      after_.push_back(line(Op::vector_scale, {product, c, value}));
    else if (kind == kScalar)
      after_.push_back(line(Op::vector_scale, {product, value, c}));
    else
      after_.push_back(line(Op::vector_multiply, {product, value, c}));
    after_.push_back(line(Op::vector_add, {t, t, product}));
    return true;
  }

  // Puts the new lines into the function; false where a CADF would return other registers than before.
  bool insert() {
    auto& lines = genome_.functions[function_];
    std::vector<Instruction> longer = lines;
    longer.insert(longer.begin() + target_.line, after_.begin(), after_.end());
    longer.insert(longer.begin() + begin_, block_.begin(), block_.end());
    if (function_ > 0 && last_written(longer) != last_written(lines)) return false;
    lines.swap(longer);
    return true;
  }

  // Forgets the term, where it came to nothing.
  void undo() {
    for (int kind = 0; kind <= kMatrix && function_ == 0; ++kind)
      for (std::uint64_t bits = fresh_.bits[kind]; bits; bits &= bits - 1)
        std::fill_n(genome_.image.begin() + shape_.image_offset(kind, std::countr_zero(bits)), shape_.size(kind), 0.0);
    while (genome_.cadfs > cadfs_) genome_.functions[genome_.cadfs--].clear();
  }

  // ---- reflexes ----

  // A sense that fires, and a latch that remembers it and is returned; -1 where there is no room. While a latch that
  // was there before is open it stays as it is.
  int latch(Reflex& reflex) {
    reflex = {constant(kVector), constant(kScalar), state(kScalar)};
    const int fired = temporary(kScalar);
    if (reflex.sense < 0 || reflex.threshold < 0 || reflex.latch < 0 || fired < 0) return -1;
    block_.push_back(line(Op::vector_dot, {fired, reflex.sense, kObservationVector}));
    block_.push_back(line(Op::scalar_add, {fired, fired, reflex.threshold}));
    block_.push_back(line(Op::scalar_heaviside, {fired, fired}));
    for (const int other : latches()) block_.push_back(line(Op::scalar_subtract, {fired, fired, other}));
    block_.push_back(line(Op::scalar_maximum, {reflex.latch, reflex.latch, fired}));
    return reflex.latch;
  }

  // A value, times another; -1 where there is no room.
  int times(int value, int gate) {
    const int product = value < 0 ? -1 : temporary(kScalar);
    if (product >= 0) block_.push_back(line(Op::scalar_multiply, {product, value, gate}));
    return product;
  }

  // ---- calls ----

  // A conditional call whose result, of the target's kind, is kept in a register of its own.
  int call(int kind) {
    const int sense = express(kScalar), threshold = sense < 0 ? -1 : constant(kScalar);
    const int result = threshold < 0 ? -1 : state(kind);
    if (result < 0) return -1;
    std::uint64_t reusable = 0;
    for (int f = 0; f < genome_.cadfs; ++f)
      if (liveness_.is_pure(1 + f) && gives(genome_.functions[1 + f], kind)) reusable |= std::uint64_t{1} << f;
    int callee = genome_.cadfs;
    const bool has_room = callee < sampler_.settings().max_cadfs;
    if (reusable && (!has_room || stream_.below(2) == 0)) {
      callee = one_of(reusable);
    } else if (!has_room || !grow_body(kind)) {
      return -1;
    }
    Instruction x{};
    x.op = op_number(Op::call);
    for (int slot = 0; slot < kCallResults; ++slot) x.args[slot] = kNone;
    x.args[kind == kScalar ? 0 : 1] = static_cast<std::uint16_t>(result);
    x.args[kCallCallee] = static_cast<std::uint16_t>(callee);
    const bool is_above = stream_.below(2) == 0;
    int given[kCallArgumentCount] = {is_above ? threshold : sense,
                                     is_above ? sense : threshold,
                                     source(kScalar),
                                     source(kScalar),
                                     beginning(kVector),
                                     source(kVector),
                                     kNone,
                                     kNone};
    for (int a = 0; a < kCallArgumentCount; ++a) {
      if (given[a] < 0) return -1;
      x.args[kCallArguments + a] = static_cast<std::uint16_t>(given[a]);
    }
    block_.push_back(x);
    return result;
  }

 private:
  const std::vector<Instruction>& code() const { return genome_.functions[function_]; }

  // Registers that remember that something fired: they become the larger of themselves and of what is 0 or 1.
  std::vector<int> latches() const {
    const auto& lines = code();
    std::vector<int> found;
    for (std::size_t n = 0; n < lines.size(); ++n) {
      if (lines[n].op != op_number(Op::scalar_maximum) || lines[n].args[0] != lines[n].args[1]) continue;
      const int fired = lines[n].args[2];
      for (std::size_t before = n; before-- > 0;) {
        const Instruction& x = lines[before];
        if (!writes(x, kScalar, fired)) continue;
        if (x.op == op_number(Op::scalar_heaviside)) found.push_back(lines[n].args[0]);
        if (x.op != op_number(Op::scalar_subtract) || x.args[1] != fired) break;
      }
    }
    return found;
  }

  // Notes what is busy and what is known where the term is computed.
  void look_around() {
    const auto& lines = code();
    for (std::size_t n = begin_; n <= target_.line; ++n) busy_ = busy_ | liveness_.point(function_, n);
    for (std::size_t n = begin_; n < target_.line; ++n)
      each_register(lines[n], [&](int kind, int number, bool is_output) {
        if (is_output) busy_.add(kind, number);
      });
    known_ = liveness_.point(function_, begin_) | given_;
    for (std::size_t n = 0; n < begin_; ++n)
      each_register(lines[n], [&](int kind, int number, bool is_output) {
        if (is_output) {
          known_.add(kind, number);
          computed_.add(kind, number);
        }
      });
  }

  // ---- registers ----

  // A register that the function does not name; from now on it does.
  int fresh(int kind) {
    for (int number = 0; number < shape_.counts[kind]; ++number)
      if (!named_.has(kind, number)) {
        named_.add(kind, number);
        busy_.add(kind, number);
        fresh_.add(kind, number);
        return number;
      }
    return -1;
  }

  // One whose value nobody misses while the term is computed.
  int temporary(int kind) {
    const RegisterSet fixed = reserved(shape_, function_);
    for (int number = 0; number < shape_.counts[kind]; ++number)
      if (named_.has(kind, number) && !busy_.has(kind, number) && !fixed.has(kind, number)) {
        busy_.add(kind, number);
        return number;
      }
    return fresh(kind);
  }

  // One that begins every episode with zeros and is remembered.
  int state(int kind) {
    const int number = fresh(kind);
    if (number >= 0 && function_ == 0 && kind <= kMatrix) fill(kind, number, 0.0);
    return number;
  }

  int constant(int kind) {
    if (function_ > 0) return -1;  // all memory of a CADF begins with zeros
    const int number = fresh(kind);
    if (number < 0) return -1;
    const double most = sampler_.settings().growth_constants;
    fill(kind, number, most);
    if (kind == kScalar) {                   // of all sizes: as likely small as large
      const double ten = 2.302585092994046;  // log(10)
      const double size = most * exp(true, ten * stream_.uniform(-1.0, 1.0));
      genome_.image[shape_.image_offset(kScalar, number)] = stream_.below(2) == 0 ? size : -size;
    }
    return number;
  }

  int coefficient(int kind) {
    const int number = fresh(kind);
    if (number >= 0) fill(kind, number, sampler_.settings().growth_coefficient);
    return number;
  }

  void fill(int kind, int number, double most) {
    double* values = genome_.image.data() + shape_.image_offset(kind, number);
    for (int e = 0; e < shape_.size(kind); ++e) values[e] = most > 0.0 ? stream_.uniform(-most, most) : 0.0;
  }

  // ---- expressions ----

  // What an expression begins with: the observation or the last action; of other kinds, what was computed before, or
  // nothing (-1). In a CADF, an argument.
  int beginning(int kind) {
    if (function_ > 0) return given_.bits[kind] ? one_of(given_.bits[kind]) : -1;
    const RegisterSet fixed = reserved(shape_, function_);
    const bool observes = stream_.uniform() < kObserves;
    if (kind == kVector && (observes || shape_.action_kind() != kVector)) return kObservationVector;
    if (kind == shape_.action_kind() && !observes) return shape_.action_register();
    const std::uint64_t computed = computed_.bits[kind] & ~fixed.bits[kind];
    return computed ? one_of(computed) : -1;
  }

  // What else it reads: mostly a new constant, else anything that is known there. -1 where there is nothing.
  int source(int kind) {
    if (function_ == 0 && (stream_.uniform() >= kShares || !known_.bits[kind])) return constant(kind);
    return known_.bits[kind] ? one_of(known_.bits[kind]) : -1;
  }

  // What a line reads beside the value before: sometimes an expression of one line, which looks at something itself.
  int other_source(int kind) {
    const double branches = is_branch_ ? 0.0 : sampler_.settings().growth_branches;
    if (branches == 0.0 || !sampler_.has_growth(kind) || stream_.uniform() >= branches) return source(kind);
    is_branch_ = true;
    const int value = instruction(kind, -1, -1);
    is_branch_ = false;
    return value;
  }

  int one_of(std::uint64_t bits) {
    int skip = static_cast<int>(stream_.below(std::popcount(bits)));
    while (skip-- > 0) bits &= bits - 1;
    return std::countr_zero(bits);
  }

  // One instruction more, which reads the previous value if there is one; where its value is, or -1.
  int instruction(int kind, int previous_kind, int previous) {
    const bool remembers = shape_.stateful && stream_.uniform() < sampler_.settings().growth_memory;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const int o = sampler_.draw_growth(kind, stream_);
      if (o < 0) return -1;
      const OpInfo& op = kOps[o];
      if (remembers && op.keeps == 0) continue;
      const int itself = remembers ? one_of(op.keeps) : -1;
      int fitting = 0, vectors = 0, all = 0;  // slots that can read the previous value; vectors; all: a bit for each
      for (int slot = 1; slot < op.slot_count; ++slot) {
        if (slot == itself) continue;
        const int k = kind_number(op.slots[slot]);
        all |= 1 << slot;
        if (k == previous_kind) fitting |= 1 << slot;
        if (k == kVector) vectors |= 1 << slot;
      }
      if (previous_kind >= 0) {
        if (fitting == 0) continue;
        return emit(o, kind, one_of(fitting), previous, itself);
      }
      // The first looks at something, or is a clock.
      const int looking = all == 0 ? -1 : one_of(vectors ? vectors : all);
      int first = looking < 0 ? -1 : beginning(kind_number(op.slots[looking]));
      if (remembers && op.adds && vectors == 0 && stream_.below(2) == 0) first = -1;
      if (first < 0 && !(remembers && op.adds)) continue;
      return emit(o, kind, first < 0 ? -1 : looking, first, itself);
    }
    return -1;
  }

  // An instruction that reads a given register in one slot, itself in another, and whatever is drawn in the rest.
  int emit(int o, int kind, int chained, int previous, int itself) {
    const OpInfo& op = kOps[o];
    Instruction x{};
    x.op = static_cast<std::uint16_t>(o);
    const int destination = itself >= 0 ? state(kind) : temporary(kind);
    if (destination < 0) return -1;
    x.args[0] = static_cast<std::uint16_t>(destination);
    for (int slot = 1; slot < op.slot_count; ++slot) {
      const int from = slot == chained  ? previous
                       : slot == itself ? destination
                                        : other_source(kind_number(op.slots[slot]));
      if (from < 0) return -1;
      for (int other = 1; other < slot; ++other)
        if (x.args[other] == from && op.slots[other] == op.slots[slot]) return -1;
      x.args[slot] = static_cast<std::uint16_t>(from);
    }
    block_.push_back(x);
    return destination;
  }

  // In a CADF there are no start values: the coefficient is in the instruction.
  bool add_in_cadf(int value) {
    const int scaled = temporary(kScalar), t = target_.number;
    if (scaled < 0 || target_.kind == kMatrix) return false;
    Instruction x = line(Op::scalar_scale, {scaled, value});
    const double most = sampler_.settings().growth_coefficient;
    x.constants[0] = most > 0.0 ? stream_.uniform(-most, most) : 0.0;
    after_.push_back(x);
    if (target_.kind == kScalar) {
      after_.push_back(line(Op::scalar_add, {t, t, scaled}));
      return true;
    }
    const int along = source(kVector), product = along < 0 ? -1 : temporary(kVector);
    if (product < 0) return false;
    after_.push_back(line(Op::vector_scale, {product, scaled, along}));
    after_.push_back(line(Op::vector_add, {t, t, product}));
    return true;
  }

  // A new CADF whose last line gives a value of a kind.
  bool grow_body(int kind) {
    Clean body;
    body.genome.shape = shape_;
    body.genome.image.assign(genome_.image.size(), 0.0);
    Growth inside(body, 1, stream_, sampler_);
    inside.known_ = inside.given_;
    if (inside.express(kind) < 0) return false;
    genome_.functions[++genome_.cadfs] = inside.block_;
    return true;
  }

  Genome& genome_;
  const MemoryShape shape_;
  const Liveness& liveness_;
  int function_;
  Stream& stream_;
  const Sampler& sampler_;
  const int cadfs_ = genome_.cadfs;  // before the term
  const RegisterSet given_;          // hold something before the function begins
  RegisterSet named_;                // by the function; from now on also by the term
  RegisterSet fresh_;                // by the term alone
  RegisterSet busy_;                 // hold something while the term is computed
  RegisterSet known_, computed_;     // hold something where the expression is computed; by a line of this step
  Target target_{};
  std::size_t begin_ = 0;   // where the expression is computed
  bool is_branch_ = false;  // whether the line that is drawn is read beside the value before another one
  std::vector<Instruction> block_, after_;
};

// ---- terms that are there ----

// Whether a line adds something to its own destination; `added` is the kind and number of what it adds.
bool is_term(const Instruction& x, int& kind, int& added) {
  const OpInfo& op = kOps[x.op];
  switch (static_cast<Op>(x.op)) {
    case Op::scalar_add:
    case Op::vector_add:
    case Op::matrix_add:
      kind = kind_number(op.slots[0]);
      if (x.args[1] == x.args[2] || (x.args[0] != x.args[1] && x.args[0] != x.args[2])) return false;
      added = x.args[0] == x.args[1] ? x.args[2] : x.args[1];
      return true;
    case Op::scalar_multiply_add:
      kind = kScalar;
      added = x.args[2];
      return x.args[3] == x.args[0] && x.args[1] != x.args[0] && x.args[2] != x.args[0];
    default:
      return false;
  }
}

// The mean size of the start values with which a term is weighed: those of what it reads, or what that is made of.
double coefficient_size(const Genome& genome, std::size_t at) {
  const auto& lines = genome.functions[0];
  int kind = 0, added = 0;
  is_term(lines[at], kind, added);
  double total = 0.0;
  int count = 0;
  const auto weigh = [&](int k, int number, bool is_output) {
    if (is_output || k > kMatrix) return;
    for (const Instruction& x : lines)
      if (writes(x, k, number)) return;
    if (k == kVector && number == kObservationVector) return;
    const double* values = genome.image.data() + genome.shape.image_offset(k, number);
    for (int e = 0; e < genome.shape.size(k); ++e, ++count) total += std::abs(values[e]);
  };
  each_register(lines[at], weigh);
  for (std::size_t n = at; n-- > 0 && count == 0;)
    if (writes(lines[n], kind, added)) {
      each_register(lines[n], weigh);
      break;
    }
  return count == 0 ? HUGE_VAL : total / count;
}

std::vector<std::size_t> terms(const std::vector<Instruction>& lines) {
  std::vector<std::size_t> found;
  int kind = 0, added = 0;
  for (std::size_t n = 0; n < lines.size(); ++n)
    if (is_term(lines[n], kind, added)) found.push_back(n);
  return found;
}

}  // namespace

void smallest_program(const MemoryShape& shape, Genome& genome) {
  genome.shape = shape;
  genome.cadfs = 0;
  for (auto& function : genome.functions) function.clear();
  genome.image.assign(shape.image_size(), 0.0);
  const int action = shape.action_register();
  if (shape.action_kind() == kScalar)
    genome.functions[0].push_back(line(Op::scalar_zero, {action}));
  else if (shape.counts[kVector] > action + 1)
    genome.functions[0].push_back(line(Op::vector_copy, {action, action + 1}));
  else
    genome.functions[0].push_back(line(Op::vector_zero, {action}));
}

namespace {
// Tries to grow until it works: `make` gives the kind and the register of a value, or -1.
template <class Make>
bool grow(Genome& genome, int function, Stream& stream, const Sampler& sampler, Make make) {
  Clean& clean = clean_copy(genome.view());
  if (function >= clean.genome.view().function_count()) return false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Growth growth(clean, function, stream, sampler);
    if (!growth.choose_target()) return false;
    const int kind = growth.draw_kind(), value = make(growth, kind);
    if (value >= 0 && growth.add(kind, value) && growth.insert()) {
      std::swap(genome, clean.genome);
      return true;
    }
    growth.undo();
  }
  return false;
}
}  // namespace

bool grow_term(Genome& genome, int function, Stream& stream, const Sampler& sampler) {
  return grow(genome, function, stream, sampler, [](Growth& growth, int kind) { return growth.express(kind); });
}

bool grow_call(Genome& genome, int, Stream& stream, const Sampler& sampler) {
  if (sampler.settings().max_cadfs == 0) return false;
  return grow(genome, 0, stream, sampler,
              [](Growth& growth, int kind) { return kind == kMatrix ? -1 : growth.call(kind); });
}

bool grow_reflex(Genome& genome, int terms, Stream& stream, const Sampler& sampler, Reflex& reflex) {
  Genome grown = genome;
  const auto add = [&](bool is_first) {
    Clean& clean = clean_copy(grown.view());
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      Growth growth(clean, 0, stream, sampler);
      if (!(is_first ? growth.choose_end() : growth.choose_target(true))) return false;
      const int value = is_first ? growth.latch(reflex) : growth.times(growth.express(kScalar), reflex.latch);
      if (value >= 0 && growth.add(kScalar, value) && growth.insert()) {
        std::swap(grown, clean.genome);
        return true;
      }
      growth.undo();
    }
    return false;
  };
  for (int term = 0; term < terms; ++term)
    if (!add(term == 0)) return false;
  std::swap(genome, grown);
  return true;
}

bool drop_term(Genome& genome, int function, Stream& stream, const Sampler&) {
  Clean& clean = clean_copy(genome.view());
  if (function >= clean.genome.view().function_count()) return false;
  auto& lines = clean.genome.functions[function];
  std::vector<std::size_t> found = terms(lines);
  if (function > 0)  // what it returns is the same register as before
    std::erase_if(found, [&](std::size_t n) {
      std::vector<Instruction> shorter = lines;
      shorter.erase(shorter.begin() + n);
      return last_written(shorter) != last_written(lines);
    });
  if (found.empty()) return false;
  const auto draw = [&] { return found[stream.below(static_cast<std::uint32_t>(found.size()))]; };
  const std::size_t one = draw(), other = draw();
  const bool is_other = function == 0 && coefficient_size(clean.genome, other) < coefficient_size(clean.genome, one);
  lines.erase(lines.begin() + (is_other ? other : one));
  clean.assign(Genome(clean.genome).view());
  std::swap(genome, clean.genome);
  return true;
}

bool transplant(const ProgramView& first, const ProgramView& second, Stream& stream, Genome& child) {
  child.assign(first);
  thread_local Clean donor;
  donor.assign(second);
  const auto& lines = donor.genome.functions[0];
  const std::vector<std::size_t> found = terms(lines);
  if (found.empty()) return false;
  const std::size_t chosen = found[stream.below(static_cast<std::uint32_t>(found.size()))];
  const MemoryShape& shape = *first.shape;
  int kind = 0, added = 0;
  is_term(lines[chosen], kind, added);
  const bool is_action = kind == shape.action_kind() && lines[chosen].args[0] == shape.action_register();
  if (!is_action) return false;

  // What the term is computed from, in this step or an earlier one; the action is the child's own.
  const RegisterSet fixed = reserved(shape, 0);
  RegisterSet needed;
  each_register(lines[chosen], [&](int k, int number, bool is_output) {
    if (!is_output && !fixed.has(k, number)) needed.add(k, number);
  });
  std::vector<bool> taken(lines.size());
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t n = 0; n < lines.size(); ++n) {
      if (taken[n] || n == chosen) continue;
      bool matters = false;
      each_register(lines[n], [&](int k, int number, bool is_output) {
        matters = matters || (is_output && needed.has(k, number));
      });
      if (!matters) continue;
      if (kOps[lines[n].op].is_call) return false;
      taken[n] = changed = true;
      each_register(lines[n], [&](int k, int number, bool) {
        if (!fixed.has(k, number)) needed.add(k, number);
      });
    }
  }

  Clean& clean = clean_copy(first);
  RegisterSet named = fixed;
  for (const Instruction& x : clean.genome.functions[0])
    each_register(x, [&](int k, int number, bool) { named.add(k, number); });
  int renamed[kKinds][kMaxRegisters];
  for (int k = 0; k < kKinds; ++k) {
    int next = 0;
    for (int number = 0; number < shape.counts[k]; ++number) {
      renamed[k][number] = number;
      if (!needed.has(k, number)) continue;
      while (next < shape.counts[k] && named.has(k, next)) ++next;
      if (next == shape.counts[k]) return false;  // no room
      renamed[k][number] = next++;
      if (k <= kMatrix)
        std::copy_n(donor.genome.image.begin() + shape.image_offset(k, number), shape.size(k),
                    clean.genome.image.begin() + shape.image_offset(k, renamed[k][number]));
    }
  }
  const auto moved = [&](Instruction x) {
    const OpInfo& op = kOps[x.op];
    for (int slot = 0; slot < op.slot_count; ++slot)
      if (const int k = kind_number(op.slots[slot]); k >= 0)
        x.args[slot] = static_cast<std::uint16_t>(renamed[k][x.args[slot]]);
    return x;
  };
  // Lines that read the last action stand before the action is set.
  std::size_t border = 0;
  while (border < lines.size() && !writes(lines[border], shape.action_kind(), shape.action_register())) ++border;
  auto& own = clean.genome.functions[0];
  std::vector<Instruction> early, late;
  for (std::size_t n = 0; n < lines.size(); ++n)
    if (taken[n] || n == chosen) (n < border ? early : late).push_back(moved(lines[n]));
  own.insert(own.begin(), early.begin(), early.end());
  own.insert(own.end(), late.begin(), late.end());
  std::swap(child, clean.genome);
  return true;
}

}  // namespace arz
