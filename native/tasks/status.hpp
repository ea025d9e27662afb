// How an episode ends. Python has a sentence for each.
#pragma once

#include <cstdint>
#include <iterator>

namespace arz {

enum class Status : std::uint8_t { running, completed, fell, left_track, action_not_finite };
inline constexpr const char* kStatusNames[] = {"running", "completed", "fell", "left_track", "action_not_finite"};
static_assert(std::size(kStatusNames) == static_cast<std::size_t>(Status::action_not_finite) + 1);

struct Outcome {
  double total;  // reward
  std::int32_t length;
  Status status;
};

}  // namespace arz
