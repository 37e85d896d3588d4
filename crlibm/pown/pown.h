/* Powers with an integer n: pown(x, n) = x^n, rootn(x, n) = x^(1/n) and compound(x, n) = (1 + x)^n. The fast kernels, by
 * those of pow: e^z, z = n L or L/n, L = log|x| or log(1 + x).
 *
 * n is exact in binary64 where |n| < 2^51; the accurate phase takes the others.
 *
 * Binary64, u = 2^-53. y log a of pow_b64.h, here for y = 1, is within 2^-46 = 128u for any positive normal a (a machine has
 * proved 70u).
 *   x^n, x^(1/n)   a = |x|, and one rounding more
 *   (1 + x)^n      1 + x = s + e exactly, |e| <= u s: L = log s + log(1 + e/s). Where |x| >= 2^-29, x of 24 bits, e is 0 or L
 *                  above 36. Below, |s - 1| <= 2^-29: the interval of log's table is the one with c = 1, so r = s - 1 exactly
 *                  and log s is within 2u, at most 2.1 |L|; e/s rounds by u |e/s| <= 1.1u |L|, what is left out is
 *                  (e/s)^2/2 <= u |L|/2 (where s = 1 it is x^2/2, elsewhere |L| >= 0.49 2u), the sum rounds by u: 7u
 * So z is within 132u with the roundings of the sum and of n L or L/n. Results that are no zero or infinity have |z| <= 104:
 * 104 132u < 1.68 2^-40, and 1.5 2^-45 of exp, which a machine has proved so far: below RM_POWN_B64_ERR.
 * proofs/integer_powers.py checks these sums, and those of the next paragraph.
 *
 * Double-double. L as in pow_dd.h, for any normal a, is within RM_POW_EXPONENT_DD_ERR.
 *   n L            as there, since n is a binary64 number and 1 <= |n| or n = 0
 *   L/n            q = RN(lh/n), the rest lh - n q is exact; with ll, and divided, it rounds twice below 2^-52 q: 2^-103
 *   log(1 + x)     ch = RN(e/s), cl the exact rest divided: e/s within 2^-104 of itself; (e/s)^2/2 to 2^-52 of itself, which
 *                  is at most u |L|; (e/s)^3/3 < 2^-105 |L|. lh is 0 or |lh| >= |ch|, as s = 1 or |s - 1| >= 2 |e|: Fast2Sum.
 *                  |L| < |lh|/2 happens only where |s - 1| <= 2^-51: the errors of pow_dd.h, which has c = 1 and w = 0 there,
 *                  are powers of s - 1 beyond the third: below 2^-150 |lh|. The parts below 2^-51 |L| round three times
 *                  more: 2^-102
 * What these add, below 2^-100, is within the 2^-82 by which RM_POW_EXPONENT_DD_ERR exceeds its sum. What underflows is below
 * 2^-1000, and n times that changes no z that matters. Without FMA products of s >= 2^996 are NaN, which no test decides. */
#pragma once

#include "../pow/pow.h"

enum {
#define RM_POWER(name, NAME, definition, special) RM_##NAME,
#include "../powers.def"
#undef RM_POWER
};

#define RM_POWN_B64_ERR RM_BOUND(0x1.cp-40)

/* n as a number, where |n| < 2^51; *large are the other lanes. */
RM_FN vf64 rm_pown_number(vi64 n, vm64 *large) {
  const vf64 magic = vf64_set1(0x1.8p52);
  *large = vm64_not(vi64_ltu(vi64_add(n, vi64_set1(INT64_C(1) << 51)), vi64_set1(INT64_C(1) << 52)));
  return vf64_sub(vf64_from_bits(vi64_add(n, vf64_bits(magic))), magic);
}

/* The number whose logarithm is taken, and what is left out of it. */
RM_FN vf64 rm_pown_base(int kind, vf64 x, vf64 *rest) {
  if (kind == RM_COMPOUND) return vf64_two_sum(vf64_set1(1.0), x, rest);
  *rest = vf64_set1(0.0);
  return vf64_abs(x);
}

/* z for a base a + rest. */
RM_FN vf64 rm_pown_exponent(int kind, vf64 a, vf64 rest, vf64 n) {
  vf64 l = rm_pow_exponent(a, vf64_set1(1.0));
  if (kind == RM_ROOTN) return vf64_div(l, n);
  if (kind == RM_COMPOUND) l = vf64_add(l, vf64_div(rest, a));
  return vf64_mul(n, l);
}

/* hi + lo = log(a + rest), k, m, j from rm_log_reduce of a. */
RM_FN void rm_pown_log_dd(int kind, vf64 k, vf64 m, vi64 j, vf64 a, vf64 rest, vf64 *hi, vf64 *lo) {
  vf64 lh, ll;
  rm_pow_log_dd(k, m, j, &lh, &ll);
  *hi = lh;
  *lo = ll;
  if (kind == RM_COMPOUND) {
    vf64 he;
    const vf64 c = vf64_div(rest, a), p = vf64_mul(c, a);
    const vf64 left = vf64_div(vf64_sub(vf64_sub(rest, p), vf64_mul_err(c, a, p)), a);
    *hi = vf64_fast_two_sum(lh, c, &he);
    *lo = vf64_add(vf64_add(he, ll), vf64_nmad(vf64_mul(vf64_set1(0.5), c), c, left));
  }
}

/* zh + zl = z for a logarithm lh + ll. */
RM_FN void rm_pown_exponent_dd(int kind, vf64 lh, vf64 ll, vf64 n, vf64 *zh, vf64 *zl) {
  if (kind == RM_ROOTN) {
    const vf64 q = vf64_div(lh, n), p = vf64_mul(q, n);
    *zh = q;
    *zl = vf64_div(vf64_add(vf64_sub(vf64_sub(lh, p), vf64_mul_err(q, n, p)), ll), n);
  } else {
    *zh = vf64_mul(n, lh);
    *zl = vf64_mad(n, ll, vf64_mul_err(n, lh, *zh));
  }
}

/* A vector of results in *y and the lanes that are undecided. Those of f16, bf16 and f32 may be zero, subnormal and infinite,
 * *large where they are not finite in the format; those of f64 are zero or infinite where z is beyond all others. z, cut to
 * 200, is that far beyond every format, and rm_exp_eval is defined there. */
RM_FN vm64 rm_pown_fast(int kind, int format, vf64 x, vi64 integer, vf64 *y, vm64 *large) {
  const int64_t min = INT64_C(1) << 52, infinity = INT64_C(0x7ff) << 52;
  vm64 unknown;
  vf64 rest, v;
  const vf64 n = rm_pown_number(integer, &unknown), a = rm_pown_base(kind, x, &rest), nought = vf64_set1(0.0);
  unknown = vm64_or(unknown, vm64_not(vi64_ltu(vi64_sub(vf64_bits(a), vi64_set1(min)), vi64_set1(infinity - min))));
  vi64 sign = vi64_and(vi64_sll(integer, 63), vf64_bits(x));
  if (kind == RM_ROOTN) {
    const vm64 even = vi64_disjoint(integer, vi64_set1(1));
    unknown = vm64_or(unknown, vm64_or(vi64_eq(integer, vi64_set1(0)), vm64_and(even, vf64_lt(x, nought))));
  }
  if (kind == RM_COMPOUND) sign = vi64_set1(0);
  if (format == RM_F64) {
    vf64 lh, ll, zh, zl, rh, rl, m, k;
    vi64 j, scale;
    rm_log_reduce(a, &k, &m, &j);
    rm_pown_log_dd(kind, k, m, j, a, rest, &lh, &ll);
    rm_pown_exponent_dd(kind, lh, ll, n, &zh, &zl);
    rm_exp_reduce_dd(zh, zl, &scale, &rh, &rl);
    const vm64 undecided = rm_exp_fast_dd(scale, rh, rl, RM_POW_DD_ERR, &v);
    const vm64 regular = vf64_le(vf64_abs(zh), vf64_set1(708.3)), low = vf64_lt(zh, vf64_set1(-745.2));
    *large = vf64_lt(vf64_set1(709.9), zh); /* log 2^1024 = 709.78... */
    v = vf64_select(*large, vf64_from_bits(vi64_set1(infinity)), vf64_select(low, nought, v));
    unknown = vm64_or(unknown, vm64_andnot(vm64_or(undecided, vm64_not(regular)), vm64_or(*large, low)));
  } else {
    const vf64 end = vf64_set1(200.0);
    v = rm_exp_eval(vf64_min(end, vf64_max(vf64_neg(end), rm_pown_exponent(kind, a, rest, n))));
    *large = vf64_overflows(v, format);
    unknown = vm64_or(unknown, vf64_undecided_any(v, RM_POWN_B64_ERR, format));
  }
  *large = vm64_andnot(*large, unknown);
  *y = vf64_from_bits(vi64_or(vf64_bits(v), sign));
  return unknown;
}
