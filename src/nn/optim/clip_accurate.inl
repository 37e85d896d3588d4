/* The factor of gradient clipping from an exact sum of squares, and the accurate phase of a product with it. It is also
 * device code. */
#include <stddef.h>

#include "clip.h"

#include "../../../crlibm/fp/exact.h"
#include "../../reduce/total.h"

enum { SUM_LIMBS = 80 }; /* limbs that hold any total, and any square */
enum { LAST_LIMBS = 160, SEPARATION = -8000 }; /* of a product: clipped */

typedef char rm_totals_are_exact[64 * SUM_LIMBS >= RM_ACC_DIGIT_BITS * RM_ACC_DIGITS ? 1 : -1];

/* y = g max_norm / sqrt(S), finite, max_norm^2 < S, so |y| < |g|. With a boundary q of rounding, a multiple of 2^-1075,
 * | |y| - q | = |(g max_norm)^2 - q^2 S| / (S (|y| + q)). S is a multiple of 2^-2176 below 2^2144 (superaccumulator.h), the
 * numerator one of 2^-4326 and, where it is not 0 and q is near |y| < 2^1024, the divisor below 2^(2144 + 1026): a value that
 * is no boundary is 2^-7496 or more away. At 160 limbs S and the products are exact, root and quotient known but for four
 * limbs: within 2^(1024 - 64 156). */
RM_STATIC uint64_t rm_clip_element(const rm_clip *c, double g, uint32_t *flags) {
  rm_dd_ball x, factor;
  uint64_t bits;
  __builtin_memcpy(&factor, c->factor, sizeof factor);
  rm_dd_ball_set(&x, g, 0);
  rm_dd_ball_mul(&x, &x, &factor);
  if (rm_dd_ball_round(&x, c->format, RM_NEAREST, flags, &bits)) return bits;
  for (int n = SUM_LIMBS; n <= LAST_LIMBS; n *= 2) {
    rm_ball root, y, t;
    rm_ball_set_total(&root, c->squares, n);
    rm_ball_sqrt(&root, &root);
    rm_ball_set(&y, g, n);
    rm_ball_set(&t, c->max_norm, n);
    rm_ball_mul(&y, &y, &t);
    rm_ball_div(&y, &y, &root);
    if (rm_ball_round_separated(&y, SEPARATION, c->format, RM_NEAREST, flags, &bits)) return bits;
  }
  return bits; /* never reached, as derived */
}

RM_HOST_EXTERN uint64_t rm_clip_accurate(const rm_clip *c, uint64_t g, uint32_t *flags) {
  const double x = rm_to_double(g, c->format);
  if (rm_is_signalling(g, c->format)) *flags |= RM_FLAG_INVALID;
  if (rm_is_nan(x)) return rm_nan_bits(c->format);
  if (!c->squares->classes) return rm_clip_element(c, x, flags); /* then g is finite, if S is its sum */
  return rm_is_infinite(x) ? rm_invalid(c->format, flags) : 0;
}

RM_HOST_EXTERN uint32_t rm_clip_accurate_range(const rm_clip *c, int64_t begin, int64_t end) {
  const size_t size = (size_t)rm_size_of(c->format);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t bits = 0; /* little endian */
    __builtin_memcpy(&bits, c->g + (size_t)i * size, size);
    bits = rm_clip_accurate(c, bits, &flags);
    __builtin_memcpy(c->g + (size_t)i * size, &bits, size);
  }
  return flags;
}

RM_HOST_EXTERN int rm_clip_prepare(rm_clip *c) {
  rm_dd_ball root, limit;
  if (c->squares->classes) return 1;
  rm_ball total, square;
  rm_ball_set_total(&total, c->squares, SUM_LIMBS);
  rm_ball_set(&square, c->max_norm, SUM_LIMBS);
  rm_ball_mul(&square, &square, &square);
  if (rm_ball_compare(&total, &square) <= 0) return 0;
  rm_dd_ball_set_total(&root, c->squares, 0);
  rm_dd_ball_sqrt(&root, &root);
  rm_dd_ball_set(&limit, c->max_norm, 0);
  rm_dd_ball_div(&limit, &limit, &root);
  __builtin_memcpy(c->factor, &limit, sizeof limit);
  c->c[0] = limit.hi;
  c->c[1] = limit.lo;
  c->fast = limit.err <= limit.hi * 0x1p-100 && limit.hi >= 0x1p-200;
  return 1;
}

RM_HOST_EXTERN double rm_root_of_sum(const rm_superaccumulator *sum) {
  uint32_t flags = 0;
  if (sum->classes) return rm_from_bits64(rm_superacc_round_classes(sum->classes, RM_F64, &flags));
  const rm_superacc_top t = rm_superacc_get_top(sum);
  if (t.negative) return rm_from_bits64(rm_nan_bits(RM_F64));
  return t.m ? rm_from_bits64(rm_round_root(t.m | (rm_u128)t.inexact, t.e, RM_F64, RM_NEAREST, &flags)) : 0.0;
}
