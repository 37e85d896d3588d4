/* The public random numbers. They compute what a call needs once (random/args.h), set the floating-point environment, and
 * divide the kernels' work among threads. */
#include "../../include/repmath/random.h"

#include "args.h"
#include "permutation.h"
#include "../common/philox.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { RM_GRAIN = 1 << 15 }; /* elements that are worth a thread */

typedef struct {
  const rm_random_problem *problem;
  rm_random_fn *kernel;
} plan;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const plan *t = context;
  return t->kernel(t->problem, begin, end - begin);
}

static void run(const rm_random_problem *problem, rm_random_fn *kernel) {
  const rm_env env = rm_env_enter();
  const plan t = {problem, kernel};
  rm_env_leave(env, rm_in_parts(problem->n, RM_GRAIN, part, &t));
}

void rm_random_block(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]) {
  uint64_t draws[2];
  rm_philox_block(seed, stream, counter, draws);
  for (int i = 0; i < 4; i++) out[i] = (uint32_t)(draws[i / 2] >> 32 * (i % 2));
}

rm_status rm_random_words32(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_words_problem(&problem, 4);
  if (!status) run(&problem, kernels->words32);
  return status;
}

rm_status rm_random_words64(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint64_t *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_words_problem(&problem, 8);
  if (!status) run(&problem, kernels->words64);
  return status;
}

rm_status rm_random_uniform(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low, double high,
                            void *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_uniform_problem(&problem, format, low, high);
  if (!status) run(&problem, kernels->uniform[format]);
  return status;
}

rm_status rm_random_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean, double std,
                           void *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_normal_problem(&problem, format, mean, std);
  if (!status) run(&problem, kernels->normal[format]);
  return status;
}

rm_status rm_random_truncated_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                     double std, double low, double high, void *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_truncated_problem(&problem, format, mean, std, low, high);
  if (!status) run(&problem, kernels->truncated[format]);
  return status;
}

rm_status rm_random_bernoulli(uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, uint8_t *out,
                              ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_bernoulli_problem(&problem, p);
  if (!status) run(&problem, kernels->bernoulli);
  return status;
}

rm_status rm_dropout(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, const void *x,
                     ptrdiff_t stride_x, void *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_dropout_problem(&problem, format, p, x, stride_x);
  if (!status) run(&problem, kernels->dropout[format]);
  return status;
}

rm_status rm_random_integers(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low, int64_t last,
                             int64_t *out, ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_integers_problem(&problem, low, last);
  if (!status) run(&problem, kernels->integers);
  return status;
}

rm_status rm_random_permutation(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t *out,
                                ptrdiff_t stride_out) {
  const struct rm_random_kernels *kernels = rm_random_kernels();
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  if (!kernels) return RM_ERR_ISA;
  const rm_status status = rm_words_problem(&problem, 8);
  if (status || n == 0) return status;
  return rm_permute(&problem, kernels->words64) ? RM_OK : RM_ERR_MEMORY;
}
