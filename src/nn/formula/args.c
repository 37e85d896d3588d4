/* The arguments of formulas. */
#include "args.h"

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../crlibm/fp/round.h"
#include "../../runtime/env.h"

rm_status rm_formula_begin(rm_formula_job *job, int formula, int format, int64_t n, double a, const void *x, const void *y,
                           const void *z, void *out) {
  if (formula < 0 || formula > RM_FORMULA_GATE) return RM_STATUS(RM_ERR_ENUM, 1);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  if (n == 0) return RM_OK;
  const void *const arrays[] = {x, rm_formula_has_y(formula) ? y : NULL, rm_formula_has_z(formula) ? z : NULL};
  const int needed[] = {1, rm_formula_has_y(formula), rm_formula_has_z(formula)};
  const uintptr_t bytes = (uintptr_t)n * (uintptr_t)rm_size_of(format), to = (uintptr_t)out;
  for (int i = 0; i < 3; i++)
    if (needed[i] && !arrays[i]) return RM_STATUS(RM_ERR_NULL, 5 + i);
  if (!out) return RM_STATUS(RM_ERR_NULL, 8);
  for (int i = 0; i < 3; i++) {
    const uintptr_t from = (uintptr_t)arrays[i];
    if (from && from != to && from < to + bytes && to < from + bytes) return RM_STATUS(RM_ERR_OVERLAP, 8);
  }
  *job = (rm_formula_job){.formula = formula, .format = format, .n = n, .a = a, .x = x, .y = y, .z = z, .out = out};
  const rm_env env = rm_env_enter();
  job->keep[0] = rm_two_sum(1.0, -a, &job->keep[1]);
  const double size = vf64_abs(a), kept = vf64_abs(job->keep[0]);
  const int fast = (size == 0.0 || (size >= 0x1p-200 && size <= 0x1p200)) && !(formula == RM_FORMULA_OVER && size == 0.0) &&
                   (formula != RM_FORMULA_BETWEEN || kept == 0.0 || kept >= 0x1p-200);
  rm_env_leave(env, 0);
  job->by_vectors = rm_formula_is_choice(formula) ? !rm_is_nan(a) : fast;
  /* A limit is rounded to the format here, once: the vectors store 16-bit results through binary32. Rounding is monotonic and x is in
   * the format, so that the larger of x and the rounded limit is the larger of x and the limit, rounded; zeros keep their signs. */
  uint32_t unused = 0;
  if ((formula == RM_FORMULA_AT_LEAST || formula == RM_FORMULA_AT_MOST) && rm_is_finite(a) && a != 0.0)
    job->a = rm_to_double(rm_round_beside_scaled(a, 0, 0, format, RM_NEAREST, &unused), format);
  return RM_OK;
}
