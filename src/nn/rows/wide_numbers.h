/* Numbers of rows of binary64: sums of exponentials (rows/wide_exp.h) and their logarithms; on the host. */
#pragma once

#include "parallel.h"
#include "decide.h"
#include "wide_kernels.h"

RM_FN rm_wide_pair rm_wide_pair_of(const rm_dd_ball *v) { return (rm_wide_pair){v->hi, v->lo}; }
/* A bound of its relative error, which is small. */
RM_FN double rm_wide_relative(const rm_dd_ball *v) { return 1.01 * v->err / __builtin_fabs(v->hi); }

/* The two sums of a gradient, as rm_wide_kernels's sums has them, with their bounds (rows/wide.h); more: what else the second
 * one is off by. */
RM_FN void rm_wide_first(rm_dd_ball *v, const rm_wide_sums *s, int64_t n) {
  const double h = s->depth + 2.0;
  rm_dd_ball_finish(v, s->first.hi, s->first.lo, 1, 2.3 * h * h * 0x1p-106 * s->size + (double)n * 0x1p-1065);
}
RM_FN void rm_wide_second(rm_dd_ball *v, const rm_wide_sums *s, double more) {
  const double h = s->depth + 3.0, u = 0x1p-53;
  rm_dd_ball_finish(v, s->second.hi, s->second.lo, 1,
                    2.3 * h * h * u * u * s->size_hi + (2.1 * s->depth + 11.0) * u * s->size_lo + more);
}

/* sum becomes that of e^(x - m) over a row padded by -infinity, without x[skip] where skip is not below 0; each term goes to
 * e + low where these are not NULL. */
RM_HOST_EXTERN void rm_wide_sum(rm_dd_ball *sum, int64_t n, double *x, double m, int64_t skip, double *e, double *low);

/* l becomes log(1 + s) for s > 0, by a step of Newton's method from the logarithm in double-double, which is near to it: with
 * l0 a number and E = e^l0 - 1, log(1 + s) = l0 + log(1 + d), d = (s - E)/(1 + E), and log(1 + d) is d within d^2. Returns 0
 * where s is not known well enough. */
RM_HOST_EXTERN int rm_wide_log1p(rm_dd_ball *l, const rm_dd_ball *s);

/* t becomes e^(x - m). Returns 0 where that is below RM_WIDE_EXP_MIN. */
RM_HOST_EXTERN int rm_wide_term(rm_dd_ball *t, double x, double m);

/* e + low times a, in the elements of a row x with maximum m but x[skip] (rm_wide_sum): rounds and stores them, of which it
 * returns how many are undecided, x[skip] not among them. Nothing is decided where a is not known, or beyond 2^+-500. Where 0
 * stands for e^(x - m), this is less than 2^-1075: the result is a zero of a's sign, or undecided where |a| is above 1. */
RM_HOST_EXTERN int64_t rm_wide_scale(int64_t n, const double *x, double m, int64_t skip, const double *e, const double *low,
                                     const rm_dd_ball *a, char *out, const rm_row_state *state);

/* Writes the number that v rounds to as result i. Returns 0 where it is not decided, or may be 0. */
RM_HOST_EXTERN int rm_wide_write(const rm_dd_ball *v, int64_t i, char *out, uint32_t *flags);
