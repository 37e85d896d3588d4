/* Gradients of images that are sampled at the places of a grid, of formats below binary64. */
#pragma once

#include <stdint.h>

/* One sample: `channels` planes of `size` numbers, and the terms of rm_grid_terms. */
typedef struct {
  int format, dims;
  int64_t channels, size, points, taps;
  const int64_t *at;
  const double *weight, *slope;
} rm_py_sample;

/* Whether the numbers from v - err to v + err round to one number of a format below binary64, which *out becomes; the
 * ends round by less than err has room for. An infinite or NaN v is that number. */
int rm_py_decided(int format, double v, double err, void *out);

/* Copies a matrix of elements of 2 or 4 bytes by columns. */
void rm_py_turn(int64_t rows, int64_t columns, int size, const void *from, void *to);

/* The numbers of binary64 that rm_py_sample_gradients takes as its workspace. */
int64_t rm_py_sample_workspace(const rm_py_sample *s);

/* With respect to the image, dx, the sums of weight g, where terms and sums are rounded to binary64; with respect to
 * the grid, dgrid (points, dims), the sums of slope d over the taps, d the sum of g x over the channels, rounded to
 * binary64. Both are rounded to the format after that. dx or dgrid is NULL where it is not wanted. Returns a bit for
 * each that has a result whose rounding is undecided: 1 for dx, 2 for dgrid. */
int rm_py_sample_gradients(const rm_py_sample *s, const void *g, const void *x, void *dx, void *dgrid, double *workspace);
