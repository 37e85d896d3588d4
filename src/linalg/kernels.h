/* Products of binary64 matrices that are not rounded correctly but have a bound, compiled once per ISA. */
#pragma once

#include <stdint.h>

#include "../runtime/isa.h"

/* C += A B, or C -= A B; A is m x k, B k x n, C m x n, rows ld apart. low, lowest: the second and third parts of C's
 * elements, laid out as C; NULL where C has fewer. */
typedef struct {
  int64_t m, n, k;
  const double *a;
  int64_t ld_a;
  const double *b;
  int64_t ld_b;
  int subtract;
  double *c, *low;
  int64_t ld_c;
  double *lowest;
} rm_linalg_product;

enum { RM_LINALG_CHAIN = 256, RM_LINALG_PAIR_CHAIN = 64 };

/* How far c + low is from the exact value, as a share of the sum of magnitudes of all terms, the first C among them, after
 * `calls` products of at most k terms. plain: a term passes its own rounding, the additions of its chain, and one for each
 * chain that is joined: h roundings, each 2^-53 of what is summed, (1 + 2^-53)^h - 1 <= 1.01 h 2^-53 in all. pair: as
 * compensated sums of src/reduce/sum_parts.h, at most 2.3 (h + 1)^2 2^-106, h additions for each term. triple: the errors of
 * the main sum, and of products, (h + 1) 2^-53 in all, are summed by two-sums as well, at most 2 (h + 1) additions each,
 * whose errors are summed plainly, at most 3 (h + 1) additions: 6.6 (h + 1)^3 2^-159. Underflow is not counted. */
static inline double rm_linalg_plain_unit(int64_t k) {
  const int64_t chain = k < RM_LINALG_CHAIN ? k : RM_LINALG_CHAIN;
  return (double)(chain + k / RM_LINALG_CHAIN + 4) * 0x1.03p-53;
}
static inline double rm_linalg_pair_unit(int64_t k, int64_t calls) {
  const int64_t chain = k < RM_LINALG_PAIR_CHAIN ? k : RM_LINALG_PAIR_CHAIN;
  const double h = (double)(chain + calls * (k / RM_LINALG_PAIR_CHAIN + 2) + 1);
  return 2.3 * h * h * 0x1p-106;
}
static inline double rm_linalg_triple_unit(int64_t k, int64_t calls) {
  const int64_t chain = k < RM_LINALG_PAIR_CHAIN ? k : RM_LINALG_PAIR_CHAIN;
  const double h = (double)(chain + calls * (k / RM_LINALG_PAIR_CHAIN + 2) + 1);
  return 7.0 * h * h * h * 0x1p-159;
}

struct rm_linalg_kernels {
  void (*plain)(const rm_linalg_product *p);
  void (*pair)(const rm_linalg_product *p);
  void (*triple)(const rm_linalg_product *p);
  void (*subtract_row)(double *to, const double *from, double factor, int64_t n); /* to - factor from, two roundings each */
};
RM_ISA_TABLES(struct rm_linalg_kernels, rm_linalg_table, rm_linalg_kernels)
