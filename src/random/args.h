/* A call of random numbers made ready on the host: its arguments checked, what depends on them alone computed. The functions
 * take the arguments of the public ones (include/repmath/random.h) and return their status; *job is for the loops only when
 * it is RM_OK. */
#ifndef RM_RANDOM_ARGS_H
#define RM_RANDOM_ARGS_H

#include "../../include/repmath/core.h"
#include "kernels.h"

/* What all of them ask of their arguments. size: bytes of a result; at_first: the position of `first`, before n; at_out: that
 * of out. */
rm_status rm_random_start(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, void *out,
                          ptrdiff_t stride, int size, int at_first, int at_out);

rm_status rm_uniform_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low,
                         double high, void *out, ptrdiff_t stride_out);
rm_status rm_normal_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                        double std, void *out, ptrdiff_t stride_out);
rm_status rm_truncated_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                           double mean, double std, double low, double high, void *out, ptrdiff_t stride_out);
rm_status rm_bernoulli_job(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, void *out,
                           ptrdiff_t stride_out);
rm_status rm_dropout_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p,
                         const void *x, ptrdiff_t stride_x, void *out, ptrdiff_t stride_out);
rm_status rm_integers_job(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low,
                          int64_t last, void *out, ptrdiff_t stride_out);

#endif
