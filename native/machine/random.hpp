// Counter-based random numbers: a draw is a pure function of a key and a counter (SplitMix64), so that
// results do not depend on who draws first, on which thread, or after which interruption.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "machine/elementary.hpp"

namespace arz {

inline constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ull;

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

// In [0, 1), from the upper 53 bits.
inline double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

// The number that random stream `stream` of a program gives in its execution number `tick`.
inline double episode_uniform(std::uint64_t key, std::uint64_t tick, std::uint64_t stream) {
  return unit(mix(mix(key + kGolden * (tick + 1)) + kGolden * (stream + 1)));
}

// A standard normal draw from two uniform ones (Box and Muller); of one pair or of several side by side, the same bits.
template <class X>
inline X normal_of(const X& first, const X& second) {
  const X angle = 2.0 * std::numbers::pi * second;
  const X radius = elementary::root(X(-2.0 * elementary::Log::of(X(1.0 - first))));
  return radius * elementary::Cos::of(angle, elementary::reduced(angle));
}

class Stream {
 public:
  explicit Stream(std::uint64_t key) : state_(key) {}

  std::uint64_t bits() { return mix(state_ += kGolden); }
  double uniform() { return unit(bits()); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // In [0, n).
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(bits()) * n) >> 64);
  }
  double normal() {
    const double first = uniform(), second = uniform();
    return normal_of(first, second);
  }

 private:
  std::uint64_t state_;
};

}  // namespace arz
