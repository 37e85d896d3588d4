/* ndtri in double-double, for the fast phase of f64 and the accurate phase of every format: sqrt(2) erfinv (erfinv_dd.h). */
#pragma once

#include "../erfinv/erfinv_dd.h"
#include "ndtri_b64.h"

/* hi + lo = ndtri(p) within err, for RM_NDTRI_DD_MIN <= p < 1. */
#define RM_NDTRI_DD_MIN 0x1p-170
RM_FN void rm_ndtri_dd(vf64 p, vf64 *hi, vf64 *lo, vf64 *err) {
  const vf64 zero = vf64_set1(0.0);
  vf64 u, v, size;
  rm_ndtri_parts(p, &u, &v);
  size = vf64_abs(u);
  rm_erfinv_step_dd(rm_erfinv_of(size, v), size, zero, v, zero, hi, lo, err);
  rm_erfinv_times_sqrt2_dd(hi, lo, err);
  vi64 sign = vi64_and(vf64_bits(u), vi64_set1(INT64_MIN));
  *hi = vf64_from_bits(vi64_xor(vf64_bits(*hi), sign));
  *lo = vf64_from_bits(vi64_xor(vf64_bits(*lo), sign));
}
