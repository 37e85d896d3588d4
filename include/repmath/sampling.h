/* repmath: sums of weighted elements at given places, as for resized and sampled images and for bags of rows. */
#ifndef REPMATH_SAMPLING_H
#define REPMATH_SAMPLING_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The sums go from an argument x[line, element, j] to a result y[line, point, j], j < inner. Term i adds weight[i] x[line,
 * at[i], j]; at[i] = -1 adds nothing. Point p has the terms t points + p, t < taps. If `first` is given (points + 1 numbers
 * from 0 on, none smaller than the one before it), point p has the terms from first[p] to first[p + 1] - 1. Each `group`
 * lines share a list of terms; the lists follow one another in `at` and `weight`. */
typedef struct {
  int64_t lines, elements, inner;
  int64_t points, taps;
  int64_t group;        /* at least 1; with `first` at least `lines` */
  const int64_t *first; /* or NULL */
  const int64_t *at;
  const double *weight; /* or NULL: all are 1. Weights may be given only if x has a format below binary64 */
  int mean;             /* whether a sum that has terms is divided by their number */
} rm_gather;

/* y receives the exact sum of the terms, or their mean, rounded once; a sum of no terms is 0. x has the format `format_x` and
 * strides in bytes for line, element and j. y is contiguous, has the format `format`, which is below binary64, and must not
 * overlap x. RM_ERR_INDEX: a value of `at` is not from -1 to elements - 1. */
RM_API rm_status rm_gather_sum(int format_x, int format, const rm_gather *gather, const void *x, const ptrdiff_t *strides_x,
                               void *y);

enum { RM_SAMPLE_LINEAR = 0, RM_SAMPLE_NEAREST = 1, RM_SAMPLE_CUBIC = 2 };
enum { RM_PADDING_ZEROS = 0, RM_PADDING_BORDER = 1, RM_PADDING_REFLECTION = 2 };

/* The places of a grid in images of 2 or 3 dimensions, whose sizes (x first) are at least 1 and below 2^31. */
typedef struct {
  int dims, mode, padding, align_corners; /* cubic: of two dimensions */
  int64_t size[3];
  int64_t samples, points;
} rm_grid_sample;

/* Computes the terms of rm_gather for the samples of a contiguous grid of shape (samples, points, dims), whose coordinates in
 * [-1, 1] span the image. There are n^dims taps, n = 2, 1 or 4 by mode, computed in binary64 with one rounding for each step.
 * slope, unless it is NULL, receives the derivatives of the weights for each sample and coordinate, in the order of the
 * weights; they are 0 if a tap is outside. */
RM_API rm_status rm_grid_terms(int format, const rm_grid_sample *grid, const void *coordinates, int64_t *at, double *weight,
                               double *slope);

#ifdef __cplusplus
}
#endif
#endif
