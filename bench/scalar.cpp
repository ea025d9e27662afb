// The yardstick: a plain scalar interpreter of the same machine, one episode at a time, without lanes, masks or dead
// code removal, and the benchmark program written by hand. The meaning of each op comes from the same generated types
// as the core's, here over plain doubles. `python -m bench` compiles and calls this, at -O2 and at -O3.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "machine/interpreter.hpp"

namespace {

using namespace arz;

// Memory of one function for one episode: every register at a fixed place, no lanes, no masks.
struct ScalarFrame {
  double* numbers;
  std::int64_t* indices;
  double* scratch;
  int dim;
  std::uint64_t key, tick;

  static constexpr int chunks = 1;
  static constexpr bool active[1] = {true};

  double scalar(std::uint32_t at, int) const { return numbers[at]; }
  VectorReader<double> vector(std::uint32_t at, int) const { return {numbers + at, 1}; }
  MatrixReader<double> matrix(std::uint32_t at, int) const { return {numbers + at, 1, dim}; }
  std::int64_t index(std::uint32_t at, int) const { return indices[at]; }
  template <bool Masked>
  Writer<double, false> writer(std::uint32_t at, int, bool) const {
    return {numbers + at, 1, dim, true};
  }
  template <bool Masked>
  void set_index(std::uint32_t at, int, bool, std::int64_t value) const {
    indices[at] = value;
  }
  Writer<double, false> scratch_writer() const { return {scratch, 1, dim, true}; }
  template <bool Masked>
  void commit(std::uint32_t at, int, bool, char kind) const {
    std::copy_n(scratch, kind == 'm' ? dim * dim : dim, numbers + at);
  }
  double random(int, int stream) const { return episode_uniform(key, tick, stream); }
};

// One case for each op.
template <class... Bodies>
void apply(OpList<Bodies...>, const Resolved& x, const ScalarFrame& frame) {
  std::uint16_t op = 0;
  ((x.op == op++ && (Bodies::template run<double, false, 0>(x, frame), true)) || ...);
}

class ScalarInterpreter {
 public:
  ScalarInterpreter(const ProgramView& program) : program_(program), shape_(*program.shape), scratch_(shape_.size(2)) {
    for (int f = 0; f < program.function_count(); ++f) {
      results_[f] = last_written(program.functions[f]);
      for (const Instruction& x : program.functions[f]) code_[f].push_back(resolve(x));
    }
  }

  void reset(std::uint64_t key) {
    for (int f = 0; f < program_.function_count(); ++f)
      frames_[f] = {nullptr, nullptr, scratch_.data(), shape_.dim(), key, 0};
    start_memory();
  }

  void act(const double* observation, double* action, bool first) {
    if (!shape_.stateful && !first) start_memory();
    double* seen = numbers_[0].data() + shape_.image_offset(1, kObservationVector);
    std::fill_n(seen, shape_.dim(), 0.0);
    std::copy_n(observation, shape_.observations, seen);
    run(0);
    std::copy_n(numbers_[0].data() + shape_.image_offset(shape_.action_kind(), shape_.action_register()),
                shape_.actions, action);
  }

 private:
  Resolved resolve(const Instruction& x) const {
    const OpInfo& op = kOps[x.op];
    Resolved result{x.op, 0, {}, {x.constants[0], x.constants[1]}};
    for (int slot = 0; slot < op.slot_count; ++slot) result.at[slot] = place(kind_number(op.slots[slot]), x.args[slot]);
    return result;
  }

  std::uint32_t place(int kind, int number) const {
    return kind < 0 || kind == 3 || number == kNone ? number : shape_.image_offset(kind, number);
  }

  void start_memory() {
    for (int f = 0; f < program_.function_count(); ++f) {
      numbers_[f].assign(shape_.image_size(), 0.0);
      indices_[f].assign(shape_.counts[3], 0);
      frames_[f].numbers = numbers_[f].data();
      frames_[f].indices = indices_[f].data();
    }
    std::copy(program_.image.begin(), program_.image.end(), numbers_[0].begin());
  }

  void run(int f) {
    const ScalarFrame frame = frames_[f];
    for (const Resolved& x : code_[f])
      if (x.op == static_cast<std::uint16_t>(Op::call))
        call(x);
      else
        apply(AllOps{}, x, frame);
    ++frames_[f].tick;
  }

  void call(const Resolved& x) {
    const ScalarFrame& main = frames_[0];
    if (!(main.numbers[x.at[kCallArguments]] < main.numbers[x.at[kCallArguments + 1]])) return;
    const int f = 1 + static_cast<int>(x.at[kCallCallee]);
    for (int a = 0; a < kCallArgumentCount; ++a)
      copy(main, x.at[kCallArguments + a], frames_[f], kind_number(kArgumentKinds[a]), kArgumentRegisters[a], false);
    run(f);
    for (int r = 0; r < kCallResults; ++r)
      copy(main, x.at[r], frames_[f], kind_number(kResultKinds[r]), results_[f][r], true);
  }

  void copy(const ScalarFrame& main, std::uint32_t at, const ScalarFrame& local, int kind, int number,
            bool back) const {
    if (at == kNone) return;
    const std::uint32_t other = place(kind, number);
    if (kind == 3)
      (back ? main.indices[at] : local.indices[other]) = back ? local.indices[other] : main.indices[at];
    else if (back)
      std::copy_n(local.numbers + other, shape_.size(kind), main.numbers + at);
    else
      std::copy_n(main.numbers + at, shape_.size(kind), local.numbers + other);
  }

  ProgramView program_;
  MemoryShape shape_;
  std::vector<double> scratch_, numbers_[kMaxFunctions];
  std::vector<std::int64_t> indices_[kMaxFunctions];
  std::vector<Resolved> code_[kMaxFunctions];
  std::array<int, kCallResults> results_[kMaxFunctions];
  ScalarFrame frames_[kMaxFunctions];
};

}  // namespace

// All episodes, one after another; episode n has the key n. Layouts as in `core.run`.
extern "C" void scalar_run(const std::int32_t* sizes, const Instruction* code, const std::int64_t* lengths,
                           std::int64_t cadfs, const double* image, const double* observations, std::int64_t steps,
                           std::int64_t lanes, double* actions) {
  const MemoryShape shape{sizes[0], sizes[1], {sizes[2], sizes[3], sizes[4], sizes[5]}, sizes[6] != 0};
  ProgramView program{&shape, {}, static_cast<int>(cadfs), {image, static_cast<std::size_t>(shape.image_size())}};
  for (int f = 0; f <= cadfs; code += lengths[f++]) program.functions[f] = {code, static_cast<std::size_t>(lengths[f])};
  ScalarInterpreter interpreter(program);
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    interpreter.reset(lane);
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t at = step * lanes + lane;
      interpreter.act(observations + at * shape.observations, actions + at * shape.actions, step == 0);
    }
  }
}

namespace {

// bench/twenty.arz by hand, for one length of vectors.
template <int dim>
struct ByHand {
  double s0, s1, s2, s3, s4, s5, s6, s7, s8, s9;
  double v2[dim], v3[dim], v4[dim], v5[dim];

  static double dot(const double* a, const double* b) {
    double sum = 0.0;
    for (int k = 0; k < dim; ++k) sum += a[k] * b[k];
    return sum;
  }

  double get_action(const double* obs) {
    s0 = s4 * s2 + s3;
    s7 = s0 + s1;
    s7 = s5 * s3 + s7;
    s8 = dot(v2, obs);
    s1 = s7 + s8;
    s2 = s6 * s1 + s0;
    for (int i = 0; i < dim; ++i) v4[i] = obs[i] - v5[i];
    for (int i = 0; i < dim; ++i) v5[i] = obs[i];
    s8 = dot(v3, v4);
    s9 = minimum(s8, s5);
    s9 = maximum(s9, s4);
    s7 = s9 * s9 + s0;
    for (int i = 0; i < dim; ++i) v4[i] = s6 * v4[i];
    for (int i = 0; i < dim; ++i) v2[i] = v2[i] + v4[i];
    s8 = arz::sqrt(dot(v2, v2));
    s8 = 1.0 / s8;
    s8 = s8 * 0.25;
    s7 = s7 - s8;
    s9 = dot(obs, v3);
    s3 = s7 + s9;
    return s3;
  }
};

template <int dim>
void hand_run(const double* image, const double* observations, std::int64_t steps, std::int64_t lanes,
              double* actions) {
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    ByHand<dim> memory{};
    std::copy_n(image, 10, &memory.s0);
    std::copy_n(image + 10 + 2 * dim, dim, memory.v2);
    std::copy_n(image + 10 + 3 * dim, dim, memory.v3);
    std::copy_n(image + 10 + 5 * dim, dim, memory.v5);
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t at = step * lanes + lane;
      actions[at] = memory.get_action(observations + at * dim);
    }
  }
}

}  // namespace

extern "C" void hand_run_4(const double* image, const double* observations, std::int64_t steps, std::int64_t lanes,
                           double* actions) {
  hand_run<4>(image, observations, steps, lanes, actions);
}
extern "C" void hand_run_37(const double* image, const double* observations, std::int64_t steps, std::int64_t lanes,
                            double* actions) {
  hand_run<37>(image, observations, steps, lanes, actions);
}
