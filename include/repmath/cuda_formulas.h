/* repmath: short formulas on a GPU: the function of formulas.h over device memory, with its arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_FORMULAS_H
#define REPMATH_CUDA_FORMULAS_H

#include "cuda_elementwise.h" /* rm_cuda_stream */
#include "formulas.h"

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z,
                                 void *out, rm_cuda_stream stream);

#ifdef __cplusplus
}
#endif
#endif
