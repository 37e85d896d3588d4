/* The kernels of src/fft (kernels.h), compiled once per ISA. */
#include "kernels.h"

#include <string.h>

#include "../common/elements.h"
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
      c = rm_fft_normalized_dd(rm_fft_plus_dd(c, sum));
      continue;
    }
    c = (rm_fft_complex_dd){rm_fft_chain_dd(sum.re, w.re, c.re), rm_fft_chain_dd(sum.im, w.re, c.im)};
    s = j == 1 ? rm_fft_normalized_dd((rm_fft_complex_dd){rm_fft_mul_dd(gap.re, w.im), rm_fft_mul_dd(gap.im, w.im)})
               : (rm_fft_complex_dd){rm_fft_chain_dd(gap.re, w.im, s.re), rm_fft_chain_dd(gap.im, w.im, s.im)};
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
      if (m == 1) v = rm_fft_normalized_dd(v);
      if (own && m > 1) v = rm_fft_turned_dd(v, rm_fft_gathered_dd(&t, at, at, own, lanes));
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

/* What is undecided of the numbers of a vector: mostly nothing. */
RM_FN uint32_t put_open(uint8_t *open, const uint32_t bits[2]) {
  memset(open, 0, RM_LANES);
  if (bits[0] | bits[1])
    for (int l = 0; l < RM_LANES; l++) open[l] = (uint8_t)((bits[0] >> l & 1) | (bits[1] >> l & 1) << 1);
  return bits[0] | bits[1];
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
    vf64 pair[2];
    for (int c = 0; c < 2; c++) {
      const vf64 y = vf64_mul(vf64_load(from + c * work->half * work->plane + begin + i), factor);
      const vf64 e = work->half == 1 ? known : vf64_mad(vf64_abs(y), vf64_set1(0x1p-50), known);
      const vm64 sure = vf64_lt(e, vf64_abs(y));
      const vm64 wide = vm64_or(vf64_overflows(y, RM_F32), vf64_undecided_within(y, e, RM_F32));
      bits[c] = vm64_bits(vm64_or(wide, vm64_not(sure)));
      if (im) vf64_store_f32((float *)(c ? im : re) + i, y);
      else pair[c != work->swapped] = y;
    }
    if (!im) vf64_store2_f32((float *)re + 2 * i, pair);
    any |= put_open(open + i, bits);
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
      if (scale[0] != 1.0) v = rm_fft_normal_dd(rm_fft_mul_dd(v, factor));
      bits[c] = vm64_bits(vf64_undecided_f64(v.hi, v.lo, e, &y));
      vf64_store((double *)(c ? im : re) + i, y);
    }
    any |= put_open(open + i, bits);
  }
  return any != 0;
}

/* Sums and maxima have RM_FFT_PAD parts, of which a transform has every width-th: a number of lanes divides them. */
enum { SURVEYED = RM_FFT_PAD / RM_LANES };

static void magnitudes(const double *x, int64_t count, int width, rm_fft_survey *s) {
  vf64 most[SURVEYED], none[SURVEYED];
  int64_t i = 0;
  for (int v = 0; v < SURVEYED; v++) most[v] = none[v] = vf64_set1(0.0);
  for (; i + RM_FFT_PAD <= count; i += RM_FFT_PAD) RM_UNROLL
  for (int v = 0; v < SURVEYED; v++) {
    const vf64 a = vf64_abs(vf64_load(x + i + v * RM_LANES));
    none[v] = vf64_add(none[v], vf64_mul(a, vf64_set1(0.0)));
    most[v] = vf64_max(most[v], a);
  }
  for (int v = 0; v < SURVEYED; v++) vf64_store(s->most + v * RM_LANES, most[v]), vf64_store(s->none + v * RM_LANES, none[v]);
  for (; i < count; i++) {
    const double a = __builtin_fabs(x[i]);
    s->none[i % RM_FFT_PAD] += a * 0.0;
    if (a > s->most[i % RM_FFT_PAD]) s->most[i % RM_FFT_PAD] = a;
  }
  for (int part = width; part < RM_FFT_PAD; part++) {
    s->none[part % width] += s->none[part];
    if (s->most[part] > s->most[part % width]) s->most[part % width] = s->most[part];
  }
}

static void squares(const double *x, int64_t count, int width, rm_fft_survey *s) {
  vf64 sum[SURVEYED];
  int64_t i = 0;
  for (int v = 0; v < SURVEYED; v++) sum[v] = vf64_set1(0.0);
  for (; i + RM_FFT_PAD <= count; i += RM_FFT_PAD) RM_UNROLL
  for (int v = 0; v < SURVEYED; v++) {
    const vf64 a = vf64_load(x + i + v * RM_LANES);
    sum[v] = vf64_mad(a, a, sum[v]);
  }
  for (int v = 0; v < SURVEYED; v++) vf64_store(s->squares + v * RM_LANES, sum[v]);
  for (; i < count; i++) s->squares[i % RM_FFT_PAD] += x[i] * x[i];
  for (int part = width; part < RM_FFT_PAD; part++) s->squares[part % width] += s->squares[part];
}

/* A transform has a lane. */
RM_FN void read_beside(const char *const *x, int64_t count, const int parts, double *re, double *im, const int format) {
  const int size = rm_size_of(format);
  int64_t j = 0;
  for (; j + RM_LANES <= count * parts; j += RM_LANES) {
    vf64 t[RM_LANES];
    for (int l = 0; l < RM_LANES; l++) t[l] = rm_load_elements(x[l] + j * size, format);
    vf64_transpose(t);
    for (int i = 0; i < RM_LANES; i++) vf64_store(((j + i) % parts ? im : re) + (j + i) / parts * RM_LANES, t[i]);
  }
  for (; j < count * parts; j++)
    for (int l = 0; l < RM_LANES; l++)
      (j % parts ? im : re)[j / parts * RM_LANES + l] = rm_read_element(x[l] + j * size, format);
}
/* A transform has all lanes. */
static void read_row(const char *x, int64_t count, int parts, double *re, double *im) {
  int64_t j = 0;
  for (; j + RM_LANES <= count; j += RM_LANES) {
    const void *at = x + 4 * parts * j;
    vf64 v[2] = {vf64_set1(0.0), vf64_set1(0.0)};
    if (parts == 2) vf64_load2_f32(at, v);
    else v[0] = vf64_load_f32(at);
    vf64_store(re + j, v[0]);
    vf64_store(im + j, v[1]);
  }
  for (; j < count; j++) {
    re[j] = rm_read_element(x + 4 * parts * j, RM_F32);
    im[j] = parts == 2 ? rm_read_element(x + 8 * j + 4, RM_F32) : 0.0;
  }
}

static void read_lanes(const char *const *x, int64_t count, int parts, double *re, double *im, int format) {
  if (parts == 1) {
    if (format == RM_F32) read_beside(x, count, 1, re, im, RM_F32);
    else read_beside(x, count, 1, re, im, RM_F64);
    memset(im, 0, (size_t)(count * RM_LANES) * sizeof *im);
  } else if (format == RM_F32) read_beside(x, count, 2, re, im, RM_F32);
  else read_beside(x, count, 2, re, im, RM_F64);
}

const struct rm_fft_kernels RM_ISA_SYMBOL(rm_fft_kernels_of) = {
    RM_LANES,          {rm_fft_transform_b64, rm_fft_transform_dd},
    RM_FFT_ONE_NUMBER, magnitudes,
    squares,           round_f32,
    round_f64,         read_row,
    read_lanes};
