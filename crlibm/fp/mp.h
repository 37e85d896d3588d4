/* Multiprecision fixed point: the arithmetic of last resort, shared by all functions.
 *
 * A number is a[0..n], least significant limb first: a[n] is the integer part, a[0..n-1] the fraction; its unit
 * is 2^(-64 n). All numbers are >= 0 and below 2^64; signs and powers of two are the caller's. Errors are absolute and
 * counted in units; each operation states the one it adds. n is 1 ... RM_MP_MAX; operands and result may be the same array
 * unless said otherwise.
 *
 * Callers evaluate with n = RM_MP_FIRST, then with twice as many limbs, until the interval of the result rounds one way
 * (rm_mp_round). Once closed forms have been answered, the values of exp, log, the trigonometric and hyperbolic functions and
 * their inverses at binary64 numbers are transcendental (Lindemann and Weierstrass); powers with rational exponents, and
 * logarithms to the bases 2 and 10, are irrational by unique factorisation: none lies on a boundary of rounding. Less is
 * proved for erf, erfc, the normal distribution and functions that multiply such values with powers of pi: the file of the
 * function says what. No useful theorem says how near values come to boundaries. It can be counted: over 2^64 arguments,
 * values that behave like random numbers come within some 2^-64 of the last place, 2^-117 relatively; those near arguments
 * with closed forms come nearer, exp near 1 within about 2^-158. With RM_MP_MAX limbs the relative error is near 2^-960.
 * Should a value be undecided even then, the result is the lower end of its interval, rounded. */
#pragma once

#include "round.h"

#define RM_MP_MAX 16
#define RM_MP_LIMBS (RM_MP_MAX + 1)

#ifndef RM_CFG_MP_FIRST /* a control build begins with 1 limb, where undecided cases abound */
#define RM_CFG_MP_FIRST 2
#endif
#define RM_MP_FIRST RM_CFG_MP_FIRST

RM_FN void rm_mp_set(uint64_t *r, uint64_t integer, int n) {
  for (int i = 0; i < n; i++) r[i] = 0;
  r[n] = integer;
}
RM_FN void rm_mp_copy(uint64_t *r, const uint64_t *a, int n) {
  for (int i = 0; i <= n; i++) r[i] = a[i];
}
/* The number of limbs up to the highest that is not 0. */
RM_FN int rm_mp_length(const uint64_t *a, int n) {
  int i = n + 1;
  while (i > 0 && a[i - 1] == 0) i--;
  return i;
}
RM_FN int rm_mp_less(const uint64_t *a, const uint64_t *b, int n) {
  for (int i = n; i >= 0; i--)
    if (a[i] != b[i]) return a[i] < b[i];
  return 0;
}

/* r = m 2^e < 2^64, rounded down: below one unit, exact when e >= -64 n. */
RM_LONG void rm_mp_from_integer(uint64_t *r, uint64_t m, int e, int n) {
  int at = e + 64 * n;
  rm_mp_set(r, 0, n);
  if (at <= -64) return;
  if (at < 0) {
    r[0] = m >> -at;
    return;
  }
  int limb = at / 64, bit = at % 64;
  r[limb] = m << bit;
  if (bit && limb < n) r[limb + 1] = m >> (64 - bit);
}

/* r = |x| 2^scale < 2^64, rounded down: below one unit; x finite and not 0. */
RM_LONG void rm_mp_from_double(uint64_t *r, double x, int scale, int n) {
  int e;
  uint64_t m = rm_decompose(x, &e);
  rm_mp_from_integer(r, m, e + scale, n);
}

/* r = a + b, exact. */
RM_LONG void rm_mp_add(uint64_t *r, const uint64_t *a, const uint64_t *b, int n) {
  uint64_t carry = 0;
  for (int i = 0; i <= n; i++) {
    rm_u128 t = (rm_u128)a[i] + b[i] + carry;
    r[i] = (uint64_t)t;
    carry = (uint64_t)(t >> 64);
  }
}
/* r = a - b for a >= b, exact. */
RM_LONG void rm_mp_sub(uint64_t *r, const uint64_t *a, const uint64_t *b, int n) {
  uint64_t borrow = 0;
  for (int i = 0; i <= n; i++) {
    rm_u128 t = (rm_u128)a[i] - b[i] - borrow;
    r[i] = (uint64_t)t;
    borrow = (uint64_t)(t >> 64) & 1;
  }
}

/* r = a 2^-k, k >= 0, rounded down: below one unit. */
RM_LONG void rm_mp_shift_down(uint64_t *r, const uint64_t *a, int k, int n) {
  int limb = k / 64, bit = k % 64;
  for (int i = 0; i <= n; i++) {
    uint64_t low = i + limb <= n ? a[i + limb] : 0, high = i + limb < n ? a[i + limb + 1] : 0;
    r[i] = bit ? low >> bit | high << (64 - bit) : low;
  }
}
/* r = a 2^k < 2^64, k >= 0, exact. */
RM_LONG void rm_mp_shift_up(uint64_t *r, const uint64_t *a, int k, int n) {
  const int limb = k / 64, bit = k % 64;
  for (int i = n; i >= 0; i--) {
    const uint64_t high = i >= limb ? a[i - limb] : 0, low = i > limb ? a[i - limb - 1] : 0;
    r[i] = bit ? high << bit | low >> (64 - bit) : high;
  }
}
/* r = 2 a < 2^64, exact. */
RM_LONG void rm_mp_double(uint64_t *r, const uint64_t *a, int n) { rm_mp_add(r, a, a, n); }

/* r = a b < 2^64, too small by less than n + 1 units. Columns of limb products below 2^(64 (n-1)) are left out: each of the
 * at most n - 1 columns c <= n-2 has at most c + 1 products below 2^128, together below n 2^128 2^(64 (n-2)) = n units; and
 * the limb at n-1 is cut off, below one unit. High limbs that are 0 cost nothing: series terms get cheaper as they
 * shrink. */
RM_LONG void rm_mp_mul(uint64_t *r, const uint64_t *a, const uint64_t *b, int n) {
  uint64_t t[2 * RM_MP_LIMBS];
  const int la = rm_mp_length(a, n), lb = rm_mp_length(b, n);
  for (int i = n - 1; i <= 2 * n + 1; i++) t[i] = 0;
  for (int i = 0; i < la; i++) {
    uint64_t carry = 0;
    int j = i < n - 1 ? n - 1 - i : 0;
    if (j >= lb) continue;
    for (; j < lb; j++) {
      rm_u128 p = (rm_u128)a[i] * b[j] + t[i + j] + carry;
      t[i + j] = (uint64_t)p;
      carry = (uint64_t)(p >> 64);
    }
    t[i + lb] = carry; /* column i+lb is not yet touched: earlier rows end at i-1+lb */
  }
  for (int i = 0; i <= n; i++) r[i] = t[n + i];
}

/* r[0..n+1] = a m, exact: one limb more than a. */
RM_LONG void rm_mp_mul_small(uint64_t *r, const uint64_t *a, uint64_t m, int n) {
  uint64_t carry = 0;
  for (int i = 0; i <= n; i++) {
    rm_u128 p = (rm_u128)a[i] * m + carry;
    r[i] = (uint64_t)p;
    carry = (uint64_t)(p >> 64);
  }
  r[n + 1] = carry;
}

/* r = a/d, d > 0, rounded down: below one unit. */
RM_LONG void rm_mp_div_small(uint64_t *r, const uint64_t *a, uint64_t d, int n) {
  uint64_t rest = 0;
  for (int i = n; i >= 0; i--) {
    if (rest == 0 && a[i] < d) { /* saves the long divisions in the high zeros of a small term */
      rest = a[i];
      r[i] = 0;
      continue;
    }
    rm_u128 t = (rm_u128)rest << 64 | a[i];
    r[i] = (uint64_t)(t / d);
    rest = (uint64_t)(t % d);
  }
}

/* q = a/b for a < b, b != 0, rounded down: below one unit. q is neither a nor b. Digit by digit (Knuth, TAOCP 2, 4.3.1 D):
 * with the top bit of b set, the quotient of the two top limbs of the rest by the top limb of b is at most 2 too large. */
RM_LONG void rm_mp_div(uint64_t *q, const uint64_t *a, const uint64_t *b, int n) {
  uint64_t rest[RM_MP_LIMBS + 1], d[RM_MP_LIMBS];
  const int length = rm_mp_length(b, n), move = n + 1 - length, s = rm_clz64(b[length - 1]);
  for (int i = n; i >= 0; i--) { /* both times 2^(64 move + s): a quotient of the same value */
    int j = i - move;
    d[i] = j < 0 ? 0 : b[j] << s | (s && j > 0 ? b[j - 1] >> (64 - s) : 0);
    rest[i] = j < 0 ? 0 : a[j] << s | (s && j > 0 ? a[j - 1] >> (64 - s) : 0);
  }
  q[n] = 0;
  for (int k = n - 1; k >= 0; k--) {
    for (int i = n; i >= 0; i--) rest[i + 1] = rest[i];
    rest[0] = 0;
    /* rest < 2^64 d here. */
    uint64_t digit = ~UINT64_C(0), carry = 0, borrow = 0;
    if (rest[n + 1] < d[n]) digit = (uint64_t)(((rm_u128)rest[n + 1] << 64 | rest[n]) / d[n]);
    for (int i = 0; i <= n; i++) {
      rm_u128 p = (rm_u128)d[i] * digit + carry, t;
      carry = (uint64_t)(p >> 64);
      t = (rm_u128)rest[i] - (uint64_t)p - borrow;
      rest[i] = (uint64_t)t;
      borrow = (uint64_t)(t >> 64) & 1;
    }
    rest[n + 1] -= carry + borrow;
    while (rest[n + 1] != 0) { /* negative: at most twice */
      uint64_t c = 0;
      for (int i = 0; i <= n; i++) {
        rm_u128 t = (rm_u128)rest[i] + d[i] + c;
        rest[i] = (uint64_t)t;
        c = (uint64_t)(t >> 64);
      }
      rest[n + 1] += c;
      digit--;
    }
    q[k] = digit;
  }
}

/* r = sqrt(a) for 1/32 <= a < 3, off by less than 2 units; r is not a. Newton's iteration r <- r/2 + a/(2r) from the root of
 * the top limbs in binary64, within 2^-52 relatively: a step makes 2^-b less than 2^-2b-1, so the last one leaves less than a
 * quarter of a unit. Half and quotient (below 1) are cut, by half a unit and one. */
RM_LONG void rm_mp_sqrt(uint64_t *r, const uint64_t *a, int n) {
  uint64_t q[RM_MP_LIMBS], d[RM_MP_LIMBS];
  rm_mp_from_double(r, __builtin_sqrt((double)a[n] + (double)a[n - 1] * 0x1p-64), 0, n);
  for (int bits = 52; bits < 64 * n + 2; bits *= 2) {
    rm_mp_double(d, r, n);
    rm_mp_div(q, a, d, n);
    rm_mp_shift_down(r, r, 1, n);
    rm_mp_add(r, r, q, n);
  }
}

/* The 128 top bits of a != 0, the last one sticky: set when anything was cut off (rm_round_exact), and the weight
 * of the last bit. */
RM_LONG rm_u128 rm_mp_sticky(const uint64_t *a, int n, int64_t *e) {
  const int length = rm_mp_length(a, n), s = rm_clz64(a[length - 1]);
  uint64_t w[3], rest = 0;
  for (int i = 0; i < 3; i++) w[i] = length - 1 - i >= 0 ? a[length - 1 - i] : 0;
  for (int i = 0; i < length - 3; i++) rest |= a[i];
  rm_u128 m = (rm_u128)w[0] << 64 | w[1];
  if (s) m = m << s | w[2] >> (64 - s);
  rest |= w[2] << s;
  *e = (int64_t)64 * (length - 2 - n) - s;
  return m | (rest != 0);
}

/* Rounds (-1)^negative a 2^e, a within err units. Returns 1 and adds the flags when both ends of the interval round alike,
 * else 0; *result is in both cases the lower end (in magnitude) rounded. */
RM_LONG int rm_mp_round(int negative, const uint64_t *a, int64_t e, uint64_t err, int n, int format, rm_mode mode,
                        uint32_t *flags, uint64_t *result) {
  uint64_t step[RM_MP_LIMBS], low[RM_MP_LIMBS], high[RM_MP_LIMBS];
  uint32_t low_flags = 0, high_flags = 0;
  int64_t low_at, high_at;
  *result = negative ? rm_sign_bit(format) : 0;
  rm_mp_set(step, 0, n);
  step[0] = (uint64_t)RM_BOUND(err);
  if (!rm_mp_less(step, a, n)) return 0;
  rm_mp_sub(low, a, step, n);
  rm_mp_add(high, a, step, n);
  rm_u128 low_m = rm_mp_sticky(low, n, &low_at), high_m = rm_mp_sticky(high, n, &high_at);
  *result = rm_round_exact(negative, low_m, e + low_at, format, mode, &low_flags);
  if (*result != rm_round_exact(negative, high_m, e + high_at, format, mode, &high_flags)) return 0;
  if (low_flags != high_flags) return 0;
  *flags |= low_flags;
  return 1;
}
