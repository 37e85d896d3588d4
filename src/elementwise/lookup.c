/* The loop that looks results up in a table of half_table.h, compiled once per ISA. */
#include "../../crlibm/simd/simd.h"
#include "half_table.h"

extern rm_lookup16_fn RM_ISA_SYMBOL(rm_lookup16);

enum { BLOCK = 256, AHEAD = 1024, LINE = 32 }; /* elements at a time, prefetched, in a cache line */

uint32_t RM_ISA_SYMBOL(rm_lookup16)(const struct rm_table16 *table, rm_map_fn *kernel, int64_t n, const char *const *args,
                                    char *to) {
  (void)kernel; /* the table leaves nothing undecided */
  const uint16_t *const x = (const uint16_t *)(const void *)args[0];
  uint16_t *const y = (uint16_t *)(void *)to;
  const uint16_t exponent = table->exponent;
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i += BLOCK) {
    uint16_t in_copy[BLOCK], out_copy[BLOCK];
    const int count = n - i < BLOCK ? (int)(n - i) : BLOCK;
    /* A whole block of each is used where it is; x not where it is y, since flags are looked up after the store. Gathers take
     * both from copies, for which they have been measured. */
    const int direct = table->by_loads && count == BLOCK;
    const uint16_t *in = in_copy;
    uint16_t *out = direct ? y + i : out_copy;
    if (direct && x != y) {
      in = x + i;
    } else if (count == BLOCK) {
      __builtin_memcpy(in_copy, x + i, sizeof in_copy);
    } else { /* filled up with the first element */
      for (int k = 0; k < BLOCK; k++) __builtin_memcpy(in_copy + k, x + i + (k < count ? k : 0), sizeof *in);
    }
    /* Look-ups leave the hardware no room to prefetch what is read and written: a quarter of the time when it is not in a
     * cache. */
    if (i + 2 * BLOCK <= n)
      for (int k = 0; k < BLOCK; k += LINE) {
        if (i + AHEAD + BLOCK <= n) __builtin_prefetch(x + i + AHEAD + k);
        __builtin_prefetch(y + i + BLOCK + k, 1);
      }
    int special = 0;
    if (table->by_loads) {
      special = vu16_loads(table->value, in, out, BLOCK, exponent);
    } else {
      for (int k = 0; k < BLOCK; k += RM_LOOKUP_LANES) vu16_lookup(table->value, in + k, out + k);
      for (int k = 0; k < BLOCK; k++) special |= (out[k] & exponent) == exponent;
    }
    if (RM_UNLIKELY(special)) {
      uint16_t raised[BLOCK], any = 0;
      for (int k = 0; k < BLOCK; k += RM_LOOKUP_LANES) vu16_lookup(table->flags, in + k, raised + k);
      for (int k = 0; k < BLOCK; k++) any |= raised[k];
      flags |= any;
    }
    if (out == out_copy) __builtin_memcpy(y + i, out, (size_t)count * sizeof *out);
  }
  return flags;
}
