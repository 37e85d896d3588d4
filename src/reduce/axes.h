/* Sums and means over axes: the types that axes.c shares with its loops, which are compiled once per ISA. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../common/stats.h"
#include "../runtime/isa.h"

/* Element (i, j) of outer x inner is the sum or mean of the terms (k, l) of n1 x n2, fewer than 2^31 of them and at least
 * one. Strides are in bytes; out is in C order, in the format fmt_out. */
typedef struct {
  int fmt, fmt_out, mean;
  int64_t outer, inner, n1, n2;
  ptrdiff_t s_outer, s_inner, s1, s2;
  const char *x;
  char *out;
  uint32_t *seen; /* what is known of all terms, or NULL: RM_AXES_SEEN and the classes among them, or RM_AXES_RAISED */
} rm_axes_problem;

#define RM_AXES_SEEN UINT32_C(0x80000000)
#define RM_AXES_RAISED UINT32_C(0x40000000) /* the exception that a NaN may owe has been raised */

/* Running sums of `rows` lines of n terms, fewer than 2^31. Strides are in bytes. */
typedef struct {
  int fmt, fmt_out;
  int64_t rows, n;
  const char *x;
  ptrdiff_t row_x, s_x;
  char *out;
  ptrdiff_t row_out, s_out;
} rm_prefix_lines;

/* Where element `at` has its terms. */
static inline const char *rm_axes_terms(const rm_axes_problem *p, int64_t at) {
  return p->x + at / p->inner * p->s_outer + at % p->inner * p->s_inner;
}

/* Whether no sum that is NaN owes an exception that is not raised yet. */
int rm_axes_nan_is_silent(const rm_axes_problem *p);

/* The bits of element `at`, by the tiers of a single sum; near: a sum of its terms, not finite if one of them is not. */
uint64_t rm_axes_exactly(const rm_axes_problem *p, int64_t at, double near, rm_tiers *tiers, uint32_t *flags);

/* Elements [begin, end). Returns RM_FLAG_* bits; adds to *tiers. */
struct rm_axes_kernels {
  uint32_t (*some)(const rm_axes_problem *p, int64_t begin, int64_t end, rm_tiers *tiers);
  /* The running sums of `count` lines, at most `lanes`, from the one at x on, to out; the lines of which some sum is
   * undecided. NULL where lanes is 1. */
  uint32_t (*prefixes)(const rm_prefix_lines *p, const char *x, char *out, int count);
  int lanes;
};
RM_ISA_TABLES(struct rm_axes_kernels, rm_axes_table, rm_axes_kernels)
