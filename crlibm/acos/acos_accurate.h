/* The accurate phase of acos: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "acos.h"
#include "acos_mp.h"

RM_COLD uint64_t rm_acos_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x > 1.0 || x < -1.0) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (x == 1.0) return 0; /* exact: +0 under every mode */

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  rm_acos_dd(x, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_acos_mp_round(x, format, mode, flags);
}
