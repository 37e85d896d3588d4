/* The routines in binary64. */
#define RM_TYPE double
#define RM_LETTER d
#define RM_SUFFIX f64
#define RM_FORMAT RM_FORMAT_F64
#define RM_QUOTE_UPPER "D"
#include "routines.h"
