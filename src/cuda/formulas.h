/* Formulas: formulas.cu has the fast phase, formulas_accurate.cu the accurate phase. */
#pragma once

#include "undecided.h"

extern "C" {
#include "../nn/formula/args.h"
}

rm_status rm_formula_elements_accurate(const rm_formula_problem &f, const rm_undecided_set &undecided, cudaStream_t stream);
