// M = G G^T, along the legs first: the matrix is an arrow.
#pragma once

#include "physics/laikago/mass_matrix.hpp"

namespace arz::physics::laikago {

// G: a lower triangle for each leg, then one for the trunk, coupled by `across`; diagonals are stored inverted.
template <class T>
struct Factor {
  T leg[kLegs][6];  // 11, 21, 22, 31, 32, 33
  T across[kLegs][kJointsOfLeg][kBase];
  T base[kBase][kBase];
};

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
[[gnu::noinline]] void factor(const Matrix<T>& m, Factor<T>& to) {
  const T none = number<T>(0);
  const Symmetric<T>& r = m.base.rotational;
  const Vector<T>& h = m.base.moment;
  T(*b)[kBase] = to.base;  // the lower triangle of the trunk's inertia, then what is left of it without the legs
  b[0][0] = r.xx, b[1][0] = r.xy, b[1][1] = r.yy, b[2][0] = r.xz, b[2][1] = r.yz, b[2][2] = r.zz;
  b[3][0] = none, b[3][1] = h.z, b[3][2] = -h.y, b[3][3] = m.base.mass;
  b[4][0] = -h.z, b[4][1] = none, b[4][2] = h.x, b[4][3] = none, b[4][4] = m.base.mass;
  b[5][0] = h.y, b[5][1] = -h.x, b[5][2] = none, b[5][3] = none, b[5][4] = none, b[5][5] = m.base.mass;

#pragma GCC unroll 1
  for (int leg = 0; leg < kLegs; ++leg) {  // in a short loop, so that the roots of one leg do not wait for another's
    const T* a = m.leg[leg];
    T* g = to.leg[leg];
    g[0] = inverse_root(a[0]);
    g[1] = a[1] * g[0];
    g[2] = inverse_root(a[2] - g[1] * g[1]);
    g[3] = a[3] * g[0];
    g[4] = (a[4] - g[3] * g[1]) * g[2];
    g[5] = inverse_root(a[5] - g[3] * g[3] - g[4] * g[4]);
  }
  for (int leg = 0; leg < kLegs; ++leg) {
    T(*across)[kBase] = to.across[leg];
    const T(*coupling)[kBase] = m.coupling + 3 * leg;
#pragma GCC unroll 1
    for (int i = 0; i < kBase; ++i) {
      T x[kJointsOfLeg] = {coupling[0][i], coupling[1][i], coupling[2][i]};
      solve_leg(to.leg[leg], x);
      for (int j = 0; j < kJointsOfLeg; ++j) across[j][i] = x[j];
    }
  }
  // Row by row, with all twelve numbers of a row in registers: loads take longer than arithmetic here.
#pragma GCC unroll 6
  for (int i = 0; i < kBase; ++i) {
    T own[kJoints];
#pragma GCC unroll 12
    for (int l = 0; l < kJoints; ++l) own[l] = to.across[l / kJointsOfLeg][l % kJointsOfLeg][i];
#pragma GCC unroll 1
    for (int j = 0; j <= i; ++j) {
#pragma GCC unroll 12
      for (int l = 0; l < kJoints; ++l) b[i][j] = b[i][j] - own[l] * to.across[l / kJointsOfLeg][l % kJointsOfLeg][j];
    }
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
[[gnu::noinline]] void solve(const Factor<T>& f, Coordinates<T>& x) {
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

}  // namespace arz::physics::laikago
