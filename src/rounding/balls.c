/* Numbers known to within a radius, rounded under a random mode: what is evaluated in binary64 is rounded here
 * (common/rounding_vector.h). */
#include <float.h>

#include "../common/elements.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "kernels.h"
#include "../common/rounding_words.h"

enum { GRAIN = 1 << 14, GRAIN_STEPS = 1 << 12 };

static uint64_t rounded(double c, int format, rm_mode mode, uint32_t *flags) {
  if (c == 0.0) return 0;
  int e;
  const uint64_t m = rm_decompose(c, &e);
  return rm_round_exact((int)(rm_bits64(c) >> 63), m, e, format, mode, flags);
}

int rm_round_between(double low, double high, int format, int mode, uint32_t word, uint64_t *bits, uint32_t *flags) {
  if (!(low >= -DBL_MAX && high <= DBL_MAX)) return 1;
  const rm_mode with = rm_random_mode(mode, word);
  uint32_t one = 0, other = 0;
  *bits = rounded(low, format, with, &one);
  if (*bits != rounded(high, format, with, &other) || one != other) return 1;
  *flags |= one;
  return 0;
}

typedef struct {
  const rm_balls *balls;
  const struct rm_rounding_kernels *kernels;
} problem;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  uint32_t flags = 0;
  p->kernels->balls(p->balls, begin, end, &flags);
  return flags;
}

rm_status rm_random_balls(int format, int64_t n, const double *middle, const double *radius, void *out, uint8_t *undecided,
                          const rm_random_rounding *r) {
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  const rm_status status = rm_rounding_check(r, n, 7);
  if (status) return status;
  if (r->mode == RM_ROUND_UP_DOWN) return RM_STATUS(RM_ERR_ENUM, 7);
  if (n == 0) return RM_OK;
  if (!middle) return RM_STATUS(RM_ERR_NULL, 3);
  if (!out) return RM_STATUS(RM_ERR_NULL, 5);
  if (!undecided) return RM_STATUS(RM_ERR_NULL, 6);
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  if (!kernels) return RM_ERR_ISA;
  const rm_balls balls = {format, middle, radius, out, undecided, r};
  const problem p = {&balls, kernels};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(n, GRAIN, part, &p));
  return RM_OK;
}

typedef struct {
  int format;
  char *x;
  const rm_random_rounding *r;
} steps;

static uint32_t step_part(const void *context, int64_t begin, int64_t end) {
  const steps *p = context;
  const int size = rm_size_of(p->format);
  rm_rounding_words words = rm_rounding_words_of(p->r);
  for (int64_t i = begin; i < end; i++) {
    char *x = p->x + i * size;
    const uint32_t word = rm_rounding_word(&words, p->r->first + i);
    rm_write_bits(x, rm_round_up_down(rm_read_bits(x, p->format), p->format, word), p->format);
  }
  return 0;
}

rm_status rm_random_steps(int format, int64_t n, void *x, const rm_random_rounding *r) {
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F64) return RM_STATUS(RM_ERR_ENUM, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  const rm_status status = rm_rounding_check(r, n, 4);
  if (status) return status;
  if (r->mode != RM_ROUND_UP_DOWN) return RM_STATUS(RM_ERR_ENUM, 4);
  if (n == 0) return RM_OK;
  if (!x) return RM_STATUS(RM_ERR_NULL, 3);
  const steps p = {format, x, r};
  rm_in_parts(n, GRAIN_STEPS, step_part, &p);
  return RM_OK;
}
