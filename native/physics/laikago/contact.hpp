// Impulses at the toes (projected Gauss-Seidel), in the half-space u = G^T v.
#pragma once

#include "physics/laikago/factor.hpp"

namespace arz::physics::laikago {

// Toes times directions: the normals of all toes, then along x, then along y.
inline constexpr int kContactRows = 3 * kLegs;

// One direction of one toe, in the half-space: an impulse there changes the half-space velocity along (leg, base).
template <class T>
struct ContactRow {
  T base[kBase], leg[kJointsOfLeg];
};

// By the motion of the toe in this direction: with the trunk at unit velocities, and with the joints of the leg.
template <class T>
ARZ_INLINE void make_row(const Factor<T>& f, int leg, const Vector<T>& point, const Vector<T> (&by_joint)[kJointsOfLeg],
                         const Vector<T>& direction, ContactRow<T>& row) {
  for (int j = 0; j < kJointsOfLeg; ++j) row.leg[j] = dot(by_joint[j], direction);
  solve_leg(f.leg[leg], row.leg);
  put(cross(point, direction), row.base);
  put(direction, row.base + 3);
  for (int i = 0; i < kBase; ++i)
    row.base[i] = row.base[i] - f.across[leg][0][i] * row.leg[0] - f.across[leg][1][i] * row.leg[1] -
                  f.across[leg][2][i] * row.leg[2];
  solve_base(f, row.base);
}

template <class T>
ARZ_INLINE T base_product(const T* a, const T* b) {
  return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}
template <class T>
ARZ_INLINE T leg_product(const T* a, const T* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The rows of all toes, and by how much the velocity along each misses the wanted one, if no impulse acts.
template <class T>
ARZ_INLINE void make_rows(const State<T>& state, const Kinematics<T>& k, const Factor<T>& f, const Coordinates<T>& u,
                          ContactRow<T> (&rows)[kContactRows], T (&missing)[kContactRows], T (&most)[kLegs]) {
  using E = Element<T>;
  const Motion<T> trunk = trunk_motion(state, k);
  for (int leg = 0; leg < kLegs; ++leg) {
    const T depth = E(kToeRadius) - (state.position.z + dot(k.rotation.z, k.toe[leg]));
    const Vector<T> point = k.toe[leg] - k.rotation.z * E(kToeRadius);
    Vector<T> velocity = trunk.linear + cross(trunk.angular, point), by_joint[kJointsOfLeg];
    for (int j = 0; j < kJointsOfLeg; ++j) {
      const Motion<T>& axis = k.axis[3 * leg + j];
      by_joint[j] = axis.linear + cross(axis.angular, point);
      velocity = velocity + by_joint[j] * state.joint_velocity[3 * leg + j];
    }
    const Vector<T> moves = k.rotation * velocity;
    make_row(f, leg, point, by_joint, k.rotation.z, rows[leg]);
    make_row(f, leg, point, by_joint, k.rotation.x, rows[kLegs + leg]);
    make_row(f, leg, point, by_joint, k.rotation.y, rows[2 * kLegs + leg]);
    missing[leg] = depth * E(kErrorReduction / kStep) - moves.z;
    missing[kLegs + leg] = -moves.x;
    missing[2 * kLegs + leg] = -moves.y;
    most[leg] = select(depth > number<T>(0), number<T>(1e3), number<T>(0));
  }
  for (int r = 0; r < kContactRows; ++r)
    missing[r] =
        missing[r] - (base_product(rows[r].base, u.base) + leg_product(rows[r].leg, u.joint + 3 * (r % kLegs)));
}

// Changes u, the change of velocity in the half-space, so that toes in the ground leave it and do not slide: the normal
// impulses first, then friction along x and y, each at most the friction coefficient times the normal impulse.
template <class T>
ARZ_INLINE void contact(const State<T>& state, const Kinematics<T>& k, const Factor<T>& f, int iterations,
                        Element<T> friction, Coordinates<T>& u) {
  using E = Element<T>;
  const T none = number<T>(0);
  ContactRow<T> rows[kContactRows];
  T missing[kContactRows], most[kLegs], impulse[kContactRows], inverse[kContactRows];
  make_rows(state, k, f, u, rows, missing, most);
  T effect[kContactRows][kContactRows];  // of an impulse along one row on the velocity along another
  for (int r = 0; r < kContactRows; ++r) {
    for (int s = 0; s <= r; ++s) {
      effect[r][s] = base_product(rows[r].base, rows[s].base);
      if (r % kLegs == s % kLegs) effect[r][s] = effect[r][s] + leg_product(rows[r].leg, rows[s].leg);
      effect[s][r] = effect[r][s];
    }
    effect[r][r] = effect[r][r] + E(kSoftness);
    inverse[r] = E(1) / effect[r][r];
    impulse[r] = none;
  }
  for (int i = 0; i < iterations; ++i) {
#pragma GCC unroll 12
    for (int r = 0; r < kContactRows; ++r) {  // projected Gauss-Seidel
      const bool is_normal = r < kLegs;
      const T high = is_normal ? most[r % kLegs] : impulse[r % kLegs] * friction;
      const T low = is_normal ? none : -high;
      const T after = clamp(impulse[r] + missing[r] * inverse[r], low, high), change = after - impulse[r];
      impulse[r] = after;
#pragma GCC unroll 12
      for (int s = 0; s < kContactRows; ++s) missing[s] = missing[s] - effect[r][s] * change;
    }
  }
  for (int r = 0; r < kContactRows; ++r) {
    for (int i = 0; i < kBase; ++i) u.base[i] = u.base[i] + rows[r].base[i] * impulse[r];
    for (int j = 0; j < kJointsOfLeg; ++j)
      u.joint[3 * (r % kLegs) + j] = u.joint[3 * (r % kLegs) + j] + rows[r].leg[j] * impulse[r];
  }
}

}  // namespace arz::physics::laikago
