/* repmath: the random rounding modes (docs/spec.md, section 1a): stochastic rounding and two others, for studies of numerical
 * variability.
 *
 * The word that decides element i of a result is a function of seed, stream and first + i alone, so that results are the
 * same on every machine and for every number of threads. Functions of RM_ROUND_UP_DOWN and RM_ROUND_RANDOM serve
 * comparisons with other tools; the mean of RM_ROUND_STOCHASTIC is the exact value, to 2^-33 of the distance of
 * neighbouring numbers. */
#ifndef REPMATH_ROUNDING_H
#define REPMATH_ROUNDING_H

#include "convolution.h"
#include "core.h"
#include "optim.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  RM_ROUND_STOCHASTIC = 4, /* away from zero where the fraction of the last place exceeds a random threshold */
  RM_ROUND_RANDOM = 5, /* away from zero or toward it with equal chances, where the value is no number of the format */
  RM_ROUND_UP_DOWN = 6 /* to nearest, then one unit in the last place up or down with equal chances */
};

/* mode: RM_ROUND_STOCHASTIC ..., or RM_ROUND_TOWARD_ZERO, RM_ROUND_DOWN or RM_ROUND_UP, which ask no words: functions that
 * refuse RM_ROUND_UP_DOWN refuse these three, but for rm_random_balls. first: the element of the stream that decides element
 * 0, from 0 to 2^62 less the elements. */
typedef struct {
  int32_t mode;
  uint64_t seed, stream;
  int64_t first;
} rm_random_rounding;

/* out[i] = function(x[0][i], ...) rounded under r, for the functions of elementwise.h by their names ("exp", "add", "fma"),
 * and those of powers.h, where x[1] points to int64_t. stride[k] and stride_out are distances in bytes; out may be an
 * argument element for element, and overlaps nothing else. RM_ERR_ENUM of argument 2 for "erfinv" and "ndtri" in binary64
 * under RM_ROUND_STOCHASTIC, which are not there yet. */
RM_API rm_status rm_random_elementwise(const char *function, int format, int64_t n, const void *const *x,
                                       const ptrdiff_t *stride, void *out, ptrdiff_t stride_out, const rm_random_rounding *r);

/* out[i] = the exact sum of row i, n numbers from x + i stride_row on at distances of `stride` bytes, rounded under r.
 * Element i of r is row i. out, of format `out_format`, is contiguous. */
RM_API rm_status rm_random_sums(int format, int out_format, int64_t rows, int64_t n, const void *x, ptrdiff_t stride_row,
                                ptrdiff_t stride, void *out, const rm_random_rounding *r);

/* Two dimensions of an operand: a base address and the distances in bytes of rows and columns. */
typedef struct {
  const void *base;
  ptrdiff_t row, column;
} rm_random_operand;

/* C[i][j] = the exact sum over k of A[i][k] B[k][j], plus bias[i][j] unless bias is NULL or its base is, rounded under r.
 * Element i n + j of r is C[i][j]. C, of format `out_format`, is contiguous; the operands and the bias are of `format`. */
RM_API rm_status rm_random_matmul(int format, int out_format, int64_t m, int64_t n, int64_t k, const rm_random_operand *a,
                                  const rm_random_operand *b, const rm_random_operand *bias, void *c,
                                  const rm_random_rounding *r);

/* `batch` such products at the speed of rm_matmul_batched, of `format` RM_FORMAT_F16, RM_FORMAT_BF16 or RM_FORMAT_F32 and
 * `format_out` the same or RM_FORMAT_F32: operand number q is q next_a bytes from the first, and element (q m + i) n + j of r
 * is C[q][i][j], contiguous. bias may be NULL. RM_ERR_OVERLAP: C may share bytes with an operand. RM_ROUND_UP_DOWN is an
 * RM_ERR_ENUM of argument 14: it moves what is rounded to nearest. */
RM_API rm_status rm_random_matmul_batched(int format, int format_out, int64_t batch, int64_t m, int64_t n, int64_t k,
                                          const rm_random_operand *a, ptrdiff_t next_a, const rm_random_operand *b,
                                          ptrdiff_t next_b, const rm_random_operand *bias, ptrdiff_t next_bias, void *c,
                                          const rm_random_rounding *r);

enum { RM_CONV_FORWARD, RM_CONV_GRAD_INPUT, RM_CONV_GRAD_WEIGHT };

/* rm_conv_forward, rm_conv_grad_input or rm_conv_grad_weight, as `part` says, rounded under r: `first` and `second` are x and
 * w, g and w, or x and g; the gradient with respect to w has no bias. `out` is contiguous, and element i of r is its element
 * i. `format` is RM_FORMAT_F16, RM_FORMAT_BF16 or RM_FORMAT_F32. Errors have the numbers of those functions' arguments;
 * RM_ROUND_UP_DOWN is an RM_ERR_ENUM of argument 11. */
RM_API rm_status rm_random_conv(int format, const rm_conv *conv, const void *first, const ptrdiff_t *strides_first,
                                const void *second, const ptrdiff_t *strides_second, const void *bias, ptrdiff_t stride_bias,
                                void *out, int part, const rm_random_rounding *r);

/* out[i] = a number within radius[i] of middle[i], rounded under r, for results that were evaluated in binary64 with a bound
 * of the error. Where numbers within the radius round differently, or it is not finite, undecided[i] is 1 and out[i] is 0;
 * else 0. A radius of 0 means middle[i] itself, radius NULL that all are 0. A zero gives +0. `format` is RM_FORMAT_F16,
 * RM_FORMAT_BF16 or RM_FORMAT_F32; out is contiguous. RM_ROUND_UP_DOWN is an RM_ERR_ENUM of argument 7: it moves what is
 * rounded to nearest. */
RM_API rm_status rm_random_balls(int format, int64_t n, const double *middle, const double *radius, void *out,
                                 uint8_t *undecided, const rm_random_rounding *r);

/* The next call by this thread of rm_softmax, rm_log_softmax, their gradients, or a function of norms (nn.h) gives balls for
 * rm_random_balls: result i lies within radius[i] of middle[i], and the statistics of set i likewise where they are asked
 * for. A radius that is not finite says nothing. Rows of which nothing is known, such as those of a NaN, have their results
 * stored as always, others not. `format` is below binary64; results are contiguous, for norms the elements of a block, and
 * apart from the arguments: else the call returns RM_ERR_RANGE. What every stochastic rounding rounds to 0 may be 0.
 * With `rounding`, of RM_ROUND_STOCHASTIC, results are rounded, in double-double where need be, and stored; the first
 * *count of `left`, with room for all results, are the indices in any order of those that this leaves undecided, and they
 * alone have a middle and a radius. *count is 0 before the call. Statistics are balls, and so are gradients of weights. */
typedef struct {
  double *middle, *radius, *mean, *mean_radius, *root, *root_radius;
  const rm_random_rounding *rounding;
  int64_t *left, *count;
} rm_ball_results;
RM_API void rm_balls_of_next(const rm_ball_results *results);

/* The sums of rows of n binary64 numbers x[i row_x + j], or of products with y[i row_y + j] where y is not NULL, in two
 * parts: each is within radius[i] of high[i] + low[i], for n <= 2^24 some n^2 2^-104 of the sum of magnitudes, or 0 for a
 * sum that is seen to be exact. The radius is infinite where the sum of magnitudes is below 2^-700 or above 2^1000, or a
 * NaN, but for a sum of zeros, and where n is greater. Distances are in numbers. */
RM_API rm_status rm_sums_in_parts(int64_t rows, int64_t n, const double *x, ptrdiff_t row_x, const double *y, ptrdiff_t row_y,
                                  double *high, double *low, double *radius);

/* out[i] = the exact value of a formula of formulas.h, one of RM_FORMULA_SCALED to RM_FORMULA_SIGMOID, rounded under r,
 * where binary64 with a bound of its error decides that: all but a few in 2^20 elements. *open is how many it leaves:
 * those, and what is infinite or NaN on the way. They are 0 in out, or, where `left` is not NULL, stay as they were there,
 * so that out may be an argument; left, with room for n numbers, then has their indices in any order. `format` is
 * RM_FORMAT_F16, RM_FORMAT_BF16 or RM_FORMAT_F32; arrays are as there. An exact zero is the product's or quotient's of
 * RM_FORMULA_SCALED, _OVER and _UNDER, and +0 otherwise. RM_ROUND_UP_DOWN is an RM_ERR_ENUM of argument 11. */
RM_API rm_status rm_random_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z,
                                   void *out, int64_t *open, int64_t *left, const rm_random_rounding *r);

/* rm_sgd_step and rm_adam_step (optim.h), whose new states and parameters are rounded under r, each from the exact value of
 * its formula: the parameter with the words of stream r->stream, the buffer or first moment with those of the next stream,
 * the second moment with those of the one after it; element i of r is element i of the arrays. The larger second moment of
 * amsgrad is selected, not rounded. What is infinite, NaN or 0 is as there. Errors of r are of argument 7 and 9. */
RM_API rm_status rm_random_sgd_step(int format, int64_t n, void *p, const void *g, void *b, const rm_sgd_options *options,
                                    const rm_random_rounding *r);
RM_API rm_status rm_random_adam_step(int format, int64_t n, void *p, const void *g, void *m, void *v, void *w,
                                     const rm_adam_options *options, const rm_random_rounding *r);

/* The last step of RM_ROUND_UP_DOWN: each of n contiguous numbers, which were rounded to nearest, becomes its neighbour of
 * larger or smaller magnitude; zeros, infinities, NaN and the largest number upwards stay. */
RM_API rm_status rm_random_steps(int format, int64_t n, void *x, const rm_random_rounding *r);

/* The words of elements first, first + 1, ... of a stream. */
RM_API rm_status rm_random_rounding_words(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out);

#ifdef __cplusplus
}
#endif

#endif
