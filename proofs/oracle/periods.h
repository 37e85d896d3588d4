/* Functions of half-turns, and the gamma function's relatives left of 0: a number of binary32 is a multiple of a power of
 * two, so that its place in a period, and whether it is a zero or a pole there, is known without an error (periods.py).
 *
 *   RM_HALF_TURNS  as RM_TURNS, but that the step, m 2^place in quarters of a turn, is exact; at whole quarters the result
 *                  has the bits c[2] to c[5]
 *   RM_REFLECTED   -x = m 2^place, of which at most RM_FRACTION bits stand behind the point: V is the polynomial, in
 *                  `scale`, with the table's entry for this fraction; at whole numbers the result has the bits c[RM_DEGREE].
 *                  `turns` is the table. */
#ifndef RM_PROOFS_PERIODS_H
#define RM_PROOFS_PERIODS_H

#include "oracle.h"

enum { RM_HALF_TURNS = RM_IDENTITY + 1, RM_REFLECTED };
enum { RM_FRACTION = 16 };
#define RM_NOT_KNOWN 0xffffffffu /* bits of no result */

/* A function of fractions times 2^scale, within `error`; of those nearer to a whole number than `near` places times
 * 2^near_scale, at most 2^scale. */
struct rm_fractions {
  int64_t v[1 << RM_FRACTION], error;
  int32_t scale, near, near_scale;
};

/* Values with their bounds in out->error, or the bits of the result in known[]. */
static inline void rm_periodic(const struct rm_block *b, const struct rm_turns *tables, const struct rm_fractions *fractions,
                               uint32_t from, int n, struct rm_values *out, uint32_t *known) {
  const uint32_t m0 = ((b->first & 0x7fffff) + from) | 0x800000;
  if (b->kind == RM_HALF_TURNS) {
    const unsigned __int128 step = (unsigned __int128)(uint64_t)b->c[1] << 64 | (uint64_t)b->c[0];
    unsigned __int128 r = step * m0;
    for (int i = 0; i < n; i++, r += step) {
      known[i] = r << 2 ? RM_NOT_KNOWN : (uint32_t)b->c[2 + (int)(r >> 126)];
      out->v[i] = rm_turn(b, tables, r, out->scale + i, out->error + i);
    }
    return;
  }
  /* Both in the smaller of the scales; each shift rounds down by less than a unit. |V| < 2^62: periods.py checks it. */
  const struct rm_fractions *t = fractions + b->turns;
  const int places = 150 - (int)(b->first >> 23 & 0xff);
  for (int i = 0; i < n; i++) {
    const uint32_t fraction = (m0 + (uint32_t)i) & ((UINT32_C(1) << places) - 1);
    const int32_t at = (int32_t)(fraction << (RM_FRACTION - places));
    const int scale = at < t->near || (1 << RM_FRACTION) - at < t->near ? t->near_scale : t->scale;
    const int down = b->scale > scale ? b->scale - scale : 0, table_down = scale > b->scale ? scale - b->scale : 0;
    known[i] = fraction ? RM_NOT_KNOWN : (uint32_t)b->c[RM_DEGREE];
    out->v[i] = (rm_polynomial(b, from + (uint32_t)i) >> down) + (t->v[at] >> table_down);
    out->scale[i] = b->scale - down, out->error[i] = (b->below >> down) + (t->error >> table_down) + 4;
  }
}

#endif
