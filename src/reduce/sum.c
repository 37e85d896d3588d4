/* The public sums and dot products: argument checks, environment, and the tiers from fast to exact. */
#include <string.h>

#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "exact.h"
#include "../common/stats.h"
#include "sum_parts.h"

enum { SUM_N = 1, SUM_X, SUM_OUT = 4, DOT_N = 1, DOT_X, DOT_Y = 4, DOT_OUT = 6 }; /* positions of arguments */

static rm_status check_sum(int64_t n, const void *x, const void *out) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, SUM_N);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, SUM_X);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, SUM_OUT);
}
static rm_status check_dot(int64_t n, const void *x, const void *y, const void *out) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, DOT_N);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, DOT_X);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, DOT_Y);
  return out ? RM_OK : RM_STATUS(RM_ERR_NULL, DOT_OUT);
}

typedef rm_sum_problem problem;

enum { TERMS_PER_THREAD = 1 << 18 };

/* The terms from begin to end. */
static rm_partial part(const problem *p, int64_t begin, int64_t end, int compensated) {
  const struct rm_reduce_kernels *k = rm_reduce_kernels();
  rm_terms x = {p->x.base + begin * p->x.stride, p->x.stride}, y = {NULL, 0};
  if (p->y.base) y = (rm_terms){p->y.base + begin * p->y.stride, p->y.stride};
  rm_partial sum;
  if (p->shift) k->deviations(end - begin, x, *p->shift, p->fmt, compensated, &sum);
  else if (compensated) k->compensated(end - begin, x, y, p->fmt, &sum);
  else k->plain(end - begin, x, y, p->fmt, &sum);
  return sum;
}

rm_partial rm_sum_partial(const problem *p, int compensated) {
  const int threads = p->n < 2 * TERMS_PER_THREAD ? 1 : rm_threads_for(p->n / TERMS_PER_THREAD);
  if (threads == 1) return part(p, 0, p->n, compensated); /* entering a parallel region takes longer than a short sum */
  rm_partial total = {0.0, 0.0, 0.0, 0.0};
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static, 1)
#endif
  for (int t = 0; t < threads; t++) {
    const rm_env env = rm_env_enter();
    const rm_partial sum = part(p, p->n / threads * t, t + 1 < threads ? p->n / threads * (t + 1) : p->n, compensated);
#if defined(_OPENMP)
#pragma omp critical(rm_join)
#endif
    rm_partial_join(&total, &sum);
    rm_env_leave(env, 0);
  }
  return total;
}

/* Whether hi + lo, within err of the sum, decides its rounding. See src/blas/gemm/epilogue_b64.h and epilogue_dd.h for the
 * tests. An infinite value is never decided. */
static int decide(double hi, double lo, double err, int fmt, uint64_t *bits) {
  if (fmt == RM_F32) {
    double e = __builtin_fabs(hi) * 0x1p-52 + err;
    float low = (float)(hi - e), high = (float)(hi + e);
    *bits = rm_bits32(low);
    return rm_bits32(low) == rm_bits32(high) && rm_is_finite_f32(low);
  }
  double low = hi + (lo - err), high = hi + (lo + err);
  *bits = rm_bits64(low);
  return rm_bits64(low) == rm_bits64(high) && rm_is_finite(low);
}

/* Certificate of exactness: if all terms are multiples of g, so is every rounded partial sum, and an error below g is none
 * (src/blas/gemm/resolve_b64.h). Here g is the least power of two above the bound, and the terms are asked. Products of
 * binary64 could hide an underflow and are not asked. */
static int exact(const problem *p, double err) {
  if (p->fmt == RM_F64 && p->y.base) return 0;
  int e = (int)(rm_bits64(err) >> 52) - 1022;
  if (!(err > 0.0) || e < -1000 || e > 900) return 0;
  return rm_reduce_kernels()->multiples(p->n, p->x, p->y, p->fmt, rm_pow2(e));
}

RM_HOST_EXTERN int rm_sum_approximately(const problem *p, int tier, double *hi, double *lo, double *err) {
  const rm_partial s = rm_sum_partial(p, tier);
  return rm_partial_known(&s, p, tier, hi, lo, err);
}

/* Only the bound of a sum of plain terms can be 0 or underflow to it: below 2^-1075, where every term and every rounded sum
 * is a multiple of 2^-1074. That of products has its share of underflow. */
int rm_sum_is_exact(const problem *p, double err) { return err == 0.0 || exact(p, err); }

/* RN of the exact hi + lo. */
static uint64_t round_exact(double hi, double lo, int fmt, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add(&acc, hi);
  rm_superacc_add(&acc, lo);
  return rm_superacc_round(&acc, fmt, RM_NEAREST, flags);
}

static uint64_t by_accumulator(const problem *p, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_sum_exactly(p, &acc);
  return rm_superacc_round(&acc, p->fmt, RM_NEAREST, flags);
}

uint64_t rm_sum_rounded(const problem *p, uint32_t *flags) {
  uint64_t bits;
  if (p->n == 0) return 0;
  for (int tier = p->fmt == RM_F64; tier < 2; tier++) {
    double hi, lo, err;
    if (!rm_sum_approximately(p, tier, &hi, &lo, &err)) break; /* not finite: nor is it in the next tier */
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
  uint32_t bits = (uint32_t)rm_sum_rounded(&p, &flags);
  memcpy(out, &bits, sizeof bits);
  rm_env_leave(env, flags);
}
static void reduce_f64(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, double *out) {
  rm_env env = rm_env_enter();
  uint32_t flags = 0;
  problem p = {n, {x, sx}, {y, sy}, RM_F64, NULL};
  uint64_t bits = rm_sum_rounded(&p, &flags);
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
