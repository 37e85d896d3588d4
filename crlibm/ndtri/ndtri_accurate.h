/* The accurate phase of ndtri: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../erfinv/erfinv_mp.h"
#include "../fp/exact.h"
#include "ndtri.h"

RM_COLD uint64_t rm_ndtri_accurate(double p, int format, int mode, uint32_t *flags) {
  const int below = p < 0.5;
  double u, v;
  if (rm_is_nan(p)) return rm_nan_bits(format);
  if (p < 0.0 || p > 1.0) return rm_invalid(format, flags);
  if (p == 0.0 || p == 1.0) return rm_pole(below, format, flags);
  if (p == 0.5) return 0;
  rm_ndtri_parts(p, &u, &v);
  if (below) u = -u;
  struct rm_erfinv_target target = {0, 0, v < 0.5, 1}; /* v is exact; u where v >= 1/2 */
  target.m = rm_decompose(target.tail ? v : u, &target.e);
  return rm_erfinv_complete(&target, below, u, 0.0, v, 0.0, format, mode, flags);
}
