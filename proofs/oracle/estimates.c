/* Evaluations that begin with a CPU's estimate of 1/sqrt(a) (crlibm/rsqrt/rsqrt_b32_half.h), and the reciprocal of simd.h,
 * which begins with one of 1/b. CPUs of different makers give different estimates: what all of them state is a relative
 * error, 1.5 2^-12 for rsqrtps, 2^-14 for rsqrt14ps and rcp14ps. Here an intrinsic gives each number of binary32 within that
 * error in turn, so that what is found holds on all of them. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static int32_t steps; /* from the rounded quotient, in units of its last place */

/* What the stated accuracy does not speak of, a zero, an infinity, a negative number, or for rsqrtps a subnormal one, is as
 * the CPU has it. */
static inline __m256 some_rsqrt(__m256 a) {
  const __m256 one = _mm256_set1_ps(1.0f), near = _mm256_div_ps(one, _mm256_sqrt_ps(a));
  const __m256 normal = _mm256_and_ps(_mm256_cmp_ps(a, _mm256_set1_ps(0x1p-126f), _CMP_GE_OQ),
                                      _mm256_cmp_ps(a, _mm256_set1_ps(0x1.fffffep127f), _CMP_LE_OQ));
  const __m256 moved = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(near), _mm256_set1_epi32(steps)));
  return _mm256_blendv_ps(_mm256_rsqrt_ps(a), moved, normal);
}
#ifdef __AVX512F__
static inline __m512 moved512(__m512 cpu, __m512 near, __m512 a) {
  const __mmask16 positive = _mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_GT_OQ) &
                             _mm512_cmp_ps_mask(a, _mm512_set1_ps(0x1.fffffep127f), _CMP_LE_OQ);
  return _mm512_mask_blend_ps(positive, cpu,
                              _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(near), _mm512_set1_epi32(steps))));
}
static inline __m512 some_rsqrt14(__m512 a) {
  return moved512(_mm512_rsqrt14_ps(a), _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sqrt_ps(a)), a);
}
static inline __m512 some_rcp14(__m512 a) { return moved512(_mm512_rcp14_ps(a), _mm512_div_ps(_mm512_set1_ps(1.0f), a), a); }
#endif
#define _mm256_rsqrt_ps some_rsqrt
#define _mm512_rsqrt14_ps some_rsqrt14
#define _mm512_rcp14_ps some_rcp14

#include "b32_half.c"

/* What is stated, and that over 2^-24, the least that a unit can be, with two more for the roundings of the quotient and of
 * the root. */
#ifdef __AVX512F__
#define STATED 0x1p-14
#define ESTIMATE _mm512_rsqrt14_ps
enum { STEPS = 1026 };
#else
#define STATED 0x1.8p-12
#define ESTIMATE _mm256_rsqrt_ps
enum { STEPS = 6146 };
#endif

struct found {
  double ratio; /* the largest error over the bound, at the number `at` */
  int64_t estimates, beyond, wrong, undecided;
  uint32_t at;
};

/* One vector of each half, with one estimate. An estimate that is further off than stated is no CPU's and left out, but for
 * those that are none: there the lane has to be undecided. */
static uint32_t with_one_estimate(int format, const uint16_t *x, const double *value, const uint16_t *right, double bound,
                                  struct found *found) {
  float r[LANES], out[LANES];
  uint16_t results[LANES];
  vu16 y[2];
  const int wide = format == RM_F16;
  const vf32 in0[] = {wide ? vf32_load_f16(x) : vf32_load_bf16(x)};
  const vf32 in1[] = {wide ? vf32_load_f16(x + RM_GROUP16) : vf32_load_bf16(x + RM_GROUP16)};
  const vf32 v0 = EVAL(in0, format), v1 = EVAL(in1, format);
  const uint32_t mask = wide ? take_f16(x, v0, v1, y) : take_bf16(x, v0, v1, y);
  vf32_store_f32(r, ESTIMATE(in0[0])), vf32_store_f32(r + RM_GROUP16, ESTIMATE(in1[0]));
  vf32_store_f32(out, v0), vf32_store_f32(out + RM_GROUP16, v1);
  vu16_store(results, y[0]), vu16_store(results + RM_GROUP16, y[1]);
  uint32_t lanes = 0;
  for (int k = 0; k < LANES; k++) {
    const int number = r[k] > 0 && r[k] <= 0x1.fffffep127f;
    if (number && __builtin_fabs(r[k] / value[k] - 1) > STATED * (1 + 0x1p-30)) continue; /* the quotient rounds by 2^-52 */
    if (mask >> k & 1) {
      lanes |= 1u << k;
      continue;
    }
    const double ratio = __builtin_fabs(out[k] / value[k] - 1) / bound;
    found->estimates++;
    found->beyond += !(ratio <= 1);
    found->wrong += results[k] != right[k];
    if (ratio > found->ratio) found->ratio = ratio, found->at = x[k];
  }
  return lanes;
}

/* `count` numbers x with 1/sqrt(x) to 2^-53 (NaN where there is none) and its rounding, a multiple of LANES. A bound times
 * `times`. Undecided is a number that some estimate leaves so. */
void rm_every_estimate(int bf16, int64_t count, const uint16_t *x, const double *value, const uint16_t *right, double times,
                       struct found *found) {
  const int format = bf16 ? RM_BF16 : RM_F16;
  const double bound = BOUND(format) * times;
  for (int64_t i = 0; i < count; i += LANES) {
    uint32_t lanes = 0;
    for (steps = -STEPS; steps <= STEPS; steps++)
      lanes |= with_one_estimate(format, x + i, value + i, right + i, bound, found);
    found->undecided += __builtin_popcount(lanes);
  }
}

#ifdef __AVX512F__
/* vf32_reciprocal of simd.h for `count` numbers b from the bits `first` on by steps: the largest |r b - 1|, which is exact
 * before it is rounded. */
double rm_reciprocals(uint32_t first, uint32_t step, int64_t count) {
  double worst = 0;
  for (int64_t i = 0; i < count; i += 16) {
    float b[16], estimate[16], r[16];
    for (int k = 0; k < 16; k++) {
      const uint32_t bits = first + (uint32_t)(i + k) * step;
      memcpy(b + k, &bits, sizeof bits);
    }
    const vf32 vector = vf32_load_f32(b);
    for (steps = -STEPS; steps <= STEPS; steps++) {
      vf32_store_f32(estimate, _mm512_rcp14_ps(vector)), vf32_store_f32(r, vf32_reciprocal(vector));
      for (int k = 0; k < 16; k++) {
        const double d = __builtin_fabs((double)estimate[k] * b[k] - 1), error = __builtin_fabs((double)r[k] * b[k] - 1);
        worst = d <= STATED && error > worst ? error : worst;
      }
    }
  }
  return worst;
}
#endif
