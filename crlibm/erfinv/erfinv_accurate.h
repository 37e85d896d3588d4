/* The accurate phase of erfinv: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../fp/exact.h"
#include "erfinv.h"
#include "erfinv_mp.h"

RM_COLD uint64_t rm_erfinv_accurate(double x, int format, int mode, uint32_t *flags) {
  const int negative = rm_is_negative(x);
  const double u = negative ? -x : x;
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (u > 1.0) return rm_invalid(format, flags);
  if (u == 1.0) return rm_pole(negative, format, flags);
  if (u == 0.0) return rm_signed_zero(negative, format);
  double vl;
  const double v = rm_erfinv_one_less(u, &vl);
  struct rm_erfinv_target target = {0, 0, u > 0.5, 0}; /* where v is exact */
  target.m = rm_decompose(target.tail ? v : u, &target.e);
  return rm_erfinv_complete(&target, negative, u, 0.0, v, vl, format, mode, flags);
}
