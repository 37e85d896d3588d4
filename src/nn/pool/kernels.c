/* The loops of pooling over the rows of windows, compiled once per ISA. */
#include "kernels.h"

#include "../../../crlibm/simd/machine.h"

static void max(int64_t n, const double *x, double id, double *best, double *at) {
  const vf64 here = vf64_set1(id);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const vf64 v = vf64_load(x + i), b = vf64_load(best + i);
    const vm64 take = vm64_or(vf64_lt(b, v), vm64_andnot(vf64_unord(v, v), vf64_unord(b, b)));
    vf64_store(best + i, vf64_select(take, v, b));
    vf64_store(at + i, vf64_select(take, here, vf64_load(at + i)));
  }
}

static void add(int64_t n, const double *x, double *sum, double *low, double *size) {
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 e;
    vf64_store(sum + i, vf64_two_sum(vf64_load(sum + i), vf64_load(x + i), &e));
    vf64_store(low + i, vf64_add(vf64_load(low + i), e));
    vf64_store(size + i, vf64_add(vf64_load(size + i), vf64_abs(e)));
  }
}

extern const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table);
const struct rm_pool_kernels RM_ISA_SYMBOL(rm_pool_table) = {max, add};
