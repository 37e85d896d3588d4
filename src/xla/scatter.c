/* Rows of tables: taken by an index, and summed into the places that an index names. */
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
  if (!at) {
    return RM_ERR_MEMORY;
  }
  for (int64_t i = 0; i < stack * n; i++) {
    if (at[i] < 0 || at[i] >= rows) {
      return RM_STATUS(RM_ERR_INDEX, 2);
    }
  }
  char *to = out->data;
  for (int64_t s = 0; s < stack; s++) {
    const char *from = (const char *)table->data + (size_t)(s * rows) * row;
    for (int64_t i = 0; i < n; i++, to += row) {
      memcpy(to, from + (size_t)at[s * n + i] * row, row);
    }
  }
  return RM_OK;
}

static const char *const take_names[] = {"table", "index", NULL};
RM_XLA_HANDLER(rm_xla_take, take, take_names)

/* src (..., n, cols), index (..., n): out (..., rows, cols). */
static rm_status segment_sum(rm_call *call) {
  const XLA_FFI_Buffer *src = rm_xla_argument(call, 0), *index = rm_xla_argument(call, 1);
  XLA_FFI_Buffer *out = rm_xla_result(call, 0);
  const int format = rm_xla_format(src);
  const ptrdiff_t size = rm_xla_bytes(format);
  const int64_t rows = out->dims[out->rank - 2], cols = out->dims[out->rank - 1], n = index->dims[index->rank - 1];
  const int64_t stack = rm_xla_count(index, 0, index->rank - 1);
  const int64_t *at = rm_xla_indices(call, index);
  if (!at) {
    return RM_ERR_MEMORY;
  }
  rm_status status = RM_OK;
  for (int64_t s = 0; s < stack && status == RM_OK; s++) {
    status = rm_segment_sum(format, rows, cols, (char *)out->data + s * rows * cols * size, cols * size, size, n, at + s * n,
                            8, (const char *)src->data + s * n * cols * size, cols * size, size);
  }
  return status;
}

static const char *const segment_names[] = {"", "", "", "", "", "", "", "index", "", "src", NULL};
RM_XLA_HANDLER(rm_xla_segment_sum, segment_sum, segment_names)
