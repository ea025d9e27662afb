// The same robots in MuJoCo, the referee. No header of MuJoCo is needed: Python hands over the addresses of its
// functions, its model and one of its data structures (which only one thread may use), and where positions, velocities
// and controls lie in it.
#pragma once

#include <cstdint>
#include <vector>

#include "physics/robots.hpp"

namespace arz::physics {

struct MujocoApi {
  void (*step)(const void* model, void* data);
  void (*get_state)(const void* model, const void* data, double* state, unsigned int which);
  void (*set_state)(const void* model, void* data, const double* state, unsigned int which);
  const void* model;
  unsigned int which;  // all that the next step depends on
  int state_size;
};

struct MujocoData {
  void* data;
  double *position, *velocity, *control;  // 7 + 12, 6 + 12, 12 numbers
};

class MujocoRobots {
 public:
  // `start` is the state of a robot in the nominal pose; friction and payload are the model's.
  MujocoRobots(const MujocoApi& api, const MujocoData& data, std::vector<double> start,
               const laikago::World& world = {})
      : api_(api), data_(data), strength_(world.strength), latency_(world.latency), start_{std::move(start)} {
    for (int j = 0; j < laikago::kJoints; ++j)
      start_.target[j] = start_.heard[j] = laikago::kNominal[j % laikago::kJointsOfLeg];
    std::fill_n(start_.works, laikago::kLegs, strength_);
    advance(start_, kSettlingSteps);
    if (world.pose == 0) return;
    for (int j = 0; j < laikago::kJoints; ++j) start_.seen[7 + j] = data_.position[7 + j] += world.offset(j);
    api_.get_state(api_.model, data_.data, start_.state.data(), api_.which);
  }

  void reserve(int slots) {
    if (static_cast<int>(robots_.size()) < slots) robots_.resize(slots, start_);
  }
  void start(int slot) { robots_[slot] = start_; }
  void copy(int from, int to) { robots_[to] = robots_[from]; }
  void set_target(int slot, int joint, double angle) {
    robots_[slot].target[joint] = laikago::kNominal[joint % laikago::kJointsOfLeg] + angle;
  }
  void break_leg(int slot, int leg, double left) { robots_[slot].works[leg] = left * strength_; }
  void advance(int slots) {
    for (int s = 0; s < slots; ++s) {
      Cancellation::check();
      advance(robots_[s], kSubsteps);
    }
  }
  double state(int slot, int i) const { return robots_[slot].seen[i]; }

 private:
  struct Robot {
    std::vector<double> state;
    double seen[laikago::kStateNumbers] = {};
    double target[laikago::kJoints] = {}, heard[laikago::kJoints] = {}, works[laikago::kLegs] = {};
  };

  void advance(Robot& robot, int steps) {
    const auto* q = data_.position;
    const auto* v = data_.velocity;
    api_.set_state(api_.model, data_.data, robot.state.data(), api_.which);
    for (int i = 0; i < steps; ++i) {
      if (i == latency_) std::copy_n(robot.target, laikago::kJoints, robot.heard);
      for (int j = 0; j < laikago::kJoints; ++j) {
        const double wanted = (robot.heard[j] - q[7 + j]) * laikago::kStiffness - v[6 + j] * laikago::kDamping;
        data_.control[j] =
            clamp(wanted, -laikago::kMaxTorque, laikago::kMaxTorque) * robot.works[j / laikago::kJointsOfLeg];
      }
      api_.step(api_.model, data_.data);
    }
    api_.get_state(api_.model, data_.data, robot.state.data(), api_.which);
    // MuJoCo: position, then w, x, y, z; velocity, then angular velocity in the trunk's axes.
    const double seen[7] = {q[4], q[5], q[6], q[3], q[0], q[1], q[2]};
    for (int i = 0; i < 7; ++i) robot.seen[i] = seen[i];
    for (int i = 0; i < 3; ++i) robot.seen[19 + i] = v[3 + i], robot.seen[22 + i] = v[i];
    for (int j = 0; j < laikago::kJoints; ++j) robot.seen[7 + j] = q[7 + j], robot.seen[25 + j] = v[6 + j];
  }

  MujocoApi api_;
  MujocoData data_;
  double strength_;
  int latency_;
  Robot start_;
  std::vector<Robot> robots_;
};

}  // namespace arz::physics
