// Where the time of a physics step goes, part by part, against the arithmetic that the part does: for `python -m bench
// physics`, which compiles and calls this. The parts are the product's own templates: over floats side by side for the
// time, over a number that counts for the arithmetic.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "physics/robots.hpp"

namespace arz::physics {
namespace {

// What is done with numbers. Changes of sign are not counted, nor what only leads from constants to constants.
struct Counts {
  double sums, products, quotients, roots;
  double choices;  // comparisons and selections
  double idle;     // sums and products, counted above, in which a constant 0 takes part
};
Counts counts;

struct Counted {
  float value = 0;
  bool is_constant = true;

  Counted() = default;
  Counted(float v, bool constant = true) : value(v), is_constant(constant) {}
  bool is(float constant) const { return is_constant && value == constant; }
};

Counted sum(const Counted& a, const Counted& b, float result) {
  if (a.is_constant && b.is_constant) return result;
  ++counts.sums;
  counts.idle += a.is(0) || b.is(0);
  return {result, false};
}
Counted operator-(const Counted& a) { return {-a.value, a.is_constant}; }
Counted operator+(const Counted& a, const Counted& b) { return sum(a, b, a.value + b.value); }
Counted operator-(const Counted& a, const Counted& b) { return b.is(0) ? a : sum(a, b, a.value - b.value); }
Counted operator*(const Counted& a, const Counted& b) {
  const float result = a.value * b.value;
  if (a.is_constant && b.is_constant) return result;
  if (a.is(1) || b.is(1)) return {result, false};
  ++counts.products;
  const bool is_zero = a.is(0) || b.is(0);
  counts.idle += is_zero;
  return {result, is_zero};
}
Counted operator/(const Counted& a, const Counted& b) { return ++counts.quotients, Counted(a.value / b.value, false); }
bool operator<(const Counted& a, const Counted& b) { return ++counts.choices, a.value < b.value; }
bool operator>(const Counted& a, const Counted& b) { return ++counts.choices, a.value > b.value; }
Counted select(bool mask, const Counted& yes, const Counted& no) {
  return ++counts.choices, Counted(mask ? yes.value : no.value, false);
}
Counted square_root(const Counted& x) { return ++counts.roots, Counted(std::sqrt(x.value), false); }

}  // namespace

template <>
struct Traits<Counted> {
  using Element = float;
  using Mask = bool;
  static constexpr int lanes = 1;
  static constexpr float round_magic = 0x1.8p23f;
};

namespace {

constexpr const char* kParts[] = {"motors", "kinematics", "bias forces", "mass matrix",
                                  "factor", "solve",      "contact",     "integrate"};
constexpr int kPartCount = std::size(kParts);

// A step of `laikago::step` in its parts, with what goes from one to the next.
template <class T>
struct Stepped {
  laikago::State<T> state;
  T target[laikago::kJoints], works[laikago::kLegs];
  laikago::Conditions<Element<T>> conditions;

  T torque[laikago::kJoints];
  laikago::Kinematics<T> k;
  laikago::Coordinates<T> change;
  laikago::Matrix<T> m;
  laikago::Factor<T> f;

  // Calls after(part) after each.
  template <class After>
  void step(int sweeps, After after) {
    laikago::motor_torques(state, target, works, torque);
    after(0);
    laikago::kinematics(state, k);
    after(1);
    laikago::bias_forces(state, k, conditions.trunk_mass, change);
    laikago::drive(torque, Element<T>(laikago::kStep), change);
    after(2);
    laikago::mass_matrix(k, conditions.trunk_mass, m);
    after(3);
    laikago::factor(m, f);
    after(4);
    laikago::solve(f, change);
    after(5);
    laikago::contact(state, k, f, sweeps, conditions.friction, change);
    after(6);
    laikago::solve_transposed(f, change);
    laikago::integrate(k, change, state);
    after(7);
  }
};

// A robot that has settled and stands.
template <class T>
Stepped<T> standing() {
  static const Robots<double> settled = [] {
    Robots<double> robots;
    robots.reserve(1);
    robots.start(0);
    return robots;
  }();
  Stepped<T> robot;
  auto* numbers = reinterpret_cast<T*>(&robot.state);
  for (int i = 0; i < laikago::kStateNumbers; ++i) numbers[i] = number<T>(settled.state(0, i));
  for (int j = 0; j < laikago::kJoints; ++j) robot.target[j] = number<T>(laikago::kNominal[j % laikago::kJointsOfLeg]);
  for (T& works : robot.works) works = number<T>(1);
  return robot;
}

#if defined(__x86_64__)
ARZ_INLINE double ticks() { return static_cast<double>(__builtin_ia32_rdtsc()); }
#else
ARZ_INLINE double ticks() { return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count()); }
#endif
double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace
}  // namespace arz::physics

using namespace arz::physics;

extern "C" const char* physics_part(int i) { return i < kPartCount ? kParts[i] : nullptr; }

// What a step of one robot does: the numbers of `Counts` for each part.
extern "C" void physics_counts(int sweeps, double* result) {
  Stepped<Counted> robot = standing<Counted>();
  auto* numbers = reinterpret_cast<Counted*>(&robot.state);
  for (int i = 0; i < laikago::kStateNumbers; ++i) numbers[i].is_constant = false;
  for (Counted& target : robot.target) target.is_constant = false;
  for (Counted& works : robot.works) works.is_constant = false;
  counts = {};
  robot.step(sweeps, [&](int part) {
    std::memcpy(result + part * sizeof(Counts) / sizeof(double), &counts, sizeof(Counts));
    counts = {};
  });
}

// Nanoseconds of a step of one robot: of each part, and of the whole step without looking at the clock in between.
// Whether both ways gave the same bits.
extern "C" bool physics_times(int sweeps, int groups, int steps, double* result) {
  std::vector<Stepped<Floats>> robots(groups, standing<Floats>()), whole = robots;
  double spent[kPartCount + 1] = {};
  const double began = seconds(), first = ticks();
  for (Stepped<Floats>& robot : robots)
    for (int s = 0; s < steps; ++s) {
      double last = ticks();
      robot.step(sweeps, [&](int part) {
        const double now = ticks();
        spent[part] += now - last;
        last = now;
      });
    }
  const double second = (ticks() - first) / (seconds() - began), start = ticks();
  for (Stepped<Floats>& robot : whole)
    for (int s = 0; s < steps; ++s) laikago::step(robot.state, robot.target, robot.works, sweeps, robot.conditions);
  spent[kPartCount] = ticks() - start;
  for (int i = 0; i <= kPartCount; ++i) result[i] = spent[i] / second * 1e9 / (groups * steps * kFloats);
  bool same = true;
  for (int g = 0; g < groups; ++g)
    same = same && std::memcmp(&robots[g].state, &whole[g].state, sizeof(laikago::State<Floats>)) == 0;
  return same;
}

// One register of the instruction set.
#if defined(__AVX512F__)
constexpr int kOfRegister = 16;
#elif defined(__AVX__)
constexpr int kOfRegister = 8;
#else
constexpr int kOfRegister = 4;
#endif
typedef float Register __attribute__((vector_size(kOfRegister * 4)));
#if defined(__x86_64__)
#define ARZ_KEEP "+x"
#else
#define ARZ_KEEP "+w"
#endif

// One of each, in this order: a core takes most where they alternate.
ARZ_INLINE void sum_and_product(Register& sum, Register& product, Register one) {
  sum += one;
  asm volatile("" : ARZ_KEEP(sum));
  product *= one;
  asm volatile("" : ARZ_KEEP(product));
}

// Floating-point operations per nanosecond of independent chains of sums and products, all in registers.
extern "C" double physics_peak() {
  constexpr int kTurns = 5000;
  Register one = 1 - Register{}, a = one, b = one, c = one, d = one, e = one, f = one, g = one;
  Register m = one, n = one, o = one, p = one, q = one, r = one, s = one;
  asm("" : ARZ_KEEP(one));
  const double began = seconds();
  for (int i = 0; i < kTurns / 8; ++i) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      sum_and_product(a, m, one), sum_and_product(b, n, one), sum_and_product(c, o, one), sum_and_product(d, p, one);
      sum_and_product(e, q, one), sum_and_product(f, r, one), sum_and_product(g, s, one);
    }
  }
  return 14.0 * kTurns * kOfRegister / ((seconds() - began) * 1e9);
}
