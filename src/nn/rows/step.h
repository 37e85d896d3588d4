/* The vector operations of the loops over rows of binary64 (rows/loops.h, src/cuda/row_loops.h), and the proofs of their
 * accuracy, which kernels.h states. It is also device code.
 *
 * Exponentials: rm_exp_sixteenths with |c x| <= 2^12, twice its domain. Its error budget (crlibm/exp/exp_b64.h) with the two
 * terms that grow with |c x| doubled is 2^-46.66 + 2^-46.52 + 2^-46.62 + 2^-51 < 2^-44.9; x - shift, below 2^8 in magnitude,
 * is rounded by at most 2^-46: together below RM_ROW_EXP_ERR.
 * Sums: a block of RM_ROW_CHAIN vectors for each of four accumulators, two joining additions, then blocks by two-sums: a
 * relative (32 + 2) 2^-53 (1 + 2^-40) and, of the compensated sum, less than 2^-80 for n below 2^40. For exponentials 2^-44 +
 * 2^-47.9 < RM_ROW_SUM_ERR; for moments, where x - shift and products round by at most 5 2^-53 more, (34 + 5) 2^-53 (1 +
 * 2^-30) < RM_ROW_MOMENT_ERR. */
#pragma once

#include "../../../crlibm/exp/exp_b64.h"
#include "../../../crlibm/simd/machine.h"
#include "../../common/elements.h"
#include "kernels.h"

enum { RM_ROW_CHAIN = 32, RM_ROW_BLOCK = 4 * RM_ROW_CHAIN * RM_LANES };

/* A running sum, to which blocks are added. */
typedef struct {
  vf64 hi, lo;
} rm_row_sum;
RM_FN void rm_row_join(rm_row_sum *sum, const vf64 *part) {
  vf64 e;
  sum->hi = vf64_two_sum(sum->hi, vf64_add(vf64_add(part[0], part[1]), vf64_add(part[2], part[3])), &e);
  sum->lo = vf64_add(sum->lo, e);
}
RM_FN double rm_row_total(const rm_row_sum *sum) {
  double h[RM_LANES], l[RM_LANES], hi = 0.0, lo = 0.0;
  vf64_store(h, sum->hi);
  vf64_store(l, sum->lo);
  for (int k = 0; k < RM_LANES; k++) {
    double e;
    hi = rm_two_sum(hi, h[k], &e);
    lo += e + l[k];
  }
  return hi + lo;
}

/* The same of n elements, which are often few: those of half a block are one part, whose lanes are added in a tree. Its
 * chains are half as long, so that the tree's additions, four at most, are within the bounds. */
RM_FN double rm_row_total_of(const rm_row_sum *sum, int64_t n) {
  double h[RM_LANES];
  if (n > RM_ROW_BLOCK / 2) return rm_row_total(sum);
  vf64_store(h, sum->hi);
  for (int half = RM_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) h[k] += h[k + half];
  return h[0];
}

/* e^x for RM_ROW_EXP_MIN <= x <= RM_ROW_EXP_MAX, else 0 below and for NaN. */
RM_FN vf64 rm_row_exp(vf64 x) {
  const vm64 within = vf64_le(vf64_set1(RM_ROW_EXP_MIN), x);
  return vf64_select(within, rm_exp_sixteenths(x, RM_EXP_INV_STEP), vf64_set1(0.0));
}

/* Adds t = g (x - c) a to sum, and |t| rel + |g| err to bound. */
RM_FN void rm_row_column(vf64 g, vf64 x, vf64 c, vf64 a, vf64 rel, vf64 err, vf64 *sum, vf64 *bound) {
  const vf64 t = vf64_mul(g, vf64_mul(vf64_sub(x, c), a));
  *sum = vf64_add(*sum, t);
  *bound = vf64_mad(vf64_abs(t), rel, vf64_mad(vf64_abs(g), err, *bound));
}

/* The value of an operation at i and a bound of its error, which includes 2^-52 of the value for Ziv's rounding test. u is
 * 2^-53.
 *   SCALED    rel of the value: that of u, of a, one rounding, and 2^-52; err: what u a may be where u counts as 0
 *   SHIFTED   err: that of a. u - c and the value are rounded, each within u of it: 2^-51 of each covers this and the test
 *   WEIGHTED  err: that of a. u - a and the product are rounded: |v| (|u - a| 2^-50 + err)
 *   LESS_EXP  rel of e^v a; 2^-51 of the value. e^-inf is nothing. Nothing is known of v that is NaN or above RM_ROW_EXP_MAX.
 *             Below RM_ROW_EXP_MIN 2^-245 stands for e^v, within slope of it, while e^v a may be anything from 0 to 2^-245 a.
 *             With slope < 1 the sign is known, and values nearer to u than the interval, whose ends are t (1 - slope) >= t
 *             2^-18 and t (1 + slope) below it, round as both ends do where these agree: a rounding interval beside that of u
 *             is less than 2^-7 of its distance from 0 wide, too short for both, unless both round to 0 or to u
 *   DIFFERENCE |u a| rel + |v| slope + err: each includes d, the roundings, and 2^-52 of the value
 *   AFFINE    rel of (u - c) a, err: that of c times a: |w| (|(u - c) a| rel + err) + 2^-51 of the value; rel includes the
 *             roundings
 *   CENTERED  |u - c| rel + |v - d| slope + err: each includes a, the roundings, and 2^-52 of the value */
RM_FN vf64 rm_row_value_of(const int op, const rm_row_store *s, vf64 u, int64_t i, vf64 *err) {
  const vf64 a = vf64_set1(s->a);
  vf64 y, t;
  switch (op) {
    case RM_ROW_SCALED_RAW:
    case RM_ROW_SCALED:
      y = vf64_mul(u, a);
      *err = vf64_mad(vf64_abs(y), vf64_set1(s->rel), vf64_set1(s->err));
      return y;
    case RM_ROW_SHIFTED:
      t = vf64_sub(u, vf64_set1(s->c));
      y = vf64_sub(t, a);
      *err = vf64_mad(vf64_add(vf64_abs(t), vf64_abs(y)), vf64_set1(0x1p-51), vf64_set1(s->err));
      return y;
    case RM_ROW_WEIGHTED:
      t = vf64_sub(u, a);
      y = vf64_load(s->v + i);
      *err = vf64_mul(vf64_abs(y), vf64_mad(vf64_abs(t), vf64_set1(0x1p-50), vf64_set1(s->err)));
      return vf64_mul(y, t);
    case RM_ROW_LESS_EXP: {
      const vf64 v = vf64_load(s->v + i), min = vf64_set1(RM_ROW_EXP_MIN), e = rm_row_exp(v);
      const vm64 below = vf64_lt(v, min), nothing = vf64_lt(v, vf64_set1(-0x1.fffffffffffffp1023));
      t = vf64_mul(vf64_select(nothing, vf64_set1(0.0), vf64_select(below, vf64_set1(0x1p-245), e)), a);
      y = vf64_sub(u, t);
      *err = vf64_mad(vf64_abs(t), vf64_select(below, vf64_set1(s->slope), vf64_set1(s->rel)),
                      vf64_mul(vf64_abs(y), vf64_set1(0x1p-51)));
      *err = vf64_select(vf64_le(v, vf64_set1(RM_ROW_EXP_MAX)), *err, vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52)));
      return y;
    }
    case RM_ROW_DIFFERENCE: {
      const vf64 v = vf64_load(s->v + i);
      t = vf64_mul(u, a);
      y = vf64_mul(vf64_sub(t, v), vf64_set1(s->d));
      *err = vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_mad(vf64_abs(v), vf64_set1(s->slope), vf64_set1(s->err)));
      return y;
    }
    case RM_ROW_AFFINE: {
      const vf64 w = vf64_load(s->w + i);
      t = vf64_mul(vf64_sub(u, vf64_set1(s->c)), a);
      y = vf64_mad(t, w, vf64_load(s->b + i));
      *err = vf64_mad(vf64_abs(w), vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_set1(s->err)),
                      vf64_mul(vf64_abs(y), vf64_set1(0x1p-51)));
      return y;
    }
    case RM_ROW_AFFINE_RAW:
    case RM_ROW_AFFINE_SAME: {
      const vf64 w = vf64_set1(s->w0);
      t = vf64_mul(vf64_sub(u, vf64_set1(s->c)), a);
      y = vf64_mad(t, w, vf64_set1(s->b0));
      *err = vf64_mad(vf64_abs(w), vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_set1(s->err)),
                      vf64_mul(vf64_abs(y), vf64_set1(0x1p-51)));
      return y;
    }
    case RM_ROW_GIVEN: *err = vf64_load(s->v + i); return u;
    default: {
      const vf64 g = vf64_sub(u, vf64_set1(s->c));
      t = vf64_sub(vf64_load(s->v + i), vf64_set1(s->d));
      y = vf64_mul(vf64_sub(g, vf64_mul(t, vf64_set1(s->b0))), a);
      *err = vf64_mad(vf64_abs(g), vf64_set1(s->rel), vf64_mad(vf64_abs(t), vf64_set1(s->slope), vf64_set1(s->err)));
      return y;
    }
  }
}

RM_FN vf64 rm_row_value(const int op, const rm_row_store *s, int64_t i, vf64 *err) {
  return rm_row_value_of(op, s, vf64_load(s->u + i), i, err);
}

/* u at i, and 0 beyond the last one. */
RM_FN vf64 rm_row_argument(const int op, const int fmt, const rm_row_store *s, int64_t i) {
  if (op != RM_ROW_SCALED_RAW && op != RM_ROW_AFFINE_RAW) return vf64_load(s->u + i);
  const char *from = s->raw + i * rm_size_of(fmt);
  if (RM_LANES == 1 || i + RM_LANES <= s->n) return rm_load_elements(from, fmt);
  char tail[8 * RM_LANES] = {0};
  __builtin_memcpy(tail, from, (size_t)(s->n - i) * (size_t)rm_size_of(fmt));
  return rm_load_elements(tail, fmt);
}

RM_FN void rm_row_put(vf64 y, const int fmt, void *out, int64_t i, int64_t n) {
  unsigned char tail[8 * RM_LANES];
  char *at = (char *)out + i * rm_size_of(fmt);
  const int whole = RM_LANES == 1 || i + RM_LANES <= n;
  void *to = whole ? (void *)at : (void *)tail;
  switch (fmt) {
    case RM_F16: vf64_store_f16((uint16_t *)to, y); break;
    case RM_BF16: vf64_store_bf16((uint16_t *)to, y); break;
    default: vf64_store_f32((float *)to, y);
  }
  if (!whole) __builtin_memcpy(at, tail, (size_t)(n - i) * (size_t)rm_size_of(fmt));
}

/* LESS_EXP where no lane of v is beyond the domain of the exponential: what rm_row_value_of has there, without
 * its selections. Returns 0 where one is. */
RM_FN int rm_row_less_plain_exp(const rm_row_store *s, vf64 u, int64_t i, vf64 *y, vf64 *err) {
  const vf64 v = vf64_load(s->v + i);
  if (!vm64_none(vm64_not(vf64_le(vf64_abs(v), vf64_set1(RM_ROW_EXP_MAX))))) return 0;
  const vf64 t = vf64_mul(rm_exp_sixteenths(v, RM_EXP_INV_STEP), vf64_set1(s->a));
  *y = vf64_sub(u, t);
  *err = vf64_mad(vf64_abs(t), vf64_set1(s->rel), vf64_mul(vf64_abs(*y), vf64_set1(0x1p-51)));
  return 1;
}

/* The value at i, within err, and the lanes in which its rounding is undecided or not finite. An exact zero is +0. A value
 * whose sign the bound does not determine is undecided even where both roundings are zeros. */
RM_FN void rm_row_bounded(const int op, const rm_row_store *s, vf64 u, int64_t i, vf64 *y, vf64 *err) {
  if (RM_DEVICE || op != RM_ROW_LESS_EXP || !rm_row_less_plain_exp(s, u, i, y, err)) *y = rm_row_value_of(op, s, u, i, err);
  *y = vf64_add(*y, vf64_set1(0.0));
  *err = vf64_mul(*err, vf64_set1(RM_BOUND(1.0)));
}
RM_FN vm64 rm_row_doubt(vf64 y, vf64 err, const int fmt) {
  return vm64_or(vm64_or(vf64_undecided_within(y, err, fmt), vf64_overflows(y, fmt)), vf64_lt(vf64_abs(y), err));
}
RM_FN vm64 rm_row_test(const int op, const int fmt, const rm_row_store *s, int64_t i, vf64 *y, vf64 *err) {
  rm_row_bounded(op, s, rm_row_argument(op, fmt, s, i), i, y, err);
  return rm_row_doubt(*y, *err, fmt);
}

#if !RM_DEVICE
/* Whether a test of half as many operations decides all lanes in binary32, as rm_row_doubt would: the bound is below 2^-38
 * of a normal number y, which is not that near to a midpoint. */
RM_FN int rm_row_is_clear(vf64 y, vf64 err) {
  const vf64 size = vf64_abs(y);
  const vi64 above = vi64_sub(vf64_bits(size), vi64_set1((INT64_C(1023) - 126) << 52));
  const vm64 normal = vi64_ltu(above, vi64_set1(INT64_C(253) << 52));
  const vm64 clear = vm64_and(normal, vf64_le(err, vf64_mul(size, vf64_set1(0x1p-38))));
  return vm64_none(vm64_or(vf64_undecided_f32(y, 0x1p-38), vm64_not(clear)));
}

/* Lanes whose results are known since an operand is infinite or NaN; *y becomes the NaN of results where they are NaN.
 *   AFFINE    u is infinite or NaN, and so is the value: means and roots that are given stand beside such elements. An
 *             infinite one may meet a weight of 0, or an infinite b, and stays in doubt
 *   SHIFTED   u is -infinity, and so is the value: the logarithm of a probability of 0. Finite numbers have no such value
 *   LESS_EXP  v is NaN */
RM_FN vm64 rm_row_not_finite(const int op, const rm_row_store *s, vf64 u, int64_t i, vf64 *y) {
  if (op == RM_ROW_SHIFTED) return vf64_eq(*y, vf64_from_bits(vi64_set1(INT64_C(0xfff) << 52)));
  if (op == RM_ROW_LESS_EXP) u = vf64_load(s->v + i);
  const vf64 rest = vf64_sub(u, u);
  const vm64 nan = vf64_unord(u, u), definite = vm64_not(vf64_unord(*y, *y));
  *y = vf64_select(nan, vf64_from_bits(vi64_set1(INT64_C(0x7ff8) << 48)), *y);
  return op == RM_ROW_LESS_EXP ? nan : vm64_and(vf64_unord(rest, rest), vm64_or(nan, definite));
}
#endif

/* The vector test leaves about 2^-10 of all numbers undecided in a 16-bit format (simd/undecided.h). This one uses the bound
 * as it is. */
RM_COLD int rm_row_decide(double y, double err, int fmt, uint64_t *bits) {
  uint32_t flags = 0;
  int undecided;
  if (!(rm_is_finite(y) && err <= 0x1p-9 * __builtin_fabs(y) && y != 0.0)) return 0;
  *bits = rm_round_dd(y, 0.0, err, 0, fmt, RM_NEAREST, &flags, &undecided);
  return !undecided && flags == 0;
}
