/* The part of XLA's foreign function interface that is used: its C ABI, major version 0. Names, order and types of members
 * are the ABI's; tests/jax/test_abi.py compares sizes and offsets with jaxlib's own header. Neither XLA nor JAX is needed to
 * build.
 *
 * Structures begin with their size and a chain of extensions, so that later minor versions can append members. What is
 * declared here has been there since minor version 1, and nothing beyond it is read or written. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { RM_XLA_API_MAJOR = 0, RM_XLA_API_MINOR = 1 }; /* the version that handlers report */

enum { XLA_FFI_Extension_Metadata = 1 };
typedef struct XLA_FFI_Extension_Base {
  size_t struct_size;
  int32_t type; /* an enumeration in the ABI */
  struct XLA_FFI_Extension_Base *next;
} XLA_FFI_Extension_Base;

typedef struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int major_version, minor_version;
} XLA_FFI_Api_Version;

/* What a call with this extension asks for instead of a computation. */
typedef struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version;
  uint32_t traits;
} XLA_FFI_Metadata;
typedef struct XLA_FFI_Metadata_Extension {
  XLA_FFI_Extension_Base extension_base;
  XLA_FFI_Metadata *metadata;
} XLA_FFI_Metadata_Extension;

/* Errors: the runtime makes them, of a code and a message, and destroys what a handler returns. NULL is success. */
typedef struct XLA_FFI_Error XLA_FFI_Error;
enum {
  XLA_FFI_Error_Code_INVALID_ARGUMENT = 3,
  XLA_FFI_Error_Code_RESOURCE_EXHAUSTED = 8,
  XLA_FFI_Error_Code_FAILED_PRECONDITION = 9,
  XLA_FFI_Error_Code_OUT_OF_RANGE = 11,
  XLA_FFI_Error_Code_INTERNAL = 13
};
typedef struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  const char *message;
  int32_t errc; /* an enumeration in the ABI */
} XLA_FFI_Error_Create_Args;

/* The head of the runtime's table of functions. */
typedef struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  XLA_FFI_Api_Version api_version;
  const void *internal_api;
  XLA_FFI_Error *(*XLA_FFI_Error_Create)(XLA_FFI_Error_Create_Args *args);
} XLA_FFI_Api;

/* Types of elements. */
enum {
  XLA_FFI_DataType_PRED = 1,
  XLA_FFI_DataType_S32 = 4,
  XLA_FFI_DataType_S64 = 5,
  XLA_FFI_DataType_U32 = 8,
  XLA_FFI_DataType_U64 = 9,
  XLA_FFI_DataType_F16 = 10,
  XLA_FFI_DataType_F32 = 11,
  XLA_FFI_DataType_F64 = 12,
  XLA_FFI_DataType_BF16 = 16
};

/* An argument or a result: elements in row-major order, unless the program asked for another layout. */
typedef struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int32_t dtype; /* an enumeration in the ABI */
  void *data;
  int64_t rank;
  int64_t *dims;
} XLA_FFI_Buffer;

/* Attributes of a call. */
enum { XLA_FFI_AttrType_ARRAY = 1, XLA_FFI_AttrType_SCALAR = 3, XLA_FFI_AttrType_STRING = 4 };
typedef struct XLA_FFI_ByteSpan {
  const char *ptr; /* without a zero at the end */
  size_t len;
} XLA_FFI_ByteSpan;
typedef struct XLA_FFI_Scalar {
  int32_t dtype;
  void *value;
} XLA_FFI_Scalar;
typedef struct XLA_FFI_Array {
  int32_t dtype;
  size_t size;
  void *data;
} XLA_FFI_Array;

typedef struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  void **args;
} XLA_FFI_Args;
typedef struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  void **rets;
} XLA_FFI_Rets;
typedef struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  int64_t size;
  int32_t *types;
  XLA_FFI_ByteSpan **names;
  void **attrs;
} XLA_FFI_Attrs;

enum { XLA_FFI_ExecutionStage_EXECUTE = 3 };
typedef struct XLA_FFI_CallFrame {
  size_t struct_size;
  XLA_FFI_Extension_Base *extension_start;
  const XLA_FFI_Api *api;
  void *ctx;
  int32_t stage; /* an enumeration in the ABI */
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  void *future;
} XLA_FFI_CallFrame;
