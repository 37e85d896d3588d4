/* repmath: random numbers without state. Element i of stream s under seed k is a function of (k, s, i) alone (spec.md,
 * section 6). So any part of a stream may be computed separately, in any order, by any number of threads, on any machine.
 *
 * Each function fills out[j] with element first + j of the stream, j = 0 ... n - 1. Strides are in BYTES, of any sign; any
 * alignment is allowed. first is not negative and first + n at most 2^63 - 1 (RM_ERR_RANGE). No two elements of out may
 * share bytes (RM_ERR_OVERLAP).
 *
 * Elements are words or draws. Word j is word j mod 4 of the generator's block j div 4; draw i is word 2i + 2^32 word
 * 2i+1. Functions that use the same elements of the same stream return numbers that depend on each other. */
#ifndef REPMATH_RANDOM_H
#define REPMATH_RANDOM_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The generator itself, Philox4x32-10, computes four words at any counter. */
RM_API void rm_random_block(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]);

/* Words of 32 bits, and draws of 64 bits. */
RM_API rm_status rm_random_words32(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out,
                                   ptrdiff_t stride_out);
RM_API rm_status rm_random_words64(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint64_t *out,
                                   ptrdiff_t stride_out);

/* RN(low + u (high - low)) with u = m 2^-p, where p is the precision of the format (11, 8, 24, 53) and m the highest p bits
 * of the word, or of the draw for f64. low <= high, both finite in the format (RM_ERR_RANGE). Rounding may give high. With
 * low = 0 and high = 1 the result is u. */
RM_API rm_status rm_random_uniform(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low,
                                   double high, void *out, ptrdiff_t stride_out);

/* RN(mean + std z) with z = Phi^-1((d + 1/2) 2^-64), where d is the draw. mean and std are finite, std >= 0
 * (RM_ERR_RANGE). */
RM_API rm_status rm_random_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                  double std, void *out, ptrdiff_t stride_out);

/* RN(mean + std Phi^-1((1 - U) Phi(a) + U Phi(b))) with U = (d + 1/2) 2^-64, a = (low - mean)/std, b = (high - mean)/std: the
 * normal distribution between low and high. low and high may be infinite. RM_ERR_RANGE unless std > 0, |mean|
 * <= 2^50 std, one end is within 30 std of the mean or the mean between them, and high - low >= 2^-100 std. */
RM_API rm_status rm_random_truncated_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                            double std, double low, double high, void *out, ptrdiff_t stride_out);

/* 1 where u < p, else 0; u as for f64. 0 <= p <= 1 (RM_ERR_RANGE). */
RM_API rm_status rm_random_bernoulli(uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, uint8_t *out,
                                     ptrdiff_t stride_out);

/* low + floor((last - low + 1) U): integers from low to last, both included; low <= last (RM_ERR_RANGE). U = 0.d e in
 * binary, d the draw of element i, e the 128 bits of the block at counter 2^63 + i. */
RM_API rm_status rm_random_integers(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low, int64_t last,
                                    int64_t *out, ptrdiff_t stride_out);

/* The numbers 0 ... n - 1 in the order of the draws of elements first ... first + n - 1. Equal draws are in the order of the
 * 128 bits of rm_random_integers, then of their numbers. The workspace, on the heap, takes 16 n bytes and a part for each
 * thread: together at most 24 n + 24 bytes, but those of 2^12 elements if n is below 2^23. RM_ERR_MEMORY: there is no memory
 * for it. */
RM_API rm_status rm_random_permutation(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t *out,
                                       ptrdiff_t stride_out);

/* +0 where rm_random_bernoulli with these arguments returns 1, else RN(x/(1-p)). 0 <= p <= 1 (RM_ERR_RANGE). With the
 * gradient in place of x it computes the gradient. out may be x with the same stride, and must not overlap it otherwise
 * (RM_ERR_OVERLAP). */
RM_API rm_status rm_dropout(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, const void *x,
                            ptrdiff_t stride_x, void *out, ptrdiff_t stride_out);

#ifdef __cplusplus
}
#endif
#endif
