/* var and std are RN(N/(n - ddof)) and RN of the root of that, where N = sum of (x - mu)^2 with the exact mean mu.
 * The approximation is that of variance_parts.h, with sums and their bounds from sum.c. Undecided results come from n N = n
 * (sum of x^2) - S^2 in exact integers. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "../common/elements.h"
#include "statistics.h"
#include "../common/stats.h"
#include "variance_parts.h"

/* N within *err of *hi + *lo; 0 when a term or a sum is out of range. */
static int approximate(const rm_sum_problem *x, int tier, double *hi, double *lo, double *err) {
  rm_moment s, q;
  if (x->n > INT64_C(1) << 53 || !rm_sum_approximately(x, tier, &s.hi, &s.lo, &s.err)) return 0;
  const double c = s.hi / (double)x->n;
  rm_sum_problem deviations = *x;
  deviations.shift = &c;
  if (!rm_sum_approximately(&deviations, tier, &q.hi, &q.lo, &q.err)) return 0;
  return rm_deviations_known(x->n, &s, c, &q, hi, lo, err);
}

static double value(const rm_sum_problem *p, int64_t i) { return rm_read_element(p->x.base + i * p->x.stride, p->fmt); }

/* Whether all terms are one finite number. The bound never decides such sums. */
static int is_constant(const rm_sum_problem *p) {
  const double first = value(p, 0);
  if (!rm_is_finite(first)) return 0;
  for (int64_t i = 1; i < p->n; i++)
    if (value(p, i) != first) return 0;
  return 1;
}

/* divisor 0: ddof is n or more. */
static uint64_t evaluate(const rm_sum_function *f, const rm_sum_problem *p, int format, uint32_t *flags) {
  const int constant = is_constant(p);
  if (constant && f->divisor) {
    rm_stats_add(1, 0, 0);
    return 0;
  }
  uint64_t bits;
  const int first = p->fmt == RM_F64 || format == RM_F64; /* plain chains hardly ever decide binary64 */
  for (int tier = first; f->divisor && tier < 2; tier++) {
    double hi, lo, err;
    if (approximate(p, tier, &hi, &lo, &err) && rm_function_decide(f, hi, lo, err, format, &bits, flags)) {
      const int fast = tier == first;
      rm_stats_add(fast, !fast, 0);
      return bits;
    }
  }
  rm_stats_add(0, 0, 1);
  rm_superaccumulator sum, squares; /* these only if all terms are finite */
  rm_sum_exactly(p, &sum);
  if (!sum.classes) {
    rm_sum_problem q = *p;
    q.y = q.x;
    rm_sum_exactly(&q, &squares);
  }
  return rm_variance_of_sums(f, p->n, &sum, sum.classes ? &sum : &squares, format, flags);
}

static rm_status run(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                     double ddof) {
  rm_sum_function f;
  const rm_status status = rm_variance_check(&f, root, format_x, n, x, format_out, out, ddof);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_sum_problem p = {n, {x, stride_x}, {NULL, 0}, format_x, NULL};
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  uint64_t bits;
  if (n) bits = evaluate(&f, &p, format_out, &flags);
  else bits = rm_nan_bits(format_out), flags = RM_FLAG_INVALID; /* there is no mean */
  memcpy(out, &bits, (size_t)rm_size_of(format_out)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof) {
  return run(0, format_x, n, x, stride_x, format_out, out, ddof);
}
rm_status rm_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof) {
  return run(1, format_x, n, x, stride_x, format_out, out, ddof);
}
