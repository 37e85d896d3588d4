/* Matrix products and convolutions. Axes before those of one product or image batch are a stack of them. */
#include "call.h"

#include <string.h>

/* a (..., m, k), or transposed; b (..., k, n), or transposed; bias (..., n) or none. */
static rm_status matmul(rm_call *call) {
  const XLA_FFI_Buffer *a = rm_xla_argument(call, 0), *b = rm_xla_argument(call, 1);
  const XLA_FFI_Buffer *bias = rm_xla_arguments(call) > 2 ? rm_xla_argument(call, 2) : NULL;
  XLA_FFI_Buffer *c = rm_xla_result(call, 0);
  const int64_t trans_a = rm_xla_integer(call, "trans_a"), trans_b = rm_xla_integer(call, "trans_b");
  if (call->missing) { return RM_ERR_ENUM; }
  const int64_t r = c->rank, stack = rm_xla_count(c, 0, r - 2), m = c->dims[r - 2], n = c->dims[r - 1];
  const int64_t k = a->dims[r - (trans_a ? 2 : 1)];
  const int format = rm_xla_format(a), format_c = rm_xla_format(c);
  const ptrdiff_t size = rm_xla_bytes(format), size_c = rm_xla_bytes(format_c);
  const ptrdiff_t row_a = trans_a ? size : size * k, col_a = trans_a ? size * m : size;
  const ptrdiff_t row_b = trans_b ? size : size * n, col_b = trans_b ? size * k : size;
  return rm_matmul_batched(format, format_c, stack, m, n, k, a->data, size * m * k, row_a, col_a, b->data, size * k * n,
                           row_b, col_b, bias ? bias->data : NULL, size * n, size, c->data, size_c * m * n, size_c * n,
                           size_c);
}

static const char *const matmul_names[] = {"", "", "", "", "", "", "a", "", "", "", "b", "", "", "", "bias", NULL};
RM_XLA_HANDLER(rm_xla_matmul, matmul, matmul_names)

/* The same with a factor and with a matrix c to begin with, or none: alpha op(a) op(b) + c, one rounding. */
static rm_status scaled_matmul(rm_call *call) {
  const XLA_FFI_Buffer *a = rm_xla_argument(call, 0), *b = rm_xla_argument(call, 1);
  const XLA_FFI_Buffer *start = rm_xla_arguments(call) > 2 ? rm_xla_argument(call, 2) : NULL;
  XLA_FFI_Buffer *c = rm_xla_result(call, 0);
  const int64_t trans_a = rm_xla_integer(call, "trans_a"), trans_b = rm_xla_integer(call, "trans_b");
  const double alpha = rm_xla_real(call, "alpha");
  if (call->missing) { return RM_ERR_ENUM; }
  const int64_t r = c->rank, stack = rm_xla_count(c, 0, r - 2), m = c->dims[r - 2], n = c->dims[r - 1];
  const int64_t k = a->dims[r - (trans_a ? 2 : 1)], lda = trans_a ? m : k, ldb = trans_b ? k : n;
  const int format = rm_xla_format(a);
  const ptrdiff_t size = rm_xla_bytes(format);
  if (start && rm_xla_size(c)) { memcpy(c->data, start->data, (size_t)(rm_xla_size(c) * size)); }
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    status = rm_gemm(format, RM_ROW_MAJOR, trans_a ? RM_TRANS : RM_NO_TRANS, trans_b ? RM_TRANS : RM_NO_TRANS, m, n, k, alpha,
                     (const char *)a->data + i * m * k * size, lda ? lda : 1, (const char *)b->data + i * k * n * size,
                     ldb ? ldb : 1, start ? 1 : 0, (char *)c->data + i * m * n * size, n ? n : 1);
  }
  return status;
}

static const char *const scaled_names[] = {NULL};
RM_XLA_HANDLER(rm_xla_scaled_matmul, scaled_matmul, scaled_names)

/* Strides of an array whose axes lie in memory in another order: order[i] is where logical axis i is. */
static void strides_of(const int64_t *dims, const int64_t *order, int axes, ptrdiff_t size, ptrdiff_t *strides) {
  for (int i = 0; i < axes; i++) {
    strides[i] = size;
    for (int64_t j = order[i] + 1; j < axes; j++) { strides[i] *= (ptrdiff_t)dims[j]; }
  }
}

/* kind 0: y of x, w, bias or none; 1: x of g, w, bias or none; 2: w of x, g. Attributes: sizes {batch, channels in,
 * channels out, groups}; in, kernel, stride, dilation, padding_low, padding_high by spatial axis; and where the axes of x, w
 * and y lie. */
static rm_status convolution(rm_call *call) {
  size_t n;
  const int64_t kind = rm_xla_integer(call, "kind");
  const int64_t *sizes = rm_xla_integers(call, "sizes", &n);
  if (call->missing || n != 4) { return RM_ERR_SIZE; }
  rm_conv c = {.batch = sizes[0], .channels_in = sizes[1], .channels_out = sizes[2], .groups = sizes[3]};
  const struct {
    const char *name;
    int64_t *to;
  } spatial[] = {{"in", c.in},
                 {"kernel", c.kernel},
                 {"stride", c.stride},
                 {"dilation", c.dilation},
                 {"padding_low", c.padding_low},
                 {"padding_high", c.padding_high}};
  for (size_t i = 0; i < sizeof spatial / sizeof *spatial; i++) {
    const int64_t *values = rm_xla_integers(call, spatial[i].name, &n);
    if (call->missing || n < 1 || n > 3) { return RM_ERR_SIZE; }
    c.dims = (int)n;
    for (size_t j = 0; j < n; j++) { spatial[i].to[j] = values[j]; }
  }
  const char *const orders[] = {"order_x", "order_w", "order_y"};
  /* which of x, w, y the first and the second argument and the result are */
  static const int roles[3][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}};
  if (kind < 0 || kind > 2) { return RM_ERR_ENUM; }
  const XLA_FFI_Buffer *operands[3] = {rm_xla_argument(call, 0), rm_xla_argument(call, 1), rm_xla_result(call, 0)};
  const XLA_FFI_Buffer *bias = rm_xla_arguments(call) > 2 ? rm_xla_argument(call, 2) : NULL;
  const int axes = c.dims + 2, format = rm_xla_format(operands[2]);
  const ptrdiff_t size = rm_xla_bytes(format);
  ptrdiff_t strides[3][5], next[3];
  const int64_t stack = rm_xla_count(operands[2], 0, operands[2]->rank - axes);
  for (int i = 0; i < 3; i++) {
    const int64_t *order = rm_xla_integers(call, orders[roles[kind][i]], &n);
    if (call->missing || n != (size_t)axes || operands[i]->rank < axes) { return RM_ERR_SIZE; }
    const int64_t lead = operands[i]->rank - axes;
    strides_of(operands[i]->dims + lead, order, axes, size, strides[i]);
    next[i] = size * (ptrdiff_t)rm_xla_count(operands[i], lead, operands[i]->rank);
  }
  const ptrdiff_t next_bias = bias ? size * (ptrdiff_t)bias->dims[bias->rank - 1] : 0;
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    const void *first = (const char *)operands[0]->data + i * next[0],
               *second = (const char *)operands[1]->data + i * next[1];
    const void *extra = bias ? (const char *)bias->data + i * next_bias : NULL;
    void *out = (char *)operands[2]->data + i * next[2];
    if (kind == 0) {
      status = rm_conv_forward(format, &c, first, strides[0], second, strides[1], extra, size, out, strides[2]);
    } else if (kind == 1) {
      status = rm_conv_grad_input(format, &c, first, strides[0], second, strides[1], extra, size, out, strides[2]);
    } else {
      status = rm_conv_grad_weight(format, &c, first, strides[0], second, strides[1], out, strides[2]);
    }
  }
  return status;
}

static const char *const convolution_names[] = {"", "geometry", "lhs", "", "rhs", "", "bias", NULL};
RM_XLA_HANDLER(rm_xla_convolution, convolution, convolution_names)
