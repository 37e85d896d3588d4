/* Averages of windows to the end. */
#include "pooling.h"

#include "../nn/pooling_rest.h"

RM_FN int rm_row_left(rm_row_state *) { return 0; } /* these threads finish */

#include "../nn/decide.c"
#include "../reduce/superaccumulator.c"

#include "../reduce/statistics_exact.c"

enum { RM_POOL_STACK = 64 << 10 };

namespace {

__global__ void __launch_bounds__(RM_BIG_THREADS) rest_kernel(const __grid_constant__ rm_pooling f, rm_open_set left, char *stacks) {
  big_begin(stacks, RM_POOL_STACK);
  each_open(left, [&](int64_t i) {
    const pool_result result(f, i);
    rm_row_state state = {};
    rm_write_bits(result.y, rm_pool_exactly(&result.window, result.divisor(), result.uniform(), &state), f.format);
  });
}

} // namespace

rm_status rm_pool_rest(const rm_pooling &f, const rm_open_set &left, cudaStream_t stream) {
  const big_threads threads(left.n, RM_POOL_STACK);
  const workspace work(threads.memory(), stream);
  if (!work.data) return RM_ERR_DEVICE;
  RM_LAUNCH(rest_kernel, threads.blocks, RM_BIG_THREADS, stream, f, left, static_cast<char *>(work.data));
  return launched();
}
