/* What src/reduce provides once per ISA build. Included by src/dispatch/kernels.h. */
#ifndef RM_REDUCE_KERNELS_H
#define RM_REDUCE_KERNELS_H

struct rm_reduce_kernels {
  int placeholder;
};

#endif
