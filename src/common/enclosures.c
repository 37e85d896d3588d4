/* The large functions of the enclosures, which the accurate phases of all operators call. */
#undef RM_CFG_SHARED
#define RM_CFG_SHARED 1
#include "../../crlibm/enclosure/ball.h"
#include "../../crlibm/enclosure/dd_ball.h"
