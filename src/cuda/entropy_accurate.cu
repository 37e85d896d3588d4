/* Cross entropy: the accurate phase of undecided rows, and, by one thread block, what needs all rows. Where a target is not a
 * class, all results are NaN. */
#include "entropy.h"

#include "../nn/cross_entropy/share.h"
#define RM_SHARED_EXPONENTIALS 1
#define RM_SHARE rm_entropy_share
#define RM_SHARE_DECIDE rm_entropy_decide
#define RM_SHARE_ADD rm_entropy_add
#include "rows_accurate.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/exp_row.inl"
#include "../nn/rows/totals.inl"

#include "../nn/cross_entropy/row.h"

#include "entropy_decide.h"

enum { RM_ENTROPY_STACK = 176 << 10, RM_ENTROPY_BUFFERS = 5 };

namespace {

RM_STATIC void each_or_nan(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = static_cast<const rm_entropy *>(operation);
  if (*f->counted >= 0) rm_entropy_finish_row(f, row, state);
  else rm_write_bits(rm_row_at(&f->out, row), rm_nan_bits(f->format), f->format);
}
RM_STATIC void loss_if_classes(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = static_cast<const rm_entropy *>(operation);
  if (*f->counted >= 0) rm_entropy_loss_row(f, row, state);
}
RM_STATIC void gradient_or_nan(const void *operation, int64_t row, rm_row_state *state) {
  const rm_entropy *f = static_cast<const rm_entropy *>(operation);
  if (*f->counted >= 0) {
    rm_entropy_gradient_row(f, row, state);
    return;
  }
  for (int64_t i = 0; i < f->p.n; i++)
    rm_write_bits(rm_row_at(&f->out, row) + i * f->out.stride, rm_nan_bits(f->format), f->format);
}

__global__ void __launch_bounds__(RM_ROW_THREADS) total_kernel(rm_entropy f, row_memory memory, char *stack) {
  lead([&] {
    rm_big_begin(stack, RM_ENTROPY_STACK);
    rm_row_state state = memory.state(0);
    if (*f.counted >= 0) rm_entropy_finish_total(&f, 0, &state);
    else rm_write_bits(f.out.base, rm_nan_bits(f.format), f.format);
  });
}

__global__ void __launch_bounds__(RM_ROW_THREADS) divisor_kernel(rm_entropy f, char *stack) {
  lead([&] {
    rm_big_begin(stack, RM_ENTROPY_STACK);
    if (*f.counted >= 0) *f.specials = rm_entropy_divide(&f, f.losses);
  });
}

} // namespace

rm_status rm_entropy_each_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_entropy, each_or_nan>(f, f.p.rows, f.p.n, RM_ENTROPY_BUFFERS, RM_ENTROPY_STACK, undecided, stream);
}
rm_status rm_entropy_loss_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_entropy, loss_if_classes>(f, f.p.rows, f.p.n, RM_ENTROPY_BUFFERS, RM_ENTROPY_STACK, undecided,
                                                    stream);
}
rm_status rm_entropy_gradient_accurate(const rm_entropy &f, const rm_undecided_set &undecided, cudaStream_t stream) {
  return accurate_rows<rm_entropy, gradient_or_nan>(f, f.p.rows, f.p.n, RM_ENTROPY_BUFFERS, RM_ENTROPY_STACK, undecided,
                                                    stream);
}

rm_status rm_entropy_total(const rm_entropy &f, cudaStream_t stream) {
  row_memory memory(f.p.n, RM_ENTROPY_BUFFERS, 1, 1);
  const workspace work(memory.bytes(), stream), stack(RM_ENTROPY_STACK, stream);
  if (!memory.set(work) || !stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH(total_kernel, 1, RM_ROW_THREADS, stream, f, memory, static_cast<char *>(stack.data));
  return launched();
}

rm_status rm_entropy_divide(const rm_entropy &f, cudaStream_t stream) {
  const workspace stack(RM_ENTROPY_STACK, stream);
  if (!stack.data) return RM_ERR_DEVICE;
  RM_LAUNCH(divisor_kernel, 1, RM_ROW_THREADS, stream, f, static_cast<char *>(stack.data));
  return launched();
}
