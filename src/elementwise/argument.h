/* The arguments of accurate phases. */
#pragma once

#include "../../crlibm/fp/round.h"

/* The value of a number given as bits. A signalling NaN raises invalid here, since the conversion quietens it. */
RM_FN double rm_accurate_argument(uint64_t bits, int format, uint32_t *flags) {
  if (rm_is_signalling(bits, format)) *flags |= RM_FLAG_INVALID;
  return rm_to_double(bits, format);
}
