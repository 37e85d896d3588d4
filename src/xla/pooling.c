/* Pooling over the last `dims` axes; all axes before them are planes. */
#include "call.h"

enum { MAX_POOL, AVG_POOL, AVG_POOL_BACKWARD };

/* Attributes: kind; by spatial axis in, out, kernel, stride, dilation, padding, of which the last four are empty where
 * windows are adaptive; include_pad, divisor. */
static rm_status compute(rm_call *call) {
  size_t n, windows;
  const int64_t kind = rm_xla_integer(call, "kind"), include_pad = rm_xla_integer(call, "include_pad");
  const int64_t divisor = rm_xla_integer(call, "divisor");
  rm_pool pool = {.channels = 1};
  rm_xla_integers(call, "kernel", &windows);
  const int64_t *in = rm_xla_integers(call, "in", &n), *out = rm_xla_integers(call, "out", &n);
  if (call->missing || n < 1 || n > 3 || (windows != 0 && windows != n)) { return RM_ERR_SIZE; }
  pool.dims = (int)n;
  pool.adaptive = windows == 0;
  const struct {
    const char *name;
    int64_t *to;
  } spatial[] = {{"kernel", pool.kernel}, {"stride", pool.stride}, {"dilation", pool.dilation}, {"padding", pool.padding}};
  for (size_t j = 0; j < n; j++) { pool.in[j] = in[j], pool.out[j] = out[j]; }
  for (size_t i = 0; i < 4 && windows; i++) {
    const int64_t *values = rm_xla_integers(call, spatial[i].name, &windows);
    if (call->missing || windows != n) { return RM_ERR_SIZE; }
    for (size_t j = 0; j < n; j++) { spatial[i].to[j] = values[j]; }
  }
  const XLA_FFI_Buffer *first = rm_xla_argument(call, 0);
  XLA_FFI_Buffer *result = rm_xla_result(call, 0);
  const int format = rm_xla_format(first);
  pool.batch = rm_xla_count(first, 0, first->rank - pool.dims);
  ptrdiff_t strides_in[5], strides_out[5], strides_index[5];
  ptrdiff_t step_in = rm_xla_bytes(format), step_out = step_in, step_index = 8;
  for (int j = pool.dims - 1; j >= 0; j--) {
    strides_in[j + 2] = step_in, strides_out[j + 2] = step_out, strides_index[j + 2] = step_index;
    step_in *= (ptrdiff_t)pool.in[j], step_out *= (ptrdiff_t)pool.out[j], step_index *= (ptrdiff_t)pool.out[j];
  }
  for (int j = 0; j < 2; j++) { strides_in[j] = step_in, strides_out[j] = step_out, strides_index[j] = step_index; }
  if (kind == AVG_POOL) {
    return rm_avg_pool(format, &pool, (int)include_pad, divisor, first->data, strides_in, result->data, strides_out);
  }
  if (kind == AVG_POOL_BACKWARD) {
    return rm_avg_pool_backward(format, &pool, (int)include_pad, divisor, first->data, strides_out, result->data, strides_in);
  }
  XLA_FFI_Buffer *index = rm_xla_result(call, 1);
  const int direct = index->dtype == XLA_FFI_DataType_S64;
  int64_t *at = direct ? index->data : rm_xla_scratch(call, 8 * rm_xla_size(index));
  if (!at) { return RM_ERR_MEMORY; }
  const rm_status status = rm_max_pool(format, &pool, first->data, strides_in, result->data, strides_out, at, strides_index);
  if (status == RM_OK && !direct) { rm_xla_put_integers(at, index); }
  return status;
}

static const char *const names[] = {"", "geometry", "", "", NULL};
RM_XLA_HANDLER(rm_xla_pool, compute, names)
