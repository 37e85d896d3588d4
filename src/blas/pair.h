/* Unevaluated sums of two binary64 numbers. */
#ifndef RM_BLAS_PAIR_H
#define RM_BLAS_PAIR_H

#include "../../crlibm/fp/bits.h"

typedef struct {
  double hi, lo;
} rm_pair;

RM_FN rm_pair rm_two_sum(double a, double b) { /* Knuth: a + b = hi + lo exactly */
  double s = a + b, t = s - a;
  return (rm_pair){s, (a - (s - t)) + (b - t)};
}

/* RN32(hi + lo): first to binary64 by rounding to odd, which loses nothing that a rounding to 24 bits could see (Boldo and
 * Melquiond 2008; 53 >= 24 + 2). Zero is +0. */
RM_LOCAL float rm_round_pair_f32(double hi, double lo) {
  rm_pair s = rm_two_sum(hi, lo);
  if (s.hi == 0.0) return 0.0f;
  uint64_t b = rm_bits64(s.hi);
  if (s.lo != 0.0 && !(b & 1)) b += (s.lo > 0.0) == (s.hi > 0.0) ? 1u : ~UINT64_C(0);
  return (float)rm_from_bits64(b);
}

#endif
