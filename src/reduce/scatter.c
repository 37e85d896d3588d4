/* The public scatter sums, rm_index_add and rm_segment_sum: contributions are sorted by destination, and threads take runs of
 * rows. */
#include "../../include/repmath/scatter.h"

#include <stdlib.h>
#include <string.h>

#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "../common/elements.h"
#include "kernels.h"
#include "scatter_args.h"

typedef rm_scatter_problem problem;

/* Additions below this many are not worth a second thread. */
#define RM_ADDITIONS_PER_THREAD (INT64_C(1) << 18)
enum { CHUNKS_PER_THREAD = 4, COLUMN_UNIT = 64, ROWS_AHEAD = 3, MAX_AHEAD = 1024 };

/* ------------------------------------------------------------------------------------------------------------ order */

/* Contributions by destination: those to the k-th row that has any are terms[start[k]] to terms[start[k+1] - 1].
 * Destinations ascend; contributions to one are in the order of the index. */
typedef struct {
  int64_t *terms, *start;
  int64_t n, segments;
} ordered;

static int64_t row_of(const problem *p, const ordered *o, int64_t segment) {
  return rm_scatter_index(p, o->terms[o->start[segment]]);
}

/* Counting sort. work: n + rows + 1 integers. */
static void sort_by_counting(const problem *p, int64_t *work, ordered *o) {
  o->terms = work, o->start = work + p->n;
  int64_t *end = o->start, sum = 0, begin = 0;
  memset(end, 0, ((size_t)p->rows + 1) * sizeof *end);
  for (int64_t i = 0; i < p->n; i++) end[rm_scatter_index(p, i)]++;
  for (int64_t r = 0; r < p->rows; r++) {
    const int64_t count = end[r];
    end[r] = sum;
    sum += count;
  }
  for (int64_t i = 0; i < p->n; i++) o->terms[end[rm_scatter_index(p, i)]++] = i;
  for (int64_t r = 0; r < p->rows; r++) { /* in place: no more rows with contributions than rows */
    const int64_t next = end[r];
    if (next > begin) o->start[o->segments++] = begin;
    begin = next;
  }
  o->start[o->segments] = p->n;
  o->n = p->n;
}

/* Whether contribution i belongs to an element that its cell leaves undecided. */
static int is_undecided(const problem *p, const double *cells, int64_t i) {
  return cells[rm_cell_place(rm_scatter_index(p, i), RM_CELL_WORDS(p->format)) + RM_CELL_GROUP] == RM_CELL_UNDECIDED;
}

/* Radix sort, for few contributions to many rows. work: 3 n + 1 integers. cells: only the contributions to undecided ones, n
 * of them. */
enum { DIGIT = 11, DIGITS = 1 << DIGIT };
static void sort_by_digits(const problem *p, int64_t n, const double *cells, int64_t *work, ordered *o) {
  int64_t *from = work, *to = work + n;
  for (int64_t i = 0, k = 0; k < n; i++)
    if (!cells || is_undecided(p, cells, i)) from[k++] = i;
  for (int shift = 0; shift < 63 && (p->rows - 1) >> shift; shift += DIGIT) {
    int64_t end[DIGITS] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) end[rm_scatter_index(p, from[i]) >> shift & (DIGITS - 1)]++;
    for (int d = 0; d < DIGITS; d++) {
      const int64_t count = end[d];
      end[d] = sum;
      sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[end[rm_scatter_index(p, from[i]) >> shift & (DIGITS - 1)]++] = from[i];
    int64_t *other = from;
    from = to, to = other;
  }
  o->terms = from, o->start = work + 2 * n;
  for (int64_t i = 0; i < n; i++)
    if (i == 0 || rm_scatter_index(p, from[i]) != rm_scatter_index(p, from[i - 1])) o->start[o->segments++] = i;
  o->start[o->segments] = n;
  o->n = n;
}

/* ------------------------------------------------------------------------------------------------------------- work */

/* Rows [begin, end), columns [col, col_end) become +0. */
static void clear_rows(const problem *p, int64_t begin, int64_t end, int64_t col, int64_t col_end) {
  const size_t size = (size_t)rm_size_of(p->format);
  for (int64_t r = begin; r < end; r++) {
    char *row = p->out.base + r * p->out.row;
    if (p->out.col == (ptrdiff_t)size) memset(row + col * p->out.col, 0, (size_t)(col_end - col) * size);
    else
      for (int64_t j = col; j < col_end; j++) memset(row + j * p->out.col, 0, size);
  }
}

/* Whether rows without contributions become +0. */
static int fills(const problem *p) { return !p->add && !p->again; }

/* Segments [begin, end), and for a segment sum the rows without contributions before each and, where `last`, after them. */
static uint32_t do_segments(const problem *p, const ordered *o, int64_t begin, int64_t end, int last, int64_t col,
                            int64_t col_end, rm_tiers *tiers) {
  rm_scatter_segment_fn *segment = rm_reduce_kernels()->scatter_segment[p->format];
  /* Only what lies together is prefetched. */
  const ptrdiff_t size = rm_size_of(p->format), bytes = (ptrdiff_t)(col_end - col) * size;
  const ptrdiff_t ahead = p->out.col != size ? 0 : bytes < MAX_AHEAD ? bytes : MAX_AHEAD;
  uint32_t flags = 0;
  int64_t next = begin ? row_of(p, o, begin - 1) + 1 : 0; /* the first row that is not done */
  for (int64_t k = begin; k < end; k++) {
    const rm_segment s = {row_of(p, o, k), o->start[k + 1] - o->start[k], o->terms + o->start[k], o->terms + o->n};
    if (p->add && k + ROWS_AHEAD < end) {
      const char *later = p->out.base + row_of(p, o, k + ROWS_AHEAD) * p->out.row + col * p->out.col;
      for (ptrdiff_t i = 0; i < ahead; i += 64) __builtin_prefetch(later + i, 1);
    }
    if (fills(p)) clear_rows(p, next, s.row, col, col_end);
    flags |= segment(p, &s, col, col_end, tiers);
    next = s.row + 1;
  }
  if (fills(p) && last) clear_rows(p, next, p->rows, col, col_end);
  return flags;
}

/* The first segment that begins at or after contribution i. */
static int64_t segment_at(const ordered *o, int64_t i) {
  int64_t low = 0, high = o->segments;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (o->start[middle] < i) low = middle + 1;
    else high = middle;
  }
  return low;
}

static int64_t cut(int64_t n, int64_t parts, int64_t i) { return (int64_t)((__int128)n * i / parts); }

static uint32_t do_all(const problem *p, const ordered *o) {
  const double additions = ((double)o->n + (fills(p) ? (double)p->rows : 0.0)) * (double)p->cols;
  const int threads =
      additions < 2.0 * RM_ADDITIONS_PER_THREAD
          ? 1
          : rm_threads_for(
                (int64_t)(additions / RM_ADDITIONS_PER_THREAD < 4096 ? additions / RM_ADDITIONS_PER_THREAD : 4096));
  uint32_t flags = 0;
  if (threads == 1) {
    rm_tiers tiers = {0, 0, 0};
    flags = do_segments(p, o, 0, o->segments, 1, 0, p->cols, &tiers);
    rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
    return flags;
  }
  /* Chunks have like numbers of contributions. Where one row has as many as a thread would take, all are divided by columns
   * too. */
  int64_t longest = 0;
  for (int64_t k = 0; k < o->segments; k++)
    if (o->start[k + 1] - o->start[k] > longest) longest = o->start[k + 1] - o->start[k];
  const int64_t parts = (int64_t)threads * CHUNKS_PER_THREAD, units = (p->cols + COLUMN_UNIT - 1) / COLUMN_UNIT;
  const int64_t columns = longest <= o->n / threads ? 1 : units < threads ? units : threads;
#if defined(_OPENMP)
#pragma omp parallel num_threads(threads) reduction(| : flags)
#endif
  {
    const rm_env env = rm_env_enter();
    rm_tiers tiers = {0, 0, 0};
#if defined(_OPENMP)
#pragma omp for schedule(dynamic, 1)
#endif
    for (int64_t k = 0; k < parts * columns; k++) {
      const int64_t i = k / columns, j = k % columns, begin = segment_at(o, cut(o->n, parts, i));
      const int last = i + 1 == parts;
      const int64_t end = last ? o->segments : segment_at(o, cut(o->n, parts, i + 1));
      int64_t col = cut(units, columns, j) * COLUMN_UNIT, col_end = cut(units, columns, j + 1) * COLUMN_UNIT;
      if (col_end > p->cols) col_end = p->cols;
      flags |= do_segments(p, o, begin, end, last, col, col_end, &tiers);
    }
    rm_stats_add(tiers.fast, tiers.double_double, tiers.accumulator);
    rm_env_leave(env, 0);
  }
  return flags;
}

/* ------------------------------------------------------------------------------------------------------------ entry */

/* Whether work that grows with the rows is less than what grows with the contributions. */
static int few_rows(const problem *p) { return p->rows / 4 <= p->n; }

/* The same with cells, of which one takes a fraction of the time of sorting a contribution. */
static int few_cells(const problem *p) { return p->rows / 16 <= p->n; }

static rm_status by_sorting(const problem *p, uint32_t *flags) {
  const size_t n = (size_t)p->n;
  ordered o = {NULL, NULL, 0, 0};
  int64_t *work = malloc((few_rows(p) ? n + (size_t)p->rows + 1 : 3 * n + 1) * sizeof *work);
  if (!work) return RM_ERR_MEMORY;
  if (few_rows(p)) sort_by_counting(p, work, &o);
  else sort_by_digits(p, p->n, NULL, work, &o);
  *flags |= do_all(p, &o);
  free(work);
  return RM_OK;
}

/* Cells for all, then sorted terms for the elements that are undecided. Memory for both is asked for before anything is
 * written; of that for sorting little is ever touched. */
static rm_status by_cells(const problem *p, uint32_t *flags) {
  const size_t groups = ((size_t)p->rows + RM_CELL_GROUP - 1) / RM_CELL_GROUP, line = 64;
  const size_t cells_size = groups * RM_CELL_GROUP * RM_CELL_WORDS(p->format) * sizeof(double);
  char *memory = malloc(line + cells_size + (3 * (size_t)p->n + 1) * sizeof(int64_t));
  if (!memory) return by_sorting(p, flags);
  double *cells = (double *)(void *)(memory + (line - (uintptr_t)memory % line)); /* a group's numbers share a cache line */
  rm_tiers tiers = {0, 0, 0};
  if (rm_reduce_kernels()->scatter_cells[p->format](p, cells, &tiers)) {
    problem rest = *p;
    ordered o = {NULL, NULL, 0, 0};
    int64_t n = 0;
    rest.again = 1;
    for (int64_t i = 0; i < p->n; i++) n += is_undecided(p, cells, i);
    sort_by_digits(&rest, n, cells, (int64_t *)(void *)((char *)cells + cells_size), &o);
    *flags |= do_all(&rest, &o);
  }
  rm_stats_add(tiers.fast, 0, 0);
  free(memory);
  return RM_OK;
}

static rm_status run(const problem *p) {
  const rm_status status = rm_scatter_check(p);
  if (status) return status;
  if (rm_isa_status()) return RM_ERR_ISA;
  int outside = 0;
  for (int64_t i = 0; i < p->n; i++) outside |= (uint64_t)rm_scatter_index(p, i) >= (uint64_t)p->rows;
  if (outside) return RM_STATUS(RM_ERR_INDEX, 8); /* the argument `index` */
  if (p->rows == 0 || p->cols == 0) return RM_OK;
  if (p->n == 0) {
    if (!p->add) clear_rows(p, 0, p->rows, 0, p->cols);
    return RM_OK;
  }
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  const rm_status done = p->cols == 1 && few_cells(p) ? by_cells(p, &flags) : by_sorting(p, &flags);
  rm_env_leave(env, flags);
  return done;
}

rm_status rm_index_add(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out, int64_t n,
                       const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src, ptrdiff_t col_src) {
  const rm_view to = rm_view_of(out, row_out, col_out), from = rm_view_of(src, row_src, col_src);
  return run(&(problem){format, 1, 0, rows, cols, n, to, from, (const char *)index, stride_index});
}

rm_status rm_segment_sum(int format, int64_t rows, int64_t cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out, int64_t n,
                         const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                         ptrdiff_t col_src) {
  const rm_view to = rm_view_of(out, row_out, col_out), from = rm_view_of(src, row_src, col_src);
  return run(&(problem){format, 0, 0, rows, cols, n, to, from, (const char *)index, stride_index});
}
