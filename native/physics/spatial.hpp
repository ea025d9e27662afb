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

// Vectors along x, and across it: no work is done for the entries that are 0. All that this can change is the sign of a
// zero, which is gone once it is added to a number of the state.
template <class T>
struct AlongX {
  T x;
};
template <class T>
struct AcrossX {
  T y, z;
};
template <class T>
ARZ_INLINE Vector<T> operator+(const Vector<T>& a, const AlongX<T>& b) {
  return {a.x + b.x, a.y, a.z};
}
template <class T>
ARZ_INLINE Vector<T> operator+(const Vector<T>& a, const AcrossX<T>& b) {
  return {a.x, a.y + b.y, a.z + b.z};
}
template <class T>
ARZ_INLINE AcrossX<T> operator+(const AcrossX<T>& a, const AcrossX<T>& b) {
  return {a.y + b.y, a.z + b.z};
}
template <class T>
ARZ_INLINE AcrossX<T> operator-(const AcrossX<T>& a, const AcrossX<T>& b) {
  return {a.y - b.y, a.z - b.z};
}
template <class T>
ARZ_INLINE AlongX<T> operator*(const AlongX<T>& a, const T& s) {
  return {a.x * s};
}
template <class T>
ARZ_INLINE AcrossX<T> operator*(const AcrossX<T>& a, const T& s) {
  return {a.y * s, a.z * s};
}
template <class T>
ARZ_INLINE T dot(const AlongX<T>& a, const Vector<T>& b) {
  return a.x * b.x;
}
template <class T>
ARZ_INLINE T dot(const AcrossX<T>& a, const Vector<T>& b) {
  return a.y * b.y + a.z * b.z;
}
template <class T>
ARZ_INLINE T dot(const AcrossX<T>& a, const AcrossX<T>& b) {
  return a.y * b.y + a.z * b.z;
}
template <class T>
ARZ_INLINE AcrossX<T> cross(const Vector<T>& a, const AlongX<T>& b) {
  return {a.z * b.x, -(a.y * b.x)};
}
template <class T>
ARZ_INLINE AcrossX<T> cross(const AlongX<T>& a, const Vector<T>& b) {
  return {-(a.x * b.z), a.x * b.y};
}
template <class T>
ARZ_INLINE Vector<T> cross(const Vector<T>& a, const AcrossX<T>& b) {
  return {a.y * b.z - a.z * b.y, -(a.x * b.z), a.x * b.y};
}
template <class T>
ARZ_INLINE Vector<T> cross(const AcrossX<T>& a, const Vector<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x, -(a.y * b.x)};
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
template <class T>
ARZ_INLINE Vector<T> operator*(const Symmetric<T>& a, const AlongX<T>& v) {
  return {a.xx * v.x, a.xy * v.x, a.xz * v.x};
}
template <class T>
ARZ_INLINE Vector<T> operator*(const Symmetric<T>& a, const AcrossX<T>& v) {
  return {a.xy * v.y + a.xz * v.z, a.yy * v.y + a.yz * v.z, a.yz * v.y + a.zz * v.z};
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
template <class T, template <class> class Angular = Vector, template <class> class Linear = Vector>
struct Motion {
  Angular<T> angular;
  Linear<T> linear;
};
template <class T, template <class> class A, template <class> class L>
ARZ_INLINE Motion<T> operator+(const Motion<T>& a, const Motion<T, A, L>& b) {
  return {a.angular + b.angular, a.linear + b.linear};
}
template <class T, template <class> class A, template <class> class L>
ARZ_INLINE Motion<T, A, L> operator*(const Motion<T, A, L>& a, const T& s) {
  return {a.angular * s, a.linear * s};
}

template <class T, template <class> class A, template <class> class L>
Motion(A<T>, L<T>) -> Motion<T, A, L>;

// A force (moment about the frame's origin, force) or momentum.
template <class T, template <class> class Linear = Vector>
struct Force {
  Vector<T> moment;
  Linear<T> force;
};
template <class T, template <class> class L>
Force(Vector<T>, L<T>) -> Force<T, L>;
template <class T>
ARZ_INLINE Force<T> operator+(const Force<T>& a, const Force<T>& b) {
  return {a.moment + b.moment, a.force + b.force};
}
template <class T, template <class> class A, template <class> class L, template <class> class F>
ARZ_INLINE T dot(const Motion<T, A, L>& m, const Force<T, F>& f) {
  return dot(m.angular, f.moment) + dot(m.linear, f.force);
}

// v x m and v x* f: how a motion and a force that are fixed to a body moving with v change.
template <class T, template <class> class A, template <class> class L>
ARZ_INLINE auto cross(const Motion<T>& v, const Motion<T, A, L>& m) {
  return Motion{cross(v.angular, m.angular), cross(v.angular, m.linear) + cross(v.linear, m.angular)};
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
template <class T, template <class> class A, template <class> class L>
ARZ_INLINE auto operator*(const Inertia<T>& i, const Motion<T, A, L>& v) {
  return Force{i.rotational * v.angular + cross(i.moment, v.linear), v.linear * i.mass - cross(i.moment, v.angular)};
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
