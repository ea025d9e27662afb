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
[[gnu::noinline]] void bias_forces(const State<T>& state, const Kinematics<T>& k, Element<T> trunk_mass,
                                   Coordinates<T>& to) {
  using E = Element<T>;
  const T none = number<T>(0);
  const Motion<T> acceleration{{none, none, none}, k.rotation.z * E(kGravity) - cross(k.trunk.angular, k.trunk.linear)};
  Force<T> total = newton_euler(trunk<T>(trunk_mass), k.trunk, acceleration);
  Motion<T> velocities[kJoints], accelerations[kJoints];
  for (int leg = 0; leg < kLegs; ++leg) {
    Motion<T> v = k.trunk, a = acceleration;
    each_axis(k.axes[leg], [&](const auto& axis, int j) __attribute__((always_inline)) {
      const auto own = axis * state.joint_velocity[3 * leg + j];
      v = v + own;
      a = a + cross(v, own);
      velocities[3 * leg + j] = v, accelerations[3 * leg + j] = a;
    });
  }
  Force<T> force[kJoints];  // a short loop of links that do not wait for each other
#pragma GCC unroll 1
  for (int j = 0; j < kJoints; ++j) force[j] = newton_euler(k.link[j], velocities[j], accelerations[j]);
  for (int leg = 0; leg < kLegs; ++leg) {
    Force<T>* f = force + 3 * leg;
    f[1] = f[1] + f[2];
    f[0] = f[0] + f[1];
    each_axis(k.axes[leg], [&](const auto& axis, int j) { to.joint[3 * leg + j] = dot(axis, f[j]); });
    total = total + f[0];
  }
  put(total.moment, to.base);
  put(total.force, to.base + 3);
}

}  // namespace arz::physics::laikago
