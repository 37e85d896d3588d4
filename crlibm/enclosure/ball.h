/* Numbers of any width with a bound of their error: the last tier of composite operators.
 *
 * A number rm_ball stands for every real within err units of (-1)^negative M 2^e; M has `length` limbs of 64 bits, the least
 * significant first, the last not 0 (length 0: M = 0); a unit is 2^e. err = 0 says that the number is exact, an infinite err
 * that nothing is known. n <= RM_BALL_LIMBS is the precision: an operation keeps at most as many limbs as the larger n of its
 * operands, and what it cuts off is less than one unit. What fits stays exact. err is below 2^65, and at least 2^-64 when it
 * is not 0: digits far below the error are dropped, so that inexact numbers are as long as what is known of them.
 *
 * Errors are computed in binary64 from terms >= 0, and rm_ball_up makes a sum of at most a hundred roundings larger than
 * what it stands for.
 *
 * The operations are those of dd_ball.h. Formulas are evaluated with n growing until the result rounds one way; where the
 * caller knows how near a result may be to a boundary of rounding without being one, rm_ball_round_separated decides the
 * rest. */
#pragma once

#include "../exp/exp_mp.h"
#include "../log/log_mp.h"
#include "limbs.h"
#include "numbers.h"

#define RM_BALL_LIMBS 512
#define RM_BALL_EXPONENT (INT64_C(1) << 60) /* |e| beyond: unknown */

typedef struct {
  RM_BIG(uint64_t, m, RM_BALL_LIMBS);
  int64_t e;
  double err;
  int negative, length, n;
} rm_ball;

RM_FN double rm_ball_infinity(void) { return rm_from_bits64(UINT64_C(0x7ff0000000000000)); }
RM_FN double rm_ball_up(double err) { return err * (1.0 + 0x1p-40); }

/* err 2^k, rounded up, as a bound: 0 stays 0, nothing else falls below 2^-64. err < 2^400. */
RM_SHARED double rm_ball_shifted(double err, int64_t k);
/* floor(log2(x)), x positive and normal. */
RM_FN int rm_ball_exponent(double x) { return (int)(rm_bits64(x) >> 52) - 1023; }
RM_FN int64_t rm_ball_max(int64_t a, int64_t b) { return a > b ? a : b; }
RM_FN int rm_ball_precision(const rm_ball *a, const rm_ball *b) { return a->n > b->n ? a->n : b->n; }

RM_FN int rm_limbs_length(const uint64_t *t, int length) {
  while (length > 0 && t[length - 1] == 0) length--;
  return length;
}

RM_FN void rm_ball_unknown(rm_ball *r, int n) {
  r->e = 0, r->negative = 0, r->length = 0, r->n = n;
  r->err = rm_ball_infinity();
}

/* r = (-1)^negative t 2^e within err, in units of 2^e: at most n limbs of it, and none that the error covers. t is not in
 * r. */
RM_SHARED void rm_ball_store(rm_ball *r, int negative, const uint64_t *t, int length, int64_t e, double err, int n);

/* Exact numbers. */
RM_FN void rm_ball_set_u64(rm_ball *r, uint64_t x, int n) { rm_ball_store(r, 0, &x, 1, 0, 0.0, n); }
RM_FN void rm_ball_set_i64(rm_ball *r, int64_t x, int n) {
  const uint64_t m = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  rm_ball_store(r, x < 0, &m, 1, 0, 0.0, n);
}
RM_FN void rm_ball_set(rm_ball *r, double x, int n) {
  int e = 0;
  if (!rm_is_finite(x)) { /* infinite or NaN */
    rm_ball_unknown(r, n);
    return;
  }
  const uint64_t m = x == 0.0 ? 0 : rm_decompose(x, &e);
  rm_ball_store(r, x < 0.0, &m, 1, e, 0.0, n);
}
RM_FN void rm_ball_copy(rm_ball *r, const rm_ball *a) {
  if (r == a) return;
  for (int i = 0; i < a->length; i++) r->m[i] = a->m[i];
  r->e = a->e, r->err = a->err, r->negative = a->negative, r->length = a->length, r->n = a->n;
}
RM_FN int rm_ball_is_exact(const rm_ball *a) { return a->err == 0.0; }
RM_FN int rm_ball_is_zero(const rm_ball *a) { return a->length == 0 && a->err == 0.0; }
RM_FN int rm_ball_is_unknown(const rm_ball *a) { return !(a->err < 0x1p400); }
RM_FN void rm_ball_neg(rm_ball *r, const rm_ball *a) {
  rm_ball_copy(r, a);
  if (r->length > 0) r->negative = !r->negative;
}
RM_FN void rm_ball_scale(rm_ball *r, const rm_ball *a, int64_t k) {
  rm_ball_copy(r, a);
  r->e = k > RM_BALL_EXPONENT || k < -RM_BALL_EXPONENT ? 2 * RM_BALL_EXPONENT : r->e + k;
  if (rm_ball_is_zero(r)) r->e = 0;
  if (r->e > RM_BALL_EXPONENT || r->e < -RM_BALL_EXPONENT) rm_ball_unknown(r, r->n);
}

/* t = |a| 2^(a.e - e) in `length` limbs, the fraction cut off; whether anything was. */
RM_SHARED int rm_ball_place(uint64_t *t, int length, const rm_ball *a, int64_t e);

/* The exponent above which all of |a| lies: every number of a is below 2^top, for a that is not zero. */
RM_FN int64_t rm_ball_top(const rm_ball *a) {
  int64_t top = a->length ? a->e + 64 * (int64_t)a->length - rm_clz64(a->m[a->length - 1]) : a->e;
  if (a->err == 0.0) return top;
  if (rm_ball_is_unknown(a)) return 4 * RM_BALL_EXPONENT;
  return rm_ball_max(top, a->e + rm_ball_exponent(a->err) + 1) + 1;
}

/* a + b, or a - b. Both are brought to one unit: that of the finer one, unless this is more than a limb below what n limbs
 * hold, or 2^-64 of an error. */
RM_SHARED void rm_ball_add_signed(rm_ball *r, const rm_ball *a, const rm_ball *b, int b_negative);
RM_FN void rm_ball_add(rm_ball *r, const rm_ball *a, const rm_ball *b) { rm_ball_add_signed(r, a, b, b->negative); }
RM_FN void rm_ball_sub(rm_ball *r, const rm_ball *a, const rm_ball *b) { rm_ball_add_signed(r, a, b, !b->negative); }

/* More than |M| in units of 2^(64 (length - 1)), and less than it (0 when length = 0). */
RM_FN double rm_ball_above(const rm_ball *a) { return a->length ? rm_ball_up((double)a->m[a->length - 1] + 1.0) : 0.0; }
RM_FN double rm_ball_below(const rm_ball *a) { return a->length ? (double)a->m[a->length - 1] * (1.0 - 0x1p-50) : 0.0; }

/* |M| up to 2^-52 of it, in the same units. */
RM_FN double rm_ball_leading(const rm_ball *a) {
  const double next = a->length > 1 ? (double)a->m[a->length - 2] * 0x1p-64 : 0.0;
  return a->length ? (double)a->m[a->length - 1] + next : 0.0;
}

/* a b. |A B - a b| <= |a| eb + |b| ea + ea eb, in units of 2^(64 drop) of the product's: limbs far below the error are
 * dropped before it is put in binary64. */
RM_SHARED void rm_ball_mul(rm_ball *r, const rm_ball *a, const rm_ball *b);

/* q[0 .. k-1] = floor(u / d), k = nu - nd + 1, and u becomes the rest; u has nu + 1 limbs, the last one 0, d has nd <= nu,
 * the last one not 0. Returns whether there is a rest. Digit by digit (Knuth, TAOCP 2, 4.3.1 D): with the top bit of d set,
 * the quotient of the two top limbs of the rest by the top limb of d is at most 2 too large. */
RM_SHARED int rm_limbs_divide(uint64_t *q, uint64_t *u, int nu, const uint64_t *divisor, int nd);

/* a/b. The quotient of M_a 2^(64 s) by M_b has `digits` limbs or one more: n + 1, or two more than the operands that have
 * errors. It is cut (below one unit, two when a was cut before), and A/B - a/b = ((A - a) - (a/b)(B - b)) / B. */
RM_SHARED void rm_ball_div(rm_ball *r, const rm_ball *a, const rm_ball *b);

/* -1, 0, 1, or RM_SIGN_UNKNOWN. */
RM_FN int rm_ball_sign(const rm_ball *a) {
  const double size = a->length == 0   ? 0.0
                      : a->length == 1 ? (double)a->m[0] * (1.0 - 0x1p-50)
                      : a->length == 2 ? (double)a->m[1] * (0x1p64 * (1.0 - 0x1p-50))
                                       : 0x1p128;
  if (rm_ball_is_zero(a)) return 0;
  return size > RM_BOUND(a->err) ? (a->negative ? -1 : 1) : RM_SIGN_UNKNOWN;
}
/* That of a - b. */
RM_SHARED int rm_ball_compare(const rm_ball *a, const rm_ball *b);

/* a^k; a^0 = 1. Where repeated squares come near to the end of the range of exponents, a^k lies between 0 and such a
 * square. */
RM_SHARED void rm_ball_pow(rm_ball *r, const rm_ball *a, uint64_t k);

/* r = a without its error, cut to n limbs. */
RM_FN void rm_ball_middle(rm_ball *r, const rm_ball *a, int n) {
  RM_BIG(uint64_t, t, RM_BALL_LIMBS);
  const int length = a->length, skip = length > n ? length - n : 0;
  for (int i = skip; i < length; i++) t[i - skip] = a->m[i];
  rm_ball_store(r, a->negative, t, length - skip, a->e + 64 * (int64_t)skip, 0.0, n);
}

/* sqrt(a). r = (r + a/r)/2 from the root of the top limbs, in growing precision; then |sqrt(A) - r| <= |A - r^2| / r bounds
 * the error, however r was found. A root that is a short number is tried as one: exact roots stay exact. Unknown when A may
 * be negative. */
RM_SHARED void rm_ball_sqrt(rm_ball *r, const rm_ball *a);

#if RM_DEFINES_SHARED
RM_SHARED double rm_ball_shifted(double err, int64_t k) {
  if (err == 0.0) return 0.0;
  if (!(err < 0x1p400) || k > 800) return rm_ball_infinity();
  const double scaled = k < -1000 ? 0.0 : err * rm_pow2((int)k);
  return scaled > 0x1p-64 ? scaled : 0x1p-64;
}

RM_SHARED void rm_ball_store(rm_ball *r, int negative, const uint64_t *t, int length, int64_t e, double err, int n) {
  if (n > RM_BALL_LIMBS) n = RM_BALL_LIMBS;
  if (!(err < 0x1p400) || e > RM_BALL_EXPONENT || e < -RM_BALL_EXPONENT) {
    rm_ball_unknown(r, n);
    return;
  }
  length = rm_limbs_length(t, length);
  int drop = length > n ? length - n : 0, covered = 0, cut = 0;
  for (double rest = err; rest >= 0x1p64; rest *= 0x1p-64) covered++;
  if (covered > drop) drop = covered;
  for (int i = 0; i < drop && i < length; i++) cut |= t[i] != 0;
  err = rm_ball_up(rm_ball_shifted(err, -64 * (int64_t)drop) + (double)cut);
  if (err == 0.0) /* zeros at the end of exact numbers */
    while (drop < length && t[drop] == 0) drop++;
  r->length = length > drop ? length - drop : 0;
  for (int i = 0; i < r->length; i++) r->m[i] = t[drop + i];
  r->e = e + 64 * (int64_t)drop;
  r->err = err;
  r->negative = negative && length > 0;
  r->n = n;
}

RM_SHARED int rm_ball_place(uint64_t *t, int length, const rm_ball *a, int64_t e) {
  const int64_t up = a->e - e;
  int cut = 0;
  for (int i = 0; i < length; i++) t[i] = 0;
  /* Bit 0 of limb i goes to bit 64 i + up. */
  const int64_t limb = up >> 6;
  const int bit = (int)(up & 63);
  for (int i = 0; i < a->length; i++) {
    const uint64_t low = a->m[i] << bit, high = bit ? a->m[i] >> (64 - bit) : 0;
    const int64_t at = limb + i;
    if (at >= 0 && at < length) t[at] |= low;
    else cut |= low != 0;
    if (at + 1 >= 0 && at + 1 < length) t[at + 1] |= high;
    else cut |= high != 0;
  }
  return cut;
}

RM_SHARED void rm_ball_add_signed(rm_ball *r, const rm_ball *a, const rm_ball *b, int b_negative) {
  enum { LIMBS = RM_BALL_LIMBS + 4 };
  RM_BIG(uint64_t, s, LIMBS);
  RM_BIG(uint64_t, t, LIMBS);
  const int n = rm_ball_precision(a, b);
  if (rm_ball_is_unknown(a) || rm_ball_is_unknown(b)) {
    rm_ball_unknown(r, n);
    return;
  }
  if (rm_ball_is_zero(b) || rm_ball_is_zero(a)) {
    const int other = rm_ball_is_zero(b), negative = other ? a->negative : b_negative;
    rm_ball_copy(r, other ? a : b);
    r->negative = negative && r->length > 0;
    r->n = n;
    return;
  }
  const int64_t top = rm_ball_max(a->e + 64 * (int64_t)a->length, b->e + 64 * (int64_t)b->length);
  int64_t e = a->e < b->e ? a->e : b->e;
  e = rm_ball_max(e, top - 64 * ((int64_t)n + 1));
  /* Below 2^64 units: rm_ball_store would drop a limb of more, and what it cuts off would double the error at every term. */
  if (a->err != 0.0) e = rm_ball_max(e, a->e + rm_ball_exponent(a->err) - 63);
  if (b->err != 0.0) e = rm_ball_max(e, b->e + rm_ball_exponent(b->err) - 63);
  int length = e >= top ? 1 : (int)((top - e + 63) / 64) + 1; /* at most n + 2, and the carry fits */
  const int cut = rm_ball_place(s, length, a, e) + rm_ball_place(t, length, b, e);
  const double err = rm_ball_up(rm_ball_shifted(a->err, a->e - e) + rm_ball_shifted(b->err, b->e - e) + (double)cut);
  int negative = a->negative;
  if (a->negative == b_negative) {
    rm_mp_add(s, s, t, length - 1);
  } else if (rm_mp_less(s, t, length - 1)) {
    rm_mp_sub(s, t, s, length - 1);
    negative = b_negative;
  } else {
    rm_mp_sub(s, s, t, length - 1);
  }
  rm_ball_store(r, negative, s, length, e, err, n);
}

RM_SHARED void rm_ball_mul(rm_ball *r, const rm_ball *a, const rm_ball *b) {
  RM_BIG(uint64_t, t, 2 * RM_BALL_LIMBS + 1);
  const int n = rm_ball_precision(a, b), la = a->length, lb = b->length;
  if (rm_ball_is_unknown(a) || rm_ball_is_unknown(b)) {
    rm_ball_unknown(r, n);
    return;
  }
  for (int i = 0; i < la + lb; i++) t[i] = 0;
  for (int i = 0; i < la; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < lb; j++) {
      const rm_u128 p = (rm_u128)a->m[i] * b->m[j] + t[i + j] + carry;
      t[i + j] = (uint64_t)p;
      carry = (uint64_t)(p >> 64);
    }
    t[i + lb] = carry;
  }
  const int64_t ka = la ? la - 1 : 0, kb = lb ? lb - 1 : 0;
  int64_t drop = 0;
  if (b->err != 0.0) drop = rm_ball_max(drop, ka - 1);
  if (a->err != 0.0) drop = rm_ball_max(drop, kb - 1);
  if (drop > la + lb) drop = la + lb;
  int cut = 0;
  for (int i = 0; i < drop; i++) cut |= t[i] != 0;
  double err = (double)cut;
  if (la) err += rm_ball_shifted(rm_ball_above(a) * b->err, 64 * (ka - drop));
  if (lb) err += rm_ball_shifted(rm_ball_above(b) * a->err, 64 * (kb - drop));
  err += rm_ball_shifted(a->err * b->err, -64 * drop);
  const int negative = a->negative != b->negative;
  rm_ball_store(r, negative, t + drop, la + lb - (int)drop, a->e + b->e + 64 * drop, rm_ball_up(err), n);
}

RM_SHARED int rm_limbs_divide(uint64_t *q, uint64_t *u, int nu, const uint64_t *divisor, int nd) {
  RM_BIG(uint64_t, d, RM_BALL_LIMBS);
  uint64_t rest = 0;
  const int s = rm_clz64(divisor[nd - 1]);
  for (int i = 0; i < nd; i++) d[i] = divisor[i] << s | (s && i > 0 ? divisor[i - 1] >> (64 - s) : 0);
  for (int i = nu; s && i >= 0; i--) u[i] = u[i] << s | (i > 0 ? u[i - 1] >> (64 - s) : 0);
  for (int k = nu - nd; k >= 0; k--) {
    uint64_t *w = u + k, digit = ~UINT64_C(0), carry = 0, borrow = 0; /* w[nd] ... w[0] is below 2^64 d */
    if (w[nd] < d[nd - 1]) digit = (uint64_t)(((rm_u128)w[nd] << 64 | w[nd - 1]) / d[nd - 1]);
    for (int i = 0; i < nd; i++) {
      const rm_u128 p = (rm_u128)d[i] * digit + carry, x = (rm_u128)w[i] - (uint64_t)p - borrow;
      carry = (uint64_t)(p >> 64);
      w[i] = (uint64_t)x;
      borrow = (uint64_t)(x >> 64) & 1;
    }
    w[nd] -= carry + borrow;
    while (w[nd] != 0) { /* negative: at most twice */
      uint64_t c = 0;
      for (int i = 0; i < nd; i++) {
        const rm_u128 x = (rm_u128)w[i] + d[i] + c;
        w[i] = (uint64_t)x;
        c = (uint64_t)(x >> 64);
      }
      w[nd] += c;
      digit--;
    }
    q[k] = digit;
  }
  for (int i = 0; i < nd; i++) rest |= u[i];
  return rest != 0;
}

RM_SHARED void rm_ball_div(rm_ball *r, const rm_ball *a, const rm_ball *b) {
  RM_BIG(uint64_t, u, 2 * RM_BALL_LIMBS + 8);
  RM_BIG(uint64_t, q, RM_BALL_LIMBS + 8);
  const int n = rm_ball_precision(a, b), la = a->length, lb = b->length;
  if (rm_ball_is_unknown(a) || rm_ball_is_unknown(b) || lb == 0) {
    rm_ball_unknown(r, n);
    return;
  }
  const double whole = rm_ball_below(b), off = rm_ball_shifted(b->err, -64 * ((int64_t)lb - 1));
  const double smallest = (whole - off) * (1.0 - 0x1p-40);
  if (!(smallest >= 0.25 * whole)) {
    rm_ball_unknown(r, n);
    return;
  }
  if (rm_ball_is_zero(a)) {
    rm_ball_set_u64(r, 0, n);
    return;
  }
  int digits = n + 1;
  if (a->err != 0.0 && la + 2 < digits) digits = la + 2;
  if (b->err != 0.0 && lb + 2 < digits) digits = lb + 2;
  const int s = digits - la + lb, nu = digits + lb; /* = la + s */
  int cut = 0;
  for (int i = 0; i < nu; i++) u[i] = i - s >= 0 && i - s < la ? a->m[i - s] : 0;
  for (int i = 0; i < -s; i++) cut |= a->m[i] != 0;
  u[nu] = 0;
  cut += rm_limbs_divide(q, u, nu, b->m, lb);
  const int lq = rm_limbs_length(q, nu - lb + 1), top = lq ? lq - 1 : 0;
  const double quotient = (lq ? (double)q[lq - 1] : 0.0) + 3.0;
  double err = rm_ball_shifted(a->err / smallest, 64 * ((int64_t)s - lb + 1));
  err += rm_ball_shifted(quotient * b->err / smallest, 64 * ((int64_t)top - lb + 1));
  err = rm_ball_up(err + (double)cut);
  rm_ball_store(r, a->negative != b->negative, q, lq, a->e - b->e - 64 * (int64_t)s, err, n);
}

RM_SHARED int rm_ball_compare(const rm_ball *a, const rm_ball *b) {
  rm_ball d;
  rm_ball_sub(&d, a, b);
  return rm_ball_sign(&d);
}

RM_SHARED void rm_ball_pow(rm_ball *r, const rm_ball *a, uint64_t k) {
  const uint64_t none = 0;
  rm_ball base;
  rm_ball_copy(&base, a);
  rm_ball_set_u64(r, 1, base.n);
  for (;;) {
    if (rm_ball_top(&base) < -RM_BALL_EXPONENT / 4 && !rm_ball_is_zero(&base)) { /* then |r| <= 1, and r base^k is a^k */
      rm_ball_store(r, 0, &none, 1, -RM_BALL_EXPONENT / 4, 1.0, base.n);
      return;
    }
    if (k & 1) rm_ball_mul(r, r, &base);
    k >>= 1;
    if (k == 0) break;
    rm_ball_mul(&base, &base, &base);
  }
}

RM_SHARED void rm_ball_sqrt(rm_ball *r, const rm_ball *a) {
  rm_ball root, part, rest;
  const int n = a->n;
  if (rm_ball_is_zero(a)) {
    rm_ball_copy(r, a);
    return;
  }
  if (rm_ball_is_unknown(a) || rm_ball_sign(a) != 1) {
    rm_ball_unknown(r, n);
    return;
  }
  const int limbs = a->err != 0.0 && a->length + 2 < n ? a->length + 2 : n;
  const int64_t low = a->e + 64 * ((int64_t)a->length - 1); /* the top limb is a multiple of 2^low */
  const double leading = rm_ball_leading(a);
  rm_ball_set(&root, __builtin_sqrt(low & 1 ? 2.0 * leading : leading), n);
  rm_ball_scale(&root, &root, (low - (low & 1)) / 2);
  for (int bits = 50; bits < 64 * (limbs + 1);) {
    bits *= 2;
    const int p = bits / 64 + 2 < limbs ? bits / 64 + 2 : limbs;
    rm_ball_middle(&part, a, p);
    rm_ball_middle(&root, &root, p);
    rm_ball_div(&part, &part, &root);
    rm_ball_add(&root, &root, &part);
    rm_ball_scale(&root, &root, -1);
    root.err = 0.0;
  }
  root.n = n;
  if (a->err == 0.0) { /* half of a's bits: the nearest multiple of 2^(e/2) */
    rm_ball half;
    const int64_t unit = a->e >> 1;
    rm_ball_set_u64(&half, 1, n);
    rm_ball_scale(&half, &half, unit - 1);
    rm_ball_add(&part, &root, &half);
    if (part.e < unit && unit - part.e < 64 * (int64_t)part.length) {
      RM_BIG(uint64_t, t, RM_BALL_LIMBS);
      const int length = part.length;
      rm_ball_place(t, length, &part, unit);
      rm_ball_store(&part, 0, t, length, unit, 0.0, n);
      rm_ball_mul(&rest, &part, &part);
      rm_ball_sub(&rest, a, &rest);
      if (rm_ball_is_zero(&rest)) {
        rm_ball_copy(r, &part);
        return;
      }
    }
  }
  rm_ball_mul(&rest, &root, &root);
  rm_ball_sub(&rest, a, &rest);
  const int64_t lr = root.length - 1, lt = rest.length ? rest.length - 1 : 0;
  const double off = rm_ball_above(&rest) + rm_ball_shifted(rest.err, -64 * lt);
  /* off 2^(rest.e + 64 lt) / (below(root) 2^(root.e + 64 lr)), in units of 2^root.e */
  const double err = rm_ball_shifted(off / rm_ball_below(&root), rest.e + 64 * lt - 2 * root.e - 64 * lr);
  rm_ball_store(r, 0, root.m, root.length, root.e, rm_ball_up(err), n);
}
#endif

/* The rest of these operations. */
#include "ball_log_exp.h"
#include "ball_round.h"
