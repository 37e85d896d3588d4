/* Steps of SGD and Adam. The C functions work in place: results begin as copies of the old parameters and states. */
#include "call.h"

#include <string.h>

/* A number of the caller's: the two halves of a binary64 number, or a number of one of the formats f32 and f64. */
static double number(const XLA_FFI_Buffer *b) {
  double value = 0;
  if (b->dtype == XLA_FFI_DataType_U32) {
    const uint32_t *halves = b->data;
    const uint64_t bits = halves[0] | (uint64_t)halves[1] << 32;
    memcpy(&value, &bits, 8);
  } else if (b->dtype == XLA_FFI_DataType_F64) {
    value = *(const double *)b->data;
  } else {
    const uint32_t bits = *(const uint32_t *)b->data; /* converted by hand: subnormal numbers may count as zeros here */
    const int exponent = (int)(bits >> 23 & 255);
    double scale = 1, fraction = bits & 0x7fffff;
    float f;
    memcpy(&f, &bits, 4);
    if (exponent) { return f; }
    for (int i = 0; i < 149; i++) { scale /= 2; }
    value = bits >> 31 ? -fraction * scale : fraction * scale;
  }
  return value;
}

static int64_t integer(const XLA_FFI_Buffer *b) {
  return b->dtype == XLA_FFI_DataType_S64 ? *(const int64_t *)b->data : *(const int32_t *)b->data;
}

static void *copy(const rm_call *call, int argument, int result) {
  const XLA_FFI_Buffer *from = rm_xla_argument(call, argument);
  XLA_FFI_Buffer *to = rm_xla_result(call, result);
  const size_t bytes = (size_t)(rm_xla_size(from) * rm_xla_bytes(rm_xla_format(from)));
  if (bytes && to->data != from->data) { memcpy(to->data, from->data, bytes); }
  return to->data;
}

/* lr, number of steps made, p, g, and with momentum the buffer. */
static rm_status sgd(rm_call *call) {
  rm_sgd_options o = {.momentum = rm_xla_real(call, "momentum"),
                      .dampening = rm_xla_real(call, "dampening"),
                      .weight_decay = rm_xla_real(call, "weight_decay"),
                      .nesterov = (int)rm_xla_integer(call, "nesterov"),
                      .maximize = (int)rm_xla_integer(call, "maximize")};
  if (call->missing) { return RM_ERR_ENUM; }
  o.lr = number(rm_xla_argument(call, 0));
  o.first = integer(rm_xla_argument(call, 1)) == 0;
  const XLA_FFI_Buffer *p = rm_xla_argument(call, 2);
  void *out = copy(call, 2, 0), *buffer = rm_xla_arguments(call) > 4 ? copy(call, 4, 1) : NULL;
  return rm_sgd_step(rm_xla_format(p), rm_xla_size(p), out, rm_xla_argument(call, 3)->data, buffer, &o);
}

/* lr, number of steps made, p, g, m, v, and with amsgrad the largest v. */
static rm_status adam(rm_call *call) {
  rm_adam_options o = {.beta1 = rm_xla_real(call, "beta1"),
                       .beta2 = rm_xla_real(call, "beta2"),
                       .eps = rm_xla_real(call, "eps"),
                       .weight_decay = rm_xla_real(call, "weight_decay"),
                       .decoupled = (int)rm_xla_integer(call, "decoupled"),
                       .maximize = (int)rm_xla_integer(call, "maximize")};
  if (call->missing) { return RM_ERR_ENUM; }
  o.lr = number(rm_xla_argument(call, 0));
  o.step = integer(rm_xla_argument(call, 1)) + 1;
  const XLA_FFI_Buffer *p = rm_xla_argument(call, 2);
  void *out = copy(call, 2, 0), *m = copy(call, 4, 1), *v = copy(call, 5, 2);
  void *w = rm_xla_arguments(call) > 6 ? copy(call, 6, 3) : NULL;
  return rm_adam_step(rm_xla_format(p), rm_xla_size(p), out, rm_xla_argument(call, 3)->data, m, v, w, &o);
}

static const char *const sgd_names[] = {"", "", "params", "grads", "state", "learning_rate", NULL};
static const char *const adam_names[] = {"", "", "params", "grads", "state", "state", "state", "learning_rate", NULL};
RM_XLA_HANDLER(rm_xla_sgd, sgd, sgd_names)
RM_XLA_HANDLER(rm_xla_adam, adam, adam_names)
