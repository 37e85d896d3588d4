/* Checks the arguments of mean, norm, var, std and cumsum, for the CPU and for CUDA. */
#include "../runtime/env.h"
#include "statistics.h"

enum { FORMAT_X = 1, N, X, FORMAT_OUT = 5, OUT, DDOF }; /* positions of arguments */

rm_status rm_statistic_check(int format_x, int64_t n, const void *x, int format_out, const void *out) {
  if (format_x < 0 || format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT_X);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, N);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, X);
  if (format_out < 0 || format_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FORMAT_OUT);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, OUT);
}

rm_status rm_cumsum_check(int format_x, int64_t n, const void *x, int format_out, const void *out) {
  return rm_statistic_check(format_x, n, x, format_out, n == 0 ? &n : out); /* nothing is written then */
}

rm_status rm_cumsum_rows_check(int format_x, int64_t rows, int64_t n, const void *x, int format_out, const void *out) {
  enum { AT_FORMAT_X = 1, AT_ROWS, AT_N, AT_X, AT_FORMAT_OUT = 7, AT_OUT };
  int64_t elements;
  if (format_x < 0 || format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT_X);
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, AT_ROWS);
  if (n < 0 || __builtin_mul_overflow(rows, n, &elements)) return RM_STATUS(RM_ERR_SIZE, AT_N);
  if (elements && !x) return RM_STATUS(RM_ERR_NULL, AT_X);
  if (format_out < 0 || format_out >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT_OUT);
  return elements && !out ? RM_STATUS(RM_ERR_NULL, AT_OUT) : RM_OK;
}

/* f->divisor 2^(-f->scale) = max(n - ddof, 0); 0 when that has more than 62 bits. */
static int set_divisor(rm_sum_function *f, int64_t n, double ddof) {
  int k = 0;
  for (; k <= 62 && __builtin_fabs(ddof) < 0x1p62 && ddof != (double)(int64_t)ddof; k++) ddof *= 2.0;
  if (k > 62 || !(__builtin_fabs(ddof) < 0x1p62) || n > INT64_C(1) << 62 >> k) return 0;
  const int64_t d = (n << k) - (int64_t)ddof;
  f->divisor = d > 0 ? (uint64_t)d : 0;
  f->scale = k;
  return 1;
}

rm_status rm_variance_check(rm_sum_function *f, int root, int format_x, int64_t n, const void *x, int format_out,
                            const void *out, double ddof) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  *f = (rm_sum_function){1, 0, root};
  const rm_env env = rm_env_enter();
  const int in_range = set_divisor(f, n, ddof);
  rm_env_leave(env, 0);
  return in_range ? RM_OK : RM_STATUS(RM_ERR_RANGE, DDOF);
}
