/* The angle of a direction in multiprecision fixed point (fp/mp.h): a value with a stated error. The core of atan, atan2,
 * asin, acos. */
#pragma once

#include "../fp/mp.h"
#include "../fp/mp_tables.h"
#include "atan_mp_tables.h"

/* The error of rm_atan_mp in units, for coordinates within g units (derived there). */
RM_FN uint64_t rm_atan_mp_err(int n, uint64_t g) { return 5 * g + 3 * (uint64_t)n * (uint64_t)n + 11 * (uint64_t)n + 12; }

/* v = the angle of (b, a), or of (-b, a) when `left`, for 0 <= a, b < 4 within g units, the larger at least 1/2: within
 * rm_atan_mp_err(n, g) units.
 *
 * With the larger as b, and k/16 the 16th nearest to a/b: atan(a/b) = atan(k/16) + atan t, t = (16 a - k b)/(16 b + k a),
 * |t| <= (1 + 2^-40)/32, by the Taylor series.
 *
 * Errors in units. Numerator and denominator are off by 32 g, the latter is at least 8, the quotient is one short: t
 * within 33 g/8 + 1. t^2 is n+1 short, the powers p_k = p_(k-1) t^2 then 1.04 (n+1), a term p_k/(2k+1) 0.35 (n+1) + 1; p_k
 * falls by 2^-9.9, so at most 7 n + 1 of them are added, and the rest of the series is below 1.04 (n+1) + 1. The table is
 * one short, pi/2 and pi together at most three. Sum: 4.2 g + (7 n + 1)(0.35 n + 1.35) + 1.04 n + 7.1 <= 5 g + 3 n^2 + 11
 * n + 12. */
RM_FN void rm_atan_mp(uint64_t *v, const uint64_t *a, const uint64_t *b, int left, int n) {
  uint64_t num[RM_MP_LIMBS + 1], den[RM_MP_LIMBS + 1], t[RM_MP_LIMBS + 1], t2[RM_MP_LIMBS];
  const uint64_t *pi = rm_mp_pi + (RM_MP_TABLE_LIMBS - 1 - n);
  const int steep = rm_mp_less(b, a, n);
  const uint64_t *small = steep ? b : a, *large = steep ? a : b;
  const double s = (double)small[n] + (double)small[n - 1] * 0x1p-64, l = (double)large[n] + (double)large[n - 1] * 0x1p-64;
  const uint64_t k = (uint64_t)(16.0 * (s / l) + 0.5);

  rm_mp_mul_small(num, large, k, n);
  rm_mp_mul_small(den, small, k, n);
  rm_mp_mul_small(t, small, 16, n);
  const int below = rm_mp_less(t, num, n);
  if (below) rm_mp_sub(num, num, t, n);
  else rm_mp_sub(num, t, num, n);
  rm_mp_mul_small(t, large, 16, n);
  rm_mp_add(den, den, t, n);
  rm_mp_div(t, num, den, n);

  rm_mp_mul(t2, t, t, n);
  rm_mp_copy(v, t, n);
  for (uint64_t j = 3; rm_mp_length(t, n) > 0; j += 2) {
    rm_mp_mul(t, t, t2, n);
    rm_mp_div_small(num, t, j, n);
    if (j & 2) rm_mp_sub(v, v, num, n);
    else rm_mp_add(v, v, num, n);
  }
  rm_mp_copy(t, rm_mp_atan_16ths[k] + (RM_MP_TABLE_LIMBS - 1 - n), n);
  if (below) rm_mp_sub(v, t, v, n); /* k >= 1 */
  else rm_mp_add(v, t, v, n);
  if (steep) {
    rm_mp_shift_down(t, pi, 1, n);
    rm_mp_sub(v, t, v, n);
  }
  if (left) rm_mp_sub(v, pi, v, n);
}

/* v = the angle of (x, |y|), y and x finite and not both 0, within rm_atan_mp_err(n, 1) units. */
RM_FN void rm_atan_mp_direction(uint64_t *v, double y, double x, int n) {
  uint64_t a[RM_MP_LIMBS], b[RM_MP_LIMBS];
  int ea = INT32_MIN, eb = INT32_MIN;
  if (y != 0.0) rm_decompose(y, &ea);
  if (x != 0.0) rm_decompose(x, &eb);
  const int scale = -52 - (ea > eb ? ea : eb); /* brings the larger to [1, 2); both are cut by less than a unit */
  rm_mp_set(a, 0, n);
  rm_mp_set(b, 0, n);
  if (y != 0.0) rm_mp_from_double(a, y, scale, n);
  if (x != 0.0) rm_mp_from_double(b, x, scale, n);
  rm_atan_mp(v, a, b, x < 0.0, n);
}
