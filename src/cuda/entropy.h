/* Cross entropy: entropy.cu has the fast phase of rows, entropy_accurate.cu the accurate phase and what needs all rows. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/cross_entropy/args.h"
}

/* The accurate phase of rows: losses that are results, losses for a reduction, gradients. */
rm_status rm_entropy_each_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_entropy_loss_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_entropy_gradient_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream);
/* The reduction of the losses; the divisor of a mean, which goes to f.losses[0]. */
rm_status rm_entropy_total(const rm_entropy &f, cudaStream_t stream);
rm_status rm_entropy_divide(const rm_entropy &f, cudaStream_t stream);
