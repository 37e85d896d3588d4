/* What src/nn provides once per ISA build. Included by src/dispatch/kernels.h. */
#ifndef RM_NN_KERNELS_H
#define RM_NN_KERNELS_H

#include "clip.h"
#include "optimizers.h"

struct rm_nn_kernels {
  rm_optimizer_fn *sgd[4], *adam[4]; /* by format */
  rm_clip_fn *clip[4];
};

#endif
