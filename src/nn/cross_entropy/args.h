/* The problems of cross entropy, of negative log likelihood, and of their gradients. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../include/repmath/losses.h"
#include "../rows/parallel.h"

typedef struct {
  int format;
  rm_row_array out; /* losses, or gradients */
  const char *g;
  ptrdiff_t stride_g;
  rm_cross_entropy_problem p;
  const int64_t *counted; /* rows that are not ignored; below 0, on a device: a target is no class */
  rm_dd_ball *losses;     /* of rows: what the fast phase found */
  /* Of rows: 0, or an infinite or NaN loss; in a gradient the first: rm_entropy_divide's, of which losses has the other. */
  double *specials;
} rm_entropy;

typedef struct rm_nll_divisor rm_nll_divisor; /* nll_row.h */

typedef struct {
  int format;
  rm_row_array out;
  const char *g;
  ptrdiff_t stride_g;
  rm_cross_entropy_problem p;
  uint64_t one; /* the weight where there are none */
  const rm_nll_divisor *divisor; /* of a gradient, for a mean; else NULL */
  const int *wrong; /* on a device: whether a target is no class */
} rm_nll;

/* The status of the arguments (include/repmath/nn.h, losses.h): those before p in *f, and the problem, which is copied. What
 * targets, losses and counts hold is not looked at. */
rm_status rm_entropy_check(rm_entropy *f, const rm_cross_entropy_problem *problem);
rm_status rm_entropy_gradient_check(rm_entropy *f, const rm_cross_entropy_problem *problem);
rm_status rm_nll_check(rm_nll *f, const rm_cross_entropy_problem *problem);
rm_status rm_nll_gradient_check(rm_nll *f, const rm_cross_entropy_problem *problem);
