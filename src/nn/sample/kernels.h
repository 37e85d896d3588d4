/* The loops of weighted sums, compiled once per ISA. Buffers have room for whole groups of RM_ROW_PAD numbers.
 *
 * The product p = RN(w x) leaves over r = w x - p exactly (the conditions of vf64_mul_err hold: api.c), and the two-sum that
 * adds p leaves over e. So the sum S of T terms is sum + the exact total of e and r; low, their computed total, passes 2 T
 * roundings, and so does z, the total of their magnitudes: |sum + low - S| <= 1.1 (T + 2) 2^-52 z. z = 0 says that sum is
 * exact: ties of few bits are decided as such. */
#pragma once

#include <stdint.h>

struct rm_sample_kernels {
  /* sum + low += w[t] x[t] for t < terms, z grows by what was left over. each: w[t] is an array of as many weights, else one
   * weight. */
  void (*weigh)(int64_t n, int terms, const double *const *w, int each, const double *const *x, double *sum, double *low,
                double *z);
  /* low = the value, z = a bound of its error as RM_ROW_GIVEN takes it, of all T terms divided by `divisor`. bound: 1.1 (T +
   * 2) 2^-53, since low is off by its own roundings alone. With u = 2^-53 and Z the exact z, e + r rounds by u (|e| + |r|),
   * which all together is u Z, and each of the T additions to low by u (1 + T u) Z at most: (T + 1) u (1 + T u) Z, where T u
   * is below 2^-20 and Z at most (1 + 2 T u) z. slack: 0 where the quotient of an exact sum is exact, else 2^-51. */
  void (*finish)(int64_t n, double bound, double divisor, double slack, const double *sum, double *low, double *z);
  /* Rounds the sums of w[t][i] x[t][i] over t < terms, with finish's bound, to out in binary32, for i < n. All arrays, out
   * too, have whole groups. Returns how many are undecided, or not finite: `undecided` has these i. */
  int64_t (*rounded)(int64_t n, int terms, const double *const *w, const double *const *x, double bound, float *out,
                     int64_t *undecided);
};
