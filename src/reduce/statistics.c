/* Functions of one exact sum S, rounded once: mean, S/n, and norm, the root of a sum of squares.
 *
 * With |S| between two integers times 2^e, the function's value lies between its values there, and rounding is monotone: where both
 * ends round alike, that is the result. At an end the function is taken down to an integer of more than 56 bits, and whether
 * something was cut off, which is enough to round exactly (crlibm/fp/round.h). The sum's error comes from its tier (sum.c); the
 * last tier has none. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "stats.h"
#include "sum.h"

enum { MEAN, NORM };

/* floor(sqrt(m)), 2^121 <= m < 2^127. The root in binary64 is off by less than 2^-52 of it, 2^12; after Newton's step it is
 * off by less than two. */
static uint64_t integer_root(rm_u128 m) {
  uint64_t r = (uint64_t)__builtin_sqrt((double)m);
  r = (uint64_t)((r + m / r) >> 1);
  while ((rm_u128)r * r > m) r--;
  while ((rm_u128)(r + 1) * (r + 1) <= m) r++;
  return r;
}

/* The function of (-1)^negative (m + rest) 2^e, 2^122 < m < 2^127, rounded; inexact: rest is not 0. */
static uint64_t finish(int what, int negative, rm_u128 m, int e, int inexact, int64_t n, int format, uint32_t *flags) {
  rm_u128 q;
  if (what == MEAN) {
    q = m / (uint64_t)n;
    inexact |= q * (uint64_t)n != m;
  } else {
    if (e & 1) {
      inexact |= (int)(m & 1);
      m >>= 1;
      e++;
    }
    q = integer_root(m);
    inexact |= q * q != m;
    e /= 2;
  }
  return rm_round_exact(negative, q | (rm_u128)inexact, e, format, RM_NEAREST, flags);
}

/* From a sum within err of hi + lo; 0 when that does not decide. */
static int decide(int what, double hi, double lo, double err, int64_t n, int format, uint64_t *bits, uint32_t *flags) {
  const double most = 0x1p-9 * __builtin_fabs(hi);
  if (!(hi != 0.0 && __builtin_fabs(lo) <= most && err <= most)) return 0;
  rm_u128 m, margin;
  int e;
  rm_split_dd(hi, lo, err, &m, &margin, &e);
  const int negative = hi < 0.0;
  uint32_t low_flags = 0, high_flags = 0;
  *bits = finish(what, negative, m - margin, e, 0, n, format, &low_flags);
  if (margin && *bits != finish(what, negative, m + margin, e, 0, n, format, &high_flags)) return 0;
  *flags |= low_flags | high_flags;
  return 1;
}

/* p: the sum, or for a norm the sum of squares. format: of the result. */
static uint64_t evaluate(int what, const rm_sum_problem *p, int format, uint32_t *flags) {
  uint64_t bits;
  for (int tier = p->fmt == RM_F64; tier < 2; tier++) {
    double hi, lo, err;
    if (!rm_sum_approximately(p, tier, &hi, &lo, &err)) continue;
    int decided = decide(what, hi, lo, err, p->n, format, &bits, flags);
    if (!decided && rm_sum_is_exact(p, err)) {
      decided = hi == 0.0 || decide(what, hi, lo, 0.0, p->n, format, &bits, flags);
      if (hi == 0.0) bits = 0;
    }
    if (decided) {
      const int fast = tier == 0 || p->fmt == RM_F64; /* the first tier of its format */
      rm_stats_add(fast, !fast, 0);
      return bits;
    }
  }
  rm_superaccumulator acc;
  rm_sum_exactly(p, &acc);
  rm_stats_add(0, 0, 1);
  if (acc.classes) return rm_superacc_round_classes(acc.classes, format, flags);
  const rm_superacc_top t = rm_superacc_get_top(&acc);
  return t.m ? finish(what, t.negative, t.m, t.e, t.inexact, p->n, format, flags) : 0;
}

static rm_status run(int what, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  if (format_x < 0 || format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 3);
  if (format_out < 0 || format_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 5);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  if (!rm_kernels_get()) return RM_ERR_ISA;
  const rm_terms terms = {x, stride_x}, none = {NULL, 0};
  const rm_sum_problem p = {n, terms, what == NORM ? terms : none, format_x};
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  uint64_t bits = 0; /* the norm of nothing */
  if (n)
    bits = evaluate(what, &p, format_out, &flags);
  else if (what == MEAN)
    bits = rm_nan_bits(format_out), flags = RM_FLAG_INVALID; /* 0/0 */
  memcpy(out, &bits, (size_t)rm_size_of(format_out)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(MEAN, format_x, n, x, stride_x, format_out, out);
}
rm_status rm_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(NORM, format_x, n, x, stride_x, format_out, out);
}
