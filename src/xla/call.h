/* Unpacks a call from XLA, its arguments, results and attributes, and turns a status into an error that names the argument.
 *
 * A handler is written as
 *
 *   static const char *const names[] = {"a", "b", NULL};
 *   static rm_status compute(rm_call *call) { ... }
 *   RM_XLA_HANDLER(rm_xla_matmul, compute, names)
 *
 * where names[i - 1] is what argument i of the C function is called by the user ("": no name).
 *
 * Shapes, types and attributes are the caller's promise: python/repmath/jax checks them when a program is traced. What only
 * the numbers tell, such as an index out of range, is checked by the functions that are called. */
#pragma once

#include "repmath/repmath.h"
#include "ffi_abi.h"

typedef struct {
  const XLA_FFI_CallFrame *frame;
  const char *missing; /* the name of an attribute that the call lacks */
  const char *const *names;
  void *scratch[4]; /* freed at the end of the call */
  int scratches;
  char message[256]; /* of an error; where it is empty, that of the status */
} rm_call;

/* A function of Python: it returns a status, and of an error writes what it says, of less than 256 bytes. */
typedef int32_t rm_xla_function(int64_t number, int64_t arguments, void **from, void **to, char *message);
RM_API void rm_xla_set_function(rm_xla_function *to);

XLA_FFI_Error *rm_xla_run(XLA_FFI_CallFrame *frame, rm_status (*compute)(rm_call *), const char *const *names);

#define RM_XLA_HANDLER(name, compute, names)            \
  RM_API XLA_FFI_Error *name(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *name(XLA_FFI_CallFrame *frame) { return rm_xla_run(frame, compute, names); }

static inline XLA_FFI_Buffer *rm_xla_argument(const rm_call *call, int i) { return call->frame->args.args[i]; }
static inline XLA_FFI_Buffer *rm_xla_result(const rm_call *call, int i) { return call->frame->rets.rets[i]; }
static inline int rm_xla_arguments(const rm_call *call) { return (int)call->frame->args.size; }

/* Return an attribute; 0 or NULL, and call->missing is set, where there is none of this name and type. */
int64_t rm_xla_integer(rm_call *call, const char *name);
double rm_xla_real(rm_call *call, const char *name);
const int64_t *rm_xla_integers(rm_call *call, const char *name, size_t *size);

/* Returns the product of the sizes from axis `from` up to but without axis `to`. */
int64_t rm_xla_count(const XLA_FFI_Buffer *b, int64_t from, int64_t to);
static inline int64_t rm_xla_size(const XLA_FFI_Buffer *b) { return rm_xla_count(b, 0, b->rank); }

/* RM_FORMAT_... of a buffer of floating point numbers, and the bytes of an element. */
static inline int rm_xla_format(const XLA_FFI_Buffer *b) {
  switch (b->dtype) {
    case XLA_FFI_DataType_F16: return RM_FORMAT_F16;
    case XLA_FFI_DataType_BF16: return RM_FORMAT_BF16;
    case XLA_FFI_DataType_F64: return RM_FORMAT_F64;
    default: return RM_FORMAT_F32;
  }
}
static inline ptrdiff_t rm_xla_bytes(int format) { return format == RM_FORMAT_F64 ? 8 : format == RM_FORMAT_F32 ? 4 : 2; }

/* Returns memory that lives as long as the call; NULL when there is none. */
void *rm_xla_scratch(rm_call *call, int64_t bytes);
/* Returns the numbers of a buffer of 32- or 64-bit integers as 64-bit ones: its own memory, or a copy. NULL: no memory for
 * it. */
const int64_t *rm_xla_indices(rm_call *call, const XLA_FFI_Buffer *b);
/* Writes 64-bit numbers to a result of 32- or 64-bit integers. */
void rm_xla_put_integers(const int64_t *from, XLA_FFI_Buffer *to);
