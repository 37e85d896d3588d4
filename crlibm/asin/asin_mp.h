/* asin in multiprecision fixed point (fp/mp.h): the other side of the triangle, which acos shares, and atan's core. */
#pragma once

#include "../atan/atan_mp.h"

/* The error of rm_asin_mp in units (derived at rm_asin_mp_sides). */
RM_FN uint64_t rm_asin_mp_err(int n) { return rm_atan_mp_err(n, (uint64_t)n + 4); }

/* side = |x| and other = sqrt(1 - x^2) for 0 <= |x| <= 1, within n + 4 units.
 *
 * From 1/2 on, |x| = m 2^-53 and 1 - x^2 = (2^106 - m^2) 2^-106 exactly, brought to [1/4, 1) by a factor 4^k before the
 * root: it is cut by at most a unit (n = 1), the root adds two, the shift by k one. Below 1/2, x is a unit short, its
 * square n + 2 units, and the slope of the root is below 0.6. */
RM_FN void rm_asin_mp_sides(uint64_t *side, uint64_t *other, double x, int n) {
  uint64_t w[RM_MP_LIMBS], low[RM_MP_LIMBS];
  rm_mp_set(side, 0, n);
  rm_mp_set(other, 0, n);
  if (x != 0.0) rm_mp_from_double(side, x, 0, n);
  if (x >= 0.5 || x <= -0.5) {
    int e;
    uint64_t m = rm_decompose(x, &e);
    m <<= e + 53; /* e is -53 or, for 1, -52; known only after the call */
    rm_u128 square = ((rm_u128)1 << 106) - (rm_u128)m * m;
    if (square == 0) return;
    const int s = rm_clz128(square) & ~1;
    square <<= s;
    rm_mp_from_integer(w, (uint64_t)(square >> 64), -64, n);
    rm_mp_from_integer(low, (uint64_t)square, -128, n);
    rm_mp_add(w, w, low, n);
    rm_mp_sqrt(other, w, n);
    rm_mp_shift_down(other, other, (s - 22) / 2, n);
  } else {
    rm_mp_mul(low, side, side, n);
    rm_mp_set(w, 1, n);
    rm_mp_sub(w, w, low, n);
    rm_mp_sqrt(other, w, n);
  }
}

/* v = asin |x| for |x| <= 1, within rm_asin_mp_err(n) units. */
RM_FN void rm_asin_mp(uint64_t *v, double x, int n) {
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS];
  rm_asin_mp_sides(a, b, x, n);
  rm_atan_mp(v, a, b, 0, n);
}

/* asin(x) correctly rounded, for 2^-60 <= |x| <= 1. */
RM_COLD uint64_t rm_asin_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    rm_asin_mp(v, x, n);
    if (rm_mp_round(x < 0.0, v, 0, rm_asin_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
