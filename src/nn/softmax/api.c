/* The public functions softmax, log_softmax, logsumexp and their gradients. */
#include <string.h>

#include "../../common/aligned.h"
#include "../../../include/repmath/nn.h"
#include "row.h"

/* Rows whose elements lie apart, side by side with those of other rows, as along the first axis of a matrix, are copied to
 * memory of their own, and their results back: some rows at a time, by whole cache lines. Read one by one, every element
 * would take a line. */
enum { TURNED_ROWS = 16, TURNED_BYTES = 1 << 26 };

static void turn(char *to, ptrdiff_t row_to, ptrdiff_t stride_to, const char *from, ptrdiff_t row_from, ptrdiff_t stride_from,
                 int64_t rows, int64_t n, int size) {
  for (int64_t first = 0; first < rows; first += TURNED_ROWS) {
    const int64_t some = rows - first < TURNED_ROWS ? rows - first : TURNED_ROWS;
    for (int64_t i = 0; i < n; i++) {
      char *const t = to + first * row_to + i * stride_to;
      const char *const f = from + first * row_from + i * stride_from;
      if (size == 4)
        for (int64_t r = 0; r < some; r++) memcpy(t + r * row_to, f + r * row_from, 4);
      else if (size == 2)
        for (int64_t r = 0; r < some; r++) memcpy(t + r * row_to, f + r * row_from, 2);
      else
        for (int64_t r = 0; r < some; r++) memcpy(t + r * row_to, f + r * row_from, 8);
    }
  }
}

/* The rows of an operation on the arrays a[0], ..., of which the last is written. */
static rm_status each_row(int64_t rows, int64_t n, int buffers, rm_row_fn *f, const void *operation, rm_row_array *const *a,
                          int arrays, int size) {
  int across = rows > 1 && n > 1 && rows * size <= TURNED_BYTES / n / arrays; /* arrays have less than 2^60 elements */
  for (int k = 0; k < arrays; k++) across &= a[k]->row == size && a[k]->stride != size;
  char *const memory = across ? rm_aligned_alloc((size_t)(arrays * rows * n * size)) : NULL;
  if (!memory) return rm_each_row(rows, n, buffers, f, operation);
  rm_row_array given;
  for (int k = 0; k < arrays; k++) {
    given = *a[k];
    *a[k] = rm_row_array_of(memory + k * rows * n * size, n * size, size);
    if (k < arrays - 1) turn(a[k]->base, n * size, size, given.base, size, given.stride, rows, n, size);
  }
  const rm_status status = rm_each_row(rows, n, buffers, f, operation);
  if (status == RM_OK) turn(given.base, size, given.stride, a[arrays - 1]->base, n * size, size, rows, n, size);
  rm_aligned_free(memory);
  return status;
}

/* Columns of binary32 by lanes, where the CPU has enough of them and no result lies on an argument; what they leave open goes
 * to the function of a row. Columns of more elements than MOST are turned, a few at a time. */
enum { MOST = 1 << 13 };
typedef struct {
  rm_softmax_columns first; /* of the first block */
  int64_t rows;
  rm_row_fn *f; /* of a row of `operation` */
  const void *operation;
} column_blocks;

static void column_block(const void *operation, int64_t block, rm_row_state *state) {
  const column_blocks *b = (const column_blocks *)operation;
  const int64_t at = block * RM_COLUMNS, left = b->rows - at;
  uint32_t open = (1u << RM_COLUMNS) - 1;
  if (left >= RM_COLUMNS) {
    rm_softmax_columns p = b->first;
    p.x += at * 4, p.out += at * 4;
    if (p.g) p.g += at * 4;
    open = state->k->side_by_side(&p, rm_row_buffer(state, 0), &state->flags);
    state->tiers.fast += (RM_COLUMNS - __builtin_popcount(open)) * p.n;
  } else {
    open = (1u << left) - 1;
  }
  for (; open; open &= open - 1) {
    state->limbs = 0;
    b->f(b->operation, at + __builtin_ctz(open), state);
  }
}

static int are_columns(int64_t rows, int64_t n, rm_row_array *const *a, int arrays) {
  const struct rm_nn_kernels *k = rm_nn_kernels();
  if (!k || !k->side_by_side || rows < RM_COLUMNS || n < 1 || n > MOST) return 0;
  const rm_row_array *const out = a[arrays - 1];
  for (int i = 0; i < arrays - 1; i++)
    if (a[i]->row != 4 || a[i]->base == out->base) return 0;
  return out->row == 4;
}

/* Results that are given as balls are contiguous, and lie apart from the arguments. */
static rm_status check_balls(int format, int64_t n, const rm_row_array *out, const char *first, const char *second) {
  const int size = rm_size_of(format), contiguous = out->stride == size && out->row == n * size;
  const int binary64 = format == RM_FORMAT_F64;
  return !binary64 && contiguous && out->base != first && out->base != second ? RM_OK : RM_ERR_RANGE;
}

static rm_status run(rm_softmax_problem p) {
  rm_row_array *const arrays[] = {&p.x, &p.y};
  rm_row_balls balls;
  p.balls = rm_row_balls_asked(&balls, p.y.base);
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_softmax_check(&p);
  if (!status && p.balls) status = check_balls(p.format, p.n, &p.y, p.x.base, p.x.base);
  if (status || p.kind == RM_LOGSUMEXP) return status ? status : rm_each_row(p.rows, p.n, 3, rm_softmax_row, &p);
  if (p.format == RM_F32 && !p.balls && are_columns(p.rows, p.n, arrays, 2)) {
    const rm_softmax_columns first = {p.kind == RM_LOG_SOFTMAX, p.n, p.x.base, NULL, p.y.base, p.x.stride, 0, p.y.stride};
    const column_blocks b = {first, p.rows, rm_softmax_row, &p};
    return rm_each_row((p.rows + RM_COLUMNS - 1) / RM_COLUMNS, RM_COLUMNS * p.n, 3, column_block, &b);
  }
  return each_row(p.rows, p.n, 3, rm_softmax_row, &p, arrays, 2, rm_size_of(p.format));
}
static rm_status run_backward(rm_softmax_gradient_problem p) {
  rm_row_array *const arrays[] = {&p.g, &p.y, &p.dx};
  rm_row_balls balls;
  p.balls = rm_row_balls_asked(&balls, p.dx.base);
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_softmax_gradient_check(&p);
  if (!status && p.balls) status = check_balls(p.format, p.n, &p.dx, p.g.base, p.y.base);
  if (!status && p.format == RM_F32 && !p.balls && !p.of_log && are_columns(p.rows, p.n, arrays, 3)) {
    const rm_softmax_columns first = {2, p.n, p.y.base, p.g.base, p.dx.base, p.y.stride, p.g.stride, p.dx.stride};
    const column_blocks b = {first, p.rows, rm_softmax_gradient_row, &p};
    return rm_each_row((p.rows + RM_COLUMNS - 1) / RM_COLUMNS, RM_COLUMNS * p.n, 4, column_block, &b);
  }
  return status ? status : each_row(p.rows, p.n, 4, rm_softmax_gradient_row, &p, arrays, 3, rm_size_of(p.format));
}

rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                     ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, row_y, stride_y), NULL});
}
rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_LOG_SOFTMAX, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, row_y, stride_y), NULL});
}
rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                       ptrdiff_t stride_y) {
  return run((rm_softmax_problem){RM_LOGSUMEXP, format, rows, n, rm_row_array_of(x, row_x, stride_x),
                                  rm_row_array_of(y, stride_y, 0), NULL});
}
rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                              const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                              ptrdiff_t stride_dx) {
  return run_backward((rm_softmax_gradient_problem){0, format, rows, n, rm_row_array_of(g, row_g, stride_g),
                                                    rm_row_array_of(y, row_y, stride_y),
                                                    rm_row_array_of(dx, row_dx, stride_dx), NULL});
}
rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) {
  return run_backward((rm_softmax_gradient_problem){1, format, rows, n, rm_row_array_of(g, row_g, stride_g),
                                                    rm_row_array_of(y, row_y, stride_y),
                                                    rm_row_array_of(dx, row_dx, stride_dx), NULL});
}
