// What is conserved, for those who check the dynamics.
#pragma once

#include "physics/laikago/kinematics.hpp"

namespace arz::physics::laikago {

// Kinetic and potential energy, momentum, and angular momentum about the world's origin.
struct Mechanics {
  double kinetic, potential, momentum[3], angular_momentum[3];
};
inline Mechanics mechanics(const State<double>& state) {
  Kinematics<double> k;
  kinematics(state, k);
  const Motion<double> v = k.trunk;
  Inertia<double> all = trunk<double>();
  Force<double> momentum = all * v;
  double kinetic = dot(v, momentum);
  for (int leg = 0; leg < kLegs; ++leg) {
    Motion<double> moving = v;
    each_axis(k.axes[leg], [&](const auto& axis, int j) {
      const int joint = 3 * leg + j;
      moving = moving + axis * state.joint_velocity[joint];
      const Force<double> own = k.link[joint] * moving;
      kinetic += dot(moving, own);
      momentum = momentum + own;
      all = all + k.link[joint];
    });
  }
  const Vector<double> linear = k.rotation * momentum.force;
  const Vector<double> angular = k.rotation * momentum.moment + cross(state.position, linear);
  const double height = state.position.z + dot(k.rotation.z, all.moment) / all.mass;
  Mechanics result{kinetic / 2, all.mass * kGravity * height, {}, {}};
  put(linear, result.momentum);
  put(angular, result.angular_momentum);
  return result;
}

}  // namespace arz::physics::laikago
