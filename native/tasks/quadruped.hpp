// Laikago leg-breaking: walk at 1 m/s while, at some step, one leg loses all its torque (paper, "Quadruped Robot").
//
//   reward = 1 - 2 |v - 1| - || a(t) - a(t-1) ||,    v: forward velocity; a: the action, clipped
//
// A control step is 10 ms. In step t the policy sees the state; the motors pull to its action for ten physics steps;
// reward and end are those of the new state. A leg that breaks at step t has what is left of its torque, usually none,
// in it and after.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "machine/random.hpp"
#include "physics/laikago/model.hpp"
#include "tasks/status.hpp"

namespace arz {

inline constexpr int kRandom = -2, kNoLeg = -1;

struct QuadrupedSettings {
  int leg = kRandom;         // which leg breaks: its number, none, or a random one in each episode
  int break_step = kRandom;  // when, or a random step of each episode
  int steps = 1000;
  int break_before = 1000;                           // a random step is below this
  double torque_left[physics::laikago::kLegs] = {};  // what is left of that of each leg once it breaks
  double noise = 0;                                  // of the sensors, in units of kSensorNoise...
  std::uint64_t key = 0;                             // ...as this says

  // What is added to an entry of the observation in a step: nearly normal, the sum of four uniform draws; the same in
  // all episodes, so that they are the same until a leg breaks.
  double sensor_error(int step, int entry) const;
};

// Which leg breaks, and when; an episode without one breaks none after its end.
struct Break {
  int leg, step;
};
inline Break break_of(const QuadrupedSettings& settings, std::uint64_t key) {
  Stream stream(key);
  const int leg = static_cast<int>(stream.below(physics::laikago::kLegs));
  const int step = static_cast<int>(stream.below(settings.break_before));
  if (settings.leg == kNoLeg) return {kNoLeg, settings.steps};
  return {settings.leg == kRandom ? leg : settings.leg, settings.break_step == kRandom ? step : settings.break_step};
}

inline std::vector<Break> breaks_of(const QuadrupedSettings& settings, const std::vector<std::uint64_t>& keys) {
  std::vector<Break> breaks;
  breaks.reserve(keys.size());
  for (std::uint64_t key : keys) breaks.push_back(break_of(settings, key));
  return breaks;
}

// The standard deviation of the errors of sensors: of quaternion, position, joint angles, angular velocity, velocity
// and joint velocities.
inline constexpr double kSensorNoise[] = {.005, .01, .01, .1, .05, .5};
inline constexpr int kSensorEnds[] = {4, 7, 19, 22, 25, 37};

inline double QuadrupedSettings::sensor_error(int step, int entry) const {
  if (noise == 0) return 0.0;
  int group = 0;
  while (entry >= kSensorEnds[group]) ++group;
  const std::uint64_t bits = mix(mix(key + kGolden * (step + 1)) + kGolden * (entry + 1));
  double total = 0.0;
  for (int shift = 0; shift < 64; shift += 16) total += static_cast<double>((bits >> shift) & 0xFFFF);
  return noise * kSensorNoise[group] * (total - 2 * 0xFFFF) / (0x10000 * std::sqrt(4.0 / 12.0));
}

// One episode, on a robot in some slot.
class Quadruped {
 public:
  static constexpr int kObservations = 37, kActions = physics::laikago::kJoints;
  static constexpr double kActionLimit = .4, kSpeed = 1.0, kLeastUp = .6, kLeastHeight = .2, kMostHeight = 5.0,
                          kMostAside = 3.0;
  enum Entry { kQuaternion = 0, kPosition = 4, kJoint = 7, kAngular = 19, kLinear = 22, kJointVelocity = 25 };

  Status status() const { return status_; }
  double total() const { return total_; }
  double reward() const { return reward_; }
  double action(int joint) const { return previous_[joint]; }  // the last one, clipped

  // Hands an action over to the robot; element j of it lies at action[j * stride].
  template <class Robots>
  void act(Robots& robots, int slot, const double* action, std::ptrdiff_t stride) {
    double change = 0.0;
    for (int j = 0; j < kActions; ++j) {
      double wanted = action[j * stride];
      if (!std::isfinite(wanted)) status_ = Status::action_not_finite, wanted = 0.0;
      wanted = std::clamp(wanted, -kActionLimit, kActionLimit);
      change += (wanted - previous_[j]) * (wanted - previous_[j]);
      previous_[j] = wanted;
      robots.set_target(slot, j, wanted);
    }
    change_ = std::sqrt(change);
  }

  // After the robot has moved: reward and end.
  template <class Robots>
  void judge(const Robots& robots, int slot) {
    const double speed = robots.state(slot, kLinear);
    const double x = robots.state(slot, kQuaternion), y = robots.state(slot, kQuaternion + 1);
    const double up = 1.0 - 2.0 * (x * x + y * y), height = robots.state(slot, kPosition + 2);
    const double aside = robots.state(slot, kPosition + 1);
    reward_ = 1.0 - 2.0 * std::fabs(speed - kSpeed) - change_;
    if (!(up >= kLeastUp && height >= kLeastHeight && height <= kMostHeight && std::isfinite(reward_))) {
      if (status_ == Status::running) status_ = Status::fell;
      if (!std::isfinite(reward_)) reward_ = -1.0;
    } else if (!(std::fabs(aside) <= kMostAside) && status_ == Status::running) {
      status_ = Status::left_track;
    }
    total_ += reward_;
  }
  void complete() {
    if (status_ == Status::running) status_ = Status::completed;
  }

 private:
  Status status_ = Status::running;
  double total_ = 0.0, reward_ = 0.0, change_ = 0.0;
  double previous_[kActions] = {};
};

}  // namespace arz
