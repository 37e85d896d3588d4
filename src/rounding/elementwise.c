/* Elementwise functions under the random rounding modes: the accurate phase of every element, with its word. */
#include "words.h"

#include <string.h>

#include "../elementwise/accurate.h"
#include "../elementwise/argument.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { GRAIN = 1 << 10 }; /* elements that are worth a thread */

typedef struct {
  const char *name;
  int arity;
} entry;

static const entry functions[RM_FN_COUNT] = {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) {#name, arity},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

typedef struct {
  int function, arity, format;
  const void *const *x;
  const ptrdiff_t *stride;
  char *out;
  ptrdiff_t stride_out;
  const rm_random_rounding *r;
} problem;

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const problem *p = context;
  const size_t size = (size_t)rm_size_of(p->format);
  rm_rounding_words words = rm_rounding_words_of(p->r);
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    double in[RM_MAX_ARITY];
    const uint32_t word = rm_rounding_word(&words, p->r->first + i);
    for (int k = 0; k < p->arity; k++) {
      uint64_t bits = 0; /* little endian */
      memcpy(&bits, (const char *)p->x[k] + i * p->stride[k], size);
      in[k] = rm_accurate_argument(bits, p->format, &flags);
    }
    uint64_t bits = rm_accurate_table[p->function](in, p->format, rm_rounding_mode(p->r->mode, word), &flags);
    if (p->r->mode == RM_ROUND_UP_DOWN) bits = rm_round_up_down(bits, p->format, word);
    memcpy(p->out + i * p->stride_out, &bits, size);
  }
  return flags;
}

rm_status rm_random_elementwise(const char *function, int format, int64_t n, const void *const *x, const ptrdiff_t *stride,
                                void *out, ptrdiff_t stride_out, const rm_random_rounding *r) {
  problem p = {0, 0, format, x, stride, out, stride_out, r};
  if (!function) return RM_STATUS(RM_ERR_NULL, 1);
  while (p.function < RM_FN_COUNT && strcmp(function, functions[p.function].name) != 0) p.function++;
  if (p.function == RM_FN_COUNT) return RM_STATUS(RM_ERR_ENUM, 1);
  p.arity = functions[p.function].arity;
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
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_in_parts(n, GRAIN, part, &p));
  return RM_OK;
}

rm_status rm_random_rounding_words(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out) {
  if (first < 0 || first > RM_ROUNDING_ELEMENTS) return RM_STATUS(RM_ERR_RANGE, 3);
  if (n < 0 || first > RM_ROUNDING_ELEMENTS - n) return RM_STATUS(RM_ERR_SIZE, 4);
  if (n > 0 && !out) return RM_STATUS(RM_ERR_NULL, 5);
  rm_rounding_words words = {seed, stream, 0, {0, 0}};
  for (int64_t i = 0; i < n; i++) out[i] = rm_rounding_word(&words, first + i);
  return RM_OK;
}
