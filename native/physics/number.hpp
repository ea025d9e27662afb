// The numbers physics is written over: `double`, one robot at a time, is the reference; `Floats`, eight robots side by
// side (sixteen where registers are that wide), is the fast one. Every operation is IEEE's, element by element, so a
// robot's numbers do not depend on those of its neighbours, and are the same on every machine.
#pragma once

#include <cmath>
#include <cstdint>

#include "machine/lanes.hpp"

namespace arz::physics {

#if defined(__AVX512F__)
inline constexpr int kFloats = 16;
#else
inline constexpr int kFloats = 8;
#endif
typedef float Floats __attribute__((vector_size(kFloats * 4)));
typedef std::int32_t FloatMask __attribute__((vector_size(kFloats * 4)));

// What goes with a number type: how many robots it holds, of what, and which truth value.
template <class Number>
struct Traits;
template <>
struct Traits<double> {
  using Element = double;
  using Mask = bool;
  static constexpr int lanes = 1;
  static constexpr double round_magic = 0x1.8p52;
};
template <>
struct Traits<Floats> {
  using Element = float;
  using Mask = FloatMask;
  static constexpr int lanes = kFloats;
  static constexpr float round_magic = 0x1.8p23f;
};
template <class Number>
using Element = typename Traits<Number>::Element;
template <class Number>
using Mask = typename Traits<Number>::Mask;

template <class Number>
ARZ_INLINE Number number(double value) {
  return static_cast<Element<Number>>(value) - Number{};
}

ARZ_INLINE double select(bool mask, double yes, double no) { return mask ? yes : no; }
ARZ_INLINE Floats select(const FloatMask& mask, const Floats& yes, const Floats& no) { return mask ? yes : no; }

// A NaN in `x` becomes a bound.
template <class Number>
ARZ_INLINE Number clamp(const Number& x, const Number& low, const Number& high) {
  const Number above = select(x > low, x, low);
  return select(above < high, above, high);
}

ARZ_INLINE double square_root(double x) { return std::sqrt(x); }
ARZ_INLINE Floats square_root(const Floats& x) {
  Floats result;
  for (int l = 0; l < kFloats; ++l) result[l] = std::sqrt(x[l]);
  return result;
}

template <class Number>
ARZ_INLINE Number inverse_root(const Number& x) {
  return Element<Number>(1) / square_root(x);
}

template <class Number>
struct SineCosine {
  Number sine, cosine;
};

// By quadrants: x = k pi/2 + r with |r| <= pi/4, then Taylor's polynomials of r, to the precision of the type. Far out
// (|x| > 10^4) digits are lost, and very far out (10^8) all meaning; no joint gets there.
template <class Number>
ARZ_INLINE SineCosine<Number> sine_cosine(const Number& x) {
  using E = Element<Number>;
  constexpr bool is_double = sizeof(E) == 8;
  // pi/2 in parts, so that k times a part is exact for k of a few thousand.
  constexpr E high = is_double ? E(0x1.921fb54400000p+0) : E(0x1.92p+0);
  constexpr E middle = is_double ? E(0x1.0b4611a626331p-34) : E(0x1.fb4p-12);
  constexpr E low = is_double ? E(0.0) : E(0x1.4442d2p-24);
  const E magic = Traits<Number>::round_magic;
  const Number k = (x * E(0.63661977236758134308) + magic) - magic;
  const Number r = ((x - k * high) - k * middle) - k * low;
  const Number y = r * r;
  Number sine, cosine;
  if constexpr (is_double) {
    sine = E(1.0 / 355687428096000.0) * y - E(1.0 / 1307674368000.0);
    sine = sine * y + E(1.0 / 6227020800.0);
    sine = sine * y - E(1.0 / 39916800.0);
    sine = sine * y + E(1.0 / 362880.0);
    cosine = E(1.0 / 20922789888000.0) * y - E(1.0 / 87178291200.0);
    cosine = cosine * y + E(1.0 / 479001600.0);
    cosine = cosine * y - E(1.0 / 3628800.0);
    cosine = cosine * y + E(1.0 / 40320.0);
  } else {
    sine = number<Number>(1.0 / 362880.0);
    cosine = number<Number>(1.0 / 40320.0);
  }
  sine = sine * y - E(1.0 / 5040.0);
  sine = sine * y + E(1.0 / 120.0);
  sine = sine * y - E(1.0 / 6.0);
  sine = r + r * (y * sine);
  cosine = cosine * y - E(1.0 / 720.0);
  cosine = cosine * y + E(1.0 / 24.0);
  cosine = (E(1.0) - E(0.5) * y) + y * y * cosine;
  // Quadrant k mod 4: odd ones swap the two, two of the four change a sign.
  const Number half = (k * E(0.5) + magic) - magic;  // k / 2, rounded to even
  const Number odd = k - half * E(2.0);              // -1, 0 or 1
  const Number quarter = (half * E(0.5) + magic) - magic;
  const Number turned = half - quarter * E(2.0);  // -1, 0 or 1: whether half is odd
  const Number sign = E(1.0) - E(2.0) * turned * turned;
  const Number cross = odd * odd;
  const auto is_odd = cross > number<Number>(0.5);
  return {sign * select(is_odd, odd * cosine, sine), sign * select(is_odd, -odd * sine, cosine)};
}

}  // namespace arz::physics
