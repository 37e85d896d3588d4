/* sinpi, cospi and tanpi in multiprecision fixed point (fp/mp.h), by sin_mp.h's series. */
#pragma once

#include "../sin/sin_mp.h"

/* a = k/2 + (-1)^negative f, k the nearest integer, f > 0, and r 2^-j = f pi/2 with pi/4 <= r < pi/2, j >= 0, r within n + 2
 * units; returns k. For 0 < a < 2 that is no multiple of 1/2. f is exact, and its significand too; pi/2 is cut by less than
 * a unit, and the product is n + 1 short. */
RM_LONG int rm_sinpi_mp_reduce(uint64_t *r, double a, int n, int *j, int *negative) {
  int e, k = (int)(2.0 * a);
  if (2.0 * a - (double)k > 0.5) k++;
  const double f = 2.0 * a - (double)k;
  const uint64_t m = rm_decompose(f, &e);
  *negative = f < 0.0;
  *j = -53 - e;
  rm_mp_from_integer(r, m, -53, n);
  rm_mp_mul(r, r, rm_sin_pi_2 + (17 - n), n);
  return k;
}

/* |sin(pi (a + turn/2))| = v 2^e within rm_sinpi_mp_err(n) units, for a as above; *negative when the sine is. Returns e.
 *
 * r is nearer than sin_mp.h asks; but where j = 0, that is r = pi/4, its square is off by 1.58 (n + 2) + n + 1 units, below
 * 2.4 times the 1.1 n + 5 that are asked for. All errors of the series and its product are sums of multiples of those of
 * their arguments and of cuts. */
RM_FN uint64_t rm_sinpi_mp_err(int n) { return 3 * rm_sin_mp_err(n); }
RM_LONG int rm_sinpi_mp(uint64_t *v, double a, int turn, int n, int *negative) {
  uint64_t r[RM_MP_LIMBS];
  int j, rest_negative;
  const int k = rm_sinpi_mp_reduce(r, a, n, &j, &rest_negative) + turn;
  return rm_sin_mp_reduced(v, r, k, j, rest_negative, n, negative);
}

/* sin(pi (a + turn/2)), its sign changed when `flip`, correctly rounded. */
RM_COLD uint64_t rm_sinpi_mp_round(double a, int turn, int flip, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    int negative;
    const int e = rm_sinpi_mp(v, a, turn, n, &negative);
    if (rm_mp_round(negative ^ flip, v, e, rm_sinpi_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
