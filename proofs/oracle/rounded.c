/* Which results of a function of binary32 are shown to be the correctly rounded values: the one that an enclosure leaves
 * (oracle.h, periods.h). */
#include "periods.h"

typedef int rm_function(int64_t n, const float *x, ptrdiff_t stride_x, float *y, ptrdiff_t stride_y);

/* Compares the function's results for all numbers of the blocks. Those that are not shown go to open[], bits of x and of y,
 * while there is room for `capacity`. Returns how many there are; -1 when the function fails. *inputs counts all. */
int64_t rm_oracle_rounded(const struct rm_block *blocks, int64_t count, const struct rm_turns *tables,
                          const struct rm_fractions *fractions, rm_function *function, uint32_t *open, int64_t capacity,
                          int64_t *inputs) {
  static _Thread_local struct rm_values values;
  static _Thread_local uint32_t known[RM_CHUNK];
  static _Thread_local float x[RM_CHUNK], y[RM_CHUNK];
  int64_t left = 0;
  for (const struct rm_block *b = blocks; b < blocks + count; b++)
    for (uint32_t from = 0; from < b->count; from += RM_CHUNK) {
      const int n = b->count - from < RM_CHUNK ? (int)(b->count - from) : RM_CHUNK;
      if (b->kind <= RM_TURNS) rm_values_of(b, tables, from, n, &values);
      if (b->kind >= RM_HALF_TURNS) rm_periodic(b, tables, fractions, from, n, &values, known);
      for (int twin = 0; twin <= (b->twin != 0); twin++) {
        for (int i = 0; i < n; i++) {
          const uint32_t bits = (b->first + from + (uint32_t)i) ^ (uint32_t)twin << 31;
          __builtin_memcpy(x + i, &bits, sizeof bits);
        }
        if (function(n, x, sizeof *x, y, sizeof *y)) return -1;
        *inputs += n;
        for (int i = 0; i < n; i++) {
          uint32_t in, out;
          __builtin_memcpy(&in, x + i, sizeof in);
          __builtin_memcpy(&out, y + i, sizeof out);
          const uint32_t plain = twin && b->twin == 1 ? out ^ 0x80000000u : out;
          int right;
          if (b->kind == RM_POLYNOMIAL) right = rm_shown(values.v[i], b->below, b->above, b->scale, plain);
          else if (b->kind >= RM_HALF_TURNS && known[i] != RM_NOT_KNOWN) right = known[i] == plain;
          else if (b->kind == RM_TURNS || b->kind >= RM_HALF_TURNS)
            right = rm_shown(values.v[i], values.error[i], values.error[i], values.scale[i], plain);
          else right = (b->kind == RM_CONSTANT ? (uint32_t)b->c[0] : in ^ (uint32_t)(twin && b->twin == 1) << 31) == plain;
          if (right) continue;
          if (left < capacity) open[2 * left] = in, open[2 * left + 1] = out;
          left++;
        }
      }
    }
  return left;
}

/* What a block of periods.h says of its i-th number, for tests: V, its error and scale, and the bits of a result that is
 * known. */
void rm_oracle_value(const struct rm_block *b, const struct rm_turns *tables, const struct rm_fractions *fractions,
                     uint32_t i, int64_t *out) {
  static _Thread_local struct rm_values values;
  uint32_t known;
  rm_periodic(b, tables, fractions, i, 1, &values, &known);
  out[0] = values.v[0], out[1] = values.error[0], out[2] = values.scale[0], out[3] = known;
}
