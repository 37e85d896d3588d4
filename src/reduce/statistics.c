/* Functions of one exact sum S, rounded once: S itself, the mean S/n, and the norm, the root of a sum of squares. (variance.c
 * has var and std.) statistics_exact.inl computes a function from a sum. Each tier of the sum (sum.c) has its error; the last
 * tier has none. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../../crlibm/fp/exact.h"
#include "../runtime/env.h"
#include "statistics.h"
#include "../common/elements.h"
#include "../common/stats.h"

/* Norms of binary64 whose squares may underflow or overflow: the sum of squares of a copy times 2^scale, of which the largest
 * number is between 2^-52 and 2^24. A number that becomes subnormal is off by 2^-1075 at most, and its square by 2^-2096: the
 * bound of the sum has 2^-1069 for each term, of which products lose up to 2^-1070. Returns whether that decides. The norm of
 * zeros is 0, and one of infinities or NaN needs no sum. */
enum { SCALED = 1 << 12 };
static int of_scaled(const rm_sum_problem *p, int format, uint64_t *bits, uint32_t *flags) {
  const uint64_t infinity = UINT64_C(0x7ff) << 52;
  double copy[SCALED], hi, lo, err;
  uint64_t top = 0;
  int scale = 1022;
  for (int64_t i = 0; i < p->n; i++) copy[i] = rm_read_element(p->x.base + i * p->x.stride, RM_F64);
  for (int64_t i = 0; i < p->n; i++) {
    const uint64_t size = rm_bits64(copy[i]) & INT64_MAX;
    top = size > top ? size : top;
  }
  *bits = 0;
  if (top == 0) return 1;
  if (top >= infinity) {
    for (int64_t i = 0; top > infinity && i < p->n; i++)
      if (rm_is_signalling(rm_bits64(copy[i]), RM_F64)) *flags |= RM_FLAG_INVALID;
    *bits = top > infinity ? rm_nan_bits(format) : rm_signed_infinity(0, format);
    return 1;
  }
  if (top >> 52 == 0) { /* by bits, since operations on subnormal numbers may be slow */
    const uint64_t one = UINT64_C(1023) << 52;
    for (int64_t i = 0; i < p->n; i++) copy[i] = rm_from_bits64((rm_bits64(copy[i]) & INT64_MAX) | one) - 1.0;
  } else {
    const int e = (int)(top >> 52) - 1023;
    scale = e > 1000 ? -1000 : e < -1000 ? 1000 : -e;
    for (int64_t i = 0; i < p->n; i++) copy[i] *= rm_pow2(scale);
  }
  const rm_terms terms = {(const char *)copy, sizeof *copy};
  const rm_sum_problem scaled = {p->n, terms, terms, RM_F64, NULL};
  const rm_sum_function f = {1, -2 * scale, 1};
  return rm_sum_approximately(&scaled, 1, &hi, &lo, &err) && rm_function_decide(&f, hi, lo, err, format, bits, flags);
}

/* Whether the first number, the last and one between them say that of_scaled is to be asked at once: so small that squares
 * lose bits, or so large that they overflow. */
static int at_ends(const rm_sum_problem *p) {
  const int64_t at[] = {0, p->n / 2, p->n - 1};
  int far = 1;
  for (int k = 0; k < 3; k++) {
    const double size = __builtin_fabs(rm_read_element(p->x.base + at[k] * p->x.stride, RM_F64));
    far &= size < 0x1p-480 || size > 0x1p480;
  }
  return far;
}

/* p: the sum, or for a norm the sum of squares. format: of the result. */
static uint64_t evaluate(const rm_sum_function *f, const rm_sum_problem *p, int format, uint32_t *flags) {
  uint64_t bits;
  const int first = p->fmt == RM_F64 || format == RM_F64; /* plain chains hardly ever decide binary64 */
  const int scales = f->root && p->fmt == RM_F64 && p->n <= SCALED, at_once = scales && at_ends(p);
  if (at_once && of_scaled(p, format, &bits, flags)) return rm_stats_add(1, 0, 0), bits;
  for (int tier = first; tier < 2; tier++) {
    double hi, lo, err;
    if (!rm_sum_approximately(p, tier, &hi, &lo, &err)) break; /* not finite: nor is it in the next tier */
    int decided = rm_function_decide(f, hi, lo, err, format, &bits, flags);
    if (!decided && rm_sum_is_exact(p, err)) {
      decided = hi == 0.0 || rm_function_decide(f, hi, lo, 0.0, format, &bits, flags);
      if (hi == 0.0) bits = 0;
    }
    if (decided) {
      const int fast = tier == first;
      rm_stats_add(fast, !fast, 0);
      return bits;
    }
  }
  if (scales && !at_once && of_scaled(p, format, &bits, flags)) return rm_stats_add(0, 1, 0), bits;
  rm_superaccumulator acc;
  rm_sum_exactly(p, &acc);
  rm_stats_add(0, 0, 1);
  return rm_function_of_sum(f, &acc, format, flags);
}

typedef enum { SUM, MEAN, NORM } what;

static rm_status run(what function, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_terms terms = {x, stride_x}, none = {NULL, 0};
  const rm_sum_problem p = {n, terms, function == NORM ? terms : none, format_x, NULL};
  const rm_sum_function f = {function == MEAN ? (uint64_t)n : 1, 0, function == NORM};
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  uint64_t bits = 0; /* the sum and the norm of nothing */
  if (n) bits = evaluate(&f, &p, format_out, &flags);
  else if (function == MEAN) bits = rm_nan_bits(format_out), flags = RM_FLAG_INVALID; /* 0/0 */
  memcpy(out, &bits, (size_t)rm_size_of(format_out)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_sum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(SUM, format_x, n, x, stride_x, format_out, out);
}
rm_status rm_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(MEAN, format_x, n, x, stride_x, format_out, out);
}
rm_status rm_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out) {
  return run(NORM, format_x, n, x, stride_x, format_out, out);
}
