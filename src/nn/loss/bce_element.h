/* Binary cross entropy with logits, w ((1 - y) x + c log(1 + e^-x)), c = 1 + (p - 1) y, in double-double, then in balls.
 *
 * Values are transcendental (Lindemann, Weierstrass) but where c w = 0, when they are rational, with fewer than 9000 bits.
 * Beyond RM_BCE_TAIL e^-|x| is below 2^RM_TAIL_BITS, and products with c and w below 2^-8000: nearer to what they are added
 * to, a number with fewer than 7500 bits, than any boundary it is not; only the sign matters, and 2^RM_TAIL_BITS represents
 * it. In a sum these are its tail (tail.inc): below 2^-8600, and a rational sum and a boundary times the number of terms are
 * multiples of 2^-4300. A sum is rational only where the factors c w of each |x| add up to 0 (cancel.h; log(1 + e^-x) is
 * log(1 + e^-|x|) less x, if that is negative): the host leaves their logarithms out. A device has no memory to sort
 * elements, and such a sum may be undecided there (decide.h). Also device code. */
#pragma once

#include "dd_loss_element.h"

#define RM_BCE_TAIL 8192.0

typedef struct {
  double x, y, w, p, g;
} rm_bce_element;

RM_STATIC rm_bce_element rm_bce_read(const rm_dd_loss *f, int64_t i) {
  const rm_bce_element e = {rm_dd_loss_read(f, RM_BCE_X, i), rm_dd_loss_read(f, RM_BCE_Y, i), rm_dd_loss_read(f, RM_BCE_W, i),
                            rm_dd_loss_read(f, RM_BCE_P, i), rm_dd_loss_read(f, RM_BCE_G, i)};
  return e;
}

RM_STATIC int rm_bce_holds(const rm_dd_loss *f, int64_t i, int gradient) {
  const rm_bce_element e = rm_bce_read(f, i);
  const int finite = rm_is_finite(e.y) && rm_is_finite(e.w) && rm_is_finite(e.p) && rm_is_finite(e.g);
  return finite && (gradient ? !rm_is_nan(e.x) : rm_is_finite(e.x)); /* the gradient's formula has the limit at infinity */
}

#define RM_NUM dd_ball
#include "bce_formula.inc"
#undef RM_NUM
#define RM_NUM ball
#include "bce_formula.inc"
#undef RM_NUM

/* The sign of the term, or of its gradient, without weight and g; x, y, p are finite. */
RM_FORMULA double rm_bce_sign(const rm_dd_loss *f, int64_t i, int gradient) {
  rm_dd_loss plain = *f;
  plain.in[RM_BCE_W].base = plain.in[RM_BCE_G].base = NULL, plain.count = 1;
  rm_ball v;
  int sign = RM_SIGN_UNKNOWN;
  for (int limbs = 4; limbs <= RM_BALL_LIMBS && sign == RM_SIGN_UNKNOWN; limbs *= 2) {
    if (gradient) rm_bce_gradient_ball(&v, &plain, i, limbs);
    else rm_bce_value_ball(&v, &plain, i, limbs);
    sign = rm_ball_sign(&v);
  }
  return sign == RM_SIGN_UNKNOWN ? 0.0 : sign;
}

/* A result that is not of finite numbers: NaN, infinite, or 0 where an infinite x makes it so: (1 - y) x, -p y x, by the
 * slopes at either end. */
RM_FORMULA double rm_bce_limit(const rm_dd_loss *f, int64_t i, int gradient, rm_row_state *state) {
  const rm_bce_element e = rm_bce_read(f, i);
  if (!rm_is_finite(e.y) || !rm_is_finite(e.p) || rm_is_nan(e.x)) return rm_from_bits64(rm_nan_bits(RM_F64));
  double v;
  if (rm_is_finite(e.x)) {
    if (rm_row_defer(state)) return 0.0;
    v = rm_bce_sign(f, i, gradient);
  } else {
    const double slope = e.x > 0.0 ? 1.0 - e.y : (e.p > 0.0) == (e.y > 0.0) ? -1.0 : 1.0;
    const double at = e.x < 0.0 && (e.p == 0.0 || e.y == 0.0) ? 0.0 : slope;
    v = gradient || at == 0.0 ? at : at * e.x;
  }
  return v * e.w * e.g;
}

/* The loss of an element, or its gradient, unless it is deferred. */
RM_STATIC uint64_t rm_bce_loss(const rm_dd_loss *f, int64_t i, rm_row_state *state) {
  if (rm_bce_holds(f, i, 0))
    return rm_decide(rm_bce_value_dd_ball, rm_bce_value_ball, (void *)(uintptr_t)f, i, f->format, state);
  return rm_dd_loss_limit(f, i, rm_bce_limit(f, i, 0, state), state);
}
RM_STATIC uint64_t rm_bce_gradient(const rm_dd_loss *f, int64_t i, rm_row_state *state) {
  if (rm_bce_holds(f, i, 1))
    return rm_decide(rm_bce_gradient_dd_ball, rm_bce_gradient_ball, (void *)(uintptr_t)f, i, f->format, state);
  return rm_dd_loss_limit(f, i, rm_bce_limit(f, i, 1, state), state);
}

#if RM_DEVICE
/* These find a result, and store it unless it is deferred; rm_bce_add adds the term of a sum (src/cuda/dd_sums.h). */
RM_STATIC void rm_bce_loss_result(const void *operation, int64_t i, rm_row_state *state) {
  rm_dd_loss_store((const rm_dd_loss *)operation, i, rm_bce_loss((const rm_dd_loss *)operation, i, state), state);
}
RM_STATIC void rm_bce_gradient_result(const void *operation, int64_t i, rm_row_state *state) {
  rm_dd_loss_store((const rm_dd_loss *)operation, i, rm_bce_gradient((const rm_dd_loss *)operation, i, state), state);
}
RM_STATIC uint32_t rm_bce_add(const rm_dd_loss *f, int64_t i, rm_dd_ball *sum, rm_row_state *state) {
  rm_dd_ball t;
  if (!rm_bce_holds(f, i, 0)) return rm_dd_loss_class(f, i, rm_bce_limit(f, i, 0, state));
  rm_bce_value_dd_ball(&t, (void *)(uintptr_t)f, i, 0);
  rm_dd_ball_add(sum, sum, &t);
  return 0;
}
#endif

/* Whether something other than finite terms makes the sum; then to *bits. */
RM_STATIC int rm_bce_without_terms(const rm_dd_loss *f, uint64_t *bits, rm_row_state *state) {
  uint32_t classes = 0;
  for (int64_t i = 0; i < f->n; i++)
    if (!rm_bce_holds(f, i, 0)) classes |= rm_dd_loss_class(f, i, rm_bce_limit(f, i, 0, state));
  return rm_dd_loss_without_terms(f, classes, bits, state);
}

#if RM_DEVICE
RM_STATIC uint64_t rm_bce_total(const rm_dd_loss *f, rm_row_state *state) {
  uint64_t bits;
  if (rm_bce_without_terms(f, &bits, state)) return bits;
  return rm_decide(rm_bce_total_dd_ball, rm_bce_total_ball, (void *)(uintptr_t)f, 0, f->format, state);
}
#endif
