// Several vector registers as one number type, for functions written over a number type (elementary.hpp).
//
// A function such as exp is a long chain of steps, each of which waits for the one before. Here each step is done in
// all registers before the next: while one result is on its way, the processor works on the others. Each register gets
// the bits that it would have got alone.
#pragma once

#include "machine/elementary.hpp"

namespace arz::elementary {

inline constexpr int kSeveral = 4;

template <class Result, class Function>
ARZ_INLINE Result in_turn(Function function) {
  Result result;
#pragma GCC unroll 4
  for (int i = 0; i < kSeveral; ++i) result.part[i] = function(i);
  return result;
}

struct Several {
  Vector part[kSeveral];

  Several() = default;
  ARZ_INLINE Several(double value) {
    for (Vector& p : part) p = constant<Vector>(value);
  }
};
struct SeveralIntegers {
  IntegerVector part[kSeveral];

  SeveralIntegers() = default;
  ARZ_INLINE SeveralIntegers(std::int64_t value) {
    for (IntegerVector& p : part) p = IntegerVector{} + value;
  }
};
template <>
struct Whole<Several> {
  using Integer = SeveralIntegers;
};

ARZ_INLINE Several operator+(const Several& a, const Several& b) {
  return in_turn<Several>([&](int i) { return a.part[i] + b.part[i]; });
}
ARZ_INLINE Several operator-(const Several& a, const Several& b) {
  return in_turn<Several>([&](int i) { return a.part[i] - b.part[i]; });
}
ARZ_INLINE Several operator*(const Several& a, const Several& b) {
  return in_turn<Several>([&](int i) { return a.part[i] * b.part[i]; });
}
ARZ_INLINE Several operator/(const Several& a, const Several& b) {
  return in_turn<Several>([&](int i) { return a.part[i] / b.part[i]; });
}
ARZ_INLINE Several at_least(const Several& x, double low) {
  return in_turn<Several>([&](int i) { return at_least<Vector>(x.part[i], low); });
}
ARZ_INLINE Several at_most(const Several& x, double high) {
  return in_turn<Several>([&](int i) { return at_most<Vector>(x.part[i], high); });
}

ARZ_INLINE SeveralIntegers operator+(const SeveralIntegers& a, const SeveralIntegers& b) {
  return in_turn<SeveralIntegers>([&](int i) { return a.part[i] + b.part[i]; });
}
ARZ_INLINE SeveralIntegers operator-(const SeveralIntegers& a, const SeveralIntegers& b) {
  return in_turn<SeveralIntegers>([&](int i) { return a.part[i] - b.part[i]; });
}
ARZ_INLINE SeveralIntegers operator<<(const SeveralIntegers& a, int by) {
  return in_turn<SeveralIntegers>([&](int i) { return a.part[i] << by; });
}
ARZ_INLINE SeveralIntegers bits(const Several& x) {
  return in_turn<SeveralIntegers>([&](int i) { return bits(x.part[i]); });
}
ARZ_INLINE Several number(const SeveralIntegers& x) {
  return in_turn<Several>([&](int i) { return number(x.part[i]); });
}

}  // namespace arz::elementary
