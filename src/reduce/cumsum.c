/* The public cumulative sums: argument checks, environment, threads. The sums are in prefixes.h, those of several lines at a
 * time in axes_kernels.c. */
#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "axes.h"
#include "prefixes.h"
#include "statistics.h"

/* Returns RM_FLAG_* bits. */
static uint32_t line(const rm_prefix_lines *q, const char *x, char *out, rm_tiers *tiers) {
  const rm_sum_problem p = {q->n, {x, q->s_x}, {NULL, 0}, q->fmt, NULL};
  rm_prefix_exact t;
  rm_superacc_clear(&t.acc);
  t.fed = t.accumulator = 0;
  t.flags = 0;
  switch (q->fmt_out) {
    case RM_F16: rm_prefix_sums(&p, 0, q->n, RM_F16, out, q->s_out, &t); break;
    case RM_BF16: rm_prefix_sums(&p, 0, q->n, RM_BF16, out, q->s_out, &t); break;
    case RM_F32: rm_prefix_sums(&p, 0, q->n, RM_F32, out, q->s_out, &t); break;
    default: rm_prefix_sums(&p, 0, q->n, RM_F64, out, q->s_out, &t);
  }
  tiers->fast += q->n - t.accumulator;
  tiers->accumulator += t.accumulator;
  return t.flags;
}

static uint32_t lines(const void *context, int64_t begin, int64_t end) {
  const rm_prefix_lines *p = context;
  const struct rm_axes_kernels *kernels = rm_axes_kernels();
  const int lanes = kernels->lanes;
  rm_tiers tiers = {0, 0, 0};
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i += lanes) {
    const int count = end - i < lanes ? (int)(end - i) : lanes;
    const char *x = p->x + i * p->row_x;
    char *out = p->out + i * p->row_out;
    uint32_t left = (uint32_t)((UINT64_C(1) << count) - 1); /* lines of a few, and undecided ones, are added one by one */
    if (kernels->prefixes && count > 1 && 2 * count >= lanes && p->n < INT64_C(1) << 31)
      left = kernels->prefixes(p, x, out, count);
    tiers.fast += (count - __builtin_popcount(left)) * p->n;
    for (int j = 0; left >> j; j++)
      if (left >> j & 1) flags |= line(p, x + j * p->row_x, out + j * p->row_out, &tiers);
  }
  rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
  return flags;
}

rm_status rm_cumsum(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                    ptrdiff_t stride_out) {
  const rm_status status = rm_cumsum_check(format_x, n, x, format_out, out);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  const rm_prefix_lines p = {format_x, format_out, 1, n, x, 0, stride_x, out, 0, stride_out};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, lines(&p, 0, 1));
  return RM_OK;
}

enum { TERMS_PER_THREAD = 1 << 16 };

rm_status rm_cumsum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                         int format_out, void *out, ptrdiff_t row_out, ptrdiff_t stride_out) {
  const rm_status status = rm_cumsum_rows_check(format_x, rows, n, x, format_out, out);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  if (rows == 0 || n == 0) return RM_OK;
  const rm_prefix_lines p = {format_x, format_out, rows, n, x, row_x, stride_x, out, row_out, stride_out};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(rows, 1 + TERMS_PER_THREAD / n, lines, &p));
  return RM_OK;
}
