// What accelerations cost (composite rigid bodies).
#pragma once

#include "physics/laikago/kinematics.hpp"

namespace arz::physics::laikago {

template <class T>
struct Matrix {
  Inertia<T> base;             // of the whole robot
  Force<T> coupling[kJoints];  // the force on the trunk when a joint accelerates
  T leg[kLegs][6];             // 11, 21, 22, 31, 32, 33 of each leg
};

template <class T>
ARZ_INLINE void mass_matrix(const Kinematics<T>& k, Element<T> trunk_mass, Matrix<T>& to) {
  to.base = trunk<T>(trunk_mass);
  for (int leg = 0; leg < kLegs; ++leg) {
    const Motion<T>* axis = k.axis + 3 * leg;
    Force<T>* coupling = to.coupling + 3 * leg;
    Inertia<T> composite = k.link[3 * leg + 2];
    coupling[2] = composite * axis[2];
    composite = composite + k.link[3 * leg + 1];
    coupling[1] = composite * axis[1];
    composite = composite + k.link[3 * leg];
    coupling[0] = composite * axis[0];
    to.base = to.base + composite;
    T* m = to.leg[leg];
    m[0] = dot(axis[0], coupling[0]);
    m[1] = dot(axis[0], coupling[1]), m[2] = dot(axis[1], coupling[1]);
    m[3] = dot(axis[0], coupling[2]), m[4] = dot(axis[1], coupling[2]), m[5] = dot(axis[2], coupling[2]);
  }
}

}  // namespace arz::physics::laikago
