/* Cross entropy: a call made ready on the host. */
#ifndef RM_NN_CROSS_ENTROPY_ARGS_H
#define RM_NN_CROSS_ENTROPY_ARGS_H

#include "../../../crlibm/enclosure/dd_ball.h"
#include "../../../include/repmath/nn.h"
#include "../rows/parallel.h"

typedef struct {
  int format;
  rm_cross_entropy_problem p;
  const int64_t *counted; /* rows that are not ignored; below 0, on a device: a target is no class */
  rm_row_array out;
  const char *g;
  ptrdiff_t stride_g;
  rm_dd_ball *losses; /* of rows: what the fast evaluation found */
  double *specials; /* of rows: 0, or an infinite or NaN loss; in a gradient the first: rm_entropy_divide's, of which losses has the other */
} rm_entropy;

/* The arguments of the public functions (include/repmath/nn.h), but for what targets, losses and counts hold; *f is cleared. */
rm_status rm_entropy_job(rm_entropy *f, int format, const rm_cross_entropy_problem *problem, void *loss,
                         ptrdiff_t stride_loss);
rm_status rm_entropy_gradient_job(rm_entropy *f, int format, const rm_cross_entropy_problem *problem, const void *g,
                                  ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

#endif
