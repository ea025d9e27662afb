// What accelerations cost (composite rigid bodies).
#pragma once

#include "physics/laikago/kinematics.hpp"

namespace arz::physics::laikago {

template <class T>
struct Matrix {
  Inertia<T> base;             // of the whole robot
  T coupling[kJoints][kBase];  // the force on the trunk when a joint accelerates
  T leg[kLegs][6];             // 11, 21, 22, 31, 32, 33 of each leg
};

// With the entry that is 0.
template <class T>
ARZ_INLINE Force<T> whole(const Force<T, AcrossX>& f) {
  return {f.moment, {number<T>(0), f.force.y, f.force.z}};
}

template <class T>
[[gnu::noinline]] void mass_matrix(const Kinematics<T>& k, Element<T> trunk_mass, Matrix<T>& to) {
  to.base = trunk<T>(trunk_mass);
  for (int leg = 0; leg < kLegs; ++leg) {
    const LegAxes<T>& axes = k.axes[leg];
    Force<T> coupling[kJointsOfLeg];
    Inertia<T> composite = k.link[3 * leg + 2];
    coupling[2] = composite * axes.knee;
    composite = composite + k.link[3 * leg + 1];
    coupling[1] = composite * axes.hip;
    composite = composite + k.link[3 * leg];
    coupling[0] = whole(composite * axes.abduction);
    to.base = to.base + composite;
    for (int j = 0; j < kJointsOfLeg; ++j) {
      put(coupling[j].moment, to.coupling[3 * leg + j]);
      put(coupling[j].force, to.coupling[3 * leg + j] + 3);
    }
    T* m = to.leg[leg];
    m[0] = dot(axes.abduction, coupling[0]);
    m[1] = dot(axes.abduction, coupling[1]), m[2] = dot(axes.hip, coupling[1]);
    m[3] = dot(axes.abduction, coupling[2]), m[4] = dot(axes.hip, coupling[2]), m[5] = dot(axes.knee, coupling[2]);
  }
}

}  // namespace arz::physics::laikago
