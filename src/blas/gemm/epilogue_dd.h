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

/* Whether sums are multiplied by alpha in vectors, and joined to beta d: where alpha and beta are no extreme numbers. */
RM_FN int rm_scales_in_vectors(const rm_alpha_beta *t, const int fmt) {
  return fmt == RM_F64 && t->alpha != 0.0 && rm_is_moderate(t->alpha, 0x1p100) && rm_is_moderate(t->beta, 0x1p100);
}

/* alpha s. Up to 2^-1070 of underflow its product is exact in two parts, p and at most u |p|; the low part, l, rounds by u
 * |alpha lo| + u |l|, and the test by u |l|. As |alpha lo| <= |l| + u |p|, these are below 4u |l| + 4u^2 |p|, which is
 * RM_BOUND_DD_BIAS times |p| + |l|/u. */
RM_FN rm_scaled rm_times_alpha(rm_scaled s, double alpha) {
  const vf64 a = vf64_set1(alpha), p = vf64_mul(s.hi, a), l = vf64_mad(s.lo, a, vf64_mul_err(s.hi, a, p));
  const vf64 size = vf64_mad(vf64_abs(l), vf64_set1(0x1p53), vf64_abs(p)),
             err = vf64_mad(s.err, vf64_abs(a), vf64_set1(0x1p-960));
  return (rm_scaled){p, l, vf64_mad(size, vf64_set1(RM_BOUND_DD_BIAS), vf64_mul(err, vf64_set1(1.0 + 0x1p-50))), s.good};
}

/* alpha s + beta d, d the old elements, for beta other than 0. Lanes of a d outside of 2^-801 ... 2^804, and of a beta d far
 * above the sum, are not good; far below, at most 2^-802 in scaled units, it is an error.
 *
 * q = RN(beta d) and its error are exact, and p = RN(alpha hi) and its error up to 2^-1070 of underflow. p and q are joined
 * by a two-sum; the rest is m in magnitude, up to its roundings. It takes a product (alpha lo) and three additions, the test
 * one more: 5 u m (1 + 4 u) in all, of which the bound has 8. */
RM_FN rm_scaled rm_add_old(rm_scaled s, const rm_alpha_beta *t, vf64 d, vi64 shift) {
  enum { LEAST = 220, MOST = 1823 };
  const vf64 zero = vf64_set1(0.0), alpha = vf64_set1(t->alpha), beta = vf64_set1(t->beta), q = vf64_mul(beta, d);
  const vi64 field = vi64_add(vi64_and(vi64_srl(vf64_bits(q), 52), vi64_set1(0x7ff)), shift);
  const vm64 none = vf64_eq(d, zero), beside = vi64_ltu(vi64_sub(field, vi64_set1(LEAST)), vi64_set1(MOST - LEAST));
  const vm64 below = vi64_ltu(vi64_add(field, vi64_set1(8192)), vi64_set1(LEAST + 8192));
  const vm64 ranged = vm64_and(rm_shift_fits(d, vi64_set1(-220)), rm_shift_fits(d, vi64_set1(220)));
  s.good = vm64_and(s.good, vm64_or(none, vm64_and(ranged, vm64_or(beside, below))));
  const vf64 qe = vf64_mul_err(beta, d, q);
  const vf64 scaled = vf64_select(vm64_andnot(beside, none), rm_shift(q, shift), zero);
  const vf64 scaled_err = vf64_select(vm64_andnot(beside, vm64_or(none, vf64_eq(qe, zero))), rm_shift(qe, shift), zero);
  const vf64 p = vf64_mul(alpha, s.hi), pe = vf64_mul_err(alpha, s.hi, p), r = vf64_mul(alpha, s.lo);
  vf64 lost, top = vf64_two_sum(p, scaled, &lost);
  const vf64 low = vf64_add(vf64_add(lost, vf64_add(pe, scaled_err)), r);
  const vf64 m = vf64_add(vf64_add(vf64_abs(lost), vf64_abs(pe)), vf64_add(vf64_abs(scaled_err), vf64_abs(r)));
  const vf64 err = vf64_mad(vf64_mul(s.err, vf64_abs(alpha)), vf64_set1(1.0 + 0x1p-50), vf64_set1(0x1p-800));
  return (rm_scaled){top, low, vf64_mad(m, vf64_set1(RM_BOUND(0x1p-50)), err), s.good};
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
