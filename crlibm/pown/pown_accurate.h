/* The accurate phases of pown, rootn and compound: any arguments, format and rounding mode. */
#pragma once

#include "../add/add_accurate.h"
#include "../log1p/log1p_mp.h"
#include "../pow/pow_accurate.h"
#include "pown.h"

/* |n|, which is at most 2^63. */
RM_FN uint64_t rm_pown_size(int64_t n) { return n < 0 ? 0 - (uint64_t)n : (uint64_t)n; }

/* The same value in multiprecision: f 2^k within *err units. x > 0 for a root and a power with |n| > 1, x > -1 for
 * compound, where log(1 + x) is within `off` units of n + 1 limbs.
 *
 * |n| <= 2^63 is a number of mp.h, exactly. A product with it, in one limb more than the result has, is off by 2^63 off + n
 * + 2 units and after the cut by less than off/2 + 2; a quotient by less than off + 2. e^(E units) changes f < 2.01 by less
 * than 3 E units (pow_mp.h). */
RM_FN int rm_pown_mp(int kind, uint64_t *f, double x, int64_t power, int n, uint64_t *err) {
  uint64_t z[RM_MP_LIMBS], w[RM_MP_LIMBS], off = rm_log_mp_err(n + 1);
  const uint64_t size = rm_pown_size(power);
  const int below = kind == RM_COMPOUND ? rm_log1p_mp(z, x, n + 1, &off) : rm_log_mp(z, x, n + 1);
  if (kind == RM_ROOTN) {
    rm_mp_div_small(z, z, size, n + 1);
  } else {
    rm_mp_set(w, size, n + 1);
    rm_mp_mul(z, z, w, n + 1);
  }
  for (int i = 0; i <= n; i++) z[i] = z[i + 1];
  *err = rm_exp_mp_err(n) + 3 * (off + 2);
  return rm_exp_mp(f, z, below != (power < 0), n);
}

/* (-1)^negative times the power, which is no boundary of rounding: x > 0 for x^n with an n that is no binary64 number and
 * for x^(1/n); for (1 + x)^n 1 + x > 0 is no binary64 number. n is not 0. */
RM_COLD uint64_t rm_pown_round(int kind, int negative, double x, int64_t n, int format, rm_mode mode, uint32_t *flags) {
  const int p = rm_precision(format), emax = rm_emax(format), emin = rm_emin(format);
  uint64_t f[RM_MP_LIMBS], result = 0;
  vf64 rest, k, m, lh, ll, zh, zl;
  vi64 j;
  const double power = (double)n; /* an n that rounds is 2^53 and more */
  const double a = rm_pown_base(kind, x, &rest);
  const int subnormal = a < 0x1p-1022;
  rm_log_reduce(subnormal ? a * 0x1p64 : a, &k, &m, &j);
  rm_pown_log_dd(kind, subnormal ? k - 64.0 : k, m, j, a, a < 0x1p900 ? rest : 0.0, &lh, &ll);
  rm_pown_exponent_dd(kind, lh, ll, power, &zh, &zl);
  /* As in rm_pow_accurate. */
  const double size = zh < 0.0 ? -zh : zh;
  if (zh > (double)(emax + 1) * 0.6932) return rm_overflow(negative, format, mode, flags);
  if (zh < (double)(emin - p - rm_more_digits(mode)) * 0.6932)
    return rm_round_exact(negative, 1, emin - p - 64, format, mode, flags);
  if (rm_is_near(size, 0x1.fffffffffffffp-56, 0x1p-90, mode))
    return rm_round_beside(negative ? -1.0 : 1.0, (lh > 0.0) == (n > 0), format, mode, flags);
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  /* An n that rounds moves a root by less than 2^-53 |z| < 2^-96, and a power by too much. */
  if (size >= 0x1p-55 && size <= 746.0 && (kind == RM_ROOTN || rm_pown_size(n) <= UINT64_C(1) << 53)) {
    double rh, rl, h, c, t, hi, lo, err;
    int undecided;
    rm_exp_reduce_dd(zh, zl, &j, &rh, &rl);
    rm_exp_series_dd(rh, rl, &h, &c, &t);
    rm_exp_unscaled_dd(j, rh, h, c, &hi, &lo, &err);
    err = hi * RM_POW_DD_ERR;
    result = rm_round_dd(negative ? -hi : hi, negative ? -lo : lo, err, (int16_t)j >> 4, format, mode, flags, &undecided);
    if (!undecided) return result;
  }
#endif
  for (int limbs = RM_MP_FIRST; limbs <= RM_MP_MAX; limbs *= 2) {
    const int l = limbs < RM_MP_MAX ? limbs : RM_MP_MAX - 1;
    uint64_t err;
    const int scale = rm_pown_mp(kind, f, x, n, l, &err);
    if (rm_mp_round(negative, f, scale, err, l, format, mode, flags, &result)) break;
  }
  return result;
}

/* x^n. An n of at most 53 significant bits is a binary64 number, and x^n a power. Others are beyond 2^53: there no power of x
 * other than 0, 1 and infinity is a boundary of rounding, since its odd part, 1 or above 3^(2^53), is none, and 2^(g n) is
 * out of every range; the special values depend on the sign and the last bit of n alone, which 2^52 and 2^52 + 1 have too. */
RM_COLD uint64_t rm_pown_accurate(double x, int64_t n, int format, rm_mode mode, uint32_t *flags) {
  const uint64_t size = rm_pown_size(n);
  const double a = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  if (size == 0 || size >> rm_ctz64(size) < UINT64_C(1) << 53) return rm_pow_accurate(x, (double)n, format, mode, flags);
  if (a == 0.0 || a == 1.0 || !rm_is_finite(a)) {
    const double other = 0x1p52 + (double)(size & 1);
    return rm_pow_accurate(x, n < 0 ? -other : other, format, mode, flags);
  }
  return rm_pown_round(RM_POWN, x < 0.0 && (size & 1), a, n, format, mode, flags);
}

/* a^(1/n) = *d 2^*e exactly, for finite a > 0 and |n| > 1? Returns 1 for every root that is a dyadic rational: a = m 2^g, m
 * odd, is the n-th power of d 2^e, d odd, only if d^n = m and e n = g; for n < 0 only if d = m = 1. m < 2^53: d > 1 has
 * d^n >= 3^n, so n < 34. So every boundary of rounding is found. */
RM_FN int rm_rootn_exact(double a, int64_t n, uint64_t *d, int *e) {
  int g;
  const uint64_t m = rm_pow_odd_part(a, &g);
  *d = 1;
  *e = 0;
  if (g % n != 0) return 0;
  *e = (int)(g / n);
  if (m == 1) return 1;
  if (n < 0 || n > 33) return 0;
  uint64_t root = 0;
  for (uint64_t bit = UINT64_C(1) << 26; bit; bit >>= 1) {
    rm_u128 power = 1;
    for (int64_t i = 0; i < n && power <= m; i++) power *= root | bit; /* below 2^53 2^27 */
    if (power <= m) root |= bit;
    if (power == m) {
      *d = root;
      return 1;
    }
  }
  return 0;
}

/* x^(1/n): C23, F.10.4.8. */
RM_COLD uint64_t rm_rootn_accurate(double x, int64_t n, int format, rm_mode mode, uint32_t *flags) {
  const int odd = (int)(n & 1), negative = odd && rm_is_negative(x);
  const double a = rm_from_bits64(rm_bits64(x) & UINT64_C(0x7fffffffffffffff));
  uint64_t d;
  int e;
  if (n == 0) return rm_invalid(format, flags); /* of a NaN too */
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x < 0.0 && !odd) return rm_invalid(format, flags);
  if (a == 0.0 && n < 0) return rm_pole(negative, format, flags);
  if (a == 0.0 || (rm_is_infinite(x) && n < 0)) return rm_signed_zero(negative, format);
  if (rm_is_infinite(x)) return rm_signed_infinity(negative, format);
  if (n == 1 || n == -1) return rm_pow_accurate(x, (double)n, format, mode, flags);
  if (rm_rootn_exact(a, n, &d, &e)) return rm_round_exact(negative, d, e, format, mode, flags);
  return rm_pown_round(RM_ROOTN, negative, a, n, format, mode, flags);
}

/* (1 + x)^n for a great x: x^n but for a factor between 1 and (1 + 2^-110)^n, |n| <= 10, as results are in range. Where x^n
 * is so near to a boundary of rounding as only a boundary is, it is one, of 88 bits at most: the result lies beside it. */
RM_FN int rm_compound_beside(double x, int64_t n, int format, rm_mode mode, uint32_t *flags, uint64_t *bits) {
  rm_u128 d;
  int e;
  if (x < 0x1p110 || n > 10 || n < -10 || !rm_pow_exact(x, (double)n, &d, &e) || rm_clz128(d) < 40) return 0;
  const int s = rm_clz128(d) - 4;
  d <<= s;
  *bits = rm_round_exact(0, n > 0 ? d + 1 : d - 1, (int64_t)e - s, format, mode, flags);
  return 1;
}

/* (1 + x)^n: C23, F.10.4.2. Where 1 + x is a binary64 number, that is a power of it. Otherwise its odd part has more than 53
 * bits, and that of its n-th power, |n| > 1, more than 106, or is the reciprocal of one: no boundary of rounding. */
RM_COLD uint64_t rm_compound_accurate(double x, int64_t n, int format, rm_mode mode, uint32_t *flags) {
  double rest;
  uint64_t bits;
  if (x < -1.0) return rm_invalid(format, flags);
  if (n == 0) return rm_one_bits(format); /* of a NaN too */
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == -1.0) return n < 0 ? rm_pole(0, format, flags) : 0;
  if (rm_is_infinite(x)) return n < 0 ? 0 : rm_infinity_bits(format);
  if (n == 1) return rm_add_accurate(1.0, x, format, mode, flags);
  const double sum = rm_two_sum(1.0, x, &rest);
  if (rest == 0.0) return rm_pown_accurate(sum, n, format, mode, flags);
  if (rm_compound_beside(x, n, format, mode, flags, &bits)) return bits;
  return rm_pown_round(RM_COMPOUND, 0, x, n, format, mode, flags);
}
