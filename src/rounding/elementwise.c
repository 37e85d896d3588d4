/* Elementwise functions and formulas under the random rounding modes.
 *
 * Results of at most 32 bits are balls in binary64 first (kernels.c), whose elements are decided by their words, nearly all.
 * The accurate phase computes the others, those of binary64, what is up or down, and the modes of IEEE 754. */
#include "kernels.h"
#include "../common/rounding_words.h"

#include <string.h>

#include "../elementwise/accurate.h"
#include "../elementwise/argument.h"
#include "../elementwise/powers.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { GRAIN = 1 << 10, GRAIN_FAST = 1 << 14 }; /* elements that are worth a thread */

typedef struct {
  const char *name;
  int arity;
} entry;

static const entry functions[RM_FN_COUNT] = {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) {#name, arity},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

/* The powers with an integer come after them, in the order of powers.h: their second argument is an int64. */
static const char *const powers[RM_POWERS_COUNT] = {
#define RM_POWER(name, NAME, definition, special) #name,
#include "../../crlibm/powers.def"
#undef RM_POWER
};

typedef struct {
  int function, arity, format;
  const void *const *x;
  const ptrdiff_t *stride;
  char *out;
  ptrdiff_t stride_out;
  const rm_random_rounding *r;
} problem;

static uint64_t accurate(const problem *p, int64_t i, uint32_t word, uint32_t *flags) {
  const size_t size = (size_t)rm_size_of(p->format);
  const int power = p->function - RM_FN_COUNT;
  double in[RM_MAX_ARITY];
  for (int k = 0; k < (power < 0 ? p->arity : 1); k++) {
    uint64_t bits = 0; /* little endian */
    memcpy(&bits, (const char *)p->x[k] + i * p->stride[k], size);
    in[k] = rm_accurate_argument(bits, p->format, flags);
  }
  if (power >= 0) {
    int64_t n;
    memcpy(&n, (const char *)p->x[1] + i * p->stride[1], sizeof n);
    return rm_accurate_powers[power](in[0], n, p->format, rm_rounding_mode(p->r->mode, word), flags);
  }
  return rm_accurate_table[p->function](in, p->format, rm_rounding_mode(p->r->mode, word), flags);
}

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  rm_rounding_words words = rm_rounding_words_of(p->r);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    const uint32_t word = rm_rounding_word(&words, p->r->first + i);
    uint64_t bits = accurate(p, i, word, &flags);
    if (p->r->mode == RM_ROUND_UP_DOWN) bits = rm_round_up_down(bits, p->format, word);
    memcpy(p->out + i * p->stride_out, &bits, (size_t)rm_size_of(p->format));
  }
  return flags;
}

/* The fast phase: `elements` comes first, so that `rest` finds the problem behind it. */
typedef struct {
  rm_random_elements elements;
  const problem *problem;
  const struct rm_rounding_kernels *kernels;
  int64_t open; /* counted by several threads, and so is what is in `left` */
  int64_t *left, count;
} fast;

static int rest(const rm_random_elements *p, int64_t element, uint32_t word, uint32_t *flags, uint64_t *bits) {
  *bits = accurate(((const fast *)(const void *)p)->problem, element, word, flags);
  return 1;
}

/* Of a formula whose undecided elements the caller has. */
static int leave(const rm_random_elements *p, int64_t element, uint32_t word, uint32_t *flags, uint64_t *bits) {
  fast *const f = (fast *)(uintptr_t)p;
  (void)word, (void)flags, (void)bits;
  f->left[__atomic_fetch_add(&f->count, 1, __ATOMIC_RELAXED)] = element;
  return 0;
}

static uint32_t fast_part(const void *context, int64_t begin, int64_t end) {
  fast *const p = (fast *)(uintptr_t)context;
  uint32_t flags = 0;
  const int64_t open = p->kernels->elements(&p->elements, begin, end, &flags);
  if (open) __atomic_fetch_add(&p->open, open, __ATOMIC_RELAXED);
  return flags;
}

/* A function that is one operation has its formula, whose error is known: others are rounded to nearest in binary64 first. */
static int formula_of(int function) {
  switch (function) {
    case RM_FN_add: return RM_BALL_ADD;
    case RM_FN_subtract: return RM_BALL_SUBTRACT;
    case RM_FN_multiply: return RM_BALL_MULTIPLY;
    case RM_FN_divide: return RM_BALL_DIVIDE;
    case RM_FN_sqrt: return RM_BALL_ROOT;
    case RM_FN_fma: return RM_BALL_FMA;
    default: return RM_BALL_FUNCTION;
  }
}

rm_status rm_random_elementwise(const char *function, int format, int64_t n, const void *const *x, const ptrdiff_t *stride,
                                void *out, ptrdiff_t stride_out, const rm_random_rounding *r) {
  problem p = {0, 0, format, x, stride, out, stride_out, r};
  if (!function) return RM_STATUS(RM_ERR_NULL, 1);
  while (p.function < RM_FN_COUNT && strcmp(function, functions[p.function].name) != 0) p.function++;
  while (p.function >= RM_FN_COUNT && strcmp(function, powers[p.function - RM_FN_COUNT]) != 0)
    if (++p.function == RM_FN_COUNT + RM_POWERS_COUNT) return RM_STATUS(RM_ERR_ENUM, 1);
  const int power = p.function >= RM_FN_COUNT;
  p.arity = power ? 2 : functions[p.function].arity;
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F64) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  const int inverse = p.function == RM_FN_erfinv || p.function == RM_FN_ndtri;
  if (inverse && format == RM_FORMAT_F64 && r && r->mode == RM_ROUND_STOCHASTIC) return RM_STATUS(RM_ERR_ENUM, 2);
  const rm_status status = rm_rounding_check(r, n, 8);
  if (status || n == 0) return status;
  if (!x) return RM_STATUS(RM_ERR_NULL, 4);
  if (!stride) return RM_STATUS(RM_ERR_NULL, 5);
  for (int k = 0; k < p.arity; k++)
    if (!x[k]) return RM_STATUS(RM_ERR_NULL, 4);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  const struct rm_map_kernels *maps = rm_map_kernels();
  if (!kernels || !maps) return RM_ERR_ISA;
  const rm_env env = rm_env_enter();
  if (format == RM_FORMAT_F64 || r->mode == RM_ROUND_UP_DOWN || rm_is_directed(r->mode) || power) {
    rm_env_leave(env, rm_in_parts(n, GRAIN, part, &p));
    return RM_OK;
  }
  rm_map_fn *const map = maps->map[p.function][RM_FORMAT_F64];
  fast f = {
      {formula_of(p.function), format, 0, p.function, map, {{0, 0, 0}}, out, stride_out, rest, r}, &p, kernels, 0, NULL, 0};
  for (int k = 0; k < p.arity; k++) f.elements.x[k] = (rm_random_array){x[k], stride[k], format};
  rm_env_leave(env, rm_in_parts(n, GRAIN_FAST, fast_part, &f));
  return RM_OK;
}

rm_status rm_random_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z,
                            void *out, int64_t *open, int64_t *left, const rm_random_rounding *r) {
  static const int arity[] = {1, 1, 1, 1, 2, 2, 3, 3, 2, 2}; /* in the order of formulas.h */
  if (formula < RM_FORMULA_SCALED || formula > RM_FORMULA_SIGMOID) return RM_STATUS(RM_ERR_ENUM, 1);
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 2);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  const rm_status status = rm_rounding_check(r, n, 11);
  if (status) return status;
  if (r->mode == RM_ROUND_UP_DOWN || rm_is_directed(r->mode)) return RM_STATUS(RM_ERR_ENUM, 11);
  if (!open) return RM_STATUS(RM_ERR_NULL, 9);
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  if (!kernels) return RM_ERR_ISA;
  const void *const arrays[] = {x, y, z};
  const ptrdiff_t size = rm_size_of(format);
  fast f = {{formula, format, formula > RM_FORMULA_UNDER, 0, 0, {{0, 0, 0}}, out, size, left ? leave : 0, r},
            0,
            kernels,
            0,
            left,
            0};
  for (int k = 0; n > 0 && k < arity[formula]; k++) {
    if (!arrays[k]) return RM_STATUS(RM_ERR_NULL, 5 + k);
    f.elements.x[k] = (rm_random_array){arrays[k], size, format};
  }
  if (n > 0 && !out) return RM_STATUS(RM_ERR_NULL, 8);
  f.elements.x[3] = (rm_random_array){(const char *)&a, 0, RM_FORMAT_F64};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, n > 0 ? rm_in_parts(n, GRAIN_FAST, fast_part, &f) : 0);
  *open = f.open + f.count;
  return RM_OK;
}

rm_status rm_random_rounding_words(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out) {
  if (first < 0 || first > RM_ROUNDING_ELEMENTS) return RM_STATUS(RM_ERR_RANGE, 3);
  if (n < 0 || first > RM_ROUNDING_ELEMENTS - n) return RM_STATUS(RM_ERR_SIZE, 4);
  if (n > 0 && !out) return RM_STATUS(RM_ERR_NULL, 5);
  const struct rm_rounding_kernels *kernels = rm_rounding_kernels();
  if (!kernels) return RM_ERR_ISA;
  if (n > 0) kernels->words(seed, stream, first, n, out);
  return RM_OK;
}
