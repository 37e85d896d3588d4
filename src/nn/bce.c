/* Binary cross entropy with logits: w ((1 - y) x + c log(1 + e^-x)), c = 1 + (p - 1) y, by double-double, then balls.
 *
 * Values are transcendental (Lindemann, Weierstrass) but where c w = 0, when they are rational, with fewer than 9000 bits. Beyond
 * RM_BCE_TAIL e^-|x| is below 2^RM_BCE_TAIL_BITS, and products with c and w below 2^-8000: nearer to what they are added to, a number
 * with fewer than 7500 bits, than any boundary it is not; only the sign matters, and 2^RM_BCE_TAIL_BITS stands for it. A sum whose
 * transcendental parts cancel is rational too. */
#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "../../include/repmath/losses.h"
#include "../api/env.h"
#include "../reduce/elements.h"
#include "../reduce/superaccumulator.h"
#include "decide.h"

#define RM_BCE_TAIL 8192.0
#define RM_BCE_TAIL_BITS (-11818) /* e^-8192 < 2^-11818 */

enum { BLOCK = 256 };

typedef struct {
  int format, reduction;
  int64_t n, count; /* what a mean divides by, else 1 */
  rm_row_array x, y, w, p, g, out;
} bce;
typedef struct {
  double x, y, w, p, g;
} bce_element;

static double read(const rm_row_array *a, int64_t i, int format) { return a->base ? rm_read_element(a->base + i * a->stride, format) : 1.0; }
static bce_element element(const bce *f, int64_t i) {
  return (bce_element){read(&f->x, i, f->format), read(&f->y, i, f->format), read(&f->w, i, f->format), read(&f->p, i, f->format),
                       read(&f->g, i, f->format)};
}

static int all_finite(const bce_element *e) {
  return e->x - e->x == 0.0 && e->y - e->y == 0.0 && e->w - e->w == 0.0 && e->p - e->p == 0.0 && e->g - e->g == 0.0;
}

#define RM_NUM near
#include "bce_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "bce_exact.h"
#undef RM_NUM

/* The sign of the term, or of its gradient, without weight and g; x, y, p are finite. */
static double sign_of(const bce *f, int64_t i, int gradient) {
  bce plain = *f;
  plain.w.base = plain.g.base = NULL, plain.count = 1;
  rm_ball v;
  int sign = RM_SIGN_UNKNOWN;
  for (int limbs = 4; limbs <= RM_BALL_LIMBS && sign == RM_SIGN_UNKNOWN; limbs *= 2) {
    (gradient ? bce_gradient_ball : bce_value_ball)(&v, &plain, i, limbs);
    sign = rm_ball_sign(&v);
  }
  return sign == RM_SIGN_UNKNOWN ? 0.0 : sign;
}

/* A result that is not of finite numbers: NaN, infinite, or 0 where an infinite x makes it so: (1 - y) x, -p y x, by the slopes at either end. */
static double limit(const bce *f, int64_t i, int gradient) {
  const bce_element e = element(f, i);
  if (e.y - e.y != 0.0 || e.p - e.p != 0.0 || e.x != e.x) return rm_from_bits64(rm_nan_bits(RM_F64));
  double v;
  if (e.x - e.x == 0.0) {
    v = sign_of(f, i, gradient);
  } else {
    const double slope = e.x > 0.0 ? 1.0 - e.y : (e.p > 0.0) == (e.y > 0.0) ? -1.0 : 1.0;
    const double at = e.x < 0.0 && (e.p == 0.0 || e.y == 0.0) ? 0.0 : slope;
    v = gradient || at == 0.0 ? at : at * e.x;
  }
  return v * e.w * e.g;
}

static int any_nan(const bce_element *e) { return e->x != e->x || e->y != e->y || e->w != e->w || e->p != e->p || e->g != e->g; }

static int signals(const bce *f, int64_t i) {
  const rm_row_array *all[5] = {&f->x, &f->y, &f->w, &f->p, &f->g};
  int found = 0;
  for (int k = 0; k < 5; k++) found |= all[k]->base && rm_is_signalling(rm_read_bits(all[k]->base + i * all[k]->stride, f->format), f->format);
  return found;
}

static uint64_t one(const bce *f, int64_t i, int gradient, rm_row_state *state) {
  bce_element e = element(f, i);
  void *operation = (void *)(uintptr_t)f;
  if (gradient && e.x == e.x) e.x = 0.0; /* at infinity the formula has the limit */
  if (all_finite(&e))
    return gradient ? rm_decide(bce_gradient_near, bce_gradient_ball, operation, i, f->format, state)
                    : rm_decide(bce_value_near, bce_value_ball, operation, i, f->format, state);
  const double v = limit(f, i, gradient);
  if (signals(f, i) || (v != v && !any_nan(&e))) state->flags |= RM_FLAG_INVALID;
  if (v != v) return rm_nan_bits(f->format);
  return v - v == 0.0 ? 0 : rm_signed_infinity(v < 0.0, f->format);
}

static void each(const void *operation, int64_t block, rm_row_state *state) {
  const bce *f = operation;
  const int64_t end = f->n - block * BLOCK < BLOCK ? f->n : (block + 1) * BLOCK;
  for (int64_t i = block * BLOCK; i < end; i++) rm_write_bits(f->out.base + i * f->out.stride, one(f, i, f->g.base != NULL, state), f->format);
}

/* Positions: format 1, reduction 2, n 3. */
static rm_status begin(bce *f, int format, int reduction, int64_t n) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (reduction < RM_REDUCTION_NONE || reduction > RM_REDUCTION_SUM) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  if (!rm_kernels_get()) return RM_ERR_ISA;
  *f = (bce){.format = format, .reduction = reduction, .n = n, .count = 1};
  return RM_OK;
}

static rm_row_array line(const void *base, ptrdiff_t stride) { return (rm_row_array){(char *)(uintptr_t)base, 0, stride}; }

static int apart(const bce *f) {
  const rm_row_array *all[5] = {&f->x, &f->y, &f->w, &f->p, &f->g};
  int ok = 1;
  for (int k = 0; k < 5; k++) ok &= rm_rows_are_apart(f->out, 1, f->n, rm_size_of(f->format), *all[k], all[k]->base ? f->n : 0);
  return ok;
}

static void total(bce *f) {
  rm_row_state state = {0};
  uint64_t bits = 0;
  uint32_t classes = 0;
  const rm_env env = rm_env_enter();
  f->count = f->reduction == RM_REDUCTION_MEAN ? f->n : 1;
  if (f->n == 0 && f->reduction == RM_REDUCTION_MEAN) classes = RM_ACC_ZERO_INF; /* 0/0 */
  for (int64_t i = 0; i < f->n; i++) {
    const bce_element e = element(f, i);
    if (all_finite(&e)) continue;
    const double v = limit(f, i, 0);
    if (signals(f, i)) classes |= RM_ACC_SNAN;
    if (v != v) classes |= any_nan(&e) ? RM_ACC_QNAN : RM_ACC_ZERO_INF;
    if (v == v) classes |= v - v == 0.0 ? 0u : v < 0.0 ? RM_ACC_NINF : RM_ACC_PINF;
  }
  if (classes)
    bits = rm_superacc_round_classes(classes, f->format, &state.flags);
  else if (f->n)
    bits = rm_decide(bce_total_near, bce_total_ball, f, 0, f->format, &state);
  rm_write_bits(f->out.base, bits, f->format);
  rm_stats_add(state.tiers.fast, state.tiers.double_double, state.tiers.accumulator);
  rm_env_leave(env, state.flags);
}

rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                             const void *weight, ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight,
                             void *out, ptrdiff_t stride_out) {
  bce f;
  const rm_status status = begin(&f, format, reduction, n);
  if (status) return status;
  const int none = reduction == RM_REDUCTION_NONE;
  if (none && n == 0) return RM_OK;
  if (n && !x) return RM_STATUS(RM_ERR_NULL, 4);
  if (n && !y) return RM_STATUS(RM_ERR_NULL, 6);
  if (!out) return RM_STATUS(RM_ERR_NULL, 12);
  f.x = line(x, stride_x), f.y = line(y, stride_y), f.w = line(weight, stride_weight), f.p = line(pos_weight, stride_pos_weight);
  f.out = line(out, stride_out);
  if (!none) {
    total(&f);
    return RM_OK;
  }
  if (!apart(&f)) return RM_STATUS(RM_ERR_OVERLAP, 12);
  return rm_each_row((n + BLOCK - 1) / BLOCK, BLOCK, 1, each, &f);
}

rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                      ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                      ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                      ptrdiff_t stride_dx) {
  bce f;
  const rm_status status = begin(&f, format, reduction, n);
  if (status || n == 0) return status;
  if (!g) return RM_STATUS(RM_ERR_NULL, 4);
  if (!x) return RM_STATUS(RM_ERR_NULL, 6);
  if (!y) return RM_STATUS(RM_ERR_NULL, 8);
  if (!dx) return RM_STATUS(RM_ERR_NULL, 14);
  f.x = line(x, stride_x), f.y = line(y, stride_y), f.w = line(weight, stride_weight), f.p = line(pos_weight, stride_pos_weight);
  f.g = line(g, reduction == RM_REDUCTION_NONE ? stride_g : 0), f.out = line(dx, stride_dx);
  f.count = reduction == RM_REDUCTION_MEAN ? n : 1;
  if (!apart(&f)) return RM_STATUS(RM_ERR_OVERLAP, 14);
  return rm_each_row((n + BLOCK - 1) / BLOCK, BLOCK, 1, each, &f);
}
