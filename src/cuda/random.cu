/* Words, integers, Bernoulli trials, dropout and uniform numbers: one thread for each element runs the body of the CPU's
 * loop. */
#include "random.h"

#include "../random/dropout.h"
#include "../random/integers.h"
#include "../random/uniform.h"

extern "C" rm_status rm_cuda_random_words32(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out,
                                            ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_words_problem(&problem, 4);
  return status ? status : draw<uint32_t, 4, rm_make_words32, RM_F32>(problem, n, queue);
}

extern "C" rm_status rm_cuda_random_words64(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint64_t *out,
                                            ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_words_problem(&problem, 8);
  return status ? status : draw<uint64_t, 8, rm_make_words64, RM_F64>(problem, n, queue);
}

extern "C" rm_status rm_cuda_random_integers(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low,
                                             int64_t last, int64_t *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_integers_problem(&problem, low, last);
  return status ? status : draw<int64_t, 8, rm_make_integers, RM_F64>(problem, n, queue);
}

extern "C" rm_status rm_cuda_random_bernoulli(uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p,
                                              uint8_t *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_bernoulli_problem(&problem, p);
  return status ? status : draw<uint8_t, 8, rm_make_bernoulli, RM_F64>(problem, n, queue);
}

extern "C" rm_status rm_cuda_random_uniform(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low,
                                            double high, void *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_uniform_problem(&problem, format, low, high);
  return status ? status : draw_in<4, rm_make_uniform>(format, problem, n, queue);
}

extern "C" rm_status rm_cuda_dropout(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p,
                                     const void *x, ptrdiff_t stride_x, void *out, ptrdiff_t stride_out,
                                     rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_dropout_problem(&problem, format, p, x, stride_x);
  return status ? status : draw_in<8, rm_make_dropout>(format, problem, n, queue);
}
