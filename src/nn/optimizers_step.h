/* Optimiser steps over vectors, in binary64 (formats below it), with a rounding test for each of the new numbers of an element. Lanes
 * in which one is left open are done again, by rm_optimizer_slow, from what they held before.
 *
 * Errors, u = 2^-53. Coefficients c are off by at most 1.02u|c| (optimizers.h), arguments are exact, nothing underflows: coefficients
 * are 0 or between 2^-200 and 2^200, arguments 0 or at least 2^-149. A sum of terms, each a product of a coefficient and at most one
 * more factor that is a sum of such terms, is off by fewer than 6u times the sum S of the terms' magnitudes:
 *   d = g + decay p          product and sum round: 2u S (nothing without decay)
 *   keep d                   coefficient, product: 5.1u
 *   beta m + keep d          sum: 6.1u of S is an overestimate: at most 1u of |beta m + keep d| is the last rounding
 * The rounding test adds 1u|y| for each end of the interval. STATE_ERR = 8u S covers them.
 *   (1 - beta2) d^2          d with 2u S_d: d^2 4u and its product 2u, coefficient 1u, the sum 1u: 8.1u S, S = |beta2 v| + keep2 S_d^2;
 *                            SQUARE_ERR = 10u S
 *   p - lr x                 x as d, or d + beta1 b: 4u, coefficient exact, product and sum: 6u S; STATE_ERR
 *   Adam's quotient          rate m' rounds by 2.1u; root + eps, terms >= 0, by 2.2u (vf64_root) + 1u or 1.02u + 1u: 3.2u; the quotient
 *                            by 2.2u: 7.6u|q|; a p by 2.1u |a p|; the difference and the test by 2u (|a p| + |q|):
 *                            PARAMETER_ERR = 12u (|a p| + |q|)
 * A relative error of second order is below 2^-49 of these. */
#ifndef RM_NN_OPTIMIZERS_STEP_H
#define RM_NN_OPTIMIZERS_STEP_H

#include "../../crlibm/simd/undecided.h"
#include "../reduce/elements.h"
#include "optimizers.h"

#define RM_STATE_ERR RM_BOUND(0x1p-50)
#define RM_SQUARE_ERR RM_BOUND(0x1.4p-50)
#define RM_PARAMETER_ERR RM_BOUND(0x1.8p-50)

typedef struct {
  char *p, *m, *v, *w;
  const char *g;
} rm_step_arrays;

RM_FN void rm_store_elements(char *at, vf64 y, const int fmt) {
  void *p = at;
  switch (fmt) {
    case RM_F16: vf64_store_f16((uint16_t *)p, y); break;
    case RM_BF16: vf64_store_bf16((uint16_t *)p, y); break;
    case RM_F32: vf64_store_f32((float *)p, y); break;
    default: vf64_store((double *)p, y);
  }
}

/* *r = y rounded to the format, the true value within err (2^-52 |y| included); the lanes in which that is open: where numbers within
 * err round differently, zeros of either sign counting as different unless err = 0, and where the result is not finite. */
RM_FN vm64 rm_settle(vf64 y, vf64 err, const int fmt, vf64 *r) {
  y = vf64_add(y, vf64_set1(0.0)); /* an exact zero is +0 */
  if (fmt == RM_F32) {
    const vf64 low = vf64_round_f32(vf64_sub(y, err));
    *r = vf64_round_f32(vf64_add(y, err));
    const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
    return vm64_not(vm64_and(vi64_eq(vf64_bits(low), vf64_bits(*r)), vf64_lt(vf64_abs(*r), infinity)));
  }
  char buffer[4 * RM_LANES];
  rm_store_elements(buffer, y, fmt);
  *r = rm_load_elements(buffer, fmt);
  const vm64 sign = vm64_andnot(vf64_le(vf64_abs(y), err), vf64_eq(err, vf64_set1(0.0)));
  return vm64_or(sign, vm64_or(vf64_overflows(y, fmt), vf64_undecided_within(y, err, fmt)));
}

RM_FN rm_optimizer_element rm_read_step(const rm_step_arrays *a, int64_t i, const int fmt) {
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(fmt);
  rm_optimizer_element e = {rm_read_bits(a->p + at, fmt), rm_read_bits(a->g + at, fmt), 0, 0, 0};
  if (a->m) e.m = rm_read_bits(a->m + at, fmt);
  if (a->v) e.v = rm_read_bits(a->v + at, fmt);
  if (a->w) e.w = rm_read_bits(a->w + at, fmt);
  return e;
}
RM_FN void rm_write_step(const rm_step_arrays *a, int64_t i, const rm_optimizer_element *e, const int fmt) {
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(fmt);
  rm_write_bits(a->p + at, e->p, fmt);
  if (a->m) rm_write_bits(a->m + at, e->m, fmt);
  if (a->v) rm_write_bits(a->v + at, e->v, fmt);
  if (a->w) rm_write_bits(a->w + at, e->w, fmt);
}

/* The new numbers of a vector of elements, those that there are. */
typedef struct {
  vf64 p, m, v, w;
} rm_step_vectors;

/* The lanes in `open` from what the arrays hold, the others from *y. */
RM_COLD uint32_t rm_redo_step(const rm_optimizer *o, const rm_step_arrays *a, uint32_t open, int fmt, rm_optimizer_element *e) {
  uint32_t flags = 0;
  for (int i = 0; i < RM_LANES; i++)
    if (open >> i & 1) {
      e[i] = rm_read_step(a, i, fmt);
      flags |= rm_optimizer_slow(o, e + i);
    }
  return flags;
}
RM_FN uint32_t rm_finish_step(const rm_optimizer *o, const rm_step_arrays *a, const rm_step_vectors *y, uint32_t open, const int fmt) {
  rm_optimizer_element e[RM_LANES];
  uint32_t flags = 0;
  if (RM_UNLIKELY(open)) flags = rm_redo_step(o, a, open, fmt, e);
  rm_store_elements(a->p, y->p, fmt);
  if (a->m) rm_store_elements(a->m, y->m, fmt);
  if (a->v) rm_store_elements(a->v, y->v, fmt);
  if (a->w) rm_store_elements(a->w, y->w, fmt);
  if (RM_UNLIKELY(open))
    for (int i = 0; i < RM_LANES; i++)
      if (open >> i & 1) rm_write_step(a, i, e + i, fmt);
  return flags;
}

/* d and the magnitudes of its terms. */
RM_FN vf64 rm_step_direction(const rm_optimizer *o, vf64 p, vf64 g, const int coupled, vf64 *size) {
  if (o->negate) g = vf64_neg(g);
  *size = vf64_abs(g);
  if (!coupled) return g;
  const vf64 term = vf64_mul(p, vf64_set1(o->decay));
  *size = vf64_add(*size, vf64_abs(term));
  return vf64_add(g, term);
}

/* beta x + keep y, y of the terms `size`. */
RM_FN vf64 rm_step_average(double beta, vf64 x, double keep, vf64 y, vf64 size, vf64 *err) {
  const vf64 old = vf64_mul(x, vf64_set1(beta));
  const vf64 whole = vf64_mad(size, vf64_set1(__builtin_fabs(keep)), vf64_abs(old));
  *err = vf64_mul(whole, vf64_set1(RM_STATE_ERR));
  return vf64_mad(y, vf64_set1(keep), old);
}

enum { RM_PLAIN, RM_MOMENTUM, RM_NESTEROV };

RM_FN uint32_t rm_sgd_vector(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled, const int mode,
                             uint32_t live) {
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  rm_step_vectors y;
  vf64 size, err, x = rm_step_direction(o, p, g, coupled, &size);
  vm64 open = vf64_lt(p, p);
  y.m = y.v = y.w = p;
  if (mode != RM_PLAIN) {
    vf64 b;
    if (o->first) {
      b = x;
      err = vf64_mul(size, vf64_set1(RM_STATE_ERR));
    } else {
      b = rm_step_average(o->beta1, rm_load_elements(a->m, fmt), o->constants.keep1, x, size, &err);
    }
    open = rm_settle(b, err, fmt, &y.m);
    if (mode == RM_NESTEROV) {
      const vf64 term = vf64_mul(y.m, vf64_set1(o->beta1));
      x = vf64_add(x, term);
      size = vf64_add(size, vf64_abs(term));
    } else {
      x = y.m;
      size = vf64_abs(x);
    }
  }
  const vf64 rate = vf64_set1(o->lr);
  err = vf64_mul(vf64_mad(size, rate, vf64_abs(p)), vf64_set1(RM_STATE_ERR));
  open = vm64_or(open, rm_settle(vf64_nmad(x, rate, p), err, fmt, &y.p));
  return rm_finish_step(o, a, &y, vm64_bits(open) & live, fmt);
}

RM_FN uint32_t rm_adam_vector(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled, const int largest,
                              uint32_t live) {
  const rm_optimizer_constants *c = &o->constants;
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  rm_step_vectors y;
  vf64 size, err, r;
  const vf64 d = rm_step_direction(o, p, g, coupled, &size);
  const vf64 m = rm_step_average(o->beta1, rm_load_elements(a->m, fmt), c->keep1, d, size, &err);
  vm64 open = rm_settle(m, err, fmt, &y.m);

  const vf64 old = vf64_mul(rm_load_elements(a->v, fmt), vf64_set1(o->beta2)), keep = vf64_set1(c->keep2);
  const vf64 v = vf64_mad(vf64_mul(d, d), keep, old);
  const vf64 whole = coupled ? vf64_mad(vf64_mul(size, size), keep, vf64_abs(old)) : v; /* v < 0 or NaN: open by its root */
  open = vm64_or(open, rm_settle(v, vf64_mul(whole, vf64_set1(RM_SQUARE_ERR)), fmt, &y.v));
  y.w = y.v;
  if (largest) {
    const vf64 w = rm_load_elements(a->w, fmt);
    open = vm64_or(open, vf64_unord(w, w));
    y.w = vf64_max(w, y.v);
  }
  const vf64 s = largest ? y.w : y.v;
  open = vm64_or(open, vm64_not(vf64_le(vf64_set1(0.0), vf64_min(s, old))));
  const vf64 below = vf64_add(vf64_root(s, &r), vf64_set1(c->eps));
  const vf64 q = vf64_quotient(vf64_mul(y.m, vf64_set1(c->rate)), below, &r), kept = vf64_mul(p, vf64_set1(c->a));
  err = vf64_mul(vf64_add(vf64_abs(kept), vf64_abs(q)), vf64_set1(RM_PARAMETER_ERR));
  open = vm64_or(open, rm_settle(vf64_sub(kept, q), err, fmt, &y.p));
  return rm_finish_step(o, a, &y, vm64_bits(open) & live, fmt);
}

/* Elements [begin, end): vectors, and the rest in padded ones. */
#define RM_STEP_LOOP(vector)                                                                                                 \
  RM_FN uint32_t RM_CAT(vector, _loop)(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt, const int coupled,   \
                                       const int mode) {                                                                     \
    const int size = rm_size_of(fmt);                                                                                        \
    uint32_t flags = 0;                                                                                                      \
    int64_t i = begin;                                                                                                       \
    for (; i + RM_LANES <= end; i += RM_LANES) {                                                                             \
      const rm_step_arrays a = {o->p + i * size, o->m ? o->m + i * size : 0, o->v ? o->v + i * size : 0,                      \
                                o->w ? o->w + i * size : 0, o->g + i * size};                                                \
      flags |= vector(o, &a, fmt, coupled, mode, (1u << RM_LANES) - 1);                                                      \
    }                                                                                                                        \
    if (i == end) return flags;                                                                                              \
    char rest[5][8 * RM_LANES] = {{0}};                                                                                      \
    const rm_step_arrays a = {rest[0], o->m ? rest[1] : 0, o->v ? rest[2] : 0, o->w ? rest[3] : 0, rest[4]};                  \
    char *to[4] = {o->p, o->m, o->v, o->w};                                                                                  \
    const size_t bytes = (size_t)(end - i) * (size_t)size;                                                                   \
    for (int k = 0; k < 4; k++)                                                                                              \
      if (to[k]) __builtin_memcpy(rest[k], to[k] + i * size, bytes);                                                         \
    __builtin_memcpy(rest[4], o->g + i * size, bytes);                                                                       \
    flags |= vector(o, &a, fmt, coupled, mode, (1u << (end - i)) - 1);                                                       \
    for (int k = 0; k < 4; k++)                                                                                              \
      if (to[k]) __builtin_memcpy(to[k] + i * size, rest[k], bytes);                                                         \
    return flags;                                                                                                            \
  }
RM_STEP_LOOP(rm_sgd_vector)
RM_STEP_LOOP(rm_adam_vector)

/* The cases of one step as constants. */
#define RM_DEFINE_STEPS(fmt, FMT)                                                                                            \
  static uint32_t rm_sgd_##fmt(const rm_optimizer *o, int64_t begin, int64_t end) {                                          \
    const int mode = !o->m ? RM_PLAIN : o->nesterov ? RM_NESTEROV : RM_MOMENTUM;                                             \
    if (mode == RM_PLAIN && o->decay == 0.0) return rm_sgd_vector_loop(o, begin, end, FMT, 0, RM_PLAIN);                     \
    if (mode == RM_PLAIN) return rm_sgd_vector_loop(o, begin, end, FMT, 1, RM_PLAIN);                                        \
    if (mode == RM_MOMENTUM && o->decay == 0.0) return rm_sgd_vector_loop(o, begin, end, FMT, 0, RM_MOMENTUM);               \
    if (mode == RM_MOMENTUM) return rm_sgd_vector_loop(o, begin, end, FMT, 1, RM_MOMENTUM);                                  \
    return rm_sgd_vector_loop(o, begin, end, FMT, o->decay != 0.0, RM_NESTEROV);                                             \
  }                                                                                                                          \
  static uint32_t rm_adam_##fmt(const rm_optimizer *o, int64_t begin, int64_t end) {                                         \
    const int coupled = !o->decoupled && o->decay != 0.0;                                                                    \
    if (o->w) return rm_adam_vector_loop(o, begin, end, FMT, coupled, 1);                                                    \
    if (coupled) return rm_adam_vector_loop(o, begin, end, FMT, 1, 0);                                                       \
    return rm_adam_vector_loop(o, begin, end, FMT, 0, 0);                                                                    \
  }
RM_DEFINE_STEPS(f16, RM_F16)
RM_DEFINE_STEPS(bf16, RM_BF16)
RM_DEFINE_STEPS(f32, RM_F32)
#undef RM_DEFINE_STEPS

#endif
