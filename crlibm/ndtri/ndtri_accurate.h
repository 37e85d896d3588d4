/* The accurate phase of ndtri: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../erfinv/erfinv_mp.h"
#include "../erfinv/erfinv_tail.h"
#include "../fp/exact.h"
#include "ndtri.h"

RM_COLD uint64_t rm_ndtri_accurate(double p, int format, rm_mode mode, uint32_t *flags) {
  const int below = p < 0.5;
  double u, v;
  if (rm_is_nan(p)) return rm_nan_bits(format);
  if (p < 0.0 || p > 1.0) return rm_invalid(format, flags);
  if (p == 0.0 || p == 1.0) return rm_pole(below, format, flags);
  if (p == 0.5) return 0;
  rm_ndtri_parts(p, &u, &v);
#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  if (p < RM_NDTRI_DD_MIN) {
    double hi, lo, err;
    int undecided;
    rm_erfinv_tail_dd(v, &hi, &lo, &err);
    rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);
    const uint64_t bits = rm_round_dd(-hi, -lo, err, 0, format, mode, flags, &undecided);
    if (!undecided) return bits;
  }
#endif
  if (below) u = -u;
  struct rm_erfinv_target target = {0, 0, v < 0.5, 1}; /* v is exact; u where v >= 1/2 */
  target.m = rm_decompose(target.tail ? v : u, &target.e);
  return rm_erfinv_complete(&target, below, u, 0.0, v, 0.0, format, mode, flags);
}
