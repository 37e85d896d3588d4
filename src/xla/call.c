/* Functions that all handlers share: the types and buffers of a call, its attributes and scratch memory, and errors made of
 * statuses. */
#include "call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static XLA_FFI_Error *error(const XLA_FFI_CallFrame *frame, int code, const char *message) {
  XLA_FFI_Error_Create_Args args = {sizeof args, NULL, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

static int error_code(int status) {
  switch (status) {
    case RM_ERR_MEMORY: return XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    case RM_ERR_ISA: return XLA_FFI_Error_Code_FAILED_PRECONDITION;
    case RM_ERR_INDEX: return XLA_FFI_Error_Code_OUT_OF_RANGE;
    default: return XLA_FFI_Error_Code_INVALID_ARGUMENT;
  }
}

XLA_FFI_Error *rm_xla_run(XLA_FFI_CallFrame *frame, rm_status (*compute)(rm_call *), const char *const *names) {
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)(void *)frame->extension_start)->metadata;
    metadata->api_version.major_version = RM_XLA_API_MAJOR;
    metadata->api_version.minor_version = RM_XLA_API_MINOR;
    metadata->traits = 0;
    return NULL;
  }
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE) { return NULL; }
  rm_call call = {.frame = frame, .names = names};
  const rm_status status = compute(&call);
  for (int i = 0; i < call.scratches; i++) { free(call.scratch[i]); }
  if (status == RM_OK) { return NULL; }
  char message[256];
  if (call.message[0]) return error(frame, error_code(rm_status_code(status)), call.message);
  if (call.missing) {
    snprintf(message, sizeof message, "repmath: the call has no attribute '%s' of the type that is expected", call.missing);
    return error(frame, XLA_FFI_Error_Code_INTERNAL, message);
  }
  const int position = rm_status_argument(status);
  int known = 0;
  while (names[known]) { known++; }
  if (position >= 1 && position <= known && names[position - 1][0]) {
    snprintf(message, sizeof message, "repmath: argument '%s': %s", names[position - 1], rm_status_message(status));
  } else {
    snprintf(message, sizeof message, "repmath: %s", rm_status_message(status));
  }
  return error(frame, error_code(rm_status_code(status)), message);
}

static const void *attribute(rm_call *call, const char *name, int type) {
  const XLA_FFI_Attrs *attrs = &call->frame->attrs;
  for (int64_t i = 0; i < attrs->size; i++) {
    const XLA_FFI_ByteSpan *n = attrs->names[i];
    if (n->len == strlen(name) && memcmp(n->ptr, name, n->len) == 0 && attrs->types[i] == type) { return attrs->attrs[i]; }
  }
  call->missing = name;
  return NULL;
}

int64_t rm_xla_integer(rm_call *call, const char *name) {
  const XLA_FFI_Scalar *scalar = attribute(call, name, XLA_FFI_AttrType_SCALAR);
  if (scalar && scalar->dtype == XLA_FFI_DataType_S64) { return *(const int64_t *)scalar->value; }
  call->missing = name;
  return 0;
}

double rm_xla_real(rm_call *call, const char *name) {
  const XLA_FFI_Scalar *scalar = attribute(call, name, XLA_FFI_AttrType_SCALAR);
  if (scalar && scalar->dtype == XLA_FFI_DataType_F64) { return *(const double *)scalar->value; }
  call->missing = name;
  return 0;
}

const int64_t *rm_xla_integers(rm_call *call, const char *name, size_t *size) {
  static const int64_t nothing = 0;
  const XLA_FFI_Array *array = attribute(call, name, XLA_FFI_AttrType_ARRAY);
  if (array && array->dtype == XLA_FFI_DataType_S64) {
    *size = array->size;
    return array->size ? array->data : &nothing;
  }
  call->missing = name;
  *size = 0;
  return &nothing;
}

int64_t rm_xla_count(const XLA_FFI_Buffer *b, int64_t from, int64_t to) {
  int64_t n = 1;
  for (int64_t i = from; i < to; i++) { n *= b->dims[i]; }
  return n;
}

void *rm_xla_scratch(rm_call *call, int64_t bytes) {
  void *p = malloc(bytes > 0 ? (size_t)bytes : 1);
  if (p) { call->scratch[call->scratches++] = p; }
  return p;
}

const int64_t *rm_xla_indices(rm_call *call, const XLA_FFI_Buffer *b) {
  if (b->dtype == XLA_FFI_DataType_S64) { return b->data; }
  const int64_t n = rm_xla_size(b);
  int64_t *copy = rm_xla_scratch(call, 8 * n);
  if (copy) {
    for (int64_t i = 0; i < n; i++) { copy[i] = ((const int32_t *)b->data)[i]; }
  }
  return copy;
}

void rm_xla_put_integers(const int64_t *from, XLA_FFI_Buffer *to) {
  const int64_t n = rm_xla_size(to);
  if (to->dtype == XLA_FFI_DataType_S64) {
    memcpy(to->data, from, 8 * (size_t)n);
    return;
  }
  for (int64_t i = 0; i < n; i++) { ((int32_t *)to->data)[i] = (int32_t)from[i]; }
}
