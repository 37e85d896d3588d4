/* The superaccumulator: an exact fixed-point sum of binary64 values and of products of two binary64 values.
 *
 * Method: Kulisch's long accumulator, with digits of 32 bits in 64-bit limbs so that carries may wait. Every width follows
 * from the two exponents below. It is the last tier of every reduction: it always decides. */
#pragma once

#include <stdint.h>

#include "../../crlibm/fp/round.h"

/* Finite binary64 numbers are multiples of 2^RM_ACC_EMIN and smaller than 2^RM_ACC_EMAX in magnitude. */
#define RM_ACC_EMIN (-1074)
#define RM_ACC_EMAX 1024

enum {
  RM_ACC_DIGIT_BITS = 32,
  RM_ACC_HEADROOM = 64, /* log2 of the number of largest products that may be added */
  /* digits below the binary point, which products (multiples of 2^(2 EMIN)) need; digits above it */
  RM_ACC_FRACTION = (-2 * RM_ACC_EMIN + RM_ACC_DIGIT_BITS - 1) / RM_ACC_DIGIT_BITS,
  RM_ACC_INTEGER = (2 * RM_ACC_EMAX + RM_ACC_HEADROOM + RM_ACC_DIGIT_BITS - 1) / RM_ACC_DIGIT_BITS,
  RM_ACC_DIGITS = RM_ACC_FRACTION + RM_ACC_INTEGER,
  RM_ACC_ONE = RM_ACC_FRACTION * RM_ACC_DIGIT_BITS, /* position of the bit of weight 2^0 */
  RM_ACC_MAX_PENDING = 1 << 30                      /* |limb| < 2^32 + 2^30 2^32 < 2^63 */
};

/* Classes of terms that have been seen. */
enum { RM_ACC_QNAN = 1, RM_ACC_SNAN = 2, RM_ACC_PINF = 4, RM_ACC_NINF = 8, RM_ACC_ZERO_INF = 16 };

typedef struct {
  int64_t digit[RM_ACC_DIGITS]; /* value: sum of digit[i] 2^(32 i - RM_ACC_ONE) */
  uint32_t pending;             /* additions to any limb since carries were last propagated */
  uint32_t classes;
} rm_superaccumulator;

RM_HOST_EXTERN void rm_superacc_clear(rm_superaccumulator *acc);
RM_HOST_EXTERN void rm_superacc_add(rm_superaccumulator *acc, double x);
RM_HOST_EXTERN void rm_superacc_add_product(rm_superaccumulator *acc, double x, double y);
/* Propagates carries: every digit but the last ends in [0, 2^32); the last one carries the sign. The total stays. */
RM_HOST_EXTERN void rm_superacc_propagate(rm_superaccumulator *acc);

/* into += from, or -= from; from may be into. 0, and into as it was, when the total leaves the range (after some 2^60 of the
 * largest terms). */
RM_HOST_EXTERN int rm_superacc_merge(rm_superaccumulator *into, const rm_superaccumulator *from, int subtract);

/* Whether n more terms, each a number or a product of two, may take the total out of the range that merge holds. */
RM_HOST_EXTERN int rm_superacc_may_overflow(const rm_superaccumulator *acc, int64_t n);
/* Whether the total is in that range. */
RM_HOST_EXTERN int rm_superacc_in_range(const rm_superaccumulator *acc);

/* The digits as RM_ACC_BYTES bytes, the same on every machine and for every way to the total. Any bytes are a total. */
enum { RM_ACC_BYTES = 4 * RM_ACC_DIGITS };
RM_HOST_EXTERN void rm_superacc_write(const rm_superaccumulator *acc, unsigned char *bytes);
RM_HOST_EXTERN void rm_superacc_read(rm_superaccumulator *acc, const unsigned char *bytes, uint32_t classes);

/* *t = |acc| with every digit but the last in [0, 2^32), the last one not negative; whether acc is negative. t may be acc. */
RM_HOST_EXTERN int rm_superacc_magnitude(const rm_superaccumulator *acc, rm_superaccumulator *t);

/* The digits of |acc| as rm_superacc_magnitude leaves them, one after the other and without a copy: the threads of a
 * device have no room for one. Those before `at` and from `end` on are 0. sign: -1 where acc is negative; 0 makes the
 * digits those of acc. */
#define RM_DIGIT_MASK UINT64_C(0xffffffff)
typedef struct {
  const rm_superaccumulator *acc;
  int64_t carry, sign;
  int at, end;
} rm_superacc_walk;
RM_HOST_EXTERN rm_superacc_walk rm_superacc_begin(const rm_superaccumulator *acc);
RM_FN uint64_t rm_superacc_next(rm_superacc_walk *w) {
  const int64_t t = (w->acc->digit[w->at] ^ w->sign) - w->sign + w->carry; /* (d ^ s) - s is d or -d */
  w->carry = t >> RM_ACC_DIGIT_BITS;
  return w->at++ < RM_ACC_DIGITS - 1 ? (uint64_t)t & RM_DIGIT_MASK : (uint64_t)t;
}

/* |total| = (m + rest) 2^e, 0 <= rest < 1, with 2^126 <= m < 2^127 (0 for a total of zero). classes do not count. */
typedef struct {
  rm_u128 m;
  int e, inexact, negative; /* inexact: rest is not 0 */
} rm_superacc_top;
RM_HOST_EXTERN rm_superacc_top rm_superacc_get_top(const rm_superaccumulator *acc);
/* The same of the sum of digit[i] 2^(32 i), for digits in [0, 2^32). */
RM_HOST_EXTERN rm_superacc_top rm_digits_top(const int64_t *digit, int count);
/* What infinite and NaN terms, if there were any (classes != 0), make of the total. */
RM_HOST_EXTERN uint64_t rm_superacc_round_classes(uint32_t classes, int format, uint32_t *flags);

/* The total (spec.md, sections 1, 2 and 4) as bits of `format`, rounded in the mode; *flags gets RM_FLAG_* bits ORed
 * in. */
RM_HOST_EXTERN uint64_t rm_superacc_round(const rm_superaccumulator *acc, int format, rm_mode mode, uint32_t *flags);
/* The same to nearest binary64. */
RM_HOST_EXTERN double rm_superacc_round_f64(const rm_superaccumulator *acc, uint32_t *flags);
