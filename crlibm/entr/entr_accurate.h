/* The accurate phase of entr: any argument, format and rounding mode (xlogy_accurate.h). */
#pragma once

#include "../xlogy/xlogy_accurate.h"
#include "entr.h"

RM_COLD uint64_t rm_entr_accurate(double x, int format, rm_mode mode, uint32_t *flags) {
  if (rm_is_nan(x)) return rm_nan_bits(format);
  if (x == 0.0) return 0;
  if (x < 0.0 || rm_is_infinite(x)) return rm_signed_infinity(1, format);
  if (x == 1.0) return rm_signed_zero(1, format);
  return rm_xlogy_round(-x, x, 0, format, mode, flags);
}
