/* repmath: losses of deep learning (docs/spec.md, section 5). Each result is one real formula, rounded once; a mean or a sum
 * is that of the exact terms.
 *
 * Arrays have n elements of `format` (RM_FORMAT_*), stride_<x> bytes apart. Strides have any sign; an argument's may be 0. An
 * output may be an input with the same stride; otherwise they must not overlap. */
#ifndef REPMATH_LOSSES_H
#define REPMATH_LOSSES_H

#include "nn.h" /* RM_REDUCTION_* */

#ifdef __cplusplus
extern "C" {
#endif

/* Losses of d = x - y, with a parameter p (binary64, taken exactly):
 *   RM_LOSS_MSE        d^2                                               p is ignored
 *   RM_LOSS_L1         |d|                                               p is ignored
 *   RM_LOSS_SMOOTH_L1  d^2/(2p) where |d| < p, else |d| - p/2            0 <= p, finite; |d| for p = 0
 *   RM_LOSS_HUBER      d^2/2 where |d| <= p, else p (|d| - p/2)          0 < p, finite */
enum { RM_LOSS_MSE = 0, RM_LOSS_L1 = 1, RM_LOSS_SMOOTH_L1 = 2, RM_LOSS_HUBER = 3 };

/* out receives n losses (RM_REDUCTION_NONE), their mean (NaN for n = 0) or their sum. stride_out is used for n losses only.
 * RM_ERR_ENUM: there is no such loss. RM_ERR_RANGE: p is out of its range. */
RM_API rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x,
                                    ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out);

/* dx receives g times the derivative of each loss with respect to x, divided by n for a mean. The derivatives are, in the
 * order above, 2d; sign(d), 0 for d = 0; d/p where |d| < p, else sign(d); d held between -p and p. g has one element for each
 * loss (RM_REDUCTION_NONE), or else one element, and stride_g is ignored. The gradient with respect to y is the negative of
 * dx. */
RM_API rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                             ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                             ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx);

/* The negative log likelihood of rows of x, whose numbers count as log probabilities. The loss of a row is -w x of its
 * target, with the weight w of the target, or 1 without weights. The problem is that of rm_cross_entropy; probability and
 * label_smoothing are ignored. NONE: the loss of each row, 0 for an ignored one; SUM: their sum; MEAN: their sum divided by
 * the sum of the targets' weights, NaN if both are 0. */
RM_API rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss);
/* Its gradient with respect to x is -g w at the targets, divided by the sum of the weights for a mean, and 0 elsewhere. g is
 * one number, or with NONE one for each row. */
RM_API rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                      void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

/* Binary cross entropy of logits x with targets y is w ((1 - y) x + (1 + (p - 1) y) log(1 + e^-x)), with weights w and
 * weights p of the positive class, which count as 1 if they are NULL. At an infinite x the result is the limit, for finite y
 * and p; an infinite y or p gives NaN. */
RM_API rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                    ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                    ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out);
/* Its gradient with respect to x is g w ((1 - y) - (1 + (p - 1) y)/(1 + e^x)), divided by n for a mean. g is one number, or n
 * with RM_REDUCTION_NONE. */
RM_API rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g,
                                             const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                                             const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                             ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx);

/* The Kullback-Leibler divergence of t from the distribution whose logarithm is x is t (log t - x), 0 for t = 0. If
 * log_target is 1 instead of 0, t is a logarithm, and the divergence is e^t (t - x), 0 for t = -infinity. RM_REDUCTION_MEAN
 * divides the sum by count: n for the mean of the losses, or the number of rows. count is at least 1, or 0 if n is 0, which
 * gives NaN. A negative t that is not a logarithm gives NaN. */
RM_API rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                           ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out);
/* Its gradient with respect to x is -g t, or -g e^t, divided by count for a mean. g is one number, or n with
 * RM_REDUCTION_NONE. */
RM_API rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                                    ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx);

#ifdef __cplusplus
}
#endif
#endif
