/* The kernels of src/fft (kernels.h), compiled once per ISA. */
#include "kernels.h"

#include "numbers.h"

/* For loops over half of a radix: -O2 alone leaves them, and the arrays that they fill, as they are. */
#if RM_SIMD != RM_SIMD_SCALAR && !defined(RM_CFG_CALLS) && defined(__GNUC__) && !defined(__clang__)
#define RM_FFT_UNROLL _Pragma("GCC unroll 4")
#else
#define RM_FFT_UNROLL
#endif

#define RM_FFT_TIER b64
#define RM_FFT_PLANES 2
#include "passes.inc"

#define RM_FFT_TIER dd
#define RM_FFT_PLANES 4
#include "passes.inc"

RM_FN rm_fft_dd negative_dd(rm_fft_dd a) { return (rm_fft_dd){vf64_neg(a.hi), vf64_neg(a.lo)}; }
RM_FN rm_fft_complex_dd signed_dd(rm_fft_complex_dd a, int64_t negative) {
  return negative ? (rm_fft_complex_dd){negative_dd(a.re), negative_dd(a.im)} : a;
}

/* Result k of the butterflies at f, of passes whose sub-transforms are not interleaved. */
RM_FN rm_fft_complex_dd butterfly_result(const rm_fft_task_dd *t, int64_t f, int64_t k) {
  const int64_t r = t->pass->r, m = t->pass->m;
  const double *const x = t->x + f;
  if (r == 2 || r == 4) { /* the operations of radix2 and radix4, in which a subtraction adds the negative number */
    rm_fft_complex_dd u = rm_fft_get_dd(x, t->plane), v = rm_fft_get_dd(x + m, t->plane);
    if (r == 4) {
      u = rm_fft_plus_dd(u, signed_dd(rm_fft_get_dd(x + 2 * m, t->plane), k % 2));
      v = rm_fft_plus_dd(v, signed_dd(rm_fft_get_dd(x + 3 * m, t->plane), k % 2));
      if (k % 2) v = (rm_fft_complex_dd){v.im, negative_dd(v.re)};
    }
    return rm_fft_plus_dd(u, signed_dd(v, r == 2 ? k : k / 2));
  }
  const int back = k > r / 2; /* as of r - k, the sines' sign apart */
  const int64_t turn = back ? r - k : k;
  const rm_fft_complex_dd x0 = rm_fft_get_dd(x, t->plane);
  rm_fft_complex_dd c = x0, s = x0;
  for (int64_t j = 1, at = turn; j <= r / 2; j++) {
    const rm_fft_complex_dd w = rm_fft_constant_dd(t->pass->constants + at, r), a = rm_fft_get_dd(x + j * m, t->plane),
                            z = rm_fft_get_dd(x + (r - j) * m, t->plane), sum = rm_fft_plus_dd(a, z);
    const rm_fft_complex_dd gap = rm_fft_minus_dd(a, z);
    if (k == 0) {
      c = rm_fft_plus_dd(c, sum);
      continue;
    }
    c = (rm_fft_complex_dd){rm_fft_mad_dd(sum.re, w.re, c.re), rm_fft_mad_dd(sum.im, w.re, c.im)};
    s = j == 1 ? (rm_fft_complex_dd){rm_fft_mul_dd(gap.re, w.im), rm_fft_mul_dd(gap.im, w.im)}
               : (rm_fft_complex_dd){rm_fft_mad_dd(gap.re, w.im, s.re), rm_fft_mad_dd(gap.im, w.im, s.im)};
    at = at + turn >= r ? at + turn - r : at + turn;
  }
  if (k == 0) return c;
  return rm_fft_plus_dd(c, signed_dd((rm_fft_complex_dd){s.im, negative_dd(s.re)}, back));
}

#if RM_SIMD != RM_SIMD_SCALAR
/* After a pass only the sub-transform of index k mod r is needed, of which m numbers follow each other. They lie behind those
 * of the pass before: n/2 + n/4 + ... < n numbers. Where m is less than a vector, what a vector reads beyond is in no lane
 * that is kept. */
static void one_number(const rm_fft_work *work, int64_t k, double number[4]) {
  const rm_fft_plan *const plan = work->plan[0];
  rm_fft_task_dd t = {NULL, work->buffer[0], work->buffer[1], work->scratch, work->plane, 1};
  for (int i = 0; i < plan->passes; i++) {
    t.pass = plan->pass + i;
    const int64_t r = t.pass->r, m = t.pass->m, own = k % r;
    const int lanes = m < RM_LANES ? (int)m : RM_LANES;
    for (int64_t f = 0; f < m; f += RM_LANES) {
      const int64_t at = f + lanes <= m ? f : m - lanes;
      rm_fft_complex_dd v = butterfly_result(&t, at, own);
      if (own && m > 1) v = rm_fft_turned_dd(v, rm_fft_gathered_dd(&t, at, own, lanes));
      if (lanes == RM_LANES) {
        rm_fft_put_dd(t.y + at, t.plane, v);
      } else {
        double lane[4 * RM_LANES];
        rm_fft_put_dd(lane, RM_LANES, v);
        for (int l = 0; l < lanes; l++)
          for (int c = 0; c < 4; c++) t.y[c * t.plane + l] = lane[c * RM_LANES + l];
      }
    }
    k /= r;
    t.x = t.y, t.y += m;
  }
  for (int c = 0; c < 4; c++) number[c] = t.x[c * t.plane];
}
#define RM_FFT_ONE_NUMBER one_number
#else
#define RM_FFT_ONE_NUMBER NULL /* a transform is not much more than a number there, and the build is the largest */
#endif

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
    RM_LANES, {rm_fft_transform_b64, rm_fft_transform_dd}, RM_FFT_ONE_NUMBER, round_f32, round_f64};
