/* Parts of the gradient with respect to the weights of norms (repmath/partials.h): the balls of rm_norm_backward_weights. */
#include "../../../include/repmath/partials.h"

#include "../../../include/repmath/rounding.h"
#include "../../common/elements.h"
#include "../../common/overlap.h"
#include "../../runtime/env.h"

/* A part c with |c - S| <= radius passes at most J additions, each of which errs by u of its result: by (1 + u)^J - 1 <= (1 +
 * 2^-32) J u of |c| itself, J <= 2^20. So the errors of all parts add up to no more than the sum over them of
 *
 *   e = radius + (J + 1) u (1 + 2^-18) |c|
 *
 * of which the slack covers the roundings of e, its square, sums of 2^20 squares and roots: (J + 8) u < 2^-32 relatively, as
 * J + 1 in place of J does where radius is 0. Rows have 1, columns e^2, and for W parts by Cauchy-Schwarz
 *
 *   sum of e <= sqrt(W) sqrt(sum of e^2)
 *
 * The square of an e of at least 2^-500 does not underflow; smaller ones are enlarged to that. */
static double error_of(double middle, double radius, double joins) {
  const double e = RM_BOUND(radius * (1.0 + 0x1p-18) + (joins + 1.0) * 0x1p-53 * (1.0 + 0x1p-18) * __builtin_fabs(middle));
  return e == 0.0 || e >= 0x1p-500 ? e : 0x1p-500;
}

enum { AT_G = 3, AT_X = 5, AT_MEAN = 7, AT_VARIANCE = 9, AT_BLOCKS = 12, AT_JOINS, AT_SUMS, AT_ROW, AT_COLS };

typedef struct {
  const void *base;
  const ptrdiff_t *stride;
  int is_statistic;
} operand;

/* Whether a result meets an operand or a result before it. */
static rm_status check_results(int format, const rm_norm_sets *s, const operand *given, double *const *results, int64_t n) {
  const ptrdiff_t eight = 8;
  const int64_t one = 1, whole[4] = {s->sets[0], s->sets[1], s->outer, s->inner}, set[4] = {whole[0], whole[1], 1, 1};
  for (int i = 0; i < 3; i++) {
    const rm_grid to = {(char *)results[i], 1, i == 1 ? &one : &n, &eight};
    for (int k = 0; k < i; k++) {
      const rm_grid other = {(char *)results[k], 1, k == 1 ? &one : &n, &eight};
      if (rm_spans_meet(&to, 8, &other, 8)) return RM_STATUS(RM_ERR_OVERLAP, AT_SUMS + k);
    }
    for (int k = 0; k < 4; k++) {
      const rm_grid from = {(char *)(uintptr_t)given[k].base, 4, given[k].is_statistic ? set : whole, given[k].stride};
      if (given[k].base && given[k].stride && rm_spans_meet(&to, 8, &from, rm_size_of(format)))
        return RM_STATUS(RM_ERR_OVERLAP, AT_SUMS + i);
    }
  }
  return RM_OK;
}

rm_status rm_normalize_weight_partial(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                      const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm, const void *variance,
                                      const ptrdiff_t *sv, double eps, int64_t blocks, int64_t joins, double *sums,
                                      double *row_bound, double *col_bound) {
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 1);
  if (!sets) return RM_STATUS(RM_ERR_NULL, 2);
  if (sets->sets[0] < 0 || sets->sets[1] < 0 || sets->outer < 0 || sets->inner < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (blocks < 0 || (blocks > 1 && blocks != sets->outer)) return RM_STATUS(RM_ERR_RANGE, AT_BLOCKS);
  if (joins < 0 || joins > RM_MAX_JOINS) return RM_STATUS(RM_ERR_RANGE, AT_JOINS);
  const int64_t n = blocks ? sets->sets[1] * blocks : sets->inner;
  double *const results[] = {sums, row_bound, col_bound};
  for (int i = 0; i < 3; i++)
    if ((n || i == 1) && !results[i]) return RM_STATUS(RM_ERR_NULL, AT_SUMS + i);
  const operand given[] = {{g, sg, 0}, {x, sx, 0}, {mean, sm, 1}, {variance, sv, 1}};
  rm_status status = check_results(format, sets, given, results, n);
  if (status) return status;
  const ptrdiff_t size = rm_size_of(format);
  const ptrdiff_t of_columns[4] = {0, 0, 0, size}, of_channels[4] = {0, blocks * size, blocks > 1 ? size : 0, 0};
  const int64_t elements = sets->sets[0] * sets->sets[1] * sets->outer * sets->inner;
  if (n == 0 || elements == 0) {
    row_bound[0] = 0.0;
    for (int64_t i = 0; i < n; i++) sums[i] = col_bound[i] = 0.0;
    return RM_OK;
  }
  const rm_ball_results balls = {.middle = sums, .radius = col_bound};
  rm_balls_of_next(&balls);
  status = rm_normalize_backward_weight(format, sets, g, sg, x, sx, mean, sm, variance, sv, eps, sums,
                                        blocks ? of_channels : of_columns);
  if (status) return status;
  const rm_env env = rm_env_enter();
  row_bound[0] = 1.0;
  for (int64_t i = 0; i < n; i++) {
    const double e = error_of(sums[i], col_bound[i], (double)joins);
    if (!rm_is_finite(e)) sums[i] = 0.0; /* infinite and NaN terms are left to whoever has the operands */
    col_bound[i] = rm_is_finite(e) ? e * e : rm_from_bits64(UINT64_C(0x7ff) << 52);
  }
  rm_env_leave(env, 0);
  return RM_OK;
}
