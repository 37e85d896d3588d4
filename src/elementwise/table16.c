/* Makes the tables of table16.h. */
#include <stdatomic.h>
#include <stdlib.h>

#include "../../crlibm/fp/round.h"
#include "table16.h"

enum { INPUTS = 65536, BLOCK = 256 };

static struct {
  _Atomic(struct rm_table16 *) table;
  _Atomic int64_t asked; /* elements so far */
} tables[RM_FN_COUNT][2];

static struct rm_table16 *make(int format, rm_map_fn *kernel) {
  struct rm_table16 *t = malloc(sizeof *t);
  if (!t) return NULL;
  t->exponent = (uint16_t)rm_infinity_bits(format);
  t->value[INPUTS] = t->value[INPUTS + 1] = t->flags[INPUTS] = t->flags[INPUTS + 1] = 0;
  const ptrdiff_t stride = sizeof(uint16_t);
  for (int i = 0; i < INPUTS; i += BLOCK) {
    uint16_t x[BLOCK];
    for (int k = 0; k < BLOCK; k++) x[k] = (uint16_t)(i + k);
    const char *in = (const char *)x;
    const uint32_t any = kernel(BLOCK, &in, &stride, (char *)(t->value + i), stride);
    for (int k = 0; k < BLOCK; k++) {
      uint16_t again;
      in = (const char *)(x + k);
      t->flags[i + k] = any ? (uint16_t)kernel(1, &in, &stride, (char *)&again, stride) : 0;
    }
  }
  return t;
}

const struct rm_table16 *rm_table16_get(int function, int format, rm_map_fn *kernel, int64_t n) {
  const int which = format == RM_BF16;
  struct rm_table16 *t = atomic_load_explicit(&tables[function][which].table, memory_order_acquire);
  if (t) return t;
  const int64_t most = n < INPUTS ? n : INPUTS; /* the sum must not overflow */
  if (atomic_fetch_add_explicit(&tables[function][which].asked, most, memory_order_relaxed) + most < INPUTS) return NULL;
  struct rm_table16 *made = make(format, kernel);
  if (made && !atomic_compare_exchange_strong(&tables[function][which].table, &t, made)) {
    free(made); /* another thread was first */
    return t;
  }
  return made;
}
