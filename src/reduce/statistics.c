/* Functions of one exact sum S, rounded once: S itself, the mean S/n, and the norm, the root of a sum of squares. (variance.c
 * has var and std.) statistics_exact.inl computes a function from a sum. Each tier of the sum (sum.c) has its error; the last
 * tier has none. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "statistics.h"
#include "../common/stats.h"

/* p: the sum, or for a norm the sum of squares. format: of the result. */
static uint64_t evaluate(const rm_sum_function *f, const rm_sum_problem *p, int format, uint32_t *flags) {
  uint64_t bits;
  const int first = p->fmt == RM_F64 || format == RM_F64; /* plain chains hardly ever decide binary64 */
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
