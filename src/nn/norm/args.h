/* The problems of norms and of their gradients. */
#pragma once

#include "../../../include/repmath/nn.h"
#include "../rows/parallel.h"

/* Bytes between sets (by either index), blocks, elements. base NULL: not given. */
typedef struct {
  char *base;
  ptrdiff_t set[2], outer, inner;
} rm_set_view;

typedef struct {
  int format, centered; /* centered: the mean is subtracted; else root mean square */
  int64_t sets[2], outer, inner;
  rm_set_view x, w, b, y, g; /* y: the result; g: the gradient, where there is one */
  rm_set_view mean, variance; /* given ones, of one element a set; else they are the set's own */
  char *found_mean, *found_root; /* NULL, or where the statistics of the sets are stored, one after the other */
  double eps;
  const rm_row_balls *balls; /* NULL, or where results go instead */
} rm_norm_problem;

/* The arguments of a public function: an array that it does not have, or that is not given, is NULL. */
typedef enum { RM_NORM, RM_NORM_AND_STATISTICS, RM_NORM_GRADIENT, RM_NORM_WEIGHT_GRADIENT } rm_norm_function;
typedef struct {
  const void *base;
  const ptrdiff_t *strides;
} rm_norm_array;
typedef struct {
  rm_norm_function function;
  int format;
  const rm_norm_sets *sets;
  double eps;
  rm_norm_array g, x, w, b, mean, variance, out;
  void *found_mean, *found_root;
} rm_norm_call;

/* Their status (include/repmath/nn.h), and the problem; f->sets[0] is 0 where nothing is to be done. */
rm_status rm_norm_check(rm_norm_problem *f, const rm_norm_call *call);
