// Velocities first, then positions (semi-implicit Euler).
#pragma once

#include "physics/laikago/kinematics.hpp"

namespace arz::physics::laikago {

// By the change of velocity.
template <class T>
[[gnu::noinline]] void integrate(const Kinematics<T>& k, const Coordinates<T>& change, State<T>& state) {
  using E = Element<T>;
  const E dt = kStep;
  state.angular = state.angular + get(change.base);
  state.linear = state.linear + k.rotation * get(change.base + 3);
  state.position = state.position + state.linear * dt;
  for (int j = 0; j < kJoints; ++j) {
    state.joint_velocity[j] = state.joint_velocity[j] + change.joint[j];
    state.joint[j] = state.joint[j] + state.joint_velocity[j] * dt;
  }
  const Vector<T> half = state.angular * E(kStep / 2);
  T(&q)[4] = state.quaternion;
  const T x = q[0] + (q[3] * half.x + q[1] * half.z - q[2] * half.y);
  const T y = q[1] + (q[3] * half.y + q[2] * half.x - q[0] * half.z);
  const T z = q[2] + (q[3] * half.z + q[0] * half.y - q[1] * half.x);
  const T w = q[3] - (q[0] * half.x + q[1] * half.y + q[2] * half.z);
  const T scale = inverse_root(x * x + y * y + z * z + w * w);
  q[0] = x * scale, q[1] = y * scale, q[2] = z * scale, q[3] = w * scale;
}

}  // namespace arz::physics::laikago
