/* The accurate phase of log: any argument, format and rounding mode, for what the fast phase leaves undecided. */
#pragma once

#include "log.h"
#include "log_any.h"
#include "log_mp.h"

/* The closed results of a logarithm to any base above 1: 1 when x is NaN, not positive, infinite or 1. */
RM_FN int rm_log_closed(double x, int format, uint32_t *flags, uint64_t *result) {
  *result = rm_nan_bits(format);
  if (rm_is_nan(x)) return 1;
  if (x == 0.0) {
    *flags |= RM_FLAG_DIVBYZERO;
    *result = rm_infinity_bits(format) | rm_sign_bit(format);
    return 1;
  }
  if (x < 0.0) {
    *flags |= RM_FLAG_INVALID;
    return 1;
  }
  *result = x == 1.0 ? 0 : rm_infinity_bits(format); /* log 1 = +0 under every mode */
  return x == 1.0 || x == rm_from_bits64(UINT64_C(0x7ff0000000000000));
}

RM_COLD uint64_t rm_log_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  uint64_t result;
  if (rm_log_closed(x, format, flags, &result)) return result;

#if !defined(RM_CFG_NO_DD) /* double-double; a control build leaves it out */
  double hi, lo, err;
  int undecided;
  rm_log_any_dd(x, 0, &hi, &lo, &err);
  result = rm_round_dd(hi, lo, err, 0, format, mode, flags, &undecided);
  if (!undecided) return result;
#endif
  return rm_log_mp_round(x, format, mode, flags);
}
