/* repmath: losses of deep learning (docs/spec.md, section 5). Each result is one real formula, rounded once; a mean or a sum
 * is that of the exact terms.
 *
 * Arrays have n elements of `format` (RM_FORMAT_*), stride_<x> bytes apart, of any sign; an argument's stride may be 0. An
 * output may be an input with the same stride; otherwise they may not overlap. */
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

/* out: n losses (RM_REDUCTION_NONE), their mean (NaN for n = 0), or their sum; stride_out matters for n losses alone.
 * RM_ERR_ENUM: there is no such loss; RM_ERR_RANGE: p is out of its range. */
RM_API rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x,
                                    ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out);

/* dx: g times the derivative of each loss with respect to x, divided by n for a mean. The derivative is 2d; sign(d), 0 for d
 * = 0; d/p where |d| < p, else sign(d); d between -p and p. g has an element for each loss (RM_REDUCTION_NONE), else one, and
 * stride_g is ignored. The gradient with respect to y is its negative. */
RM_API rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                             ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                             ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx);

/* The negative log likelihood of rows of x, numbers that are taken as log probabilities: -w x of a row's target, where its
 * weight w is 1 without weights. The problem is that of rm_cross_entropy; probability and label_smoothing are ignored. NONE:
 * of each row, 0 where it is ignored; SUM: their sum; MEAN: their sum over the sum of the targets' weights, NaN where both
 * are 0. */
RM_API rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss);
/* Its gradient with respect to x: -g w at the targets, divided by the sum of the weights for a mean, and 0 elsewhere. g: one
 * number, with NONE one a row. */
RM_API rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                      void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

/* Binary cross entropy of logits x with targets y: w ((1 - y) x + (1 + (p - 1) y) log(1 + e^-x)), with weights w and weights
 * p of the positive class, each 1 where it is NULL. At an infinite x the result is the limit, for finite y and p; an infinite
 * y or p gives NaN. */
RM_API rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                    ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                    ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out);
/* Its gradient with respect to x: g w ((1 - y) - (1 + (p - 1) y)/(1 + e^x)), divided by n for a mean. g: one number, with
 * RM_REDUCTION_NONE n. */
RM_API rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g,
                                             const void *x, ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y,
                                             const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                             ptrdiff_t stride_pos_weight, void *dx, ptrdiff_t stride_dx);

/* Kullback-Leibler divergence of t from the distribution whose logarithm is x: t (log t - x), 0 for t = 0; with log_target (0
 * or 1), where t is a logarithm, e^t (t - x), 0 for t = -infinity. count: what RM_REDUCTION_MEAN divides the sum by, n for
 * the mean of the losses or the number of rows; at least 1, or 0 where n is, which gives NaN. A negative t that is not a
 * logarithm gives NaN. */
RM_API rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x,
                           ptrdiff_t stride_x, const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out);
/* Its gradient with respect to x: -g t, or -g e^t, divided by count for a mean. g: one number, with RM_REDUCTION_NONE n. */
RM_API rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                                    ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx);

#ifdef __cplusplus
}
#endif
#endif
