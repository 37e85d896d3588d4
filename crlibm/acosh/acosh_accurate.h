/* The accurate phase of acosh: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "../log/log_any.h"
#include "acosh.h"
#include "acosh_mp.h"

RM_COLD uint64_t rm_acosh_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x < 1.0) {
    *flags |= RM_FLAG_INVALID;
    return rm_nan_bits(format);
  }
  if (x == 1.0) return 0; /* exact: +0 under every mode */
  if (x == rm_from_bits64(UINT64_C(0x7ff0000000000000))) return rm_infinity_bits(format);

#if !defined(RM_CFG_NO_DD)
  double hi, lo, err; /* double-double; a control build leaves it out */
  int undecided;
  if (rm_acosh_special(x, RM_F64))
    rm_log_any_dd(x, 1, &hi, &lo, &err); /* from 2^1021 on, where it is log(2 x) but for 1/x^2 */
  else rm_acosh_dd(x, &hi, &lo, &err);
  const uint64_t bits = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return bits;
#endif
  return rm_acosh_mp_round(x, format, mode, flags);
}
