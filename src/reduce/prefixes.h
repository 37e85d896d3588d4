/* Running sums: every element is RN of the exact sum up to it. It is also device code.
 *
 * A running sum h + l: h' = RN(h + x), l' = RN(l + e) with e the exact error of the first addition (two-sum), and b, the sum
 * of the magnitudes of the exact errors of the second. Then |h + l - S| <= b exactly, and a b of zero says that h + l is S,
 * as it is for most data of the formats below binary64. b itself is rounded n times at most, upwards or downwards by a
 * relative n 2^-53: 1.01 covers n below 2^46. Elements that this does not decide are taken from an accumulator, which is fed
 * up to them and no further. */
#pragma once

#include <string.h>

#include "../common/elements.h"
#include "sum.h"

/* Terms at a time. A device has them in the local memory of a thread. */
enum { RM_PREFIX_BLOCK = RM_DEVICE ? 8 : 64 };

typedef struct {
  double h, l, b;
} rm_prefix;

RM_FN void rm_prefix_load(double *v, const rm_sum_problem *p, int64_t i, int count, const int fmt) {
  const char *at = p->x.base + i * p->x.stride;
  for (int k = 0; k < count; k++, at += p->x.stride) v[k] = rm_read_element(at, fmt);
}

/* The running sums of a block, and the bound of all of them. */
RM_STATIC void rm_prefix_advance(rm_prefix *r, const double *v, int count, double *h, double *l) {
  double e[RM_PREFIX_BLOCK], low[RM_PREFIX_BLOCK + 1], sum = r->h;
  low[0] = r->l;
  for (int k = 0; k < count; k++) { /* two chains of one addition an element, side by side */
    h[k] = sum = rm_two_sum(sum, v[k], e + k);
    low[k + 1] = low[k] + e[k];
  }
  for (int k = 0; k < count; k++) {
    const double t = low[k + 1] - low[k];
    e[k] = __builtin_fabs((low[k] - (low[k + 1] - t)) + (e[k] - t));
    l[k] = low[k + 1];
  }
  double part[4] = {0.0, 0.0, 0.0, 0.0};
  for (int k = count; k < RM_PREFIX_BLOCK; k++) e[k] = 0.0;
  for (int k = 0; k < RM_PREFIX_BLOCK; k += 4)
    for (int j = 0; j < 4; j++) part[j] += e[k + j];
  const double bound = (part[0] + part[1]) + (part[2] + part[3]);
  *r = (rm_prefix){sum, low[count], r->b + bound};
}

#define RM_PREFIX_BOUND RM_BOUND(1.01)

/* RN(h + l) within b of the sum; 0 when that does not decide. The ends of an interval that holds the sum round alike: to a
 * format below binary32 they go by way of binary32, which is monotone, in an interval that is wider by more than its
 * roundings. */
RM_FN int rm_prefix_decide(double h, double l, double b, const int fmt, uint64_t *bits) {
  const double err = RM_PREFIX_BOUND * b;
  if (fmt == RM_F64) {
    const double e = b == 0.0 ? 0.0 : err + 0x1p-52 * __builtin_fabs(l); /* l - e and l + e are rounded */
    const double low = h + (l - e), high = h + (l + e);
    *bits = rm_bits64(low);
    return (*bits == rm_bits64(high)) & rm_is_finite(low);
  }
  const double s = h + l, size = __builtin_fabs(s);
  const double e = err + (fmt == RM_F32 ? 0x1p-51 * size : 0x1p-22 * size + 0x1p-147);
  const float low = (float)(s - e), high = (float)(s + e);
  if (fmt == RM_F32) {
    *bits = rm_bits32(low);
    return (*bits == rm_bits32(high)) & rm_is_finite_f32(low);
  }
  *bits = fmt == RM_F16 ? rm_f32_to_f16(low) : rm_f32_to_bf16(low);
  return *bits == (fmt == RM_F16 ? rm_f32_to_f16(high) : rm_f32_to_bf16(high)) && (*bits & 0x7fff) < rm_infinity_bits(fmt);
}

/* rm_prefix_decide for a whole block, 0 when an element is undecided; loops that compilers turn into vectors. A difference of
 * 0 rules out what is not finite, and zeros of two signs are left to that function (for binary64 there are none: h is never
 * -0). */
RM_FN int rm_prefix_decide_block(const double *h, const double *l, double b, int count, const int fmt, uint64_t *bits) {
  const double err = RM_PREFIX_BOUND * b, places = b == 0.0 ? 0.0 : 0x1p-52;
  int undecided = 0;
  if (fmt == RM_F64) {
    double low[RM_PREFIX_BLOCK];
    for (int k = 0; k < count; k++) {
      const double e = err + places * __builtin_fabs(l[k]);
      low[k] = h[k] + (l[k] - e);
      undecided |= !(low[k] - (h[k] + (l[k] + e)) == 0.0);
    }
    memcpy(bits, low, (size_t)count * sizeof *low);
  } else if (fmt == RM_F32) {
    float low[RM_PREFIX_BLOCK];
    for (int k = 0; k < count; k++) {
      const double s = h[k] + l[k], e = err + 0x1p-51 * __builtin_fabs(s);
      low[k] = (float)(s - e);
      undecided |= !(low[k] - (float)(s + e) == 0.0f) | (low[k] == 0.0f);
    }
    for (int k = 0; k < count; k++) bits[k] = rm_bits32(low[k]);
  } else {
    for (int k = 0; k < count; k++) undecided |= !rm_prefix_decide(h[k], l[k], b, fmt, bits + k);
  }
  return !undecided;
}

/* The last tier. */
typedef struct {
  rm_superaccumulator acc;
  int64_t fed, accumulator; /* terms in acc; elements that it decided */
  uint32_t flags;
} rm_prefix_exact;

RM_STATIC void rm_prefix_feed(rm_prefix_exact *t, const rm_sum_problem *p, int64_t end) {
  if (end > t->fed) rm_sum_feed(p, t->fed, end, &t->acc);
  t->fed = end;
}

RM_FN uint64_t rm_prefix_exactly(double h, double l, double b, const rm_sum_problem *p, int64_t i, const int fmt,
                                 rm_prefix_exact *t) {
  if (b == 0.0 && l == 0.0 && rm_is_finite(h)) { /* h is the sum */
    int e;
    if (h == 0.0) return 0;
    const uint64_t m = rm_decompose(h, &e);
    return rm_round_exact(h < 0.0, m, e, fmt, RM_NEAREST, &t->flags);
  }
  rm_prefix_feed(t, p, i + 1);
  t->accumulator++;
  return rm_superacc_round(&t->acc, fmt, RM_NEAREST, &t->flags);
}

/* After a sum beyond binary64: from the accumulator on, with h + l within 2^-53 |l|, or half the least subnormal, of it. */
RM_STATIC void rm_prefix_restart(rm_prefix *r, const rm_sum_problem *p, int64_t i, rm_prefix_exact *t) {
  uint32_t ignored = 0;
  rm_prefix_feed(t, p, i);
  if (t->acc.classes) return;
  const double h = rm_superacc_round_f64(&t->acc, &ignored);
  if (!rm_is_finite(h)) return;
  rm_superacc_add(&t->acc, -h);
  const double l = rm_superacc_round_f64(&t->acc, &ignored);
  rm_superacc_add(&t->acc, h); /* the total is what it was */
  *r = (rm_prefix){h, l, l == 0.0 ? 0.0 : 0x1p-53 * __builtin_fabs(l) + 0x1p-1074};
}

/* The sums up to each of the terms from i to end, where the first or one before it is not finite: finite terms change
 * nothing, and neither does one that was met before. t has what is not finite before i. */
RM_STATIC void rm_prefix_rest(const rm_sum_problem *p, int64_t i, int64_t end, const int fmt, char *out, ptrdiff_t stride,
                              rm_prefix_exact *t) {
  const uint64_t infinity = rm_infinity_bits(p->fmt);
  const char *at = p->x.base + i * p->x.stride;
  uint64_t met = 0, bits = rm_superacc_round_classes(t->acc.classes, fmt, &t->flags);
  for (; i < end; i++, at += p->x.stride, out += stride) {
    const uint64_t x = rm_read_bits(at, p->fmt);
    if (RM_UNLIKELY((x & infinity) == infinity && x != met)) {
      met = x;
      t->fed = i;
      rm_prefix_feed(t, p, i + 1);
      bits = rm_superacc_round_classes(t->acc.classes, fmt, &t->flags);
    }
    rm_write_bits(out, bits, fmt);
  }
  t->fed = end;
}

/* The sums up to each of the terms from begin to end, to out on. t holds the terms before them. */
RM_FN void rm_prefix_sums(const rm_sum_problem *p, int64_t begin, int64_t end, const int fmt, char *out, ptrdiff_t stride,
                          rm_prefix_exact *t) {
  rm_prefix r = {0.0, 0.0, 0.0};
  if (begin) {
    r.h = rm_from_bits64(UINT64_C(0x7ff8000000000000)); /* undecided, where there is no restart */
    rm_prefix_restart(&r, p, begin, t);
  }
  for (int64_t i = begin; i < end;) {
    int count = end - i < RM_PREFIX_BLOCK ? (int)(end - i) : RM_PREFIX_BLOCK;
    double v[RM_PREFIX_BLOCK], h[RM_PREFIX_BLOCK], l[RM_PREFIX_BLOCK];
    switch (p->fmt) {
      case RM_F16: rm_prefix_load(v, p, i, count, RM_F16); break;
      case RM_BF16: rm_prefix_load(v, p, i, count, RM_BF16); break;
      case RM_F32: rm_prefix_load(v, p, i, count, RM_F32); break;
      default: rm_prefix_load(v, p, i, count, RM_F64);
    }
    if (RM_UNLIKELY(!rm_is_finite(v[0]) || t->acc.classes)) {
      rm_prefix_rest(p, i, end, fmt, out, stride, t);
      return;
    }
    const rm_prefix before = r;
    rm_prefix_advance(&r, v, count, h, l);
    if (RM_UNLIKELY(
            !(r.h + r.l - (r.h + r.l) == 0.0))) { /* what comes before a term that is not finite is a block of its own */
      int finite = 0;
      while (finite < count && rm_is_finite(v[finite])) finite++;
      if (finite < count) {
        count = finite, r = before;
        rm_prefix_advance(&r, v, count, h, l);
      }
    }
    uint64_t bits[RM_PREFIX_BLOCK];
    if (RM_UNLIKELY(!rm_prefix_decide_block(h, l, r.b, count, fmt, bits)))
      for (int k = 0; k < count; k++)
        if (!rm_prefix_decide(h[k], l[k], r.b, fmt, bits + k)) bits[k] = rm_prefix_exactly(h[k], l[k], r.b, p, i + k, fmt, t);
    for (int k = 0; k < count; k++, out += stride) rm_write_bits(out, bits[k], fmt);
    i += count;
    if (RM_UNLIKELY(!(r.h + r.l - (r.h + r.l) == 0.0))) rm_prefix_restart(&r, p, i, t);
  }
}
