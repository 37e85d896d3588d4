/* tan in double-double, for the fast phase of f64 and the accurate phase of every format: the sine and cosine of sin_dd.h,
 * divided.
 *
 * Both are normalised first: low parts at most 2^-53 of the high ones, N and D. q = N/D within 2^-49; the residual N - q D in
 * double-double is below 2^-48 |N|, its roundings 2^-100 |N|; the reciprocal's error of 2^-27 leaves 2^-75 |q|. Errors e_N
 * and e_D of sine and cosine, below 2^-40 of them, change the quotient by (e_N + |q| e_D)/|D| (1 + 2^-39), and the reciprocal
 * stands for 1/|D|: their bounds have room for that. Tiny |x|: D = 1, N = |x|. */
#pragma once

#include "../sin/sin_dd.h"
#include "tan_b64.h"

#define RM_TAN_DD_ERR RM_BOUND(0x1p-74) /* of the division, times the quotient */

/* hi + lo = tan(k pi/16 + rh + rl) within err, when the argument is within r_err. */
RM_FN void rm_tan_reduced_dd(vi64 k, vf64 rh, vf64 rl, vf64 r_err, vf64 *hi, vf64 *lo, vf64 *err) {
  rm_sin_powers r = rm_sin_powers_dd(rh, rl);
  vf64 S = vf64_lookup16(rm_sin_t_sin, k), Sl = vf64_lookup16(rm_sin_t_sin_lo, k);
  vf64 C = vf64_lookup16(rm_sin_t_cos, k), Cl = vf64_lookup16(rm_sin_t_cos_lo, k);
  vf64 n, nl, n_err, d, dl, d_err, reciprocal;
  rm_sin_sum_dd(&r, S, Sl, C, Cl, r_err, &n, &nl, &n_err);
  rm_sin_sum_dd(&r, C, Cl, vf64_neg(S), vf64_neg(Sl), r_err, &d, &dl, &d_err);
  vf64 nh = vf64_fast_two_sum(n, nl, &nl), dh = vf64_fast_two_sum(d, dl, &dl);
  vf64 q = vf64_quotient(nh, dh, &reciprocal);
  vf64 b = vf64_mul(q, dh), be = vf64_mul_err(q, dh, b);
  vf64 residual = vf64_add(vf64_sub(vf64_sub(nh, b), be), vf64_nmad(q, dl, nl)), size = vf64_abs(q);
  *hi = q;
  *lo = vf64_mul(residual, reciprocal);
  *err = vf64_mul(vf64_mad(size, d_err, n_err), vf64_abs(reciprocal));
  *err = vf64_mad(size, vf64_set1(RM_TAN_DD_ERR), *err);
}

/* *y = tan x; returns the lanes that are not decided. far: the second reduction. The sign comes last: that of a zero would be
 * lost before. */
RM_FN vm64 rm_tan_f64(vf64 x, int far, vf64 *y) {
  vi64 k;
  vf64 rh, rl, hi, lo, err, v;
  if (far) rm_sin_reduce_far_dd(vf64_abs(x), &k, &rh, &rl, &err);
  else rm_sin_reduce_dd(vf64_abs(x), &k, &rh, &rl, &err);
  rm_tan_reduced_dd(k, rh, rl, err, &hi, &lo, &err);
  vm64 undecided = vf64_undecided_f64(hi, lo, err, &v);
  *y = rm_sin_flip(v, vf64_bits(x));
  return undecided;
}
