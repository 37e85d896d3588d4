/* The loop of the gradients in the 16-bit formats over a table of derivatives (half_table.h), compiled once per ISA.
 *
 * d is the derivative at x, D = RN24(d) the table's normal number, |D - d| <= 2^-24 |D|; g is an f32 number, P = RN24(g D).
 * When |g D| >= 2^-126, |P - g D| <= 2^-24 |P| and |g D - g d| <= 2^-24 |g D| <= 2^-24 (1 + 2^-24) |P|: so |P - g d| <
 * 2^-22.99 |P|. Else the two are at most 2^-150, half a unit of f32, each: one unit for bf16; in f16 it is a zero of P's
 * sign.
 *   f16    P (1 -+ 2^-22), each rounded by at most 2^-24 of itself, enclose g d. Where both round to the same number, so
 *          does g d.
 *   bf16   |P| < 2^24 units: a number within 2^-22 |P| of P is within four units. Where the bits that are dropped are further
 *          than that from half of what they count, g d rounds as P does.
 * The other lanes, infinite and NaN results, and x whose D is not a normal number (then D is NaN, and P) go to the function's
 * loop. Where x is infinite D may be 0, exactly, and P is a zero of the right sign, or NaN. */
#include "map_b32_half.h"
#include "half_table.h"

extern rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2];

#if RM_HAS_VU16
#define RM_GRADIENT16_ERR RM_BOUND(0x1p-22)

#define RM_GRADIENT16_LOOP(fmt, how)                                                                                    \
  RM_FN vf32 times_slope_##how##_##fmt(const void *slope, const uint16_t *const *x, int64_t i) {                        \
    return vf32_mul(vf32_load_##fmt(x[0] + i), vf32_##how((const float *)slope, x[1] + i));                             \
  }                                                                                                                     \
  RM_FN uint32_t step_##how##_##fmt(const void *slope, const uint16_t *const *x, int64_t i, vu16 *y) {                  \
    const vf32 v0 = times_slope_##how##_##fmt(slope, x, i), v1 = times_slope_##how##_##fmt(slope, x, i + RM_GROUP16);   \
    const uint32_t low = vf32_round_##fmt(v0, (float)RM_GRADIENT16_ERR, y);                                             \
    return low | vf32_round_##fmt(v1, (float)RM_GRADIENT16_ERR, y + 1) << RM_GROUP16;                                   \
  }                                                                                                                     \
  RM_STATIC uint32_t run_##how##_##fmt(const void *slope, rm_map_fn *wider, int64_t n, const char *const *x, char *y) { \
    return rm_map16(step_##how##_##fmt, slope, wider, 2, n, x, y);                                                      \
  }
#define RM_GRADIENT16(fmt)                                                                                              \
  RM_GRADIENT16_LOOP(fmt, gather)                                                                                       \
  RM_GRADIENT16_LOOP(fmt, loads)                                                                                        \
  RM_STATIC uint32_t gradient_##fmt(const struct rm_table16 *table, rm_map_fn *kernel, int64_t n, const char *const *x, \
                                    char *y) {                                                                          \
    return (table->by_loads ? run_loads_##fmt : run_gather_##fmt)(table->slope, kernel, n, x, y);                       \
  }

RM_GRADIENT16(f16)
RM_GRADIENT16(bf16)

rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2] = {gradient_f16, gradient_bf16};
#else
rm_lookup16_fn *const RM_ISA_SYMBOL(rm_gradient16)[2] = {0, 0};
#endif
