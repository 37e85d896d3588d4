/* Sums, means and softmaxes along an axis. Arrays are (..., n, inner): for each stack and each inner index, n
 * elements that lie `inner` apart. */
#include "call.h"

#include <string.h>

enum { SUM, MEAN, LOGSUMEXP, SOFTMAX, LOG_SOFTMAX, SOFTMAX_BACKWARD, LOG_SOFTMAX_BACKWARD, QUOTIENT, SUM_AROUND };

/* Shorter rows are summed as a product with a column of ones, which is one call for all of them. */
enum { RM_LONG_ROW = 512 };

static rm_status sums(int format, int64_t outer, int64_t n, int64_t inner, const char *x, char *out) {
  static const uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
  static const float one_f32 = 1;
  static const double one_f64 = 1;
  const ptrdiff_t size = rm_xla_bytes(format);
  if (inner == 1 && n >= RM_LONG_ROW && size > 2) {
    rm_status status = RM_OK;
    for (int64_t i = 0; i < outer && status == RM_OK; i++) {
      const void *row = x + i * n * size;
      void *to = out + i * size;
      status = format == RM_FORMAT_F64 ? rm_sum_f64(n, row, size, to) : rm_sum_f32(n, row, size, to);
    }
    return status;
  }
  const void *one = format == RM_FORMAT_F16    ? (const void *)&one_f16
                    : format == RM_FORMAT_BF16 ? (const void *)&one_bf16
                    : format == RM_FORMAT_F32  ? (const void *)&one_f32
                                               : (const void *)&one_f64;
  if (inner == 1) {
    return rm_matmul_batched(format, format, 1, outer, 1, n, x, 0, n * size, size, one, 0, 0, 0, NULL, 0, 0, out, 0, size,
                             size);
  }
  return rm_matmul_batched(format, format, outer, inner, 1, n, x, n * inner * size, size, inner * size, one, 0, 0, 0, NULL, 0,
                           0, out, inner * size, size, size);
}

/* x (..., before, places, after): of each stack and place the sum over both other axes. The runs of a place are laid side by
 * side first. */
static rm_status sums_around(rm_call *call, int format, const XLA_FFI_Buffer *x, char *out) {
  const int64_t before = x->dims[x->rank - 3], places = x->dims[x->rank - 2], after = x->dims[x->rank - 1];
  const int64_t stack = rm_xla_count(x, 0, x->rank - 3), n = before * after;
  const ptrdiff_t size = rm_xla_bytes(format), run = after * size;
  char *line = rm_xla_scratch(call, n * size);
  if (!line) { return RM_ERR_MEMORY; }
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack; i++) {
    for (int64_t j = 0; j < places && status == RM_OK; j++) {
      const char *from = (const char *)x->data + (i * before * places + j) * run;
      for (int64_t k = 0; k < before && run; k++) { memcpy(line + k * run, from + k * places * run, (size_t)run); }
      status = sums(format, 1, n, 1, line, out + (i * places + j) * size);
    }
  }
  return status;
}

static rm_status compute(rm_call *call) {
  const XLA_FFI_Buffer *x = rm_xla_argument(call, 0);
  const int64_t kind = rm_xla_integer(call, "kind");
  if (call->missing) { return RM_ERR_ENUM; }
  const int format = rm_xla_format(x);
  const ptrdiff_t size = rm_xla_bytes(format);
  char *out = rm_xla_result(call, 0)->data;
  if (kind == QUOTIENT) { /* by an integer that the format need not hold: an average of windows of one element */
    const int64_t count = rm_xla_size(x), divisor = rm_xla_integer(call, "divisor");
    const rm_pool pool = {
        .dims = 1, .batch = 1, .channels = 1, .in = {count}, .out = {count}, .kernel = {1}, .stride = {1}, .dilation = {1}};
    const ptrdiff_t strides[3] = {size, size, size};
    if (call->missing) { return RM_ERR_ENUM; }
    return count == 0 ? RM_OK : rm_avg_pool(format, &pool, 1, divisor, x->data, strides, out, strides);
  }
  if (kind == SUM_AROUND) { return sums_around(call, format, x, out); }
  const int64_t n = x->dims[x->rank - 2], inner = x->dims[x->rank - 1], outer = rm_xla_count(x, 0, x->rank - 2);
  const ptrdiff_t step = inner * size, next = n * step; /* from element to element, from stack to stack */
  if (outer == 0 || inner == 0) { return RM_OK; }
  if (kind == SUM) { return sums(format, outer, n, inner, x->data, out); }
  /* With one inner place all stacks are the rows of one call; else each stack is a call whose rows are the inner places. */
  const int64_t calls = inner == 1 ? 1 : outer, rows = inner == 1 ? outer : inner;
  const ptrdiff_t row = inner == 1 ? next : size;
  const char *second = rm_xla_arguments(call) > 1 ? rm_xla_argument(call, 1)->data : NULL;
  rm_status status = RM_OK;
  for (int64_t i = 0; i < calls && status == RM_OK; i++) {
    const char *from = (const char *)x->data + i * next, *other = second ? second + i * next : NULL;
    char *to = out + i * (kind == MEAN || kind == LOGSUMEXP ? step : next);
    switch (kind) {
      case MEAN:
        for (int64_t j = 0; j < rows && status == RM_OK; j++) {
          status = rm_mean(format, n, from + j * row, step, format, to + j * size);
        }
        break;
      case LOGSUMEXP: status = rm_logsumexp(format, rows, n, from, row, step, to, size); break;
      case SOFTMAX: status = rm_softmax(format, rows, n, from, row, step, to, row, step); break;
      case LOG_SOFTMAX: status = rm_log_softmax(format, rows, n, from, row, step, to, row, step); break;
      case SOFTMAX_BACKWARD:
        status = rm_softmax_backward(format, rows, n, from, row, step, other, row, step, to, row, step);
        break;
      case LOG_SOFTMAX_BACKWARD:
        status = rm_log_softmax_backward(format, rows, n, from, row, step, other, row, step, to, row, step);
        break;
      default: return RM_ERR_ENUM;
    }
  }
  return status;
}

static const char *const names[] = {NULL};
RM_XLA_HANDLER(rm_xla_along, compute, names)
