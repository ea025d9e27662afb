// What gravity and velocities do (recursive Newton-Euler).
#pragma once

#include "physics/laikago/kinematics.hpp"

namespace arz::physics::laikago {

// The force that keeps a body of this inertia on its course: I a + v x* I v.
template <class T>
ARZ_INLINE Force<T> newton_euler(const Inertia<T>& inertia, const Motion<T>& velocity, const Motion<T>& acceleration) {
  return inertia * acceleration + cross(velocity, inertia * velocity);
}

// The forces under which nothing accelerates (the trunk neither turns faster nor moves faster, seen from the world).
// Gravity is an upward acceleration of the trunk; - w x v, because the trunk's axes turn.
template <class T>
ARZ_INLINE void bias_forces(const State<T>& state, const Kinematics<T>& k, Element<T> trunk_mass, Coordinates<T>& to) {
  using E = Element<T>;
  const T none = number<T>(0);
  const Motion<T> velocity = trunk_motion(state, k);
  const Motion<T> acceleration{{none, none, none},
                               k.rotation.z * E(kGravity) - cross(velocity.angular, velocity.linear)};
  Force<T> total = newton_euler(trunk<T>(trunk_mass), velocity, acceleration);
  for (int leg = 0; leg < kLegs; ++leg) {
    Motion<T> v = velocity, a = acceleration;
    Force<T> force[kJointsOfLeg];
    for (int j = 0; j < kJointsOfLeg; ++j) {
      const int joint = 3 * leg + j;
      const Motion<T> own = k.axis[joint] * state.joint_velocity[joint];
      v = v + own;
      a = a + cross(v, own);
      force[j] = newton_euler(k.link[joint], v, a);
    }
    for (int j = kJointsOfLeg - 1; j >= 0; --j) {
      to.joint[3 * leg + j] = dot(k.axis[3 * leg + j], force[j]);
      if (j > 0)
        force[j - 1] = force[j - 1] + force[j];
      else
        total = total + force[0];
    }
  }
  put(total.moment, to.base);
  put(total.force, to.base + 3);
}

}  // namespace arz::physics::laikago
