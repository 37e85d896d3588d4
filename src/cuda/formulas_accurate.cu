/* Formulas: the accurate phase of elements that double-double leaves undecided. */
#include "formulas.h"

#include "elements_accurate.h"

#include "../nn/formula/accurate.inl"

enum { RM_FORMULA_STACK = 64 << 10 };

rm_status rm_formula_elements_accurate(const rm_formula_problem &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_formula_problem, rm_formula_result>(f, RM_FORMULA_STACK, undecided, stream);
}
