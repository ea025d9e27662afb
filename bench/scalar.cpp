// The yardstick: a plain scalar interpreter of the same machine, one episode at a time, and the benchmark program
// written by hand. Both get the same optimisation flags as the core. `python -m bench` compiles and calls this.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops.generated.hpp"
#include "program.hpp"

namespace {

using namespace arz;

// Memory of one function for one episode: every register at a fixed place, no lanes, no masks.
struct ScalarFrame {
  double* numbers;
  std::int64_t* indices;
  double* scratch;
  int dim;

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
  double random(int, int stream) const { return episode_uniform(0, 0, stream); }
};

}  // namespace

// Runs GetAction (no calls) over all episodes, one after another. Layouts as in `core.run`.
extern "C" void scalar_run(const std::int32_t* sizes, const Instruction* code, std::int64_t lines, const double* image,
                           const double* observations, std::int64_t steps, std::int64_t lanes, double* actions) {
  const MemoryShape shape{sizes[0], sizes[1], {sizes[2], sizes[3], sizes[4], sizes[5]}, true};
  std::vector<Resolved> program(lines);
  for (std::int64_t line = 0; line < lines; ++line) {
    const OpInfo& op = kOps[code[line].op];
    program[line].op = code[line].op;
    std::copy_n(code[line].constants, kMaxConstants, program[line].constants);
    for (int slot = 0; slot < op.slot_count; ++slot) {
      const int kind = kind_number(op.slots[slot]), value = code[line].args[slot];
      program[line].at[slot] = kind < 0 || kind == 3 ? value : shape.image_offset(kind, value);
    }
  }
  std::vector<double> numbers(shape.image_size()), scratch(shape.size(2));
  std::vector<std::int64_t> indices(shape.counts[3]);
  const ScalarFrame frame{numbers.data(), indices.data(), scratch.data(), shape.dim()};
  double* seen = numbers.data() + shape.image_offset(1, kObservationVector);
  const double* action = numbers.data() + shape.image_offset(shape.action_kind(), shape.action_register());
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    std::copy_n(image, shape.image_size(), numbers.data());
    std::fill(indices.begin(), indices.end(), 0);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::copy_n(observations + (step * lanes + lane) * shape.observations, shape.observations, seen);
      for (const Resolved& x : program) apply<double, false>(x, frame);
      std::copy_n(action, shape.actions, actions + (step * lanes + lane) * shape.actions);
    }
  }
}

namespace {

// bench/dim4.arz and bench/dim37.arz by hand. The two differ only in the length of their vectors.
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
