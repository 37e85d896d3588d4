/* The BLAS routines in binary32. */
#define RM_TYPE float
#define RM_BITS uint32_t
#define RM_FABS __builtin_fabsf
#define RM_WIDENS 1
#define RM_LETTER s
#define RM_SUFFIX f32
#define RM_FORMAT RM_FORMAT_F32
#define RM_QUOTE_UPPER "S"
#include "routines.h"
