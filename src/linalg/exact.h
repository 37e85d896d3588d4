/* The last tier of systems and determinants: exact integers, by their residues modulo many primes. It always decides, within
 * a limit on work beyond which it says RM_ERR_UNDECIDED. */
#pragma once

#include "matrix.h"

/* A X = B with finite entries, row-major; A is n x n, B n x k. wanted[i * k + j]: whether X_ij is to be computed. */
typedef struct {
  int64_t n, k;
  const double *a, *b;
  const unsigned char *wanted;
} rm_exact_system;

/* bits[i * k + j] = the wanted solutions, rounded. *info: 0, or the first column, counted from 1, that depends on those
 * before it: then A is singular, and nothing is written. */
rm_status rm_exact_solve(const rm_exact_system *s, int format, uint64_t *bits, int32_t *info, uint32_t *flags);

/* (-1)^negative times an integer of `length` limbs (0: zero), the least significant first, times 2^e. */
typedef struct {
  uint64_t *limbs;
  int64_t length, e;
  int negative;
} rm_exact_number;

/* The determinant of a finite n x n matrix. The caller frees limbs. */
rm_status rm_exact_determinant(int64_t n, const double *a, rm_exact_number *det);
