/* Checks the arguments of a formula. */
#include "args.h"

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../crlibm/fp/round.h"
#include "../../runtime/env.h"

rm_status rm_formula_check(rm_formula_problem *p) {
  enum { FORMULA = 1, FORMAT, N, A, X, Y, Z, OUT };
  const int formula = p->formula, format = p->format, has_y = rm_formula_has_y(formula), has_z = rm_formula_has_z(formula);
  const double a = p->a;
  if (formula < 0 || formula > RM_FORMULA_REMAINDER_OF) return RM_STATUS(RM_ERR_ENUM, FORMULA);
  if (format < 0 || format >= RM_FORMATS || (format == RM_F64 && RM_FORMULA_IS_ODD(formula)))
    return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (formula == RM_FORMULA_REMAINDER_OF && a != 0.0 && !(__builtin_fabs(a) >= 0x1p-800 && __builtin_fabs(a) <= 0x1p800))
    return RM_STATUS(RM_ERR_RANGE, A);
  if (p->n < 0) return RM_STATUS(RM_ERR_SIZE, N);
  if (p->n == 0) return RM_OK;
  if (!p->x) return RM_STATUS(RM_ERR_NULL, X);
  const int by_number = rm_formula_by_number(p) && __builtin_fabs(a) >= 0x1p-800 && __builtin_fabs(a) <= 0x1p800;
  if (has_y && !p->y && !by_number) return RM_STATUS(RM_ERR_NULL, Y);
  if (has_z && !p->z) return RM_STATUS(RM_ERR_NULL, Z);
  if (!p->out) return RM_STATUS(RM_ERR_NULL, OUT);
  const char *const arrays[] = {p->x, has_y ? p->y : NULL, has_z ? p->z : NULL};
  const uintptr_t bytes = (uintptr_t)p->n * (uintptr_t)rm_size_of(format), to = (uintptr_t)p->out;
  for (int i = 0; i < 3; i++) {
    const uintptr_t from = (uintptr_t)arrays[i];
    if (from && from != to && from < to + bytes && to < from + bytes) return RM_STATUS(RM_ERR_OVERLAP, OUT);
  }
  const rm_env env = rm_env_enter();
  p->keep[0] = rm_two_sum(1.0, -a, &p->keep[1]);
  const double size = vf64_abs(a), kept = vf64_abs(p->keep[0]);
  const int fast = (size == 0.0 || (size >= 0x1p-200 && size <= 0x1p200)) && !(formula == RM_FORMULA_OVER && size == 0.0) &&
                   (formula != RM_FORMULA_BETWEEN || kept == 0.0 || kept >= 0x1p-200);
  rm_env_leave(env, 0);
  p->by_vectors = RM_FORMULA_IS_ODD(formula) || (RM_FORMULA_IS_CHOICE(formula) ? !rm_is_nan(a) : fast);
  /* A limit is rounded to the format here, once: the vectors store 16-bit results through binary32. Rounding is monotonic and
   * x is in the format, so that the larger of x and the rounded limit is the larger of x and the limit, rounded; zeros keep
   * their signs. */
  uint32_t unused = 0;
  if ((formula == RM_FORMULA_MAX_SCALAR || formula == RM_FORMULA_MIN_SCALAR) && rm_is_finite(a) && a != 0.0)
    p->a = rm_to_double(rm_round_beside_scaled(a, 0, 0, format, RM_NEAREST, &unused), format);
  return RM_OK;
}

rm_status rm_convert_check(int from, int to, int64_t n, const char *x, const char *out) {
  enum { FROM = 1, TO, N, X, OUT };
  if (from < 0 || from >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, FROM);
  if (to < 0 || to >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, TO);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, N);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, X);
  if (!out) return RM_STATUS(RM_ERR_NULL, OUT);
  const int sx = rm_size_of(from), so = rm_size_of(to);
  const uintptr_t at = (uintptr_t)x, made = (uintptr_t)out, read = (uintptr_t)n * (uintptr_t)sx,
                  written = (uintptr_t)n * (uintptr_t)so;
  return at + read <= made || made + written <= at ? RM_OK : RM_STATUS(RM_ERR_OVERLAP, OUT);
}

rm_status rm_gate_check(const rm_gate_problem *p, int gradient) {
  enum { FORMAT = 1, ROWS, N, FIRST };
  if (p->format < 0 || p->format >= RM_F64) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (p->rows < 0) return RM_STATUS(RM_ERR_SIZE, ROWS);
  if (p->n < 0 || (p->rows > 0 && p->n > INT64_MAX / 16 / p->rows)) return RM_STATUS(RM_ERR_SIZE, N);
  if (p->rows == 0 || p->n == 0) return RM_OK;
  if (gradient && !p->g) return RM_STATUS(RM_ERR_NULL, FIRST);
  if (!p->x) return RM_STATUS(RM_ERR_NULL, FIRST + gradient);
  if (!p->out) return RM_STATUS(RM_ERR_NULL, FIRST + gradient + 1);
  const uintptr_t half = (uintptr_t)p->rows * (uintptr_t)p->n * (uintptr_t)rm_size_of(p->format);
  const uintptr_t g = (uintptr_t)p->g, x = (uintptr_t)p->x, to = (uintptr_t)p->out, end = to + (gradient ? 2 * half : half);
  if ((x < end && to < x + 2 * half) || (gradient && g < end && to < g + half))
    return RM_STATUS(RM_ERR_OVERLAP, FIRST + gradient + 1);
  return RM_OK;
}
