/* erfinv for f32 and the 16-bit formats, evaluated in binary64; the core of ndtri and of normal random numbers as well.
 *
 * erfinv(u) = u G(w), w = -log(1 - u^2) (Giles, GPU Computing Gems, 2011). 1 - u^2 = v (2 - v), v = 1 - |u|; the caller
 * gives both u and v: for u near 1 only v has the accuracy that is needed, for u near 0 only u. G is smooth, near w = 0
 * too: its 16 intervals are the quarters of the octaves of b = 8 + w, 8 <= b < 128, a polynomial of degree 10 in t = b -
 * (centre) on each, coefficients by table; another table goes from 112 to 1024.
 *
 * Relative error, for u and v within 2^-52:
 *   w     that of log, 2^-41.8 (log_b64.h), and 2^-50 absolutely for v (2 - v) and what log's reduction rounds, its product
 *         without FMA. w G'/G < 0.8
 *         and G'/G < 0.3: 2^-42.1 and 2^-51.7
 *   b     a rounding of 2^-53 b, times G'/G, b G'/G < 0.8 + 8 0.3: 2^-51.3; t = b - m is exact
 *   G     2^-43.27 (rm_erfinv_near; rm_erfinv_far is closer)
 *   sum   Horner's roundings and those of t^2, at most 16 (11 with FMA) of parts whose sizes add up to less than 1.6 G:
 *         2^-48.3
 *   u G   the error of u, a factor of the caller's, two products: 2^-51
 * Sum below 2^-41.5. */
#pragma once

#include "../log/log_b64.h"
#include "../simd/quarters.h"
#include "erfinv_tables.h"

#define RM_ERFINV_B64_ERR RM_BOUND(0x1p-41)
#define RM_ERFINV_NEAR_MIN 0x1p-169 /* for v from here on, w < 117.2, so that 8 + w < 128 */

/* G(-l), by one of the tables. */
RM_FN vf64 rm_erfinv_ratio(vf64 l, const double *table) {
  vi64 j;
  vf64 t = vf64_in_quarter(vf64_sub(vf64_set1(8.0), l), &j), t2 = vf64_mul(t, t);
#define RM_C(n) vf64_lookup16(table + 16 * (n), j)
  vf64 even = vf64_mad(t2, RM_C(10), RM_C(8)), odd = vf64_mad(t2, RM_C(9), RM_C(7));
  even = vf64_mad(t2, vf64_mad(t2, even, RM_C(6)), RM_C(4));
  odd = vf64_mad(t2, vf64_mad(t2, odd, RM_C(5)), RM_C(3));
  even = vf64_mad(t2, vf64_mad(t2, even, RM_C(2)), RM_C(0));
  odd = vf64_mad(t2, odd, RM_C(1));
#undef RM_C
  return vf64_mad(t, odd, even);
}

/* erfinv(u) = u G for v = 1 - |u| >= RM_ERFINV_NEAR_MIN; also with a multiple of u in its place. */
RM_FN vf64 rm_erfinv_of(vf64 u, vf64 v) {
  vf64 l = rm_log_eval(vf64_mul(v, vf64_sub(vf64_set1(2.0), v)));
  return vf64_mul(u, rm_erfinv_ratio(l, rm_erfinv_near));
}

/* erfinv |x|, |x| < 1: the loop gives the sign back. 1 - |x| is exact, or |x| < 1/2 and it rounds by 2^-53. */
RM_FN vf64 rm_erfinv_eval(vf64 x) {
  const vf64 u = vf64_abs(x);
  return rm_erfinv_of(u, vf64_sub(vf64_set1(1.0), u));
}
