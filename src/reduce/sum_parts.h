/* Approximate sums of parts, with their error bounds, and how to join them. It is also device code. */
#pragma once

#include "kernels.h"
#include "sum.h"

/* Error bounds. u = 2^-53; A is the sum of the terms' magnitudes, known as `size` within a relative 2^-10 (its chains are as
 * long as the sum's; depth u < 2^-12 is far beyond any memory).
 *
 * Compensated: let every term pass at most h = depth additions. The main additions' errors add up to at most h u' A in
 * magnitude, those of products to u A; in the sum of errors each of them passes two additions for one of the main sum, so
 * that |hi + lo - S| <= 2 (h+1)^2 u^2 A, where u' = u/(1 - h u). 2.3 (h+1)^2 u^2 size covers the slack. Underflow of a
 * product or of its error loses at most 2^-1070 (Dekker's product; less with FMA). Products of formats below binary64 are
 * exact. Plain: block sums, of chains of RM_CHAIN and two joining additions, err by at most (RM_CHAIN + 2) u' A in all; the
 * block sums' own sum is compensated.
 *
 * Squares of differences, (x - c)^2 with x - c = d + e exactly, |e| <= u |d|. Plain: d^2 rounded is off by a relative 3.1 u.
 * Compensated: d^2 = p + q exactly; q + 2 d e, at most 3.1 u d^2, joins the sum of errors; what is dropped and rounded there,
 * e^2 and the roundings of 2 d e and of its sum with q, is at most 6.1 u^2 d^2. The errors in the sum of errors are (h + 3.1)
 * u A, so that |hi + lo - S| <= (2 h (h + 3.1) + 2 + 6.1) u^2 A <= 2 (h+2)^2 u^2 A: one more addition. p, q and 2 d e may
 * each underflow. */
RM_FN double rm_compensated_unit(double h) { return RM_BOUND(2.3 * h * h * 0x1p-106); }
RM_FN double rm_bound_of_compensated(const rm_partial *s, const rm_sum_problem *p) {
  const double h = s->depth + (p->shift ? 2.0 : 1.0);
  return rm_compensated_unit(h) * s->size + ((p->y.base && p->fmt == RM_F64) || p->shift ? (double)p->n * 0x1p-1069 : 0.0);
}
RM_FN double rm_bound_of_plain(const rm_partial *s, const rm_sum_problem *p) {
  const double u = (RM_CHAIN + (p->shift ? 2 + 4 : 2)) * 0x1.01p-53;
  return RM_BOUND(u * s->size) + rm_bound_of_compensated(s, p);
}

/* Joins two partial sums by a two-sum: one more addition for every term. */
RM_FN void rm_partial_join(rm_partial *into, const rm_partial *from) {
  double e;
  into->hi = rm_two_sum(into->hi, from->hi, &e);
  into->lo += e + from->lo;
  into->size += from->size;
  into->depth = (into->depth > from->depth ? into->depth : from->depth) + 1.0;
}

/* What rm_sum_approximately says of the joined parts. */
RM_FN int rm_partial_known(const rm_partial *s, const rm_sum_problem *p, int tier, double *hi, double *lo, double *err) {
  *err = tier ? rm_bound_of_compensated(s, p) : rm_bound_of_plain(s, p);
  *hi = rm_two_sum(s->hi, s->lo, lo);
  return *hi - *hi == 0.0 && *err - *err == 0.0;
}
