/* softmax and its relatives: softmax.cu has the fast phase of rows, softmax_accurate.cu the accurate phase. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/softmax/args.h"
}

rm_status rm_softmax_accurate(const rm_softmax_problem &f, const rm_undecided_set &undecided, cudaStream_t stream);
rm_status rm_softmax_gradient_accurate(const rm_softmax_gradient_problem &f, const rm_undecided_set &undecided,
                                       cudaStream_t stream);
