/* On a device the threads of a block share the results of a set of binary64 (cuda/rows_accurate.h), for which no fast phase
 * exists: each takes its elements in double-double. What that does not decide stays with the thread that leads the block. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"

/* n results, which go to out, and the indices of those that are not decided to undecided. kind: RM_SET_, of a gradient FLAT,
 * where all are 0. x: the set; scale, sum, square, root, first, second: of rm_norm_scale and rm_norm_row, whose dd_ball they
 * are. g: the gradients, or NULL; w may be NULL in sums. given: mean and variance are. */
enum { RM_SET_FLAT = 3 };
typedef struct {
  int kind, given;
  int64_t n, scale;
  const double *x, *w, *b, *g;
  rm_dd_ball sum, square, root, first, second;
  char *out;
  int64_t *undecided;
} rm_norm_share;

/* Whether the bits of result i are decided. */
RM_STATIC int rm_norm_decide(const rm_norm_share *s, int64_t i, uint64_t *bits);
/* The sums of h = g w and of h (scale x - sum), over the elements first, first + step, and so on. */
RM_STATIC void rm_norm_add(const rm_norm_share *s, int64_t first, int64_t step, rm_dd_ball *sum, rm_dd_ball *second);
/* Run these by all threads of a block: how many results are undecided; the sums over all elements. */
RM_STATIC int64_t rm_rows_decide(const rm_norm_share *s);
RM_STATIC void rm_rows_add(const rm_norm_share *s, rm_dd_ball *sum, rm_dd_ball *second);
