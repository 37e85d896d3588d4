/* repmath: composite operators of deep learning. Each result is one real formula, rounded once (docs/spec.md, section 5).
 *
 * Arrays are rows of n elements of `format` (RM_FORMAT_*): row_<x> is the distance between rows, stride_<x> the distance
 * between the elements of a row, both in bytes and of any sign. An output may be an input with the same distances; otherwise
 * they must not overlap. */
#ifndef REPMATH_NN_H
#define REPMATH_NN_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Along each row x, rm_softmax computes e^(x_i) / sum of e^(x_k), and rm_log_softmax x_i - log(sum of e^(x_k)). A row that
 * has a NaN, or whose maximum is infinite, becomes NaN. */
RM_API rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                            ptrdiff_t row_y, ptrdiff_t stride_y);
RM_API rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                                void *y, ptrdiff_t row_y, ptrdiff_t stride_y);
/* The result of each row, stride_y bytes apart, is log(sum of e^(x_k)). If the row has a NaN it is NaN, otherwise an infinite
 * maximum is the result. The result of no elements is -infinity. */
RM_API rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                              void *y, ptrdiff_t stride_y);

/* These are the gradients with respect to the input, from the result y and the gradient g with respect to it:
 *   softmax      y_i (g_i - sum of g_k y_k)
 *   log_softmax  g_i - e^(y_i) (sum of g_k) */
RM_API rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                     const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                     ptrdiff_t stride_dx);
RM_API rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g,
                                         ptrdiff_t stride_g, const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx,
                                         ptrdiff_t row_dx, ptrdiff_t stride_dx);

/* rm_normalize normalizes sets of elements. The result is ((x - mean)/sqrt(variance + eps)) w + b, with the exact mean and
 * variance (the mean of squared deviations) of each set, or, if `centered` is 0, (x/sqrt(mean of squares + eps)) w + b. There
 * are sets[0] sets[1] sets, each of `outer` blocks of `inner` elements. An array is its base and four strides in bytes: for
 * the two indices of a set, for the block and for the element. w and b may be NULL, which counts as 1 and 0. For an array (N,
 * C, S):
 *   layer norm    over S of each (n, c): sets {N, C}, outer 1, inner S; strides of w {0, 0, 0, size}
 *   group norm    of G groups: sets {N, G}, outer C/G, inner S; strides of w {0, C/G size, size, 0}
 *   batch norm    sets {1, C}, outer N, inner S; strides of w {0, size, 0, 0}
 * The caller may give mean and variance, both or neither, with one number for each set. A set that has a NaN or an infinity,
 * or whose variance + eps is not positive, becomes NaN. eps is finite. The result may be x. */
typedef struct {
  int centered;
  int64_t sets[2], outer, inner;
} rm_norm_sets;

RM_API rm_status rm_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                              const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                              const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy);

/* Computes the same result from the sets' own statistics and stores these too: the mean of each set, and 1/sqrt(variance +
 * eps), contiguous in the order of the sets. Either may be NULL; `mean` must be NULL if the sets are not centered. */
RM_API rm_status rm_normalize_with_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx,
                                              const void *w, const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb,
                                              double eps, void *y, const ptrdiff_t *sy, void *mean, void *root);

/* The gradient with respect to x, from the gradient g with respect to y. With h = g w and v = variance + eps it is, over each
 * set of n elements, (h - (sum of h)/n - (x - mean) (sum of h (x - mean))/(n v))/sqrt(v). If the sets are not centered, the
 * second term and the mean are left out. If mean and variance are given, it is h/sqrt(v). dx may be g or x. */
RM_API rm_status rm_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                       const void *x, const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw,
                                       const void *mean, const ptrdiff_t *sm, const void *variance, const ptrdiff_t *sv,
                                       double eps, void *dx, const ptrdiff_t *sdx);

/* The gradient with respect to w is the sum of g (x - mean)/sqrt(v) over all elements that share a w, rounded once. sdw has
 * the strides of w. Either only that of the element is not 0, and each set has one block; or that of the second index of a
 * set is not 0, and that of the block may be. */
RM_API rm_status rm_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                              const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                              const void *variance, const ptrdiff_t *sv, double eps, void *dw,
                                              const ptrdiff_t *sdw);

/* Weights given by rows v and their lengths g, in binary64 with a rounding at each step, then rounded to binary32: the length
 * is RN64(root of the sum of v_k^2), and w_i = RN32(RN64(RN64(v_i g)/length)). The gradient, from r with respect to w: with
 * b = RN64(RN64(sum of r_k v_k)/length), dg = RN32(b) and
 *   dv_i = RN32(RN64(RN64(RN64(r_i - RN64(v_i RN64(b/length))) g)/length))
 * Rows of n elements follow each other. No exception is raised. Errors: RM_ERR_SIZE, RM_ERR_NULL, RM_ERR_ISA. */
RM_API rm_status rm_weight_norm_f32(int64_t rows, int64_t n, const float *v, const float *g, float *w, float *lengths);
RM_API rm_status rm_weight_norm_backward_f32(int64_t rows, int64_t n, const float *r, const float *v, const float *g,
                                             float *dv, float *dg);

/* The Euclidean norm of each row, as rm_norm has it, of rows that follow each other. No exception is raised. */
RM_API rm_status rm_norm_rows_f32(int64_t rows, int64_t n, const float *x, float *norms);

/* Cross entropy of logits x, with n classes in each of `rows` rows. The target of a row is a class, target[i], or, if target
 * is NULL, a row of probabilities. A row whose target is ignore_index does not count. Let w_c be the weight of a class (1 if
 * weight is NULL), s the label smoothing, and p_c the probability of a class, or 1 for the target and 0 for the others. With
 * q_c = ((1 - s) p_c + s/n) w_c
 *   the loss of a row is   sum of q_c (log(sum of e^(x_k)) - x_c), over the classes with q_c != 0 for s = 0 and a class as
 *                          target
 *   reduction              RM_REDUCTION_NONE: the loss of each row, 0 for an ignored one; SUM: their sum; MEAN: their sum
 *                          divided by the sum of the targets' weights, or by the number of rows if the targets are
 *                          probabilities.
 * Each result is rounded once. 0 <= s <= 1. The gradient with respect to x is g/divisor (softmax(x)_j (sum of q_c) - q_j),
 * where g is the gradient with respect to the result: one number, or with NONE one for each row. RM_ERR_INDEX: a target is
 * neither a class nor ignore_index. */
enum { RM_REDUCTION_NONE = 0, RM_REDUCTION_MEAN = 1, RM_REDUCTION_SUM = 2 };
typedef struct {
  int64_t rows, n;
  const void *x;
  ptrdiff_t row_x, stride_x;
  const int64_t *target;
  ptrdiff_t stride_target;
  const void *probability;
  ptrdiff_t row_probability, stride_probability;
  const void *weight;
  ptrdiff_t stride_weight;
  int64_t ignore_index;
  double label_smoothing;
  int reduction;
} rm_cross_entropy_problem;

RM_API rm_status rm_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss);
RM_API rm_status rm_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g,
                                           ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx);

#ifdef __cplusplus
}
#endif
#endif
