/* trigamma for f32 and the 16-bit formats, evaluated in binary64.
 *
 * -1/2 < x <= 8.5: trigamma x is the sum of (x + j)^-2, j = 0 ... 7, a quotient q/p, and trigamma y, y = x + 8. Of y, and of
 * y = x > 8.5, by the asymptotic series with 8 terms, v = 1/y:
 *   v + v^2/2 + v^3 S(v^2).
 * The first term left out, B_18 v^19 < 55 v^19, is below 2^-48.2 of the value, which is at least 1/(x + 1/2).
 *
 * All parts are positive but for some of S, so that errors are relative, u = 2^-53:
 *   q/p       x + j rounds by u, its square by u more: 3 u. p takes 4 u a step; q a product, a sum and the square, 5 u: of
 *             8 steps 72 u, the quotient 2^-51.9
 *   series    y, v and v^2 are within 2^-50.5; v^2/2 is below v/14, S v^2 below v/340, its roundings below 2^-57 v; two sums
 *   the sum   u
 * Sum below 80 u + 2^-48.2 < 2^-46.2.
 *
 * x = -a < -1/2: (r S)^-2 - trigamma(1 + a), r = a - the nearest integer, S = sin(pi r)/(pi r) within 2^-50, at least 0.63
 * (lgamma_b64.h): its part of the square is 2^-48.3 of it, products and the quotient 2^-50.5. trigamma(1 + a) < 0.94 where
 * the other part is at least pi^2: below a ninth of the result, and 1 + a is exact. Sum below 2^-47. */
#pragma once

#include "../lgamma/lgamma_b64.h"
#include "trigamma_tables.h"

#define RM_TRIGAMMA_B64_ERR RM_BOUND(0x1p-45)
#define RM_TRIGAMMA_STEPS 8
#define RM_TRIGAMMA_FAR 8.5

/* For -1/2 <= x < 2^128, x != 0: trigamma x within RM_TRIGAMMA_B64_ERR of it. */
RM_NOINLINE vf64 rm_trigamma_eval(vf64 x) {
  const vf64 one = vf64_set1(1.0), zero = vf64_set1(0.0), limit = vf64_set1(RM_TRIGAMMA_FAR);
  const vm64 far = vf64_lt(limit, x);
  const vf64 near = vf64_min(limit, x);
  vf64 p = vf64_mul(near, near), q = one, r;
  RM_UNROLL for (int j = 1; j < RM_TRIGAMMA_STEPS; j++) {
    const vf64 f = vf64_add(near, vf64_set1(j)), square = vf64_mul(f, f);
    q = vf64_mad(q, square, p);
    p = vf64_mul(p, square);
  }
  const vf64 sum = vf64_select(far, zero, vf64_quotient(q, p, &r));
  const vf64 y = vf64_select(far, x, vf64_add(near, vf64_set1(RM_TRIGAMMA_STEPS)));
  const vf64 v = vf64_quotient(one, y, &r), w = vf64_mul(v, v);
  const vf64 s = rm_gamma_polynomial(rm_trigamma_stirling, RM_GAMMA_SERIES - 1, w);
  const vf64 series = vf64_add(v, vf64_mul(w, vf64_mad(v, s, vf64_set1(0.5))));
  return vf64_add(sum, series);
}

/* For x < -1/2 that is no integer, |x| < 2^51. */
RM_FN vf64 rm_trigamma_reflected(vf64 x) {
  const vf64 a = vf64_abs(x), one = vf64_set1(1.0);
  vf64 sine, s;
  const vf64 r = rm_gamma_turn(a, &sine), t = vf64_mul(r, sine);
  return vf64_sub(vf64_quotient(one, vf64_mul(t, t), &s), rm_trigamma_eval(vf64_add(a, one)));
}
