/* Ziv's rounding test of the double-double engine, over vectors of C.
 *
 * For binary64: S lies in [hi + (lo - E), hi + (lo + E)]; one addition rounds each end, and rounding is monotonic, so equal
 * ends are RN64(S) in scaled units. Scaling back adds to the exponent field; it commutes with rounding while the result is
 * normal, which is asked of the field. Zeros, subnormals, overflows and NaN go to the resolver. */
#pragma once

#include "bound_dd.h"
#include "epilogue_b64.h"

typedef struct {
  vf64 hi, lo, err; /* scaled */
  vm64 good;        /* lanes whose bias could be scaled */
} rm_scaled;

/* Whether the exponent field of x, moved by t, lies in [2, 2046]: normal, with a binade to spare below. At the upper end a
 * rounded value of that field is finite, so that rounding has not overflowed. */
RM_FN vm64 rm_shift_fits(vf64 x, vi64 t) {
  vi64 field = vi64_add(vi64_and(vi64_srl(vf64_bits(x), 52), vi64_set1(0x7ff)), t);
  return vi64_ltu(vi64_sub(field, vi64_set1(2)), vi64_set1(2045));
}
RM_FN vf64 rm_shift(vf64 x, vi64 t) { return vf64_from_bits(vi64_add(vf64_bits(x), vi64_sll(t, 52))); }

/* Adds the bias, scaled by 2^shift. */
RM_FN rm_scaled rm_add_bias(rm_scaled s, vf64 bias, vi64 shift) {
  const vf64 zero = vf64_set1(0.0);
  vm64 is_zero = vf64_eq(bias, zero);
  s.good = vm64_or(is_zero, vm64_and(rm_shift_fits(bias, vi64_set1(0)), rm_shift_fits(bias, shift)));
  vf64 b = vf64_select(is_zero, zero, rm_shift(bias, shift));
  vf64 lost, sum = vf64_two_sum(s.hi, b, &lost);
  s.lo = vf64_add(s.lo, lost);
  s.hi = sum;
  s.err = vf64_mad(vf64_abs(sum), vf64_set1(RM_BOUND_DD_BIAS), s.err);
  return s;
}

/* Whether sums are multiplied by alpha in vectors: those of alpha A B, where alpha is no extreme number. */
RM_FN int rm_scales_in_vectors(const rm_alpha_beta *t, const int fmt) {
  const double size = __builtin_fabs(t->alpha);
  return fmt == RM_F64 && rm_is_zero(t->beta) && size >= 0x1p-100 && size <= 0x1p100;
}

/* alpha s. hi is 0 or at least 2^-51, so that its product is exact in two parts, p and at most u |p|; the low part, l, rounds
 * by u |alpha lo| + u |l|, and the test by u |l|. As |alpha lo| <= |l| + u |p|, these are below 4u |l| + 4u^2 |p|, which is
 * RM_BOUND_DD_BIAS times |p| + |l|/u. */
RM_FN rm_scaled rm_times_alpha(rm_scaled s, double alpha) {
  const vf64 a = vf64_set1(alpha), p = vf64_mul(s.hi, a), l = vf64_mad(s.lo, a, vf64_mul_err(s.hi, a, p));
  const vf64 size = vf64_mad(vf64_abs(l), vf64_set1(0x1p53), vf64_abs(p)), err = vf64_mul(s.err, vf64_abs(a));
  return (rm_scaled){p, l, vf64_mad(size, vf64_set1(RM_BOUND_DD_BIAS), vf64_mul(err, vf64_set1(1.0 + 0x1p-50))), s.good};
}

/* Rounds one vector of C to the given format; returns the lanes for the resolver. */
RM_FN uint32_t rm_round_scaled(rm_scaled s, vi64 shift, const int fmt, char *out) {
  vi64 back = vi64_sub(vi64_set1(0), shift);
  if (fmt == RM_F32) { /* sums of products of binary32 numbers and E itself stay normal when scaled back */
    vf64 c = vf64_add(s.hi, s.lo);
    vm64 good = vm64_and(s.good, vm64_and(rm_shift_fits(c, back), vf64_le(vf64_abs(c), vf64_set1(0x1p500))));
    return rm_round_vector_f32(rm_shift(c, back), rm_shift(s.err, back), (float *)(void *)out) |
           (~vm64_bits(good) & ((1u << RM_LANES) - 1));
  }
  vf64 low = vf64_add(s.hi, vf64_sub(s.lo, s.err)), high = vf64_add(s.hi, vf64_add(s.lo, s.err));
  vm64 good = vm64_and(s.good, vi64_eq(vf64_bits(low), vf64_bits(high)));
  good = vm64_and(good, vm64_and(rm_shift_fits(low, back), vf64_le(vf64_abs(low), vf64_set1(0x1p1000))));
  vf64_store((double *)(void *)out, rm_shift(low, back));
  return ~vm64_bits(good) & ((1u << RM_LANES) - 1);
}
