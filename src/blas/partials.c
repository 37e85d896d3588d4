/* The public parts of sums, their rounding when they have been joined, and windows of exact ones.
 *
 * Windows. A digit of 32 bits in each of the first RM_WINDOW - 1 integers, those of the superaccumulator from 2^-320 on, the
 * last of which carries the sign: a product of binary32 numbers is a multiple of 2^-298 below 2^256. Fewer than 2^59 terms
 * in each of 2^20 + 1 parts stay within 2^336, which the last digit, in units of 2^288, holds. The integer behind them has
 * three fields of 21 bits, in which parts with NaN, positive and negative infinite terms are counted. Sums of so many
 * integers stay below 2^63, so that they are exact in any order. */
#include "../../include/repmath/partials.h"

#include <stdlib.h>
#include <string.h>

#include "../common/elements.h"
#include "../common/overlap.h"
#include "../reduce/exact.h"
#include "../runtime/env.h"
#include "conv/args.h"
#include "conv/im2col_view.h"
#include "gemm/exact.h"
#include "gemm/matmul.h"
#include "gemm/pair.h"
#include "join.h"

enum { DIGITS = RM_WINDOW - 1, LOWEST = (RM_ACC_ONE - 320) / RM_ACC_DIGIT_BITS, FIELD = 21 };
typedef char windows_begin_at_a_digit[RM_ACC_ONE % RM_ACC_DIGIT_BITS == 0 ? 1 : -1];

/* --------------------------------------------------------------------------------------------------------- arguments */

/* An array of `rows` x `cols` elements of `size` bytes, and which argument it is. */
typedef struct {
  rm_view view;
  int64_t rows, cols;
  int size, position;
} array;

static array contiguous(const void *base, int64_t rows, int64_t cols, int size, int position) {
  return (array){rm_view_of(base, (ptrdiff_t)(cols * size), size), rows, cols, size, position};
}
static int is_empty(const array *a) { return a->rows == 0 || a->cols == 0; }

/* The first `results` of the arrays must not meet one another or the rest, and have memory where there are elements. */
static rm_status check_arrays(const array *a, int count, int results) {
  for (int i = 0; i < count; i++)
    if (!is_empty(a + i) && !a[i].view.base) return RM_STATUS(RM_ERR_NULL, a[i].position);
  for (int i = 0; i < results; i++)
    for (int j = i + 1; j < count; j++)
      if (!is_empty(a + i) && !is_empty(a + j) &&
          rm_overlaps(a[i].view, a[i].rows, a[i].cols, a[i].size, a[j].view, a[j].rows, a[j].cols, a[j].size))
        return RM_STATUS(RM_ERR_OVERLAP, a[i].position);
  return RM_OK;
}

static rm_status check_format(int format, int last) {
  return format < RM_FORMAT_F16 || format > last ? RM_STATUS(RM_ERR_ENUM, 1) : RM_OK;
}

static rm_status check_sizes(const int64_t *size, int count) { /* which are the arguments from the second on */
  for (int i = 0; i < count; i++)
    if (size[i] < 0) return RM_STATUS(RM_ERR_SIZE, 2 + i);
  return RM_OK;
}

static rm_status check_joins(int64_t joins, int position) {
  return joins < 0 || joins > RM_MAX_JOINS ? RM_STATUS(RM_ERR_RANGE, position) : RM_OK;
}

static rm_status check_elements(int64_t count, const int64_t *element, int64_t size, int position) {
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, position - 1);
  if (count > 0 && !element) return RM_STATUS(RM_ERR_NULL, position);
  for (int64_t e = 0; e < count; e++)
    if (element[e] < 0 || element[e] >= size) return RM_STATUS(RM_ERR_INDEX, position);
  return RM_OK;
}

/* ----------------------------------------------------------------------------------------------------------- windows */

/* Whether the accumulator fits a window, which gets its total. */
static int write_window(const rm_superaccumulator *acc, int64_t *window) {
  rm_superaccumulator t = *acc;
  rm_superacc_propagate(&t);
  int64_t sign = t.digit[RM_ACC_DIGITS - 1] < 0 ? -1 : 0;
  uint64_t other = 0;
  for (int i = 0; i < LOWEST; i++) other |= (uint64_t)t.digit[i];
  for (int i = LOWEST + DIGITS; i < RM_ACC_DIGITS; i++) other |= (uint64_t)(t.digit[i] ^ sign) & 0xffffffffu;
  const int64_t top = t.digit[LOWEST + DIGITS - 1] + sign * (INT64_C(1) << RM_ACC_DIGIT_BITS);
  const int fits = other == 0 && top < INT64_C(1) << 27 && top >= -(INT64_C(1) << 27);
  if (!fits && !acc->classes) return 0;
  if (fits) memcpy(window, t.digit + LOWEST, DIGITS * sizeof *window), window[DIGITS - 1] = top;
  else memset(window, 0, DIGITS * sizeof *window); /* beside infinities and NaN finite terms do not count */
  window[DIGITS] = (int64_t)((acc->classes & (RM_ACC_QNAN | RM_ACC_SNAN | RM_ACC_ZERO_INF)) != 0) |
                   (int64_t)((acc->classes & RM_ACC_PINF) != 0) << FIELD |
                   (int64_t)((acc->classes & RM_ACC_NINF) != 0) << (2 * FIELD);
  return 1;
}

rm_status rm_accumulator_write_window(const rm_accumulator *acc, int64_t *window) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (!window) return RM_STATUS(RM_ERR_NULL, 2);
  return write_window(rm_accumulator_sum(acc), window) ? RM_OK : RM_STATUS(RM_ERR_RANGE, 1);
}

rm_status rm_round_windows(int format, int64_t count, const int64_t *windows, const int64_t *element, void *out) {
  enum { AT_WINDOWS = 3, AT_ELEMENT, AT_OUT };
  rm_status status = check_format(format, RM_FORMAT_F64);
  if (!status && count < 0) status = RM_STATUS(RM_ERR_SIZE, 2);
  if (!status) status = check_elements(count, element, INT64_MAX, AT_ELEMENT);
  if (!status && count > 0 && !windows) status = RM_STATUS(RM_ERR_NULL, AT_WINDOWS);
  if (!status && count > 0 && !out) status = RM_STATUS(RM_ERR_NULL, AT_OUT);
  if (status) return status;
  const rm_env env = rm_env_enter();
  const int64_t field = (INT64_C(1) << FIELD) - 1;
  uint32_t flags = 0, unused = 0;
  for (int64_t e = 0; e < count; e++, windows += RM_WINDOW) {
    rm_superaccumulator acc;
    rm_superacc_clear(&acc);
    memcpy(acc.digit + LOWEST, windows, DIGITS * sizeof *windows);
    const int64_t seen = windows[DIGITS];
    acc.classes = (seen & field ? RM_ACC_QNAN : 0u) | (seen >> FIELD & field ? RM_ACC_PINF : 0u) |
                  (seen >> (2 * FIELD) ? RM_ACC_NINF : 0u);
    rm_superacc_propagate(&acc);
    rm_write_bits((char *)out + element[e] * rm_size_of(format),
                  rm_superacc_round(&acc, format, RM_NEAREST, acc.classes ? &unused : &flags), format);
  }
  rm_env_leave(env, flags);
  return RM_OK;
}

/* ------------------------------------------------------------------------------------------- products, convolutions */

/* What becomes of a problem. */
typedef struct {
  int64_t joins;
  double *row_bound, *col_bound;
  int64_t count;
  const int64_t *element;
  int64_t *windows;
} part;

/* The places of the columns in an array of binary64. */
static void columns(const rm_matmul_problem *p, ptrdiff_t *at) {
  if (p->c.cols) rm_axis_offsets(p->c.cols, 0, p->n, at);
  else
    for (int64_t j = 0; j < p->n; j++) at[j] = j * p->c.col;
  for (int64_t j = 0; j < p->n; j++) at[j] /= (ptrdiff_t)sizeof(double);
}

static rm_status run_sums(const rm_matmul_problem *given, void *context) {
  const part *to = context;
  rm_matmul_problem p = *given;
  const int64_t n = p.n;
  double *cols = malloc((size_t)(n * p.batch) * sizeof *cols);
  ptrdiff_t *at = malloc((size_t)n * sizeof *at);
  rm_status status = RM_ERR_MEMORY;
  if (cols && at) {
    p.out_fmt = RM_F64;
    p.partial = (rm_partial_bounds){to->row_bound, cols, (double)to->joins};
    status = rm_matmul_run(&p);
    columns(given, at);
    for (int64_t i = 0; !status && i < n * p.batch; i++) to->col_bound[i / n * n + at[i % n]] = cols[i];
  }
  free(cols), free(at);
  return status;
}

static rm_status run_windows(const rm_matmul_problem *given, void *context) {
  const part *to = context;
  const int64_t n = given->n;
  const rm_status status = check_elements(to->count, to->element, given->batch * given->m * n, 8);
  if (status) return status;
  ptrdiff_t *at = malloc((size_t)n * 2 * sizeof *at), *column = at + n;
  if (!at) return RM_ERR_MEMORY;
  columns(given, at);
  for (int64_t j = 0; j < n; j++) column[at[j]] = (ptrdiff_t)j;
  const rm_env env = rm_env_enter();
  for (int64_t e = 0; e < to->count; e++) {
    const int64_t i = to->element[e] / n, which = i / given->m;
    rm_matmul_problem p = *given;
    p.a.base += which * p.next_a, p.b.base += which * p.next_b;
    rm_superaccumulator acc;
    rm_exact_sum_products(&acc, &p, i % given->m, column[to->element[e] % n]);
    write_window(&acc, to->windows + e * RM_WINDOW);
  }
  rm_env_leave(env, 0);
  free(at);
  return RM_OK;
}

enum { AT_A = 5, AT_B = 8, AT_JOINS = 11, AT_COUNT = 11, AT_ELEMENT, AT_SUMS = 12, AT_WINDOWS, AT_ROWS = 13, AT_COLS };

static rm_matmul_problem product(int format, const int64_t *size, const array *a, const array *b, double *sums) {
  rm_matmul_problem p = rm_problem_of(format, 1);
  p.m = size[0], p.n = size[1], p.k = size[2];
  p.a = rm_rows_of(a->view), p.b = rm_columns_of(b->view);
  p.c = (rm_target){(char *)sums, (ptrdiff_t)(p.n * 8), 8, 0, 0};
  return p;
}

rm_status rm_matmul_partial(int format, int64_t m, int64_t n, int64_t k, const void *a, ptrdiff_t row_a, ptrdiff_t col_a,
                            const void *b, ptrdiff_t row_b, ptrdiff_t col_b, int64_t joins, double *sums, double *row_bound,
                            double *col_bound) {
  const int64_t size[] = {m, n, k};
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status) status = check_sizes(size, 3);
  if (!status) status = check_joins(joins, AT_JOINS);
  if (status) return status;
  const int bytes = rm_size_of(format);
  const array all[] = {contiguous(sums, m, n, 8, AT_SUMS),
                       contiguous(row_bound, 1, m, 8, AT_ROWS),
                       contiguous(col_bound, 1, n, 8, AT_COLS),
                       {rm_view_of(a, row_a, col_a), n ? m : 0, k, bytes, AT_A},
                       {rm_view_of(b, row_b, col_b), m ? k : 0, n, bytes, AT_B}};
  status = check_arrays(all, 5, 3);
  if (status) return status;
  if (m == 0 || n == 0) {
    for (int64_t i = 0; i < m; i++) row_bound[i] = 0.0;
    for (int64_t j = 0; j < n; j++) col_bound[j] = 0.0;
    return RM_OK;
  }
  rm_matmul_problem p = product(format, size, all + 3, all + 4, sums);
  part to = {.joins = joins, .row_bound = row_bound, .col_bound = col_bound};
  return run_sums(&p, &to);
}

rm_status rm_matmul_windows(int format, int64_t m, int64_t n, int64_t k, const void *a, ptrdiff_t row_a, ptrdiff_t col_a,
                            const void *b, ptrdiff_t row_b, ptrdiff_t col_b, int64_t count, const int64_t *element,
                            int64_t *windows) {
  const int64_t size[] = {m, n, k};
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status) status = check_sizes(size, 3);
  if (!status) status = check_elements(count, element, n && m > INT64_MAX / n ? INT64_MAX : m * n, AT_ELEMENT);
  if (status) return status;
  const int bytes = rm_size_of(format);
  const array all[] = {contiguous(windows, count, RM_WINDOW, 8, AT_WINDOWS),
                       {rm_view_of(a, row_a, col_a), count ? m : 0, k, bytes, AT_A},
                       {rm_view_of(b, row_b, col_b), count ? k : 0, n, bytes, AT_B}};
  status = check_arrays(all, 3, 1);
  if (status || count == 0) return status;
  rm_matmul_problem p = product(format, size, all + 1, all + 2, NULL);
  part to = {.count = count, .element = element, .windows = windows};
  return run_windows(&p, &to);
}

enum { AT_JOINS_OF_CONV = 7, AT_ROWS_OF_CONV = 9, AT_WINDOWS_OF_CONV = 9 };

/* The strides of an array of w's shape, of binary64 in C order. */
static void weight_strides(const rm_conv *c, ptrdiff_t *stride) {
  ptrdiff_t s = sizeof(double);
  for (int j = c->dims - 1; j >= 0; j--) stride[2 + j] = s, s *= (ptrdiff_t)c->kernel[j];
  stride[1] = s;
  stride[0] = s * (ptrdiff_t)(c->channels_in / c->groups);
}

/* Whether results, which are contiguous numbers of 8 bytes, meet one another, x or g. Operands that are empty, or have no
 * strides, are left to rm_conv_grad_weight_by. */
static rm_status check_results(int format, const rm_conv *c, const int64_t *out, const rm_grid *given, const array *results,
                               int count) {
  const ptrdiff_t stride = 8;
  rm_status status = check_arrays(results, count, count);
  for (int k = 0; k < 2 && !status; k++) {
    int64_t size[5] = {c->batch, k ? c->channels_out : c->channels_in};
    int empty = !given[k].base || !given[k].stride || !size[0] || !size[1];
    for (int j = 0; j < c->dims; j++) size[2 + j] = k ? out[j] : c->in[j], empty |= !size[2 + j];
    const rm_grid operand = {given[k].base, 2 + c->dims, size, given[k].stride};
    for (int i = 0; i < count && !empty && !status; i++) {
      const int64_t n = results[i].rows * results[i].cols;
      const rm_grid result = {results[i].view.base, 1, &n, &stride};
      if (n && rm_spans_meet(&result, 8, &operand, rm_size_of(format)))
        status = RM_STATUS(RM_ERR_OVERLAP, results[i].position);
    }
  }
  return status;
}

/* rm_conv_grad_weight_by for parts of it. */
static rm_status weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *g,
                        const ptrdiff_t *strides_g, double *sums, part *to) {
  ptrdiff_t strides[5] = {0};
  int64_t size[3];
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status && !conv) status = RM_STATUS(RM_ERR_NULL, 2);
  if (!status && rm_conv_sizes(conv, size)) status = RM_STATUS(RM_ERR_SIZE, 2);
  if (status) return status;
  weight_strides(conv, strides);
  int64_t columns = conv->channels_in;
  for (int j = 0; j < conv->dims; j++) columns *= conv->kernel[j];
  const int64_t elements = columns / conv->groups * conv->channels_out;
  const rm_grid given[] = {{x, 0, NULL, strides_x}, {g, 0, NULL, strides_g}};
  const array windows = contiguous(to->windows, to->count, RM_WINDOW, 8, AT_WINDOWS_OF_CONV);
  const array parts[] = {contiguous(to->row_bound, 1, conv->channels_out, 8, AT_ROWS_OF_CONV),
                         contiguous(to->col_bound, 1, columns, 8, AT_ROWS_OF_CONV + 1),
                         contiguous(sums, 1, elements, 8, AT_ROWS_OF_CONV - 1)};
  status = check_results(format, conv, size, given, to->windows ? &windows : parts, to->windows ? 1 : 3);
  if (status) return status;
  const rm_conv_runner runner = {to->windows ? run_windows : run_sums, to, NULL, to->windows ? -1 : (int)sizeof *sums};
  return rm_conv_grad_weight_by(&runner, format, conv, x, strides_x, g, strides_g, sums, strides);
}

rm_status rm_conv_grad_weight_partial(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                      const void *g, const ptrdiff_t *strides_g, int64_t joins, double *sums,
                                      double *row_bound, double *col_bound) {
  part to = {.joins = joins, .row_bound = row_bound, .col_bound = col_bound};
  rm_status status = check_joins(joins, AT_JOINS_OF_CONV);
  if (status) return status;
  status = weight(format, conv, x, strides_x, g, strides_g, sums, &to);
  return status >> 8 == 7 ? RM_STATUS(status & 255, 8) : status;
}

rm_status rm_conv_grad_weight_windows(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x,
                                      const void *g, const ptrdiff_t *strides_g, int64_t count, const int64_t *element,
                                      int64_t *windows) {
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, 7);
  if (count == 0) return RM_OK;
  if (!element) return RM_STATUS(RM_ERR_NULL, 8);
  if (!windows) return RM_STATUS(RM_ERR_NULL, 9);
  part to = {.count = count, .element = element, .windows = windows};
  return weight(format, conv, x, strides_x, g, strides_g, NULL, &to);
}

/* ----------------------------------------------------------------------------------------------------- scatter sums */

/* Let c terms go to a row of out, one after the other: each passes c - 1 roundings, as the first is added to +0, and at most
 * J where parts are joined. With T = c + J + 1, one rounding for the test, and x the terms of element (r, j) (bound_b64.h):
 *
 *   error <= T u (1 + 2^-19) sum |x| <= T u (1 + 2^-19) root(c) |x| <= [T u (1 + 2^-19) root(c)] |finite terms of column j|
 *
 * by Cauchy-Schwarz; u = 2^-53, T < 2^33. An element with terms that are not finite needs no bound. Additions of binary32
 * numbers neither overflow in binary64 nor underflow. Norms are sums of n squares, which err by n u relatively. */
static double scatter_bound(double terms, int64_t joins, int64_t n) {
  const double t = RM_BOUND((terms + (double)joins + 1.0) * 0x1p-53 * (1.0 + 0x1p-18 + (double)n * 0x1p-51));
  return t * t * terms;
}

typedef struct {
  int64_t rows, cols, n;
  const int64_t *index;
  ptrdiff_t stride_index;
  rm_view src;
} scatter;

static int64_t row_of(const scatter *s, int64_t i) {
  int64_t row;
  memcpy(&row, (const char *)s->index + i * s->stride_index, sizeof row);
  return row;
}

static rm_status check_scatter(int format, const scatter *s, int results, array *all, int count) {
  const int64_t size[] = {s->rows, s->cols, s->n};
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status) status = check_sizes(size, 3);
  if (status) return status;
  all[count] = (array){rm_view_of(s->index, s->stride_index, 8), s->n, 1, 8, 5};
  all[count + 1] = (array){s->src, s->n, s->cols, rm_size_of(format), 7};
  status = check_arrays(all, count + 2, results);
  for (int64_t i = 0; !status && i < s->n; i++)
    if (row_of(s, i) < 0 || row_of(s, i) >= s->rows) status = RM_STATUS(RM_ERR_INDEX, 5);
  return status;
}

RM_FN void add_row(double *sums, double *squares, const char *src, ptrdiff_t step, int64_t n, const int fmt) {
  for (int64_t j = 0; j < n; j++) {
    const double x = rm_read_element(src + j * step, fmt), square = x * x;
    sums[j] += x;
    squares[j] += square <= 0x1p1000 ? square : 0.0;
  }
}

rm_status rm_scatter_partial(int format, int64_t rows, int64_t cols, int64_t n, const int64_t *index, ptrdiff_t stride_index,
                             const void *src, ptrdiff_t row_src, ptrdiff_t col_src, int64_t joins, double *sums,
                             double *row_bound, double *col_bound) {
  enum { AT_JOINS_HERE = 10, AT_SUMS_HERE, AT_ROWS_HERE, AT_COLS_HERE, RESULTS = 3 };
  const scatter s = {rows, cols, n, index, stride_index, rm_view_of(src, row_src, col_src)};
  array all[RESULTS + 2] = {contiguous(sums, rows, cols, 8, AT_SUMS_HERE), contiguous(row_bound, 1, rows, 8, AT_ROWS_HERE),
                            contiguous(col_bound, 1, cols, 8, AT_COLS_HERE)};
  rm_status status = check_joins(joins, AT_JOINS_HERE);
  if (!status) status = check_scatter(format, &s, RESULTS, all, RESULTS);
  if (status) return status;
  const rm_env env = rm_env_enter();
  for (int64_t r = 0; r < rows; r++) row_bound[r] = 0.0;
  for (int64_t j = 0; j < cols; j++) col_bound[j] = 0.0;
  for (int64_t e = 0; e < rows * cols; e++) sums[e] = 0.0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t r = row_of(&s, i);
    const char *from = s.src.base + i * row_src;
    row_bound[r] += 1.0;
    if (format == RM_F16) add_row(sums + r * cols, col_bound, from, col_src, cols, RM_F16);
    else if (format == RM_BF16) add_row(sums + r * cols, col_bound, from, col_src, cols, RM_BF16);
    else if (col_src == 4) add_row(sums + r * cols, col_bound, from, 4, cols, RM_F32);
    else add_row(sums + r * cols, col_bound, from, col_src, cols, RM_F32);
  }
  for (int64_t r = 0; r < rows; r++) row_bound[r] = scatter_bound(row_bound[r], joins, n);
  rm_env_leave(env, 0);
  return RM_OK;
}

rm_status rm_scatter_windows(int format, int64_t rows, int64_t cols, int64_t n, const int64_t *index, ptrdiff_t stride_index,
                             const void *src, ptrdiff_t row_src, ptrdiff_t col_src, int64_t count, const int64_t *element,
                             int64_t *windows) {
  enum { AT_ELEMENT_HERE = 11, AT_WINDOWS_HERE };
  const scatter s = {rows, cols, n, index, stride_index, rm_view_of(src, row_src, col_src)};
  array all[3] = {contiguous(windows, count < 0 ? 0 : count, RM_WINDOW, 8, AT_WINDOWS_HERE)};
  rm_status status = check_scatter(format, &s, 1, all, 1);
  if (!status) status = check_elements(count, element, rows * cols, AT_ELEMENT_HERE);
  if (status || count == 0) return status;
  /* The terms of each row, as a list of places: after[i] is the next term of the row of term i. */
  int64_t *first = malloc((size_t)(rows + n) * sizeof *first), *after = first + rows;
  if (!first) return RM_ERR_MEMORY;
  const rm_env env = rm_env_enter();
  for (int64_t r = 0; r < rows; r++) first[r] = -1;
  for (int64_t i = 0; i < n; i++) after[i] = first[row_of(&s, i)], first[row_of(&s, i)] = i;
  for (int64_t e = 0; e < count; e++) {
    rm_superaccumulator acc;
    rm_superacc_clear(&acc);
    for (int64_t i = first[element[e] / cols]; i >= 0; i = after[i])
      rm_superacc_add_array(&acc, format, 1, s.src.base + i * row_src + element[e] % cols * col_src, 0);
    write_window(&acc, windows + e * RM_WINDOW);
  }
  rm_env_leave(env, 0);
  free(first);
  return RM_OK;
}

/* --------------------------------------------------------------------------------------------------------- rounding */

/* Bits of a joined sum, where they are known. Ziv's rounding test is that of gemm/epilogue_b64.h, with the joined bound
 * (gemm/bound_b64.h). */
static int known(double c, double err, int format, uint64_t *bits, uint32_t *flags) {
  const uint64_t infinity = rm_infinity_bits(format);
  if (!rm_is_finite(c)) {
    *bits = rm_is_nan(c) ? rm_nan_bits(format) : infinity | (c < 0.0 ? rm_sign_bit(format) : 0);
    return 1;
  }
  const double e = __builtin_fabs(c) * 0x1p-52 + err;
  *bits = rm_round_double(c - e, format);
  if (!rm_is_finite(err) || *bits != rm_round_double(c + e, format)) return 0;
  if ((*bits & ~rm_sign_bit(format)) == infinity) *flags |= RM_FLAG_OVERFLOW;
  return 1;
}

enum { BLOCK = RM_JOIN_BLOCK };

/* Where rounded sums go, and the places of open ones. */
typedef struct {
  int format;
  char *out;
  int64_t limit, *open, found;
  uint32_t flags;
} rounding;

/* Rounds n sums, at most BLOCK, whose places are `at` and those that follow. What is infinite, or NaN, is left to known(). */
static void round_block(rounding *r, int64_t at, int n, const double *c, const double *err) {
  const int size = rm_size_of(r->format);
  uint32_t differs[BLOCK];
  if (r->format == RM_F32) {
    float low[BLOCK];
    const int any = rm_round_block_f32(n, c, err, low, differs);
    memcpy(r->out + at * size, low, (size_t)n * sizeof *low);
    if (!any) return;
  } else {
    for (int i = 0; i < n; i++) differs[i] = 1;
  }
  for (int i = 0; i < n; i++) {
    uint64_t bits;
    if (!differs[i]) continue;
    if (known(c[i], err[i], r->format, &bits, &r->flags)) {
      rm_write_bits(r->out + (at + i) * size, bits, r->format);
    } else {
      if (r->found < r->limit) r->open[r->found] = at + i;
      r->found++;
    }
  }
}

/* The roots of n bounds; NULL where there is no memory. */
static double *roots_of(int64_t n, const double *bound) {
  double *roots = malloc(((size_t)n + 1) * sizeof *roots);
  for (int64_t j = 0; roots && j < n; j++) roots[j] = __builtin_sqrt(bound[j]);
  return roots;
}

rm_status rm_round_partials(int format, int64_t m, int64_t n, const double *sums, const double *row_bound,
                            const double *col_bound, void *out, int64_t limit, int64_t *open, int64_t *count) {
  enum { AT_SUMS_HERE = 4, AT_OUT = 7, AT_LIMIT, AT_OPEN, AT_COUNT_HERE };
  const int64_t size[] = {m, n};
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status) status = check_sizes(size, 2);
  if (!status && limit < 0) status = RM_STATUS(RM_ERR_SIZE, AT_LIMIT);
  if (status) return status;
  const array all[] = {contiguous(out, m, n, rm_size_of(format), AT_OUT),
                       contiguous(open, 1, m && n ? limit : 0, 8, AT_OPEN),
                       contiguous(count, 1, 1, 8, AT_COUNT_HERE),
                       contiguous(sums, m, n, 8, AT_SUMS_HERE),
                       contiguous(row_bound, n ? 1 : 0, m, 8, AT_SUMS_HERE + 1),
                       contiguous(col_bound, m ? 1 : 0, n, 8, AT_SUMS_HERE + 2)};
  status = check_arrays(all, 6, 3);
  if (status) return status;
  const rm_env env = rm_env_enter();
  double *roots = roots_of(m ? n : 0, col_bound);
  rounding r = {format, out, limit, open, 0, 0};
  for (int64_t i = 0; roots && i < m; i++) {
    const double row = __builtin_sqrt(row_bound[i]);
    for (int64_t j = 0; j < n; j += BLOCK) {
      const int some = n - j < BLOCK ? (int)(n - j) : BLOCK;
      double err[BLOCK];
      for (int l = 0; l < some; l++) err[l] = row * roots[j + l];
      round_block(&r, i * n + j, some, sums + i * n + j, err);
    }
  }
  rm_env_leave(env, r.flags);
  if (roots) *count = r.found;
  free(roots);
  return roots ? RM_OK : RM_ERR_MEMORY;
}

/* A part c of p parts that is within b of its exact sum, or, without bounds, within u |c|, u = 2^-53. The computed sum of p
 * numbers errs by p - 1 roundings of at most u (1 + u)^(p - 1) sum |c| each, at most (p - 1) u (1 + 2^-32) sum |c|. So the
 * joined sum is within
 *
 *   (p - 1) u (1 + 2^-32) sum |c| + sum b,  sum b = u sum |c| without bounds,
 *
 * of the exact one; sums of |c|, and the bound itself, err by (p + 4) u relatively, for which 2^-30 is room. Bounds of rows
 * and columns are those of all parts together, by Cauchy-Schwarz (gemm/bound_b64.h), and have room of their own. */
static double joined_bound(int64_t parts, int bounded) {
  return RM_BOUND((double)(parts - (bounded ? 1 : 0)) * 0x1p-53 * (1.0 + 0x1p-30));
}

rm_status rm_join_partials(int format, int64_t parts, int64_t n, const double *sums, ptrdiff_t step, int64_t first,
                           int64_t cols, const double *row_bound, const double *col_bound, void *out, int64_t limit,
                           int64_t *open, int64_t *count) {
  enum {
    AT_PARTS = 2,
    AT_N,
    AT_SUMS_HERE,
    AT_FIRST = 6,
    AT_COLS_HERE,
    AT_ROWS_HERE,
    AT_BOUNDS,
    AT_OUT,
    AT_LIMIT,
    AT_OPEN,
    AT_COUNT_HERE
  };
  const int bounded = row_bound || col_bound;
  rm_status status = check_format(format, RM_FORMAT_F32);
  if (!status && (parts < 1 || parts > RM_MAX_JOINS)) status = RM_STATUS(RM_ERR_RANGE, AT_PARTS);
  if (!status && n < 0) status = RM_STATUS(RM_ERR_SIZE, AT_N);
  if (!status && (first < 0 || first > INT64_MAX - n)) status = RM_STATUS(RM_ERR_RANGE, AT_FIRST);
  if (!status && bounded && cols < 1) status = RM_STATUS(RM_ERR_RANGE, AT_COLS_HERE);
  if (!status && limit < 0) status = RM_STATUS(RM_ERR_SIZE, AT_LIMIT);
  if (status) return status;
  const int64_t rows = bounded && n ? (first + n - 1) / cols + 1 : 0;
  const array all[] = {contiguous(out, 1, n, rm_size_of(format), AT_OUT),
                       contiguous(open, 1, n ? limit : 0, 8, AT_OPEN),
                       contiguous(count, 1, 1, 8, AT_COUNT_HERE),
                       {rm_view_of(sums, step, 8), n ? parts : 0, n, 8, AT_SUMS_HERE},
                       contiguous(row_bound, rows ? 1 : 0, rows, 8, AT_ROWS_HERE),
                       contiguous(col_bound, rows ? 1 : 0, cols, 8, AT_BOUNDS)};
  status = check_arrays(all, 6, 3);
  if (status) return status;
  const rm_env env = rm_env_enter();
  double *roots = roots_of(rows ? cols : 0, col_bound), u = joined_bound(parts, bounded);
  rounding r = {format, out, limit, open, 0, 0};
  for (int64_t at = 0; roots && at < n; at += BLOCK) {
    const int some = n - at < BLOCK ? (int)(n - at) : BLOCK;
    double c[BLOCK], err[BLOCK];
    rm_join_block(parts, some, sums + at, step, c, err);
    for (int l = 0; !rows && l < some; l++) err[l] *= u;
    for (int l = 0; rows && l < some;) { /* a row after the other */
      const int64_t row = (first + at + l) / cols, col = (first + at + l) % cols;
      const int n_of_row = cols - col < some - l ? (int)(cols - col) : some - l;
      rm_add_bounds(n_of_row, u, __builtin_sqrt(row_bound[row]), roots + col, err + l);
      l += n_of_row;
    }
    round_block(&r, at, some, c, err);
  }
  rm_env_leave(env, r.flags);
  if (roots) *count = r.found;
  free(roots);
  return roots ? RM_OK : RM_ERR_MEMORY;
}
