/* On a device the threads of a block share the results of a row of softmax and its relatives in binary64
 * (cuda/rows_accurate.h), for which no fast phase exists: each takes its elements in double-double. What that does not
 * decide stays with the thread that leads the block. */
#pragma once

#include "../../../crlibm/enclosure/dd_ball.h"

typedef enum { RM_SHARE_SOFTMAX, RM_SHARE_LOG_SOFTMAX, RM_SHARE_BACKWARD, RM_SHARE_LOG_BACKWARD } rm_softmax_share_kind;

/* n results, which go to out, and the indices of those that are not decided to undecided. x: the row, m its maximum,
 * second and only_tail as in rm_exp_row; sum: that of the exponentials, or its logarithm (rm_exp_row_log). Of a gradient x
 * is g; sum: that of g y, or of g. */
typedef struct {
  rm_softmax_share_kind kind;
  int64_t n;
  const double *x, *y;
  double m, second;
  int only_tail;
  rm_dd_ball sum;
  char *out;
  int64_t *undecided;
} rm_softmax_share;

#if RM_DEVICE
/* Whether the bits of result i are decided. */
RM_STATIC int rm_softmax_decide(const rm_softmax_share *s, int64_t i, uint64_t *bits);
/* Runs a share by all threads of a block. Returns how many results are undecided; all of them where it does not do so. */
RM_STATIC int64_t rm_rows_decide(const rm_softmax_share *s);
#endif
