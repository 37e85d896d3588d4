/* Checks a call of random numbers and computes what it needs once, on the host, for the CPU's entry points and for the
 * launchers. */
#include "args.h"

#include "../../crlibm/fp/exact.h"
#include "../../crlibm/simd/simd.h"
#include "../runtime/env.h"
#include "../common/overlap.h"
#include "truncated_exact.h"

rm_random_problem rm_random_elements(uint64_t seed, uint64_t stream, int64_t first, int64_t n, void *out, ptrdiff_t stride) {
  return (rm_random_problem){.seed = seed, .stream = stream, .first = first, .n = n, .out = out, .stride = stride};
}

/* Positions of the arguments that all have: `format`, where there is one, comes before them. */
enum { AT_FORMAT = 1, AT_FIRST = 3, AT_N };

/* has_format: 1 where the format comes first, and moves the others; size: bytes of a result; at_out: the position of out. */
static rm_status check(const rm_random_problem *p, int has_format, int size, int at_out) {
  if (p->first < 0) return RM_STATUS(RM_ERR_RANGE, has_format + AT_FIRST);
  if (p->n < 0) return RM_STATUS(RM_ERR_SIZE, has_format + AT_N);
  if (p->n > INT64_MAX - p->first) return RM_STATUS(RM_ERR_RANGE, has_format + AT_N);
  if (p->n > 0 && !p->out) return RM_STATUS(RM_ERR_NULL, at_out);
  if (p->n > 1 && p->stride > -size && p->stride < size) return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return RM_OK;
}
static rm_status check_format(const rm_random_problem *p, int format, int at_out) {
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT);
  return check(p, 1, rm_size_of(format), at_out);
}

rm_status rm_words_problem(const rm_random_problem *p, int size) { return check(p, 0, size, AT_N + 1); }

/* ---------------------------------------------------------------------------------------------------------- uniform */

/* Whether the format rounds x to a finite number; false for NaN. */
static int finite_in(double x, int format) {
  const double beyond = format == RM_F16 ? 65520.0 : format == RM_BF16 ? 0x1.ffp127 : 0x1.ffffffp127;
  return format == RM_F64 ? rm_is_finite(x) : x < beyond && -x < beyond;
}

/* The exponent of the lowest bit of x; large for 0. */
static int lowest_bit(double x) {
  int e;
  if (x == 0.0) return 5000;
  const uint64_t m = rm_decompose(x, &e);
  return e + rm_ctz64(m);
}
static int highest_bit(double x) { /* -5000 for 0 */
  int e;
  if (x == 0.0) return -5000;
  rm_decompose(x, &e);
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
    const int power = r->width >= 0x1p-800 && rm_decompose(r->width, &e) == UINT64_C(1) << 52;
    if (r->mode == RM_RANGE_TESTED && r->width_error == 0.0) r->mode = power || low == 0.0 ? RM_RANGE_EXACT : RM_RANGE_FUSED;
    return;
  }
  /* low, high and high - low are multiples of 2^q, u times the last of 2^(q-p): all steps are exact when that leaves `bits`
   * bits of the largest. The 16-bit formats are stored through binary32, which must hold the sum too. */
  const int bits = format == RM_F32 ? 53 : 24, min = format == RM_F32 ? -1074 : -149;
  const int a = lowest_bit(low), b = lowest_bit(high), q = (a < b ? a : b) - rm_precision(format);
  if (q >= min && highest_bit(size) + 2 - q <= bits) r->mode = RM_RANGE_EXACT;
  if (low == 0.0 && high == 1.0) r->mode = RM_RANGE_UNIT;
}

rm_status rm_uniform_problem(rm_random_problem *p, int format, double low, double high) {
  enum { AT_LOW = 6, AT_HIGH, AT_OUT };
  const rm_status status = check_format(p, format, AT_OUT);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !finite_in(low, format) ? AT_LOW : !finite_in(high, format) || high < low ? AT_HIGH : 0;
  if (!wrong) prepare_range(&p->range, format, low, high);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, wrong) : RM_OK;
}

/* ----------------------------------------------------------------------------------------------------------- normal */

/* Within these bounds no step of random/normal.h overflows or rounds by more than 2^-53 of its result. */
static int affine_mode(double mean, double std, int format) {
  const double min = format == RM_F64 ? 0x1p-400 : 0x1p-200, max = format == RM_F64 ? 0x1p400 : 0x1p200;
  if (mean == 0.0 && std == 1.0) return RM_AFFINE_STANDARD;
  return std >= min && std <= max && mean >= -max && mean <= max ? RM_AFFINE_SCALED : RM_AFFINE_ACCURATE;
}

rm_status rm_normal_problem(rm_random_problem *p, int format, double mean, double std) {
  enum { AT_MEAN = 6, AT_STD, AT_OUT };
  const rm_status status = check_format(p, format, AT_OUT);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !rm_is_finite(mean) ? AT_MEAN : !(std >= 0.0) || !rm_is_finite(std) ? AT_STD : 0;
  p->affine.mean = mean, p->affine.std = std, p->affine.mode = affine_mode(mean, std, format);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, wrong) : RM_OK;
}

/* Which argument of a truncated normal number is out of range; 0 when none is. */
static int wrong_truncation(const struct rm_truncation *t) {
  enum { AT_MEAN = 6, AT_STD, AT_LOW, AT_HIGH };
  const double low = t->end[0], high = t->end[1], std = t->std;
  if (!rm_is_finite(t->mean)) return AT_MEAN;
  if (!(std > 0.0) || !rm_is_finite(std) || !(t->mean <= std * 0x1p50 && -t->mean <= std * 0x1p50)) return AT_STD;
  if (!(low < t->mean + 30.0 * std)) return AT_LOW;
  return !(high > t->mean - 30.0 * std) || !(high - low >= std * 0x1p-100) ? AT_HIGH : 0;
}

rm_status rm_truncated_problem(rm_random_problem *p, int format, double mean, double std, double low, double high) {
  enum { AT_OUT = 10 };
  const rm_status status = check_format(p, format, AT_OUT);
  if (status) return status;
  struct rm_truncation *t = &p->truncation;
  t->mean = mean, t->std = std, t->end[0] = low, t->end[1] = high;
  const rm_env env = rm_env_enter();
  const int wrong = wrong_truncation(t);
  if (!wrong && p->n > 0) rm_truncation_prepare(t);
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

rm_status rm_bernoulli_problem(rm_random_problem *p, double probability) {
  enum { AT_P = 5, AT_OUT };
  const rm_status status = check(p, 0, 1, AT_OUT);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !(probability >= 0.0 && probability <= 1.0);
  if (!wrong) p->drop.limit = limit_of(probability);
  rm_env_leave(env, 0);
  return wrong ? RM_STATUS(RM_ERR_RANGE, AT_P) : RM_OK;
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
  drop->exact = rest == 0.0 && rm_decompose(s, &e) == UINT64_C(1) << 52;
  drop->hi = r;
  drop->lo = drop->exact ? 0.0 : r * (-vf64_mul_err(r, s, 1.0) - r * rest);
}

rm_status rm_dropout_problem(rm_random_problem *p, int format, double probability, const void *x, ptrdiff_t stride_x) {
  enum { AT_P = 6, AT_X, AT_OUT = 9 };
  const rm_status status = check_format(p, format, AT_OUT);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int wrong = !(probability >= 0.0 && probability <= 1.0);
  if (!wrong) prepare_drop(&p->drop, probability);
  rm_env_leave(env, 0);
  if (wrong) return RM_STATUS(RM_ERR_RANGE, AT_P);
  if (p->n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, AT_X);
  const int size = rm_size_of(format);
  const rm_view to = {p->out, p->stride, 0}, source = rm_view_of(x, stride_x, 0);
  if ((x != p->out || stride_x != p->stride) && rm_overlaps(to, p->n, 1, size, source, p->n, 1, size))
    return RM_STATUS(RM_ERR_OVERLAP, AT_OUT);
  p->x = x, p->stride_x = stride_x;
  return RM_OK;
}

/* --------------------------------------------------------------------------------------------------------- integers */

rm_status rm_integers_problem(rm_random_problem *p, int64_t low, int64_t last) {
  enum { AT_LAST = 6, AT_OUT };
  const rm_status status = check(p, 0, 8, AT_OUT);
  if (status) return status;
  if (last < low) return RM_STATUS(RM_ERR_RANGE, AT_LAST);
  p->integers.low = low, p->integers.count = (uint64_t)last - (uint64_t)low + 1;
  return RM_OK;
}
