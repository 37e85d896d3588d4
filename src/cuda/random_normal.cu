/* Normal and truncated normal numbers: one thread for each element runs the body of the CPU's loop. */
#include "random.h"

#include "../random/normal.h"
#include "../random/truncated.h"

#include "../random/normal_exact.inl"
#include "../random/truncated_exact.inl"

extern "C" rm_status rm_cuda_random_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                           double std, void *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_normal_problem(&problem, format, mean, std);
  return status ? status : draw_in<8, rm_make_normal, true>(format, problem, n, queue);
}

extern "C" rm_status rm_cuda_random_truncated_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                                                     double mean, double std, double low, double high, void *out,
                                                     ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_truncated_problem(&problem, format, mean, std, low, high);
  return status ? status : draw_in<8, rm_make_truncated, true>(format, problem, n, queue);
}
