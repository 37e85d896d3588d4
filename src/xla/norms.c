/* Normalization of (..., N, C, S): over S of each (n, c), over groups of channels of each n, or over N and S of each c. */
#include "call.h"

#include <string.h>

enum { FORWARD, BACKWARD, BACKWARD_WEIGHT };
enum { LAYER, GROUP, BATCH };

/* Strides of x, of weights, of statistics. */
typedef struct {
  rm_norm_sets sets;
  ptrdiff_t x[4], w[4], statistics[4];
} layout_t;

static layout_t layout_of(int64_t layout, int64_t groups, int centered, const int64_t *dims, ptrdiff_t size) {
  const int64_t n = dims[0], c = dims[1], s = dims[2];
  const ptrdiff_t plane = (ptrdiff_t)s * size, item = (ptrdiff_t)c * plane;
  if (layout == LAYER) {
    return (layout_t){{centered, {n, c}, 1, s}, {item, plane, 0, size}, {0, 0, 0, size}, {(ptrdiff_t)c * size, size, 0, 0}};
  }
  if (layout == GROUP) {
    const int64_t each = groups ? c / groups : 0;
    return (layout_t){{centered, {n, groups}, each, s},
                      {item, (ptrdiff_t)each * plane, plane, size},
                      {0, (ptrdiff_t)each * size, size, 0},
                      {(ptrdiff_t)groups * size, size, 0, 0}};
  }
  return (layout_t){{centered, {1, c}, n, s}, {0, plane, item, size}, {0, size, 0, 0}, {0, size, 0, 0}};
}

/* Arguments: g but for the value, and x; then, where they are given, weight, bias, mean and variance. */
static rm_status compute(rm_call *call) {
  const int64_t kind = rm_xla_integer(call, "kind"), layout = rm_xla_integer(call, "layout");
  const int64_t groups = rm_xla_integer(call, "groups"), centered = rm_xla_integer(call, "centered");
  const int64_t has_weight = rm_xla_integer(call, "weight"), has_bias = rm_xla_integer(call, "bias");
  const int64_t has_statistics = rm_xla_integer(call, "statistics");
  const double eps = rm_xla_real(call, "eps");
  if (call->missing) { return RM_ERR_ENUM; }
  int next = 0;
  const XLA_FFI_Buffer *g = kind == FORWARD ? NULL : rm_xla_argument(call, next++);
  const XLA_FFI_Buffer *x = rm_xla_argument(call, next++);
  const XLA_FFI_Buffer *w = has_weight ? rm_xla_argument(call, next++) : NULL;
  const XLA_FFI_Buffer *b = has_bias ? rm_xla_argument(call, next++) : NULL;
  const XLA_FFI_Buffer *mean = has_statistics ? rm_xla_argument(call, next++) : NULL;
  const XLA_FFI_Buffer *variance = has_statistics ? rm_xla_argument(call, next++) : NULL;
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int format = rm_xla_format(x);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t stack = rm_xla_count(x, 0, x->rank - 3);
  const layout_t l = layout_of(layout, groups, (int)centered, x->dims + x->rank - 3, size);
  if (rm_xla_size(x) == 0) { /* the gradient by the weight is a sum of nothing */
    memset(out->data, 0, (size_t)(rm_xla_size(out) * size));
    return RM_OK;
  }
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
#define RM_AT(buffer) ((buffer) ? (const char *)(buffer)->data + i * (rm_xla_size(buffer) / stack) * size : NULL)
    const char *from = RM_AT(x), *given = RM_AT(g), *weight = RM_AT(w), *bias = RM_AT(b), *mu = RM_AT(mean),
               *v = RM_AT(variance);
    char *to = (char *)out->data + i * (rm_xla_size(out) / stack) * size;
    if (kind == FORWARD) {
      status =
          rm_normalize(format, &l.sets, from, l.x, weight, l.w, bias, l.w, mu, l.statistics, v, l.statistics, eps, to, l.x);
    } else if (kind == BACKWARD) {
      status = rm_normalize_backward(format, &l.sets, given, l.x, from, l.x, weight, l.w, mu, l.statistics, v, l.statistics,
                                     eps, to, l.x);
    } else {
      status = rm_normalize_backward_weight(format, &l.sets, given, l.x, from, l.x, mu, l.statistics, v, l.statistics, eps,
                                            to, l.w);
    }
  }
  return status;
}

static const char *const names[] = {NULL};
RM_XLA_HANDLER(rm_xla_normalize, compute, names)
