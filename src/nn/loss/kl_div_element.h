/* Kullback-Leibler divergence in double-double, then in balls: t (log t - x), or e^t (t - x), where t is a logarithm.
 *
 * Values are transcendental (Lindemann) but for t = 1, where log t is 0, for t = x and t = 0 of e^t (t - x): exact in either
 * arithmetic. log t is irrational for every other rational t. The sum of t log t is the logarithm of an algebraic number, the
 * product of all t^t, and so rational only if that is 1. An odd prime that divides the numerator of some t divides no
 * denominator, so then every t is a power of 2, and their exponents, each t times, add up to 0.
 * A sum of e^t (t - x) is rational only where t - x add up to 0 for each t != 0 (Lindemann, Weierstrass): the host finds that
 * out (cancel.h) and leaves these terms out. A device has no memory to sort elements; but for the groups below no ball shows
 * it, and such a sum is undecided there (decide.h).
 *
 * Exponents. A single e^t (t - x) with t beyond +-2^14 overflows, or rounds to a zero with the sign of t - x: |t - x| and g /
 * count are between 2^-1138 and 2^1025. Any t as far out on the same side stands for it. In a sum m is the largest t whose
 * t - x do not add up to 0; terms above it cancel and are left out, so the sum is not 0 (Lindemann, Weierstrass). Where m is
 * beyond +-2^13 the sum is e^m times that of e^(t - m) (t - x). rm_ball_exp takes exponents down to -2^40 and makes an
 * interval of the rest; m is held to +-2^39 in e^m, where any sum that 2^15 bits tell from 0 overflows or rounds to a zero of
 * its sign. Otherwise terms with t below -2^13 are the sum's tail (tail.inc), below 2^(1066 + RM_TAIL_BITS): where all others
 * have t = 0, they and a boundary times the number of terms are multiples of 2^-1075. It is also device code. */
#pragma once

#include "dd_loss_element.h"

#define RM_KL_FAR 0x1p14
#define RM_KL_FACTORED 0x1p13
#define RM_KL_FARTHEST 0x1p39
#define RM_KL_TAIL 8192.0

RM_STATIC double rm_kl_held(double t, double end) { return t < -end ? -end : t > end ? end : t; }

/* t > 0 with any finite x; t = 0 is a 0, whatever x is. Of logarithms both are finite. The gradient has no x. */
RM_STATIC int rm_kl_holds(const rm_dd_loss *f, int64_t i, int gradient) {
  const double x = rm_dd_loss_read(f, RM_KL_X, i), t = rm_dd_loss_read(f, RM_KL_T, i), g = rm_dd_loss_read(f, RM_KL_G, i);
  return rm_is_finite(t) && rm_is_finite(g) && (gradient || (rm_is_finite(x) && (f->option || t > 0.0)));
}

/* At infinity, and for t that is no probability. */
RM_STATIC double rm_kl_limit(const rm_dd_loss *f, int64_t i, int gradient) {
  const double x = rm_dd_loss_read(f, RM_KL_X, i), t = rm_dd_loss_read(f, RM_KL_T, i), g = rm_dd_loss_read(f, RM_KL_G, i);
  const double p = !f->option ? t : rm_is_finite(t) ? 1.0 : t < 0.0 ? 0.0 : t; /* t, or a number like e^t */
  if (gradient) return -p * g;
  if (rm_is_nan(x) || !(p >= 0.0)) return rm_from_bits64(rm_nan_bits(RM_F64));
  return p == 0.0 ? 0.0 : rm_is_finite(p) ? -p * x : p - x;
}

#define RM_NUM dd_ball
#include "kl_div_formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "kl_div_formula.inc"
#undef RM_NUM

#if RM_DEVICE
enum { RM_KL_GROUPS = 32 };

/* m, or -infinity where every term cancels. After RM_KL_GROUPS values of t that cancel, the next one, whatever it does: each
 * costs a walk over all elements. */
RM_FORMULA double rm_kl_top(const rm_dd_loss *f) {
  double above = rm_dd_ball_infinity();
  for (int group = 0;; group++) {
    double m = -rm_dd_ball_infinity();
    for (int64_t i = 0; i < f->n; i++) {
      const double t = rm_dd_loss_read(f, RM_KL_T, i);
      if (t < above && t > m && t != rm_dd_loss_read(f, RM_KL_X, i) && rm_kl_holds(f, i, 0)) m = t;
    }
    if (!rm_is_finite(m) || group == RM_KL_GROUPS) return m;
    uint32_t flags = 0;
    RM_BIG(rm_superaccumulator, sum, 1);
    rm_superacc_clear(sum);
    for (int64_t i = 0; i < f->n; i++)
      if (rm_dd_loss_read(f, RM_KL_T, i) == m && rm_kl_holds(f, i, 0)) {
        rm_superacc_add(sum, m);
        rm_superacc_add(sum, -rm_dd_loss_read(f, RM_KL_X, i));
      }
    if (rm_superacc_round_f64(sum, &flags) != 0.0) return m;
    above = m;
  }
}
#endif

/* The loss of an element, or its gradient, unless it is deferred. */
RM_STATIC uint64_t rm_kl_loss(const rm_dd_loss *f, int64_t i, rm_row_state *state) {
  if (rm_kl_holds(f, i, 0))
    return rm_decide(rm_kl_value_dd_ball, rm_kl_value_ball, (void *)(uintptr_t)f, i, f->format, state);
  return rm_dd_loss_limit(f, i, rm_kl_limit(f, i, 0), state);
}
RM_STATIC uint64_t rm_kl_gradient(const rm_dd_loss *f, int64_t i, rm_row_state *state) {
  if (rm_kl_holds(f, i, 1))
    return rm_decide(rm_kl_gradient_dd_ball, rm_kl_gradient_ball, (void *)(uintptr_t)f, i, f->format, state);
  return rm_dd_loss_limit(f, i, rm_kl_limit(f, i, 1), state);
}

#if RM_DEVICE
/* These find a result, and store it unless it is deferred; rm_kl_add adds the term of a sum (src/cuda/dd_sums.h), from which
 * nothing is factored out. */
RM_STATIC void rm_kl_loss_result(const void *operation, int64_t i, rm_row_state *state) {
  rm_dd_loss_store((const rm_dd_loss *)operation, i, rm_kl_loss((const rm_dd_loss *)operation, i, state), state);
}
RM_STATIC void rm_kl_gradient_result(const void *operation, int64_t i, rm_row_state *state) {
  rm_dd_loss_store((const rm_dd_loss *)operation, i, rm_kl_gradient((const rm_dd_loss *)operation, i, state), state);
}
RM_STATIC uint32_t rm_kl_add(const rm_dd_loss *f, int64_t i, rm_dd_ball *sum, rm_row_state *state) {
  rm_dd_ball t;
  (void)state;
  if (!rm_kl_holds(f, i, 0)) return rm_dd_loss_class(f, i, rm_kl_limit(f, i, 0));
  rm_kl_term_dd_ball(&t, f, i, rm_dd_loss_read(f, RM_KL_T, i), 0.0, 0);
  rm_dd_ball_add(sum, sum, &t);
  return 0;
}
#endif

/* Whether the logarithms of a sum cancel (above). */
RM_STATIC int rm_kl_logarithms_cancel(const rm_dd_loss *f) {
  RM_BIG(rm_superaccumulator, sum, 1);
  rm_superacc_clear(sum);
  for (int64_t i = 0; i < f->n; i++) {
    int k;
    if (!rm_kl_holds(f, i, 0)) continue;
    const double t = rm_dd_loss_read(f, RM_KL_T, i);
    const uint64_t m = rm_decompose(t, &k);
    if ((m & (m - 1)) != 0) return 0;
    if (t != 1.0) rm_superacc_add_product(sum, t, (double)(k + 63 - rm_clz64(m)));
  }
  return rm_superacc_get_top(sum).m == 0;
}

/* Whether something other than finite terms makes the sum; then to *bits. */
RM_STATIC int rm_kl_without_terms(const rm_dd_loss *f, uint64_t *bits, rm_row_state *state) {
  uint32_t classes = 0;
  for (int64_t i = 0; i < f->n; i++)
    if (!rm_kl_holds(f, i, 0)) classes |= rm_dd_loss_class(f, i, rm_kl_limit(f, i, 0));
  return rm_dd_loss_without_terms(f, classes, bits, state);
}

#if RM_DEVICE
RM_STATIC uint64_t rm_kl_total(const rm_dd_loss *f, rm_row_state *state) {
  rm_dd_loss terms = *f;
  uint64_t bits;
  if (rm_kl_without_terms(f, &bits, state)) return bits;
  if (f->option) terms.top = rm_kl_top(f);
  else terms.rational = rm_kl_logarithms_cancel(f);
  return rm_decide(rm_kl_total_dd_ball, rm_kl_total_ball, &terms, 0, f->format, state);
}
#endif
