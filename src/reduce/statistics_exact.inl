/* Rounds functions of exact sums once. It is also device code.
 *
 * If |S| lies between two integers times 2^e, the function's value lies between its values there, and rounding is monotone:
 * if both ends round alike, that is the result. At an end the function is computed down to an integer of more than 56 bits
 * and a sticky bit, which is enough to round exactly (crlibm/fp/round.h). */
#include "statistics.h"

#include "../../crlibm/enclosure/limbs.h"

/* floor(sqrt(m)), 2^121 <= m < 2^127. The root in binary64 is off by less than 2^-52 of it, 2^12; after Newton's step it is
 * off by less than two. */
RM_STATIC uint64_t rm_root_of_top(rm_u128 m) {
  uint64_t r = (uint64_t)__builtin_sqrt((double)m);
  r = (uint64_t)((r + m / r) >> 1);
  while ((rm_u128)r * r > m) r--;
  while ((rm_u128)(r + 1) * (r + 1) <= m) r++;
  return r;
}

/* The function of (-1)^negative (m + rest) 2^e, 2^122 < m < 2^127, rounded; inexact: rest is not 0. A quotient has 59 bits or
 * more; one whose root is to be taken gets as many as the root needs, by a second step of long division. */
RM_STATIC uint64_t rm_function_finish(const rm_sum_function *f, int negative, rm_u128 m, int e, int inexact, int format,
                                      uint32_t *flags) {
  e += f->scale;
  if (f->divisor > 1) {
    rm_u128 q = m / f->divisor, r = m % f->divisor;
    const int shift = f->root ? rm_clz128(q) - 5 : 0; /* at most 63 */
    if (shift > 0) {
      r <<= shift;
      q = q << shift | r / f->divisor;
      r %= f->divisor;
      e -= shift;
    }
    inexact |= r != 0;
    m = q;
  }
  if (f->root) {
    if (e & 1) {
      inexact |= (int)(m & 1);
      m >>= 1;
      e++;
    }
    const rm_u128 r = rm_root_of_top(m);
    inexact |= r * r != m;
    m = r;
    e /= 2;
  }
  return rm_round_exact(negative, m | (rm_u128)inexact, e, format, RM_NEAREST, flags);
}

RM_HOST_EXTERN uint64_t rm_function_of_top(const rm_sum_function *f, rm_superacc_top t, int format, uint32_t *flags) {
  return t.m ? rm_function_finish(f, t.negative, t.m, t.e, t.inexact, format, flags) : 0;
}

RM_HOST_EXTERN uint64_t rm_function_of_sum(const rm_sum_function *f, const rm_superaccumulator *sum, int format,
                                           uint32_t *flags) {
  if (sum->classes) return rm_superacc_round_classes(sum->classes, format, flags);
  return rm_function_of_top(f, rm_superacc_get_top(sum), format, flags);
}

RM_HOST_EXTERN int rm_function_decide(const rm_sum_function *f, double hi, double lo, double err, int format, uint64_t *bits,
                                      uint32_t *flags) {
  const double limit = 0x1p-9 * __builtin_fabs(hi);
  if (!(hi != 0.0 && __builtin_fabs(lo) <= limit && err <= limit)) return 0;
  if (f->root && f->divisor == 1 && f->scale == 0 && format == RM_F32) {
    /* Ends of the root, in binary64: the sum's are rounded, whose share in the root is half of that; the root and the product
     * are rounded: 2.6 2^-53 in all. */
    const double off = err + __builtin_fabs(lo);
    const float low = (float)(__builtin_sqrt(hi - off) * (1.0 - 0x1p-51));
    const float high = (float)(__builtin_sqrt(hi + off) * (1.0 + 0x1p-51));
    *bits = rm_bits32(low);
    if (low == high && low >= 0x1p-126f && low <= 0x1.fffffep127f) return 1;
  }
  rm_u128 m, margin;
  int e;
  rm_decompose_dd(hi, lo, err, &m, &margin, &e);
  const int negative = hi < 0.0;
  uint32_t low_flags = 0, high_flags = 0;
  *bits = rm_function_finish(f, negative, m - margin, e, 0, format, &low_flags);
  if (margin && *bits != rm_function_finish(f, negative, m + margin, e, 0, format, &high_flags)) return 0;
  *flags |= low_flags | high_flags;
  return 1;
}

/* Digits of 32 bits: those of a square of a sum in units of 2^(-RM_ACC_ONE), and below them room for the fraction of a
 * quotient by n < 2^63, so that its leading 127 bits are whole. */
enum {
  LOW = 8,
  HALF = RM_ACC_FRACTION / 2, /* sums of x are multiples of 2^-1074: their digits below this one are 0 */
  SUM_DIGITS = RM_ACC_DIGITS - HALF,
  DIGITS = LOW + 2 * SUM_DIGITS
};
/* Squares of sums have the unit of sums of squares; n times a sum of squares fits. */
typedef char rm_units_match[RM_ACC_FRACTION % 2 == 0 && 32 * HALF >= -RM_ACC_EMIN ? 1 : -1];
typedef char rm_products_fit[2 * SUM_DIGITS >= RM_ACC_DIGITS + 2 ? 1 : -1];

/* N = (n squares - sum^2)/n, exactly. */
RM_STATIC rm_superacc_top rm_deviations_of(int64_t terms, const rm_superaccumulator *total,
                                           const rm_superaccumulator *total_squares) {
  const uint64_t n = (uint64_t)terms;
  rm_superacc_walk sum = rm_superacc_begin(total), squares = rm_superacc_begin(total_squares);
  RM_BIG(uint64_t, square, 2 * SUM_DIGITS);
  RM_BIG(int64_t, digit, DIGITS); /* first those of the sum */
  int64_t *const s = digit;
  for (int i = 0; i < SUM_DIGITS; i++) s[i] = 0;
  while (sum.at < sum.end) {
    const int i = sum.at;
    const uint64_t d = rm_superacc_next(&sum);
    if (i >= HALF) s[i - HALF] = (int64_t)d;
  }
  for (int i = 0; i < 2 * SUM_DIGITS; i++) square[i] = 0;
  for (int i = 0; i < SUM_DIGITS; i++) {
    uint64_t carry = 0;
    if (s[i] == 0) continue;
    for (int j = 0; j < SUM_DIGITS; j++) { /* below 2^64: (2^32 - 1)^2 + 2 (2^32 - 1) */
      const uint64_t t = square[i + j] + (uint64_t)s[i] * (uint64_t)s[j] + carry;
      square[i + j] = t & 0xffffffffu;
      carry = t >> 32;
    }
    square[i + SUM_DIGITS] = carry;
  }

  for (int i = 0; i < DIGITS; i++) digit[i] = 0;
  rm_u128 carry = 0; /* of n (sum of squares) */
  int64_t borrow = 0;
  for (int i = 0; i < 2 * SUM_DIGITS; i++) {
    if (i == squares.at && i < squares.end) carry += (rm_u128)rm_superacc_next(&squares) * n;
    const int64_t t = (int64_t)((uint64_t)carry & 0xffffffffu) - (int64_t)square[i] - borrow;
    carry >>= 32;
    digit[LOW + i] = t & INT64_C(0xffffffff);
    borrow = t < 0;
  }

  rm_u128 rest = 0;
  for (int i = DIGITS - 1; i >= 0; i--) {
    rest = rest << 32 | (uint64_t)digit[i];
    digit[i] = (int64_t)(uint64_t)(rest / n);
    rest %= n;
  }
  rm_superacc_top top = rm_digits_top(digit, DIGITS);
  top.inexact |= rest != 0;
  top.e -= RM_ACC_ONE + 32 * LOW;
  return top;
}

RM_HOST_EXTERN uint64_t rm_variance_of_sums(const rm_sum_function *f, int64_t n, const rm_superaccumulator *sum,
                                            const rm_superaccumulator *squares, int format, uint32_t *flags) {
  uint32_t classes = sum->classes;
  /* An infinity is infinitely far from the mean: as if there were both. */
  if (classes & (RM_ACC_PINF | RM_ACC_NINF)) classes |= RM_ACC_PINF | RM_ACC_NINF;
  if (classes) return rm_superacc_round_classes(classes, format, flags);
  const rm_superacc_top top = rm_deviations_of(n, sum, squares);
  if (f->divisor) return rm_function_of_top(f, top, format, flags);
  *flags |= top.m ? RM_FLAG_DIVBYZERO : RM_FLAG_INVALID;
  return top.m ? rm_infinity_bits(format) : rm_nan_bits(format);
}
