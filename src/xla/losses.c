/* Losses and their gradients. Axes before those of one loss are a stack of losses; the gradient with respect to the result
 * comes first. */
#include "call.h"

static const void *at(const XLA_FFI_Buffer *b, int64_t i, int64_t stack, ptrdiff_t size) {
  return b ? (const char *)b->data + i * (rm_xla_size(b) / stack) * size : NULL;
}

/* x (..., rows, n), target (..., rows) of integers or (..., rows, n) of probabilities, weight (..., n) or none. */
static rm_status cross_entropy(rm_call *call) {
  const int64_t backward = rm_xla_integer(call, "backward"), likelihood = rm_xla_integer(call, "likelihood");
  const int64_t reduction = rm_xla_integer(call, "reduction"), ignore = rm_xla_integer(call, "ignore_index");
  const double smoothing = rm_xla_real(call, "label_smoothing");
  if (call->missing) { return RM_ERR_ENUM; }
  const XLA_FFI_Buffer *g = backward ? rm_xla_argument(call, 0) : NULL;
  const int first = backward ? 1 : 0;
  const XLA_FFI_Buffer *x = rm_xla_argument(call, first), *target = rm_xla_argument(call, first + 1);
  const XLA_FFI_Buffer *weight = rm_xla_arguments(call) > first + 2 ? rm_xla_argument(call, first + 2) : NULL;
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int format = rm_xla_format(x);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t rows = x->dims[x->rank - 2], n = x->dims[x->rank - 1], stack = rm_xla_count(x, 0, x->rank - 2);
  const int classes = target->dtype == XLA_FFI_DataType_S32 || target->dtype == XLA_FFI_DataType_S64;
  const int64_t *labels = classes ? rm_xla_indices(call, target) : NULL;
  if (classes && !labels) { return RM_ERR_MEMORY; }
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    const rm_cross_entropy_problem problem = {
        .rows = rows,
        .n = n,
        .x = at(x, i, stack, size),
        .row_x = n * size,
        .stride_x = size,
        .target = classes ? labels + i * rows : NULL,
        .stride_target = 8,
        .probability = classes ? NULL : at(target, i, stack, size),
        .row_probability = n * size,
        .stride_probability = size,
        .weight = at(weight, i, stack, size),
        .stride_weight = size,
        .ignore_index = ignore,
        .label_smoothing = smoothing,
        .reduction = (int)reduction,
    };
    void *to = (char *)out->data + i * (rm_xla_size(out) / stack) * size;
    if (backward) {
      status = (likelihood ? rm_nll_loss_backward : rm_cross_entropy_backward)(format, &problem, at(g, i, stack, size), size,
                                                                               to, n * size, size);
    } else {
      status = (likelihood ? rm_nll_loss : rm_cross_entropy)(format, &problem, to, size);
    }
  }
  /* The one thing that tracing does not know. */
  return rm_status_code(status) == RM_ERR_INDEX ? RM_STATUS(RM_ERR_INDEX, 1) : status;
}

static const char *const cross_entropy_names[] = {"target", NULL};
RM_XLA_HANDLER(rm_xla_cross_entropy, cross_entropy, cross_entropy_names)

enum { REGRESSION, BCE, BCE_WEIGHT, BCE_POS_WEIGHT, BCE_BOTH, KL_DIV };

/* x, y (..., n), for binary cross entropy with a weight, one of the positive class, or both of them after these. */
static rm_status pairs(rm_call *call) {
  const int64_t kind = rm_xla_integer(call, "kind"), backward = rm_xla_integer(call, "backward");
  const int64_t option = rm_xla_integer(call, "option"), count = rm_xla_integer(call, "count");
  const int reduction = (int)rm_xla_integer(call, "reduction");
  const double p = rm_xla_real(call, "p");
  if (call->missing) { return RM_ERR_ENUM; }
  const int first = backward ? 1 : 0;
  const XLA_FFI_Buffer *given = backward ? rm_xla_argument(call, 0) : NULL;
  const XLA_FFI_Buffer *one = rm_xla_argument(call, first), *two = rm_xla_argument(call, first + 1);
  const XLA_FFI_Buffer *weight = NULL, *positive = NULL;
  if (kind == BCE_WEIGHT || kind == BCE_BOTH) { weight = rm_xla_argument(call, first + 2); }
  if (kind == BCE_POS_WEIGHT || kind == BCE_BOTH) { positive = rm_xla_argument(call, first + (kind == BCE_BOTH ? 3 : 2)); }
  XLA_FFI_Buffer *result = rm_xla_result(call, 0);
  const int format = rm_xla_format(one);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t n = one->dims[one->rank - 1], stack = rm_xla_count(one, 0, one->rank - 1);
  rm_status status = RM_OK;
  for (int64_t i = 0; i < stack && status == RM_OK; i++) {
    const void *g = at(given, i, stack, size), *x = at(one, i, stack, size), *y = at(two, i, stack, size);
    const void *w = at(weight, i, stack, size), *q = at(positive, i, stack, size);
    void *out = (char *)result->data + i * (rm_xla_size(result) / stack) * size;
    if (kind == REGRESSION) {
      status = backward
                   ? rm_regression_loss_backward((int)option, p, format, reduction, n, g, size, x, size, y, size, out, size)
                   : rm_regression_loss((int)option, p, format, reduction, n, x, size, y, size, out, size);
    } else if (kind == KL_DIV) {
      status = backward ? rm_kl_div_backward(format, reduction, (int)option, count, n, g, size, y, size, out, size)
                        : rm_kl_div(format, reduction, (int)option, count, n, x, size, y, size, out, size);
    } else {
      status = backward
                   ? rm_bce_with_logits_backward(format, reduction, n, g, size, x, size, y, size, w, size, q, size, out, size)
                   : rm_bce_with_logits(format, reduction, n, x, size, y, size, w, size, q, size, out, size);
    }
  }
  return status;
}

static const char *const pair_names[] = {NULL};
RM_XLA_HANDLER(rm_xla_pair_loss, pairs, pair_names)
