/* rm_sum_* and rm_dot_*: argument checks, environment, tiers. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../api/env.h"
#include "../api/threads.h"
#include "../dispatch/kernels.h"
#include "exact.h"
#include "stats.h"
#include "sum.h"

/* Positions: n 1, x 2, stride 3, out 4 for a sum; n 1, x 2, stride 3, y 4, stride 5, out 6 for a dot product. */
static rm_status check_sum(int64_t n, const void *x, const void *out) {
  if (!rm_kernels_get()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, 4);
}
static rm_status check_dot(int64_t n, const void *x, const void *y, const void *out) {
  if (!rm_kernels_get()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 4);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, 6);
}

/* Error bounds. u = 2^-53; A is the sum of the terms' magnitudes, known as `size` within a relative 2^-10 (its chains are as
 * long as the sum's; depth u < 2^-12 is far beyond any memory).
 *
 * Compensated: let every term pass at most h = depth additions. The main additions' errors add up to at most h u' A in
 * magnitude, those of products to u A; in the sum of errors each of them passes two additions for one of the main sum, so
 * that |hi + lo - S| <= 2 (h+1)^2 u^2 A, where u' = u/(1 - h u). 2.3 (h+1)^2 u^2 size covers the slack. Underflow of a product
 * or of its error loses at most 2^-1070 (Dekker's product; less with FMA).
 * Plain: block sums, of chains of RM_CHAIN and two joining additions, err by at most (RM_CHAIN + 2) u' A in all; the block
 * sums' own sum is compensated.
 *
 * Squares of differences, (x - c)^2 with x - c = d + e exactly, |e| <= u |d|. Plain: d^2 rounded is off by a relative 3.1 u.
 * Compensated: d^2 = p + q exactly; q + 2 d e, at most 3.1 u d^2, joins the sum of errors; what is dropped and rounded there, e^2
 * and the roundings of 2 d e and of its sum with q, is at most 6.1 u^2 d^2. The errors in the sum of errors are (h + 3.1) u A,
 * so that |hi + lo - S| <= (2 h (h + 3.1) + 2 + 6.1) u^2 A <= 2 (h+2)^2 u^2 A: one more addition. p, q and 2 d e may each
 * underflow. */
static double bound_compensated(const rm_partial *s, const rm_sum_problem *p) {
  const double h = s->depth + (p->shift ? 2.0 : 1.0);
  return RM_BOUND(2.3 * h * h * 0x1p-106 * s->size) + (p->y.base || p->shift ? (double)p->n * 0x1p-1069 : 0.0);
}
static double bound_plain(const rm_partial *s, const rm_sum_problem *p) {
  const double u = (RM_CHAIN + (p->shift ? 2 + 4 : 2)) * 0x1.01p-53;
  return RM_BOUND(u * s->size) + bound_compensated(s, p);
}

/* Joins two partial sums by a two-sum: one more addition for every term. */
static void join(rm_partial *into, const rm_partial *from) {
  double s = into->hi + from->hi, t = s - into->hi;
  into->lo += ((into->hi - (s - t)) + (from->hi - t)) + from->lo;
  into->hi = s;
  into->size += from->size;
  into->depth = (into->depth > from->depth ? into->depth : from->depth) + 1.0;
}

typedef rm_sum_problem problem;

enum { TERMS_PER_THREAD = 1 << 18 };

/* The terms from begin to end. */
static rm_partial part(const problem *p, int64_t begin, int64_t end, int compensated) {
  const struct rm_reduce_kernels *k = rm_kernels_get()->reduce;
  rm_terms x = {p->x.base + begin * p->x.stride, p->x.stride}, y = {NULL, 0};
  if (p->y.base) y = (rm_terms){p->y.base + begin * p->y.stride, p->y.stride};
  rm_partial sum;
  if (p->shift)
    k->deviations(end - begin, x, *p->shift, p->fmt, compensated, &sum);
  else if (compensated)
    k->compensated(end - begin, x, y, p->fmt, &sum);
  else
    k->plain(end - begin, x, y, p->fmt, &sum);
  return sum;
}

static rm_partial approximate(const problem *p, int compensated) {
  const int threads = p->n < 2 * TERMS_PER_THREAD ? 1 : rm_threads_for(p->n / TERMS_PER_THREAD);
  if (threads == 1) return part(p, 0, p->n, compensated); /* entering a parallel region takes longer than a short sum */
  rm_partial total = {0.0, 0.0, 0.0, 0.0};
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
  for (int t = 0; t < threads; t++) {
    const rm_env env = rm_env_enter();
    const rm_partial sum =
        part(p, p->n / threads * t, t + 1 < threads ? p->n / threads * (t + 1) : p->n, compensated);
#if defined(_OPENMP)
#pragma omp critical(rm_join)
#endif
    join(&total, &sum);
    rm_env_leave(env, 0);
  }
  return total;
}

/* Whether hi + lo, within err of the sum, decides its rounding. See src/blas/epilogue_f32.h and epilogue_dd.h for the tests. An
 * infinite value is never decided. */
static int decide(double hi, double lo, double err, int fmt, uint64_t *bits) {
  if (fmt == RM_F32) {
    double e = __builtin_fabs(hi) * 0x1p-52 + err;
    float low = (float)(hi - e), high = (float)(hi + e);
    *bits = rm_bits32(low);
    return rm_bits32(low) == rm_bits32(high) && low - low == 0.0f;
  }
  double low = hi + (lo - err), high = hi + (lo + err);
  *bits = rm_bits64(low);
  return rm_bits64(low) == rm_bits64(high) && low - low == 0.0;
}

/* Certificate of exactness: if all terms are multiples of g, so is every rounded partial sum, and an error below g is none
 * (src/blas/resolve_f32.h). Here g is the least power of two above the bound, and the terms are asked. Products of binary64
 * could hide an underflow and are not asked. */
static int exact(const problem *p, double err) {
  if (p->fmt == RM_F64 && p->y.base) return 0;
  int e = (int)(rm_bits64(err) >> 52) - 1022;
  if (!(err > 0.0) || e < -1000 || e > 900) return 0;
  return rm_kernels_get()->reduce->multiples(p->n, p->x, p->y, p->fmt, rm_pow2(e));
}

int rm_sum_approximately(const problem *p, int tier, double *hi, double *lo, double *err) {
  const rm_partial s = approximate(p, tier);
  *err = tier ? bound_compensated(&s, p) : bound_plain(&s, p);
  *hi = s.hi + s.lo;
  const double t = *hi - s.hi;
  *lo = (s.hi - (*hi - t)) + (s.lo - t);
  return *hi - *hi == 0.0 && *err - *err == 0.0;
}

/* Only the bound of a sum of plain terms can be 0 or underflow to it: below 2^-1075, where every term and every rounded sum is a
 * multiple of 2^-1074. That of products has its share of underflow. */
int rm_sum_is_exact(const problem *p, double err) { return err == 0.0 || exact(p, err); }

/* RN of the exact hi + lo. */
static uint64_t round_exact(double hi, double lo, int fmt, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add(&acc, hi);
  rm_superacc_add(&acc, lo);
  return rm_superacc_round(&acc, fmt, RM_NEAREST, flags);
}

void rm_sum_feed(const problem *p, int64_t begin, int64_t end, rm_superaccumulator *acc) {
  const char *x = p->x.base + begin * p->x.stride;
  if (p->y.base)
    rm_superacc_add_products(acc, p->fmt, end - begin, x, p->x.stride, p->y.base + begin * p->y.stride, p->y.stride);
  else
    rm_superacc_add_array(acc, p->fmt, end - begin, x, p->x.stride);
}

void rm_sum_exactly(const problem *p, rm_superaccumulator *acc) {
  rm_superacc_clear(acc);
  rm_sum_feed(p, 0, p->n, acc);
}

static uint64_t by_accumulator(const problem *p, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_sum_exactly(p, &acc);
  return rm_superacc_round(&acc, p->fmt, RM_NEAREST, flags);
}

static uint64_t reduce(const problem *p, uint32_t *flags) {
  uint64_t bits;
  for (int tier = p->fmt == RM_F64; tier < 2; tier++) {
    double hi, lo, err;
    if (!rm_sum_approximately(p, tier, &hi, &lo, &err)) continue;
    int decided = decide(hi, lo, err, p->fmt, &bits);
    if (!decided && rm_sum_is_exact(p, err)) {
      bits = round_exact(hi, lo, p->fmt, flags);
      decided = 1;
    }
    if (decided) {
      const int fast = tier == 0 || p->fmt == RM_F64; /* the first tier of its format */
      rm_stats_add(fast, !fast, 0);
      return bits;
    }
  }
  rm_stats_add(0, 0, 1);
  return by_accumulator(p, flags);
}

static void reduce_f32(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, float *out) {
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  problem p = {n, {x, sx}, {y, sy}, RM_F32, NULL};
  uint32_t bits = n ? (uint32_t)reduce(&p, &flags) : 0;
  memcpy(out, &bits, sizeof bits);
  rm_env_leave(env, flags);
}
static void reduce_f64(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, double *out) {
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  problem p = {n, {x, sx}, {y, sy}, RM_F64, NULL};
  uint64_t bits = n ? reduce(&p, &flags) : 0;
  memcpy(out, &bits, sizeof bits);
  rm_env_leave(env, flags);
}

rm_status rm_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out) {
  rm_status status = check_sum(n, x, out);
  if (!status) reduce_f32(n, x, stride_x, NULL, 0, out);
  return status;
}
rm_status rm_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out) {
  rm_status status = check_sum(n, x, out);
  if (!status) reduce_f64(n, x, stride_x, NULL, 0, out);
  return status;
}
rm_status rm_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out) {
  rm_status status = check_dot(n, x, y, out);
  if (!status) reduce_f32(n, x, stride_x, y, stride_y, out);
  return status;
}
rm_status rm_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out) {
  rm_status status = check_dot(n, x, y, out);
  if (!status) reduce_f64(n, x, stride_x, y, stride_y, out);
  return status;
}
