/* Losses made ready on the host: their arguments checked. */
#ifndef RM_NN_LOSS_ARGS_H
#define RM_NN_LOSS_ARGS_H

#include "../../../include/repmath/losses.h"
#include "kernels.h"
#include "../rows/parallel.h"

/* A regression loss or its gradient: terms of loss/kernels.h times factor/(divisor count). */
typedef struct {
  rm_term_kind kind;
  int format, reduction;
  double b, divisor, factor; /* factor: 1/2, 1 or 2 */
  int64_t n, count;          /* count: what a mean divides by, else 1 */
  rm_row_array g, x, y, out; /* g.base NULL: 1 */
} rm_pair_loss;

/* The arguments of the public functions (include/repmath/losses.h), and their status. */
rm_status rm_pair_loss_job(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, const void *x,
                           ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out);
rm_status rm_pair_gradient_job(rm_pair_loss *f, int loss, double p, int format, int reduction, int64_t n, const void *g,
                               ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                               void *dx, ptrdiff_t stride_dx);

typedef struct rm_nll_divisor rm_nll_divisor; /* nll_row.h */

typedef struct {
  int format;
  uint64_t one; /* the weight where there are none */
  rm_cross_entropy_problem p;
  rm_row_array out; /* losses, or gradients */
  const char *g;
  ptrdiff_t stride_g;
  const rm_nll_divisor *divisor; /* of a gradient, for a mean; else NULL */
  const int *wrong;              /* on a device: whether a target is no class */
} rm_nll;

/* Targets are not looked at. */
rm_status rm_nll_job(rm_nll *f, int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss);
rm_status rm_nll_gradient_job(rm_nll *f, int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                              void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

#endif
