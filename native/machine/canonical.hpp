// A key that programs of the same behaviour share: a hash of the code that matters, whatever its registers are called.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/batch.hpp"
#include "machine/random.hpp"

namespace arz {

// 128 bits: among a billion programs the chance that two different ones share a key is below 1e-20.
struct Key {
  std::uint64_t high, low;
  bool operator==(const Key&) const = default;
};

class Hasher {
 public:
  void add(std::uint64_t word) {
    high_ = mix(high_ + kGolden * (word + 1));
    low_ = mix(low_ ^ (0xD6E8FEB86659FD93ull * word + kGolden));
  }
  void add(double number) { add(std::bit_cast<std::uint64_t>(number)); }
  Key key() const { return {high_, low_}; }

 private:
  std::uint64_t high_ = 1, low_ = 2;
};

// The key of an effective program: one without dead code, as Liveness writes it. Registers count by the order of their
// appearance, so two programs have the same key if they differ only in the names of registers. The fixed ones
// (observation, action, arguments of a CADF) keep theirs.
Key program_key(const ProgramView& effective);

}  // namespace arz
