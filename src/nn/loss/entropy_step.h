/* The fast phase of binary cross entropy with logits, of Kullback-Leibler divergence, and of their gradients, in formats
 * below binary64: a term in binary64 and a bound of its error, for a vector of elements.
 *
 * Inputs have at most 24 bits and are 0 or between 2^-149 and 2^128. Where one is infinite or NaN the value is, or an error
 * of infinity says that nothing is known. u = 2^-53; products of two inputs are exact, and nothing below overflows or
 * underflows. Sizes are sums of magnitudes of what is added; the error is ERR of the size, and REST of what an exponential
 * beyond its domain counts.
 *
 *   BCE           w ((1 - y) x + c log(1 + e^-x)), c = (1 - y) + p y, is w (c l + q |x|) with l = log(1 + e^-|x|) and q = 1 -
 *                 y for x >= 0, p y below: where y and p are probabilities and weights nothing cancels. l within 2^-41.6 up
 *                 to 88; beyond it is e^-|x|, within 2^-44 and 2^-127 of it, or from 170 on 0, below REST. 1 - y and c round
 *                 by 2 u of |1 - y| + |p y|; three products and a sum by 4 u
 *   its gradient  w g ((1 - y) - c/(1 + e^x)) is w g ((1 - y) s' - p y s), s' = 1/(1 + e^-x), s = 1 - s', each within
 *                 2^-41.6 (sigmoid_b64.h) of x cut to +-200, which changes the smaller one by at most 2^-288; 1 - y, the
 *                 products and the quotient by the number of elements round by 6 u
 *   KL            t (log t - x): log t within 2^-41, or 0 at t = 1; two roundings. 0 for t = 0; nothing is known for t < 0
 *   KL_LOG        e^t (t - x): e^t within 2^-44 between RM_ROW_EXP_MIN and RM_ROW_EXP_MAX; 0, or nothing known, beyond
 *   gradients     -g t, exact but for a quotient, which rounds, as its divisor does: RM_ENTROPY_QUOTIENT_ERR; -g e^t
 * With the test's 2^-52 of the value below RM_ENTROPY_ERR of the size in every other case. */
#pragma once

#include "../../../crlibm/sigmoid/sigmoid_b64.h"
#include "../../../crlibm/softplus/softplus_b64.h"
#include "../rows/step.h"
#include "kernels.h"

#define RM_ENTROPY_ERR RM_BOUND(0x1.1p-41)
#define RM_ENTROPY_REST 0x1p-245
#define RM_ENTROPY_CUT 0x1p-288
#define RM_ENTROPY_QUOTIENT_ERR RM_BOUND(0x1.4p-51)

RM_FN vf64 rm_entropy_input(const rm_entropy_block *p, int k, int64_t i) {
  return p->in[k] ? vf64_load(p->in[k] + i) : vf64_set1(1.0);
}

/* log(1 + e^-d), d >= 0. A NaN becomes any number. */
RM_FN vf64 rm_entropy_log(vf64 d) {
  const vf64 end = vf64_set1(88.0);
  return vf64_select(vf64_le(d, end), rm_softplus_tail(vf64_min(d, end)), rm_row_exp(vf64_neg(d)));
}

RM_FN vf64 rm_entropy_bce(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 x = rm_entropy_input(p, 0, i), y = rm_entropy_input(p, 1, i), w = rm_entropy_input(p, 2, i);
  const vf64 d = vf64_sub(vf64_set1(1.0), y), b = vf64_mul(rm_entropy_input(p, 3, i), y), size = vf64_abs(x);
  const vf64 l = rm_entropy_log(size), q = vf64_mul(vf64_select(vf64_lt(x, vf64_set1(0.0)), b, d), size);
  const vf64 c = vf64_add(vf64_abs(d), vf64_abs(b));
  const vf64 of_log = vf64_mul(c, vf64_mad(l, vf64_set1(RM_ENTROPY_ERR), vf64_set1(RM_ENTROPY_REST)));
  *err = vf64_mul(vf64_abs(w), vf64_mad(vf64_abs(q), vf64_set1(RM_ENTROPY_ERR), of_log));
  return vf64_mul(w, vf64_mad(vf64_add(d, b), l, q));
}

RM_FN vf64 rm_entropy_bce_gradient(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 x = rm_entropy_input(p, 0, i), y = rm_entropy_input(p, 1, i);
  const vf64 d = vf64_sub(vf64_set1(1.0), y), b = vf64_mul(rm_entropy_input(p, 3, i), y);
  const vf64 by = vf64_div(vf64_mul(rm_entropy_input(p, 2, i), rm_entropy_input(p, 4, i)), vf64_set1(p->count));
  vf64 z;
  const vf64 s = rm_sigmoid_parts(rm_sigmoid_cut(x), RM_SIGMOID_SCALE, &z);
  const vf64 first = vf64_mul(d, s), second = vf64_mul(b, vf64_mul(z, s));
  const vf64 cut = vf64_mul(vf64_add(vf64_abs(d), vf64_abs(b)), vf64_set1(RM_ENTROPY_CUT));
  *err = vf64_mad(vf64_add(vf64_abs(first), vf64_abs(second)), vf64_set1(RM_ENTROPY_ERR), cut);
  *err = vf64_mul(vf64_abs(by), *err);
  return vf64_mul(by, vf64_sub(first, second));
}

/* Of Kullback-Leibler divergence: *value and *err become 0 where t and x make the term 0, whatever else is said. */
RM_FN vf64 rm_entropy_zero(vm64 zero, vf64 x, vf64 value, vf64 *err) {
  const vf64 nothing = vf64_set1(0.0);
  zero = vm64_and(zero, vf64_eq(x, x));
  *err = vf64_select(zero, nothing, *err);
  return vf64_select(zero, nothing, value);
}

RM_FN vf64 rm_entropy_kl(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 x = rm_entropy_input(p, 0, i), t = rm_entropy_input(p, 1, i), zero = vf64_set1(0.0);
  const vf64 unknown = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52)), l = rm_log_eval(t);
  *err = vf64_mul(vf64_mul(t, vf64_add(vf64_abs(l), vf64_abs(x))), vf64_set1(RM_ENTROPY_ERR));
  *err = vf64_select(vf64_lt(zero, t), *err, unknown);
  return rm_entropy_zero(vf64_eq(t, zero), x, vf64_mul(t, vf64_sub(l, x)), err);
}

/* e^t, and whether t is in its domain or below; NaN is not. */
RM_FN vf64 rm_entropy_exp(vf64 t, vm64 *known) {
  *known = vf64_le(t, vf64_set1(RM_ROW_EXP_MAX));
  return rm_row_exp(vf64_min(t, vf64_set1(RM_ROW_EXP_MAX)));
}

/* e^t times b, within *err. */
RM_FN vf64 rm_entropy_exp_times(vf64 t, vf64 b, vf64 *err) {
  const vf64 unknown = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  vm64 known;
  const vf64 e = rm_entropy_exp(t, &known);
  *err = vf64_mul(vf64_abs(b), vf64_mad(e, vf64_set1(RM_ENTROPY_ERR), vf64_set1(RM_ENTROPY_REST)));
  *err = vf64_select(known, *err, unknown);
  return vf64_mul(e, b);
}

RM_FN vf64 rm_entropy_kl_log(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 x = rm_entropy_input(p, 0, i), t = rm_entropy_input(p, 1, i);
  const vf64 value = rm_entropy_exp_times(t, vf64_sub(t, x), err);
  return rm_entropy_zero(vf64_lt(t, vf64_set1(-0x1.fffffffffffffp1023)), x, value, err);
}

/* The negative gradient is divided by count, which rounds unless count is a power of two: p->exact. */
RM_FN vf64 rm_entropy_kl_gradient(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 t = rm_entropy_input(p, 1, i), g = vf64_neg(rm_entropy_input(p, 2, i));
  const vf64 value = vf64_div(vf64_mul(g, t), vf64_set1(p->count));
  *err = vf64_mul(vf64_abs(value), vf64_set1(p->exact ? 0.0 : RM_ENTROPY_QUOTIENT_ERR));
  return value;
}

RM_FN vf64 rm_entropy_kl_log_gradient(const rm_entropy_block *p, int64_t i, vf64 *err) {
  const vf64 t = rm_entropy_input(p, 1, i), g = vf64_div(vf64_neg(rm_entropy_input(p, 2, i)), vf64_set1(p->count));
  const vf64 value = rm_entropy_exp_times(t, g, err);
  return rm_entropy_zero(vf64_lt(t, vf64_set1(-0x1.fffffffffffffp1023)), vf64_sub(g, g), value, err);
}

RM_FN vf64 rm_entropy_value(const rm_entropy_kind kind, const rm_entropy_block *p, int64_t i, vf64 *err) {
  switch (kind) {
    case RM_ENTROPY_BCE: return rm_entropy_bce(p, i, err);
    case RM_ENTROPY_BCE_GRADIENT: return rm_entropy_bce_gradient(p, i, err);
    case RM_ENTROPY_KL: return rm_entropy_kl(p, i, err);
    case RM_ENTROPY_KL_LOG: return rm_entropy_kl_log(p, i, err);
    case RM_ENTROPY_KL_GRADIENT: return rm_entropy_kl_gradient(p, i, err);
    default: return rm_entropy_kl_log_gradient(p, i, err);
  }
}
