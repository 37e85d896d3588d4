/* Pooling: the accurate phase of averages. */
#include "pooling.h"

#include "elements_accurate.h"

#include "../nn/pool/accurate.h"

#include "../nn/rows/decide.inl"
#include "../reduce/superaccumulator.inl"

#include "../reduce/statistics_exact.inl"

enum { RM_POOL_STACK = 64 << 10 };

namespace {

RM_STATIC void whole_average(const void *operation, int64_t i, rm_row_state *state) {
  const rm_pool_problem &f = *static_cast<const rm_pool_problem *>(operation);
  const pool_result result(f, i);
  rm_write_bits(result.y, rm_pool_exactly(&result.window, result.divisor(), result.uniform(), state), f.format);
}

} // namespace

rm_status rm_pool_accurate(const rm_pool_problem &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_elements<rm_pool_problem, whole_average>(f, RM_POOL_STACK, undecided, stream);
}
