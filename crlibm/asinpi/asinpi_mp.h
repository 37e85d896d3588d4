/* asinpi, acospi and atanpi in multiprecision fixed point (fp/mp.h): angles over pi. */
#pragma once

#include "../asin/asin_mp.h"
#include "../sin/sin_tables.h"

/* v = 2 a/pi for a < 4 within err units: 2/pi is cut by less than a unit, the product is n + 1 short, and a's error counts
 * less than it is. */
RM_FN uint64_t rm_over_pi_mp_err(uint64_t err, int n) { return err + (uint64_t)n + 5; }
RM_LONG void rm_over_pi_mp(uint64_t *v, const uint64_t *a, int n) {
  uint64_t c[RM_MP_LIMBS];
  for (int i = 0; i < n; i++) c[i] = rm_sin_2_pi[n - 1 - i];
  c[n] = 0;
  rm_mp_mul(v, a, c, n);
}

/* |x| S = v 2^e for 0 < |x| <= 2^-30, within 2 (n + 2) (n + 5) units; returns e. S = the sum of c_i x^2i/(2i + 1), c_i =
 * (-1)^i, for atan x, or, if `sine`, 1/2 3/4 ... (2i - 1)/(2i), for asin x.
 *
 * x^2 is n + 2 off, and below 2^-60; a power is then within 2 n + 4, a term within n + 5; at most n + 3 powers are not 0. The
 * significand of x is exact, and the product n + 1 short. */
RM_LONG int rm_angle_mp_tiny(uint64_t *v, double x, int sine, int n) {
  uint64_t y[RM_MP_LIMBS], p[RM_MP_LIMBS + 1], t[RM_MP_LIMBS], plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_mp_from_double(y, x, 0, n);
  rm_mp_mul(y, y, y, n);
  rm_mp_set(p, 1, n);
  rm_mp_set(plus, 1, n);
  rm_mp_set(minus, 0, n);
  for (uint64_t i = 1; rm_mp_length(p, n) > 0; i++) {
    uint64_t *const sum = !sine && (i & 1) ? minus : plus;
    rm_mp_mul(p, p, y, n);
    if (sine) {
      rm_mp_mul_small(p, p, 2 * i - 1, n);
      rm_mp_div_small(p, p, 2 * i, n);
    }
    rm_mp_div_small(t, p, 2 * i + 1, n);
    rm_mp_add(sum, sum, t, n);
  }
  rm_mp_sub(plus, plus, minus, n);
  rm_mp_from_integer(t, m, -53, n);
  rm_mp_mul(v, t, plus, n);
  return e + 53;
}
