/* Makes the tables of half_table.h at the first use that pays, and keeps them until the process ends. */
#include <stdatomic.h>
#include <stdlib.h>

#include "../../crlibm/fp/round.h"
#include "half_table.h"

enum { INPUTS = 65536, BLOCK = 256 };

static struct {
  _Atomic(struct rm_table16 *) table;
  _Atomic int64_t asked; /* elements so far */
} tables[RM_FN_COUNT][2];

static const char is_gradient[RM_FN_COUNT] = {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) gradient,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

static void make_values(struct rm_table16 *t, rm_map_fn *kernel) {
  t->value[INPUTS] = t->value[INPUTS + 1] = t->flags[INPUTS] = t->flags[INPUTS + 1] = 0;
  for (int i = 0; i < INPUTS; i += BLOCK) {
    uint16_t x[BLOCK];
    for (int k = 0; k < BLOCK; k++) x[k] = (uint16_t)(i + k);
    const char *in = (const char *)x;
    const uint32_t any = kernel(BLOCK, &in, (char *)(t->value + i));
    for (int k = 0; k < BLOCK; k++) {
      uint16_t again;
      in = (const char *)(x + k);
      t->flags[i + k] = any ? (uint16_t)kernel(1, &in, (char *)&again) : 0;
    }
  }
}

/* f32_loop: the gradient's loop of binary32. At g = 1 it gives RN24 of the derivative. */
static void make_slopes(struct rm_table16 *t, int format, rm_map_fn *f32_loop) {
  float ones[BLOCK];
  for (int k = 0; k < BLOCK; k++) ones[k] = 1.0f;
  for (int i = 0; i < INPUTS; i += BLOCK) {
    float x[BLOCK];
    for (int k = 0; k < BLOCK; k++) x[k] = (float)rm_to_double((uint64_t)(i + k), format);
    const char *const in[] = {(const char *)ones, (const char *)x};
    f32_loop(BLOCK, in, (char *)(t->slope + i));
    for (int k = 0; k < BLOCK; k++) {
      const float size = t->slope[i + k] < 0.0f ? -t->slope[i + k] : t->slope[i + k];
      const int exact = x[k] - x[k] != 0.0f && (size == 0.0f || size == 1.0f); /* the limit at an infinity */
      if (!exact && !(size >= 0x1p-126f && size <= 0x1.fffffep127f))
        t->slope[i + k] = (float)rm_to_double(rm_nan_bits(format), format);
    }
  }
}

rm_lookup16_fn *rm_lookup16_get(const struct rm_map_kernels *kernels, int function, int arity, int format) {
  if ((format != RM_F16 && format != RM_BF16) || *kernels->direct16[function]) return NULL;
  if (arity == 1) return function == RM_FN_sqrt && kernels->sqrt16_direct ? NULL : kernels->lookup16;
  return is_gradient[function] ? kernels->gradient16[format == RM_BF16] : NULL;
}

/* kernel makes the values, or the slopes of a gradient. */
static const struct rm_table16 *get(int function, int slopes, int format, rm_map_fn *kernel, int64_t n) {
  const int which = format == RM_BF16;
  struct rm_table16 *t = atomic_load_explicit(&tables[function][which].table, memory_order_acquire);
  if (t) return t;
  const int64_t count = n < INPUTS ? n : INPUTS; /* the sum must not overflow */
  if (atomic_fetch_add_explicit(&tables[function][which].asked, count, memory_order_relaxed) + count < INPUTS) return NULL;
  struct rm_table16 *made = malloc(sizeof *made);
  if (!made) return NULL;
  made->exponent = (uint16_t)rm_infinity_bits(format);
  made->by_loads = (uint16_t)rm_gathers_are_slow();
  if (slopes) make_slopes(made, format, kernel);
  else make_values(made, kernel);
  if (!atomic_compare_exchange_strong(&tables[function][which].table, &t, made)) {
    free(made); /* another thread was first */
    return t;
  }
  return made;
}

const struct rm_table16 *rm_undecided_table16(int function, int format, rm_map_fn *wider, int64_t n) {
  return get(function, 0, format, wider, n);
}

const struct rm_table16 *rm_table16_get(const struct rm_map_kernels *kernels, int function, int arity, int format,
                                        int64_t n) {
  return get(function, arity > 1, format, kernels->map[function][arity > 1 ? RM_F32 : format], n);
}
