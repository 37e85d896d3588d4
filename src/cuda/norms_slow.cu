/* Sets of norms to the end. */
#include "norms.h"

#include "rows_thread.h"

#include "../nn/decide.c"
#include "../nn/totals.c"

#include "../nn/normalize.c"

enum { RM_NORM_STACK = 128 << 10 };

rm_status rm_norm_rest(const rm_norm_job &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_rows<rm_norm_job, rm_norm_forward_set>(f, left.n, f.outer * f.inner, 3, RM_NORM_STACK, left, stream);
}
rm_status rm_norm_gradient_rest(const rm_norm_job &f, const rm_open_set &left, cudaStream_t stream) {
  return rest_of_rows<rm_norm_job, rm_norm_backward_set>(f, left.n, f.outer * f.inner, 4, RM_NORM_STACK, left, stream);
}
