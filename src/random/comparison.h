/* Rounds a number X = mean + std z, z = Phi^-1(p), by comparison with the boundaries of rounding B below and above it. X > B
 * if p > Phi(r), r = (B - mean)/std, which is a comparison of tails in multiprecision fixed point (crlibm/fp/mp.h), at
 * growing precision. Boundaries are found from a guess in steps that double, then by halving. Only files that are compiled
 * once include this one: normal_exact.inl, truncated_exact.inl. */
#pragma once

#include "../../crlibm/erfc/erfc_mp.h"
#include "../../crlibm/fp/exact.h"
#include "../../crlibm/multiply/multiply_accurate.h"

/* A number (-1)^negative m 2^e; m = 0 for 0. */
typedef struct {
  int negative, e;
  uint64_t m;
} rm_dyadic;

RM_STATIC rm_dyadic rm_dyadic_of(double x) {
  rm_dyadic v = {rm_is_negative(x), 0, 0};
  if (x != 0.0) v.m = rm_decompose(x, &v.e);
  return v;
}

/* 2^*e <= |v| < 2^(*e + 1), for v != 0. */
RM_STATIC int rm_dyadic_exponent(rm_dyadic v) { return v.e + 63 - rm_clz64(v.m); }

/* r = |b - mean|/std in multiprecision fixed point where this is below 128: *r <= |r| <= *r + 2^(64 (n - n/2)) + 1024 units,
 * all but the upper n/2 limbs of the fraction 0, so that r^2 is exact. Returns the sign of b - mean, 0 when it is 0; *size
 * becomes e with 2^(e-1) < |r| < 2^(e+1). With n = 0 that is all.
 *
 * Units: |b| and |mean| are cut to one each, both divided by 2^(exponent of std), below 2^62 as |mean| < 2^61 std. The
 * divisor is std scaled to [256, 512), the quotient r/256 is cut by a unit and its terms are off by 2/256: r is within 256
 * + 2 units; 512 are taken off. */
RM_STATIC int rm_mp_ratio(rm_dyadic b, rm_dyadic mean, rm_dyadic std, int n, uint64_t *r, int *size) {
  int negative = b.negative;
  int64_t e = b.e;
  rm_u128 difference = b.m;
  if (mean.m != 0 && b.m != 0) difference = rm_exact_sum(b.negative, b.m, b.e, !mean.negative, mean.m, mean.e, &negative, &e);
  else if (b.m == 0) difference = mean.m, e = mean.e, negative = !mean.negative;
  if (difference == 0) return 0;
  const int scale = rm_dyadic_exponent(std), sign = negative ? -1 : 1;
  *size = (int)(e + 127 - rm_clz128(difference)) - scale;
  if (n == 0) return sign;
  uint64_t x[RM_MP_LIMBS], y[RM_MP_LIMBS], d[RM_MP_LIMBS];
  rm_mp_set(x, 0, n), rm_mp_set(y, 0, n);
  if (b.m) rm_mp_from_integer(x, b.m, b.e - scale, n);
  if (mean.m) rm_mp_from_integer(y, mean.m, mean.e - scale, n);
  if (b.m && mean.m && b.negative != mean.negative) {
    rm_mp_add(x, x, y, n);
  } else if (rm_mp_less(x, y, n)) {
    rm_mp_sub(x, y, x, n);
  } else {
    rm_mp_sub(x, x, y, n);
  }
  rm_mp_from_integer(d, std.m, std.e - scale + 8, n);
  rm_mp_div(r, x, d, n);
  rm_mp_shift_up(r, r, 8, n);
  rm_mp_set(d, 0, n), d[0] = 512;
  if (rm_mp_less(d, r, n)) rm_mp_sub(r, r, d, n);
  else rm_mp_set(r, 0, n);
  for (int i = 0; i < n - n / 2; i++) r[i] = 0;
  return sign;
}

/* v 2^k = erfc(r/sqrt(2)), twice the tail beyond r < 60, v within *err units. r as rm_mp_ratio leaves it: r^2/2 is cut by a
 * unit at most. */
RM_STATIC int rm_mp_tail(const uint64_t *r, uint64_t *v, int n, uint64_t *err) {
  uint64_t a[RM_MP_LIMBS], y[RM_MP_LIMBS], f[RM_MP_LIMBS];
  rm_mp_mul(a, r, rm_mp_sqrt_half + (RM_MP_TABLE_LIMBS - 1 - n), n); /* less than n + 1 + r units short (erfc_mp.h) */
  rm_mp_mul(y, r, r, n);
  rm_mp_shift_down(y, y, 1, n);
  rm_mp_copy(f, y, n);
  *err = a[n] >= 4 ? rm_erfcx_mp_fraction(v, a, n) : rm_erfcx_mp_series(v, a, f, n); /* doubles f */
  const int k = rm_exp_mp(f, y, 1, n);
  rm_mp_mul(v, v, f, n);
  *err = rm_exp_mp_err(n) + 3 * *err + (uint64_t)n + 2; /* as rm_erfc_mp_of */
  return k;
}

/* Numbers of the format in their order: code c >= 0 has the bits c, code c < 0 is the negative of code -c. The boundary
 * above it. */
RM_STATIC rm_dyadic rm_boundary_above(int64_t c, int format) {
  const int p = rm_precision(format), negative = c < 0;
  const uint64_t size = (uint64_t)(negative ? -c - 1 : c), field = size >> (p - 1), below = (UINT64_C(1) << (p - 1)) - 1;
  const int e = rm_emin(format) - (p - 1) + (field ? (int)field - 1 : 0);
  return (rm_dyadic){negative, e - 1, 2 * ((size & below) | (field ? below + 1 : 0)) + 1};
}

RM_STATIC int64_t rm_code_of(uint64_t bits, int format) {
  const uint64_t sign = rm_sign_bit(format);
  return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

/* high - low, which int64_t need not hold. */
RM_STATIC uint64_t rm_code_distance(int64_t low, int64_t high) { return (uint64_t)high - (uint64_t)low; }

/* Whether X > b. */
typedef int rm_beyond_fn(const void *target, rm_dyadic b);

/* The least code whose upper boundary lies above X; that of infinity when there is none. */
RM_STATIC int64_t rm_boundary_search(rm_beyond_fn *beyond, const void *target, int64_t guess, int format) {
  const int64_t end = (int64_t)rm_infinity_bits(format);
  int64_t low = -end, high = end; /* the code is in [low, high] */
  if (guess < low) guess = low;
  if (guess > high - 1) guess = high - 1;
  int direction = 0;
  int64_t at = guess;
  for (uint64_t step = 1; low < high; step *= 2) {
    if (beyond(target, rm_boundary_above(at, format))) {
      low = at + 1;
      if (direction < 0) break;
      direction = 1;
      at = rm_code_distance(at, high - 1) > step ? at + (int64_t)step : high - 1;
    } else {
      high = at;
      if (direction > 0) break;
      direction = -1;
      at = rm_code_distance(low, at) > step ? at - (int64_t)step : low;
    }
  }
  while (low < high) {
    const int64_t middle = low + (int64_t)(rm_code_distance(low, high) / 2);
    if (beyond(target, rm_boundary_above(middle, format))) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* X rounded. The search begins at a guess, which may be anything. */
RM_STATIC uint64_t rm_round_by_comparison(rm_beyond_fn *beyond, const void *target, double guess, int format,
                                          uint32_t *flags) {
  uint32_t ignored = 0;
  const uint64_t start = rm_multiply_accurate(guess, 1.0, format, RM_NEAREST, &ignored);
  const int64_t code = rm_boundary_search(beyond, target, rm_code_of(start, format), format),
                infinity = (int64_t)rm_infinity_bits(format);
  if (code == 0) return rm_signed_zero(!beyond(target, rm_dyadic_of(0.0)), format);
  if (code == infinity || code == -infinity) *flags |= RM_FLAG_OVERFLOW;
  return code < 0 ? (uint64_t)-code | rm_sign_bit(format) : (uint64_t)code;
}
