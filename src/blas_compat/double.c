/* The BLAS routines in binary64. */
#define RM_TYPE double
#define RM_BITS uint64_t
#define RM_FABS __builtin_fabs
#define RM_WIDENS 0
#define RM_LETTER d
#define RM_SUFFIX f64
#define RM_FORMAT RM_FORMAT_F64
#define RM_QUOTE_UPPER "D"
#include "routines.h"
