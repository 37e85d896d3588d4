/* The caller's rounding mode, flush-to-zero settings and traps change no bit and are given back; flags are raised when, and
 * only when, they are due, and flags raised before stay. */
#include "check.h"
#include "fpenv.h"

enum { N = 3000 };

/* Run by the caller's settings, compare with the default's results. Calls of one value know no threads: `single` has them. */
static void elementwise(const struct entry *e, int single) {
  static unsigned char x[8 * N], expected[8 * N], y[8 * N];
  fill_inputs(e, N, x, 7);
  e->array(N, x, e->size, expected, e->size);
  for (int m = 0; m < MODES; m++) {
    memset(y, 0xa5, sizeof y);
    feclearexcept(FE_ALL_EXCEPT);
    control_set(modes[m].control);
    rm_status status = e->array(N, x, e->size, y, e->size);
    uint32_t after = control_get();
    control_set(modes[0].control);
    CHECK_FOR(status == RM_OK, modes[m].name);
    CHECK_FOR(after == modes[m].control, modes[m].name);
    if (!CHECK_FOR(memcmp(y, expected, (size_t)(N * e->size)) == 0, modes[m].name)) printf("  %s %s\n", e->name, e->format);
    if (!single) continue;

    memset(y, 0xa5, sizeof y);
    control_set(modes[m].control);
    for (int i = 0; i < N; i++) e->one(x + i * e->size, y + i * e->size);
    after = control_get();
    control_set(modes[0].control);
    CHECK_FOR(after == modes[m].control, modes[m].name);
    if (!CHECK_FOR(memcmp(y, expected, (size_t)(N * e->size)) == 0, modes[m].name)) printf("  %s %s\n", e->name, e->format);
  }
}

static void reductions(void) {
  static float x[N], y[N];
  static double xd[N], yd[N];
  uint64_t state = 3;
  for (int i = 0; i < N; i++) { /* subnormals among the inputs, so that DAZ would be seen */
    x[i] = as_f32((uint32_t)(next_random(&state) >> 40) | (i & 1 ? 0x80000000u : 0));
    y[i] = as_f32((uint32_t)(next_random(&state) >> 33) % 0x3f800000u);
    xd[i] = as_f64(next_random(&state) >> 12 | (uint64_t)(i & 1) << 63);
    yd[i] = as_f64((next_random(&state) >> 1) % UINT64_C(0x3ff0000000000000));
  }
  int64_t index[N];
  for (int i = 0; i < N; i++) index[i] = i % 7;
  float expected[4 + 3 * 64], out[4 + 3 * 64], sums[7 * 40], expected_sums[7 * 40];
  double expected_d[4 + 64], out_d[4 + 64], sums_d[7], expected_sums_d[7];
  const rm_conv conv = {1, 1, 4, 4, 1, {16}, {3}, {1}, {1}, {1}, {1}};
  const ptrdiff_t strides_x[] = {256, 64, 4}, strides_w[] = {48, 12, 4};
  for (int m = -1; m < MODES; m++) {
    float *o = m < 0 ? expected : out;
    double *od = m < 0 ? expected_d : out_d;
    memset(o, 0xa5, sizeof out);
    memset(od, 0xa5, sizeof out_d);
    uint32_t control = modes[m < 0 ? 0 : m].control;
    feclearexcept(FE_ALL_EXCEPT);
    control_set(control);
    rm_sum_f32(N, x, 4, &o[0]);
    rm_dot_f32(N, x, 4, y, 4, &o[1]);
    rm_sum_f64(N, xd, 8, &od[0]);
    rm_dot_f64(N, xd, 8, yd, 8, &od[1]);
    rm_var(RM_FORMAT_F32, N, x, 4, RM_FORMAT_F32, &o[2], 0.0);
    rm_std(RM_FORMAT_F32, N, x, 4, RM_FORMAT_F32, &o[3], 1.0);
    rm_std(RM_FORMAT_F64, N, xd, 8, RM_FORMAT_F64, &od[2], 0.0);
    rm_cumsum(RM_FORMAT_F64, 1, xd, 8, RM_FORMAT_F64, &od[3], 8);
    rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 8, 8, 100, x, 100, y, 8, NULL, o + 4, 8);
    rm_matmul_f64(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 8, 8, 100, xd, 100, yd, 8, NULL, od + 4, 8);
    rm_gemm(RM_FORMAT_F32, RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 8, 8, 100, 0.3, x, 100, y, 8, 0.0, o + 68, 8);
    rm_conv_forward(RM_FORMAT_F32, &conv, x, strides_x, y, strides_w, NULL, 0, o + 132, strides_x);
    rm_status status = rm_segment_sum(RM_FORMAT_F32, 7, 40, sums, 160, 4, 70, index, 8, x, 160, 4); /* rows */
    status |= rm_segment_sum(RM_FORMAT_F64, 7, 1, sums_d, 8, 8, N, index, 8, xd, 8, 8);              /* single elements */
    uint32_t after = control_get();
    control_set(modes[0].control);
    if (m < 0) memcpy(expected_sums, sums, sizeof sums), memcpy(expected_sums_d, sums_d, sizeof sums_d);
    CHECK(status == RM_OK && memcmp(sums, expected_sums, sizeof sums) == 0 &&
          memcmp(sums_d, expected_sums_d, sizeof sums_d) == 0);
    if (m < 0) continue;
    CHECK_FOR(after == control, modes[m].name);
    CHECK_FOR(memcmp(out, expected, sizeof out) == 0, modes[m].name);
    CHECK_FOR(memcmp(out_d, expected_d, sizeof out_d) == 0, modes[m].name);
  }
}

/* Both ways into a function, on eight copies of x so that vector code is entered; only `due` of the decided flags may
 * rise. */
#define FLAGS(f, fmt, type, x, due)                                           \
  do {                                                                        \
    type in_[9], out_[9];                                                     \
    for (int i_ = 0; i_ < 9; i_++) in_[i_] = (x);                             \
    feclearexcept(FE_ALL_EXCEPT);                                             \
    rm_v##f##_##fmt(9, in_, sizeof(type), out_, sizeof(type));                \
    CHECK_FOR(fetestexcept(DECIDED) == (due), "rm_v" #f "_" #fmt "(" #x ")"); \
    feclearexcept(FE_ALL_EXCEPT);                                             \
    out_[0] = rm_##f##_##fmt(in_[0]);                                         \
    CHECK_FOR(fetestexcept(DECIDED) == (due), "rm_" #f "_" #fmt "(" #x ")");  \
    (void)out_;                                                               \
  } while (0)
#define FLAGS_FLOAT(f, x, due)             \
  do {                                     \
    FLAGS(f, f32, float, (float)(x), due); \
    FLAGS(f, f64, double, x, due);         \
  } while (0)

/* The same for a function of two arguments. */
#define FLAGS_2(f, fmt, type, x, y, due)                                              \
  do {                                                                                \
    type in_[9], second_[9], out_[9];                                                 \
    for (int i_ = 0; i_ < 9; i_++) in_[i_] = (x), second_[i_] = (y);                  \
    feclearexcept(FE_ALL_EXCEPT);                                                     \
    rm_v##f##_##fmt(9, in_, sizeof(type), second_, sizeof(type), out_, sizeof(type)); \
    CHECK_FOR(fetestexcept(DECIDED) == (due), "rm_v" #f "_" #fmt "(" #x ", " #y ")"); \
    feclearexcept(FE_ALL_EXCEPT);                                                     \
    out_[0] = rm_##f##_##fmt(in_[0], second_[0]);                                     \
    CHECK_FOR(fetestexcept(DECIDED) == (due), "rm_" #f "_" #fmt "(" #x ", " #y ")");  \
    (void)out_;                                                                       \
  } while (0)
#define FLAGS_FLOAT_2(f, x, y, due)                      \
  do {                                                   \
    FLAGS_2(f, f32, float, (float)(x), (float)(y), due); \
    FLAGS_2(f, f64, double, x, y, due);                  \
  } while (0)

static void flags_2(void) {
  const double inf = __builtin_inf(), nan = __builtin_nan("");
  FLAGS_FLOAT_2(pow, 2.5, 1.5, 0);
  FLAGS_FLOAT_2(pow, -2.0, 3.0, 0);
  FLAGS_FLOAT_2(pow, -2.0, 0.5, FE_INVALID);
  FLAGS_FLOAT_2(pow, -0.0, 0.5, 0);
  FLAGS_FLOAT_2(pow, -0.0, -1.0, FE_DIVBYZERO);
  FLAGS_FLOAT_2(pow, 0.0, -0.5, FE_DIVBYZERO);
  FLAGS_FLOAT_2(pow, 0.0, -inf, 0);
  FLAGS_FLOAT_2(pow, -inf, 0.5, 0);
  FLAGS_FLOAT_2(pow, -1.0, inf, 0);
  FLAGS_FLOAT_2(pow, 1.0, nan, 0);
  FLAGS_FLOAT_2(pow, nan, 0.0, 0);
  FLAGS_FLOAT_2(pow, nan, 1.0, 0);
  FLAGS_FLOAT_2(pow, 10.0, 1e4, FE_OVERFLOW);
  FLAGS_FLOAT_2(pow, -10.0, 10001.0, FE_OVERFLOW);
  FLAGS_FLOAT_2(pow, 2.0, 1e30, FE_OVERFLOW);
  FLAGS_FLOAT_2(pow, 0.1, 1e4, 0);
  FLAGS_FLOAT_2(logaddexp, -inf, -inf, 0);
  FLAGS_FLOAT_2(logaddexp, inf, -inf, 0);
  FLAGS_FLOAT_2(logaddexp, inf, inf, 0);
  FLAGS_FLOAT_2(logaddexp, nan, 1.0, 0);
  FLAGS_FLOAT_2(logaddexp, -1e30, 0.0, 0);
  FLAGS_FLOAT_2(betaln, 2.5, 0.5, 0);
  FLAGS_FLOAT_2(betaln, 1.0, 1.0, 0);
  FLAGS_FLOAT_2(betaln, 1.0, inf, 0);
  FLAGS_FLOAT_2(betaln, nan, -1.0, 0);
  FLAGS_FLOAT_2(betaln, 0.0, 2.0, FE_DIVBYZERO);
  FLAGS_FLOAT_2(betaln, 2.0, -0.0, FE_DIVBYZERO);
  FLAGS_FLOAT_2(betaln, 0.0, inf, FE_INVALID);
  FLAGS_FLOAT_2(betaln, -0.5, 2.0, FE_INVALID);
}

static void flags(void) {
  const double inf = __builtin_inf(), nan = __builtin_nan("");
  FLAGS_FLOAT(exp, 1.0, 0);
  FLAGS_FLOAT(exp, 0.0, 0);
  FLAGS_FLOAT(exp, 1e4, FE_OVERFLOW);
  FLAGS_FLOAT(exp, -1e4, 0);
  FLAGS_FLOAT(exp, inf, 0);
  FLAGS_FLOAT(exp, -inf, 0);
  FLAGS_FLOAT(exp, nan, 0);
  FLAGS_FLOAT(log, 1.0, 0);
  FLAGS_FLOAT(log, 0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(log, -0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(log, -1.0, FE_INVALID);
  FLAGS_FLOAT(log, -inf, FE_INVALID);
  FLAGS_FLOAT(log, inf, 0);
  FLAGS_FLOAT(log, nan, 0);
  FLAGS_FLOAT(sin, 1.0, 0);
  FLAGS_FLOAT(sin, -0.0, 0);
  FLAGS_FLOAT(sin, 1e30, 0);
  FLAGS_FLOAT(sin, inf, FE_INVALID);
  FLAGS_FLOAT(sin, -inf, FE_INVALID);
  FLAGS_FLOAT(sin, nan, 0);
  FLAGS_FLOAT(cos, 1.0, 0);
  FLAGS_FLOAT(cos, -0.0, 0);
  FLAGS_FLOAT(cos, 1e30, 0);
  FLAGS_FLOAT(cos, inf, FE_INVALID);
  FLAGS_FLOAT(cos, -inf, FE_INVALID);
  FLAGS_FLOAT(cos, nan, 0);
  FLAGS_FLOAT(tan, 1.0, 0);
  FLAGS_FLOAT(tan, -0.0, 0);
  FLAGS_FLOAT(tan, 1e30, 0);
  FLAGS_FLOAT(tan, inf, FE_INVALID);
  FLAGS_FLOAT(tan, -inf, FE_INVALID);
  FLAGS_FLOAT(tan, nan, 0);
  FLAGS_FLOAT(tanh, 1.0, 0);
  FLAGS_FLOAT(tanh, 1e4, 0);
  FLAGS_FLOAT(tanh, inf, 0);
  FLAGS_FLOAT(tanh, -0.0, 0);
  FLAGS_FLOAT(tanh, nan, 0);
  FLAGS_FLOAT(erf, 1.0, 0);
  FLAGS_FLOAT(erf, -inf, 0);
  FLAGS_FLOAT(erf, nan, 0);
  FLAGS_FLOAT(gelu, -inf, 0);
  FLAGS_FLOAT(gelu, -1e4, 0);
  FLAGS_FLOAT(gelu, 3e38, 0);
  FLAGS_FLOAT(erfc, inf, 0);
  FLAGS_FLOAT(erfc, -inf, 0);
  FLAGS_FLOAT(erfc, 30.0, 0); /* no overflow on the way, and underflow is not specified */
  FLAGS_FLOAT(erfcx, inf, 0);
  FLAGS_FLOAT(erfcx, -inf, 0);
  FLAGS_FLOAT(erfcx, 1e30, 0);
  FLAGS_FLOAT(erfcx, -30.0, FE_OVERFLOW);
  FLAGS_FLOAT(erfcx, nan, 0);
  FLAGS_FLOAT(erfinv, 0.75, 0);
  FLAGS_FLOAT(erfinv, -0.0, 0);
  FLAGS_FLOAT(erfinv, 1.0, FE_DIVBYZERO);
  FLAGS_FLOAT(erfinv, -1.0, FE_DIVBYZERO);
  FLAGS_FLOAT(erfinv, 1.5, FE_INVALID);
  FLAGS_FLOAT(erfinv, -inf, FE_INVALID);
  FLAGS_FLOAT(erfinv, nan, 0);
  FLAGS_FLOAT(ndtr, inf, 0);
  FLAGS_FLOAT(ndtr, -1e30, 0);
  FLAGS_FLOAT(ndtr, nan, 0);
  FLAGS_FLOAT(log_ndtr, inf, 0);
  FLAGS_FLOAT(log_ndtr, -inf, 0);
  FLAGS_FLOAT(log_ndtr, 1e30, 0);
  FLAGS(log_ndtr, f32, float, -1e30f, FE_OVERFLOW);
  FLAGS(log_ndtr, f64, double, -1e300, FE_OVERFLOW);
  FLAGS_FLOAT(log_ndtr, nan, 0);
  FLAGS_FLOAT(ndtri, 0.25, 0);
  FLAGS_FLOAT(ndtri, 0.5, 0);
  FLAGS_FLOAT(ndtri, 0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(ndtri, -0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(ndtri, 1.0, FE_DIVBYZERO);
  FLAGS_FLOAT(ndtri, -1e-30, FE_INVALID);
  FLAGS_FLOAT(ndtri, 1.5, FE_INVALID);
  FLAGS_FLOAT(ndtri, nan, 0);
  FLAGS_FLOAT(lgamma, 2.5, 0);
  FLAGS_FLOAT(lgamma, 1.0, 0);
  FLAGS_FLOAT(lgamma, -inf, 0);
  FLAGS_FLOAT(lgamma, 0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(lgamma, -3.0, FE_DIVBYZERO);
  FLAGS_FLOAT(lgamma, -1e30, FE_DIVBYZERO);
  FLAGS(lgamma, f32, float, 1e37f, FE_OVERFLOW);
  FLAGS(lgamma, f64, double, 1e306, FE_OVERFLOW);
  FLAGS_FLOAT(lgamma, nan, 0);
  FLAGS_FLOAT(digamma, 2.5, 0);
  FLAGS_FLOAT(digamma, -2.5, 0);
  FLAGS_FLOAT(digamma, inf, 0);
  FLAGS_FLOAT(digamma, 0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(digamma, -0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(digamma, -3.0, FE_INVALID);
  FLAGS_FLOAT(digamma, -inf, FE_INVALID);
  FLAGS(digamma, f32, float, 1e-39f, FE_OVERFLOW);
  FLAGS(digamma, f64, double, 1e-309, FE_OVERFLOW);
  FLAGS_FLOAT(digamma, nan, 0);
  FLAGS_FLOAT(trigamma, 2.5, 0);
  FLAGS_FLOAT(trigamma, -2.5, 0);
  FLAGS_FLOAT(trigamma, inf, 0);
  FLAGS_FLOAT(trigamma, 0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(trigamma, -0.0, FE_DIVBYZERO);
  FLAGS_FLOAT(trigamma, -3.0, FE_DIVBYZERO);
  FLAGS_FLOAT(trigamma, -1e30, FE_DIVBYZERO);
  FLAGS_FLOAT(trigamma, -inf, FE_INVALID);
  FLAGS(trigamma, f32, float, 1e-20f, FE_OVERFLOW);
  FLAGS(trigamma, f32, float, -1e-20f, FE_OVERFLOW);
  FLAGS(trigamma, f64, double, 1e-160, FE_OVERFLOW);
  FLAGS_FLOAT(trigamma, nan, 0);
  FLAGS_FLOAT(entr, 2.5, 0);
  FLAGS_FLOAT(entr, -2.5, 0);
  FLAGS_FLOAT(entr, 0.0, 0);
  FLAGS_FLOAT(entr, 1.0, 0);
  FLAGS_FLOAT(entr, inf, 0);
  FLAGS_FLOAT(entr, -inf, 0);
  FLAGS(entr, f32, float, 3e38f, FE_OVERFLOW);
  FLAGS(entr, f64, double, 1e308, FE_OVERFLOW);
  FLAGS_FLOAT(entr, nan, 0);
  FLAGS_FLOAT(exp2m1, 0.25, 0);
  FLAGS_FLOAT(exp2m1, -1e30, 0);
  FLAGS_FLOAT(exp2m1, 1e30, FE_OVERFLOW);
  FLAGS_FLOAT(exp2m1, inf, 0);
  FLAGS_FLOAT(exp2m1, nan, 0);
  FLAGS_FLOAT(exp10m1, 2.0, 0);
  FLAGS_FLOAT(exp10m1, -inf, 0);
  FLAGS_FLOAT(exp10m1, 400.0, FE_OVERFLOW);
  FLAGS_FLOAT(exp10m1, nan, 0);
  FLAGS_FLOAT(log2p1, 7.0, 0);
  FLAGS_FLOAT(log2p1, -1.0, FE_DIVBYZERO);
  FLAGS_FLOAT(log2p1, -2.0, FE_INVALID);
  FLAGS_FLOAT(log2p1, inf, 0);
  FLAGS_FLOAT(log2p1, nan, 0);
  FLAGS_FLOAT(log10p1, 99.0, 0);
  FLAGS_FLOAT(log10p1, -1.0, FE_DIVBYZERO);
  FLAGS_FLOAT(log10p1, -inf, FE_INVALID);
  FLAGS_FLOAT(log10p1, nan, 0);
  FLAGS_FLOAT(asinpi, 0.5, 0);
  FLAGS_FLOAT(asinpi, -1.0, 0);
  FLAGS_FLOAT(asinpi, 1.5, FE_INVALID);
  FLAGS_FLOAT(asinpi, nan, 0);
  FLAGS_FLOAT(acospi, 0.0, 0);
  FLAGS_FLOAT(acospi, 1.0, 0);
  FLAGS_FLOAT(acospi, -1.5, FE_INVALID);
  FLAGS_FLOAT(acospi, nan, 0);
  FLAGS_FLOAT(atanpi, 1.0, 0);
  FLAGS_FLOAT(atanpi, -inf, 0);
  FLAGS_FLOAT(atanpi, nan, 0);
  FLAGS_FLOAT(sinpi, 0.25, 0);
  FLAGS_FLOAT(sinpi, 3.0, 0);
  FLAGS_FLOAT(sinpi, 1e30, 0);
  FLAGS_FLOAT(sinpi, inf, FE_INVALID);
  FLAGS_FLOAT(sinpi, nan, 0);
  FLAGS_FLOAT(cospi, 0.25, 0);
  FLAGS_FLOAT(cospi, 2.5, 0);
  FLAGS_FLOAT(cospi, -1e30, 0);
  FLAGS_FLOAT(cospi, -inf, FE_INVALID);
  FLAGS_FLOAT(cospi, nan, 0);
  FLAGS_FLOAT(tanpi, 0.3, 0);
  FLAGS_FLOAT(tanpi, -3.0, 0);
  FLAGS_FLOAT(tanpi, 2.5, FE_DIVBYZERO);
  FLAGS_FLOAT(tanpi, -0.5, FE_DIVBYZERO);
  FLAGS_FLOAT(tanpi, inf, FE_INVALID);
  FLAGS_FLOAT(tanpi, nan, 0);
  FLAGS_FLOAT(softplus, -inf, 0);
  FLAGS_FLOAT(softplus, -1e30, 0);
  FLAGS_FLOAT(softplus, 1e30, 0);
  FLAGS_FLOAT(log_sigmoid, nan, 0);
  FLAGS_FLOAT(atan, 1.0, 0);
  FLAGS_FLOAT(atan, -inf, 0);
  FLAGS_FLOAT(atan, nan, 0);
  FLAGS_FLOAT(asin, 0.75, 0);
  FLAGS_FLOAT(asin, -1.0, 0);
  FLAGS_FLOAT(asin, 1.5, FE_INVALID);
  FLAGS_FLOAT(asin, -inf, FE_INVALID);
  FLAGS_FLOAT(asin, nan, 0);
  FLAGS_FLOAT(acos, 1.0, 0);
  FLAGS_FLOAT(acos, -1.0, 0);
  FLAGS_FLOAT(acos, -1.5, FE_INVALID);
  FLAGS_FLOAT(acos, inf, FE_INVALID);
  FLAGS_FLOAT(acos, nan, 0);
  FLAGS(exp, f16, rm_f16, 0x4d00, FE_OVERFLOW); /* 20 */
  FLAGS(exp, f16, rm_f16, 0x4900, 0); /* 10 */
  FLAGS(exp, bf16, rm_bf16, 0x42b2, FE_OVERFLOW); /* 89 */
  FLAGS(log, f16, rm_f16, 0x8000, FE_DIVBYZERO);
  FLAGS(log, bf16, rm_bf16, 0xbf80, FE_INVALID);
  FLAGS(log, f16, rm_f16, 0x7e01, 0); /* a quiet NaN */
  FLAGS(log, f16, rm_f16, 0x7d00, FE_INVALID); /* signalling ones */
  FLAGS(erf, bf16, rm_bf16, 0x7f81, FE_INVALID);
  FLAGS(tan, f16, rm_f16, 0x598c, FE_OVERFLOW); /* 177.5 */
  FLAGS(tan, f16, rm_f16, 0x598b, 0);
  FLAGS(sin, bf16, rm_bf16, 0x7f80, FE_INVALID);

  /* Signalling NaNs of f32 and f64: by array, since passing one by value may already quieten it. */
  uint32_t s32[9];
  uint64_t s64[9];
  for (int i = 0; i < 9; i++) s32[i] = 0x7f800001u, s64[i] = UINT64_C(0x7ff0000000000001);
  for (int i = 0; i < ENTRIES; i++) {
    const struct entry *e = &entries[i];
    if (e->size < 4) continue;
    const void *x = e->size == 4 ? (const void *)s32 : s64;
    unsigned char y[72];
    feclearexcept(FE_ALL_EXCEPT);
    e->array(9, x, e->size, y, e->size);
    CHECK_FOR(fetestexcept(DECIDED) == FE_INVALID, e->name);
    uint64_t canonical = e->size == 4 ? 0x7fc00000u : UINT64_C(0x7ff8000000000000);
    CHECK_FOR(memcmp(y, &canonical, (size_t)e->size) == 0, e->name);
  }

  /* What was raised before the call is still raised after it. */
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  double x = 1, y;
  rm_vexp_f64(1, &x, 8, &y, 8);
  CHECK(fetestexcept(DECIDED) == FE_DIVBYZERO);
}

static int sum_flags(float a, float b, float c) {
  float x[3] = {a, b, c}, out;
  feclearexcept(FE_ALL_EXCEPT);
  rm_sum_f32(3, x, 4, &out);
  return fetestexcept(DECIDED);
}
static int dot_flags(double a, double b, double c, double d) {
  double x[2] = {a, b}, y[2] = {c, d}, out;
  feclearexcept(FE_ALL_EXCEPT);
  rm_dot_f64(2, x, 8, y, 8, &out);
  return fetestexcept(DECIDED);
}
static int matmul_flags(float a, float b, float c, float d) {
  float x[2] = {a, b}, y[2] = {c, d}, out;
  feclearexcept(FE_ALL_EXCEPT);
  rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 1, 1, 2, x, 2, y, 1, NULL, &out, 1);
  return fetestexcept(DECIDED);
}

static int var_flags(double a, double b, double ddof) {
  double x[2] = {a, b}, out;
  feclearexcept(FE_ALL_EXCEPT);
  rm_var(RM_FORMAT_F64, 2, x, 8, RM_FORMAT_F64, &out, ddof);
  return fetestexcept(DECIDED);
}
static int cumsum_flags(double a, double b, double c) {
  double x[3] = {a, b, c}, out[3];
  feclearexcept(FE_ALL_EXCEPT);
  rm_cumsum(RM_FORMAT_F64, 3, x, 8, RM_FORMAT_F64, out, 8);
  return fetestexcept(DECIDED);
}

static void reduction_flags(void) {
  const float inf = __builtin_inff(), nan = __builtin_nanf(""), huge = 0x1.fffffep127f;
  CHECK(sum_flags(1, 2, 3) == 0);
  CHECK(sum_flags(huge, huge, -huge) == 0); /* only the total can overflow */
  CHECK(sum_flags(huge, huge, 0) == FE_OVERFLOW);
  CHECK(sum_flags(inf, 1, 2) == 0);
  CHECK(sum_flags(nan, 1, 2) == 0);
  CHECK(sum_flags(inf, -inf, 2) == FE_INVALID);
  CHECK(dot_flags(1, 2, 3, 4) == 0);
  CHECK(dot_flags(1e300, 1e300, 1e300, -1e300) == 0);
  CHECK(dot_flags(1e300, 1, 1e300, 1) == FE_OVERFLOW);
  CHECK(dot_flags(inf, 1, 0, 1) == FE_INVALID);
  CHECK(dot_flags(inf, 1, 2, 1) == 0);
  CHECK(matmul_flags(1, 2, 3, 4) == 0);
  CHECK(matmul_flags(huge, huge, 2, -2) == 0);
  CHECK(matmul_flags(huge, huge, 2, 2) == FE_OVERFLOW);
  CHECK(matmul_flags(inf, 1, 0, 1) == FE_INVALID);
  CHECK(matmul_flags(inf, 1, -1, inf) == FE_INVALID); /* infinities of both signs */
  CHECK(matmul_flags(inf, 1, 1, 1) == 0);
  CHECK(var_flags(1, 3, 1) == 0);
  CHECK(var_flags(1e153, -1e153, 0) == 0);
  CHECK(var_flags(1e200, -1e200, 0) == FE_OVERFLOW);
  CHECK(var_flags(1e200, 1e200, 1) == 0);
  CHECK(var_flags(1, 3, 2) == FE_DIVBYZERO);
  CHECK(var_flags(3, 3, 2) == FE_INVALID);
  CHECK(var_flags(inf, 1, 0) == FE_INVALID);
  CHECK(var_flags(nan, 1, 0) == 0);
  CHECK(cumsum_flags(1, 2, 3) == 0);
  CHECK(cumsum_flags(1e308, 1e308, -1e308) == FE_OVERFLOW); /* the second sum */
  CHECK(cumsum_flags(inf, 1, nan) == 0);
  CHECK(cumsum_flags(inf, -inf, 1) == FE_INVALID);
}

int main(void) {
  require_isa();
  for (int threads = 1; threads <= 3; threads += 2) {
    rm_set_num_threads(threads);
    for (int i = 0; i < ENTRIES; i++) elementwise(&entries[i], threads == 1);
    reductions();
  }
  flags();
  flags_2();
  reduction_flags();
  return finish();
}
