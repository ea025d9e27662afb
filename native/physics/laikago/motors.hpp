// The torques of the motors, which pull joints to their targets.
#pragma once

#include "physics/laikago/state.hpp"

namespace arz::physics::laikago {

// `works` is 1, less for a weak motor, 0 for one without power.
template <class T>
ARZ_INLINE void motor_torques(const State<T>& state, const T* target, const T* works, T* torque) {
  using E = Element<T>;
  const T most = number<T>(kMaxTorque);
  for (int j = 0; j < kJoints; ++j) {
    const T wanted = (target[j] - state.joint[j]) * E(kStiffness) - state.joint_velocity[j] * E(kDamping);
    torque[j] = clamp(wanted, -most, most) * works[j / kJointsOfLeg];
  }
}

}  // namespace arz::physics::laikago
