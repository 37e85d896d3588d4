/* cos for the 16-bit formats in binary32 (sin_16.h): cos x = -(-1)^i sin r, x = (i + 1/2) pi + r. */
#ifndef RM_COS_16_H
#define RM_COS_16_H

#include "../sin/sin_16.h"

#define RM_16_cos RM_NARROW_FULL
#define RM_16_KNOWN_cos 1
#define RM_16_INPUTS_cos ((struct rm_inputs16){0, 0x7bff, 1, {0x2b7c}}) /* finite */
#define RM_16_ERR_cos(format) 0.0f /* all inputs were run: narrow.h */
#define RM_16_CLAIM_cos(format) 0x1p-21

#if RM_NARROW_FULL

RM_FN vf32 rm_cos_16(const vf32 *x, const int format) {
  const vf32 magic = vf32_set1(0x1.8p23f), half = vf32_set1(0.5f);
  vf32 z = vf32_add(vf32_fms(x[0], vf32_set1(RM_SIN_16_INV_PI), half), magic);
  vi32 flip = vi32_add(vi32_sll(vf32_bits(z), 31), vi32_set1(INT32_MIN));
  return rm_sin_16_of(x[0], vf32_add(vf32_sub(z, magic), half), flip, format);
}

#endif
#endif
