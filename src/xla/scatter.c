/* An index chooses rows of a table, or names the rows into which rows are summed. */
#include "call.h"

#include <string.h>

/* table (..., rows, cols), index (..., n): out (..., n, cols), out[i] = table[index[i]]. */
static rm_status take(rm_call *call) {
  const XLA_FFI_Buffer *table = rm_xla_argument(call, 0), *index = rm_xla_argument(call, 1);
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int64_t rows = table->dims[table->rank - 2], n = index->dims[index->rank - 1];
  const int64_t stack = rm_xla_count(index, 0, index->rank - 1);
  const size_t row = (size_t)(table->dims[table->rank - 1] * rm_xla_bytes(rm_xla_format(table)));
  const int64_t *at = rm_xla_indices(call, index);
  if (!at) { return RM_ERR_MEMORY; }
  for (int64_t i = 0; i < stack * n; i++) {
    if (at[i] < 0 || at[i] >= rows) { return RM_STATUS(RM_ERR_INDEX, 2); }
  }
  char *to = out->data;
  for (int64_t s = 0; s < stack; s++) {
    const char *from = (const char *)table->data + (size_t)(s * rows) * row;
    for (int64_t i = 0; i < n; i++, to += row) { memcpy(to, from + (size_t)at[s * n + i] * row, row); }
  }
  return RM_OK;
}

static const char *const take_names[] = {"table", "index", NULL};
RM_XLA_HANDLER(rm_xla_take, take, take_names)

/* Single elements that meet no other, as in the gradient of pooling without overlaps: a sum of one term is the term, but -0
 * becomes +0, and a NaN the canonical one. Returns 0, with out in no definite state, where an index comes twice or is out of
 * range. `seen` has a byte for each row. */
#define RM_DISTINCT(name, word, sign, infinity, nan)                                                                \
  static int name(int64_t rows, word *out, int64_t n, const int64_t *index, const word *src, unsigned char *seen) { \
    memset(seen, 0, (size_t)rows);                                                                                  \
    memset(out, 0, (size_t)rows * sizeof *out);                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                               \
      const int64_t j = index[i];                                                                                   \
      if (j < 0 || j >= rows || seen[j]) { return 0; }                                                              \
      seen[j] = 1;                                                                                                  \
      const word magnitude = (word)(src[i] & ~(sign));                                                              \
      out[j] = magnitude == 0 ? 0 : magnitude > (infinity) ? (nan) : src[i];                                        \
    }                                                                                                               \
    return 1;                                                                                                       \
  }
RM_DISTINCT(distinct_f16, uint16_t, (uint16_t)0x8000, 0x7c00, 0x7e00)
RM_DISTINCT(distinct_bf16, uint16_t, (uint16_t)0x8000, 0x7f80, 0x7fc0)
RM_DISTINCT(distinct_f32, uint32_t, UINT32_C(0x80000000), UINT32_C(0x7f800000), UINT32_C(0x7fc00000))
RM_DISTINCT(distinct_f64, uint64_t, UINT64_C(1) << 63, UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff8000000000000))

static int distinct(int format, int64_t rows, void *out, int64_t n, const int64_t *index, const void *src,
                    unsigned char *seen) {
  switch (format) {
    case RM_FORMAT_F16: return distinct_f16(rows, out, n, index, src, seen);
    case RM_FORMAT_BF16: return distinct_bf16(rows, out, n, index, src, seen);
    case RM_FORMAT_F64: return distinct_f64(rows, out, n, index, src, seen);
    default: return distinct_f32(rows, out, n, index, src, seen);
  }
}

/* src (..., n, cols), index (..., n): out (..., rows, cols). */
static rm_status segment_sum(rm_call *call) {
  const XLA_FFI_Buffer *src = rm_xla_argument(call, 0), *index = rm_xla_argument(call, 1);
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int format = rm_xla_format(src);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t rows = out->dims[out->rank - 2], cols = out->dims[out->rank - 1], n = index->dims[index->rank - 1];
  const int64_t stack = rm_xla_count(index, 0, index->rank - 1);
  const int64_t *at = rm_xla_indices(call, index);
  if (!at) { return RM_ERR_MEMORY; }
  unsigned char *seen = cols == 1 ? rm_xla_scratch(call, rows) : NULL;
  rm_status status = RM_OK;
  for (int64_t s = 0; s < stack && status == RM_OK; s++) {
    char *to = (char *)out->data + s * rows * cols * size;
    const char *from = (const char *)src->data + s * n * cols * size;
    if (!seen || rows == 0 || !distinct(format, rows, to, n, at + s * n, from, seen)) {
      status = rm_segment_sum(format, rows, cols, to, cols * size, size, n, at + s * n, 8, from, cols * size, size);
    }
  }
  return status;
}

static const char *const segment_names[] = {"", "", "", "", "", "", "", "index", "", "src", NULL};
RM_XLA_HANDLER(rm_xla_segment_sum, segment_sum, segment_names)
