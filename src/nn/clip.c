/* The public gradient clipping: the factor from an exact sum of squares, and the slow tiers of a product with it. */
#include "clip.h"

#include "../../crlibm/fp/exact.h"
#include "../../include/repmath/optim.h"
#include "../api/env.h"
#include "../api/threads.h"
#include "../dispatch/kernels.h"
#include "../reduce/exact.h"
#include "../reduce/total.h"
#include "kernels.h"

enum { GRAIN = 1 << 15, SUM_LIMBS = 80 }; /* limbs that hold any total, and any square */

_Static_assert(64 * SUM_LIMBS >= RM_ACC_DIGIT_BITS * RM_ACC_DIGITS, "totals are exact");

/* g max_norm / sqrt(S), finite. It is a boundary q of rounding only if sqrt(S) is rational, hence dyadic, as S is; then the
 * root and the quotient q are short and exact below. Otherwise (g max_norm)^2 and q^2 S are different multiples of 2^-12000
 * below 2^8300, and 512 limbs tell them apart. */
static uint64_t product(const rm_clip *c, double g, uint32_t *flags) {
  rm_near x, factor;
  uint64_t bits;
  __builtin_memcpy(&factor, c->near, sizeof factor);
  rm_near_set(&x, g, 0);
  rm_near_mul(&x, &x, &factor);
  if (rm_near_round(&x, c->format, RM_NEAREST, flags, &bits)) return bits;
  for (int n = SUM_LIMBS;; n = RM_BALL_LIMBS) {
    rm_ball root, y, t;
    rm_ball_set_total(&root, c->squares, n);
    rm_ball_sqrt(&root, &root);
    rm_ball_set(&y, g, n);
    rm_ball_set(&t, c->max_norm, n);
    rm_ball_mul(&y, &y, &t);
    rm_ball_div(&y, &y, &root);
    if (rm_ball_round(&y, c->format, RM_NEAREST, flags, &bits)) return bits;
    if (n == RM_BALL_LIMBS) {
      rm_ball_round_last(&y, c->format, RM_NEAREST, flags, &bits);
      return bits;
    }
  }
}

uint64_t rm_clip_slow(const rm_clip *c, uint64_t g, uint32_t *flags) {
  const double x = rm_to_double(g, c->format);
  if (rm_is_signalling(g, c->format)) *flags |= RM_FLAG_INVALID;
  if (x != x) return rm_nan_bits(c->format);
  if (!c->squares->classes) return product(c, x, flags); /* then g is finite, if S is its sum */
  return rm_is_infinite(x) ? rm_invalid(c->format, flags) : 0;
}

static uint32_t slowly(const rm_clip *c, int64_t begin, int64_t end) {
  const size_t size = (size_t)rm_size_of(c->format);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t bits = 0; /* little endian */
    __builtin_memcpy(&bits, c->g + (size_t)i * size, size);
    bits = rm_clip_slow(c, bits, &flags);
    __builtin_memcpy(c->g + (size_t)i * size, &bits, size);
  }
  return flags;
}

/* Whether c < 1; then the factor. */
static int prepare(rm_clip *c) {
  rm_near root, limit;
  if (c->squares->classes) return 1;
  rm_ball total, square;
  rm_ball_set_total(&total, c->squares, SUM_LIMBS);
  rm_ball_set(&square, c->max_norm, SUM_LIMBS);
  rm_ball_mul(&square, &square, &square);
  if (rm_ball_compare(&total, &square) <= 0) return 0;
  rm_near_set_total(&root, c->squares, 0);
  rm_near_sqrt(&root, &root);
  rm_near_set(&limit, c->max_norm, 0);
  rm_near_div(&limit, &limit, &root);
  __builtin_memcpy(c->near, &limit, sizeof limit);
  c->c[0] = limit.hi;
  c->c[1] = limit.lo;
  c->fast = limit.err <= limit.hi * 0x1p-100 && limit.hi >= 0x1p-200;
  return 1;
}

rm_status rm_clip_to_norm(int format, int64_t n, void *g, const rm_accumulator *squares, double max_norm) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !g) return RM_STATUS(RM_ERR_NULL, 3);
  if (!squares) return RM_STATUS(RM_ERR_NULL, 4);
  if (!(max_norm >= 0.0 && max_norm - max_norm == 0.0)) return RM_STATUS(RM_ERR_RANGE, 5);
  const rm_superaccumulator *sum = rm_accumulator_sum(squares);
  const int nan = sum->classes & ~(uint32_t)RM_ACC_PINF;
  if (!sum->classes && rm_superacc_get_top(sum).negative) return RM_STATUS(RM_ERR_RANGE, 4);
  rm_clip c = {.format = format, .g = g, .max_norm = max_norm, .squares = sum};
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  if (nan) {
    const uint64_t bits = rm_nan_bits(format);
    const size_t size = (size_t)rm_size_of(format);
    for (int64_t i = 0; i < n; i++) __builtin_memcpy(c.g + (size_t)i * size, &bits, size);
  } else if (prepare(&c)) {
    rm_clip_fn *step = c.fast ? kernels->nn->clip[format] : slowly;
    const int threads = n < 2 * GRAIN ? 1 : rm_threads_for(n / GRAIN);
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) reduction(| : flags) if (threads > 1)
#endif
    for (int t = 0; t < threads; t++) {
      const rm_env worker = rm_env_enter();
      const int64_t units = (n + 63) / 64, end = units * (t + 1) / threads * 64;
      flags |= step(&c, units * t / threads * 64, end < n ? end : n);
      rm_env_leave(worker, 0);
    }
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

rm_status rm_root_of_total(const rm_accumulator *squares, double *out) {
  if (!squares) return RM_STATUS(RM_ERR_NULL, 1);
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  const rm_superaccumulator *sum = rm_accumulator_sum(squares);
  uint32_t flags = 0;
  if (sum->classes) {
    *out = rm_from_bits64(rm_superacc_round_classes(sum->classes, RM_F64, &flags));
    return RM_OK;
  }
  const rm_superacc_top t = rm_superacc_get_top(sum);
  if (t.negative) return RM_STATUS(RM_ERR_RANGE, 1);
  const rm_env env = rm_env_enter();
  *out = t.m ? rm_from_bits64(rm_round_root(t.m | (rm_u128)t.inexact, t.e, RM_F64, RM_NEAREST, &flags)) : 0.0;
  rm_env_leave(env, flags);
  return RM_OK;
}
