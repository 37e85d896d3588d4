/* The accurate phase of log2 and log10, except at powers of the base: log x times c = 1/ln2 or 1/ln10. */
#pragma once

#include "log_accurate.h"

/* v = |log x| c, c = 1/ln2 or 1/ln10 as table, x > 0 finite; returns 1 when log x < 0. c < 1.45 is a unit short, |log x| <
 * 746, and the product n + 1 units. */
RM_FN int rm_log_times_mp(uint64_t *v, double x, const uint64_t *c, int n) {
  const int negative = rm_log_mp(v, x, n);
  rm_mp_mul(v, v, c + (RM_MP_TABLE_LIMBS - 1 - n), n);
  return negative;
}
RM_FN uint64_t rm_log_times_mp_err(int n) { return 2 * rm_log_mp_err(n) + (uint64_t)n + 747; }

/* log x to the base, correctly rounded, for finite x > 0 that is no power of the base: the result is irrational. */
RM_COLD uint64_t rm_log_times_round(double x, double ch, double cl, const uint64_t *c, int format, rm_mode mode,
                                    uint32_t *flags) {
  uint64_t v[RM_MP_LIMBS], result = 0;
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  double h, l, e, hi, lo, err;
  int undecided;
  rm_log_any_dd(x, 0, &h, &l, &e);
  rm_log_product_dd(h, l, e, ch, ch, cl, &hi, &lo, &err);
  result = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return result;
#else
  (void)ch, (void)cl;
#endif
  for (int n = RM_MP_FIRST; n <= RM_MP_MAX; n *= 2) {
    const int negative = rm_log_times_mp(v, x, c, n);
    if (rm_mp_round(negative, v, 0, rm_log_times_mp_err(n), n, format, mode, flags, &result)) break;
  }
  return result;
}
