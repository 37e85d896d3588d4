/* The public sums of weighted elements at given places. They add a part of a row of results term by term. The results of a
 * part belong to several places of a line, whose elements are gathered first, or to one place, whose elements are
 * neighbours. */
#include <stdlib.h>
#include <string.h>

#include "../../../include/repmath/sampling.h"
#include "../../common/elements.h"
#include "../../common/overlap.h"
#include "../../reduce/exact.h"
#include "../../reduce/statistics.h"
#include "../../runtime/env.h"
#include "../rows/parallel.h"
#include "kernels.h"

/* Results of a part; terms that are added together. Buffers: their elements, their weights, and three numbers of each
 * result. Parts of fewer than FEW results are computed one by one; BLOCK points with lists of their own come to a thread
 * together. */
enum { PART = 256, TOGETHER = 8, BUFFERS = 2 * TOGETHER + 3, FEW = 4, BLOCK = 64, LINE_TAPS = 16 };
enum { FORMAT_X = 1, FORMAT, GATHER, X, STRIDES, Y };

typedef struct {
  rm_gather g;
  int format_x, format, by_points; /* by_points: the results of a row are points, else j */
  int wild; /* weights are too large or small for products in two parts (kernels.h) */
  int64_t terms, row, parts; /* of a list; results of a row, and its parts */
  int64_t together; /* lines of a part */
  const char *x;
  ptrdiff_t sx[3];
  char *y;
} problem;

/* Results [begin, begin + n) of a row; or of several lines, which have few points, all of them. */
typedef struct {
  const problem *f;
  int64_t line, lines, point, begin, width; /* width: results of a line */
} part;

static part part_of(const problem *f, int64_t row) {
  const int64_t index = row / f->parts, begin = row % f->parts * PART, left = f->row - begin, first = index * f->together;
  part p = {f, first, 1, 0, begin, left < PART ? left : PART};
  if (!f->by_points) p.line = index / f->g.points, p.point = index % f->g.points;
  else p.lines = f->g.lines - first < f->together ? f->g.lines - first : f->together;
  return p;
}

/* The terms of a result of a line: the first of them, how far apart they are, and how many. */
typedef struct {
  const int64_t *at;
  const double *weight; /* or NULL */
  const char *x;
  int64_t step, count;
} terms;

static terms terms_of(const part *p, int64_t line, int64_t i) {
  const problem *f = p->f;
  const rm_gather *g = &f->g;
  const int64_t point = f->by_points ? p->begin + i : p->point,
                list = g->group < g->lines ? (p->line + line) / g->group : 0, /* divisions take long */
      first = list * f->terms + (g->first ? g->first[point] : point);
  return (terms){g->at + first, g->weight ? g->weight + first : NULL,
                 f->x + (p->line + line) * f->sx[0] + (f->by_points ? 0 : (p->begin + i) * f->sx[2]),
                 g->first ? 1 : g->points, g->first ? g->first[point + 1] - g->first[point] : g->taps};
}

/* Of one result that the vectors leave: what is not finite decides by itself, where numbers below binary64 have moderate
 * weights and so finite sums; else the sum in two parts, whose bound is that of kernels.h; else the accumulator. */
static uint64_t resolve(const part *p, int64_t i, rm_row_state *state) {
  const problem *f = p->f;
  const terms t = p->lines > 1 ? terms_of(p, i / p->width, i % p->width) : terms_of(p, 0, i);
  const rm_sum_function mean = {f->g.mean && t.count ? (uint64_t)t.count : 1, 0, 0};
  double sum = 0.0, low = 0.0, z = 0.0, special = 0.0;
  uint32_t classes = 0;
  for (int64_t k = 0; k < t.count; k++) {
    const int64_t at = t.at[k * t.step];
    if (at < 0) continue;
    const uint64_t bits = rm_read_bits(t.x + at * f->sx[1], f->format_x);
    const double x = rm_to_double(bits, f->format_x), w = t.weight ? t.weight[k * t.step] : 1.0, v = w * x;
    double e;
    const double r = rm_two_prod_error(w, x, v);
    sum = rm_two_sum(sum, v, &e);
    low += e + r;
    z += __builtin_fabs(e) + __builtin_fabs(r);
    if (f->format_x != RM_F64 || !rm_is_finite(x)) special += v;
    if (rm_is_nan(x)) classes |= rm_is_signalling(bits, f->format_x) ? RM_ACC_SNAN : RM_ACC_QNAN;
  }
  if (!f->wild && !rm_is_finite(special)) {
    state->tiers.fast++;
    if ((classes & RM_ACC_SNAN) || (rm_is_nan(special) && !classes)) state->flags |= RM_FLAG_INVALID;
    if (rm_is_nan(special)) return rm_nan_bits(f->format);
    return rm_infinity_bits(f->format) | (special < 0.0 ? rm_sign_bit(f->format) : 0);
  }
  if (!f->wild && sum == 0.0 && z == 0.0) { /* exactly */
    state->tiers.fast++;
    return 0;
  }
  uint64_t bits;
  const double bound = 1.1 * ((double)t.count + 2.0) * 0x1p-53, err = z == 0.0 ? 0.0 : RM_BOUND(z * bound + 0x1p-1000);
  const double hi = rm_two_sum(sum, low, &low);
  if (!f->wild && rm_is_finite(err) && rm_function_decide(&mean, hi, low, err, f->format, &bits, &state->flags)) {
    state->tiers.double_double++;
    return bits;
  }
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  state->tiers.accumulator++;
  for (int64_t k = 0; k < t.count; k++)
    if (t.at[k * t.step] >= 0)
      rm_superacc_add_product(&acc, t.weight ? t.weight[k * t.step] : 1.0,
                              rm_read_element(t.x + t.at[k * t.step] * f->sx[1], f->format_x));
  acc.classes |= classes & RM_ACC_SNAN;
  if (acc.classes) return rm_superacc_round_classes(acc.classes, f->format, &state->flags);
  return rm_function_of_top(&mean, rm_superacc_get_top(&acc), f->format, &state->flags);
}

/* The result where a sum in binary64 of terms of formats below it is infinite or NaN: it has the sum's class, since no sum of
 * finite terms overflows. The terms of a NaN need not be read where the exception that they might raise has been raised. */
static int not_finite(const problem *f, double sum, rm_row_state *state, uint64_t *bits) {
  if (rm_is_finite(sum) || f->wild || f->format_x == RM_F64) return 0;
  if (rm_is_nan(sum) && !(state->flags & RM_FLAG_INVALID)) return 0;
  *bits = rm_is_nan(sum) ? rm_nan_bits(f->format) : rm_infinity_bits(f->format) | (sum < 0.0 ? rm_sign_bit(f->format) : 0);
  state->tiers.fast++;
  return 1;
}

/* raw[i] = the bits of the element of term i, or 0. */
static void gather(int64_t n, const int64_t *at, const char *x, ptrdiff_t step, int size, char *raw) {
  static const char zero[8] = {0};
  switch (size) {
    case 2:
      for (int64_t i = 0; i < n; i++) memcpy(raw + 2 * i, at[i] < 0 ? zero : x + at[i] * step, 2);
      break;
    case 4:
      for (int64_t i = 0; i < n; i++) memcpy(raw + 4 * i, at[i] < 0 ? zero : x + at[i] * step, 4);
      break;
    default:
      for (int64_t i = 0; i < n; i++) memcpy(raw + 8 * i, at[i] < 0 ? zero : x + at[i] * step, 8);
  }
}

static void sum_of(const part *given, rm_row_state *state) {
  const part p = *given;
  const problem *f = p.f;
  const int size = rm_size_of(f->format_x), each = f->by_points && f->g.weight;
  const int64_t width = p.width, n = p.lines * width, padded = (n + RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
  const terms first = terms_of(&p, 0, 0);
  char *const out =
      f->y + ((f->by_points ? p.line : p.line * f->g.points + p.point) * f->row + p.begin) * rm_size_of(f->format);
  if (n < FEW) { /* less than whole vectors and their buffers take */
    for (int64_t i = 0; i < n; i++) rm_write_bits(out + i * rm_size_of(f->format), resolve(&p, i, state), f->format);
    return;
  }
  static const double one = 1.0;
  double *const sum = rm_row_buffer(state, 2 * TOGETHER), *const low = rm_row_buffer(state, 2 * TOGETHER + 1),
                *const z = rm_row_buffer(state, 2 * TOGETHER + 2);
  for (int64_t i = 0; i < padded; i++) sum[i] = low[i] = z[i] = 0.0;
  char raw[8 * PART];
  for (int64_t k = 0; k < first.count;) {
    const double *w[TOGETHER], *x[TOGETHER];
    int count = 0;
    for (; k < first.count && count < TOGETHER; k++) {
      double *const to = rm_row_buffer(state, count), *const copy = rm_row_buffer(state, TOGETHER + count);
      x[count] = to;
      w[count] = first.weight ? first.weight + k * first.step : &one;
      if (!f->by_points) {
        const int64_t at = first.at[k * first.step];
        if (at < 0) continue;
        state->k->load(n, first.x + at * f->sx[1], f->sx[2], f->format_x, 0.0, to);
      } else {
        for (int64_t line = 0; line < p.lines; line++) {
          const terms t = terms_of(&p, line, 0);
          gather(width, t.at + k * t.step, t.x, f->sx[1], size, raw + line * width * size);
          if (each && padded > width) /* whole vectors of weights are read */
            memcpy(copy + line * width, t.weight + k * t.step, (size_t)width * sizeof *copy);
        }
        state->k->load(n, raw, size, f->format_x, 0.0, to);
        if (each && padded > width) {
          for (int64_t i = n; i < padded; i++) copy[i] = 0.0;
          w[count] = copy;
        }
      }
      count++;
    }
    state->k->sampling->weigh(n, count, w, each, x, sum, low, z);
  }
  const int64_t by = f->g.mean && first.count ? first.count : 1;
  state->k->sampling->finish(n, 1.1 * ((double)first.count + 2.0) * 0x1p-53, (double)by, by & (by - 1) ? 0x1p-51 : 0.0, sum,
                             low, z);
  const rm_row_store store = {.n = n, .u = low, .v = z, .fmt = f->format, .out = out, .undecided = state->undecided};
  int64_t left = state->k->store(RM_ROW_GIVEN, &store);
  if (f->wild)
    for (left = 0; left < n; left++) state->undecided[left] = left;
  for (int64_t i = 0; i < left; i++) {
    const int64_t at = state->undecided[i];
    uint64_t bits;
    if (!not_finite(f, sum[at], state, &bits)) bits = resolve(&p, at, state);
    rm_write_bits(out + at * rm_size_of(f->format), bits, f->format);
  }
  state->tiers.fast += n - left;
}

/* A line of binary32, whose points have few terms each: its elements are converted once, and the 0 of what is outside lies
 * before them. */
static int is_line_of_few(const problem *f) {
  return f->by_points && !f->g.mean && !f->wild && f->format_x == RM_F32 && f->format == RM_F32 && f->g.taps > 0 &&
         f->g.taps <= LINE_TAPS && f->g.points >= 2 * FEW && f->g.elements / 4 <= f->terms;
}

/* Whether no sum that is NaN owes an exception that is not raised yet: there are neither signalling NaNs nor infinities. */
static int is_silent(const problem *f, rm_row_state *state) {
  enum { SILENT = 1, LOUD };
  if (state->flags & RM_FLAG_INVALID) return 1;
  for (int64_t i = 0; !state->loaded && i < f->g.lines; i++)
    if (rm_superacc_classes(RM_F32, f->g.elements, f->x + i * f->sx[0], f->sx[1]) & ~(uint32_t)RM_ACC_QNAN)
      state->loaded = LOUD;
  if (!state->loaded) state->loaded = SILENT;
  return state->loaded == SILENT;
}

RM_NOINLINE void take_elements(int64_t n, const int64_t *RM_RESTRICT at, const double *RM_RESTRICT line,
                               double *RM_RESTRICT to) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const double a = line[at[i]], b = line[at[i + 1]], c = line[at[i + 2]], d = line[at[i + 3]];
    to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
  }
  for (; i < n; i++) to[i] = line[at[i]];
}

static void sum_line(const void *operation, int64_t row, rm_row_state *state) {
  const problem *f = operation;
  const int taps = (int)f->g.taps;
  const double *const end = !f->g.weight ? NULL : f->g.weight + ((f->g.lines - 1) / f->g.group + 1) * f->terms;
  double *const line = rm_row_buffer(state, 2 * taps) + RM_ROW_PAD;
  float *const rounded = (float *)rm_row_buffer(state, 2 * taps + 1);
  state->k->load(f->g.elements, f->x + row * f->sx[0], f->sx[1], RM_F32, 0.0, line);
  line[-1] = 0.0;
  for (int64_t begin = 0; begin < f->row; begin += PART) {
    const int64_t n = f->row - begin < PART ? f->row - begin : PART, padded = (n + RM_ROW_PAD - 1) / RM_ROW_PAD * RM_ROW_PAD;
    const part p = {f, row, 1, 0, begin, n};
    const terms t = terms_of(&p, 0, 0);
    const double *w[LINE_TAPS], *x[LINE_TAPS];
    for (int k = 0; k < taps; k++) {
      double *const to = rm_row_buffer(state, k), *const copy = rm_row_buffer(state, taps + k);
      take_elements(n, t.at + k * t.step, line, to);
      for (int64_t i = n; i < padded; i++) to[i] = 0.0;
      x[k] = to, w[k] = copy;
      if (!t.weight) {
        for (int64_t i = 0; i < padded; i++) copy[i] = 1.0;
        continue;
      }
      w[k] = t.weight + k * t.step;
      if (w[k] + padded <= end) continue; /* whole vectors are read, of any weights */
      memcpy(copy, w[k], (size_t)n * sizeof *copy);
      for (int64_t i = n; i < padded; i++) copy[i] = 0.0;
      w[k] = copy;
    }
    char *const out = f->y + (row * f->row + begin) * 4;
    const int64_t left =
        state->k->sampling->rounded(n, taps, w, x, 1.1 * ((double)taps + 2.0) * 0x1p-53, rounded, state->undecided);
    memcpy(out, rounded, (size_t)n * 4);
    for (int64_t i = 0; i < left; i++) {
      const int64_t at = state->undecided[i];
      const int known = rounded[at] != rounded[at] && is_silent(f, state);
      rm_write_bits(out + at * 4, known ? rm_nan_bits(RM_F32) : resolve(&p, at, state), RM_F32);
      state->tiers.fast += known;
    }
    state->tiers.fast += n - left;
  }
}

static void sum_part(const void *operation, int64_t row, rm_row_state *state) {
  const part p = part_of(operation, row);
  sum_of(&p, state);
}

/* A block of points of one line that have lists of their own. Many have no terms: a table has rows that no bag names. */
static void sum_block(const void *operation, int64_t row, rm_row_state *state) {
  const problem *f = operation;
  const int64_t begin = row * BLOCK, left = f->g.points - begin, end = begin + (left < BLOCK ? left : BLOCK);
  const size_t size = (size_t)f->row * (size_t)rm_size_of(f->format);
  memset(f->y + (size_t)begin * size, 0, (size_t)(end - begin) * size);
  for (int64_t point = begin; point < end; point++) {
    if (f->g.first[point + 1] == f->g.first[point]) state->tiers.fast += f->row;
    else sum_of(&(part){f, 0, 1, point, 0, f->row}, state);
  }
}

/* The terms of all lists are read once: indices in the range, weights that are 0 or moderate, so that products of these and
 * of numbers below binary64 are 0 or between 2^-649 and 2^628. */
static rm_status check_terms(problem *f, int64_t lists) {
  const rm_gather *g = &f->g;
  for (int64_t i = 0; i < lists * f->terms; i++)
    if (g->at[i] < -1 || g->at[i] >= g->elements) return RM_STATUS(RM_ERR_INDEX, GATHER);
  for (int64_t i = 0; g->weight && i < lists * f->terms; i++) {
    const double w = __builtin_fabs(g->weight[i]);
    if (!(w == 0.0 || (w >= 0x1p-500 && w <= 0x1p500))) f->wild = 1;
  }
  return RM_OK;
}

rm_status rm_gather_sum(int format_x, int format, const rm_gather *gather, const void *x, const ptrdiff_t *strides_x,
                        void *y) {
  if (rm_isa_status()) return RM_ERR_ISA;
  if (format_x < RM_F16 || format_x > RM_F64) return RM_STATUS(RM_ERR_ENUM, FORMAT_X);
  if (format < RM_F16 || format > RM_F32) return RM_STATUS(RM_ERR_ENUM, FORMAT);
  if (!gather) return RM_STATUS(RM_ERR_NULL, GATHER);
  const rm_gather *const g = gather;
  if (g->lines < 0 || g->elements < 0 || g->inner < 0 || g->points < 0 || g->taps < 0 || g->group < 1 ||
      (g->first && g->group < g->lines))
    return RM_STATUS(RM_ERR_SIZE, GATHER);
  if (format_x == RM_F64 && (g->weight || g->mean)) return RM_STATUS(RM_ERR_ENUM, GATHER);
  int64_t results;
  if (__builtin_mul_overflow(g->lines, g->points, &results) || __builtin_mul_overflow(results, g->inner, &results))
    return RM_STATUS(RM_ERR_SIZE, GATHER);
  if (results == 0) return RM_OK;
  problem f = {.g = *g, .format_x = format_x, .format = format, .by_points = g->inner == 1 && !g->first, .x = x, .y = y};
  if (g->first) {
    if (g->first[0] != 0) return RM_STATUS(RM_ERR_SIZE, GATHER);
    for (int64_t p = 0; p < g->points; p++)
      if (g->first[p + 1] < g->first[p]) return RM_STATUS(RM_ERR_SIZE, GATHER);
    f.terms = g->first[g->points];
  } else if (__builtin_mul_overflow(g->points, g->taps, &f.terms)) {
    return RM_STATUS(RM_ERR_SIZE, GATHER);
  }
  if (f.terms && !g->at) return RM_STATUS(RM_ERR_NULL, GATHER);
  const rm_status status = check_terms(&f, (g->lines - 1) / g->group + 1);
  if (status) return status;
  if (!y) return RM_STATUS(RM_ERR_NULL, Y);
  if (g->elements && !x) return RM_STATUS(RM_ERR_NULL, X);
  if (g->elements && !strides_x) return RM_STATUS(RM_ERR_NULL, STRIDES);
  if (g->elements) {
    memcpy(f.sx, strides_x, sizeof f.sx);
    const int64_t from[3] = {g->lines, g->elements, g->inner}, to[1] = {results};
    const ptrdiff_t next[1] = {rm_size_of(format)};
    const rm_grid gx = {x, 3, from, f.sx}, gy = {y, 1, to, next};
    if (rm_spans_meet(&gy, rm_size_of(format), &gx, rm_size_of(format_x))) return RM_STATUS(RM_ERR_OVERLAP, Y);
  }
  f.row = f.by_points ? g->points : g->inner;
  f.parts = (f.row + PART - 1) / PART;
  f.together = f.by_points && f.row < PART ? PART / f.row : 1;
  if (g->first && g->lines == 1 && f.parts == 1)
    return rm_each_row((g->points + BLOCK - 1) / BLOCK, f.row * BLOCK, BUFFERS, sum_block, &f);
  if (is_line_of_few(&f)) {
    const int64_t room = f.g.elements > PART ? f.g.elements : PART;
    return rm_each_row(f.g.lines, room + RM_ROW_PAD, 2 * (int)f.g.taps + 2, sum_line, &f);
  }
  const int64_t rows = (results / f.row + f.together - 1) / f.together, n = f.row * f.together;
  return rm_each_row(rows * f.parts, n < PART ? n : PART, BUFFERS, sum_part, &f);
}
