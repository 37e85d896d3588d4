/* Cross entropy and its gradient: the fast phase, over the CPU's function of a row (nn/cross_entropy/row.h). A kernel of one
 * block checks and counts the targets. */
#include "entropy.h"

#include "rows_fast.h"

#include "../../include/repmath/cuda_nn.h"

#include "../nn/rows/decide.inl"
#include "../nn/rows/exp_row.inl"
#include "../nn/rows/totals.inl"

#include "../nn/cross_entropy/row.h"

RM_STATIC int64_t rm_rows_decide(const rm_entropy_share *s) { return s->n; } /* the accurate phase alone runs shares */

#include "entropy_whole.h"

namespace {

RM_STATIC void each_of_classes(const void *operation, int64_t row, rm_row_state *state) {
  if (*static_cast<const rm_entropy *>(operation)->counted < 0 && rm_row_defer(state)) return;
  rm_entropy_finish_row(operation, row, state);
}
RM_STATIC void loss_of_classes(const void *operation, int64_t row, rm_row_state *state) {
  if (*static_cast<const rm_entropy *>(operation)->counted < 0 && rm_row_defer(state)) return;
  rm_entropy_loss_row(operation, row, state);
}
RM_STATIC void gradient_of_classes(const void *operation, int64_t row, rm_row_state *state) {
  if (*static_cast<const rm_entropy *>(operation)->counted < 0 && rm_row_defer(state)) return;
  rm_entropy_gradient_row(operation, row, state);
}

__global__ void __launch_bounds__(RM_ROW_THREADS) count_kernel(rm_entropy f, int64_t *counted, uint32_t *seen) {
  int64_t count = 0, min = 0;
  for (int64_t i = threadIdx.x; i < f.p.rows; i += RM_ROW_THREADS) {
    const int64_t t = rm_entropy_target(&f, i);
    count += !f.p.target || t != f.p.ignore_index;
    if (f.p.target && t != f.p.ignore_index && (t < 0 || t >= f.p.n)) min = -1;
  }
  count = of_block<join_add>(count);
  min = of_block<join_min>(min);
  if (threadIdx.x == 0) *counted = min < 0 ? -1 : count;
  if (threadIdx.x == 0 && min < 0 && seen) *seen = 1;
}

/* The workspace of a call: the count of targets, the loss of each row, and its special value. */
struct entropy_memory {
  workspace work;
  entropy_memory(rm_entropy *f, cudaStream_t stream)
      : work(sizeof(int64_t) + (static_cast<size_t>(f->p.rows) + 1) * (sizeof(rm_dd_ball) + sizeof(double)), stream) {
    int64_t *counted = static_cast<int64_t *>(work.data);
    if (!counted) return;
    f->counted = counted;
    f->losses = reinterpret_cast<rm_dd_ball *>(counted + 1);
    f->specials = reinterpret_cast<double *>(f->losses + f->p.rows + 1);
    RM_LAUNCH(count_kernel, 1, RM_ROW_THREADS, stream, *f, counted, rm_cuda_index_flag(stream));
  }
};

} // namespace

extern "C" rm_status rm_cuda_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss,
                                           ptrdiff_t stride_loss, rm_cuda_stream stream) {
  rm_entropy f = {format, rm_row_array_of(loss, stride_loss, 0)};
  const rm_status status = rm_entropy_check(&f, problem);
  if (status) return status;
  const bool each = problem->reduction == RM_REDUCTION_NONE;
  const int64_t rows = problem->rows, n = problem->n;
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const entropy_memory memory(&f, s);
  if (!memory.work.data) return RM_ERR_DEVICE;
  if (rows > 0) {
    const rm_status enqueued =
        each ? each_row<rm_entropy, each_of_classes>(f, rows, n, 5, rm_entropy_each_accurate, stream, whole_losses<true>)
             : each_row<rm_entropy, loss_of_classes>(f, rows, n, 5, rm_entropy_loss_accurate, stream, whole_losses<false>);
    if (enqueued) return enqueued;
  }
  return each ? launched() : rm_entropy_total(f, s);
}

extern "C" rm_status rm_cuda_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g,
                                                    ptrdiff_t stride_g, void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx,
                                                    rm_cuda_stream stream) {
  rm_entropy f = {format, rm_row_array_of(dx, row_dx, stride_dx), static_cast<const char *>(g), stride_g};
  const rm_status status = rm_entropy_gradient_check(&f, problem);
  if (status || problem->rows == 0 || problem->n == 0) return status;
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const entropy_memory memory(&f, s);
  if (!memory.work.data) return RM_ERR_DEVICE;
  const rm_status divided = rm_entropy_divide(f, s);
  if (divided) return divided;
  return each_row<rm_entropy, gradient_of_classes>(f, problem->rows, problem->n, 5, rm_entropy_gradient_accurate, stream,
                                                   whole_entropy_gradients);
}
