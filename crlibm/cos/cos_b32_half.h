/* cos for the 16-bit formats in binary32 (sin_b32_half.h): cos x = -(-1)^i sin r, x = (i + 1/2) pi + r. */
#pragma once

#include "../sin/sin_b32_half.h"

#define RM_HALF_cos RM_B32_FULL
#define RM_HALF_KNOWN_cos 1
#define RM_HALF_INPUTS_cos ((struct rm_inputs16){0, 0x7bff, 1, {0x2b7c}}) /* finite */
#define RM_HALF_ERR_cos(format) 0.0f /* all inputs were run: b32.h */
#define RM_HALF_CLAIM_cos(format) 0x1p-21

#if RM_B32_FULL

RM_FN vf32 rm_cos_b32_half(const vf32 *x, const int format) {
  const vf32 magic = vf32_set1(0x1.8p23f), half = vf32_set1(0.5f);
  vf32 z = vf32_add(vf32_fms(x[0], vf32_set1(RM_SIN_B32_HALF_INV_PI), half), magic);
  vi32 flip = vi32_add(vi32_sll(vf32_bits(z), 31), vi32_set1(INT32_MIN));
  return rm_sin_b32_half_of(x[0], vf32_add(vf32_sub(z, magic), half), flip, format);
}

#endif
