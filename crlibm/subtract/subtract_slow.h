/* x - y, complete: x + (-y). */
#ifndef RM_SUBTRACT_SLOW_H
#define RM_SUBTRACT_SLOW_H

#include "../add/add_slow.h"

RM_COLD uint64_t rm_subtract_slow(double x, double y, int format, int rule, uint32_t *flags) {
  return rm_add_slow(x, -y, format, rule, flags);
}

#endif
