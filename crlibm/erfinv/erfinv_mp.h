/* erfinv and sqrt(2) erfinv, correctly rounded, by comparison: erf increases, so on which side of a boundary of rounding
 * the result lies is told by erf or erfc at that boundary, in multiprecision fixed point (fp/mp.h).
 *
 * An evaluation with a proven error gives an interval around z = |result|. Boundaries (numbers of the format and
 * midpoints) are multiples of half a quantum; a search finds the largest one below z, in most cases by one comparison or
 * none. For erfinv none is equal to z: erf is an E-function times 2/sqrt(pi), and where it has a rational value v at an
 * algebraic number, that of the E-function is v sqrt(pi)/2. Siegel (1929) proved values of x 1F1(1/2; 3/2; -x^2) at algebraic
 * numbers other than 0 transcendental, which is less than that: a relation with sqrt(pi) is excluded by no theorem. None is
 * known, and a comparison that RM_MP_MAX limbs leave undecided, 2^-950 from equality, is taken as it stands there. The search
 * has fewer than 128 steps whatever the interval is. Boundaries of stochastic rounding in binary64 have too many digits
 * for it: rm_random_elementwise does not offer them. */
#pragma once

#include "../erfc/erfc_mp.h"
#include "erfinv_tail.h"

/* What is inverted: |u| = m 2^e, 0 < |u| < 0.6; or, with tail = 1, 1 - |u| = m 2^e, 0 < 1 - |u| < 0.6. The result is
 * erfinv(u), or sqrt(2) erfinv(u) with half = 1. */
struct rm_erfinv_target {
  uint64_t m;
  int e, tail, half;
};

/* The number a, roughly: for estimates. */
RM_LONG double rm_mp_estimate(const uint64_t *a, int n) {
  double sum = 0.0, unit = 1.0;
  for (int i = n; i >= 0 && i > n - 12; i--, unit *= 0x1p-64) sum += (double)a[i] * unit;
  return sum;
}

/* 1 where z > b 2^eb, 0 where z < b 2^eb, for b < 2^59 and b 2^eb within 2^-20 z of z. *away becomes about z/(b 2^eb) - 1.
 *
 * erf or erfc at the boundary is w 2^k within err units, and the target m 2^(e-k) within one. With a = b 2^(eb - half/2):
 * in tails z/a' - 1 = (sqrt(pi)/2) (W(a)/a) (w - t)/w, else S(a) (t - w)/w, S = 1 + 2a^2/3 + 4a^4/15 + ... (erf_mp.h),
 * to first order. */
RM_COLD int rm_erfinv_above(const struct rm_erfinv_target *target, uint64_t b, int eb, double *away) {
  uint64_t w[RM_MP_LIMBS], t[RM_MP_LIMBS], d[RM_MP_LIMBS], slack[RM_MP_LIMBS], err;
  const double a = (double)b * rm_pow2(eb < -1000 ? -1000 : eb) * (target->half ? 0.5 * RM_ERFINV_SQRT2 : 1.0);
  int less = 0;
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int k =
        target->tail ? rm_erfc_mp_of(w, b, eb, target->half, n, &err) : rm_erf_mp_of(w, b, eb, target->half, n, &err);
    rm_mp_from_integer(t, target->m, target->e - k, n);
    less = rm_mp_less(w, t, n);
    if (less) rm_mp_sub(d, t, w, n);
    else rm_mp_sub(d, w, t, n);
    *away = rm_mp_estimate(d, n) / rm_mp_estimate(w, n);
    rm_mp_set(slack, 0, n);
    slack[0] = (uint64_t)RM_BOUND(err) + 1;
    if (rm_mp_less(slack, d, n)) break;
  }
  if (target->tail) {
    double h, l, herr;
    rm_erfc_w_dd(a, &h, &l, &herr);
    *away *= RM_ERFINV_HALF_SQRTPI * h / a;
  } else {
    *away *= 1.0 + a * a * (2.0 / 3.0 + a * a * (4.0 / 15.0 + a * a * (8.0 / 105.0)));
  }
  const int above = target->tail ? !less : less;
  if (!above) *away = -*away;
  return above;
}

/* The result rounded, (hi + lo) 2^k being |result| within err 2^k, err < 2^-30 hi. */
RM_COLD uint64_t rm_erfinv_search(const struct rm_erfinv_target *target, int negative, double hi, double lo, double err,
                                  int k, int format, rm_mode mode, uint32_t *flags) {
  rm_u128 m, margin;
  int e;
  rm_decompose_dd(hi, lo, err, &m, &margin, &e);
  e += k;
  /* Half a quantum at the lower end, 2^unit: beyond a power of two it divides half a quantum there. */
  int top = e + 127 - rm_clz128(m - margin), unit = (top > rm_emin(format) ? top : rm_emin(format)) - rm_precision(format);
  unit -= rm_more_digits(mode); /* stochastic rounding: its boundaries, in formats of at most 24 digits */
  const int s = unit - e; /* e + 122 <= top: at least 65 */
  uint64_t low = s < 128 ? (uint64_t)((m - margin) >> s) : 0, high = s < 128 ? (uint64_t)((m + margin) >> s) + 1 : 1;
  uint64_t next = s < 128 ? (uint64_t)(m >> s) : 0;
  for (int steps = 0; high - low > 1; steps++) { /* low 2^unit < z < high 2^unit */
    double away;
    if (next <= low) next = low + 1;
    if (next >= high) next = high - 1;
    const int above = rm_erfinv_above(target, next, unit, &away);
    if (above) low = next;
    else high = next;
    const double step = (double)next * away; /* to z, in units: below 2^25 */
    if (steps < 4 && step > -0x1p40 && step < 0x1p40)
      next = next + (uint64_t)((int64_t)(step + 0x1p41) - (INT64_C(1) << 41)); /* the floor, but for its last bits */
    else next = low + (high - low) / 2;
  }
  return rm_round_exact(negative, 2 * (rm_u128)low + 1, unit - 1, format, mode, flags);
}

/* The result rounded, for a target in (0, 1) that is exact; |u| = uh + ul exactly up to 1/2 and within 2^-52 beyond, 1 - |u|
 * = vh + vl exactly.
 *
 * First y with RM_ERFINV_B64_ERR, y 2^k. A tiny u or v is scaled: then w = 0, or w = -log(2 v), to all bits that matter. */
RM_COLD uint64_t rm_erfinv_complete(const struct rm_erfinv_target *target, int negative, double uh, double ul, double vh,
                                    double vl, int format, rm_mode mode, uint32_t *flags) {
  const double factor = target->half ? RM_ERFINV_SQRT2 : 1.0;
  const int k = uh < RM_ERFINV_DD_MIN ? -200 : 0;
  double y;
  if (vh >= RM_ERFINV_NEAR_MIN) {
    const double size = k ? uh * 0x1p200 : uh;
    y = k ? size * rm_erfinv_ratio(0.0, rm_erfinv_near) : rm_erfinv_of(uh, vh);
  } else {
    y = rm_erfinv_far_of(vh);
  }
  double hi = y * factor, lo = 0.0, err = hi * RM_ERFINV_B64_ERR;
#if !defined(RM_CFG_NO_DD) /* a control build leaves it out */
  if (k == 0 && vh >= RM_ERFINV_DD_MIN) {
    rm_erfinv_step_dd(y, uh, ul, vh, vl, &hi, &lo, &err);
    if (target->half) rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);
  }
#else
  (void)ul, (void)vl;
#endif
  return rm_erfinv_search(target, negative, hi, lo, err, k, format, mode, flags);
}
