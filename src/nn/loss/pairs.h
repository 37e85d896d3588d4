/* Regression losses of contiguous arrays below binary64, and their gradients in binary32, in one pass over the elements.
 *
 * A sum has terms that are not negative, each within 4 u of its value, u = 2^-53 (loss/step.h; b is infinite or between
 * 2^-200 and 2^200, so that nothing underflows), and RM_PAIR_BLOCK of them are added, in any order, within 1,024 u of their
 * sum: RM_PAIR_SUM_ERR of it.
 *
 * A gradient is d c, with c the scale times g, which is one number: d and the product are off by u each, and c by 2 u, of
 * which one is the scale's second part. The test's ends are d c (1 -+ 8 u), with roundings of u: RM_PAIR_ERR. Where c is a
 * power of two, d is rounded to odd instead, and the product is exact. Brought between -b and b, it is so still: b is a
 * number of binary64. A zero is +0. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "../../common/elements.h"
#include "../../reduce/superaccumulator.h"
#include "kernels.h"

#define RM_PAIR_ERR RM_BOUND(0x1p-50)

RM_FN vf64 rm_pair_add_term(const rm_term_kind kind, const int bounded, vf64 b, vf64 d, vf64 sum) {
  const vf64 a = vf64_abs(d);
  if (kind == RM_TERM_ABSOLUTE) return vf64_add(sum, a);
  if (!bounded) return vf64_mad(d, d, sum);
  const vf64 outside = vf64_mul(b, vf64_sub(vf64_add(a, a), b));
  return vf64_add(sum, vf64_select(vf64_lt(a, b), vf64_mul(d, d), outside));
}

RM_FN double rm_pair_sum_as(const rm_pair_run *p, const rm_term_kind kind, const int bounded, const int fmt) {
  enum { WIDE = 4 };
  const int size = rm_size_of(fmt);
  const vf64 b = vf64_set1(p->b), zero = vf64_set1(0.0);
  vf64 sum[WIDE] = {zero, zero, zero, zero};
  char rest[2][8 * WIDE * RM_LANES] = {{0}};
  for (int64_t i = 0; i < p->n; i += WIDE * RM_LANES) {
    const char *x = p->x + i * size, *y = p->y + i * size;
    if (RM_UNLIKELY(p->n - i < WIDE * RM_LANES)) { /* zeros add nothing */
      __builtin_memcpy(rest[0], x, (size_t)(p->n - i) * (size_t)size);
      __builtin_memcpy(rest[1], y, (size_t)(p->n - i) * (size_t)size);
      x = rest[0], y = rest[1];
    }
    RM_UNROLL for (int k = 0; k < WIDE; k++) {
      const ptrdiff_t at = (ptrdiff_t)k * RM_LANES * size;
      const vf64 d = vf64_sub(rm_load_elements(x + at, fmt), rm_load_elements(y + at, fmt));
      sum[k] = rm_pair_add_term(kind, bounded, b, d, sum[k]);
    }
  }
  double lanes[RM_LANES], total = 0.0;
  vf64_store(lanes, vf64_add(vf64_add(sum[0], sum[1]), vf64_add(sum[2], sum[3])));
  for (int k = 0; k < RM_LANES; k++) total += lanes[k];
  return total;
}

RM_FN double rm_pair_sum_of(const rm_pair_run *p, const int fmt) {
  if (p->kind == RM_TERM_ABSOLUTE) return rm_pair_sum_as(p, RM_TERM_ABSOLUTE, 0, fmt);
  return rm_is_finite(p->b) ? rm_pair_sum_as(p, RM_TERM_SQUARE, 1, fmt) : rm_pair_sum_as(p, RM_TERM_SQUARE, 0, fmt);
}
static double rm_pair_sum(const rm_pair_run *p) {
  switch (p->format) {
    case RM_F16: return rm_pair_sum_of(p, RM_F16);
    case RM_BF16: return rm_pair_sum_of(p, RM_BF16);
    default: return rm_pair_sum_of(p, RM_F32);
  }
}

/* What is not finite among the differences: of numbers of the format they are finite in binary64. */
RM_FN uint32_t rm_pair_classes_of(const rm_pair_run *p, const int fmt) {
  enum { WIDE = 4 };
  const int size = rm_size_of(fmt);
  const vf64 zero = vf64_set1(0.0);
  const vm64 none = vf64_lt(zero, zero);
  vm64 nan = none, one = none, same = none;
  uint32_t signalling = 0;
  char rest[2][8 * WIDE * RM_LANES] = {{0}};
  for (int64_t i = 0; i < p->n; i += WIDE * RM_LANES) {
    const char *x = p->x + i * size, *y = p->y + i * size;
    vm64 here = none;
    if (RM_UNLIKELY(p->n - i < WIDE * RM_LANES)) {
      __builtin_memcpy(rest[0], x, (size_t)(p->n - i) * (size_t)size);
      __builtin_memcpy(rest[1], y, (size_t)(p->n - i) * (size_t)size);
      x = rest[0], y = rest[1];
    }
    RM_UNROLL for (int k = 0; k < WIDE; k++) {
      const ptrdiff_t at = (ptrdiff_t)k * RM_LANES * size;
      const vf64 u = rm_load_elements(x + at, fmt), v = rm_load_elements(y + at, fmt), d = vf64_sub(u, v);
      const vm64 given = vf64_unord(u, v);
      here = vm64_or(here, given);
      one = vm64_or(one, vf64_is_infinite(d));
      same = vm64_or(same, vm64_andnot(vf64_unord(d, d), given));
    }
    nan = vm64_or(nan, here);
    if (RM_UNLIKELY(!vm64_none(here)))
      signalling |= (uint32_t)(rm_any_signalling(x, WIDE * RM_LANES, fmt) | rm_any_signalling(y, WIDE * RM_LANES, fmt));
  }
  return (vm64_none(nan) ? 0u : RM_ACC_QNAN) | (signalling ? RM_ACC_SNAN : 0u) | (vm64_none(one) ? 0u : RM_ACC_PINF) |
         (vm64_none(same) ? 0u : RM_ACC_PINF | RM_ACC_NINF);
}
static uint32_t rm_pair_classes(const rm_pair_run *p) {
  switch (p->format) {
    case RM_F16: return rm_pair_classes_of(p, RM_F16);
    case RM_BF16: return rm_pair_classes_of(p, RM_BF16);
    default: return rm_pair_classes_of(p, RM_F32);
  }
}

RM_FN int64_t rm_pair_gradient_as(const rm_pair_run *p, char *out, int64_t *index, const int exact) {
  const vf64 b = vf64_set1(p->b), least = vf64_set1(-p->b), c = vf64_set1(p->c), zero = vf64_set1(0.0);
  const vf64 below = vf64_set1(1.0 - RM_PAIR_ERR), above = vf64_set1(1.0 + RM_PAIR_ERR);
  int64_t count = 0;
  char rest[2][4 * RM_LANES] = {{0}};
  for (int64_t i = 0; i < p->n; i += RM_LANES) {
    const char *at_x = p->x + i * 4, *at_y = p->y + i * 4;
    const int64_t left = p->n - i;
    float r[RM_LANES];
    if (RM_UNLIKELY(left < RM_LANES)) {
      __builtin_memcpy(rest[0], at_x, (size_t)left * 4);
      __builtin_memcpy(rest[1], at_y, (size_t)left * 4);
      at_x = rest[0], at_y = rest[1];
    }
    const vf64 x = rm_load_elements(at_x, RM_F32), y = rm_load_elements(at_y, RM_F32);
    vf64 e, d = exact ? vf64_two_sum(x, vf64_neg(y), &e) : vf64_sub(x, y);
    if (exact) d = vf64_select(vf64_eq(e, e), vf64_to_odd(d, e), d); /* the rest of an infinity is a NaN */
    d = vf64_select(vf64_lt(b, d), b, vf64_select(vf64_lt(d, least), least, d));
    const vf64 v = vf64_add(vf64_mul(d, c), zero);
    uint32_t open =
        exact ? vf64_store_between_f32(r, v, v) : vf64_store_between_f32(r, vf64_mul(v, below), vf64_mul(v, above));
    if (RM_UNLIKELY(open != 0)) {
      /* Of one infinity, as beside a mask, the result is one too. */
      const vm64 ends = vm64_and(vf64_is_infinite(v), vm64_or(vf64_is_infinite(x), vf64_is_infinite(y)));
      open &= ~vm64_bits(ends);
      const uint32_t nan = vm64_bits(vf64_unord(x, y)), canonical = 0x7fc00000;
      if (nan && p->c == p->c && !rm_any_signalling(at_x, RM_LANES, RM_F32) && !rm_any_signalling(at_y, RM_LANES, RM_F32)) {
        open &= ~nan;
        for (int k = 0; k < RM_LANES; k++)
          if (nan >> k & 1) __builtin_memcpy(r + k, &canonical, sizeof *r);
      }
      for (int k = 0; k < RM_LANES && k < left; k++)
        if (open >> k & 1) index[count++] = i + k;
    }
    __builtin_memcpy(out + i * 4, r, left < RM_LANES ? (size_t)left * 4 : sizeof r);
  }
  return count;
}
static int64_t rm_pair_gradient(const rm_pair_run *p, char *out, int64_t *index) {
  return p->exact ? rm_pair_gradient_as(p, out, index, 1) : rm_pair_gradient_as(p, out, index, 0);
}
