/* The public products of many factors: argument checks, environment, threads. The products are in products_kernels.c. */
#include "products.h"

#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { FACTORS_PER_THREAD = 1 << 15 };

static rm_status products_check(const rm_products_problem *p, int64_t rows) {
  enum { AT_FORMAT_X = 1, AT_ROWS, AT_N, AT_X, AT_PARTIAL, AT_FORMAT_OUT, AT_OUT, AT_UNDECIDED };
  int64_t elements;
  if (p->fmt < 0 || p->fmt >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT_X);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, AT_ROWS);
  if (p->n < 0 || __builtin_mul_overflow(rows, p->n, &elements)) return RM_STATUS(RM_ERR_SIZE, AT_N);
  if (elements && !p->x) return RM_STATUS(RM_ERR_NULL, AT_X);
  if (p->fmt_out < 0 || p->fmt_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT_OUT);
  if (!(p->partial ? elements : rows)) return RM_OK;
  if (!p->out) return RM_STATUS(RM_ERR_NULL, AT_OUT);
  return p->undecided ? RM_OK : RM_STATUS(RM_ERR_NULL, AT_UNDECIDED);
}

static uint32_t products_part(const void *context, int64_t begin, int64_t end) {
  rm_products_kernels()->rows(context, begin, end);
  return 0;
}

rm_status rm_products(int format_x, int64_t rows, int64_t n, const void *x, int partial, int format_out, void *out,
                      uint8_t *undecided) {
  const rm_products_problem p = {format_x, format_out, partial != 0, n, x, out, undecided};
  const rm_status status = products_check(&p, rows);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  if (rows == 0 || (partial && n == 0)) return RM_OK;
  __builtin_memset(undecided, 0, (size_t)(partial ? rows * n : rows));
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(rows, 1 + FACTORS_PER_THREAD / (n + 1), products_part, &p));
  return RM_OK;
}
