/* What src/blas provides once per ISA build. Included by src/dispatch/kernels.h. */
#ifndef RM_BLAS_KERNELS_H
#define RM_BLAS_KERNELS_H

struct rm_blas_kernels {
  int placeholder;
};

#endif
