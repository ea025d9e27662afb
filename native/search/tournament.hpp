// Tournaments: who becomes a parent.
#pragma once

#include <cstdint>

#include "machine/random.hpp"

namespace arz {

// The position of the best of some entrants, drawn with replacement from `size` members from `first` on; the first
// drawn among equals.
inline std::int64_t tournament(Stream& stream, const double* fitness, std::int64_t first, std::int64_t size,
                               std::int64_t entrants) {
  const auto entrant = [&] { return first + stream.below(static_cast<std::uint32_t>(size)); };
  std::int64_t winner = entrant();
  for (std::int64_t n = 1; n < entrants; ++n)
    if (const std::int64_t other = entrant(); fitness[other] > fitness[winner]) winner = other;
  return winner;
}

}  // namespace arz
