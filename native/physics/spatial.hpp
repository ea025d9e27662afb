// Vectors of space and Featherstone's spatial vectors (Rigid Body Dynamics Algorithms, 2008, chapter 2), over any
// number type. All of a robot's are written in one frame, so nothing is ever transformed from link to link.
#pragma once

#include "physics/number.hpp"

namespace arz::physics {

template <class T>
struct Vector {
  T x, y, z;
};
template <class T>
ARZ_INLINE Vector<T> operator+(const Vector<T>& a, const Vector<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
ARZ_INLINE Vector<T> operator-(const Vector<T>& a, const Vector<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T, class S>
ARZ_INLINE Vector<T> operator*(const Vector<T>& a, const S& s) {
  return {a.x * s, a.y * s, a.z * s};
}
template <class T>
ARZ_INLINE T dot(const Vector<T>& a, const Vector<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
ARZ_INLINE Vector<T> cross(const Vector<T>& a, const Vector<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A symmetric 3x3 matrix.
template <class T>
struct Symmetric {
  T xx, yy, zz, xy, xz, yz;
};
template <class T>
ARZ_INLINE Symmetric<T> operator+(const Symmetric<T>& a, const Symmetric<T>& b) {
  return {a.xx + b.xx, a.yy + b.yy, a.zz + b.zz, a.xy + b.xy, a.xz + b.xz, a.yz + b.yz};
}
template <class T>
ARZ_INLINE Vector<T> operator*(const Symmetric<T>& a, const Vector<T>& v) {
  return {a.xx * v.x + a.xy * v.y + a.xz * v.z, a.xy * v.x + a.yy * v.y + a.yz * v.z,
          a.xz * v.x + a.yz * v.y + a.zz * v.z};
}

// A rotation matrix, by rows.
template <class T>
struct Rotation {
  Vector<T> x, y, z;
};
template <class T>
ARZ_INLINE Vector<T> operator*(const Rotation<T>& r, const Vector<T>& v) {
  return {dot(r.x, v), dot(r.y, v), dot(r.z, v)};
}
template <class T>
ARZ_INLINE Vector<T> transposed_times(const Rotation<T>& r, const Vector<T>& v) {
  return r.x * v.x + r.y * v.y + r.z * v.z;
}

// A motion (angular velocity, velocity of the point at the frame's origin) or its change.
template <class T>
struct Motion {
  Vector<T> angular, linear;
};
template <class T>
ARZ_INLINE Motion<T> operator+(const Motion<T>& a, const Motion<T>& b) {
  return {a.angular + b.angular, a.linear + b.linear};
}
template <class T>
ARZ_INLINE Motion<T> operator*(const Motion<T>& a, const T& s) {
  return {a.angular * s, a.linear * s};
}

// A force (moment about the frame's origin, force) or momentum.
template <class T>
struct Force {
  Vector<T> moment, force;
};
template <class T>
ARZ_INLINE Force<T> operator+(const Force<T>& a, const Force<T>& b) {
  return {a.moment + b.moment, a.force + b.force};
}
template <class T>
ARZ_INLINE T dot(const Motion<T>& m, const Force<T>& f) {
  return dot(m.angular, f.moment) + dot(m.linear, f.force);
}

// v x m and v x* f: how a motion and a force that are fixed to a body moving with v change.
template <class T>
ARZ_INLINE Motion<T> cross(const Motion<T>& v, const Motion<T>& m) {
  return {cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular)};
}
template <class T>
ARZ_INLINE Force<T> cross(const Motion<T>& v, const Force<T>& f) {
  return {cross(v.angular, f.moment) + cross(v.linear, f.force), cross(v.angular, f.force)};
}

// The inertia of a rigid body: mass, mass times centre of mass, and rotational inertia about the frame's origin.
template <class T>
struct Inertia {
  T mass;
  Vector<T> moment;
  Symmetric<T> rotational;
};
template <class T>
ARZ_INLINE Inertia<T> operator+(const Inertia<T>& a, const Inertia<T>& b) {
  return {a.mass + b.mass, a.moment + b.moment, a.rotational + b.rotational};
}
template <class T>
ARZ_INLINE Force<T> operator*(const Inertia<T>& i, const Motion<T>& v) {
  return {i.rotational * v.angular + cross(i.moment, v.linear), v.linear * i.mass - cross(i.moment, v.angular)};
}

// Of a body whose centre of mass is at c, with this inertia about it (the theorem of parallel axes). Written in place:
// compilers copy what is returned, and slowly.
template <class T>
ARZ_INLINE void set_inertia(Element<T> mass, const Vector<T>& c, const Symmetric<T>& about_centre, Inertia<T>& to) {
  const Vector<T> h = c * mass;
  const T xx = h.x * c.x, yy = h.y * c.y, zz = h.z * c.z;
  to.mass = mass - T{};
  to.moment.x = h.x, to.moment.y = h.y, to.moment.z = h.z;
  to.rotational.xx = about_centre.xx + (yy + zz);
  to.rotational.yy = about_centre.yy + (xx + zz);
  to.rotational.zz = about_centre.zz + (xx + yy);
  to.rotational.xy = about_centre.xy - h.x * c.y;
  to.rotational.xz = about_centre.xz - h.x * c.z;
  to.rotational.yz = about_centre.yz - h.y * c.z;
}

}  // namespace arz::physics
