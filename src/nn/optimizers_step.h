/* Optimiser steps over vectors, with a rounding test for each of the new numbers of an element. Lanes in which one is left
 * open are done again, by rm_optimizer_slow, from what they held before.
 *
 * Moments and SGD's parameter are sums of products of numbers of the format and coefficients. These are mostly short
 * decimals: 9/10 of a number is 5/10 of a unit beside the next one in a tenth of all cases, and the rounding of the
 * coefficient itself is all that tells such a result from a tie. So these sums are evaluated in two parts, u = 2^-53:
 *   products      exact in two parts: coefficients are 0 or between 2^-200 and 2^200, arguments 0 or between 2^-300 and
 *                 2^300 (formats below binary64 have no others); with factors in two parts the cross products round, and
 *                 low times low is left out
 *   sums          of the first parts by two-sums, exact; of the second parts rounded
 *   coefficients  within 2^-100 of themselves
 * With S the sum of the magnitudes of all terms, every second part is below 8u S, and at most a dozen are rounded or left
 * out: 12 u 8u S, with the coefficients below 2^-98 S: LINEAR_ERR. Second parts and this are below 2^-49 S: LINEAR_REACH.
 *
 * Adam's quotient depends on all digits, and binary64 will do for formats below it: rate m' rounds by 2.1u; root + eps,
 * terms >= 0, by 2.2u (vf64_root) + 1u or 1.02u + 1u, 3.2u; the quotient by 2.2u: 7.6u|q|; a p by 2.1u |a p|; the difference
 * and the rounding test by 2u (|a p| + |q|): QUOTIENT_ERR = 12u (|a p| + |q|). For binary64 root and quotient get a second
 * part: their residuals are exact up to 2^-102, and the factors that turn them into corrections, of 2^-50.9 at most, are
 * within 2^-27 (simd.h): 2^-77 each, other roundings far less, rate and eps 2^-85: QUOTIENT_ERR_F64 = 2^-72 (|a p| + |q|). */
#ifndef RM_NN_OPTIMIZERS_STEP_H
#define RM_NN_OPTIMIZERS_STEP_H

#include "../reduce/elements.h"
#include "../reduce/vector_pair.h"
#include "optimizers.h"

#define RM_LINEAR_ERR RM_BOUND(0x1p-98)
#define RM_LINEAR_REACH 0x1p-49
#define RM_QUOTIENT_ERR RM_BOUND(0x1.8p-50)
#define RM_QUOTIENT_ERR_F64 RM_BOUND(0x1p-72)

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

RM_FN vf64 rm_round_elements(vf64 y, const int fmt) {
  char buffer[8 * RM_LANES];
  if (fmt == RM_F32) return vf64_round_f32(y);
  rm_store_elements(buffer, y, fmt);
  return rm_load_elements(buffer, fmt);
}

/* r = y.hi + y.lo rounded to the format, the true value within err; returns the lanes in which that is open, those without a
 * finite result among them. An exact zero is +0, and open unless err is 0.
 *
 * binary64: both ends of the interval round alike. Below: the value is also within `reach` of y.hi, and where both ends of
 * that round alike, the 16-bit formats through binary32, which moves an end by at most 2^-24 of it or 2^-150, all is said.
 * Else let low and high be the two results. When 4 reach <= high - low, they are neighbours, (low + high)/2 is the boundary
 * between them, exactly, y.hi minus it too, and the side is known when the distance is above err. */
RM_FN vm64 rm_settle(rm_vpair y, vf64 err, vf64 reach, const int fmt, vf64 *r) {
  const vf64 zero = vf64_set1(0.0), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vf64 t = vf64_add(y.hi, zero);
  if (fmt == RM_F64) {
    const vf64 low = vf64_add(t, vf64_sub(y.lo, err));
    *r = vf64_add(t, vf64_add(y.lo, err));
    return vm64_not(vm64_and(vi64_eq(vf64_bits(low), vf64_bits(*r)), vf64_lt(vf64_abs(*r), infinity)));
  }
  if (fmt != RM_F32) reach = vf64_mad(vf64_abs(t), vf64_set1(0x1p-23), reach);
  if (fmt == RM_BF16) reach = vf64_add(reach, vf64_min(vf64_abs(t), vf64_set1(0x1p-149)));
  const vf64 low = rm_round_elements(vf64_sub(t, reach), fmt), high = rm_round_elements(vf64_add(t, reach), fmt);
  const vf64 side = vf64_add(vf64_sub(t, vf64_mul(vf64_set1(0.5), vf64_add(low, high))), y.lo);
  *r = vf64_select(vf64_lt(side, zero), low, high);
  const vm64 alike = vi64_eq(vf64_bits(low), vf64_bits(high));
  const vm64 decided = vm64_and(vf64_lt(err, vf64_abs(side)), vf64_le(vf64_mul(vf64_set1(4.0), reach), vf64_sub(high, low)));
  const vm64 finite = vf64_lt(vf64_max(vf64_abs(low), vf64_abs(high)), infinity);
  return vm64_not(vm64_and(vm64_or(alike, decided), finite));
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
RM_COLD uint32_t rm_redo_step(const rm_optimizer *o, const rm_step_arrays *a, uint32_t open, int fmt,
                              rm_optimizer_element *e) {
  uint32_t flags = 0;
  for (int i = 0; i < RM_LANES; i++)
    if (open >> i & 1) {
      e[i] = rm_read_step(a, i, fmt);
      flags |= rm_optimizer_slow(o, e + i);
    }
  return flags;
}
RM_FN uint32_t rm_finish_step(const rm_optimizer *o, const rm_step_arrays *a, const rm_step_vectors *y, uint32_t open,
                              const int fmt) {
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

/* c x; the second parts of c and x count where they are said to be there. */
RM_FN rm_vpair rm_vtimes(rm_vpair c, const int long_c, rm_vpair x, const int long_x) {
  const vf64 h = vf64_mul(c.hi, x.hi);
  vf64 l = vf64_mul_err(c.hi, x.hi, h);
  if (long_x) l = vf64_mad(c.hi, x.lo, l);
  if (long_c) l = vf64_mad(c.lo, x.hi, l);
  return (rm_vpair){h, l};
}
RM_FN rm_vpair rm_vplus(rm_vpair a, rm_vpair b) {
  const rm_vpair t = rm_vtwo_sum(a.hi, b.hi);
  return (rm_vpair){t.hi, vf64_add(t.lo, vf64_add(a.lo, b.lo))};
}
RM_FN rm_vpair rm_vone(vf64 x) { return (rm_vpair){x, vf64_set1(0.0)}; }
RM_FN rm_vpair rm_vminus(rm_vpair x) { return (rm_vpair){vf64_neg(x.hi), vf64_neg(x.lo)}; }
RM_FN rm_vpair rm_vcoefficient(const double *c) { return (rm_vpair){vf64_set1(c[0]), vf64_set1(c[1])}; }

/* d and the magnitudes of its terms. */
RM_FN rm_vpair rm_step_direction(const rm_optimizer *o, vf64 p, vf64 g, const int coupled, vf64 *size) {
  if (o->negate) g = vf64_neg(g);
  *size = vf64_abs(g);
  if (!coupled) return rm_vone(g);
  const rm_vpair term = rm_vtimes(rm_vone(vf64_set1(o->decay)), 0, rm_vone(p), 0);
  *size = vf64_add(*size, vf64_abs(term.hi));
  return rm_vplus(rm_vone(g), term);
}

RM_FN vm64 rm_settle_linear(rm_vpair y, vf64 size, const int fmt, vf64 *r) {
  return rm_settle(y, vf64_mul(size, vf64_set1(RM_LINEAR_ERR)), vf64_mul(size, vf64_set1(RM_LINEAR_REACH)), fmt, r);
}

/* beta x + keep y, y of the terms `size`. */
RM_FN vm64 rm_step_average(double beta, vf64 x, const double *keep, rm_vpair y, const int long_y, vf64 size, const int fmt,
                           vf64 *r) {
  const rm_vpair old = rm_vtimes(rm_vone(vf64_set1(beta)), 0, rm_vone(x), 0),
                 fresh = rm_vtimes(rm_vcoefficient(keep), 1, y, long_y);
  const vf64 whole = vf64_mad(size, vf64_set1(__builtin_fabs(keep[0])), vf64_abs(old.hi));
  return rm_settle_linear(rm_vplus(fresh, old), whole, fmt, r);
}

/* The lanes of binary64 arguments that are not 0 or between 2^-300 and 2^300. */
RM_FN vm64 rm_step_outside(vf64 x) {
  const vf64 size = vf64_abs(x);
  const vm64 inside = vm64_and(vf64_le(vf64_set1(0x1p-300), size), vf64_le(size, vf64_set1(0x1p300)));
  return vm64_not(vm64_or(inside, vf64_eq(x, vf64_set1(0.0))));
}

enum { RM_PLAIN, RM_MOMENTUM, RM_NESTEROV };

RM_FN uint32_t rm_sgd_vector(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled, const int mode,
                             uint32_t live) {
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  rm_step_vectors y;
  vf64 size;
  rm_vpair x = rm_step_direction(o, p, g, coupled, &size);
  vm64 open = vf64_lt(p, p);
  if (fmt == RM_F64) open = vm64_or(rm_step_outside(p), rm_step_outside(g));
  y.m = y.v = y.w = p;
  if (mode != RM_PLAIN) {
    if (o->first) {
      open = vm64_or(open, rm_settle_linear(x, size, fmt, &y.m));
    } else {
      const vf64 b = rm_load_elements(a->m, fmt);
      if (fmt == RM_F64) open = vm64_or(open, rm_step_outside(b));
      open = vm64_or(open, rm_step_average(o->beta1, b, o->constants.keep1, x, coupled, size, fmt, &y.m));
    }
    if (fmt == RM_F64) open = vm64_or(open, rm_step_outside(y.m));
    if (mode == RM_NESTEROV) {
      const rm_vpair term = rm_vtimes(rm_vone(vf64_set1(o->beta1)), 0, rm_vone(y.m), 0);
      x = rm_vplus(x, term);
      size = vf64_add(size, vf64_abs(term.hi));
    } else {
      x = rm_vone(y.m);
      size = vf64_abs(y.m);
    }
  }
  const vf64 rate = vf64_set1(o->lr);
  const rm_vpair step = rm_vtimes(rm_vone(rate), 0, x, mode == RM_NESTEROV || (mode == RM_PLAIN && coupled));
  open = vm64_or(open, rm_settle_linear(rm_vplus(rm_vone(p), rm_vminus(step)), vf64_mad(size, rate, vf64_abs(p)), fmt, &y.p));
  return rm_finish_step(o, a, &y, vm64_bits(open) & live, fmt);
}

/* a p - rate m / (sqrt(s) + eps) */
RM_FN vm64 rm_step_quotient(const rm_optimizer_constants *c, vf64 p, vf64 m, vf64 s, const int fmt, vf64 *y) {
  vf64 r, t;
  const vf64 root = vf64_root(s, &t);
  if (fmt != RM_F64) {
    const vf64 q = vf64_quotient(vf64_mul(m, vf64_set1(c->rate[0])), vf64_add(root, vf64_set1(c->eps[0])), &r);
    const vf64 kept = vf64_mul(p, vf64_set1(c->a[0]));
    const vf64 err = vf64_mul(vf64_add(vf64_abs(kept), vf64_abs(q)), vf64_set1(RM_QUOTIENT_ERR));
    return rm_settle(rm_vone(vf64_sub(kept, q)), err, err, fmt, y);
  }
  const vf64 square = vf64_mul(root, root), rest = vf64_sub(vf64_sub(s, square), vf64_mul_err(root, root, square));
  const rm_vpair below = rm_vplus((rm_vpair){root, vf64_mul(vf64_mul(rest, t), vf64_set1(0.5))}, rm_vcoefficient(c->eps));
  const rm_vpair above = rm_vtimes(rm_vcoefficient(c->rate), 1, rm_vone(m), 0);
  const vf64 q = vf64_quotient(above.hi, below.hi, &r), product = vf64_mul(q, below.hi);
  vf64 left = vf64_sub(vf64_sub(above.hi, product), vf64_mul_err(q, below.hi, product));
  left = vf64_add(left, vf64_nmad(q, below.lo, above.lo));
  const rm_vpair kept = rm_vtimes(rm_vcoefficient(c->a), 1, rm_vone(p), 0);
  const rm_vpair result = rm_vplus(kept, (rm_vpair){vf64_neg(q), vf64_neg(vf64_mul(left, r))});
  const vf64 err = vf64_mul(vf64_add(vf64_abs(kept.hi), vf64_abs(q)), vf64_set1(RM_QUOTIENT_ERR_F64));
  return rm_settle(result, err, err, fmt, y);
}

RM_FN uint32_t rm_adam_vector(const rm_optimizer *o, const rm_step_arrays *a, const int fmt, const int coupled,
                              const int largest, uint32_t live) {
  const rm_optimizer_constants *c = &o->constants;
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  const vf64 m = rm_load_elements(a->m, fmt), v = rm_load_elements(a->v, fmt);
  rm_step_vectors y;
  vf64 size;
  const rm_vpair d = rm_step_direction(o, p, g, coupled, &size);
  vm64 open = rm_step_average(o->beta1, m, c->keep1, d, coupled, size, fmt, &y.m);
  const int long_square = coupled || fmt == RM_F64; /* 48 bits of a binary32 number's square fit */
  rm_vpair square = rm_vone(vf64_mul(d.hi, d.hi));
  if (long_square) square = rm_vtimes(d, coupled, d, coupled);
  open = vm64_or(open, rm_step_average(o->beta2, v, c->keep2, square, long_square, vf64_mul(size, size), fmt, &y.v));
  y.w = y.v;
  if (largest) {
    const vf64 w = rm_load_elements(a->w, fmt);
    open = vm64_or(open, vf64_unord(w, w));
    y.w = vf64_max(w, y.v);
  }
  const vf64 s = largest ? y.w : y.v;
  open = vm64_or(open, vf64_lt(s, vf64_set1(0.0)));
  if (fmt == RM_F64) {
    open = vm64_or(open,
                   vm64_or(vm64_or(rm_step_outside(p), rm_step_outside(g)), vm64_or(rm_step_outside(m), rm_step_outside(v))));
    open = vm64_or(open, vm64_or(rm_step_outside(y.m), rm_step_outside(s)));
  }
  open = vm64_or(open, rm_step_quotient(c, p, y.m, s, fmt, &y.p));
  return rm_finish_step(o, a, &y, vm64_bits(open) & live, fmt);
}

/* Lines of the cache that come a few vectors later: the five arrays are more than a prefetcher follows while a vector is
 * computed. */
RM_FN void rm_step_fetch(const rm_step_arrays *a) {
  enum { AHEAD = 1024 }; /* bytes */
  __builtin_prefetch(a->p + AHEAD, 1);
  __builtin_prefetch(a->g + AHEAD, 0);
  if (a->m) __builtin_prefetch(a->m + AHEAD, 1);
  if (a->v) __builtin_prefetch(a->v + AHEAD, 1);
  if (a->w) __builtin_prefetch(a->w + AHEAD, 1);
}

/* Elements [begin, end): vectors, and the rest in padded ones. */
#define RM_STEP_LOOP(vector)                                                                                                 \
  RM_FN uint32_t RM_CAT(vector, _loop)(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt, const int coupled,  \
                                       const int mode) {                                                                     \
    const int size = rm_size_of(fmt);                                                                                        \
    uint32_t flags = 0;                                                                                                      \
    int64_t i = begin;                                                                                                       \
    for (; i + RM_LANES <= end; i += RM_LANES) {                                                                             \
      const rm_step_arrays a = {o->p + i * size, o->m ? o->m + i * size : 0, o->v ? o->v + i * size : 0,                     \
                                o->w ? o->w + i * size : 0, o->g + i * size};                                                \
      rm_step_fetch(&a);                                                                                                     \
      flags |= vector(o, &a, fmt, coupled, mode, (1u << RM_LANES) - 1);                                                      \
    }                                                                                                                        \
    if (i == end) return flags;                                                                                              \
    char rest[5][8 * RM_LANES] = {{0}};                                                                                      \
    const rm_step_arrays a = {rest[0], o->m ? rest[1] : 0, o->v ? rest[2] : 0, o->w ? rest[3] : 0, rest[4]};                 \
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
RM_DEFINE_STEPS(f64, RM_F64)
#undef RM_DEFINE_STEPS

#endif
