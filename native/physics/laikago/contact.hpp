// Impulses at the toes (projected Gauss-Seidel), in the half-space u = G^T v.
#pragma once

#include "physics/laikago/factor.hpp"

namespace arz::physics::laikago {

// Row 3 leg + d is a direction of a toe: its normal, x, y. A sweep takes all normals first, then all x, then all y.
inline constexpr int kDirections = 3, kContactRows = kLegs * kDirections;
constexpr int row_in_turn(int i) { return 3 * (i % kLegs) + i / kLegs; }

// A row in the half-space: an impulse there changes the half-space velocity along (leg, base).
template <class T>
struct ContactRow {
  T base[kBase], leg[kJointsOfLeg];
};
template <class T>
struct Contacts {
  ContactRow<T> row[kContactRows];
  T missing[kContactRows];  // by how much the velocity along a row misses the wanted one
  T most[kLegs];            // of the normal impulses
};

// What rows do to each other: effect[r][s], for s up to r, of an impulse along one on the velocity along the other.
template <class T>
struct Effects {
  T effect[kContactRows][kContactRows], inverse[kContactRows];
};

template <class T>
ARZ_INLINE T base_product(const T* a, const T* b) {
  return ((a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}
template <class T>
ARZ_INLINE T leg_product(const T* a, const T* b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The rows of a toe, all but what the trunk's triangle does to them; and by how much its velocity misses the wanted
// one.
template <class T>
ARZ_INLINE void begin_rows(const State<T>& state, const Kinematics<T>& k, const Factor<T>& f, int leg,
                           Contacts<T>& to) {
  using E = Element<T>;
  const T depth = E(kToeRadius) - (state.position.z + dot(k.rotation.z, k.toe[leg]));
  const Vector<T> point = k.toe[leg] - k.rotation.z * E(kToeRadius);
  const auto of_point = [&](const auto& axis) { return axis.linear + cross(axis.angular, point); };
  const AcrossX<T> abduction = of_point(k.axes[leg].abduction);
  const Vector<T> hip = of_point(k.axes[leg].hip), knee = of_point(k.axes[leg].knee);
  const T* speed = state.joint_velocity + 3 * leg;
  const Vector<T> velocity =
      k.trunk.linear + cross(k.trunk.angular, point) + abduction * speed[0] + hip * speed[1] + knee * speed[2];
  const Vector<T> moves = k.rotation * velocity;
  T* missing = to.missing + 3 * leg;
  missing[0] = depth * E(kErrorReduction / kStep) - moves.z, missing[1] = -moves.x, missing[2] = -moves.y;
  to.most[leg] = select(depth > number<T>(0), number<T>(1e3), number<T>(0));

  const Vector<T>* const directions[kDirections] = {&k.rotation.z, &k.rotation.x, &k.rotation.y};
#pragma GCC unroll 1
  for (int d = 0; d < kDirections; ++d) {
    const Vector<T>& direction = *directions[d];
    T by_joint[kJointsOfLeg] = {dot(abduction, direction), dot(hip, direction), dot(knee, direction)}, base[kBase];
    solve_leg(f.leg[leg], by_joint);
    put(cross(point, direction), base);
    put(direction, base + 3);
    ContactRow<T>& row = to.row[3 * leg + d];
    for (int i = 0; i < kBase; ++i)
      row.base[i] = base[i] - f.across[leg][0][i] * by_joint[0] - f.across[leg][1][i] * by_joint[1] -
                    f.across[leg][2][i] * by_joint[2];
    for (int j = 0; j < kJointsOfLeg; ++j) row.leg[j] = by_joint[j];
  }
}

// All rows, and by how much the velocity along each misses the wanted one, if no impulse acts.
template <class T>
ARZ_INLINE void make_rows(const State<T>& state, const Kinematics<T>& k, const Factor<T>& f, const Coordinates<T>& u,
                          Contacts<T>& to) {
  for (int leg = 0; leg < kLegs; ++leg) begin_rows(state, k, f, leg, to);
#pragma GCC unroll 1
  for (int r = 0; r < kContactRows; ++r) solve_base(f, to.row[r].base);
  for (int leg = 0; leg < kLegs; ++leg) {
#pragma GCC unroll 3
    for (int r = 3 * leg; r < 3 * leg + 3; ++r)
      to.missing[r] =
          to.missing[r] - (base_product(to.row[r].base, u.base) + leg_product(to.row[r].leg, u.joint + 3 * leg));
  }
}

// The loop inside is short and holds one row in registers.
template <class T>
ARZ_INLINE void make_effects(const ContactRow<T>* row, Effects<T>& to) {
  using E = Element<T>;
  for (int leg = 0; leg < kLegs; ++leg) {
#pragma GCC unroll 3
    for (int d = 0; d < kDirections; ++d) {
      const int r = 3 * leg + d;
      const ContactRow<T>& own = row[r];
#pragma GCC unroll 1
      for (int s = 0; s < 3 * leg; ++s) to.effect[r][s] = base_product(own.base, row[s].base);
      for (int s = 3 * leg; s <= r; ++s)
        to.effect[r][s] = base_product(own.base, row[s].base) + leg_product(own.leg, row[s].leg);
      to.effect[r][r] = to.effect[r][r] + E(kSoftness);
      to.inverse[r] = E(1) / to.effect[r][r];
    }
  }
}

// Of projected Gauss-Seidel. Before the first there are no impulses, and nobody asks what the last leaves missing.
template <bool is_first, bool is_last, class T>
ARZ_INLINE void sweep(const Effects<T>& e, const T* most, Element<T> friction, T* missing, T* impulse) {
#pragma GCC unroll 12
  for (int i = 0; i < kContactRows; ++i) {
    const int leg = i % kLegs, r = row_in_turn(i);
    const T high = i < kLegs ? most[leg] : impulse[3 * leg] * friction;
    const T low = i < kLegs ? number<T>(0) : -high, push = missing[r] * e.inverse[r];
    const T after = clamp(is_first ? push : impulse[r] + push, low, high);
    const T change = is_first ? after : after - impulse[r];
    impulse[r] = after;
#pragma GCC unroll 12
    for (int j = is_last ? i + 1 : 0; j < kContactRows; ++j) {
      const int s = row_in_turn(j);
      missing[s] = missing[s] - e.effect[r > s ? r : s][r > s ? s : r] * change;
    }
  }
}

template <class T>
ARZ_INLINE void add_impulses(const ContactRow<T>* rows, const T* impulses, Coordinates<T>& u) {
  for (int leg = 0; leg < kLegs; ++leg) {
    const ContactRow<T>* row = rows + 3 * leg;
    const T* impulse = impulses + 3 * leg;
#pragma GCC unroll 3
    for (int j = 0; j < kJointsOfLeg; ++j)
      u.joint[3 * leg + j] =
          u.joint[3 * leg + j] + row[0].leg[j] * impulse[0] + row[1].leg[j] * impulse[1] + row[2].leg[j] * impulse[2];
  }
  T base[kBase];
  for (int i = 0; i < kBase; ++i) base[i] = u.base[i];
#pragma GCC unroll 1
  for (int d = 0; d < kDirections; ++d) {
#pragma GCC unroll 4
    for (int r = d; r < kContactRows; r += 3) {
#pragma GCC unroll 6
      for (int i = 0; i < kBase; ++i) base[i] = base[i] + rows[r].base[i] * impulses[r];
    }
  }
  for (int i = 0; i < kBase; ++i) u.base[i] = base[i];
}

// Changes u, the change of velocity in the half-space, so that toes in the ground leave it and do not slide: the normal
// impulses first, then friction along x and y, each at most the friction coefficient times the normal impulse.
template <class T>
[[gnu::noinline]] void contact(const State<T>& state, const Kinematics<T>& k, const Factor<T>& f, int iterations,
                               Element<T> friction, Coordinates<T>& u) {
  Contacts<T> c;
  Effects<T> e;
  T impulse[kContactRows];
  make_rows(state, k, f, u, c);
  make_effects(c.row, e);
  if (iterations == 1) {
    sweep<true, true>(e, c.most, friction, c.missing, impulse);
  } else {
    sweep<true, false>(e, c.most, friction, c.missing, impulse);
    for (int i = 2; i < iterations; ++i) sweep<false, false>(e, c.most, friction, c.missing, impulse);
    sweep<false, true>(e, c.most, friction, c.missing, impulse);
  }
  add_impulses(c.row, impulse, u);
}

}  // namespace arz::physics::laikago
