/* Formulas: the accurate phase of elements that double-double leaves undecided. */
#include "formulas.h"

#include "elements_rest.h"

#include "../nn/formula/accurate.inl"

enum { RM_FORMULA_STACK = 64 << 10 };

rm_status rm_formula_rest(const rm_formula_problem &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_elements<rm_formula_problem, rm_formula_result>(f, RM_FORMULA_STACK, left, stream);
}
