/* Functions of the program that loads this library, by number: what repmath.jax computes with Python's whole numbers. It gets
 * the buffers of arguments and results as they are. */
#include "call.h"

static rm_xla_function *function;

void rm_xla_set_function(rm_xla_function *to) { function = to; }

static rm_status compute(rm_call *call) {
  const int64_t number = rm_xla_integer(call, "number");
  if (call->missing) { return RM_ERR_ENUM; }
  const XLA_FFI_CallFrame *f = call->frame;
  return function ? function(number, f->args.size, f->args.args, f->rets.rets, call->message) : RM_ERR_STATE;
}

static const char *const names[] = {NULL};
RM_XLA_HANDLER(rm_xla_called, compute, names)
