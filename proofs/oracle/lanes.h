/* What a binary32 evaluation (crlibm/simd/b32.h) does with RM_CHUNK numbers: hi, lo, lo +- err as its rounding test has them,
 * the result of that test and of the evaluation, and whether it left the lane undecided. Filled by lanes.c, read by
 * within.c. */
#ifndef RM_PROOFS_LANES_H
#define RM_PROOFS_LANES_H

#include "oracle.h"

struct rm_lanes {
  float hi[RM_CHUNK], lo[RM_CHUNK], up[RM_CHUNK], down[RM_CHUNK], before[RM_CHUNK], after[RM_CHUNK];
  uint8_t open[RM_CHUNK];
};
typedef void rm_evaluate(const float *x, struct rm_lanes *out);

#endif
