/* Normal and truncated normal numbers: one thread for each element runs the body of the CPU's loop. */
#include "random.h"

#include "../random/normal.h"
#include "../random/truncated.h"

#include "../random/normal_exact.inl"
#include "../random/truncated_exact.inl"

namespace {

#define RM_MAKERS(fmt, FMT)                                                                                                  \
  RM_LONG uint32_t make_normal_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out) { \
    return rm_make_normal(problem, from, n, random, out, FMT);                                                               \
  }                                                                                                                          \
  RM_LONG uint32_t make_truncated_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random,           \
                                        char *out) {                                                                         \
    return rm_make_truncated(problem, from, n, random, out, FMT);                                                            \
  }
RM_MAKERS(f16, RM_F16)
RM_MAKERS(bf16, RM_BF16)
RM_MAKERS(f32, RM_F32)
RM_MAKERS(f64, RM_F64)

} // namespace

extern "C" rm_status rm_cuda_random_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                                           double std, void *out, ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_normal_problem(&problem, format, mean, std);
  if (status) return status;
  RM_DRAW_FORMAT(normal, 8)
}

extern "C" rm_status rm_cuda_random_truncated_normal(int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                                                     double mean, double std, double low, double high, void *out,
                                                     ptrdiff_t stride_out, rm_cuda_stream queue) {
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_truncated_problem(&problem, format, mean, std, low, high);
  if (status) return status;
  RM_DRAW_FORMAT(truncated, 8)
}
