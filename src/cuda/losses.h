/* Losses: each has a file for its fast phase and its sums; losses_accurate.cu and dd_losses_accurate.cu have the accurate
 * phases. */
#pragma once

#include "accumulate.h"
#include "undecided.h"

extern "C" {
#include "../nn/cross_entropy/args.h"
#include "../nn/loss/args.h"
}
struct rm_dd_ball_part;

inline rm_dd_loss rm_dd_loss_of(int format, int reduction, int64_t n, rm_row_array out) {
  rm_dd_loss f = {};
  f.format = format, f.reduction = reduction, f.n = n, f.out = out;
  return f;
}

rm_status rm_pair_accurate(const rm_pair_loss &f, const rm_undecided_set &undecided, cudaStream_t stream);
/* The loss of the sum in `blocks` accumulators (accumulate.h). */
rm_status rm_pair_reduce(const rm_pair_loss &f, rm_superaccumulator *parts, int blocks, cudaStream_t stream);

rm_status rm_nll_accurate(const rm_nll &f, const rm_undecided_set &undecided, cudaStream_t stream);
/* Likewise, from the sums of losses and of weights. */
rm_status rm_nll_reduce(const rm_nll &f, rm_superaccumulator *sums, rm_superaccumulator *weights, int blocks,
                        cudaStream_t stream);

rm_status rm_bce_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_bce_gradient_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_kl_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_kl_gradient_accurate(const rm_dd_loss &f, const rm_undecided_set &undecided, cudaStream_t stream);
/* The loss of the sum in `blocks` parts (dd_sums.h). */
rm_status rm_bce_reduce(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, cudaStream_t stream);
rm_status rm_kl_reduce(const rm_dd_loss &f, const rm_dd_ball_part *parts, int blocks, cudaStream_t stream);
