// A digest of numbers, to their last bit. NaNs count as one number: which bits they have is the processor's affair (x86
// makes them with a sign, ARM without).
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "machine/random.hpp"

namespace arz::bits {

class Digest {
 public:
  void add(std::uint64_t word) { value_ = mix(value_ ^ word) + kGolden; }
  void add(double x) { add(x != x ? std::uint64_t{0x7FF8} << 48 : std::bit_cast<std::uint64_t>(x)); }
  void add(std::span<const double> numbers) {
    for (double x : numbers) add(x);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Robots and their episodes, which the core compiles with flags of their own (CMakeLists.txt).
void add_quadruped(Digest& floats, Digest& doubles, Digest& episodes);

}  // namespace arz::bits
