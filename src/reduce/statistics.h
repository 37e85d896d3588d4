/* A function of one exact sum, rounded once (statistics.c). */
#pragma once

#include "../../include/repmath/core.h"
#include "sum.h"

/* The sum times 2^scale, divided by divisor (from 1 to 2^63), and the root of that if root is not 0. */
typedef struct {
  uint64_t divisor;
  int scale, root;
} rm_sum_function;

/* Of a sum within err of hi + lo; 0 when that does not decide. */
RM_HOST_EXTERN int rm_function_decide(const rm_sum_function *f, double hi, double lo, double err, int format, uint64_t *bits,
                                      uint32_t *flags);

/* Of a sum known exactly; of one in an accumulator, whatever its terms. */
RM_HOST_EXTERN uint64_t rm_function_of_top(const rm_sum_function *f, rm_superacc_top t, int format, uint32_t *flags);
RM_HOST_EXTERN uint64_t rm_function_of_sum(const rm_sum_function *f, const rm_superaccumulator *sum, int format,
                                           uint32_t *flags);

/* Of the sum of (x - mu)^2, with the mean mu of n > 0 terms, from the sums of x and x^2 (not read unless all terms are
 * finite). A divisor of 0 stands for one that is 0 or less. */
RM_HOST_EXTERN uint64_t rm_variance_of_sums(const rm_sum_function *f, int64_t n, const rm_superaccumulator *sum,
                                            const rm_superaccumulator *squares, int format, uint32_t *flags);

/* The checks of (format_x, n, x, stride_x, format_out, out), and of var and std, which also set *f. */
rm_status rm_statistic_check(int format_x, int64_t n, const void *x, int format_out, const void *out);
rm_status rm_cumsum_check(int format_x, int64_t n, const void *x, int format_out, const void *out);
rm_status rm_cumsum_rows_check(int format_x, int64_t rows, int64_t n, const void *x, int format_out, const void *out);
rm_status rm_variance_check(rm_sum_function *f, int root, int format_x, int64_t n, const void *x, int format_out,
                            const void *out, double ddof);
