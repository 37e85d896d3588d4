/* Numbers known to within a radius, rounded under a random mode: what is evaluated in binary64 is rounded here
 * (common/rounding_vector.h). */
#include "../common/elements.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "kernels.h"
#include "../common/rounding_words.h"

enum { GRAIN = 1 << 14, GRAIN_STEPS = 1 << 12 };

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
  const struct rm_rounding_kernels *kernels;
} steps;

/* rm_round_up_down of n numbers, without branches, so that a compiler makes vectors of it; infinity as its bits. */
#define RM_STEPS(name, type)                                                                           \
  static void name(char *at, const uint32_t *word, int64_t n, type infinity) {                         \
    const type most = (type)((type) - 1 >> 1), down = (type) - 1;                                      \
    for (int64_t i = 0; i < n; i++) {                                                                  \
      type bits;                                                                                       \
      __builtin_memcpy(&bits, at + i * (int64_t)sizeof bits, sizeof bits);                             \
      const type size = bits & most, up = (type)(word[i] >> 31);                                       \
      const type moves = (type)(size - 1) < (type)(infinity - 1), last = size == (type)(infinity - 1); \
      bits = (type)(bits + (moves ? (up ? (type)!last : down) : 0));                                   \
      __builtin_memcpy(at + i * (int64_t)sizeof bits, &bits, sizeof bits);                             \
    }                                                                                                  \
  }
RM_STEPS(steps_16, uint16_t)
RM_STEPS(steps_64, uint64_t)
#undef RM_STEPS

static uint32_t step_part(const void *context, int64_t begin, int64_t end) {
  enum { SOME = 512 };
  const steps *p = context;
  uint32_t word[SOME];
  if (p->format == RM_FORMAT_F32) return p->kernels->steps(p->r, p->x, begin, end), 0;
  for (int64_t i = begin; i < end; i += SOME) {
    const int64_t n = end - i < SOME ? end - i : SOME;
    p->kernels->words(p->r->seed, p->r->stream, p->r->first + i, n, word);
    char *const at = p->x + i * rm_size_of(p->format);
    if (p->format == RM_FORMAT_F64) steps_64(at, word, n, rm_infinity_bits(RM_F64));
    else steps_16(at, word, n, (uint16_t)rm_infinity_bits(p->format));
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
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  if (!kernels) return RM_ERR_ISA;
  const steps p = {format, x, r, kernels};
  rm_in_parts(n, GRAIN_STEPS, step_part, &p);
  return RM_OK;
}

/* --- sums in two parts */

typedef struct {
  int64_t n;
  const double *x, *y;
  ptrdiff_t row_x, row_y;
  double *high, *low, *radius;
  const struct rm_rounding_kernels *kernels;
} totals;

static uint32_t total_part(const void *context, int64_t begin, int64_t end) {
  const totals *p = context;
  for (int64_t i = begin; i < end; i++) {
    double found[3];
    p->kernels->total(p->n, p->x + i * p->row_x, p->y ? p->y + i * p->row_y : NULL, found);
    p->high[i] = found[0], p->low[i] = found[1], p->radius[i] = found[2];
  }
  return 0;
}

rm_status rm_sums_in_parts(int64_t rows, int64_t n, const double *x, ptrdiff_t row_x, const double *y, ptrdiff_t row_y,
                           double *high, double *low, double *radius) {
  if (rows < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (rows == 0) return RM_OK;
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 3);
  if (!high) return RM_STATUS(RM_ERR_NULL, 7);
  if (!low) return RM_STATUS(RM_ERR_NULL, 8);
  if (!radius) return RM_STATUS(RM_ERR_NULL, 9);
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  if (!kernels) return RM_ERR_ISA;
  const totals p = {n, x, y, row_x, row_y, high, low, radius, kernels};
  const rm_env env = rm_env_enter();
  rm_in_parts(rows, GRAIN / (n + 1) + 1, total_part, &p);
  rm_env_leave(env, 0);
  return RM_OK;
}
