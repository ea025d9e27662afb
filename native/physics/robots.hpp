// Robots side by side in slots 0, 1, ...: what a task moves. Two kinds offer the same members: `Robots`, our own
// simulator, over either number type; and `MujocoRobots` (mujoco.hpp).
#pragma once

#include <algorithm>
#include <vector>

#include "physics/laikago/step.hpp"
#include "threads/cancellation.hpp"

namespace arz::physics {

inline constexpr int kSubsteps = 10;        // physics steps in a control step
inline constexpr int kSettlingSteps = 100;  // physics steps before an episode, with the motors at the nominal pose

template <class T>
class Robots {
 public:
  static constexpr int kWidth = Traits<T>::lanes;

  explicit Robots(int contact_iterations = 1, const laikago::World& world = {})
      : iterations_(contact_iterations), conditions_(world), strength_(world.strength), latency_(world.latency) {
    Group start{};
    start.state.quaternion[3] = number<T>(1);
    start.state.position.z = number<T>(laikago::kNominalHeight);
    for (int j = 0; j < laikago::kJoints; ++j)
      start.state.joint[j] = start.target[j] = start.heard[j] = number<T>(laikago::kNominal[j % laikago::kJointsOfLeg]);
    for (T& works : start.works) works = number<T>(strength_);
    advance(start, kSettlingSteps);
    for (int j = 0; j < laikago::kJoints; ++j) start.state.joint[j] = start.state.joint[j] + number<T>(world.offset(j));
    start_ = start;
  }

  // There are at least this many slots from now on.
  void reserve(int slots) {
    while (static_cast<int>(groups_.size()) * kWidth < slots) groups_.push_back(start_);
  }

  // A robot that stands, has settled, and can use all its legs.
  void start(int slot) { copy_lane(start_, 0, group(slot), slot % kWidth); }
  void copy(int from, int to) { copy_lane(group(from), from % kWidth, group(to), to % kWidth); }

  // The motors pull to these angles, relative to the nominal pose; a broken leg has what is left of its torque.
  void set_target(int slot, int joint, double angle) {
    const double nominal = laikago::kNominal[joint % laikago::kJointsOfLeg];
    numbers(group(slot).target)[joint * kWidth + slot % kWidth] = static_cast<Element<T>>(nominal + angle);
  }
  void break_leg(int slot, int leg, double left) {
    numbers(group(slot).works)[leg * kWidth + slot % kWidth] = static_cast<Element<T>>(left * strength_);
  }

  // One control step of the robots in the first slots.
  void advance(int slots) {
    for (int g = 0; g * kWidth < slots; ++g) {
      Cancellation::check();
      advance(groups_[g], kSubsteps);
    }
  }

  // Number i of the state: quaternion (x, y, z, w), position, joint angles, angular velocity (in the trunk's axes),
  // velocity (in the world's), joint velocities.
  double state(int slot, int i) const {
    return reinterpret_cast<const Element<T>*>(&groups_[slot / kWidth].state)[i * kWidth + slot % kWidth];
  }
  void set_state(int slot, int i, double value) {
    reinterpret_cast<Element<T>*>(&group(slot).state)[i * kWidth + slot % kWidth] = static_cast<Element<T>>(value);
  }

 private:
  struct Group {
    laikago::State<T> state;
    T target[laikago::kJoints], heard[laikago::kJoints], works[laikago::kLegs];  // heard: by the motors
  };
  static_assert(sizeof(laikago::State<T>) == laikago::kStateNumbers * sizeof(T));

  void advance(Group& g, int steps) const {
    for (int i = 0; i < steps; ++i) {
      if (i == latency_) std::copy_n(g.target, laikago::kJoints, g.heard);
      laikago::step(g.state, g.heard, g.works, iterations_, conditions_);
    }
  }
  Group& group(int slot) { return groups_[slot / kWidth]; }
  static Element<T>* numbers(T* values) { return reinterpret_cast<Element<T>*>(values); }
  static void copy_lane(const Group& from, int from_lane, Group& to, int to_lane) {
    const auto* source = reinterpret_cast<const Element<T>*>(&from);
    auto* target = reinterpret_cast<Element<T>*>(&to);
    for (std::size_t i = 0; i < sizeof(Group) / sizeof(T); ++i)
      target[i * kWidth + to_lane] = source[i * kWidth + from_lane];
  }

  int iterations_;
  laikago::Conditions<Element<T>> conditions_;
  double strength_;
  int latency_;
  Group start_;
  std::vector<Group> groups_;
};

}  // namespace arz::physics
