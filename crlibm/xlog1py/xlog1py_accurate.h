/* The accurate phase of xlog1py: any arguments, format and rounding mode (xlogy_accurate.h). */
#pragma once

#include "../xlogy/xlogy_accurate.h"
#include "xlog1py.h"

RM_COLD uint64_t rm_xlog1py_accurate(double x, double y, int format, rm_mode mode, uint32_t *flags) {
  uint64_t bits;
  if (rm_xlogy_closed(x, y, -1.0, y, format, flags, &bits)) return bits;
  return rm_xlogy_round(x, y, 1, format, mode, flags);
}
