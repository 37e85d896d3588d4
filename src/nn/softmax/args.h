/* The problems of softmax, log_softmax, logsumexp and their gradients. */
#pragma once

#include "../rows/parallel.h"

typedef enum { RM_SOFTMAX, RM_LOG_SOFTMAX, RM_LOGSUMEXP } rm_softmax_kind;

typedef struct {
  rm_softmax_kind kind;
  int format;
  int64_t rows, n;
  rm_row_array x, y;
  const rm_row_balls *balls; /* NULL, or where results go instead, of contiguous rows */
} rm_softmax_problem;

typedef struct {
  int of_log; /* the gradient of log_softmax */
  int format;
  int64_t rows, n;
  rm_row_array g, y, dx;
  const rm_row_balls *balls;
} rm_softmax_gradient_problem;

/* The status of the arguments (include/repmath/nn.h), which the public function has put into *p; p->rows becomes 0 where
 * nothing is to be done. */
rm_status rm_softmax_check(rm_softmax_problem *p);
rm_status rm_softmax_gradient_check(rm_softmax_gradient_problem *p);
