/* A binary32 evaluation as lanes.h has it: RM_FUNCTION_HEADER and RM_EVALUATE name it; compiled for AVX2 or AVX-512 like the
 * library. */
#include "lanes.h"

#include "crlibm/simd/b32.h"

static struct {
  vf32 hi, lo, up, down, y;
} seen;

static inline vm32 noted(vf32 hi, vf32 lo, vf32 err, vf32 *y) {
  const vm32 undecided = vf32_undecided_by(hi, lo, err, y);
  seen.hi = hi, seen.lo = lo, seen.up = vf32_add(lo, err), seen.down = vf32_sub(lo, err), seen.y = *y;
  return undecided;
}
static inline vm32 noted_for_all(vf32 hi, vf32 lo, float err, vf32 *y) { return noted(hi, lo, vf32_set1(err), y); }

#define vf32_undecided_by noted
#define vf32_undecided noted_for_all
#include RM_FUNCTION_HEADER
#undef vf32_undecided_by
#undef vf32_undecided

void rm_oracle_lanes(const float *x, struct rm_lanes *out) {
  for (int i = 0; i < RM_CHUNK; i += RM_B32_LANES) {
    vf32 v;
    const uint32_t open = vm32_bits(RM_EVALUATE(vf32_load_f32(x + i), &v));
    vf32_store_f32(out->hi + i, seen.hi), vf32_store_f32(out->lo + i, seen.lo), vf32_store_f32(out->up + i, seen.up);
    vf32_store_f32(out->down + i, seen.down), vf32_store_f32(out->before + i, seen.y), vf32_store_f32(out->after + i, v);
    for (int k = 0; k < RM_B32_LANES; k++) out->open[i + k] = open >> k & 1;
  }
}
