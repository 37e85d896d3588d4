/* erf for f32 and the 16-bit formats, evaluated in binary64.
 *
 * |x|, cut to 4.1, = c_j + t with c_j = j 17/64 the nearest multiple, |t| <= 17/128 (1 + 2^-40), exactly: |x| lies within a
 * factor of two of c_j, or j = 0. erf |x| = p_j(t), degree 9, all coefficients by table; p_0 has no constant term. Beyond 4.1
 * 1 - erf x < 2^-27.1: every f32 or 16-bit result is +-1.
 *
 * Relative error: p_j 2^-45.15 absolutely, over erf x >= 0.149 for j > 0: 2^-42.4; p_0 2^-47.33 |t|. Horner's and Estrin's
 * roundings, at most 6 of parts below 1.2 erf x ... : 2^-49. Sum below 2^-42 = RM_ERF_F32_ERR. */
#ifndef RM_ERF_F32_H
#define RM_ERF_F32_H

#include "../simd/undecided.h"
#include "erf_tables.h"

#define RM_ERF_F32_ERR RM_BOUND(0x1p-42)

/* Of |x|: erf is odd, the loop gives the sign back. */
RM_FN vf64 rm_erf_eval(vf64 x) {
  const vf64 magic = vf64_set1(0x1.8p52);
  vf64 a = vf64_min(vf64_set1(4.1), vf64_abs(x));
  vf64 z = vf64_mad(a, vf64_set1(RM_ERF_INV_STEP32), magic);
  vf64 t = vf64_nmad(vf64_sub(z, magic), vf64_set1(RM_ERF_STEP32), a);
  vi64 j = vf64_bits(z);
  vf64 t2 = vf64_mul(t, t), t4 = vf64_mul(t2, t2);
#define C(n) vf64_lookup16(rm_erf_p32 + 16 * (n), j)
  vf64 p01 = vf64_mad(t, C(1), C(0)), p23 = vf64_mad(t, C(3), C(2));
  vf64 p45 = vf64_mad(t, C(5), C(4)), p67 = vf64_mad(t, C(7), C(6)), p89 = vf64_mad(t, C(9), C(8));
#undef C
  vf64 p47 = vf64_mad(t2, p67, p45);
  vf64 p49 = vf64_mad(t4, p89, p47);
  return vf64_mad(t4, p49, vf64_mad(t2, p23, p01));
}

#endif
