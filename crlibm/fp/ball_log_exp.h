/* exp, expm1, log and log1p of the numbers of ball.h, by the evaluations of exp_wide.h and log_wide.h, and by series near 0. */
#ifndef RM_FP_BALL_LOG_EXP_H
#define RM_FP_BALL_LOG_EXP_H

#include "ball.h"

/* Limbs of the wide evaluation: one more than n, for what their errors take (below 2^27 units). */
RM_FN int rm_ball_wide_limbs(int n) { return n + 1 < RM_WIDE_MAX ? n + 1 : RM_WIDE_MAX; }

enum { RM_BALL_SMALL = 32 }; /* below 2^-32 expm1 and log1p are series */

/* e^a = 2^(k + j) f: k = floor(a/ln2) nearly, y = a - k ln2, and rm_exp_wide gives f 2^j = e^y for y within one unit; the
 * error d of y changes it by a factor within d (1 + d). Beyond 2^40: unknown, or between 0 and 2^-2^40, which is 1 unit +-
 * 1. */
RM_COLD void rm_ball_exp(rm_ball *r, const rm_ball *a) {
  const int n = a->n;
  uint64_t y[RM_WIDE_LIMBS], f[RM_WIDE_LIMBS];
  const uint64_t one = 1;
  rm_ball ln2, t;
  if (rm_ball_is_zero(a)) {
    rm_ball_set_u64(r, 1, n);
    return;
  }
  if (rm_ball_top(a) > 40) {
    rm_ball_set(&t, 0x1p40, n);
    if (rm_ball_is_unknown(a) == 0) rm_ball_add(&t, a, &t);
    if (rm_ball_sign(&t) == -1)
      rm_ball_store(r, 0, &one, 1, -(INT64_C(1) << 40), 0.0, n), r->err = 1.0;
    else
      rm_ball_unknown(r, n);
    return;
  }
  const double leading = rm_ball_leading(a); /* times 2^(e + 64 (length - 1)), where the exponent is below 40 */
  const int64_t at = a->e + 64 * ((int64_t)a->length - 1);
  const double size = at < -500 ? 0.0 : leading * rm_pow2((int)at);
  const double q = (a->negative ? -size : size) * 0x1.71547652b82fep+0;
  int64_t k = (int64_t)q;
  if ((double)k > q) k--;
  rm_ball_store(&ln2, 0, rm_wide_ln2, RM_WIDE_TABLE_LIMBS, -64 * (RM_WIDE_TABLE_LIMBS - 1), 1.0, RM_WIDE_TABLE_LIMBS);
  rm_ball_set_i64(&t, k, n);
  rm_ball_mul(&t, &t, &ln2);
  rm_ball_sub(&t, a, &t); /* its precision is at least that of ln2 */
  for (int w = rm_ball_wide_limbs(n); w > 0 && rm_ball_top(&t) <= 9; w--) {
    const double d = rm_ball_shifted(t.err, t.e + 64 * (int64_t)w); /* in units of 2^(-64 w): below 1/16 */
    if (!(d < 0x1p60)) continue;
    rm_ball_place(y, w + 1, &t, -64 * (int64_t)w);
    k += rm_exp_wide(f, y, t.negative, w);
    const double err = (double)rm_exp_wide_err(w) + ((double)f[w] + 1.0) * d * 1.125;
    rm_ball_store(r, 0, f, w + 1, k - 64 * (int64_t)w, rm_ball_up(err), n);
    return;
  }
  rm_ball_unknown(r, n);
}

/* log a: A 2^e with A in [1/2, 1) in as many limbs as its error leaves a meaning. Unknown unless a > 0. */
RM_COLD void rm_ball_log(rm_ball *r, const rm_ball *a) {
  const int n = a->n;
  uint64_t t[RM_WIDE_LIMBS], v[RM_WIDE_LIMBS], err;
  const int length = a->length;
  if (rm_ball_is_unknown(a) || rm_ball_sign(a) != 1) {
    rm_ball_unknown(r, n);
    return;
  }
  const int64_t top = a->e + 64 * (int64_t)length - rm_clz64(a->m[length - 1]); /* A = a 2^-top */
  if (a->err == 0.0 && length == 1 && a->m[0] == UINT64_C(1) << (top - 1 - a->e) && top == 1) {
    rm_ball_set_u64(r, 0, n);
    return;
  }
  for (int w = rm_ball_wide_limbs(n); w > 0 && top < INT64_C(1) << 39 && top > -(INT64_C(1) << 39); w--) {
    const int64_t unit = top - 64 * (int64_t)w;
    const double d = rm_ball_shifted(a->err, a->e - unit);
    if (!(d < 0x1p50)) continue;
    const int cut = rm_ball_place(t, w + 1, a, unit);
    const uint64_t off = a->err == 0.0 ? (uint64_t)cut : (uint64_t)d + 1 + (uint64_t)cut;
    const int negative = rm_log_wide_of(v, t, top, off, w, &err);
    rm_ball_store(r, negative, v, w + 1, -64 * (int64_t)w, rm_ball_up((double)err), n);
    return;
  }
  rm_ball_unknown(r, n);
}

/* r = a +- 2^exponent. */
RM_FN void rm_ball_widen(rm_ball *r, const rm_ball *a, int64_t exponent) {
  const uint64_t none = 0;
  rm_ball off;
  rm_ball_store(&off, 0, &none, 1, exponent, 1.0, a->n);
  rm_ball_add(r, a, &off);
}

/* x + sum of c_k x^k for k >= 2, |x| < 2^-32: c_k = (-1)^(k-1)/k, or 1/k! when `factorial`. The terms that are left out are
 * together less than twice |x|^k for the first of them. */
RM_COLD void rm_ball_series(rm_ball *r, const rm_ball *x, int factorial) {
  rm_ball power, term, sum;
  const int64_t least = rm_ball_top(x) - 64 * ((int64_t)x->n + 1);
  rm_ball_copy(&power, x);
  rm_ball_copy(&sum, x);
  for (uint64_t k = 2;; k++) {
    rm_ball_mul(&power, &power, x);
    if (rm_ball_top(&power) < least || rm_ball_is_unknown(&power)) break;
    rm_ball_set_u64(&term, k, x->n);
    rm_ball_div(&term, &power, &term);
    if (factorial)
      rm_ball_copy(&power, &term);
    else if (k % 2 == 0)
      rm_ball_neg(&term, &term);
    rm_ball_add(&sum, &sum, &term);
  }
  rm_ball_widen(r, &sum, rm_ball_top(&power) + 1);
}

/* e^a - 1 and log(1 + a), with a small relative error around 0. */
RM_COLD void rm_ball_expm1(rm_ball *r, const rm_ball *a) {
  rm_ball one, t;
  if (rm_ball_is_zero(a)) {
    rm_ball_copy(r, a);
  } else if (rm_ball_top(a) < -RM_BALL_SMALL) {
    rm_ball_series(r, a, 1);
  } else {
    rm_ball_set_u64(&one, 1, a->n);
    rm_ball_copy(&t, a);
    t.n = a->n < RM_BALL_LIMBS ? a->n + 1 : a->n;
    rm_ball_exp(&t, &t);
    rm_ball_sub(&t, &t, &one);
    rm_ball_store(r, t.negative, t.m, t.length, t.e, t.err, a->n);
  }
}
RM_COLD void rm_ball_log1p(rm_ball *r, const rm_ball *a) {
  rm_ball one;
  const int n = a->n;
  if (rm_ball_is_zero(a)) {
    rm_ball_copy(r, a);
  } else if (rm_ball_top(a) < -RM_BALL_SMALL) {
    rm_ball_series(r, a, 0);
  } else {
    rm_ball_set_u64(&one, 1, n < RM_BALL_LIMBS ? n + 1 : n);
    rm_ball_add(&one, &one, a);
    rm_ball_log(&one, &one);
    rm_ball_store(r, one.negative, one.m, one.length, one.e, one.err, n);
  }
}

#endif
