// How an episode ends. Python has a sentence for each.
#pragma once

#include <cstdint>

namespace arz {

enum class Status : std::uint8_t { running, completed, fell, left_track, action_not_finite };

struct Outcome {
  double total;  // reward
  std::int32_t length;
  Status status;
};

}  // namespace arz
