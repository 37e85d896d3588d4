/* Cross entropy: entropy.cu decides what is fast, entropy_accurate.cu the rows that it leaves, and what needs all rows. */
#ifndef RM_CUDA_ENTROPY_H
#define RM_CUDA_ENTROPY_H

#include "undecided.h"

extern "C" {
#include "../nn/cross_entropy/args.h"
}

/* Losses of rows, without a reduction or for one. */
rm_status rm_entropy_each_rest(const rm_entropy &f, const rm_open_set &left, cudaStream_t stream);
rm_status rm_entropy_loss_rest(const rm_entropy &f, const rm_open_set &left, cudaStream_t stream);
rm_status rm_entropy_gradient_rest(const rm_entropy &f, const rm_open_set &left, cudaStream_t stream);
/* The reduction of losses; the divisor, to f.losses[0]. */
rm_status rm_entropy_total(const rm_entropy &f, cudaStream_t stream);
rm_status rm_entropy_divide(const rm_entropy &f, cudaStream_t stream);

#endif
