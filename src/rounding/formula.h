/* Vectors of balls: binary64 numbers with radii that contain the values of sums, products, quotients and roots.
 *
 * Each operation adds what its own rounding lost: the error of a sum is the second part of a two-sum, that of a product
 * vf64_mul_err where that is exact, from 2^-900 on. What rounds to nearest is elsewhere within 2^-53 of itself, or half the
 * least number. A quotient or root of at most 24 bits, q b = a or q^2 = a, is known to be exact: the difference is a multiple
 * of 2^-78 q b, so that it cannot be lost in the 2^-102 of it that vf64_mul_err may err by. So operations that are exact keep
 * a radius of 0. A radius is computed in at most 16 operations of positive numbers, each with a relative error of at most
 * 2^-53 but underflow, and is then multiplied by 1 + 2^-48 and, if it is not 0, enlarged by 2^-1000. What is infinite or
 * NaN makes a middle or a radius so, which no rounding decides. What is added for underflow is a normal number, since some
 * CPUs take a hundred cycles for a multiplication and addition with a subnormal one; thresholds of formats are 0 or above
 * 2^-200. */
#pragma once

#include "../../crlibm/simd/machine.h"

typedef struct {
  vf64 m, r; /* middle and radius */
} rm_vball;

RM_FN rm_vball rm_vball_exact(vf64 m) { return (rm_vball){m, vf64_set1(0.0)}; }

RM_FN rm_vball rm_vball_within(vf64 m, vf64 r) {
  const vf64 zero = vf64_set1(0.0), more = vf64_mad(r, vf64_set1(1.0 + 0x1p-48), vf64_set1(0x1p-1000));
  return (rm_vball){m, vf64_select(vf64_eq(r, zero), zero, more)};
}

/* At least how far a value can be from m, to which it was rounded: 2^-53 |m| and, in underflow, 2^-1075. */
RM_FN vf64 rm_half_place(vf64 m) { return vf64_mad(vf64_abs(m), vf64_set1(0x1p-53), vf64_set1(0x1p-1000)); }

RM_FN rm_vball rm_vball_add(rm_vball a, rm_vball b) {
  vf64 lost;
  const vf64 s = vf64_two_sum(a.m, b.m, &lost);
  return rm_vball_within(s, vf64_add(vf64_abs(lost), vf64_add(a.r, b.r)));
}
RM_FN rm_vball rm_vball_subtract(rm_vball a, rm_vball b) { return rm_vball_add(a, (rm_vball){vf64_neg(b.m), b.r}); }

RM_FN rm_vball rm_vball_multiply(rm_vball a, rm_vball b) {
  const vf64 p = vf64_mul(a.m, b.m), zero = vf64_set1(0.0);
  const vm64 none = vm64_or(vf64_eq(a.m, zero), vf64_eq(b.m, zero));
  const vm64 exact = vm64_or(none, vf64_le(vf64_set1(0x1p-900), vf64_abs(p)));
  const vf64 lost = vf64_select(exact, vf64_abs(vf64_mul_err(a.m, b.m, p)), rm_half_place(p));
  const vf64 spread = vf64_mad(vf64_abs(b.m), a.r, vf64_mad(vf64_abs(a.m), b.r, vf64_mul(a.r, b.r)));
  return rm_vball_within(p, vf64_add(lost, spread));
}

/* 0 where q has 24 bits and q times something is a: their difference is 0, and a is 0 or large enough for vf64_mul_err. Else
 * what q may have lost. */
RM_FN vf64 rm_quotient_lost(vf64 q, vf64 a, vf64 difference) {
  const vf64 zero = vf64_set1(0.0);
  const vm64 held = vm64_or(vf64_eq(a, zero), vf64_le(vf64_set1(0x1p-900), vf64_abs(a)));
  const vm64 same = vm64_and(vi64_disjoint(vf64_bits(q), vi64_set1((1 << 29) - 1)), vf64_eq(difference, zero));
  return vf64_select(vm64_and(held, same), zero, rm_half_place(q));
}

RM_FN rm_vball rm_vball_divide(rm_vball a, vf64 b) {
  const vf64 q = vf64_div(a.m, b);
  return rm_vball_within(q, vf64_add(rm_quotient_lost(q, a.m, vf64_mul_err(q, b, a.m)), vf64_div(a.r, vf64_abs(b))));
}
RM_FN rm_vball rm_vball_root(vf64 a) {
  const vf64 s = vf64_sqrt(a);
  return rm_vball_within(s, rm_quotient_lost(s, a, vf64_mul_err(s, s, a)));
}
