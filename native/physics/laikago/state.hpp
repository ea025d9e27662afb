// Where a robot is and how it moves, and vectors over its degrees of freedom. Everything is written in the frame of the
// trunk, about its origin; velocities are v = (angular velocity and velocity of the trunk in its own axes, joint
// velocities).
#pragma once

#include "physics/laikago/model.hpp"

namespace arz::physics::laikago {

inline constexpr int kBase = 6;  // degrees of freedom of the trunk
inline constexpr int kStateNumbers = 37;

template <class T>
struct State {
  T quaternion[4];     // x, y, z, w: from the trunk's axes to the world's
  Vector<T> position;  // of the trunk, in the world
  T joint[kJoints];
  Vector<T> angular;  // velocity, in the trunk's axes
  Vector<T> linear;   // velocity, in the world's axes
  T joint_velocity[kJoints];
};

// Velocities, forces or impulses: of the trunk and of the joints.
template <class T>
struct Coordinates {
  T base[kBase];
  T joint[kJoints];
};

template <class T>
ARZ_INLINE void put(const Vector<T>& from, T* to) {
  to[0] = from.x, to[1] = from.y, to[2] = from.z;
}
template <class T>
ARZ_INLINE Vector<T> get(const T* from) {
  return {from[0], from[1], from[2]};
}
template <class T>
ARZ_INLINE Vector<T> constant(const Vector<Element<T>>& v) {
  return {v.x - T{}, v.y - T{}, v.z - T{}};
}

}  // namespace arz::physics::laikago
