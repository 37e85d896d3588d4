/* Convolutions of one channel to a group (depthwise) and their gradients: correlations of a plane with a few taps, and
 * sums of a plane for each tap. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../common/stats.h"
#include "../../runtime/isa.h"
#include "../gemm/views.h"

enum { RM_DEPTHWISE_TAPS = 128 }; /* more go to the matrix engine */

/* Vectors are of results along a line, or of channels; or it is the gradient with respect to the weights, of which the
 * positions are the view's rows too. */
enum { RM_DEPTHWISE_LINES, RM_DEPTHWISE_CHANNELS, RM_DEPTHWISE_WEIGHTS };

/* The plan of a problem: one operand is an im2col view over taps alone, the other has one row. The work is cut into units,
 * bands of the rows of a plane of results, of one channel or of RM_LANES; of the gradient with respect to the weights,
 * RM_LANES channels. */
typedef struct {
  const rm_matmul_problem *p;
  rm_im2col view; /* that of p, its index k with the taps last */
  int kind;
  int x; /* x: the dimension of the view's rows along which results are neighbours */
  int by_rows; /* C's rows are the positions, else its columns are */
  int64_t rows; /* of a band */
  int64_t bands; /* of a plane */
  int64_t planes; /* of an image: positions along z */
  int64_t units;
  size_t bytes; /* of the workspace of a thread */
} rm_depthwise;

struct rm_conv_kernels {
  /* Whether the problem is a depthwise convolution that this computes; then *d is its plan. */
  int (*depthwise_of)(rm_depthwise *d, const rm_matmul_problem *p);
  /* Computes one unit; adds to *tiers; returns RM_FLAG_* bits. */
  uint32_t (*depthwise_unit)(const rm_depthwise *d, int64_t unit, double *work, rm_tiers *tiers);
};
RM_ISA_TABLES(struct rm_conv_kernels, rm_conv_table, rm_conv_kernels)

/* Solves a problem whose arguments have been checked: here where it is depthwise, else by rm_matmul_run. */
rm_status rm_conv_run(const rm_matmul_problem *p);
