/* Norms: norms.cu has the fast phase, norms_accurate.cu the accurate phase of sets and of weights. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/norm/found.h"
}
#include "../nn/norm/normalize.h"

rm_status rm_norm_accurate(const rm_norm_problem &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_norm_gradient_accurate(const rm_norm_problem &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_norm_found_accurate(const rm_norm_found &s, const rm_undecided_set &undecided, cudaStream_t stream);

/* The gradient with respect to weights: statistics of sets; weights of their blocks, or of all of a set; weights of
 * columns. */
rm_status rm_norm_weight_statistics_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided,
                                             cudaStream_t stream);
rm_status rm_norm_weight_channel_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_norm_columns_accurate(const rm_norm_weights &w, const rm_undecided_set &undecided, cudaStream_t stream);
