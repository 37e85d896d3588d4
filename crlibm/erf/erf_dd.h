/* erf in double-double, for the fast phase of f64 and the accurate phase of every format.
 *
 * |x|, cut to 6, = c_j + t with c_j = j 25/64 the nearest multiple, |t| <= 25/128, exactly. erf |x| = sum_{n<5} c_n t^n + v,
 * v = t^5 P_j(t), P_j of degree 13; c_0 .. c_4 in two parts, Horner's steps in double-double. With u = 2^-53:
 *   v         five roundings on the way: 6u|v|, and the fit: 2^-69.9 (j > 0), 2^-67.2 |t| (j = 0), each scaled by (t/h)^5
 *   steps     Fast2Sum is exact when |c_n| >= |t (c_(n+1) + ...)| or c_n = 0; where neither holds (c_j >= 3.5, n = 1) it is
 *             off by less than 2^-69 of the result. erf_gen.py checks every j and n.
 *   low parts roundings of parts below 2^-52 |c_n t^n|: 2^-104
 * The fit relative to erf |x|: for j > 0, erf |x| >= 0.217, 2^-67.7; for j = 0, erf |x| >= 1.11 |t|, 2^-67.3. Error below
 * 8u|v| + 2^-67 |hi|; 8u = 2^-50 covers the rounding of lo + err as well. */
#pragma once

#include "../simd/undecided.h"
#include "erf_tables.h"

#define RM_ERF_DD_ERR_V RM_BOUND(0x1p-50)
#define RM_ERF_DD_ERR RM_BOUND(0x1p-67)

/* hi + lo = erf |x| within err; |x| is 0 or at least 2^-960. */
RM_FN void rm_erf_dd(vf64 x, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 a = vf64_min(vf64_set1(6.0), vf64_abs(x));
  vf64 z = vf64_mad(a, vf64_set1(RM_ERF_INV_STEP64), magic);
  vf64 t = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_ERF_STEP64), a);
  vi64 j = vf64_bits(z);
  vf64 t2 = vf64_mul(t, t), t4 = vf64_mul(t2, t2);
#define RM_C(n) vf64_lookup16(rm_erf_p64 + 16 * (n), j)
  vf64 p0 = vf64_mad(t, RM_C(6), RM_C(5)), p2 = vf64_mad(t, RM_C(8), RM_C(7)), p4 = vf64_mad(t, RM_C(10), RM_C(9));
  vf64 p6 = vf64_mad(t, RM_C(12), RM_C(11)), p8 = vf64_mad(t, RM_C(14), RM_C(13)), p10 = vf64_mad(t, RM_C(16), RM_C(15));
  vf64 p12 = vf64_mad(t, RM_C(18), RM_C(17));
  vf64 q0 = vf64_mad(t2, p2, p0), q4 = vf64_mad(t2, p6, p4), q8 = vf64_mad(t2, p10, p8);
  vf64 h = vf64_mad(t4, vf64_mad(t4, vf64_mad(t4, p12, q8), q4), q0), l = vf64_set1(0.0);
  *err = vf64_mul(vf64_mul(t4, t), vf64_mul(h, vf64_set1(RM_ERF_DD_ERR_V)));
  RM_UNROLL
  for (int n = 4; n >= 0; n--) { /* (h, l) <- c_n + t (h, l) */
    vf64 c = RM_C(n), m = vf64_mul(h, t), me = vf64_mul_err(h, t, m);
    vf64 e;
    h = vf64_fast_two_sum(c, m, &e);
    l = vf64_mad(l, t, vf64_add(me, vf64_add(e, vf64_lookup16(rm_erf_p64_lo + 16 * n, j))));
  }
#undef RM_C
  *err = vf64_mad(h, vf64_set1(RM_ERF_DD_ERR), vf64_abs(*err));
  *hi = h;
  *lo = l;
}
