// The Laikago in numbers (from its URDF, as the Tiny Differentiable Simulator and PyBullet ship it), and the constants
// of the simulation. All frames are aligned with the trunk's: x forward, y left, z up; metres, kilograms, seconds.
#pragma once

#include <cstdint>

#include "machine/random.hpp"
#include "physics/spatial.hpp"

namespace arz::physics::laikago {

inline constexpr int kLegs = 4, kJointsOfLeg = 3, kJoints = kLegs * kJointsOfLeg;
inline constexpr const char* kLegNames[kLegs] = {"FR", "FL", "RR", "RL"};
inline constexpr const char* kJointNames[kJointsOfLeg] = {"abduction", "hip", "knee"};

// A link: mass, centre of mass, and inertia about it; that in xy and yz is none.
template <class E>
struct Link {
  E mass;
  Vector<E> centre;
  E xx, yy, zz, xz = 0;
};

// Two that are fixed to each other, both with y = 0, as one (the theorem of parallel axes).
constexpr Link<double> joined(const Link<double>& a, const Link<double>& b) {
  const double mass = a.mass + b.mass, reduced = a.mass * b.mass / mass;
  const double dx = b.centre.x - a.centre.x, dz = b.centre.z - a.centre.z;
  return {mass,
          {(a.mass * a.centre.x + b.mass * b.centre.x) / mass, 0, (a.mass * a.centre.z + b.mass * b.centre.z) / mass},
          a.xx + b.xx + reduced * dz * dz,
          a.yy + b.yy + reduced * (dx * dx + dz * dz),
          a.zz + b.zz + reduced * dx * dx,
          a.xz + b.xz - reduced * dx * dz};
}

// A leg: three links one after the other. The abduction joint turns about (side, 0, 0), hip and knee about y.
template <class E>
struct Leg {
  E side;                          // 1 left, -1 right
  Vector<E> abduction, hip, knee;  // where the joints are, in the frame of the link before
  Link<E> motor, upper, lower;     // the toe is part of the lower leg
};

inline constexpr Link<double> kTrunk{13.715, {0, 0, 0}, .22, .431, .565};
inline constexpr Link<double> kToe{0.1, {-.022, 0, -.25}, 2.5e-5, 2.5e-5, 2.5e-5};
inline constexpr double kToeRadius = .03;

constexpr Leg<double> make_leg(bool front, bool left) {
  const double s = left ? 1 : -1;
  const Link<double> upper{1.527, {-.04, 0, -.04}, .011, .016, .007};
  const Link<double> upper_fr{1.527, {-.04, 0, -.04}, .010, .015, .007};
  const Link<double> lower{0.241, {-.02, 0, -.16}, .002, .002, .002};
  return {s,
          {front ? .199095 : -.238195, .0817145 * s, -.03},
          {0, left ? .055855 : -.053565, 0},
          {-.1422, -.02069 * s, -.20833},
          {1.095, {0, -.02 * s, 0}, .001, .002, .002},
          front && !left ? upper_fr : upper,
          joined(lower, kToe)};
}

// The legs in the precision of a number type.
template <class E>
constexpr Vector<E> as(const Vector<double>& v) {
  return {E(v.x), E(v.y), E(v.z)};
}
template <class E>
constexpr Link<E> as(const Link<double>& l) {
  return {E(l.mass), as<E>(l.centre), E(l.xx), E(l.yy), E(l.zz), E(l.xz)};
}
template <class E>
constexpr Leg<E> as(const Leg<double>& l) {
  return {E(l.side), as<E>(l.abduction), as<E>(l.hip), as<E>(l.knee), as<E>(l.motor), as<E>(l.upper), as<E>(l.lower)};
}
template <class E>
inline constexpr Leg<E> kLeg[kLegs] = {as<E>(make_leg(true, false)), as<E>(make_leg(true, true)),
                                       as<E>(make_leg(false, false)), as<E>(make_leg(false, true))};

inline constexpr double kGravity = 9.81, kStep = .001;
// A motor pulls its joint to the wanted angle, up to a torque.
inline constexpr double kStiffness = 100, kDamping = 2, kMaxTorque = 50;
inline constexpr double kNominalHeight = .48, kNominal[kJointsOfLeg] = {.2, 0, -.7};
// Contact of the toes with the ground: friction, the share of a penetration that is removed in a step, and a softness.
inline constexpr double kFriction = 1, kErrorReduction = .2, kSoftness = 1e-5;

// What may differ from one simulation to the next.
struct World {
  double friction = kFriction;  // of the toes on the ground
  double payload = 0;           // a mass at the trunk's origin
  double strength = 1;          // of all motors: their torque is so many times what it should be
  int latency = 0;              // physics steps of a control step until the motors hear of an action
  double pose = 0;              // each joint starts off its place by up to this...
  std::uint64_t key = 0;        // ...as this says

  double offset(int joint) const { return pose * (2.0 * unit(mix(key + kGolden * (joint + 1))) - 1.0); }
};
// The same in the precision of a number type, as far as the dynamics need it.
template <class E>
struct Conditions {
  E friction = E(kFriction), trunk_mass = E(kTrunk.mass);
  Conditions() = default;
  explicit Conditions(const World& world) : friction(E(world.friction)), trunk_mass(E(kTrunk.mass + world.payload)) {}
};

}  // namespace arz::physics::laikago
