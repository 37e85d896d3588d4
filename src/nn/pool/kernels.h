/* The loops of pooling, compiled once per ISA: they add one more row to windows, element by element, in binary64. Buffers
 * have room for whole groups of RM_ROW_PAD numbers. */
#pragma once

#include <stdint.h>

/* Totals of windows, as in sum.h: arrays of each part. */
typedef struct {
  double *sum, *low, *size;
} rm_pool_totals;

struct rm_pool_kernels {
  /* best = x and at = id where x is greater, or is the first NaN. */
  void (*max)(int64_t n, const double *x, double id, double *best, double *at);
  /* sum + low += x: by a two-sum, its errors to low, and their magnitudes to size. */
  void (*add)(int64_t n, const double *x, double *sum, double *low, double *size);
  /* The totals of n windows of such sums, the i-th of count[i] from first[i] on, `longest` of them at most. A number that is
   * not there is from[j][none], which is 0. exact: from[0] alone holds anything but zeros. */
  void (*join)(int64_t n, int64_t longest, const int64_t *first, const int64_t *count, int64_t none,
               const double *const *from, int exact, rm_pool_totals to);
  /* sum = the averages of these totals by the divisors, size = bounds of their errors as RM_ROW_GIVEN takes them. */
  void (*quotients)(int64_t n, double bound, const double *divisor, const double *slack, rm_pool_totals to);
  /* The averages of binary64, rounded, to out, where they are decided: divisors are whole numbers below 2^20, or 0 for what
   * is left. Returns how many indices are in undecided. */
  int64_t (*rounded)(int64_t n, double bound, const double *divisor, rm_pool_totals to, char *out, int64_t *undecided);
};
