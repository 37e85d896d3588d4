/* Norms: norms.cu decides what is fast, norms_slow.cu the sets that it leaves. */
#ifndef RM_CUDA_NORMS_H
#define RM_CUDA_NORMS_H

#include "open.h"

extern "C" {
#include "../nn/norms_job.h"
}

rm_status rm_norm_rest(const rm_norm_job &f, const rm_open_set &left, cudaStream_t stream);
rm_status rm_norm_gradient_rest(const rm_norm_job &f, const rm_open_set &left, cudaStream_t stream);

#endif
