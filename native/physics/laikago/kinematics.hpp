// Where joints, links and toes are.
#pragma once

#include "physics/laikago/state.hpp"

namespace arz::physics::laikago {

// The motions of a leg's joints at unit velocity. The first turns about an axis along x, the others across it.
template <class T>
struct LegAxes {
  Motion<T, AlongX, AcrossX> abduction;
  Motion<T, AcrossX, Vector> hip, knee;
};
// Calls work(axis, number) for each, from the trunk outwards. (GCC leaves work of some length outside, if it may.)
template <class T, class Work>
ARZ_INLINE void each_axis(const LegAxes<T>& axes, Work work) {
  work(axes.abduction, 0), work(axes.hip, 1), work(axes.knee, 2);
}

template <class T>
struct Kinematics {
  Rotation<T> rotation;  // rows: the world's axes, seen from the trunk
  Motion<T> trunk;       // its velocity
  LegAxes<T> axes[kLegs];
  Inertia<T> link[kJoints];
  Vector<T> toe[kLegs];
};

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
template <class T, template <class> class Axis>
ARZ_INLINE auto turning(const Axis<T>& axis, const Vector<T>& point) {
  return Motion{axis, cross(point, axis)};
}

// `turn`: of the leg's links, against the trunk.
template <class T>
ARZ_INLINE void leg_kinematics(const SineCosine<T>* turn, int leg, Kinematics<T>& to) {
  using E = Element<T>;
  const Leg<E>& model = kLeg<E>[leg];
  const SineCosine<T>&abduction = turn[0], &hip = turn[1], &knee = turn[2];

  const Vector<T> at_abduction = constant<T>(model.abduction);
  const Vector<T> at_hip = at_abduction + about_x(abduction, constant<T>(model.hip));
  const Vector<T> at_knee = at_hip + about_x(abduction, about_y(hip, model.knee));
  to.toe[leg] = at_knee + about_x(abduction, about_y(knee, as<E>(kToe.centre)));

  const AcrossX<T> y{abduction.cosine, abduction.sine};
  to.axes[leg] = {turning(AlongX<T>{model.side - T{}}, at_abduction), turning(y, at_hip), turning(y, at_knee)};

  const SineCosine<T> straight{number<T>(0), number<T>(1)};
  const auto place = [&](const Link<E>& link, const Vector<T>& joint, const SineCosine<T>& y, Inertia<T>& at) {
    set_inertia(link.mass, joint + about_x(abduction, about_y(y, link.centre)), turned(abduction, y, link), at);
  };
  place(model.motor, at_abduction, straight, to.link[3 * leg]);
  place(model.upper, at_hip, hip, to.link[3 * leg + 1]);
  place(model.lower, at_knee, knee, to.link[3 * leg + 2]);
}

template <class T>
[[gnu::noinline]] void kinematics(const State<T>& state, Kinematics<T>& to) {
  to.rotation = rotation_of(state.quaternion);
  to.trunk = {state.angular, transposed_times(to.rotation, state.linear)};
  T angle[kJoints];
  for (int leg = 0; leg < kLegs; ++leg) {
    const T *of_joint = state.joint + 3 * leg, hip = of_joint[1];
    angle[3 * leg] = of_joint[0] * kLeg<Element<T>>[leg].side;
    angle[3 * leg + 1] = hip, angle[3 * leg + 2] = hip + of_joint[2];
  }
  SineCosine<T> turn[kJoints];
#pragma GCC unroll 1
  for (int j = 0; j < kJoints; ++j) turn[j] = sine_cosine(angle[j]);
  for (int leg = 0; leg < kLegs; ++leg) leg_kinematics(turn + 3 * leg, leg, to);
}

template <class T>
ARZ_INLINE Inertia<T> trunk(Element<T> mass = Element<T>(kTrunk.mass)) {
  const T none = number<T>(0);
  return {number<T>(mass),
          {none, none, none},
          {number<T>(kTrunk.xx), number<T>(kTrunk.yy), number<T>(kTrunk.zz), none, none, none}};
}

}  // namespace arz::physics::laikago
