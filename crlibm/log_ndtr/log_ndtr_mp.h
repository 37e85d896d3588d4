/* log_ndtr in multiprecision fixed point (fp/mp.h): the correctly rounded result. */
#pragma once

#include "../erfcx/erfcx_mp.h"
#include "../log/log_mp.h"

/* |v| 2^scale = |log_ndtr x| within *err units for x < 0, 2^-130 <= |x| <= 2^70; returns the scale, 0 or more. The result is
 * negative.
 *
 * It is x^2/2 + |log(W/2)|. W/2, or W/2 2^-k from 63 on, is within its error; its logarithm has the error that rm_log_mp_of
 * states. x^2 is two units short at most, and so is its half. From 63 on both are divided by 2^scale, a power of two above
 * x^2 2^-50, which cuts a unit each. */
RM_COLD int rm_log_ndtr_mp_negative(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t w[RM_MP_LIMBS], y[RM_MP_LIMBS], werr;
  int e, k = -1, scale = 0;
  const uint64_t m = rm_decompose(x, &e);
  if (x <= -63.0) {
    scale = 2 * e + 57 > 0 ? 2 * e + 57 : 0;
    k = rm_erfcx_mp_far(w, -x, 1, n, &werr);
  } else {
    rm_erfcx_mp(w, x, 1, n, &werr);
  }
  rm_log_mp_of(w, w, k, werr, n, err);
  if (rm_mp_length(w, n) == 0) { /* nothing is known */
    rm_mp_set(v, 0, n);
    return 0;
  }
  rm_mp_shift_down(w, w, scale, n);
  const rm_u128 square = (rm_u128)m * m;
  rm_mp_from_integer(y, (uint64_t)(square >> 64), 2 * e + 63 - scale, n);
  rm_mp_from_integer(v, (uint64_t)square, 2 * e - 1 - scale, n);
  rm_mp_add(v, v, y, n);
  rm_mp_add(v, v, w, n);
  *err += 4;
  return scale;
}

/* The same for x > 0, x < 45: -log(1 - V) with V = erfc(x/sqrt(2))/2 <= 1/2; returns the scale, at most 0.
 *
 * Below 4 it is the logarithm of 1 - V, V having erfc's error and a unit more. Beyond, V = f 2^k < 2^-14.9, it is f S 2^k, S
 * = 1 + V/2 + V^2/3 + ... With d the error of f: V is within d + 1 units (k < 0), its powers p_j within d + n + 3, since p_j
 * V adds n + 1 to 2^-14 of what they have; J terms make S, divided by j + 1 >= 2 and cut, within J (d + n + 4)/2 + 1, and
 * what is left out once p_j is computed as 0 is below d + n + 4. f < 2.1: f S is within 1.01 d + 2.1 of that and n + 1. */
RM_COLD int rm_log_ndtr_mp_positive(uint64_t *v, double x, int n, uint64_t *err) {
  uint64_t f[RM_MP_LIMBS], t[RM_MP_LIMBS], p[RM_MP_LIMBS], s[RM_MP_LIMBS], d;
  const int k = rm_erfc_mp(f, x, 1, n, &d) - 1;
  rm_mp_shift_down(t, f, -k, n);
  rm_mp_set(s, 1, n);
  if (x < 4.0) {
    rm_mp_sub(s, s, t, n);
    rm_log_mp_of(v, s, 0, d + 1, n, err);
    return 0;
  }
  uint64_t j = 2;
  rm_mp_copy(p, t, n);
  for (; rm_mp_length(p, n) > 0; j++) {
    uint64_t part[RM_MP_LIMBS];
    rm_mp_div_small(part, p, j, n);
    rm_mp_add(s, s, part, n);
    rm_mp_mul(p, p, t, n);
  }
  rm_mp_mul(v, f, s, n);
  *err = 2 * d + 2 * (j + 1) * (d + (uint64_t)n + 4);
  return k;
}

RM_FN int rm_log_ndtr_mp(uint64_t *v, double x, int n, uint64_t *err) {
  return x < 0.0 ? rm_log_ndtr_mp_negative(v, x, n, err) : rm_log_ndtr_mp_positive(v, x, n, err);
}

/* log_ndtr(x) correctly rounded, for -2^70 <= x < 45, |x| >= 2^-130. */
RM_COLD uint64_t rm_log_ndtr_mp_round(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], err, result = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k = rm_log_ndtr_mp(v, x, n, &err);
    if (rm_mp_round(1, v, k, err, n, format, mode, flags, &result)) break;
  }
  return result;
}
