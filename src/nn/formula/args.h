/* A formula made ready on the host: its arguments, which are those of rm_formula, checked, what depends on them alone computed. *job is
 * for the loops only when the status is RM_OK and n is not 0. */
#ifndef RM_NN_FORMULA_ARGS_H
#define RM_NN_FORMULA_ARGS_H

#include "../../../include/repmath/formulas.h"
#include "formulas.h"

rm_status rm_formula_begin(rm_formula_job *job, int formula, int format, int64_t n, double a, const void *x, const void *y,
                           const void *z, void *out);

#endif
