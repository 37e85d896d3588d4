/* betaln for f32 and the 16-bit formats, evaluated in binary64, from a <= b, the two arguments, and c = a + b:
 *   b <= 8.5       lgamma a + (lgamma b - lgamma c)
 *   a <= 8.5 < b   lgamma a + (a - (b - 1/2) log1p(a/b) - a log c + S(b) - S(c)): of Stirling's series of lgamma b and
 *                  lgamma c what is large is taken away before anything rounds
 *   beyond         log(2 pi)/2 - log(a)/2 + S(a) - (b - 1/2) log1p(a/b) - a log1p(b/a) + S(b) - S(c): no two of the large
 *                  parts have opposite signs
 *
 * Error, u = 2^-53, Z the sum of the magnitudes of lgamma a, lgamma b, lgamma c, a, p = (b - 1/2) log1p(a/b) and q, which is
 * a log c or a log1p(b/a), as far as they occur:
 *   lgamma     2^-40 15/16 of itself, at c too, which may be any number of binary64 (lgamma_row_b64)
 *   c          rounds by u c, which changes lgamma c by |digamma c| c u <= (2 + 2 |lgamma c|) u: for c up to 17
 *              (proofs/rests.py)
 *   logs       log, log1p 2^-41 of themselves (log_b64.h), quotients 2^-51.9, which log1p does not enlarge; c - 1 is within
 *              2.3 u of itself, c > 8.5, and log c = log1p(c - 1) within as much; the products round by u each
 *   log(a)/2   beside q >= a log 2 it is below q/4, for a > 8.5
 *   S          RM_BETALN_SERIES_ERR each; its magnitude is below 1/96
 *   sums       at most five, each by u times at most Z + 1
 * Together below (2^-40 15/16 + 12 u) Z + 2^-50; err has 2^-40 of Z, which includes 2^-52 of the result, and 2^-49. The
 * machine's proof: proofs/formula/gamma.py. */
#pragma once

#include "../lgamma/lgamma_b64.h"
#include "../log1p/log1p_b64.h"

#define RM_BETALN_B64_ERR RM_BOUND(0x1p-40)
#define RM_BETALN_B64_LEAST_ERR RM_BOUND(0x1p-49)

/* S(x) = lgamma x - (x - 1/2) log x + x - log(2 pi)/2 for x > 8.5, of v = 1/x within 2^-51.9: 8 terms, of which the first
 * left out is below 2^-54; the rest is roundings. */
#define RM_BETALN_SERIES_ERR 0x1p-52
RM_FN vf64 rm_betaln_series(vf64 v) {
  return vf64_mul(v, rm_gamma_polynomial(rm_lgamma_stirling, RM_GAMMA_SERIES - 1, vf64_mul(v, v)));
}
/* The same of x; of less than 8.5 that of 8.5, so that nothing overflows. */
RM_FN vf64 rm_betaln_rest(vf64 x) {
  vf64 r;
  return rm_betaln_series(vf64_quotient(vf64_set1(1.0), vf64_max(vf64_set1(RM_LGAMMA_FAR), x), &r));
}

/* betaln within *err for 0 < a <= b, numbers of f32. */
RM_FN vf64 rm_betaln_ordered(vf64 a, vf64 b, vf64 *err) {
  const vf64 zero = vf64_set1(0.0), one = vf64_set1(1.0), limit = vf64_set1(RM_LGAMMA_FAR);
  const vf64 c = vf64_add(a, b);
  const vm64 far = vf64_lt(limit, b), both = vm64_not(vf64_le(a, limit));
  const vf64 whole = rm_lgamma_eval(a), below = rm_lgamma_eval(b), above = rm_lgamma_eval(c);
  vf64 r;
  const vf64 p = vf64_mul(vf64_sub(b, vf64_set1(0.5)), rm_log1p_eval(vf64_quotient(a, b, &r)));
  const vf64 q = vf64_mul(a, rm_log1p_eval(vf64_select(both, vf64_quotient(b, a, &r), vf64_sub(vf64_max(limit, c), one))));
  const vf64 at_a = rm_betaln_rest(a), at_b = rm_betaln_rest(b), at_c = rm_betaln_rest(c);
  const vf64 half = vf64_mad(rm_log_eval(a), vf64_set1(-0.5), vf64_set1(RM_LGAMMA_HALF_LOG_2PI));
  const vf64 head = vf64_select(both, vf64_add(half, at_a), whole), own = vf64_select(both, zero, a);
  const vf64 tail = vf64_add(vf64_sub(vf64_sub(own, p), q), vf64_sub(at_b, at_c));
  const vf64 sizes =
      vf64_select(far, vf64_add(vf64_add(own, vf64_abs(p)), vf64_abs(q)), vf64_add(vf64_abs(below), vf64_abs(above)));
  *err = vf64_mad(vf64_add(vf64_select(both, zero, vf64_abs(whole)), sizes), vf64_set1(RM_BETALN_B64_ERR),
                  vf64_set1(RM_BETALN_B64_LEAST_ERR));
  return vf64_add(head, vf64_select(far, tail, vf64_sub(below, above)));
}

/* The same of any f32 numbers; where they are not positive and finite *err is infinite. */
RM_NOINLINE vf64 rm_betaln_eval(vf64 x, vf64 y, vf64 *err) {
  const vf64 a = vf64_min(x, y), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vm64 inside = vm64_and(vf64_lt(vf64_set1(0.0), a), vf64_lt(vf64_add(x, y), infinity));
  const vf64 v = rm_betaln_ordered(a, vf64_max(x, y), err);
  *err = vf64_select(inside, *err, infinity);
  return v;
}
