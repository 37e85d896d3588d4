/* The loops that pass each element of joined sums (partials.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RM_JOIN_BLOCK = 256 }; /* elements, at most, of a call */

/* c[i]: the computed sum of element i of all parts, which are `step` bytes apart; size[i]: that of the magnitudes. */
void rm_join_block(int64_t parts, int n, const double *sums, ptrdiff_t step, double *c, double *size);

/* err[i] = u err[i] + root roots[i] */
void rm_add_bounds(int n, double u, double root, const double *roots, double *err);

/* low[i] = RN(c - e), of binary32, with e = u |c| + err, 2^-52 for u; differs[i] is not 0 where RN(c + e) is another number,
 * or where one is infinite or NaN. Returns whether there are any. */
int rm_round_block_f32(int n, const double *c, const double *err, float *low, uint32_t *differs);
