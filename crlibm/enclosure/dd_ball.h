/* Double-double numbers with a running bound of their error: the first tier of the accurate phase of composite operators.
 *
 * A number rm_dd_ball stands for every real within err of hi + lo, |lo| <= 2^-53 |hi|; err = 0 says that it is exactly hi +
 * lo, and an infinite err that nothing is known. |hi| < 2^990 when err is finite, so that products by FMA and by splitting
 * are exact. The same operations exist for rm_ball (ball.h), under names that differ in one word: a formula written over
 * RM_NUM_ (numbers.h) is compiled for both. Results may be operands. The parameter n, limbs, is there for that; nothing here
 * uses it.
 *
 * How errors are bounded, u = 2^-53. A sum or product that is rounded to c is off by at most u |c|, a product by at most
 * 2^-1075 more when it underflows. Each operation adds up these terms from computed numbers, and rm_dd_ball_up makes the sum
 * (fewer than 60 terms and factors >= 0, each rounded, each perhaps underflowing) larger than what it stands for. TwoSum
 * (Knuth) is exact; TwoProd is when the product is 0 or at least 2^-960 (simd.h). So nothing here rests on an order of
 * magnitudes, or on having FMA.
 *
 * One translation unit has one backend of simd.h: this header needs that of one lane. */
#pragma once

#include "../expm1/expm1_dd.h"
#include "../log1p/log1p_dd.h"
#include "numbers.h"
#include "../fp/round.h"

#if RM_SIMD != RM_SIMD_SCALAR
#error "dd_ball.h is scalar code: compile it with the backend of one lane"
#endif

typedef struct {
  double hi, lo, err;
} rm_dd_ball;

/* Operations that formulas call often: a device compiles them once. */
#if RM_DEVICE
#define RM_DD_BALL RM_COLD
#else
#define RM_DD_BALL RM_FN
#endif

RM_FN double rm_dd_ball_infinity(void) { return rm_from_bits64(UINT64_C(0x7ff0000000000000)); }

/* More than the sum of which e is the rounded value. */
RM_FN double rm_dd_ball_up(double e) { return e * (1.0 + 0x1p-45) + 0x1p-1060; }

/* r = h + l, of which err is the bound when inexact, else 0. Numbers out of range, and bounds that are NaN, become
 * unknown. */
RM_FN void rm_dd_ball_finish(rm_dd_ball *r, double h, double l, int inexact, double err) {
  r->hi = rm_two_sum(h, l, &r->lo);
  r->err = inexact ? rm_dd_ball_up(err) : 0.0;
  if (vf64_abs(r->hi) < 0x1p990 && r->err < 0x1p990) return;
  r->hi = r->lo = 0.0;
  r->err = rm_dd_ball_infinity();
}
RM_FN void rm_dd_ball_unknown(rm_dd_ball *r) { rm_dd_ball_finish(r, 0.0, 0.0, 1, rm_dd_ball_infinity()); }

/* Exact numbers. */
RM_FN void rm_dd_ball_set(rm_dd_ball *r, double x, int n) {
  (void)n;
  rm_dd_ball_finish(r, x, 0.0, 0, 0.0);
}
RM_FN void rm_dd_ball_set_u64(rm_dd_ball *r, uint64_t x, int n) {
  (void)n;
  rm_dd_ball_finish(r, (double)(x >> 32) * 0x1p32, (double)(x & UINT64_C(0xffffffff)), 0, 0.0);
}
RM_FN void rm_dd_ball_neg(rm_dd_ball *r, const rm_dd_ball *a) {
  r->hi = -a->hi;
  r->lo = -a->lo;
  r->err = a->err;
}
RM_DD_BALL void rm_dd_ball_set_i64(rm_dd_ball *r, int64_t x, int n) {
  rm_dd_ball_set_u64(r, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, n);
  if (x < 0) rm_dd_ball_neg(r, r);
}
RM_FN void rm_dd_ball_copy(rm_dd_ball *r, const rm_dd_ball *a) { *r = *a; }
RM_FN int rm_dd_ball_is_exact(const rm_dd_ball *a) { return a->err == 0.0; }

/* a 2^k. Scaling loses nothing above 2^-960, and at most 2^-1074 in each of four products below. */
RM_DD_BALL void rm_dd_ball_scale(rm_dd_ball *r, const rm_dd_ball *a, int64_t k) {
  const int known = a->err < 0x1p990;
  if (k > 1980 || k < -1980) { /* |a| < 2^991 */
    const int zero = a->hi == 0.0 && a->err == 0.0;
    rm_dd_ball_finish(r, 0.0, 0.0, !zero, k < 0 && known ? 0x1p-980 : rm_dd_ball_infinity());
    return;
  }
  const double s = rm_pow2((int)(k / 2)), t = rm_pow2((int)(k - k / 2));
  const double h = a->hi * s * t, l = a->lo * s * t;
  const int tiny = (a->hi != 0.0 && !(vf64_abs(h) >= 0x1p-960)) || (a->lo != 0.0 && !(vf64_abs(l) >= 0x1p-960));
  rm_dd_ball_finish(r, h, l, tiny || a->err != 0.0, a->err * s * t + 0x1p-1071);
}

/* a + b: what is lost is what the last two sums leave over. */
RM_DD_BALL void rm_dd_ball_add(rm_dd_ball *r, const rm_dd_ball *a, const rm_dd_ball *b) {
  double e, f, g, x, y;
  double s = rm_two_sum(a->hi, b->hi, &e);
  const double t = rm_two_sum(a->lo, b->lo, &f);
  s = rm_two_sum(s, rm_two_sum(e, t, &g), &e);
  const double low = rm_two_sum(f, g, &x), l = rm_two_sum(e, low, &y);
  const double err = a->err + b->err + vf64_abs(x) + vf64_abs(y);
  rm_dd_ball_finish(r, s, l, err != 0.0, err);
}
RM_DD_BALL void rm_dd_ball_sub(rm_dd_ball *r, const rm_dd_ball *a, const rm_dd_ball *b) {
  rm_dd_ball m;
  rm_dd_ball_neg(&m, b);
  rm_dd_ball_add(r, a, &m);
}

/* a b: the product of the leading parts in two, the two cross products; lo lo is left out. Below 2^-960 the leading product
 * is rounded. The error carried over: |A B - a b| <= |a| eb + |b| ea + ea eb. */
RM_DD_BALL void rm_dd_ball_mul(rm_dd_ball *r, const rm_dd_ball *a, const rm_dd_ball *b) {
  const double ah = a->hi, al = a->lo, bh = b->hi, bl = b->lo, ea = a->err, eb = b->err;
  const double p = ah * bh, c1 = ah * bl, c2 = al * bh, c = c1 + c2;
  const int tiny = ah != 0.0 && bh != 0.0 && !(vf64_abs(p) >= 0x1p-960);
  const double e = tiny ? 0.0 : vf64_mul_err(ah, bh, p), l = e + c;
  const int zero = (ah == 0.0 && ea == 0.0 && eb < 0x1p990) || (bh == 0.0 && eb == 0.0 && ea < 0x1p990);
  const int inexact = !zero && (tiny || al != 0.0 || bl != 0.0 || ea != 0.0 || eb != 0.0);
  double err = (vf64_abs(c1) + vf64_abs(c2) + vf64_abs(c) + vf64_abs(l)) * 0x1p-53 + vf64_abs(al * bl);
  if (tiny) err += vf64_abs(p) * 0x1p-53 + 0x1p-1070;
  err += (vf64_abs(ah) + vf64_abs(al) + ea) * eb + (vf64_abs(bh) + vf64_abs(bl)) * ea;
  rm_dd_ball_finish(r, p, l, inexact, err);
}

/* At least |a| - err, less 2^-50 of it, or 0 when that is not above |a|/8. */
RM_FN double rm_dd_ball_min(const rm_dd_ball *a) {
  const double h = vf64_abs(a->hi), m = h - a->err;
  return m >= 0.25 * h ? m * (1.0 - 0x1p-40) : 0.0;
}
/* At least |a| + err. */
RM_FN double rm_dd_ball_max(const rm_dd_ball *a) { return rm_dd_ball_up(vf64_abs(a->hi) + vf64_abs(a->lo) + a->err); }

/* a/b: q = q1 + q2 by the residual a - q b, which is computed with its bound; |A/B - q| = |A - q B| / |B|. Nothing is known
 * of q1 and q2 but that they are numbers. */
RM_SHARED void rm_dd_ball_div(rm_dd_ball *r, const rm_dd_ball *a, const rm_dd_ball *b);

/* sqrt(a): q = s1 + s2 by the residual A - q^2 = (A - s1^2) - s2 (2 s1 + s2), |sqrt(A) - q| = |A - q^2| / (sqrt(A) + q); s1
 * is at most (1 + 2^-52) times the root of hi <= 8 A, so that sqrt(A) + q >= 1.25 s1. Unknown when A may be negative. */
RM_SHARED void rm_dd_ball_sqrt(rm_dd_ball *r, const rm_dd_ball *a);

/* a^k; a^0 = 1. */
RM_SHARED void rm_dd_ball_pow(rm_dd_ball *r, const rm_dd_ball *a, uint64_t k);

/* e^a. An argument d off changes it by a factor within d (1 + d), d < 1/16. Below -670 nothing is left but 0 < e^a <
 * 2^-966. */
RM_SHARED void rm_dd_ball_exp(rm_dd_ball *r, const rm_dd_ball *a);

/* e^a - 1, with E = e^hi - 1: E + (1 + E) (lo + ...), the rest of e^lo - 1 below lo^2. expm1's bound leaves out x^2/2 where
 * that is below 2^-1070; rm_dd_ball_up adds more. */
RM_SHARED void rm_dd_ball_expm1(rm_dd_ball *r, const rm_dd_ball *a);

/* log a. An argument d off changes it by at most d/(a - d). Unknown unless a > 0. */
RM_SHARED void rm_dd_ball_log(rm_dd_ball *r, const rm_dd_ball *a);

/* log(1 + a), with a small relative error around 0; below 2^-900 it is a up to 2^-1800. Unknown unless a > -1. */
RM_SHARED void rm_dd_ball_log1p(rm_dd_ball *r, const rm_dd_ball *a);

/* -1, 0, 1, or RM_SIGN_UNKNOWN. */
RM_DD_BALL int rm_dd_ball_sign(const rm_dd_ball *a) {
  const int side = a->hi > 0.0 ? 1 : a->hi < 0.0 ? -1 : 0;
  if (a->err == 0.0) return side;
  return vf64_abs(a->hi) * (1.0 - 0x1p-50) > RM_BOUND(a->err) ? side : RM_SIGN_UNKNOWN;
}
/* That of a - b. */
RM_DD_BALL int rm_dd_ball_compare(const rm_dd_ball *a, const rm_dd_ball *b) {
  rm_dd_ball d;
  rm_dd_ball_sub(&d, a, b);
  return rm_dd_ball_sign(&d);
}

/* 1 when every number that a may be rounds alike: then to *bits, raising flags; a zero becomes +0. */
RM_SHARED int rm_dd_ball_round(const rm_dd_ball *a, int format, rm_mode mode, uint32_t *flags, uint64_t *bits);

/* (-1)^negative (m + rest) 2^e, 0 <= rest < 1, rest = 0 unless inexact; m < 2^127. */
RM_SHARED void rm_dd_ball_set_integer(rm_dd_ball *r, int negative, rm_u128 m, int64_t e, int inexact);

#if RM_DEFINES_SHARED
RM_SHARED void rm_dd_ball_div(rm_dd_ball *r, const rm_dd_ball *a, const rm_dd_ball *b) {
  const double smallest = rm_dd_ball_min(b);
  rm_dd_ball q, t, rest;
  if (!(smallest > 0.0)) {
    rm_dd_ball_unknown(r);
    return;
  }
  if (a->hi == 0.0 && a->err == 0.0) {
    *r = *a;
    return;
  }
  const double q1 = a->hi / b->hi;
  rm_dd_ball_set(&q, q1, 0);
  rm_dd_ball_mul(&t, &q, b);
  rm_dd_ball_sub(&rest, a, &t);
  const double q2 = rest.hi / b->hi;
  rm_dd_ball_set(&q, q2, 0);
  rm_dd_ball_mul(&t, &q, b);
  rm_dd_ball_sub(&rest, &rest, &t);
  const int inexact = rest.hi != 0.0 || rest.err != 0.0;
  rm_dd_ball_finish(r, q1, q2, inexact, rm_dd_ball_max(&rest) / smallest);
}

RM_SHARED void rm_dd_ball_sqrt(rm_dd_ball *r, const rm_dd_ball *a) {
  rm_dd_ball s, t, rest;
  if (a->hi == 0.0 && a->err == 0.0) {
    *r = *a;
    return;
  }
  if (!(a->hi > 0.0 && rm_dd_ball_min(a) > 0.0)) {
    rm_dd_ball_unknown(r);
    return;
  }
  const double s1 = __builtin_sqrt(a->hi);
  rm_dd_ball_set(&s, s1, 0);
  rm_dd_ball_mul(&t, &s, &s);
  rm_dd_ball_sub(&rest, a, &t);
  const double s2 = rest.hi / (2.0 * s1);
  rm_dd_ball_set(&s, 2.0 * s1, 0);
  rm_dd_ball_set(&t, s2, 0);
  rm_dd_ball_add(&s, &s, &t);
  rm_dd_ball_mul(&t, &s, &t);
  rm_dd_ball_sub(&rest, &rest, &t);
  const int inexact = rest.hi != 0.0 || rest.err != 0.0;
  rm_dd_ball_finish(r, s1, s2, inexact, rm_dd_ball_max(&rest) / (1.25 * s1));
}

RM_SHARED void rm_dd_ball_pow(rm_dd_ball *r, const rm_dd_ball *a, uint64_t k) {
  rm_dd_ball base = *a;
  rm_dd_ball_set(r, 1.0, 0);
  for (;;) {
    if (k & 1) rm_dd_ball_mul(r, r, &base);
    k >>= 1;
    if (k == 0) break;
    rm_dd_ball_mul(&base, &base, &base);
  }
}

RM_SHARED void rm_dd_ball_exp(rm_dd_ball *r, const rm_dd_ball *a) {
  const double d = a->err;
  double h, l, e;
  if (a->hi == 0.0 && d == 0.0) {
    rm_dd_ball_set(r, 1.0, 0);
  } else if (!(d < 0.0625) || a->hi > 670.0) {
    rm_dd_ball_unknown(r);
  } else if (a->hi < -670.0) {
    rm_dd_ball_finish(r, 0.0, 0.0, 1, 0x1p-966);
  } else {
    rm_exp_sum_dd(a->hi, a->lo, &h, &l, &e);
    rm_dd_ball_finish(r, h, l, 1, e + (h + vf64_abs(l) + e) * d * 1.125);
  }
}

RM_SHARED void rm_dd_ball_expm1(rm_dd_ball *r, const rm_dd_ball *a) {
  const double d = a->err, lo = a->lo;
  double h, l, e;
  rm_dd_ball one, whole, t;
  if (a->hi == 0.0 && d == 0.0) {
    *r = *a;
    return;
  }
  if (!(d < 0.0625) || a->hi > 670.0) {
    rm_dd_ball_unknown(r);
    return;
  }
  rm_expm1_dd(a->hi, &h, &l, &e);
  rm_dd_ball_finish(&t, h, l, 1, e);
  rm_dd_ball_set(&one, 1.0, 0);
  rm_dd_ball_add(&whole, &t, &one);
  const double size = rm_dd_ball_max(&whole);
  rm_dd_ball_set(&one, lo, 0);
  rm_dd_ball_mul(&whole, &whole, &one);
  rm_dd_ball_add(&t, &t, &whole);
  rm_dd_ball_finish(r, t.hi, t.lo, 1, t.err + size * (lo * lo + 1.25 * d));
}

RM_SHARED void rm_dd_ball_log(rm_dd_ball *r, const rm_dd_ball *a) {
  const double smallest = rm_dd_ball_min(a);
  double h, l, e;
  if (!(a->hi >= 0x1p-1000 && smallest > 0.0)) {
    rm_dd_ball_unknown(r);
    return;
  }
  rm_log_dd_of(a->hi, a->lo, &h, &l, &e);
  const int inexact = !(a->hi == 1.0 && a->lo == 0.0 && a->err == 0.0);
  rm_dd_ball_finish(r, h, l, inexact, e + a->err / smallest);
}

RM_SHARED void rm_dd_ball_log1p(rm_dd_ball *r, const rm_dd_ball *a) {
  const double size = vf64_abs(a->hi);
  double h, l, e;
  if (a->hi == 0.0 && a->err == 0.0) {
    *r = *a;
  } else if (size < 0x1p-900 && a->err < 0x1p-20) {
    rm_dd_ball_finish(r, a->hi, a->lo, 1, a->err * (1.0 + 0x1p-18));
  } else if (a->hi >= -0.5 && size >= 0x1p-900 && size < 0x1p900) {
    const rm_dd_ball x = {1.0 + a->hi, 0.0, a->err};
    const double smallest = rm_dd_ball_min(&x);
    rm_log1p_dd_of(a->hi, a->lo, &h, &l, &e);
    rm_dd_ball_finish(r, h, l, 1, smallest > 0.0 ? e + a->err / smallest : rm_dd_ball_infinity());
  } else {
    rm_dd_ball one;
    rm_dd_ball_set(&one, 1.0, 0);
    rm_dd_ball_add(&one, &one, a);
    rm_dd_ball_log(r, &one);
  }
}

RM_SHARED int rm_dd_ball_round(const rm_dd_ball *a, int format, rm_mode mode, uint32_t *flags, uint64_t *bits) {
  int undecided;
  *bits = 0;
  if (a->hi == 0.0 && a->err == 0.0) return 1;
  if (!(a->err <= vf64_abs(a->hi) * 0x1p-9) || a->hi == 0.0) return 0;
  const double err = RM_BOUND(a->err), size = vf64_abs(a->hi);
  if (format == RM_F32 && mode == RM_NEAREST && size >= 0x1p-125 && size <= 0x1p126) {
    /* Most numbers are decided by two others that lie around a: err + |lo|, at most 2^-8 of hi, is off by 2u of itself, and
     * each end by 1.01u of hi, u = 2^-53; size 2^-52 is 2u of hi. */
    const double off = (err + vf64_abs(a->lo)) + size * 0x1p-52;
    const uint32_t low = rm_bits32((float)(a->hi - off));
    *bits = low;
    if (low == rm_bits32((float)(a->hi + off))) return 1;
  }
  *bits = rm_round_dd(a->hi, a->lo, err, 0, format, mode, flags, &undecided);
  return !undecided;
}

RM_SHARED void rm_dd_ball_set_integer(rm_dd_ball *r, int negative, rm_u128 m, int64_t e, int inexact) {
  const double h = (double)(uint64_t)(m >> 74) * 0x1p74,
               l = (double)((uint64_t)(m >> 21) & ((UINT64_C(1) << 53) - 1)) * 0x1p21;
  const double last = (double)(uint32_t)(m & 0x1fffff);
  double lost;
  const double low = rm_two_sum(l, last, &lost), err = vf64_abs(lost) + (inexact ? 1.0 : 0.0);
  rm_dd_ball t;
  rm_dd_ball_finish(&t, h, low, err != 0.0, err);
  if (negative) rm_dd_ball_neg(&t, &t);
  rm_dd_ball_scale(r, &t, e);
}
#endif
