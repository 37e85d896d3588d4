/* repmath: random numbers on a GPU: the functions of random.h over device memory, with their arguments, checks and bits; see
 * cuda.h. */
#ifndef REPMATH_CUDA_RANDOM_H
#define REPMATH_CUDA_RANDOM_H

#include "cuda_elementwise.h" /* rm_cuda_stream */

#ifdef __cplusplus
extern "C" {
#endif

RM_API rm_status rm_cuda_random_words32(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out,
                                        ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_words64(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint64_t *out,
                                        ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_integers(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low, int64_t last,
                                         int64_t *out, ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_bernoulli(uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, uint8_t *out,
                                          ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_permutation(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t *out,
                                            ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_uniform(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low,
                                        double high, void *out, ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                       double std, void *out, ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_random_truncated_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                                                 double mean, double std, double low, double high, void *out,
                                                 ptrdiff_t stride_out, rm_cuda_stream queue);
RM_API rm_status rm_cuda_dropout(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p,
                                 const void *x, ptrdiff_t stride_x, void *out, ptrdiff_t stride_out, rm_cuda_stream queue);

#ifdef __cplusplus
}
#endif
#endif
