// Refusals: a bad argument from Python is an error with a sentence, and inside the core nothing is left to check.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "machine/lanes.hpp"

namespace arz {

inline constexpr std::size_t kMostRecorded = 1 << 30;  // numbers, of whatever is recorded

[[noreturn]] inline void reject(const std::string& sentence) { throw std::invalid_argument(sentence); }

inline void require(bool holds, const std::string& sentence) {
  if (!holds) reject(sentence);
}

inline std::string text(std::size_t value) { return std::to_string(value); }

inline void check_threads(int threads) {
  require(threads >= 1 && threads <= 1024, "expected 1 to 1024 threads, got " + std::to_string(threads));
}

// Lanes share a memory whose places are 32-bit numbers; each has so many.
inline void check_lanes(std::int64_t lanes, double numbers) {
  require(lanes >= 1 && lanes <= (1 << 20), "expected 1 to 1048576 lanes, got " + std::to_string(lanes));
  require(numbers * static_cast<double>(lanes + kLanes) < 2147483648.0,
          "the memory of " + std::to_string(lanes) + " lanes is too large to run side by side: use fewer");
}

inline void check_episodes(std::size_t count) {
  require(count <= 1'000'000'000, "expected at most 1000000000 episodes, got " + text(count));
}

inline void check_contact_iterations(int count) {
  require(count >= 1 && count <= 1000, "contact_iterations must be 1 to 1000, not " + std::to_string(count));
}

// A position in a batch.
template <class Many>
std::size_t checked(const Many& batch, std::int64_t index) {
  if (index < 0 || static_cast<std::size_t>(index) >= batch.size())
    reject("policy " + std::to_string(index) + " is not in a batch of " + text(batch.size()));
  return static_cast<std::size_t>(index);
}

}  // namespace arz
