/* The public formulas: argument checks, threads, and the slow tiers of an element. */
#include "../../include/repmath/formulas.h"

#include "../../crlibm/fp/ball.h"
#include "../../crlibm/fp/exact.h"
#include "../../crlibm/fp/near.h"
#include "../api/env.h"
#include "../api/threads.h"
#include "../dispatch/kernels.h"
#include "formulas.h"
#include "kernels.h"

enum { GRAIN = 1 << 14 }; /* elements that are worth a thread */

#define RM_NUM near
#include "formulas_exact.h"
#undef RM_NUM
#define RM_NUM ball
#include "formulas_exact.h"
#undef RM_NUM

/* All operands are finite, and no divisor is 0. Sums of products of at most three binary64 numbers are multiples of 2^-3300
 * below 2^3200, exact at 512 limbs (32,768 bits). A quotient (x z + a y)/z differs from a boundary q of rounding by a multiple
 * of 2^-4400 over z, or is it: rm_ball_round_last takes q where 2^-32000 does not tell them apart. */
static uint64_t finite_value(const rm_formula_job *job, double x, double y, double z, uint32_t *flags) {
  rm_near close;
  uint64_t bits = 0;
  formula_value_near(&close, job, x, y, z, 0);
  if (rm_near_round(&close, job->format, RM_NEAREST, flags, &bits)) return bits;
  for (int n = 4; n <= RM_BALL_LIMBS; n = n == 4 ? 32 : n * 16) {
    rm_ball r;
    formula_value_ball(&r, job, x, y, z, n);
    if (rm_ball_round(&r, job->format, RM_NEAREST, flags, &bits)) return bits;
    if (n == RM_BALL_LIMBS) rm_ball_round_last(&r, job->format, RM_NEAREST, flags, &bits);
  }
  return bits;
}

static int is_finite(double x) { return x - x == 0.0; }
static double sign_of(double x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; /* zeros keep theirs; NaN */ }
/* A finite number as its sign: no operation on these rounds or overflows. */
static double bounded(double x) { return is_finite(x) ? sign_of(x) : x; }

uint64_t rm_formula_slow(const rm_formula_job *job, uint64_t bits_x, uint64_t bits_y, uint64_t bits_z, uint32_t *flags) {
  const int fmt = job->format, formula = job->formula;
  const double x = rm_to_double(bits_x, fmt), y = rm_to_double(bits_y, fmt), z = rm_to_double(bits_z, fmt), a = job->a;
  const double bx = bounded(x), by = bounded(y), bz = bounded(z), ba = bounded(a);
  if (rm_is_signalling(bits_x, fmt) | rm_is_signalling(bits_y, fmt) | rm_is_signalling(bits_z, fmt))
    *flags |= RM_FLAG_INVALID;
  if (rm_formula_is_choice(formula)) return rm_nan_bits(fmt); /* the vectors have done the rest */
  double r, below = 1.0, term = ba * by;
  int product = rm_formula_is_product(formula);
  switch (formula) {
    case RM_FORMULA_SCALED: r = ba * bx; break;
    case RM_FORMULA_OVER: r = bx / ba, below = a; break;
    case RM_FORMULA_UNDER: r = ba / bx, below = x; break;
    case RM_FORMULA_ADDED: r = bx + ba; break;
    case RM_FORMULA_BETWEEN: r = bounded(1.0 - a) * bx + term; break;
    case RM_FORMULA_TANH: r = bx * (y == y ? sign_of(1.0 - vf64_abs(y)) * (is_finite(y) ? 1.0 : by * by) : y); break;
    case RM_FORMULA_SIGMOID: r = bx * by * bounded(1.0 - y); break;
    case RM_FORMULA_PRODUCT: r = bx + term * bz; break;
    case RM_FORMULA_QUOTIENT: r = bx + term / bz, below = z; break;
    default: r = bx + term;
  }
  const int nan_in = x != x || y != y || z != z || a != a;
  if (!is_finite(r)) {
    if (r != r && !nan_in) *flags |= RM_FLAG_INVALID;
    if (r == r && below == 0.0) *flags |= RM_FLAG_DIVBYZERO;
    return r == r ? rm_signed_infinity(r < 0.0, fmt) : rm_nan_bits(fmt);
  }
  if (product && r == 0.0) return rm_signed_zero(rm_bits64(r) >> 63 != 0, fmt);
  /* An infinite divisor: the quotient is 0. */
  if (!is_finite(below)) return finite_value(job, x, 0.0, 1.0, flags);
  return finite_value(job, x, y, z, flags);
}

uint32_t rm_formula_slowly(const rm_formula_job *job, int64_t begin, int64_t end) {
  const size_t size = (size_t)rm_size_of(job->format);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t e[3] = {0, 0, 0}; /* little endian */
    const size_t at = (size_t)i * size;
    __builtin_memcpy(e, job->x + at, size);
    if (rm_formula_has_y(job->formula)) __builtin_memcpy(e + 1, job->y + at, size);
    if (rm_formula_has_z(job->formula)) __builtin_memcpy(e + 2, job->z + at, size);
    const uint64_t r = rm_formula_slow(job, e[0], e[1], e[2], &flags);
    __builtin_memcpy(job->out + at, &r, size);
  }
  return flags;
}

typedef struct {
  const rm_formula_job *job;
  rm_formula_fn *step;
} task;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const task *t = context;
  return t->step(t->job, begin, end);
}

rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z, void *out) {
  const struct rm_kernels *kernels = rm_kernels_get();
  if (!kernels) return RM_ERR_ISA;
  if (formula < 0 || formula > RM_FORMULA_GATE) return RM_STATUS(RM_ERR_ENUM, 1);
  if (format < 0 || format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  if (n == 0) return RM_OK;
  const void *const arrays[] = {x, rm_formula_has_y(formula) ? y : NULL, rm_formula_has_z(formula) ? z : NULL};
  const int needed[] = {1, rm_formula_has_y(formula), rm_formula_has_z(formula)};
  const uintptr_t bytes = (uintptr_t)n * (uintptr_t)rm_size_of(format), to = (uintptr_t)out;
  for (int i = 0; i < 3; i++)
    if (needed[i] && !arrays[i]) return RM_STATUS(RM_ERR_NULL, 5 + i);
  if (!out) return RM_STATUS(RM_ERR_NULL, 8);
  for (int i = 0; i < 3; i++) {
    const uintptr_t from = (uintptr_t)arrays[i];
    if (from && from != to && from < to + bytes && to < from + bytes) return RM_STATUS(RM_ERR_OVERLAP, 8);
  }
  rm_formula_job job = {.formula = formula, .format = format, .n = n, .a = a, .x = x, .y = y, .z = z, .out = out};
  const rm_env env = rm_env_enter();
  job.keep[0] = rm_near_two_sum(1.0, -a, &job.keep[1]);
  const double size = vf64_abs(a), kept = vf64_abs(job.keep[0]);
  const int fast = (size == 0.0 || (size >= 0x1p-200 && size <= 0x1p200)) && !(formula == RM_FORMULA_OVER && size == 0.0) &&
                   (formula != RM_FORMULA_BETWEEN || kept == 0.0 || kept >= 0x1p-200);
  const int by_vectors = rm_formula_is_choice(formula) ? a == a : fast;
  const task t = {&job, by_vectors ? kernels->nn->formula[format] : rm_formula_slowly};
  const uint32_t flags = rm_in_parts(n, by_vectors ? GRAIN : GRAIN / 64, part, &t);
  rm_env_leave(env, flags);
  return RM_OK;
}
