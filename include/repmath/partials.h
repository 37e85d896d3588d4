/* repmath: parts of exact sums, which several processes, or passes of one, compute and join.
 *
 * A part is an array of binary64 sums, in C order, with a bound: the error of sums[i n + j] counts as at most
 * sqrt(row_bound[i] col_bound[j]). Parts of one array are joined by adding up all three, element by element, in any order: by
 * any all-reduce of binary64 that rounds to nearest. Whoever has the joined numbers rounds them (rm_round_partials). A bound
 * leaves a few elements open, where it cannot tell the rounding: of these every part gives a window, RM_WINDOW integers that
 * plain integer sums join exactly, and rm_round_windows decides. So a result is RN of the exact sum of the terms of all
 * parts, whatever they are and however they are joined: the bits of the whole in one call.
 *
 * joins: how many additions a number passes at most when parts are joined, 0 to RM_MAX_JOINS; W parts need W - 1. All parts
 * must allow for all additions. Kinds of parts may be joined, as those of a product and of a scatter sum into one weight.
 *
 * format is that of the operands (RM_FORMAT_F16, RM_FORMAT_BF16 or RM_FORMAT_F32): the products of binary64 numbers would not
 * be exact. Strides are in BYTES, of any sign, zero included. No result may overlap an operand or another result. Where an
 * array has no elements, bounds become 0. Of the exceptions only overflow is raised, by the functions that round. */
#ifndef REPMATH_PARTIALS_H
#define REPMATH_PARTIALS_H

#include "convolution.h"
#include "nn.h"
#include "reductions.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RM_MAX_JOINS = 1 << 20, RM_WINDOW = 21 };

/* sums[i n + j] = sum over k of A[i,k] B[k,j], for A of m x k and B of k x n. A sum over rows is the product with a row of
 * ones, which may be one element with strides of 0. */
RM_API rm_status rm_matmul_partial(int format, int64_t m, int64_t n, int64_t k, const void *a, ptrdiff_t row_a,
                                   ptrdiff_t col_a, const void *b, ptrdiff_t row_b, ptrdiff_t col_b, int64_t joins,
                                   double *sums, double *row_bound, double *col_bound);

/* The gradient with respect to a convolution's weight (rm_conv_grad_weight): sums is an array of w's shape, row_bound has an
 * element for each output channel, col_bound one for each element of w of the group's first output channel: groups x
 * (channels_in/groups x kernel...). A group is an array of its own, with its output channels as rows. */
RM_API rm_status rm_conv_grad_weight_partial(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                             const void *g, const ptrdiff_t *strides_g, int64_t joins, double *sums,
                                             double *row_bound, double *col_bound);

/* sums[r cols + j] = sum of src[i, j] over the i with index[i] = r (rm_segment_sum); src is n x cols. */
RM_API rm_status rm_scatter_partial(int format, int64_t rows, int64_t cols, int64_t n, const int64_t *index,
                                    ptrdiff_t stride_index, const void *src, ptrdiff_t row_src, ptrdiff_t col_src,
                                    int64_t joins, double *sums, double *row_bound, double *col_bound);

/* The gradient with respect to the weights of norms (rm_normalize_backward_weight), of the sets of this part: sums is a row.
 * blocks says what has a weight. 0: each of the `inner` elements of a set, which has one block, as of layer and RMS norms; 1:
 * each second index of a set, as of batch norms, with mean and variance given where a set has elements in other parts; outer:
 * each block of those, as of group norms. The statistics are the sets' own unless they are given. A term is irrational, so no
 * windows exist: what is open, or has an infinite or NaN operand, is decided by the whole from the operands of all parts.
 * row_bound has one element, col_bound one for each weight. */
RM_API rm_status rm_normalize_weight_partial(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg,
                                             const void *x, const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm,
                                             const void *variance, const ptrdiff_t *sv, double eps, int64_t blocks,
                                             int64_t joins, double *sums, double *row_bound, double *col_bound);

/* out[i n + j] = RN(sum), of the format given, wherever joined sums and bounds decide it. Elsewhere out is not defined yet:
 * the places i n + j of the first `limit` such elements are written to open, in order, and *count is how many there are. An
 * infinite or NaN sum is decided; an infinite or NaN bound decides nothing. */
RM_API rm_status rm_round_partials(int format, int64_t m, int64_t n, const double *sums, const double *row_bound,
                                   const double *col_bound, void *out, int64_t limit, int64_t *open, int64_t *count);

/* Joins `parts` parts, 1 to RM_MAX_JOINS, whose n sums are `step` bytes apart, and rounds them in one pass: out[i] and open
 * are as above. The bounds, which need allow only for the joins that parts have passed before, are those of all parts
 * together: element i is at place first + i of an array of `cols` columns and as many rows as row_bound has. Without bounds
 * (NULL, both) each number of a part is its own exact sum, rounded once to binary64. */
RM_API rm_status rm_join_partials(int format, int64_t parts, int64_t n, const double *sums, ptrdiff_t step, int64_t first,
                                  int64_t cols, const double *row_bound, const double *col_bound, void *out, int64_t limit,
                                  int64_t *open, int64_t *count);

/* The windows of `count` elements of a part, RM_WINDOW integers each: element[e] is the place of the e-th in sums. Arguments
 * are those of the part. */
RM_API rm_status rm_matmul_windows(int format, int64_t m, int64_t n, int64_t k, const void *a, ptrdiff_t row_a,
                                   ptrdiff_t col_a, const void *b, ptrdiff_t row_b, ptrdiff_t col_b, int64_t count,
                                   const int64_t *element, int64_t *windows);
RM_API rm_status rm_conv_grad_weight_windows(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                             const void *g, const ptrdiff_t *strides_g, int64_t count, const int64_t *element,
                                             int64_t *windows);
RM_API rm_status rm_scatter_windows(int format, int64_t rows, int64_t cols, int64_t n, const int64_t *index,
                                    ptrdiff_t stride_index, const void *src, ptrdiff_t row_src, ptrdiff_t col_src,
                                    int64_t count, const int64_t *element, int64_t *windows);

/* The total of an accumulator as a window. RM_ERR_RANGE: it is finite, but no multiple of 2^-320 below 2^315 in magnitude, as
 * all sums of fewer than 2^59 products of binary32 numbers are. */
RM_API rm_status rm_accumulator_write_window(const rm_accumulator *acc, int64_t *window);

/* out[element[e]] = RN(sum of the e-th windows of all parts), at most RM_MAX_JOINS + 1 of them, which have been added up
 * integer by integer; out has the format given, which may be RM_FORMAT_F64. */
RM_API rm_status rm_round_windows(int format, int64_t count, const int64_t *windows, const int64_t *element, void *out);

#ifdef __cplusplus
}
#endif
#endif
