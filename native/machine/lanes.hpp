// A number per episode: `Lanes` holds one double for each of eight episodes that run in lock step.
//
// Code written over a number type works with `Lanes` and with `double` (one episode) alike; both give
// the same bits, because every operation here is IEEE's, element by element. (elementary.hpp has sin and its like.)
#pragma once

#include <cmath>
#include <cstdint>

// What an op does is one function; without this the compiler may leave its parts apart.
#define ARZ_INLINE [[gnu::always_inline]] inline
#define ARZ_INLINE_LAMBDA __attribute__((always_inline))

// Short loops whose length is not known to the compiler.
#if defined(__clang__)
#define ARZ_UNROLL _Pragma("clang loop unroll_count(4)")
#else
#define ARZ_UNROLL _Pragma("GCC unroll 4")
#endif

namespace arz {

#if defined(__AVX512F__)
inline constexpr int kPart = 8;
#elif defined(__AVX__)
inline constexpr int kPart = 4;  // doubles in one vector register of the instruction set
#else
inline constexpr int kPart = 2;
#endif

// They may alias: memory is plain doubles and integers, read and written in parts.
typedef double Part __attribute__((vector_size(kPart * 8), may_alias));
typedef std::int64_t IntegerPart __attribute__((vector_size(kPart * 8), may_alias));

inline constexpr int kLanes = 8;
inline constexpr int kParts = kLanes / kPart;

struct alignas(64) Lanes {
  Part part[kParts];

  Lanes() = default;
  ARZ_INLINE Lanes(double value) {
    for (Part& p : part) p = value - Part{};  // not a sum: 0.0 + -0.0 is 0.0
  }
  ARZ_INLINE double operator[](int lane) const { return part[lane / kPart][lane % kPart]; }
  ARZ_INLINE void set(int lane, double value) { part[lane / kPart][lane % kPart] = value; }
};

// An index per episode, and a truth value per episode (0 or -1).
struct alignas(64) LaneIndices {
  IntegerPart part[kParts];

  LaneIndices() = default;
  ARZ_INLINE LaneIndices(std::int64_t value) {
    for (IntegerPart& p : part) p = IntegerPart{} + value;
  }
  ARZ_INLINE std::int64_t operator[](int lane) const { return part[lane / kPart][lane % kPart]; }
  ARZ_INLINE void set(int lane, std::int64_t value) { part[lane / kPart][lane % kPart] = value; }
};

struct alignas(64) LaneMask {
  IntegerPart part[kParts];

  LaneMask() = default;
  ARZ_INLINE explicit LaneMask(bool value) {
    for (IntegerPart& p : part) p = IntegerPart{} - static_cast<std::int64_t>(value);
  }
  ARZ_INLINE bool operator[](int lane) const { return part[lane / kPart][lane % kPart] != 0; }
  ARZ_INLINE void set(int lane, bool value) { part[lane / kPart][lane % kPart] = -static_cast<std::int64_t>(value); }
};

// Which index and truth types go with a number type, and how many episodes it holds.
template <class Number>
struct LaneTraits;
template <>
struct LaneTraits<Lanes> {
  using Indices = LaneIndices;
  using Mask = LaneMask;
  static constexpr int lanes = kLanes;
};
template <>
struct LaneTraits<double> {
  using Indices = std::int64_t;
  using Mask = bool;
  static constexpr int lanes = 1;
};
template <class Number>
using Indices = typename LaneTraits<Number>::Indices;
template <class Number>
using Mask = typename LaneTraits<Number>::Mask;

template <class Function>
ARZ_INLINE Lanes each_part(Function function) {
  Lanes result;
  for (int p = 0; p < kParts; ++p) result.part[p] = function(p);
  return result;
}

ARZ_INLINE Lanes operator+(const Lanes& a, const Lanes& b) {
  return each_part([&](int p) { return a.part[p] + b.part[p]; });
}
ARZ_INLINE Lanes operator-(const Lanes& a, const Lanes& b) {
  return each_part([&](int p) { return a.part[p] - b.part[p]; });
}
ARZ_INLINE Lanes operator*(const Lanes& a, const Lanes& b) {
  return each_part([&](int p) { return a.part[p] * b.part[p]; });
}
ARZ_INLINE Lanes operator/(const Lanes& a, const Lanes& b) {
  return each_part([&](int p) { return a.part[p] / b.part[p]; });
}

ARZ_INLINE LaneMask operator<(const Lanes& a, const Lanes& b) {
  LaneMask result;
  for (int p = 0; p < kParts; ++p) result.part[p] = a.part[p] < b.part[p];
  return result;
}
ARZ_INLINE LaneMask operator&(const LaneMask& a, const LaneMask& b) {
  LaneMask result;
  for (int p = 0; p < kParts; ++p) result.part[p] = a.part[p] & b.part[p];
  return result;
}
ARZ_INLINE bool any(const LaneMask& mask) {
  IntegerPart all = mask.part[0];
  for (int p = 1; p < kParts; ++p) all |= mask.part[p];
  std::int64_t found = 0;
  for (int l = 0; l < kPart; ++l) found |= all[l];
  return found != 0;
}
ARZ_INLINE bool any(bool mask) { return mask; }
ARZ_INLINE bool equal(const LaneMask& a, const LaneMask& b) {
  IntegerPart differ{};
  for (int p = 0; p < kParts; ++p) differ |= a.part[p] ^ b.part[p];
  std::int64_t found = 0;
  for (int l = 0; l < kPart; ++l) found |= differ[l];
  return found == 0;
}
ARZ_INLINE void set_lane(LaneMask& mask, int l, bool value) { mask.set(l, value); }
ARZ_INLINE bool lane(const LaneMask& mask, int l) { return mask[l]; }

// `yes` where the mask holds, `no` elsewhere. On bits, so that no number is touched on the way.
ARZ_INLINE Lanes select(const LaneMask& mask, const Lanes& yes, const Lanes& no) {
  return each_part([&](int p) {
    return (Part)((mask.part[p] & (IntegerPart)yes.part[p]) | (~mask.part[p] & (IntegerPart)no.part[p]));
  });
}
ARZ_INLINE LaneIndices select(const LaneMask& mask, const LaneIndices& yes, const LaneIndices& no) {
  LaneIndices result;
  for (int p = 0; p < kParts; ++p) result.part[p] = (mask.part[p] & yes.part[p]) | (~mask.part[p] & no.part[p]);
  return result;
}
template <class Value>
ARZ_INLINE Value select(bool mask, const Value& yes, const Value& no) {
  return mask ? yes : no;
}

// ---- the functions that formulas in ops.py call ----

ARZ_INLINE double abs(double x) { return std::fabs(x); }
ARZ_INLINE Lanes abs(const Lanes& x) {
  const IntegerPart magnitude = IntegerPart{} + INT64_MAX;
  return each_part([&](int p) { return (Part)((IntegerPart)x.part[p] & magnitude); });
}

ARZ_INLINE double sqrt(double x) { return std::sqrt(x); }
ARZ_INLINE Lanes sqrt(const Lanes& x) {
  Lanes result;
  for (int p = 0; p < kParts; ++p)
    for (int l = 0; l < kPart; ++l) result.part[p][l] = std::sqrt(x.part[p][l]);
  return result;
}

template <class Number>
ARZ_INLINE Number square(const Number& x) {
  return x * x;
}

ARZ_INLINE double heaviside(double x) { return x > 0.0 ? 1.0 : 0.0; }
ARZ_INLINE Lanes heaviside(const Lanes& x) { return select(Lanes(0.0) < x, Lanes(1.0), Lanes(0.0)); }

// A NaN in either argument is the result; of two equal numbers, the second is.
ARZ_INLINE double minimum(double a, double b) { return (a < b || a != a) ? a : b; }
ARZ_INLINE double maximum(double a, double b) { return (b < a || a != a) ? a : b; }
ARZ_INLINE LaneMask is_nan(const Lanes& x) {
  LaneMask result;
  for (int p = 0; p < kParts; ++p) result.part[p] = x.part[p] != x.part[p];
  return result;
}
ARZ_INLINE Lanes minimum(const Lanes& a, const Lanes& b) { return select(is_nan(a), a, select(a < b, a, b)); }
ARZ_INLINE Lanes maximum(const Lanes& a, const Lanes& b) { return select(is_nan(a), a, select(b < a, a, b)); }

// `x` where place k lies within the first `last` + 1 elements, 0.0 elsewhere.
ARZ_INLINE double within(int k, std::int64_t last, double x) { return k <= last ? x : 0.0; }
ARZ_INLINE Lanes within(int k, const LaneIndices& last, const Lanes& x) {
  return each_part([&](int p) { return (Part)((IntegerPart{} + k <= last.part[p]) & (IntegerPart)x.part[p]); });
}

}  // namespace arz
