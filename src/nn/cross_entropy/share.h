/* On a device the threads of a block share a row of cross_entropy in binary64 (cuda/rows_accurate.h), for which no fast phase
 * exists: each takes its classes in double-double. What that does not decide stays with the thread that leads the block. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"

/* n gradients, which go to out, and the indices of those that are not decided to undecided. by_class: each class has a
 * probability; one_class: only the target counts. scale, all, weights, below: of rm_entropy_scale and rm_entropy_exact, whose
 * dd_ball they are. */
typedef struct {
  int by_class, one_class;
  int64_t n, target, scale;
  double smoothing, m, g;
  const double *x, *p, *w;
  rm_dd_ball all, weights, below;
  char *out;
  int64_t *undecided;
  const rm_dd_ball *losses; /* or NULL */
  const double *specials;
  const char *targets, *class_weights; /* or NULL */
  ptrdiff_t target_stride, weight_stride;
  int format;
  int64_t ignored;
} rm_entropy_share;

/* Whether the bits of gradient i are decided. */
RM_STATIC int rm_entropy_decide(const rm_entropy_share *s, int64_t i, uint64_t *bits);
/* The sums of q_c (m - x_c) and of q_c, times the scale, over the classes first, first + step, and so on. With losses, of
 * these, and how many of `specials` are not 0, over rows; with targets, of the weights of these. */
RM_STATIC void rm_entropy_add(const rm_entropy_share *s, int64_t first, int64_t step, rm_dd_ball *loss, rm_dd_ball *sum);
/* Run these by all threads of a block: how many gradients are undecided; the sums over all classes. */
RM_STATIC int64_t rm_rows_decide(const rm_entropy_share *s);
RM_STATIC void rm_rows_add(const rm_entropy_share *s, rm_dd_ball *loss, rm_dd_ball *sum);
