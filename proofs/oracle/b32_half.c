/* The evaluations of the 16-bit formats in binary32 (crlibm/<f>/<f>_b32_half.h) lane by lane, and the loop's rounding test of
 * them. RM_FUNCTION_HEADER and RM_EVALUATED name one; it is compiled for AVX2 or AVX-512 as the library has it. */
#include RM_FUNCTION_HEADER
#include "src/elementwise/map.h"

#define TAKE_(fmt, FMT, f) \
  static uint32_t take_##fmt(const uint16_t *x, vf32 v0, vf32 v1, vu16 *y) { RM_HALF_TAKE_##fmt(f, FMT) }
#define TAKE(fmt, FMT, f) TAKE_(fmt, FMT, f)
TAKE(f16, RM_F16, RM_EVALUATED)
TAKE(bf16, RM_BF16, RM_EVALUATED)
#define EVAL RM_CAT(RM_CAT(rm_, RM_EVALUATED), _b32_half)
#define BOUND RM_CAT(RM_HALF_CLAIM_, RM_EVALUATED)

enum { INPUTS = 65536, LANES = 2 * RM_GROUP16 };

/* For every x: the evaluation before it is rounded, the result, and whether the loop leaves it undecided. */
#define ALL(fmt, FMT)                                                                     \
  double rm_half_##fmt(float *value, uint16_t *result, uint8_t *undecided) {              \
    for (int i = 0; i < INPUTS; i += LANES) {                                             \
      uint16_t x[LANES];                                                                  \
      vu16 y[2];                                                                          \
      for (int k = 0; k < LANES; k++) x[k] = (uint16_t)(i + k);                           \
      const vf32 in0[] = {vf32_load_##fmt(x)}, in1[] = {vf32_load_##fmt(x + RM_GROUP16)}; \
      const vf32 v0 = EVAL(in0, FMT), v1 = EVAL(in1, FMT);                                \
      const uint32_t mask = take_##fmt(x, v0, v1, y);                                     \
      vf32_store_f32(value + i, v0), vf32_store_f32(value + i + RM_GROUP16, v1);          \
      vu16_store(result + i, y[0]), vu16_store(result + i + RM_GROUP16, y[1]);            \
      for (int k = 0; k < LANES; k++) undecided[i + k] = mask >> k & 1;                   \
    }                                                                                     \
    return BOUND(FMT);                                                                    \
  }
#ifdef RM_ONE_ARGUMENT
ALL(f16, RM_F16)
ALL(bf16, RM_BF16)
#endif

/* The rounding tests of the vocabulary with `rel`, for `count` numbers v from the bits `first` on by steps: where a lane is
 * decided, all numbers within rel |v| of v (`claimed` |v|, which is rel but for controls), and for bf16 below 2^-126 within
 * rel 2^24 units of 2^-149, round to y. Integers: v and the midpoints beside y are multiples of 2^-(149 + 24) and of a unit
 * that rel 2^24, a whole number or 0, times v has too. Returns the lanes where that is not so. */
static int wrong_lane(float v, float rel, uint16_t y, int format) {
  uint32_t bits;
  __builtin_memcpy(&bits, &v, sizeof bits);
  const int precision = format == RM_F16 ? 11 : 8, least = format == RM_F16 ? -24 : -133, width = precision - 1;
  if ((bits >> 31) != (uint32_t)(y >> 15)) return 1;
  const int exponent = (int)(bits >> 23 & 0xff), place = (exponent ? exponent : 1) - 150;
  const int64_t m = (int64_t)(bits & 0x7fffff) | (int64_t)(exponent != 0) << 23, units = (int64_t)(rel * 0x1p24f);
  /* In units of 2^(place - 24): v, and how far numbers may be from it. */
  const int64_t at = m << 24, far = format == RM_BF16 && exponent == 0 ? units << 24 : units * m;
  const int exponent16 = (y & 0x7fff) >> width, top = format == RM_F16 ? 31 : 255;
  if (exponent16 == top) return 1;
  const int64_t n = (y & ((1 << width) - 1)) | (int64_t)(exponent16 != 0) << width;
  const int quantum = least + (exponent16 ? exponent16 - 1 : 0);
  /* Midpoints: (4 n + 2) and (4 n - 2), or - 1 below a power of two, times 2^(quantum - 2). */
  const int shift = quantum - 2 - (place - 24);
  const int64_t upper = 4 * n + 2, lower = 4 * n - (n == (INT64_C(1) << width) && exponent16 > 1 ? 1 : 2);
  if (shift < 0) return 1; /* v would be some 2^20 times larger than y */
  if (shift > 48) return n != 0; /* v < 2^48 units is far below the midpoint of 0 and the least number */
  return at + far > upper << shift || (n && at - far < lower * (INT64_C(1) << shift));
}

int64_t rm_half_tests(int format, float rel, float claimed, uint32_t first, uint32_t step, int64_t count, int64_t *undecided,
                      uint32_t *at) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < count; i += RM_GROUP16) {
    float v[RM_GROUP16];
    uint16_t y[RM_GROUP16];
    vu16 rounded;
    for (int k = 0; k < RM_GROUP16; k++) {
      uint32_t bits = first + (uint32_t)(i + k) * step;
      if ((bits & 0x7fffffff) > 0x7f800000) bits = bits & 0xff800000 | 0x400000; /* the NaN that evaluations give */
      __builtin_memcpy(v + k, &bits, sizeof bits);
    }
    const vf32 vector = vf32_load_f32(v);
    const uint32_t mask = format == RM_F16 ? vf32_round_f16(vector, rel, &rounded) : vf32_round_bf16(vector, rel, &rounded);
    vu16_store(y, rounded);
    for (int k = 0; k < RM_GROUP16; k++)
      if (mask >> k & 1) ++*undecided;
      else if (!(__builtin_fabsf(v[k]) <= 0x1.fffffep127f) || wrong_lane(v[k], claimed, y[k], format))
        if (wrong++ == 0) __builtin_memcpy(at, v + k, sizeof *at);
  }
  return wrong;
}
