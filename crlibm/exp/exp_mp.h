/* exp in multiprecision fixed point (fp/mp.h): a value with a stated error, and the correctly rounded result from it. */
#pragma once

#include "../fp/mp.h"
#include "../fp/mp_tables.h"

/* Halvings of the argument: each costs a squaring and saves Taylor terms. */
RM_FN int rm_exp_mp_halvings(int n) { return 8 + n / 2; }

/* The error of rm_exp_mp in units, for an argument within 8 units (derived there). */
RM_FN uint64_t rm_exp_mp_err(int n) { return ((uint64_t)(8 * n + 8) * (uint64_t)(n + 6)) << rm_exp_mp_halvings(n); }

/* f 2^k = exp(y), or exp(-y) when negative, for 0 <= y <= 2^11 known within 8 units; 1 <= f < 2 (1 + 2^-18), f within
 * rm_exp_mp_err(n) units. Returns k.
 *
 * k is floor(y/ln2 - 2^-20) up to an error far below 2^-21 in double, so r = +-y - k ln2 is in (0, ln2 (1 + 2^-19)) and
 * needs no sign. h = 8 + n/2 halvings give r' < 2^-8.5, and exp(r) = exp(r')^(2^h).
 *
 * Errors in units. k ln2 is taken from n+1 fraction limbs and cut: below 1.001; r within 9.01, r' within 9.01/2^h + 1 <
 * 1.04. Term j is t_j = t_(j-1) r'/j: the product is n+1 short, its relative part is that of r', the quotient 1 short; so
 * beside the effect of r', which the sum takes over with derivative exp(r') < 1.003, e_j <= (e_(j-1) 2^-8.5 + n+1)/j + 1 <
 * (n+4)/2 + 0.01 n for j >= 2. Terms fall by 2^-8.5 at least, so there are at most 8 n of them before t_j = 0, and what
 * follows is below e_j + 1. Sum: E = 8 n (n+4)/2 + n + 5 units at the most, with sum >= 1 also relatively. A squaring
 * doubles the relative error and adds n+1 units: after h of them 2^h (E + n + 1) relatively, times f < 2.01: 2^h 2.01 (4 n^2
 * + 18 n + 6), which is below 2^h (8 n + 8)(n + 6) = 2^h (8 n^2 + 56 n + 48) for n <= 16. Second-order terms are below 2^-50
 * of this. */
RM_FN int rm_exp_mp(uint64_t *f, const uint64_t *y, int negative, int n) {
  uint64_t r[RM_MP_LIMBS + 2], t[RM_MP_LIMBS];
  const double magnitude = (double)y[n] + (double)y[n - 1] * 0x1p-64;
  const double q = (negative ? -magnitude : magnitude) * 0x1.71547652b82fep+0 - 0x1p-20;
  int k = (int)q;
  const int h = rm_exp_mp_halvings(n);
  if ((double)k > q) k--;

  rm_mp_mul_small(r, rm_mp_ln2 + (RM_MP_TABLE_LIMBS - 2 - n), (uint64_t)(k < 0 ? -k : k), n + 1);
  for (int i = 0; i <= n; i++) r[i] = r[i + 1]; /* back to n fraction limbs */
  if (k >= 0) /* only when not negative */
    rm_mp_sub(r, y, r, n);
  else if (negative) rm_mp_sub(r, r, y, n);
  else rm_mp_add(r, r, y, n);

  rm_mp_shift_down(r, r, h, n);
  rm_mp_copy(t, r, n);
  rm_mp_copy(f, r, n);
  f[n] = 1;
  for (uint64_t j = 2; rm_mp_length(t, n) > 0; j++) {
    rm_mp_mul(t, t, r, n);
    rm_mp_div_small(t, t, j, n);
    rm_mp_add(f, f, t, n);
  }
  for (int i = 0; i < h; i++) rm_mp_mul(f, f, f, n);
  return k;
}

/* y = |x| c within 2 units, for c = ln2 or ln10 (mp_tables.h), 0 < |x| < 2^11, |x| c <= 1100: c is taken with n+1 fraction
 * limbs, its product with the 53-bit significand is less than 2^-11 units short; then two cuts. */
RM_LONG void rm_exp_mp_argument(uint64_t *y, double x, const uint64_t *c, int n) {
  uint64_t t[RM_MP_LIMBS + 2];
  int e;
  const uint64_t m = rm_decompose(x, &e); /* e <= -42 */
  rm_mp_mul_small(t, c + (RM_MP_TABLE_LIMBS - 2 - n), m, n + 1);
  rm_mp_shift_down(t, t, -e, n + 1);
  for (int i = 0; i <= n; i++) y[i] = t[i + 1];
}

/* b^x correctly rounded; ln is rm_mp_ln2 or rm_mp_ln10, or 0 for b = e. |x| ln b is between 2^-60 and 800, and b^x is not a
 * number of the format or a midpoint of two. */
RM_COLD uint64_t rm_exp_mp_round(double x, const uint64_t *ln, int format, rm_mode mode, uint32_t *flags) {
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    if (ln) rm_exp_mp_argument(y, x, ln, n);
    else rm_mp_from_double(y, x, 0, n);
    int k = rm_exp_mp(f, y, x < 0.0, n);
    if (rm_mp_round(0, f, k, rm_exp_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
