// The elementary functions that programs use, to the last bit the same on every machine and in every build.
//
// Only additions, multiplications, divisions and square roots of doubles, which IEEE defines exactly, and work on the
// bits of a number. Written once over X: a double, or a vector register of lanes. src/arz/elementary.py has the same
// formulas with their explanations, and is the reference.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "machine/lanes.hpp"

namespace arz::elementary {

// As Part and IntegerPart, but without leave to alias, which template arguments cannot have.
typedef double Vector __attribute__((vector_size(kPart * 8)));
typedef std::int64_t IntegerVector __attribute__((vector_size(kPart * 8)));
typedef std::uint64_t UnsignedVector __attribute__((vector_size(kPart * 8)));

template <class X>
struct Whole {
  using Integer = IntegerVector;
  using Unsigned = UnsignedVector;
};
template <>
struct Whole<double> {
  using Integer = std::int64_t;
  using Unsigned = std::uint64_t;
};
template <class X>
using Integer = typename Whole<X>::Integer;
template <class X>
using Unsigned = typename Whole<X>::Unsigned;

ARZ_INLINE std::int64_t bits(double x) { return std::bit_cast<std::int64_t>(x); }
ARZ_INLINE IntegerVector bits(const Vector& x) { return (IntegerVector)x; }
ARZ_INLINE double number(std::int64_t x) { return std::bit_cast<double>(x); }
ARZ_INLINE Vector number(const IntegerVector& x) { return (Vector)x; }
ARZ_INLINE double root(double x) { return std::sqrt(x); }
ARZ_INLINE Vector root(const Vector& x) {
  Vector result;
  for (int l = 0; l < kPart; ++l) result[l] = std::sqrt(x[l]);
  return result;
}
template <class X>
ARZ_INLINE X constant(double value) {
  return value - X{};  // not a sum: 0.0 + -0.0 is 0.0
}
// A sum that wraps around: the bits of a NaN may be anything.
template <class X>
ARZ_INLINE Integer<X> plus(const Integer<X>& a, std::int64_t b) {
  return (Integer<X>)((Unsigned<X>)a + static_cast<std::uint64_t>(b));
}
// `yes` where the lowest bit of q is set.
template <class X>
ARZ_INLINE X odd(const Integer<X>& q, const X& yes, const X& no) {
  const Integer<X> mask = -(q & 1);
  return number((mask & bits(yes)) | (~mask & bits(no)));
}

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr std::int64_t kSign = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kMantissa = (std::int64_t(1) << 52) - 1;

inline constexpr double kMagic = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to a whole number
inline constexpr std::int64_t kMagicBits = 0x4338000000000000;
inline constexpr double kHalfPi1 = 1.5707963267341256, kHalfPi2 = 6.077100506303966e-11,
                        kHalfPi3 = 2.0222662487959506e-21;
inline constexpr double kHalfPi = 1.5707963267948966, kHalfPiRest = 6.123233995736766e-17;
inline constexpr double kPi = 3.141592653589793, kPiRest = 1.2246467991473532e-16;
inline constexpr double kQuarterPi = 0.7853981633974483, kQuarterPiRest = 3.061616997868383e-17;
inline constexpr double kArctanHalf = 0.4636476090008061, kArctanHalfRest = 2.2698777452961687e-17;
inline constexpr double kLn2 = 0.6931471805598903, kLn2Rest = 5.497923018708371e-14;
inline constexpr double kTwoOverPi = 0.6366197723675814, kLog2E = 1.4426950408889634;
inline constexpr std::int64_t kOneBits = 0x3FF0000000000000, kRootHalfBits = 0x3FE6A09E667F3BCD;
inline constexpr double kLarge = 1048576.0;
inline constexpr std::uint32_t kTwoOverPiDigits[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

constexpr double factorial(int n) { return n < 2 ? 1.0 : n * factorial(n - 1); }

// Coefficients of the series, without their first terms.
constexpr double alternate(int n) { return n % 2 == 0 ? -1.0 : 1.0; }
struct SinSeries {
  static constexpr int terms = 8;
  static constexpr double at(int n) { return alternate(n) / factorial(2 * n + 3); }
};
struct CosSeries {
  static constexpr int terms = 9;
  static constexpr double at(int n) { return alternate(n) / factorial(2 * n + 2); }
};
struct ExpSeries {
  static constexpr int terms = 12;
  static constexpr double at(int n) { return 1.0 / factorial(n + 2); }
};
struct LogSeries {
  static constexpr int terms = 10;
  static constexpr double at(int n) { return 2.0 / (2 * n + 3); }
};
struct ArctanSeries {
  static constexpr int terms = 13;
  static constexpr double at(int n) { return alternate(n) / (2 * n + 3); }
};

// The sum of the terms times powers of y, from y^0 on. Even and odd ones apart, so that they run in parallel.
template <class Series, int n, class X>
ARZ_INLINE X every_other(const X& square) {
  constexpr double coefficient = Series::at(n);
  if constexpr (n + 2 < Series::terms)
    return coefficient + square * every_other<Series, n + 2>(square);
  else
    return constant<X>(coefficient);
}
template <class Series, class X>
ARZ_INLINE X series(const X& y) {
  const X square = y * y;
  return every_other<Series, 0>(square) + y * every_other<Series, 1>(square);
}

// ---- angles ----

// |x| = q pi/2 + r, with q modulo 4 in its lowest bits.
template <class X>
struct Reduced {
  X r;
  Integer<X> q;
};

template <class X>
ARZ_INLINE Reduced<X> reduced(const X& a) {
  const X t = a * kTwoOverPi + kMagic, n = t - kMagic;
  return {((a - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3, bits(t)};
}

// For a >= kLarge, with whole numbers: mantissa times those binary places of 2/pi that do not only add multiples of 4.
inline Reduced<double> reduced_exactly(double a) {
  const std::uint64_t mantissa = (std::uint64_t(bits(a)) & kMantissa) | (std::uint64_t(1) << 52);
  const int exponent = static_cast<int>(bits(a) >> 52) - 1075, skipped = std::max(exponent - 2, 0);
  const auto shifted = [](const std::uint32_t* high, const std::uint32_t* low, int shift) {
    return shift == 0 ? *high : (*high << shift) | (*low >> (32 - shift));
  };
  std::uint32_t product[8] = {};  // 32 bits each, the lowest first
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t* at = kTwoOverPiDigits + skipped / 32 + 5 - i;
    const std::uint64_t places = shifted(at, at + 1, skipped % 32);
    std::uint64_t carry = 0;
    for (int j = 0; j < 2; ++j) {
      carry += product[i + j] + places * static_cast<std::uint32_t>(mantissa >> (32 * j));
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product[i + 2] = static_cast<std::uint32_t>(carry);
  }
  const int by = 66 - (exponent - skipped);  // leaves 126 binary places, modulo 4
  std::uint64_t turns[4];
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t* at = product + by / 32 + k;
    turns[k] = by % 32 == 0 ? *at : (*at >> (by % 32)) | (at[1] << (32 - by % 32));
  }
  std::uint64_t high = turns[3] << 32 | turns[2], low = turns[1] << 32 | turns[0];
  const std::uint64_t quadrant = (high + (std::uint64_t(1) << 61)) >> 62;
  high -= quadrant << 62;
  const bool negative = high >> 63;
  if (negative) {
    low = -low;
    high = ~high + (low == 0);
  }
  const double r = (static_cast<double>(high) * 0x1p-62 + static_cast<double>(low) * 0x1p-126) * kHalfPi;
  return {negative ? -r : r, static_cast<std::int64_t>(quadrant)};
}

template <class X>
ARZ_INLINE std::pair<X, X> sin_cos(const X& r) {
  const X y = r * r;
  return {r + r * (y * series<SinSeries>(y)), 1.0 + y * series<CosSeries>(y)};
}

struct Sin {
  static constexpr bool is_of_angle = true;
  template <class X>
  ARZ_INLINE static X of(const X& x, const Reduced<X>& a) {
    const auto [sine, cosine] = sin_cos(a.r);
    return number(bits(odd<X>(a.q, cosine, sine)) ^ ((a.q & 2) << 62) ^ (bits(x) & kSign));
  }
};
struct Cos {
  static constexpr bool is_of_angle = true;
  template <class X>
  ARZ_INLINE static X of(const X&, const Reduced<X>& a) {
    const auto [sine, cosine] = sin_cos(a.r);
    return number(bits(odd<X>(a.q, sine, cosine)) ^ ((plus<X>(a.q, 1) & 2) << 62));
  }
};
struct Tan {
  static constexpr bool is_of_angle = true;
  template <class X>
  ARZ_INLINE static X of(const X& x, const Reduced<X>& a) {
    const auto [sine, cosine] = sin_cos(a.r);
    const X value = odd<X>(a.q, cosine, sine) / odd<X>(a.q, sine, cosine);
    return number(bits(value) ^ (a.q << 63) ^ (bits(x) & kSign));
  }
};

// The angle in 0 to pi/2 whose tangent is a / b; both are at least 0, not both are.
template <class X>
ARZ_INLINE X angle(const X& a, const X& b) {
  const X zero = constant<X>(0.0);
  const auto is_steep = a > b;
  const X u = is_steep ? b : a, v = is_steep ? a : b;
  const auto is_near_0 = u < 0.25 * v, is_near_half = u < 0.75 * v;
  const X middle = is_near_0 ? zero : is_near_half ? constant<X>(0.5) : constant<X>(1.0);
  const X high = is_near_0 ? zero : is_near_half ? constant<X>(kArctanHalf) : constant<X>(kQuarterPi);
  const X low = is_near_0 ? zero : is_near_half ? constant<X>(kArctanHalfRest) : constant<X>(kQuarterPiRest);
  const X w = (u - middle * v) / (v + middle * u);
  const X z = w * w;
  const X value = high + ((w + w * (z * series<ArctanSeries>(z))) + low);
  return is_steep ? kHalfPi - (value - kHalfPiRest) : value;
}
template <class X>
ARZ_INLINE X magnitude_of(const X& x) {
  return number(bits(x) & ~kSign);
}
template <class X>
ARZ_INLINE X with_sign(const X& value, const X& x) {
  return number(bits(value) ^ (bits(x) & kSign));
}

struct Arctan {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    const X a = magnitude_of(x);
    return with_sign<X>(angle<X>(a > 1e300 ? constant<X>(1e300) : a, constant<X>(1.0)), x);
  }
};
struct Arcsin {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    const X a = magnitude_of(x);
    return with_sign<X>(angle<X>(a, root((1.0 - a) * (1.0 + a))), x);
  }
};
struct Arccos {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    const X a = magnitude_of(x);
    const X value = angle<X>(root((1.0 - a) * (1.0 + a)), a);
    return x < 0.0 ? kPi - (value - kPiRest) : value;
  }
};

// ---- powers ----

template <class X>
ARZ_INLINE X power_of_two(const Integer<X>& k) {
  return number((k + 1023) << 52);
}

// A NaN stays one.
template <class X>
ARZ_INLINE X at_least(const X& x, double low) {
  return x < low ? constant<X>(low) : x;
}
template <class X>
ARZ_INLINE X at_most(const X& x, double high) {
  return x > high ? constant<X>(high) : x;
}

// exp(x + tail), where the tail is tiny.
template <class X>
ARZ_INLINE X exp_of_sum(const X& given, const X& tail) {
  const X x = at_most(at_least(given, -746.0), 710.0);
  const X t = x * kLog2E + kMagic, n = t - kMagic;
  const X r = ((x - n * kLn2) - n * kLn2Rest) + tail;
  const X value = 1.0 + (r + r * r * series<ExpSeries>(r));
  const Integer<X> whole = bits(t) - kMagicBits, half = bits(X(n * 0.5 + kMagic)) - kMagicBits;
  return value * power_of_two<X>(half) * power_of_two<X>(whole - half);
}

struct Exp {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    return exp_of_sum<X>(x, constant<X>(0.0));
  }
};

// x = 2^k (1 + f), with 1 + f in root 1/2 to root 2.
template <class X>
struct Split {
  X k, f;
};
template <class X>
ARZ_INLINE Split<X> split_log(const X& given) {
  const auto is_tiny = given < 0x1p-1022;
  const X x = is_tiny ? given * 0x1p54 : given;
  const Integer<X> i = plus<X>(bits(x), kOneBits - kRootHalfBits);
  const X k = number((Integer<X>)((Unsigned<X>)i >> 52) - 1023 + kMagicBits) - kMagic;
  return {is_tiny ? k - 54.0 : k, number((i & kMantissa) + kRootHalfBits) - 1.0};
}

struct Log {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    const auto [k, f] = split_log(x);
    const X s = f / (2.0 + f), z = s * s;
    const X rest = z * series<LogSeries>(z);
    const X value = k * kLn2 + (f - (s * (f - rest) - k * kLn2Rest));
    const X at_edge = x < 0.0 ? constant<X>(kNan) : x < kInfinity ? constant<X>(-kInfinity) : x;
    return x > 0.0 ? (x < kInfinity ? value : at_edge) : at_edge;
  }
};

// a b - product, exactly (Dekker).
template <class X>
ARZ_INLINE X product_error(const X& a, const X& b, const X& product) {
  const X c = a * 134217729.0, d = b * 134217729.0;
  const X a_high = c - (c - a), b_high = d - (d - b);
  const X a_low = a - a_high, b_low = b - b_high;
  return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

template <class X>
ARZ_INLINE auto is_whole(const X& a) {
  return ((a + 0x1p52) - 0x1p52 == a) | (a >= 0x1p52);
}

struct Power {
  template <class X>
  ARZ_INLINE static X of(const X& x, const X& y) {
    const X a = magnitude_of(x), b = magnitude_of(y), one = constant<X>(1.0), nan = constant<X>(kNan);
    // The logarithm of a as a sum.
    const auto [k, f] = split_log(a);
    const X d = 2.0 + f, s = f / d, product = s * d;
    const X s_low = (((f - product) - product_error<X>(s, d, product)) - s * (f - (d - 2.0))) / d;
    const X z = s * s;
    const X first = k * kLn2, second = 2.0 * s, total = first + second;
    const X rest = (k * kLn2Rest + (2.0 * s_low + s * (z * series<LogSeries>(z)))) + (second - (total - first));
    const X sum = total + rest;
    const X edge = a > 0.0 ? a : constant<X>(-kInfinity);
    const auto is_ordinary = (a > 0.0) & (a < kInfinity);
    const X high = is_ordinary ? sum : edge, low = is_ordinary ? rest - (sum - total) : constant<X>(0.0);
    // Its product with y.
    const X exponent = y * high;
    const X tail = product_error<X>(y, high, exponent) + y * low;
    const X magnitude = exp_of_sum<X>(exponent, magnitude_of(exponent) < 1000.0 ? tail : constant<X>(0.0));
    // Signs and special cases.
    const auto whole = is_whole(b), is_even = is_whole<X>(b * 0.5);
    const Integer<X> sign = bits(x) & kSign;
    X value = a == 1.0 ? one : magnitude;
    const X negated = number(bits(value) ^ sign);
    value = whole ? (is_even ? value : negated) : ((x < 0.0) & (a < kInfinity)) ? nan : value;
    value = (x != x) ? nan : (y != y) ? nan : value;
    return (y == 0.0) ? one : (x == 1.0) ? one : value;
  }
};

// ---- over lanes ----

// What an inactive lane gets is never read; large angles, which take long, are left out there.
template <class Function>
[[gnu::noinline]] inline Lanes apply(const LaneMask& active, const Lanes& x) {
  Lanes result;
  if constexpr (requires { Function::is_of_angle; }) {
    LaneMask large;
    for (int p = 0; p < kParts; ++p) {
      const Vector value = x.part[p], a = magnitude_of(value);
      result.part[p] = Function::of(value, reduced(a));
      large.part[p] = (a >= kLarge) & (a < kInfinity) & active.part[p];
    }
    if (any(large)) [[unlikely]]
      for (int l = 0; l < kLanes; ++l)
        if (large[l]) result.set(l, Function::of(x[l], reduced_exactly(std::fabs(x[l]))));
  } else {
    for (int p = 0; p < kParts; ++p) {
      const Vector value = x.part[p];
      result.part[p] = Function::of(value);
    }
  }
  return result;
}
template <class Function>
inline double apply(bool, double x) {
  if constexpr (requires { Function::is_of_angle; }) {
    const double a = std::fabs(x);
    return Function::of(x, a >= kLarge && a < kInfinity ? reduced_exactly(a) : reduced(a));
  } else {
    return Function::of(x);
  }
}

}  // namespace arz::elementary

namespace arz {

// ---- what formulas in ops.py call ----

#define ARZ_ELEMENTARY(name, Function)                         \
  template <class Active, class Number>                        \
  inline Number name(const Active& active, const Number& x) {  \
    return elementary::apply<elementary::Function>(active, x); \
  }
ARZ_ELEMENTARY(sin, Sin)
ARZ_ELEMENTARY(cos, Cos)
ARZ_ELEMENTARY(tan, Tan)
ARZ_ELEMENTARY(arcsin, Arcsin)
ARZ_ELEMENTARY(arccos, Arccos)
ARZ_ELEMENTARY(arctan, Arctan)
ARZ_ELEMENTARY(exp, Exp)
ARZ_ELEMENTARY(log, Log)
#undef ARZ_ELEMENTARY
[[gnu::noinline]] inline Lanes power(const LaneMask&, const Lanes& x, const Lanes& y) {
  return each_part([&](int p) {
    const elementary::Vector base = x.part[p], exponent = y.part[p];
    return elementary::Power::of(base, exponent);
  });
}
inline double power(bool, double x, double y) { return elementary::Power::of(x, y); }

}  // namespace arz
