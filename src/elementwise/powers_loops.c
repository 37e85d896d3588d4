/* The loops of powers with an integer, compiled once per ISA: a chunk is copied, evaluated by vectors, its undecided elements
 * computed by the accurate phase, and stored. One loop serves three functions and four formats: what differs are branches
 * that are taken alike in a whole call. */
#include "../../crlibm/pown/pown.h"
#include "../common/copy.h"
#include "../common/elements.h"
#include "argument.h"
#include "powers.h"

enum { CHUNK = 64 }; /* the bits of a mask */

/* count elements of `size` bytes, and the first of them in the places up to a whole vector. */
static void gather(char *to, const char *from, ptrdiff_t stride, int count, int size) {
  const int all = (count + RM_LANES - 1) / RM_LANES * RM_LANES;
  rm_copy_elements(to, size, from, stride, count, size);
  rm_copy_elements(to + count * size, size, from, 0, all - count, size);
}

static uint32_t map(const rm_powers *p, int64_t begin, int64_t end) {
  const int format = p->format, size = rm_size_of(format), kind = p->kind;
  rm_accurate_power_fn *const accurate = rm_accurate_powers[kind];
  uint64_t in[CHUNK], out[CHUNK]; /* of any format */
  int64_t n[CHUNK];
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i += CHUNK) {
    const int count = end - i < CHUNK ? (int)(end - i) : CHUNK;
    const char *const x = (const char *)in;
    char *const y = (char *)out, *const to = p->y + i * p->stride_y;
    uint64_t open = 0;
    uint32_t large = 0;
    gather((char *)in, p->x + i * p->stride_x, p->stride_x, count, size);
    gather((char *)n, p->n + i * p->stride_n, p->stride_n, count, (int)sizeof *n);
    for (int j = 0; j < count; j += RM_LANES) {
      vf64 v;
      vm64 beyond;
      const vm64 left = rm_pown_fast(kind, format, rm_load_elements(x + j * size, format), vi64_load(n + j), &v, &beyond);
      rm_store_elements(y + j * size, v, format);
      open |= (uint64_t)vm64_bits(left) << j;
      large |= vm64_bits(beyond);
    }
    if (large) flags |= RM_FLAG_OVERFLOW;
    if (count < CHUNK) open &= (UINT64_C(1) << count) - 1;
    for (; open; open &= open - 1) {
      const int j = rm_ctz64(open);
      const double v = rm_accurate_argument(rm_read_bits(x + j * size, format), format, &flags);
      rm_write_bits(y + j * size, accurate(v, n[j], format, RM_NEAREST, &flags), format);
    }
    rm_copy_elements(to, p->stride_y, y, size, count, size);
  }
  return flags;
}

const struct rm_power_kernels RM_ISA_SYMBOL(rm_power_table) = {map};
