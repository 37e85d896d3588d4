/* The complete functions (crlibm/<f>/<f>_slow.h) with external linkage: one copy for the loops of every ISA. */
#ifndef RM_ELEMENTWISE_SLOW_H
#define RM_ELEMENTWISE_SLOW_H

#include "../dispatch/kernels.h"

/* f(x) rounded to the format (RM_F16 ...) under the rule (RM_NEAREST ...), as bits of the format. x is the exact value of a
 * number of the format, or a NaN. Ors RM_FLAG_* into *flags. The caller has put the floating-point environment right. */
typedef uint64_t rm_slow_fn(double x, int format, int rule, uint32_t *flags);

#if RM_DEVICE
#include "slow.c" /* a device has no linker: its one translation unit holds the table */
#else
extern rm_slow_fn *const rm_slow_table[RM_FN_COUNT];
#endif

#endif
