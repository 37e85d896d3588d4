/* The problem of gradient clipping: g becomes RN(c g), c = max_norm / root of an exact sum of squares. */
#pragma once

#include <stdint.h>

#include "../../reduce/superaccumulator.h"

typedef struct {
  int format, fast; /* fast: c is in two parts within 2^-100 of it, between 2^-200 and 1 */
  char *g;
  double max_norm, c[2];
  double factor[3]; /* c as a rm_dd_ball (crlibm/enclosure/dd_ball.h) */
  const rm_superaccumulator *squares; /* its classes are 0 or an infinity's */
} rm_clip;

/* Elements [begin, end). Returns RM_FLAG_* bits. */
typedef uint32_t rm_clip_fn(const rm_clip *c, int64_t begin, int64_t end);

/* Returns whether c < 1, and then sets the factor. The sum is not NaN. */
RM_HOST_EXTERN int rm_clip_prepare(rm_clip *c);
/* The bits of RN(c g), whatever g is. */
RM_HOST_EXTERN uint64_t rm_clip_accurate(const rm_clip *c, uint64_t g, uint32_t *flags);
/* The same for the elements [begin, end). */
RM_HOST_EXTERN uint32_t rm_clip_accurate_range(const rm_clip *c, int64_t begin, int64_t end);
/* RN(root of the sum); NaN where it is negative. */
RM_HOST_EXTERN double rm_root_of_sum(const rm_superaccumulator *sum);
