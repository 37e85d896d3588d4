/* The kernels of src/fft (kernels.h), compiled once per ISA. */
#include "kernels.h"

#include "numbers.h"

#define RM_FFT_TIER b64
#define RM_FFT_PLANES 2
#include "passes.inc"

#define RM_FFT_TIER dd
#define RM_FFT_PLANES 4
#include "passes.inc"

/* What is one number for each transform, in this vector's lanes. */
RM_FN vf64 of_lanes(const rm_fft_work *work, const double *numbers, int64_t i) {
  return work->width == 1 ? vf64_set1(*numbers) : vf64_load(numbers + i % work->width);
}

/* Of double-double the high parts are taken. They are within 2^-53 of themselves and the bound, and the factor, its product
 * and the test (crlibm/simd/undecided.h) make less than 2^-51 more. Lanes that may be zero or of either sign are undecided:
 * the test of f32 alone would round small ones to a zero of the sign of y. */
static int round_f32(const rm_fft_work *work, const double *from, int64_t begin, int64_t count, const double *scale,
                     const double *err, void *re, void *im, uint8_t *open) {
  uint32_t any = 0;
  for (int64_t i = 0; i < count; i += RM_LANES) {
    const vf64 factor = of_lanes(work, scale, begin + i);
    const vf64 known = of_lanes(work, err, begin + i);
    uint32_t bits[2];
    for (int c = 0; c < 2; c++) {
      const vf64 y = vf64_mul(vf64_load(from + c * work->half * work->plane + begin + i), factor);
      const vf64 e = work->half == 1 ? known : vf64_mad(vf64_abs(y), vf64_set1(0x1p-50), known);
      const vm64 sure = vf64_lt(e, vf64_abs(y));
      const vm64 wide = vm64_or(vf64_overflows(y, RM_F32), vf64_undecided_within(y, e, RM_F32));
      bits[c] = vm64_bits(vm64_or(wide, vm64_not(sure)));
      vf64_store_f32((float *)(c ? im : re) + i, y);
    }
    for (int l = 0; l < RM_LANES; l++) open[i + l] = (uint8_t)((bits[0] >> l & 1) | (bits[1] >> l & 1) << 1);
    any |= bits[0] | bits[1];
  }
  return any != 0;
}

/* Results are those of the scaled transform: where err is not far below |hi|, the ends of the test differ. */
static int round_f64(const rm_fft_work *work, const double *from, int64_t begin, int64_t count, const double *scale,
                     const double *err, void *re, void *im, uint8_t *open) {
  uint32_t any = 0;
  const rm_fft_dd factor = {vf64_set1(scale[0]), vf64_set1(scale[1])};
  for (int64_t i = 0; i < count; i += RM_LANES) {
    const vf64 e = of_lanes(work, err, begin + i);
    uint32_t bits[2];
    for (int c = 0; c < 2; c++) {
      const double *const p = from + 2 * c * work->plane + begin + i;
      rm_fft_dd v = rm_fft_load_dd(p, work->plane);
      vf64 y;
      if (scale[0] != 1.0) v = rm_fft_mul_dd(v, factor);
      bits[c] = vm64_bits(vf64_undecided_f64(v.hi, v.lo, e, &y));
      vf64_store((double *)(c ? im : re) + i, y);
    }
    for (int l = 0; l < RM_LANES; l++) open[i + l] = (uint8_t)((bits[0] >> l & 1) | (bits[1] >> l & 1) << 1);
    any |= bits[0] | bits[1];
  }
  return any != 0;
}

const struct rm_fft_kernels RM_ISA_SYMBOL(rm_fft_kernels_of) = {
    RM_LANES, {rm_fft_transform_b64, rm_fft_transform_dd}, round_f32, round_f64};
