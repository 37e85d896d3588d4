/* One handler serves every function of the manifest: the attribute `function` is the number of its line. */
#include "call.h"

enum {
#define RM_FUNCTION(name, NAME, arity, gradient, cases, definition) RM_LINE_##NAME,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
  RM_LINES
};

#define RM_CALL_1(function, type, size) function(n, (const type *)x[0], size, (type *)out, size)
#define RM_CALL_2(function, type, size) function(n, (const type *)x[0], size, (const type *)x[1], size, (type *)out, size)
#define RM_CALL_3(function, type, size) \
  function(n, (const type *)x[0], size, (const type *)x[1], size, (const type *)x[2], size, (type *)out, size)

#define RM_FUNCTION(name, NAME, arity, gradient, cases, definition)                      \
  static rm_status call_##name(int format, int64_t n, const void *const *x, void *out) { \
    switch (format) {                                                                    \
      case RM_FORMAT_F16: return RM_CALL_##arity(rm_v##name##_f16, rm_f16, 2);           \
      case RM_FORMAT_BF16: return RM_CALL_##arity(rm_v##name##_bf16, rm_bf16, 2);        \
      case RM_FORMAT_F64: return RM_CALL_##arity(rm_v##name##_f64, double, 8);           \
      default: return RM_CALL_##arity(rm_v##name##_f32, float, 4);                       \
    }                                                                                    \
  }
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

static const struct {
  int arity;
  rm_status (*call)(int format, int64_t n, const void *const *x, void *out);
} functions[] = {
#define RM_FUNCTION(name, NAME, arity, gradient, cases, definition) {arity, call_##name},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

static rm_status compute(rm_call *call) {
  const int64_t line = rm_xla_integer(call, "function");
  if (call->missing || line < 0 || line >= RM_LINES || rm_xla_arguments(call) != functions[line].arity) {
    call->missing = "function";
    return RM_ERR_ENUM;
  }
  const void *x[3] = {NULL};
  for (int i = 0; i < functions[line].arity; i++) { x[i] = rm_xla_argument(call, i)->data; }
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int64_t n = rm_xla_size(out);
  return n == 0 ? RM_OK : functions[line].call(rm_xla_format(out), n, x, out->data);
}

static const char *const names[] = {NULL};
RM_XLA_HANDLER(rm_xla_elementwise, compute, names)

/* Powers with an integer: the attribute `kind` is the number of the line of powers.def. The integers are of 32 or 64 bits. */
#define RM_XLA_POWER(name, fmt, type) rm_v##name##_##fmt(n, (const type *)x, sizeof(type), k, 8, (type *)out, sizeof(type))
#define RM_POWER(name, NAME, definition, special)                                                    \
  static rm_status power_##name(int format, int64_t n, const void *x, const int64_t *k, void *out) { \
    switch (format) {                                                                                \
      case RM_FORMAT_F16: return RM_XLA_POWER(name, f16, rm_f16);                                    \
      case RM_FORMAT_BF16: return RM_XLA_POWER(name, bf16, rm_bf16);                                 \
      case RM_FORMAT_F64: return RM_XLA_POWER(name, f64, double);                                    \
      default: return RM_XLA_POWER(name, f32, float);                                                \
    }                                                                                                \
  }
#include "../../crlibm/powers.def"
#undef RM_POWER

static rm_status (*const powers[])(int format, int64_t n, const void *x, const int64_t *k, void *out) = {
#define RM_POWER(name, NAME, definition, special) power_##name,
#include "../../crlibm/powers.def"
#undef RM_POWER
};
enum { POWERS = sizeof powers / sizeof *powers };

static rm_status compute_power(rm_call *call) {
  const int64_t kind = rm_xla_integer(call, "kind");
  if (call->missing || kind < 0 || kind >= POWERS || rm_xla_arguments(call) != 2) {
    call->missing = "kind";
    return RM_ERR_ENUM;
  }
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int64_t n = rm_xla_size(out);
  if (n == 0) return RM_OK;
  const int64_t *k = rm_xla_indices(call, rm_xla_argument(call, 1));
  return k ? powers[kind](rm_xla_format(out), n, rm_xla_argument(call, 0)->data, k, out->data) : RM_ERR_MEMORY;
}

RM_XLA_HANDLER(rm_xla_powers, compute_power, names)
