/* What a call of random numbers checks and computes once, on the host: for the CPU's entry points and for the launchers. */
#include "args.h"

#include "../../crlibm/fp/exact.h"
#include "../../crlibm/simd/simd.h"
#include "../runtime/env.h"
#include "../common/overlap.h"
#include "truncated_exact.h"

rm_status rm_random_start(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, void *out,
                          ptrdiff_t stride, int size, int at_first, int at_out) {
  *job = (rm_random_job){0};
  job->seed = seed, job->stream = stream, job->first = first;
  job->out = out, job->stride = stride;
  if (first < 0) return RM_STATUS(RM_ERR_RANGE, at_first);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, at_first + 1);
  if (n > INT64_MAX - first) return RM_STATUS(RM_ERR_RANGE, at_first + 1);
  if (n > 0 && !out) return RM_STATUS(RM_ERR_NULL, at_out);
  if (n > 1 && stride > -size && stride < size) return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return RM_OK;
}

/* ---------------------------------------------------------------------------------------------------------- uniform */

/* Whether the format rounds x to a finite number; false for NaN. */
static int finite_in(double x, int format) {
  const double beyond = format == RM_F16 ? 65520.0 : format == RM_BF16 ? 0x1.ffp127 : 0x1.ffffffp127;
  return format == RM_F64 ? x - x == 0.0 : x < beyond && -x < beyond;
}

/* The exponent of the lowest bit of x; large for 0. */
static int lowest_bit(double x) {
  int e;
  if (x == 0.0) return 5000;
  const uint64_t m = rm_split_double(x, &e);
  return e + rm_ctz64(m);
}
static int highest_bit(double x) { /* -5000 for 0 */
  int e;
  if (x == 0.0) return -5000;
  rm_split_double(x, &e);
  return e + 52;
}

/* See random/uniform.h for the bounds and the modes. */
static void prepare_range(struct rm_range *r, int format, double low, double high) {
  const double size = -low > high ? -low : high; /* the larger magnitude, since low <= high */
  r->low = low, r->high = high, r->width = high - low;
  const double back = r->width + low; /* two-sum (Knuth) of high and -low */
  r->width_error = (high - back) - ((r->width - back) + low);
  r->err = size * (format == RM_F64 ? 0x1p-100 : 0x1p-50);
  r->mode = size >= 0x1p-800 && size <= 0x1p1000 ? RM_RANGE_TESTED : RM_RANGE_ACCURATE;
  if (format == RM_F64) {
    int e;
    const int power = r->width >= 0x1p-800 && rm_split_double(r->width, &e) == UINT64_C(1) << 52;
    if (r->mode == RM_RANGE_TESTED && r->width_error == 0.0) r->mode = power || low == 0.0 ? RM_RANGE_EXACT : RM_RANGE_FUSED;
    return;
  }
  /* low, high and high - low are multiples of 2^q, u times the last of 2^(q-p): all steps are exact when that leaves `bits` bits of the
   * largest. The 16-bit formats are stored through binary32, which must hold the sum too. */
  const int bits = format == RM_F32 ? 53 : 24, least = format == RM_F32 ? -1074 : -149;
  const int a = lowest_bit(low), b = lowest_bit(high), q = (a < b ? a : b) - rm_precision(format);
  if (q >= least && highest_bit(size) + 2 - q <= bits) r->mode = RM_RANGE_EXACT;
  if (low == 0.0 && high == 1.0) r->mode = RM_RANGE_UNIT;
}

rm_status rm_uniform_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double low,
                         double high, void *out, ptrdiff_t stride_out) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, rm_size_of(format), 4, 8);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !finite_in(low, format) ? 6 : !finite_in(high, format) || high < low ? 7 : 0;
  if (!wrong) prepare_range(&job->range, format, low, high);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, wrong) : RM_OK;
}

/* ----------------------------------------------------------------------------------------------------------- normal */

/* Within these bounds no step of random/normal.h overflows or rounds by more than 2^-53 of its result. */
static int affine_mode(double mean, double std, int format) {
  const double least = format == RM_F64 ? 0x1p-400 : 0x1p-200, most = format == RM_F64 ? 0x1p400 : 0x1p200;
  if (mean == 0.0 && std == 1.0) return RM_AFFINE_STANDARD;
  return std >= least && std <= most && mean >= -most && mean <= most ? RM_AFFINE_SCALED : RM_AFFINE_ACCURATE;
}

rm_status rm_normal_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double mean,
                        double std, void *out, ptrdiff_t stride_out) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, rm_size_of(format), 4, 8);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = mean - mean != 0.0 ? 6 : !(std >= 0.0) || std - std != 0.0 ? 7 : 0;
  job->affine.mean = mean, job->affine.std = std, job->affine.mode = affine_mode(mean, std, format);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, wrong) : RM_OK;
}

/* Which argument of a truncated normal number is out of range; 0 when none is. */
static int wrong_truncation(const struct rm_truncation *t) {
  const double low = t->end[0], high = t->end[1], std = t->std;
  if (t->mean - t->mean != 0.0) return 6;
  if (!(std > 0.0) || std - std != 0.0 || !(t->mean <= std * 0x1p50 && -t->mean <= std * 0x1p50)) return 7;
  if (!(low < t->mean + 30.0 * std)) return 8;
  return !(high > t->mean - 30.0 * std) || !(high - low >= std * 0x1p-100) ? 9 : 0;
}

rm_status rm_truncated_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n,
                           double mean, double std, double low, double high, void *out, ptrdiff_t stride_out) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, rm_size_of(format), 4, 10);
  if (status) return status;
  struct rm_truncation *t = &job->truncation;
  t->mean = mean, t->std = std, t->end[0] = low, t->end[1] = high;
  const rm_env env = rm_env_enter();
  const int wrong = wrong_truncation(t);
  if (!wrong && n > 0) rm_truncation_prepare(t);
  t->mode = affine_mode(mean, std, format) == RM_AFFINE_ACCURATE ? RM_AFFINE_ACCURATE : RM_AFFINE_SCALED;
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, wrong) : RM_OK;
}

/* ------------------------------------------------------------------------------------------------ bernoulli, dropout */

/* m 2^-53 < p for just the integers m below ceil(p 2^53). */
static uint64_t limit_of(double p) {
  const double scaled = p * 0x1p53;
  const uint64_t whole = (uint64_t)scaled;
  return whole + ((double)whole < scaled);
}

rm_status rm_bernoulli_job(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p, void *out,
                           ptrdiff_t stride_out) {
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, 1, 3, 6);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !(p >= 0.0 && p <= 1.0);
  if (!wrong) job->drop.limit = limit_of(p);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, 5) : RM_OK;
}

/* 1 - p = s + e exactly (p <= 1), r = RN(1/s), d = 1 - r (s + e), |d| < 2^-51. 1/(1-p) = r + r d + r d^2/(1-d), the last
 * below 2^-101; d itself is wrong by less than 2^-102 (the residual of a product that is near 1) + 2^-105, r d rounds by
 * 2^-104. */
static void prepare_drop(struct rm_drop *drop, double p) {
  int e;
  drop->p = p, drop->limit = limit_of(p);
  drop->hi = 1.0, drop->lo = 0.0, drop->exact = 1;
  if (p == 1.0) return; /* all are dropped */
  const double s = 1.0 - p, rest = (1.0 - s) - p, r = 1.0 / s;
  drop->exact = rest == 0.0 && rm_split_double(s, &e) == UINT64_C(1) << 52;
  drop->hi = r;
  drop->lo = drop->exact ? 0.0 : r * (-vf64_mul_err(r, s, 1.0) - r * rest);
}

rm_status rm_dropout_job(rm_random_job *job, int format, uint64_t seed, uint64_t stream, int64_t first, int64_t n, double p,
                         const void *x, ptrdiff_t stride_x, void *out, ptrdiff_t stride_out) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  const int size = rm_size_of(format);
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, size, 4, 9);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !(p >= 0.0 && p <= 1.0);
  if (!wrong) prepare_drop(&job->drop, p);
  rm_env_leave(env, 0);
  if (wrong) return RM_STATUS(RM_ERR_RANGE, 6);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 7);
  const rm_view to = {out, stride_out, 0}, source = {(char *)(uintptr_t)x, stride_x, 0};
  if ((x != out || stride_x != stride_out) && rm_overlaps(to, n, 1, size, source, n, 1, size))
    return RM_STATUS(RM_ERR_OVERLAP, 9);
  job->x = x, job->stride_x = stride_x;
  return RM_OK;
}

/* --------------------------------------------------------------------------------------------------------- integers */

rm_status rm_integers_job(rm_random_job *job, uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t low,
                          int64_t last, void *out, ptrdiff_t stride_out) {
  const rm_status status = rm_random_start(job, seed, stream, first, n, out, stride_out, 8, 3, 7);
  if (status) return status;
  if (last < low) return RM_STATUS(RM_ERR_RANGE, 6);
  job->integers.low = low, job->integers.count = (uint64_t)last - (uint64_t)low + 1;
  return RM_OK;
}
