/* The operations of the superaccumulator that are compiled once. This is also device code. */
#include "superaccumulator.h"

#include <string.h>

RM_HOST_EXTERN void rm_superacc_clear(rm_superaccumulator *acc) { memset(acc, 0, sizeof *acc); }

RM_HOST_EXTERN void rm_superacc_propagate(rm_superaccumulator *acc) {
  int64_t carry = 0;
  for (int i = 0; i < RM_ACC_DIGITS - 1; i++) {
    int64_t d = acc->digit[i] + carry;
    carry = d >> RM_ACC_DIGIT_BITS; /* floor */
    acc->digit[i] = d & (int64_t)RM_DIGIT_MASK;
  }
  acc->digit[RM_ACC_DIGITS - 1] += carry;
  acc->pending = 0;
}

/* Adds (-1)^negative m 2^(position - RM_ACC_ONE), for m < 2^107. */
RM_STATIC void rm_superacc_add_integer(rm_superaccumulator *acc, int negative, rm_u128 m, int position) {
  if (RM_UNLIKELY(++acc->pending >= RM_ACC_MAX_PENDING)) rm_superacc_propagate(acc);
  int shift = position % RM_ACC_DIGIT_BITS;
  int64_t *digit = acc->digit + position / RM_ACC_DIGIT_BITS, s = -(int64_t)negative; /* (d ^ s) - s is d or -d */
  rm_u128 low = m << shift;
  /* 107 + 31 bits: the digits of the low 128, and the ten bits that the shift has pushed out. */
  for (int i = 0; i < 4; i++, low >>= RM_ACC_DIGIT_BITS) digit[i] += ((int64_t)((uint64_t)low & RM_DIGIT_MASK) ^ s) - s;
  if (shift > 128 - 107) digit[4] += ((int64_t)(m >> (128 - shift)) ^ s) - s;
}

/* A finite number is (-1)^sign significand 2^(exponent): the integer significand and its exponent. */
RM_STATIC uint64_t rm_integer_significand(uint64_t bits, int *exponent) {
  int e = (int)((bits >> 52) & 0x7ff);
  *exponent = (e ? e : 1) - 1075;
  return (bits & 0xfffffffffffffu) | ((uint64_t)(e != 0) << 52);
}

RM_STATIC uint32_t rm_number_class(uint64_t bits) {
  if ((bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u) return rm_is_signalling(bits, RM_F64) ? RM_ACC_SNAN : RM_ACC_QNAN;
  return bits >> 63 ? RM_ACC_NINF : RM_ACC_PINF;
}

RM_HOST_EXTERN void rm_superacc_add(rm_superaccumulator *acc, double x) {
  uint64_t b = rm_bits64(x);
  if (RM_UNLIKELY((~b & 0x7ff0000000000000u) == 0)) {
    acc->classes |= rm_number_class(b);
    return;
  }
  int e;
  uint64_t m = rm_integer_significand(b, &e);
  rm_superacc_add_integer(acc, (int)(b >> 63), m, e + RM_ACC_ONE);
}

/* The class of a product with a factor that is not finite. */
RM_STATIC uint32_t rm_product_class(uint64_t x, uint64_t y) {
  const uint64_t inf = 0x7ff0000000000000u, magnitude = 0x7fffffffffffffffu;
  uint32_t nan = 0;
  if ((x & magnitude) > inf) nan |= rm_number_class(x);
  if ((y & magnitude) > inf) nan |= rm_number_class(y);
  if (nan) return nan;
  if ((x & magnitude) == 0 || (y & magnitude) == 0) return RM_ACC_ZERO_INF;
  return (x ^ y) >> 63 ? RM_ACC_NINF : RM_ACC_PINF;
}

RM_HOST_EXTERN void rm_superacc_add_product(rm_superaccumulator *acc, double x, double y) {
  uint64_t bx = rm_bits64(x), by = rm_bits64(y);
  if (RM_UNLIKELY((~bx & 0x7ff0000000000000u) == 0 || (~by & 0x7ff0000000000000u) == 0)) {
    acc->classes |= rm_product_class(bx, by);
    return;
  }
  int ex, ey;
  uint64_t mx = rm_integer_significand(bx, &ex), my = rm_integer_significand(by, &ey);
  rm_superacc_add_integer(acc, (int)((bx ^ by) >> 63), (rm_u128)mx * my, ex + ey + RM_ACC_ONE); /* 106 bits */
}

/* What the classes decide. A NaN that was made here is an invalid operation, one that came in is not, unless it signals. */
RM_HOST_EXTERN uint64_t rm_superacc_round_classes(uint32_t c, int format, uint32_t *flags) {
  const int both = (c & RM_ACC_PINF) && (c & RM_ACC_NINF), made = both || (c & RM_ACC_ZERO_INF);
  if ((c & RM_ACC_SNAN) || (made && !(c & RM_ACC_QNAN))) *flags |= RM_FLAG_INVALID;
  if (made || (c & (RM_ACC_QNAN | RM_ACC_SNAN))) return rm_nan_bits(format);
  return rm_infinity_bits(format) | (c & RM_ACC_NINF ? rm_sign_bit(format) : 0);
}

RM_HOST_EXTERN int rm_superacc_magnitude(const rm_superaccumulator *acc, rm_superaccumulator *t) {
  if (t != acc) *t = *acc;
  rm_superacc_propagate(t);
  if (t->digit[RM_ACC_DIGITS - 1] >= 0) return 0;
  for (int i = 0; i < RM_ACC_DIGITS; i++) t->digit[i] = -t->digit[i];
  rm_superacc_propagate(t);
  return 1;
}

/* m: the leading digit, which is not 0, and 96 bits below it; next: the digit below these; rest: whether a lower one is
 * not 0. The leading one has at most 32 bits, propagated and in range. */
RM_STATIC rm_superacc_top rm_top_of_digits(rm_u128 m, uint64_t next, int rest, int top) {
  rm_superacc_top r = {m, 0, rest, 0};
  const int lead = rm_clz128(m) - 1; /* -1 to 30: as many more bits are taken as the leading digit lacks */
  if (lead >= 0) {
    r.inexact |= (next << lead & RM_DIGIT_MASK) != 0;
    r.m = m << lead | (lead ? next >> (RM_ACC_DIGIT_BITS - lead) : 0);
  } else {
    r.inexact |= next != 0 || (m & 1);
    r.m >>= 1;
  }
  r.e = RM_ACC_DIGIT_BITS * (top - 3) - lead;
  return r;
}

RM_HOST_EXTERN rm_superacc_top rm_digits_top(const int64_t *digit, int count) {
  int top = count - 1, rest = 0;
  rm_u128 m = 0;
  while (top >= 0 && digit[top] == 0) top--;
  if (top < 0) return (rm_superacc_top){0, 0, 0, 0};
  for (int i = 0; i < 4; i++) m = m << RM_ACC_DIGIT_BITS | (top >= i ? (rm_u128)(uint64_t)digit[top - i] : 0);
  for (int i = 0; i < top - 4 && !rest; i++) rest = digit[i] != 0;
  return rm_top_of_digits(m, top >= 4 ? (uint64_t)digit[top - 4] : 0, rest, top);
}

RM_HOST_EXTERN rm_superacc_walk rm_superacc_begin(const rm_superaccumulator *acc) {
  int from = 0, end = RM_ACC_DIGITS;
  int64_t t = 0;
  while (end > 0 && acc->digit[end - 1] == 0) end--;
  while (from < end && acc->digit[from] == 0) from++;
  for (int i = from; i < end; i++) t = acc->digit[i] + (t >> RM_ACC_DIGIT_BITS);
  return (rm_superacc_walk){acc, 0, t < 0 ? -1 : 0, from, end < RM_ACC_DIGITS && from < end ? end + 1 : end};
}

RM_HOST_EXTERN rm_superacc_top rm_superacc_get_top(const rm_superaccumulator *acc) {
  rm_superacc_walk w = rm_superacc_begin(acc);
  rm_u128 window = 0, m = 0; /* the last four digits; those from the leading one on */
  uint64_t before = 0, next = 0;
  int below = 0, rest = 0, top = -1;
  while (w.at < w.end) {
    const int i = w.at;
    const uint64_t d = rm_superacc_next(&w);
    below |= before != 0;
    before = (uint64_t)window & RM_DIGIT_MASK;
    window = window >> RM_ACC_DIGIT_BITS | (rm_u128)d << (3 * RM_ACC_DIGIT_BITS);
    if (d) m = window, next = before, rest = below, top = i;
  }
  if (top < 0) return (rm_superacc_top){0, 0, 0, 0};
  rm_superacc_top r = rm_top_of_digits(m, next, rest, top);
  r.negative = w.sign != 0;
  r.e -= RM_ACC_ONE;
  return r;
}

RM_HOST_EXTERN uint64_t rm_superacc_round(const rm_superaccumulator *acc, int format, rm_mode mode, uint32_t *flags) {
  if (RM_UNLIKELY(acc->classes)) return rm_superacc_round_classes(acc->classes, format, flags);
  const rm_superacc_top t = rm_superacc_get_top(acc);
  return t.m ? rm_round_exact(t.negative, t.m | (rm_u128)t.inexact, t.e, format, mode, flags) : 0;
}
RM_HOST_EXTERN double rm_superacc_round_f64(const rm_superaccumulator *acc, uint32_t *flags) {
  return rm_from_bits64(rm_superacc_round(acc, RM_F64, RM_NEAREST, flags));
}

/* Infinities of the other sign; NaNs stay. */
RM_STATIC uint32_t rm_negated_classes(uint32_t c) {
  return (c & ~(uint32_t)(RM_ACC_PINF | RM_ACC_NINF)) | (c & RM_ACC_PINF ? RM_ACC_NINF : 0) |
         (c & RM_ACC_NINF ? RM_ACC_PINF : 0);
}

/* Whether this may be the last digit: |total| <= 2^RM_ACC_HEADROOM largest products / 2, so that 32 bits hold it with its
 * sign. */
RM_STATIC int rm_superacc_digits_in_range(int64_t last) { return -(INT64_C(1) << 31) <= last && last < INT64_C(1) << 31; }

/* One digit of the sum, or difference, of two totals; *carry goes to the next. Nothing overflows: high parts of digits
 * have 31 bits. */
RM_FN int64_t rm_superacc_join(int64_t a, int64_t b, int subtract, int64_t *carry) {
  const int64_t s = -(int64_t)(subtract != 0), mask = (int64_t)RM_DIGIT_MASK;
  const int64_t low = (a & mask) + (((b & mask) ^ s) - s) + *carry;
  *carry = (low >> RM_ACC_DIGIT_BITS) + (a >> RM_ACC_DIGIT_BITS) + (((b >> RM_ACC_DIGIT_BITS) ^ s) - s);
  return low & mask;
}

RM_HOST_EXTERN int rm_superacc_merge(rm_superaccumulator *into, const rm_superaccumulator *from, int subtract) {
  const int last = RM_ACC_DIGITS - 1;
  int64_t carry = 0;
  for (int i = 0; i < last; i++) (void)rm_superacc_join(into->digit[i], from->digit[i], subtract, &carry);
  const int64_t top = into->digit[last] + (subtract ? -from->digit[last] : from->digit[last]) + carry;
  if (!rm_superacc_digits_in_range(top)) return 0;
  carry = 0;
  for (int i = 0; i < last; i++) into->digit[i] = rm_superacc_join(into->digit[i], from->digit[i], subtract, &carry);
  into->digit[last] = top;
  into->pending = 0;
  into->classes |= subtract ? rm_negated_classes(from->classes) : from->classes;
  return 1;
}

/* A unit of the last digit is 2^32 products of the largest size (its place is RM_ACC_HEADROOM - 32 bits above them). The
 * digits below it hold less than one unit and what waits in them, `pending` terms, which is less than another. */
RM_HOST_EXTERN int rm_superacc_may_overflow(const rm_superaccumulator *acc, int64_t n) {
  const int64_t last = acc->digit[RM_ACC_DIGITS - 1], room = (INT64_C(1) << 31) - 3 - (n >> 32);
  return last >= room || last <= -room;
}
RM_HOST_EXTERN int rm_superacc_in_range(const rm_superaccumulator *acc) {
  rm_superacc_walk w = {acc, 0, 0, 0, RM_ACC_DIGITS};
  for (int i = 0; i < RM_ACC_DIGITS - 1; i++) (void)rm_superacc_next(&w);
  return rm_superacc_digits_in_range((int64_t)rm_superacc_next(&w));
}

/* Little-endian digits of 32 bits, two's complement. */
RM_HOST_EXTERN void rm_superacc_write(const rm_superaccumulator *acc, unsigned char *bytes) {
  rm_superacc_walk w = {acc, 0, 0, 0, RM_ACC_DIGITS};
  for (int i = 0; i < RM_ACC_DIGITS; i++) {
    const uint64_t d = rm_superacc_next(&w);
    for (int k = 0; k < 4; k++) *bytes++ = (unsigned char)(d >> (8 * k));
  }
}

RM_HOST_EXTERN void rm_superacc_read(rm_superaccumulator *acc, const unsigned char *bytes, uint32_t classes) {
  memset(acc, 0, sizeof *acc);
  acc->classes = classes;
  for (int i = 0; i < RM_ACC_DIGITS; i++)
    for (int k = 0; k < 4; k++) acc->digit[i] |= (int64_t)((uint64_t)*bytes++ << (8 * k));
  int64_t *last = acc->digit + RM_ACC_DIGITS - 1;
  *last = (int32_t)(uint32_t)*last;
}
