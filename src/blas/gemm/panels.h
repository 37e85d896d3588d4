/* The panels that packing fills: `unit` rows side by side, each kc long (pack.h). */
#pragma once

#include <stddef.h>

#include "bound_weights.h"

typedef struct {
  double *dst;
  int unit, trim; /* trim: the last panel holds only the vectors it needs */
  int64_t kc;
  double *norm2; /* or NULL */
  rm_weights weights;
  const double *scale; /* or NULL */
  char *stage;         /* rm_stage_bytes, for im2col views */
} rm_panels;

/* Elements (row, k) at base + row row_stride + k k_stride. */
typedef struct {
  const char *base;
  ptrdiff_t row_stride, k_stride;
} rm_strided;
