/* Normalization of sets of elements, each by its own mean and variance: layer, group, instance and batch norm are one
 * operator over different sets. A set consists of `outer` blocks of `inner` elements, and two indices count the sets. */
#pragma once

#include "../rows/decide.h"
#include "../rows/wide_kernels.h"
#if !RM_DEVICE
#include "../rows/wide_numbers.h"
#endif
#include "args.h"
#if RM_DEVICE
#include "share.h"
#endif

/* Approximate statistics of a set: the mean c within c_err, a = 1/sqrt(variance + eps) within rel of it, v = variance +
 * eps. */
typedef struct {
  double c, c_err, a, rel, v;
  double spread; /* at least the root of the sum of (x - c)^2 */
} rm_norm_statistics;

/* The same of a set of binary64 (norm/wide.h); on a device c is k times the mean, and a the k-th part, k as in
 * rm_norm_scale. */
typedef struct {
  rm_dd_ball c, a, v;
} rm_norm_wide;

/* A set in the accurate phase: x holds its elements, h the gradients times the weights, exact below binary64, the rest what
 * formulas have found. */
typedef struct {
  const rm_norm_problem *norm;
  int64_t n, set0, set1;
  const double *x, *g, *w, *b, *h;
  int limbs_dd_ball, limbs_ball, checked;
  struct {
    rm_dd_ball sum, square, root, first, second;
  } dd_ball;
  struct {
    rm_ball sum, square, root, first, second;
  } ball;
} rm_norm_row;

RM_FN int64_t rm_norm_length(const rm_norm_problem *f) { return f->outer * f->inner; }
/* Whether blocks are so short that their elements are copied next to each other first: a loop over each block takes longer
 * than its elements. */
enum { RM_NORM_SHORT = 128 };
RM_FN int rm_norm_is_short(const rm_norm_problem *f) { return f->outer > 1 && f->inner <= RM_NORM_SHORT; }
RM_HOST_EXTERN double rm_norm_given(const rm_norm_problem *f, const rm_set_view *p, int64_t set0, int64_t set1);
/* The elements of some blocks of a set, the first of which is at `from`, one block after the other, then `pad`. */
RM_HOST_EXTERN void rm_norm_load_blocks(const rm_norm_problem *f, const rm_set_view *p, const char *from, int64_t blocks,
                                        double pad, const rm_row_state *state, double *to);
RM_FN char *rm_norm_set_at(const rm_set_view *p, int64_t set0, int64_t set1) {
  return p->base + set0 * p->set[0] + set1 * p->set[1];
}
/* The elements of a set. */
RM_FN void rm_norm_load(const rm_norm_problem *f, const rm_set_view *p, int64_t set0, int64_t set1, double pad,
                        const rm_row_state *state, double *to) {
  rm_norm_load_blocks(f, p, rm_norm_set_at(p, set0, set1), f->outer, pad, state, to);
}
/* Returns 0 where the statistics are not known well enough. x is padded by 0, and remains so. */
RM_HOST_EXTERN int rm_norm_approximate(const rm_norm_problem *f, int64_t set0, int64_t set1, double *x,
                                       const rm_row_state *state, rm_norm_statistics *s);

#if !RM_DEVICE
/* The same for binary64. */
int rm_norm_wide_statistics(const rm_norm_problem *f, int64_t set0, int64_t set1, const double *x, rm_norm_wide *t);
/* The sum of h (x - mean) over n elements of a set, of which the kernel has made sums. */
void rm_norm_wide_second(const rm_norm_problem *f, int64_t n, const double *x, const rm_norm_wide *t,
                         const rm_wide_sums *sums, rm_dd_ball *second);
#endif

/* The kind of a set: ordinary; all deviations are 0, but variance + eps is not; or it has no definite mean or root. */
enum { RM_SET_ORDINARY, RM_SET_CONSTANT, RM_SET_INVALID };
RM_HOST_EXTERN int rm_norm_classify(const rm_norm_problem *f, int64_t set0, int64_t set1, int64_t n, const double *x);
/* The infinite or NaN result d w + b for a deviation d. */
RM_HOST_EXTERN uint64_t rm_norm_special(double d, double w, double b, int format, uint32_t *flags);
RM_HOST_EXTERN void rm_norm_row_begin(const rm_norm_problem *f, int64_t set0, int64_t set1, rm_norm_row *r);

/* The results of a set, and its gradient with respect to x. */
RM_HOST_EXTERN void rm_norm_forward_set(const void *operation, int64_t set, rm_row_state *state);
RM_HOST_EXTERN void rm_norm_backward_set(const void *operation, int64_t set, rm_row_state *state);

/* What all gradients with respect to w need. */
typedef struct {
  int format;
  rm_norm_problem f;
  rm_norm_statistics *statistics; /* of each set; rel < 0: not known */
  signed char *kind; /* RM_SET_ of each set */
  rm_norm_wide *wide; /* of each set of binary64; known where its statistics have no rel < 0, on a device of ordinary sets */
} rm_norm_weights;

/* The gradient with respect to each w that f->w views, stored where f->y says. Returns RM_ERR_MEMORY, or the status of the
 * rows. */
rm_status rm_norm_backward_weights(const rm_norm_problem *f);
