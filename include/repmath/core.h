/* repmath: status codes, threads, instruction sets, version. */
#ifndef REPMATH_CORE_H
#define REPMATH_CORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(RM_CFG_STATIC)
#define RM_API
#elif defined(_WIN32)
#ifdef RM_CFG_BUILDING
#define RM_API __declspec(dllexport)
#else
#define RM_API __declspec(dllimport)
#endif
#else
#define RM_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RM_VERSION_MAJOR 0
#define RM_VERSION_MINOR 1
#define RM_VERSION_PATCH 0
#define RM_VERSION "0.1.0"
#define RM_SPEC_VERSION 1

/* The bits of a binary16 and of a bfloat16 number. */
typedef uint16_t rm_f16;
typedef uint16_t rm_bf16;

/* The formats that a function takes as an argument. */
enum { RM_FORMAT_F16 = 0, RM_FORMAT_BF16 = 1, RM_FORMAT_F32 = 2, RM_FORMAT_F64 = 3 };

/* Rounding modes. */
enum {
  RM_ROUND_NEAREST = 0, /* to nearest, ties to even: the mode of every function whose name states no other */
  RM_ROUND_TOWARD_ZERO = 1,
  RM_ROUND_DOWN = 2,
  RM_ROUND_UP = 3
};

/* A status is RM_OK, or an error code in bits 0-7 and, if one argument is at fault, its position (from 1) in bits 8-15. A
 * function that returns an error has written nothing, unless RM_ERR_UNDECIDED or RM_ERR_MEMORY comes after the fast phase:
 * then the results that it could not compute are NaN (docs/c-api.md). */
typedef int32_t rm_status;
enum {
  RM_OK = 0,
  RM_ERR_NULL = 1,    /* a pointer is NULL while there are elements */
  RM_ERR_SIZE = 2,    /* a negative size */
  RM_ERR_LD = 3,      /* a leading dimension is too small */
  RM_ERR_ENUM = 4,    /* a layout, transposition or other choice is not one of its values */
  RM_ERR_ISA = 5,     /* REPMATH_ISA names an instruction set that is unknown or that this CPU lacks */
  RM_ERR_MEMORY = 6,  /* no memory for the workspace */
  RM_ERR_OVERLAP = 7, /* an output overlaps an input or itself */
  RM_ERR_STATE = 8,   /* the function was called in the wrong state */
  RM_ERR_DEVICE = 9,  /* there is no device, it has no memory left, or it reports an earlier error */
  RM_ERR_RANGE = 10,  /* an accumulator cannot hold the total, or an argument is out of its range */
  RM_ERR_DATA = 11,   /* the bytes are not a string that the function reads */
  RM_ERR_INDEX = 12,  /* an index is out of range */
  RM_ERR_UNDECIDED = 13 /* the most precise evaluation left a result undecided; that result is NaN */
};
#define RM_STATUS(code, argument) ((rm_status)((code) | ((argument) << 8)))

RM_API int rm_status_code(rm_status status);
RM_API int rm_status_argument(rm_status status);
/* Describes a status in an English sentence; never returns NULL. */
RM_API const char *rm_status_message(rm_status status);

RM_API const char *rm_version(void);

/* Returns the instruction set in use, "base", "avx2", "avx512", "amx" (the build of avx512, with tiles for products) or
 * "neon", or NULL if the one that REPMATH_ISA names cannot be used (rm_isa_status tells why). */
RM_API const char *rm_isa(void);
RM_API rm_status rm_isa_status(void);
/* Returns 1 if the library has a build for this instruction set and the CPU can run it. */
RM_API int rm_isa_available(const char *name);

/* The number of threads that one call may use. It begins as REPMATH_NUM_THREADS, OMP_NUM_THREADS or the number of CPUs of
 * this process, and is always 1 in a forked child. It never changes a result. */
RM_API rm_status rm_set_num_threads(int n);
RM_API int rm_get_num_threads(void);

#ifdef __cplusplus
}
#endif
#endif
