// The dynamics of the Laikago, written once over a number type. One step is
//
//   kinematics     where joints, links and toes are
//   bias_forces    what gravity and velocities do (recursive Newton-Euler)
//   mass_matrix    what accelerations cost (composite rigid bodies)
//   factor         M = G G^T, along the legs first: the matrix is an arrow
//   contact        impulses at the toes (projected Gauss-Seidel), in the half-space u = G^T v
//   integrate      velocities first, then positions
//
// docs/physics.md has the formulas. Everything is written in the frame of the trunk, about its origin; velocities are
// v = (angular velocity and velocity of the trunk in its own axes, joint velocities).
#pragma once

#include "laikago_model.hpp"

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

template <class T>
struct Kinematics {
  Rotation<T> rotation;     // rows: the world's axes, seen from the trunk
  Motion<T> axis[kJoints];  // the motion of a joint at unit velocity
  Inertia<T> link[kJoints];
  Vector<T> toe[kLegs];
};

template <class T>
struct Matrix {
  Inertia<T> base;             // of the whole robot
  Force<T> coupling[kJoints];  // the force on the trunk when a joint accelerates
  T leg[kLegs][6];             // 11, 21, 22, 31, 32, 33 of each leg
};

// G: a lower triangle for each leg, then one for the trunk, coupled by `across`; diagonals are stored inverted.
template <class T>
struct Factor {
  T leg[kLegs][6];  // 11, 21, 22, 31, 32, 33
  T across[kLegs][kJointsOfLeg][kBase];
  T base[kBase][kBase];
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

// ---- kinematics ----

template <class T>
ARZ_INLINE Rotation<T> rotation_of(const T (&q)[4]) {
  using E = Element<T>;
  const T x = q[0] + q[0], y = q[1] + q[1], z = q[2] + q[2];
  const T xx = x * q[0], yy = y * q[1], zz = z * q[2], xy = x * q[1], xz = x * q[2], yz = y * q[2];
  const T wx = x * q[3], wy = y * q[3], wz = z * q[3];
  return {
      {E(1) - (yy + zz), xy - wz, xz + wy}, {xy + wz, E(1) - (xx + zz), yz - wx}, {xz - wy, yz + wx, E(1) - (xx + yy)}};
}

// Turned about x, and about y.
template <class T>
ARZ_INLINE Vector<T> about_x(const SineCosine<T>& a, const Vector<T>& v) {
  return {v.x, a.cosine * v.y - a.sine * v.z, a.sine * v.y + a.cosine * v.z};
}
template <class T>
ARZ_INLINE Vector<T> about_y(const SineCosine<T>& a, const Vector<Element<T>>& v) {
  return {a.cosine * v.x + a.sine * v.z, v.y - T{}, a.cosine * v.z - a.sine * v.x};
}

// The inertia of a link that is turned about y and then about x.
template <class T>
ARZ_INLINE Symmetric<T> turned(const SineCosine<T>& x, const SineCosine<T>& y, const Link<Element<T>>& i) {
  const T cc = y.cosine * y.cosine, ss = y.sine * y.sine, cs = y.cosine * y.sine;
  const T twice = (cs + cs) * i.xz;
  const T xx = cc * i.xx + ss * i.zz + twice, zz = ss * i.xx + cc * i.zz - twice;
  const T xz = (cc - ss) * i.xz + cs * (i.zz - i.xx);
  const T c2 = x.cosine * x.cosine, s2 = x.sine * x.sine;
  return {xx, c2 * i.yy + s2 * zz, s2 * i.yy + c2 * zz, -x.sine * xz, x.cosine * xz, x.cosine * x.sine * (i.yy - zz)};
}

// The motion of a body that turns about an axis through a point.
template <class T>
ARZ_INLINE Motion<T> turning(const Vector<T>& axis, const Vector<T>& point) {
  return {axis, cross(point, axis)};
}

template <class T>
ARZ_INLINE void leg_kinematics(const State<T>& state, int leg, Kinematics<T>& to) {
  using E = Element<T>;
  const Leg<E>& model = kLeg<E>[leg];
  const T* angle = state.joint + 3 * leg;
  const SineCosine<T> abduction = sine_cosine(angle[0] * model.side);
  const SineCosine<T> hip = sine_cosine(angle[1]), knee = sine_cosine(angle[1] + angle[2]);

  const Vector<T> at_abduction = constant<T>(model.abduction);
  const Vector<T> at_hip = at_abduction + about_x(abduction, constant<T>(model.hip));
  const Vector<T> at_knee = at_hip + about_x(abduction, about_y(hip, model.knee));
  to.toe[leg] = at_knee + about_x(abduction, about_y(knee, as<E>(kToe.centre)));

  const T none = number<T>(0);
  const Vector<T> y{none, abduction.cosine, abduction.sine};
  to.axis[3 * leg] = turning({model.side - T{}, none, none}, at_abduction);
  to.axis[3 * leg + 1] = turning(y, at_hip);
  to.axis[3 * leg + 2] = turning(y, at_knee);

  const SineCosine<T> straight{none, number<T>(1)};
  const auto place = [&](const Link<E>& link, const Vector<T>& joint, const SineCosine<T>& y, Inertia<T>& at) {
    set_inertia(link.mass, joint + about_x(abduction, about_y(y, link.centre)), turned(abduction, y, link), at);
  };
  place(model.motor, at_abduction, straight, to.link[3 * leg]);
  place(model.upper, at_hip, hip, to.link[3 * leg + 1]);
  place(model.lower, at_knee, knee, to.link[3 * leg + 2]);
}

template <class T>
ARZ_INLINE void kinematics(const State<T>& state, Kinematics<T>& to) {
  to.rotation = rotation_of(state.quaternion);
  for (int leg = 0; leg < kLegs; ++leg) leg_kinematics(state, leg, to);
}

// The trunk and its velocity.
template <class T>
ARZ_INLINE Inertia<T> trunk(Element<T> mass = Element<T>(kTrunk.mass)) {
  const T none = number<T>(0);
  return {number<T>(mass),
          {none, none, none},
          {number<T>(kTrunk.xx), number<T>(kTrunk.yy), number<T>(kTrunk.zz), none, none, none}};
}
template <class T>
ARZ_INLINE Motion<T> trunk_motion(const State<T>& state, const Kinematics<T>& k) {
  return {state.angular, transposed_times(k.rotation, state.linear)};
}

// ---- bias forces ----

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

// ---- mass matrix ----

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

// ---- factor ----

template <class T>
ARZ_INLINE T inverse_root(const T& x) {
  return Element<T>(1) / square_root(x);
}

// Solves G y = x and G^T y = x for the triangle of a leg.
template <class T>
ARZ_INLINE void solve_leg(const T* g, T* x) {
  x[0] = x[0] * g[0];
  x[1] = (x[1] - g[1] * x[0]) * g[2];
  x[2] = (x[2] - g[3] * x[0] - g[4] * x[1]) * g[5];
}
template <class T>
ARZ_INLINE void solve_leg_transposed(const T* g, T* x) {
  x[2] = x[2] * g[5];
  x[1] = (x[1] - g[4] * x[2]) * g[2];
  x[0] = (x[0] - g[1] * x[1] - g[3] * x[2]) * g[0];
}
// The same for the triangle of the trunk.
template <class T>
ARZ_INLINE void solve_base(const Factor<T>& f, T* x) {
#pragma GCC unroll 6
  for (int i = 0; i < kBase; ++i) {
#pragma GCC unroll 6
    for (int j = 0; j < i; ++j) x[i] = x[i] - f.base[i][j] * x[j];
    x[i] = x[i] * f.base[i][i];
  }
}
template <class T>
ARZ_INLINE void solve_base_transposed(const Factor<T>& f, T* x) {
#pragma GCC unroll 6
  for (int i = kBase - 1; i >= 0; --i) {
#pragma GCC unroll 6
    for (int j = kBase - 1; j > i; --j) x[i] = x[i] - f.base[j][i] * x[j];
    x[i] = x[i] * f.base[i][i];
  }
}

template <class T>
ARZ_INLINE void factor(const Matrix<T>& m, Factor<T>& to) {
  const T none = number<T>(0);
  const Symmetric<T>& r = m.base.rotational;
  const Vector<T>& h = m.base.moment;
  T(*b)[kBase] = to.base;  // the lower triangle of the trunk's inertia, then what is left of it without the legs
  b[0][0] = r.xx, b[1][0] = r.xy, b[1][1] = r.yy, b[2][0] = r.xz, b[2][1] = r.yz, b[2][2] = r.zz;
  b[3][0] = none, b[3][1] = h.z, b[3][2] = -h.y, b[3][3] = m.base.mass;
  b[4][0] = -h.z, b[4][1] = none, b[4][2] = h.x, b[4][3] = none, b[4][4] = m.base.mass;
  b[5][0] = h.y, b[5][1] = -h.x, b[5][2] = none, b[5][3] = none, b[5][4] = none, b[5][5] = m.base.mass;

  for (int leg = 0; leg < kLegs; ++leg) {
    const T* a = m.leg[leg];
    T* g = to.leg[leg];
    g[0] = inverse_root(a[0]);
    g[1] = a[1] * g[0];
    g[2] = inverse_root(a[2] - g[1] * g[1]);
    g[3] = a[3] * g[0];
    g[4] = (a[4] - g[3] * g[1]) * g[2];
    g[5] = inverse_root(a[5] - g[3] * g[3] - g[4] * g[4]);
    T(*across)[kBase] = to.across[leg];
    for (int j = 0; j < kJointsOfLeg; ++j) {
      put(m.coupling[3 * leg + j].moment, across[j]);
      put(m.coupling[3 * leg + j].force, across[j] + 3);
    }
    for (int i = 0; i < kBase; ++i) {
      T x[kJointsOfLeg] = {across[0][i], across[1][i], across[2][i]};
      solve_leg(g, x);
      for (int j = 0; j < kJointsOfLeg; ++j) across[j][i] = x[j];
    }
#pragma GCC unroll 6
    for (int i = 0; i < kBase; ++i)
#pragma GCC unroll 6
      for (int j = 0; j <= i; ++j)
        b[i][j] = b[i][j] - across[0][i] * across[0][j] - across[1][i] * across[1][j] - across[2][i] * across[2][j];
  }
#pragma GCC unroll 6
  for (int j = 0; j < kBase; ++j) {
#pragma GCC unroll 6
    for (int k = 0; k < j; ++k) b[j][j] = b[j][j] - b[j][k] * b[j][k];
    b[j][j] = inverse_root(b[j][j]);
#pragma GCC unroll 6
    for (int i = j + 1; i < kBase; ++i) {
#pragma GCC unroll 6
      for (int k = 0; k < j; ++k) b[i][j] = b[i][j] - b[i][k] * b[j][k];
      b[i][j] = b[i][j] * b[j][j];
    }
  }
}

// x becomes G^-1 x; and G^-T x.
template <class T>
ARZ_INLINE void solve(const Factor<T>& f, Coordinates<T>& x) {
  for (int leg = 0; leg < kLegs; ++leg) {
    T* y = x.joint + 3 * leg;
    solve_leg(f.leg[leg], y);
    for (int i = 0; i < kBase; ++i)
      x.base[i] = x.base[i] - f.across[leg][0][i] * y[0] - f.across[leg][1][i] * y[1] - f.across[leg][2][i] * y[2];
  }
  solve_base(f, x.base);
}
template <class T>
ARZ_INLINE void solve_transposed(const Factor<T>& f, Coordinates<T>& x) {
  solve_base_transposed(f, x.base);
  for (int leg = 0; leg < kLegs; ++leg) {
    T* y = x.joint + 3 * leg;
    for (int j = 0; j < kJointsOfLeg; ++j)
      for (int i = 0; i < kBase; ++i) y[j] = y[j] - f.across[leg][j][i] * x.base[i];
    solve_leg_transposed(f.leg[leg], y);
  }
}
// ---- contact ----

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

// ---- one step ----

// The torque of the motors, which pull joints to their targets; `works` is 1, less for a weak motor, 0 for one without
// power.
template <class T>
ARZ_INLINE void motor_torques(const State<T>& state, const T* target, const T* works, T* torque) {
  using E = Element<T>;
  const T most = number<T>(kMaxTorque);
  for (int j = 0; j < kJoints; ++j) {
    const T wanted = (target[j] - state.joint[j]) * E(kStiffness) - state.joint_velocity[j] * E(kDamping);
    torque[j] = clamp(wanted, -most, most) * works[j / kJointsOfLeg];
  }
}

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

// By the change of velocity.
template <class T>
ARZ_INLINE void integrate(const Kinematics<T>& k, const Coordinates<T>& change, State<T>& state) {
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

// ---- what is conserved ----

// Kinetic and potential energy, momentum, and angular momentum about the world's origin.
struct Mechanics {
  double kinetic, potential, momentum[3], angular_momentum[3];
};
inline Mechanics mechanics(const State<double>& state) {
  Kinematics<double> k;
  kinematics(state, k);
  const Motion<double> v = trunk_motion(state, k);
  Inertia<double> all = trunk<double>();
  Force<double> momentum = all * v;
  double kinetic = dot(v, momentum);
  for (int leg = 0; leg < kLegs; ++leg) {
    Motion<double> moving = v;
    for (int joint = 3 * leg; joint < 3 * leg + 3; ++joint) {
      moving = moving + k.axis[joint] * state.joint_velocity[joint];
      const Force<double> own = k.link[joint] * moving;
      kinetic += dot(moving, own);
      momentum = momentum + own;
      all = all + k.link[joint];
    }
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
