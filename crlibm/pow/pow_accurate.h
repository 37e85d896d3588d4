/* The accurate phase of pow: any arguments, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "pow.h"
#include "pow_mp.h"

/* |y| = n 2^e with n odd, for finite y != 0. */
RM_FN uint64_t rm_pow_odd_part(double y, int *e) {
  const uint64_t n = rm_decompose(y, e);
  const int zeros = rm_ctz64(n);
  *e += zeros;
  return n >> zeros;
}

/* The integer r with r^2 <= m < (r+1)^2, m < 2^54. */
RM_FN uint64_t rm_pow_integer_root(uint64_t m) {
  uint64_t r = 0;
  for (uint64_t bit = UINT64_C(1) << 26; bit; bit >>= 1)
    if ((r | bit) * (r | bit) <= m) r |= bit;
  return r;
}

/* a^y = d 2^e exactly, d odd, e cut to +-8192 (beyond every format)? Returns 1 for every a^y with d below 2^64, and for no
 * a^y that is not of this form; a finite, positive and not 1, y finite and not 0.
 *
 * Those of stochastic rounding have d < 2^87, which is found too: a product with 128 bits or more alone is given up.
 *
 * Let a = m 2^g and |y| = n 2^h, m and n odd. Boundaries of rounding are dyadic rationals d 2^e with d < 2^54, so every tie
 * and every exact result is found here.
 *   m = 1          a^y = 2^(g y), rational if and only if g y is an integer: 2^h g is one, since n is odd.
 *   y < 0, m > 1   never: with N = 2^max(-h, 0), a^y = d 2^e to the power N says m^-n' = d^N 2^i for integers n' > 0 and i.
 *                  The odd parts give d^N m^n' = 1, so m = 1.
 *   y > 0, h >= 0  a^y = m^y 2^(g y).
 *   y > 0, h < 0   with N = 2^-h: d^N 2^(e N) = m^n 2^(g n), so d^N = m^n and e N = g n. N is a power of two and n odd: N
 *                  divides g, and m is an N-th power (the exponents of its primes times n are multiples of N). So a = b^N for
 *                  b = m^(1/N) 2^(g/N), and a^y = b^n. Square roots in integers decide: at most 5, since 3^64 > 2^53.
 * For m >= 3, m^n is below 2^127 only if n <= 80. */
RM_FN int rm_pow_exact(double a, double y, rm_u128 *d, int *e) {
  int g, h;
  uint64_t m = rm_pow_odd_part(a, &g);
  const uint64_t n = rm_pow_odd_part(y, &h);
  *d = 1;
  if (m == 1) {
    if (h < 0 && (h < -10 || (g & ((1 << -h) - 1)) != 0)) return 0; /* |g| <= 1074, not 0 */
    const double product = (double)g * y; /* exact when it is below 2^53: an integer */
    *e = product > 8192.0 ? 8192 : product < -8192.0 ? -8192 : (int)product;
    return 1;
  }
  if (y < 0.0) return 0;
  for (; h < 0; h++) {
    const uint64_t root = rm_pow_integer_root(m);
    if ((g & 1) || root * root != m) return 0;
    m = root;
    g /= 2;
  }
  if (h > 6 || n > (UINT64_C(80) >> h)) return 0;
  const int power = (int)(n << h);
  for (int i = 0; i < power; i++) { /* below 2^128: x bits times y bits have at most x+y */
    if (rm_clz128(*d) + rm_clz64(m) < 64) return 0;
    *d *= m;
  }
  *e = g * power;
  return 1;
}

/* Arguments of which one is 0, infinite or NaN, or x = 1: IEEE 754-2019, 9.2.1, and C23, F.10.4.4. */
RM_FN uint64_t rm_pow_accurate_special(double x, double y, int odd, int format, uint32_t *flags) {
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  const double a = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  const uint64_t sign = odd && rm_bits64(x) >> 63 ? rm_sign_bit(format) : 0;
  if (y == 0.0 || x == 1.0) return rm_one_bits(format); /* of a NaN too */
  if (rm_is_nan(x) || rm_is_nan(y)) return rm_nan_bits(format);
  if (a == 1.0) return rm_one_bits(format); /* (-1)^(+-infinity) */
  if (a == 0.0 && y < 0.0 && y > -infinity) *flags |= RM_FLAG_DIVBYZERO;
  /* The limit is infinite or 0; y infinite is an even integer. */
  return ((a > 1.0) == (y > 0.0) ? rm_infinity_bits(format) : 0) | sign;
}

RM_COLD uint64_t rm_pow_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  const double infinity = rm_from_bits64(UINT64_C(0x7ff0000000000000));
  double a = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  const double b = rm_from_bits64(rm_bits64(y) & UINT64_C(0x7fffffffffffffff));
  rm_u128 d;
  int e = 1;
  if (b > 0.0 && b < infinity) rm_pow_odd_part(y, &e);
  const int integer = e >= 0, odd = e == 0; /* no other y is odd */
  if (x == 1.0 || !(a > 0.0 && a < infinity && b > 0.0 && b < infinity))
    return rm_pow_accurate_special(x, y, odd, format, flags);
  if (x < 0.0 && !integer) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  const int negative = x < 0.0 && odd;
  if (a == 1.0) return rm_one_bits(format) | (negative ? rm_sign_bit(format) : 0);
  if (rm_pow_exact(a, y, &d, &e)) return rm_round_exact(negative, d, e, format, mode, flags);

  /* L = lh + ll = log a, z = y L. */
  vf64 k, m, lh, ll;
  vi64 j;
  const int subnormal = a < 0x1p-1022;
  rm_log_reduce(subnormal ? a * 0x1p64 : a, &k, &m, &j);
  rm_pow_log_dd(subnormal ? k - 64.0 : k, m, j, &lh, &ll);
  const double z = y * lh, size = z < 0.0 ? -z : z;
  /* ln2 = 0.69314718... < 0.6932: a^y > 2^(emax+1), or below 2^(emin-p), half the smallest subnormal number. */
  if (z > (double)(emax + 1) * 0.6932) return rm_overflow(negative, format, mode, flags);
  if (z < (double)(emin - p - rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(negative, 1, emin - p - 64, format, mode, flags);
  /* 0 < |a^y - 1| < 2^-54, also when z underflows. */
  if (rm_is_near(size, 0x1.fffffffffffffp-56, 0x1p-90, mode))
    return rm_round_beside(negative ? -1.0 : 1.0, (a > 1.0) == (y > 0.0), format, mode, flags);
  if (size < 0x1p-55 || size > 746.0) return rm_pow_mp_round(negative, a, y, format, mode, flags); /* for stochastic alone */

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  double rh, rl, h, c, t, hi, lo, err;
  int undecided;
  rm_exp_reduce_dd(z, vf64_mad(y, ll, vf64_mul_err(y, lh, z)), &j, &rh, &rl);
  rm_exp_series_dd(rh, rl, &h, &c, &t);
  rm_exp_unscaled_dd(j, rh, h, c, &hi, &lo, &err);
  err = hi * RM_POW_DD_ERR;
  const uint64_t bits =
      rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, (int16_t)j >> 4, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_pow_mp_round(negative, a, y, format, mode, flags);
}
