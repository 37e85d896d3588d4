/* Functions of one exact sum S, rounded once: mean, S/n, and norm, the root of a sum of squares. (var and std: variance.c.)
 *
 * With |S| between two integers times 2^e, the function's value lies between its values there, and rounding is monotone: where both
 * ends round alike, that is the result. At an end the function is taken down to an integer of more than 56 bits, and whether
 * something was cut off, which is enough to round exactly (crlibm/fp/round.h). The sum's error comes from its tier (sum.c); the
 * last tier has none. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "statistics.h"
#include "stats.h"

/* floor(sqrt(m)), 2^121 <= m < 2^127. The root in binary64 is off by less than 2^-52 of it, 2^12; after Newton's step it is
 * off by less than two. */
static uint64_t integer_root(rm_u128 m) {
  uint64_t r = (uint64_t)__builtin_sqrt((double)m);
  r = (uint64_t)((r + m / r) >> 1);
  while ((rm_u128)r * r > m) r--;
  while ((rm_u128)(r + 1) * (r + 1) <= m) r++;
  return r;
}

/* The function of (-1)^negative (m + rest) 2^e, 2^122 < m < 2^127, rounded; inexact: rest is not 0. A quotient has 59 bits or
 * more; one whose root is to be taken gets as many as the root needs, by a second step of long division. */
static uint64_t finish(const rm_sum_function *f, int negative, rm_u128 m, int e, int inexact, int format, uint32_t *flags) {
  e += f->scale;
  if (f->divisor > 1) {
    rm_u128 q = m / f->divisor, r = m % f->divisor;
    const int shift = f->root ? rm_clz128(q) - 5 : 0; /* at most 63 */
    if (shift > 0) {
      r <<= shift;
      q = q << shift | r / f->divisor;
      r %= f->divisor;
      e -= shift;
    }
    inexact |= r != 0;
    m = q;
  }
  if (f->root) {
    if (e & 1) {
      inexact |= (int)(m & 1);
      m >>= 1;
      e++;
    }
    const rm_u128 r = integer_root(m);
    inexact |= r * r != m;
    m = r;
    e /= 2;
  }
  return rm_round_exact(negative, m | (rm_u128)inexact, e, format, RM_NEAREST, flags);
}

uint64_t rm_function_of_top(const rm_sum_function *f, rm_superacc_top t, int format, uint32_t *flags) {
  return t.m ? finish(f, t.negative, t.m, t.e, t.inexact, format, flags) : 0;
}

int rm_function_decide(const rm_sum_function *f, double hi, double lo, double err, int format, uint64_t *bits, uint32_t *flags) {
  const double most = 0x1p-9 * __builtin_fabs(hi);
  if (!(hi != 0.0 && __builtin_fabs(lo) <= most && err <= most)) return 0;
  rm_u128 m, margin;
  int e;
  rm_split_dd(hi, lo, err, &m, &margin, &e);
  const int negative = hi < 0.0;
  uint32_t low_flags = 0, high_flags = 0;
  *bits = finish(f, negative, m - margin, e, 0, format, &low_flags);
  if (margin && *bits != finish(f, negative, m + margin, e, 0, format, &high_flags)) return 0;
  *flags |= low_flags | high_flags;
  return 1;
}

/* p: the sum, or for a norm the sum of squares. format: of the result. */
static uint64_t evaluate(const rm_sum_function *f, const rm_sum_problem *p, int format, uint32_t *flags) {
  uint64_t bits;
  for (int tier = p->fmt == RM_F64; tier < 2; tier++) {
    double hi, lo, err;
    if (!rm_sum_approximately(p, tier, &hi, &lo, &err)) continue;
    int decided = rm_function_decide(f, hi, lo, err, format, &bits, flags);
    if (!decided && rm_sum_is_exact(p, err)) {
      decided = hi == 0.0 || rm_function_decide(f, hi, lo, 0.0, format, &bits, flags);
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
  return rm_function_of_top(f, rm_superacc_get_top(&acc), format, flags);
}

rm_status rm_statistic_check(int format_x, int64_t n, const void *x, int format_out, const void *out) {
  if (format_x < 0 || format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 3);
  if (format_out < 0 || format_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 5);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  return rm_kernels_get() ? RM_OK : RM_ERR_ISA;
}

static rm_status run(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  const rm_terms terms = {x, stride_x}, none = {NULL, 0};
  const rm_sum_problem p = {n, terms, root ? terms : none, format_x, NULL};
  const rm_sum_function f = {root ? 1 : (uint64_t)n, 0, root};
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  uint64_t bits = 0; /* the norm of nothing */
  if (n)
    bits = evaluate(&f, &p, format_out, &flags);
  else if (!root)
    bits = rm_nan_bits(format_out), flags = RM_FLAG_INVALID; /* 0/0 */
  memcpy(out, &bits, (size_t)rm_size_of(format_out)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(0, format_x, n, x, stride_x, format_out, out);
}
rm_status rm_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(1, format_x, n, x, stride_x, format_out, out);
}
