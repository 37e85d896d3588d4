/* The accurate phases (crlibm/<f>/<f>_accurate.h) with external linkage: one copy serves the loops of every ISA. */
#pragma once

#include "kernels.h"

/* f(x[0], ...) rounded to the format (RM_F16 ...) in the rounding mode (RM_NEAREST ...), as bits of the format. Arguments are
 * exact values of numbers of the format, or NaN. Ors RM_FLAG_* into *flags. The caller has put the floating-point environment
 * right. */
typedef uint64_t rm_accurate_fn(const double *x, int format, rm_mode mode, uint32_t *flags);

#define RM_ACCURATE_ARGUMENTS_1(x) (x)[0]
#define RM_ACCURATE_ARGUMENTS_2(x) (x)[0], (x)[1]
#define RM_ACCURATE_ARGUMENTS_3(x) (x)[0], (x)[1], (x)[2]

/* rm_accurate_<f>, after crlibm/<f>/<f>_accurate.h has been included. */
#define RM_ACCURATE_FUNCTION(name, arity)                                                                  \
  RM_HOST_EXTERN uint64_t rm_accurate_##name(const double *x, int format, rm_mode mode, uint32_t *flags) { \
    return rm_##name##_accurate(RM_ACCURATE_ARGUMENTS_##arity(x), format, mode, flags);                    \
  }

#if !RM_DEVICE /* a device has no linker: its one translation unit a function holds both */
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) extern rm_accurate_fn rm_accurate_##name;
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
/* In the order of the manifest, as RM_FN_<name> is. */
extern rm_accurate_fn *const rm_accurate_table[RM_FN_COUNT];
#endif
