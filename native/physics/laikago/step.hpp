// The dynamics of the Laikago, written once over a number type. One step is
//
//   motor_torques  what the motors do
//   kinematics     where joints, links and toes are
//   bias_forces    what gravity and velocities do (recursive Newton-Euler)
//   mass_matrix    what accelerations cost (composite rigid bodies)
//   factor         M = G G^T, along the legs first: the matrix is an arrow
//   contact        impulses at the toes (projected Gauss-Seidel), in the half-space u = G^T v
//   integrate      velocities first, then positions
//
// each in a header of its name (motors.hpp for the first), and but for the first a function that is not inlined: as
// one, compilers spill more, and its speed hangs on chance. docs/physics.md has the formulas.
#pragma once

#include "physics/laikago/bias_forces.hpp"
#include "physics/laikago/contact.hpp"
#include "physics/laikago/factor.hpp"
#include "physics/laikago/integrate.hpp"
#include "physics/laikago/kinematics.hpp"
#include "physics/laikago/mass_matrix.hpp"
#include "physics/laikago/motors.hpp"

namespace arz::physics::laikago {

// Torques minus bias forces, for a time: what accelerates.
template <class T>
ARZ_INLINE void drive(const T* torque, Element<T> time, Coordinates<T>& bias) {
  for (int i = 0; i < kBase; ++i) bias.base[i] = bias.base[i] * -time;
  for (int j = 0; j < kJoints; ++j) bias.joint[j] = (torque[j] - bias.joint[j]) * time;
}

// Without contact: how the velocities change per second.
template <class T>
void accelerations(const State<T>& state, const T* torque, Coordinates<T>& result) {
  Kinematics<T> k;
  Matrix<T> m;
  Factor<T> f;
  kinematics(state, k);
  bias_forces(state, k, Element<T>(kTrunk.mass), result);
  drive(torque, Element<T>(1), result);
  mass_matrix(k, Element<T>(kTrunk.mass), m);
  factor(m, f);
  solve(f, result);
  solve_transposed(f, result);
}

// One millisecond.
template <class T>
[[gnu::noinline]] void step(State<T>& state, const T* target, const T* works, int iterations,
                            const Conditions<Element<T>>& conditions = {}) {
  Kinematics<T> k;
  Coordinates<T> change;
  Matrix<T> m;
  Factor<T> f;
  T torque[kJoints];
  motor_torques(state, target, works, torque);
  kinematics(state, k);
  bias_forces(state, k, conditions.trunk_mass, change);
  drive(torque, Element<T>(kStep), change);
  mass_matrix(k, conditions.trunk_mass, m);
  factor(m, f);
  solve(f, change);
  contact(state, k, f, iterations, conditions.friction, change);
  solve_transposed(f, change);
  integrate(k, change, state);
}

}  // namespace arz::physics::laikago
