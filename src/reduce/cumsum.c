/* The public cumulative sum: argument checks and environment. The sums are in prefixes.h. */
#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "prefixes.h"
#include "statistics.h"
#include "../common/stats.h"

rm_status rm_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                    ptrdiff_t stride_out) {
  const rm_status status = rm_cumsum_check(format_x, n, x, format_out, out);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_sum_problem p = {n, {x, stride_x}, {NULL, 0}, format_x, NULL};
  rm_prefix_exact t;
  rm_superacc_clear(&t.acc);
  t.fed = t.accumulator = 0;
  t.flags = 0;
  const rm_env env = rm_env_enter();
  switch (format_out) {
    case RM_F16: rm_prefix_sums(&p, 0, n, RM_F16, out, stride_out, &t); break;
    case RM_BF16: rm_prefix_sums(&p, 0, n, RM_BF16, out, stride_out, &t); break;
    case RM_F32: rm_prefix_sums(&p, 0, n, RM_F32, out, stride_out, &t); break;
    default: rm_prefix_sums(&p, 0, n, RM_F64, out, stride_out, &t);
  }
  rm_stats_add(n - t.accumulator, 0, t.accumulator);
  rm_env_leave(env, t.flags);
  return RM_OK;
}
