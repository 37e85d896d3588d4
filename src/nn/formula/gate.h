/* Halves of which one gates the other: RN(a s), s = 1/(1 + exp(-b)), and its two gradients RN(g s) and RN(g a s (1 -
 * s)), in formats below binary64. One evaluation of s serves both.
 *
 * Factors. g a is exact: numbers of the format have at most 24 bits and are 0 or between 2^-149 and 2^128, so that
 * products are below 2^256 and multiples of 2^-298. The bounds of sigmoid_product_b64.h hold for any factor, with one
 * reservation: |b| is cut to 200, where the value is below 2^-288 of the factor. A factor below 2^128 then makes a
 * zero, as the value does; the accurate phase takes what has a larger one.
 *
 * For |b| <= 2^-22 in f32 the value is a/2 + a b/4 less a part b^2/12 < 2^-47.5 of the second term, up to b^5. The
 * sum lies on a grid of ulp(a) ulp(b)/4 >= 2^-46 |a b|/4, whose multiples all boundaries of rounding are (a unit in
 * the last place of the result is at least ulp(a)/4, ulp(b) <= 2^-45): between the sum and the value there is none.
 * So the second term times 1 - 2^-50 gives a sum on the same side of all; it is rounded to odd in binary64, which
 * rounds to the format as the sum does (known.h). For |b| <= 2^-24 the second gradient is p/4 less a part b^2/4 <=
 * 2^-50 of it, p = g a with at most 48 bits, whose multiples of a last place include all boundaries: it is the number
 * of binary64 before p/4, which is odd, or p/4 where b is 0. */
#pragma once

#include "../../../crlibm/simd/fast_phase.h"
#include "../../../crlibm/sigmoid/sigmoid_product_b64.h"
#include "../../common/elements.h"
#include "../../elementwise/accurate.h"
#include "args.h"

typedef struct {
  vf64 a, b, g; /* g: what is received, else a */
  vf64 y[2];
  vm64 undecided[2];
} rm_gate_lanes;

/* Takes g = 1 where the value itself is asked for. */
RM_FN void rm_gate_evaluate(rm_gate_lanes *l, const int gradient, const int fmt) {
  const vf64 most = vf64_set1(0x1p128);
  vf64 z;
  const vf64 s = rm_sigmoid_parts(rm_sigmoid_cut(l->b), RM_SIGMOID_SCALE, &z);
  l->y[0] = vf64_mul(l->g, s);
  l->undecided[0] = vm64_or(vf64_undecided_any(l->y[0], RM_SIGMOID_VALUE_B64_ERR, fmt), vf64_overflows(l->y[0], fmt));
  if (!gradient) return;
  const vf64 p = vf64_mul(l->g, l->a);
  l->y[1] = vf64_mul(vf64_mul(p, s), vf64_mul(z, s));
  l->undecided[1] = vm64_or(vm64_or(vf64_undecided_any(l->y[1], RM_SIGMOID_SLOPE_B64_ERR, fmt), vf64_overflows(l->y[1], fmt)),
                            vm64_not(vf64_lt(vf64_abs(p), most)));
}

/* What follows from signs and infinities, or lies beside a number, of the lanes that are undecided: a factor f of the sigmoid
 * of b, or of its slope. Returns the lanes that are left; *invalid: those with a NaN of their own. */
RM_FN vm64 rm_gate_known(vf64 f, vf64 b, vm64 given, int slope, int fmt, vm64 undecided, vf64 *y, vm64 *invalid) {
  const vf64 zero = vf64_set1(0.0), infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vf64 size = vf64_abs(b);
  const vm64 none = vm64_or(given, vf64_unord(f, f));
  const vm64 far = vf64_eq(vf64_abs(f), infinity);
  const vm64 vanishes = slope ? vf64_eq(size, infinity) : vf64_eq(b, vf64_neg(infinity));
  const vm64 own = vm64_andnot(vm64_or(none, vm64_and(far, vanishes)), given);
  const vm64 nan = vm64_and(undecided, vm64_or(none, vm64_and(far, vanishes)));
  *invalid = vm64_and(undecided, own);
  *y = vf64_select(far, f, *y);
  *y = vf64_select(nan, vf64_nan(), *y);
  vm64 known = vm64_or(nan, far);
  if (fmt == RM_F32) { /* 16 bits are stored through binary32, which would round a number to odd twice */
    const vm64 near = vm64_and(undecided, vm64_andnot(vf64_le(size, vf64_set1(slope ? 0x1p-24 : 0x1p-22)), known));
    vf64 sum, rest;
    if (slope) {
      sum = vf64_mul(f, vf64_set1(0.25));
      rest = vf64_select(vf64_eq(b, zero), zero, vf64_neg(sum));
    } else {
      const vf64 half = vf64_mul(f, vf64_set1(0.5));
      rest = vf64_mul(vf64_mul(f, b), vf64_set1(0.25 * (1.0 - 0x1p-50)));
      sum = vf64_add(half, rest);
      rest = vf64_sub(rest, vf64_sub(sum, half)); /* exact: |half| is the larger (Dekker) */
    }
    /* To odd: toward `rest` where the sum is even and there is a rest. */
    const vi64 bits = vf64_bits(sum), one = vi64_set1(1);
    const vm64 grows = vf64_lt(zero, vf64_mul(vf64_copysign(vf64_set1(1.0), sum), vf64_copysign(vf64_set1(1.0), rest)));
    const vf64 moved = vf64_select(grows, vf64_from_bits(vi64_add(bits, one)), vf64_from_bits(vi64_sub(bits, one)));
    const vm64 stays = vm64_or(vf64_eq(rest, zero), vm64_not(vi64_disjoint(bits, one)));
    *y = vf64_select(near, vf64_select(stays, sum, moved), *y);
    known = vm64_or(known, vm64_andnot(near, vf64_overflows(*y, fmt)));
  }
  return vm64_andnot(undecided, known);
}

/* Stores the value (slope: 0) or the second gradient where lanes are undecided. */
RM_NOINLINE uint32_t rm_gate_redo(const rm_gate_lanes *l, int slope, int fmt, char *out) {
  const vf64 f = slope ? vf64_mul(l->g, l->a) : l->g;
  const vm64 nan_b = vf64_unord(l->b, l->b), nan_g = vf64_unord(l->g, l->g);
  const vm64 given = slope ? vm64_or(vm64_or(nan_b, nan_g), vf64_unord(l->a, l->a)) : vm64_or(nan_b, nan_g);
  vf64 y = l->y[slope];
  vm64 invalid;
  const vm64 rest = rm_gate_known(f, l->b, given, slope, fmt, l->undecided[slope], &y, &invalid);
  uint32_t flags = vm64_none(invalid) ? 0 : RM_FLAG_INVALID;
  rm_store_elements(out, y, fmt);
  double factors[RM_LANES], b[RM_LANES];
  vf64_store(factors, f), vf64_store(b, l->b);
  for (uint64_t left = vm64_bits(rest); left; left &= left - 1) {
    const int k = rm_ctz64(left);
    const double x[2] = {factors[k], b[k]};
    const uint64_t bits = slope ? rm_accurate_sigmoid_backward(x, fmt, RM_NEAREST, &flags)
                                : rm_accurate_softplus_backward(x, fmt, RM_NEAREST, &flags);
    rm_write_bits(out + k * rm_size_of(fmt), bits, fmt);
  }
  return flags;
}

/* RM_LANES elements. */
RM_FN uint32_t rm_gate_step(const char *g, const char *a, const char *b, char *const to[2], const int gradient,
                            const int fmt) {
  rm_gate_lanes l;
  uint32_t flags = 0;
  l.a = rm_load_elements(a, fmt), l.b = rm_load_elements(b, fmt);
  l.g = gradient ? rm_load_elements(g, fmt) : l.a;
  rm_gate_evaluate(&l, gradient, fmt);
  if (!vm64_none(gradient ? vm64_or(l.undecided[0], l.undecided[1]) : l.undecided[0])) {
    if (rm_any_signalling(a, RM_LANES, fmt) || rm_any_signalling(b, RM_LANES, fmt) ||
        (gradient && rm_any_signalling(g, RM_LANES, fmt)))
      flags |= RM_FLAG_INVALID;
    for (int k = 0; k <= gradient; k++) flags |= rm_gate_redo(&l, k, fmt, to[k]);
    return flags;
  }
  RM_UNROLL for (int k = 0; k <= gradient; k++) rm_store_elements(to[k], l.y[k], fmt);
  return 0;
}

RM_FN uint32_t rm_gate_as(const rm_gate_problem *p, int64_t begin, int64_t end, const int gradient, const int fmt) {
  enum { SIZE = RM_LANES * 4 };
  const int size = rm_size_of(fmt);
  const ptrdiff_t half = (ptrdiff_t)p->n * size;
  uint32_t flags = 0;
  for (int64_t i = begin; i < end;) {
    const int64_t row = i / p->n, from = i % p->n, last = p->n - from < end - i ? p->n : from + (end - i);
    const char *const a = p->x + 2 * row * half, *const g = gradient ? p->g + row * half : NULL;
    char *const out = p->out + (gradient ? 2 : 1) * row * half;
    int64_t j = from;
    for (; j + RM_LANES <= last; j += RM_LANES) {
      const ptrdiff_t at = (ptrdiff_t)j * size;
      char *const to[2] = {out + at, out + half + at};
      flags |= rm_gate_step(gradient ? g + at : NULL, a + at, a + half + at, to, gradient, fmt);
    }
    if (j < last) { /* the rest with zeros behind it */
      const ptrdiff_t at = (ptrdiff_t)j * size;
      const size_t bytes = (size_t)((last - j) * size);
      char in[3][SIZE] = {{0}}, made[2][SIZE];
      char *const to[2] = {made[0], made[1]};
      __builtin_memcpy(in[0], a + at, bytes);
      __builtin_memcpy(in[1], a + half + at, bytes);
      if (gradient) __builtin_memcpy(in[2], g + at, bytes);
      flags |= rm_gate_step(in[2], in[0], in[1], to, gradient, fmt);
      __builtin_memcpy(out + at, made[0], bytes);
      if (gradient) __builtin_memcpy(out + half + at, made[1], bytes);
    }
    i += last - from;
  }
  return flags;
}

static uint32_t rm_gate(const rm_gate_problem *p, int64_t begin, int64_t end) {
  switch (p->format) {
    case RM_F16: return p->g ? rm_gate_as(p, begin, end, 1, RM_F16) : rm_gate_as(p, begin, end, 0, RM_F16);
    case RM_BF16: return p->g ? rm_gate_as(p, begin, end, 1, RM_BF16) : rm_gate_as(p, begin, end, 0, RM_BF16);
    default: return p->g ? rm_gate_as(p, begin, end, 1, RM_F32) : rm_gate_as(p, begin, end, 0, RM_F32);
  }
}
