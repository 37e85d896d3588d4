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
