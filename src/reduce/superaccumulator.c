#include "superaccumulator.h"

#include <string.h>

typedef unsigned __int128 u128;

#define DIGIT_MASK UINT64_C(0xffffffff)

RM_SHARED void rm_superacc_clear(rm_superaccumulator *acc) { memset(acc, 0, sizeof *acc); }

/* Propagates carries: every limb but the last ends in [0, 2^32); the last one carries the sign. */
RM_LOCAL void propagate(rm_superaccumulator *acc) {
  int64_t carry = 0;
  for (int i = 0; i < RM_ACC_DIGITS - 1; i++) {
    int64_t d = acc->digit[i] + carry;
    carry = d >> RM_ACC_DIGIT_BITS; /* floor */
    acc->digit[i] = d & (int64_t)DIGIT_MASK;
  }
  acc->digit[RM_ACC_DIGITS - 1] += carry;
  acc->pending = 0;
}

/* Adds (-1)^negative m 2^(position - RM_ACC_ONE), for m < 2^107. */
RM_LOCAL void add_integer(rm_superaccumulator *acc, int negative, u128 m, int position) {
  if (RM_UNLIKELY(++acc->pending >= RM_ACC_MAX_PENDING)) propagate(acc);
  int shift = position % RM_ACC_DIGIT_BITS;
  int64_t *digit = acc->digit + position / RM_ACC_DIGIT_BITS, s = -(int64_t)negative; /* (d ^ s) - s is d or -d */
  u128 low = m << shift;
  /* 107 + 31 bits: the digits of the low 128, and the ten bits that the shift has pushed out. */
  for (int i = 0; i < 4; i++, low >>= RM_ACC_DIGIT_BITS) digit[i] += ((int64_t)((uint64_t)low & DIGIT_MASK) ^ s) - s;
  if (shift > 128 - 107) digit[4] += ((int64_t)(m >> (128 - shift)) ^ s) - s;
}

/* A finite number is (-1)^sign significand 2^(exponent): the integer significand and its exponent. */
RM_LOCAL uint64_t integer_significand(uint64_t bits, int *exponent) {
  int e = (int)((bits >> 52) & 0x7ff);
  *exponent = (e ? e : 1) - 1075;
  return (bits & 0xfffffffffffffu) | ((uint64_t)(e != 0) << 52);
}

RM_LOCAL uint32_t class_of(uint64_t bits) {
  if ((bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u) return rm_is_snan64(bits) ? RM_ACC_SNAN : RM_ACC_QNAN;
  return bits >> 63 ? RM_ACC_NINF : RM_ACC_PINF;
}

RM_SHARED void rm_superacc_add(rm_superaccumulator *acc, double x) {
  uint64_t b = rm_bits64(x);
  if (RM_UNLIKELY((~b & 0x7ff0000000000000u) == 0)) {
    acc->classes |= class_of(b);
    return;
  }
  int e;
  uint64_t m = integer_significand(b, &e);
  add_integer(acc, (int)(b >> 63), m, e + RM_ACC_ONE);
}

RM_SHARED void rm_superacc_add_f32(rm_superaccumulator *acc, float x) {
  if (RM_UNLIKELY(rm_is_snan32(rm_bits32(x)))) {
    acc->classes |= RM_ACC_SNAN;
    return;
  }
  rm_superacc_add(acc, (double)x);
}

RM_LOCAL void add_nonfinite_product(rm_superaccumulator *acc, uint64_t x, uint64_t y) {
  const uint64_t inf = 0x7ff0000000000000u, magnitude = 0x7fffffffffffffffu;
  uint32_t nan = 0;
  if ((x & magnitude) > inf) nan |= class_of(x);
  if ((y & magnitude) > inf) nan |= class_of(y);
  if (nan)
    acc->classes |= nan;
  else if ((x & magnitude) == 0 || (y & magnitude) == 0)
    acc->classes |= RM_ACC_ZERO_INF;
  else
    acc->classes |= (x ^ y) >> 63 ? RM_ACC_NINF : RM_ACC_PINF;
}

RM_SHARED void rm_superacc_add_product(rm_superaccumulator *acc, double x, double y) {
  uint64_t bx = rm_bits64(x), by = rm_bits64(y);
  if (RM_UNLIKELY((~bx & 0x7ff0000000000000u) == 0 || (~by & 0x7ff0000000000000u) == 0)) {
    add_nonfinite_product(acc, bx, by);
    return;
  }
  int ex, ey;
  uint64_t mx = integer_significand(bx, &ex), my = integer_significand(by, &ey);
  add_integer(acc, (int)((bx ^ by) >> 63), (u128)mx * my, ex + ey + RM_ACC_ONE); /* 106 bits */
}

RM_SHARED void rm_superacc_merge(rm_superaccumulator *into, const rm_superaccumulator *from) {
  rm_superaccumulator other = *from; /* a copy: from is const, and may be into */
  propagate(&other);
  propagate(into);
  for (int i = 0; i < RM_ACC_DIGITS; i++) into->digit[i] += other.digit[i];
  into->pending = 1; /* two digits below 2^32: as after one addition */
  into->classes |= other.classes;
}

/* A format: digits after the point of its significand, exponent of its least subnormal, biased exponent of infinity. */
typedef struct {
  int fraction, least, infinity;
} format;
RM_TABLE format formats[2] = {{23, -149, 0xff}, {52, -1074, 0x7ff}}; /* binary32, binary64 */

/* The bits of RN(m 2^(e-63)) for 2^63 <= m, where sticky tells that a positive part below the last bit of m is missing.
 * The dropped part is at least 64 - 53 bits, so sticky never stands at the rounding bit. */
RM_LOCAL uint64_t round_magnitude(uint64_t m, int e, int sticky, const format *f) {
  int quantum = e - f->fraction > f->least ? e - f->fraction : f->least; /* exponent of the result's last place */
  int drop = quantum - (e - 63);
  if (drop > 64) return 0; /* below half of the least subnormal */
  uint64_t kept = drop == 64 ? 0 : m >> drop;
  uint64_t rest = drop == 64 ? m : m << (64 - drop), half = UINT64_C(1) << 63;
  kept += rest > half || (rest == half && (sticky || (kept & 1)));
  /* A normal result has its leading bit in kept, which adds one to the exponent field; so does a carry. */
  uint64_t exponent = (uint64_t)(quantum - f->least);
  if (exponent >= (uint64_t)f->infinity - 1) return (uint64_t)f->infinity << f->fraction;
  return (exponent << f->fraction) + kept;
}

RM_LOCAL uint64_t round_total(const rm_superaccumulator *acc, int fmt, uint32_t *flags) {
  const format *f = &formats[fmt == RM_F64];
  const uint64_t infinity = (uint64_t)f->infinity << f->fraction, nan = infinity | (infinity >> 1 & ~infinity);
  const uint64_t sign = UINT64_C(1) << (fmt == RM_F32 ? 31 : 63);
  uint32_t c = acc->classes;
  if (RM_UNLIKELY(c)) { /* a NaN that was made here is an invalid operation, one that came in is not, unless it signals */
    int both = (c & RM_ACC_PINF) && (c & RM_ACC_NINF), made = both || (c & RM_ACC_ZERO_INF);
    if ((c & RM_ACC_SNAN) || (made && !(c & RM_ACC_QNAN))) *flags |= RM_FLAG_INVALID;
    if (made || (c & (RM_ACC_QNAN | RM_ACC_SNAN))) return nan;
    return c & RM_ACC_NINF ? infinity | sign : infinity;
  }
  rm_superaccumulator t = *acc;
  propagate(&t);
  int negative = t.digit[RM_ACC_DIGITS - 1] < 0;
  if (negative) {
    for (int i = 0; i < RM_ACC_DIGITS; i++) t.digit[i] = -t.digit[i];
    propagate(&t);
  }
  int top = RM_ACC_DIGITS - 1;
  while (top >= 0 && t.digit[top] == 0) top--;
  if (top < 0) return 0;
  /* The leading digit (at most 63 bits, when it is the last limb) and 64 bits below it; the rest is sticky. */
  u128 m = (u128)(uint64_t)t.digit[top] << 64;
  if (top >= 1) m |= (u128)(uint64_t)t.digit[top - 1] << 32;
  if (top >= 2) m |= (u128)(uint64_t)t.digit[top - 2];
  int sticky = 0;
  for (int i = 0; i < top - 2 && !sticky; i++) sticky = t.digit[i] != 0;
  int e = RM_ACC_DIGIT_BITS * top - RM_ACC_ONE + 63; /* of the leading bit, when it is bit 127 of m */
  int lead = __builtin_clzll((uint64_t)(m >> 64));
  m <<= lead;
  e -= lead;
  sticky |= (uint64_t)m != 0;
  uint64_t r = round_magnitude((uint64_t)(m >> 64), e, sticky, f);
  if (r == infinity) *flags |= RM_FLAG_OVERFLOW;
  return negative ? r | sign : r;
}

RM_SHARED float rm_superacc_round_f32(const rm_superaccumulator *acc, uint32_t *flags) {
  return rm_from_bits32((uint32_t)round_total(acc, RM_F32, flags));
}
RM_SHARED double rm_superacc_round_f64(const rm_superaccumulator *acc, uint32_t *flags) {
  return rm_from_bits64(round_total(acc, RM_F64, flags));
}
