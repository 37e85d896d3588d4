/* sin, cos and tan in multiprecision fixed point (fp/mp.h): values with a stated error, and the correctly rounded results
 * from them. */
#pragma once

#include "../fp/mp.h"
#include "sin_tables.h"

/* 64 bits of 2/pi, the highest of weight 2^-first; bits of weight 1 and more are 0. -2^30 < first <= 2112. */
RM_FN uint64_t rm_sin_bits(int first) {
  if (first <= -63) return 0;
  if (first <= 0) return rm_sin_2_pi[0] >> (1 - first);
  const int limb = (first - 1) / 64, bit = (first - 1) % 64;
  return bit ? rm_sin_2_pi[limb] << bit | rm_sin_2_pi[limb + 1] >> (64 - bit) : rm_sin_2_pi[limb];
}

/* |x| 2/pi modulo 4 = r 2^(2 - 64 count), too small by less than 2^53 units; x finite and not 0, count <= RM_MP_MAX + 2
 * (Payne and Hanek, 1983).
 *
 * |x| = m 2^e: bits of 2/pi of weight 2^(2-e) and more make multiples of 4. Of those below, from 2^(1-e) down, 64 count are
 * taken; what is left out is below one unit before it is multiplied by m < 2^53. */
RM_LONG void rm_sin_payne_hanek(uint64_t *r, double x, int count) {
  int e;
  const uint64_t m = rm_decompose(x, &e);
  uint64_t carry = 0;
  for (int i = 0; i < count; i++) {
    const rm_u128 p = (rm_u128)rm_sin_bits(e - 1 + 64 * (count - 1 - i)) * m + carry;
    r[i] = (uint64_t)p;
    carry = (uint64_t)(p >> 64);
  }
}

/* The integer nearest to r 2^(bits - 64 count), which is returned; |the rest| 2^(64 count) replaces r, and *negative tells
 * its sign. */
RM_LONG int rm_sin_take(uint64_t *r, int bits, int count, int *negative) {
  int top = (int)(r[count - 1] >> (64 - bits));
  for (int i = count - 1; i >= 0; i--) r[i] = r[i] << bits | (i ? r[i - 1] >> (64 - bits) : 0);
  *negative = (int)(r[count - 1] >> 63);
  if (*negative) { /* 1 - rest */
    uint64_t carry = 1;
    top++;
    for (int i = 0; i < count; i++) {
      r[i] = ~r[i] + carry;
      carry = carry && r[i] == 0;
    }
  }
  return top;
}

/* |x| = k pi/2 + (-1)^negative r 2^-j with pi/4 <= r < pi/2, j >= 1, r within n + 5 units; returns k modulo 4. For |x| >=
 * 2^-60.
 *
 * The fraction f of |x| 2/pi, at most 1/2, has 64 (n+2) - 2 bits and is off by 2^53 of their units. It is at least 2^-61.6: k
 * = 0, or |x| is no nearer to k pi/2 than 2^-60.9 (sin_gen.py). So f 2^j is in [1/2, 1) for j <= 61, off by 2^(61 + 53 + 2 -
 * 128) units of n limbs, and cut to them within 1.01. Times pi/2, cut by less than a unit: 1.6 + 1, and n+1 for the
 * product. */
RM_LONG int rm_sin_mp_reduce(uint64_t *r, double x, int n, int *j, int *negative) {
  uint64_t f[RM_MP_MAX + 2] = {0};
  const int count = n + 2;
  rm_sin_payne_hanek(f, x, count);
  const int k = rm_sin_take(f, 2, count, negative);
  *j = rm_clz64(f[count - 1] | 1);
  for (int i = 0; i < n; i++) r[i] = f[i + 2] << *j | f[i + 1] >> (64 - *j);
  r[n] = 0;
  rm_mp_mul(r, r, rm_sin_pi_2 + (17 - n), n);
  return k & 3;
}

/* v = sum over i of (-u)^i first!/(2i + first)!, within 10 n + 12 units, for 0 <= u <= 0.62 within 1.1 n + 5 units: for u =
 * r^2, cos r (first = 0) or sin r / r (first = 1).
 *
 * Term i, divided by d = (2i-1) 2i or 2i (2i+1), is off by e_i <= (0.62 e_(i-1) + t_(i-1) (1.1 n + 5) + n+1)/d + 1: e_1 <=
 * 1.05 n + 4, e_2 <= 0.17 n + 1.5, e_3 <= 0.04 n + 1.1, then 0.02 n + 1.04. At most 6 n + 6 terms come before one is 0, and
 * what follows is below 2 units. Sum: 1.26 n + 6.6 + (6 n + 3)(0.02 n + 1.04) + 2 <= 10 n + 12 for n <= 16. */
RM_LONG void rm_sin_mp_series(uint64_t *v, const uint64_t *u, int first, int n) {
  uint64_t t[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  rm_mp_set(t, 1, n);
  rm_mp_set(v, 1, n);
  rm_mp_set(minus, 0, n);
  for (uint64_t i = 1; rm_mp_length(t, n) > 0; i++) {
    const uint64_t d = 2 * i + (uint64_t)first;
    rm_mp_mul(t, t, u, n);
    rm_mp_div_small(t, t, (d - 1) * d, n);
    rm_mp_add(i & 1 ? minus : v, i & 1 ? minus : v, t, n);
  }
  rm_mp_sub(v, v, minus, n);
}

/* u = (r 2^-j)^2 within 1.1 n + 5 units: r^2 is off by 2 1.58 (n + 5) + n+1, j >= 1 divides that by 4 and adds one. */
RM_LONG void rm_sin_mp_square(uint64_t *u, const uint64_t *r, int j, int n) {
  rm_mp_mul(u, r, r, n);
  rm_mp_shift_down(u, u, 2 * j, n);
}

/* s = sin(r 2^-j) 2^j in [0.7, 1.58), within 18 n + 26 units: the series, off by 10 n + 12, times r < 1.58; r, off by n + 5;
 * and n+1 for the product. s is not r. */
RM_LONG void rm_sin_mp_sin(uint64_t *s, const uint64_t *r, const uint64_t *u, int n) {
  rm_sin_mp_series(s, u, 1, n);
  rm_mp_mul(s, s, r, n);
}

RM_FN uint64_t rm_sin_mp_err(int n) { return (uint64_t)(18 * n + 26); }

/* |sin(k pi/2 + rest)| = v 2^e, |rest| = r 2^-j with r and j as reductions give them; *negative when the sine is. Returns
 * e. */
RM_LONG int rm_sin_mp_reduced(uint64_t *v, const uint64_t *r, int k, int j, int rest_negative, int n, int *negative) {
  uint64_t u[RM_MP_LIMBS];
  rm_sin_mp_square(u, r, j, n);
  *negative = k >> 1 & 1;
  if (k & 1) {
    rm_sin_mp_series(v, u, 0, n);
    return 0;
  }
  rm_sin_mp_sin(v, r, u, n);
  *negative ^= rest_negative;
  return -j;
}

/* |sin(|x| + turn pi/2)| = v 2^e within rm_sin_mp_err(n) units, |x| >= 2^-60; *negative when the sine is. Returns e <=
 * 0. */
RM_LONG int rm_sin_mp(uint64_t *v, double x, int turn, int n, int *negative) {
  uint64_t r[RM_MP_LIMBS];
  int j, rest_negative;
  const int k = rm_sin_mp_reduce(r, x, n, &j, &rest_negative) + turn;
  return rm_sin_mp_reduced(v, r, k, j, rest_negative, n, negative);
}

/* sin(|x| + turn pi/2), its sign changed when `flip`, correctly rounded; |x| >= 2^-60. */
RM_COLD uint64_t rm_sin_mp_round(double x, int turn, int flip, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative;
    const int e = rm_sin_mp(v, x, turn, n, &negative);
    if (rm_mp_round(negative ^ flip, v, e, rm_sin_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
