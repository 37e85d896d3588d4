/* Packing an operand of a convolution, faster than patch by patch. Its lines are positions and its terms channels and taps, or, for
 * the gradient of the weight, the other way round.
 *
 * A block needs few rows of the images, and most of their elements several times. They are laid out once, in binary64 and with
 * their padding: the window. There line and term lie at at[line] + off[term], so a vector of a panel is one unaligned load where its
 * lines are neighbours in one row, and a choice among several loads elsewhere.
 *
 * Layout: [outer index of the terms][term along z][row][phase][place]. x, y and z are the last dimensions; what is above x and y of the
 * lines, a slab, has rows of its own. Element i of a row is at phase i mod move, place i div move, for lines more than one element
 * apart. Where there are many terms to an outer index, a block of them is packed in parts that need few rows each. */
#ifndef RM_BLAS_CONV_CONV_WINDOW_H
#define RM_BLAS_CONV_CONV_WINDOW_H

#include "../../common/elements.h"
#include "im2col_view.h"
#include "../gemm/tile.h"

enum { RM_WINDOW_SLACK = RM_LANES, RM_WINDOW_ACROSS = 3, RM_WINDOW_MOVE = 4, RM_WINDOW_MANY = 64 };

/* One dimension: lines `move` apart, terms `step` apart; 1 of each where there is no such dimension. Terms reach from `low` on over
 * halo + 1 elements. */
typedef struct {
  int64_t count, move, terms, step, low, halo, start, size;
  ptrdiff_t stride; /* bytes from element to element */
} rm_extent;

typedef struct {
  rm_extent x, y, z;
  int64_t terms, width; /* terms to an outer index; elements of a row, whole phases */
  int parts; /* whether blocks of terms end where an outer index does */
} rm_window;

RM_STATIC rm_extent rm_extent_of(const rm_patches *p, int d) {
  rm_extent e = {1, 1, 1, 1, 0, 0, 0, 1, 0};
  if (d < 1) return e;
  e.count = p->lines.count[d], e.move = p->lines.step[d], e.terms = p->terms.count[d], e.step = p->terms.step[d];
  const int64_t last = (e.terms - 1) * e.step;
  e.low = last < 0 ? last : 0, e.halo = last < 0 ? -last : last;
  e.start = p->start[d - 1], e.size = p->size[d - 1];
  e.stride = p->lines.stride[d] / e.move;
  return e;
}

RM_FN int64_t rm_rows_of_slab(const rm_window *w, int64_t lines) { return (lines - 1) * w->y.move + w->y.halo + 1; }

/* Of kc terms: at most so many outer indices, and so many elements between the first and the last row of a line. */
RM_FN int64_t rm_window_outer(const rm_window *w, int64_t kc) { return w->parts ? 1 : (kc - 1) / w->terms + 2; }
RM_FN int64_t rm_window_halo(const rm_window *w, int64_t kc) {
  const int64_t rows = (kc - 1) / w->x.terms + 1, step = w->y.step < 0 ? -w->y.step : w->y.step;
  return w->parts && rows * step < w->y.halo ? rows * step : w->y.halo;
}

/* Whether a block of `lines` lines goes by a window; w is filled in then. Longer blocks do when this one does, so that the workspace
 * of the longest one is enough. */
RM_STATIC int rm_window_of(rm_window *w, const rm_patches *p, int64_t lines) {
  enum { TERMS = 128 }; /* for the estimate: of a block, or half of them */
  if (!p || p->lines.dim[0] != RM_NO_COORDINATE || p->terms.dim[0] != RM_NO_COORDINATE) return 0;
  for (int i = 1; i < RM_DIMS; i++)
    if (p->lines.dim[i] != i - 1 || p->terms.dim[i] != i - 1 || p->lines.step[i] < 1) return 0;
  int d = RM_DIMS - 1;
  for (; d > 0 && p->lines.count[d] == 1; d--)
    if (p->terms.count[d] != 1 || p->start[d - 1] < 0 || p->start[d - 1] >= p->size[d - 1]) return 0;
  if (d == 0) return 0;
  w->x = rm_extent_of(p, d), w->y = rm_extent_of(p, d - 1), w->z = rm_extent_of(p, d - 2);
  if (w->x.count < RM_WINDOW_ACROSS || w->x.count > 2 * lines || w->x.move > RM_WINDOW_MOVE || w->y.move > RM_WINDOW_MOVE)
    return 0;
  w->terms = w->x.terms * w->y.terms * w->z.terms;
  w->parts = w->terms > RM_WINDOW_MANY && w->z.terms == 1;
  w->width = (w->x.count - 1 + w->x.halo / w->x.move + 1) * w->x.move;
  /* Elements of the window for each row of lines, against those of the panels: at most half as many. A slab of the block has so many
   * rows of lines that share a halo. So the window stays within a few times 64 elements a line, however far apart taps are. */
  const int64_t across = lines / w->x.count, shared = across < 1 ? 1 : across < w->y.count ? across : w->y.count;
  const double rows = (double)(w->y.move * (shared - 1) + rm_window_halo(w, TERMS) + 1) / (double)shared;
  return (double)(rm_window_outer(w, TERMS) * w->z.terms) * rows * (double)w->width <= (double)(TERMS / 2 * w->x.count);
}

/* Bytes of a window, with its table of offsets. */
RM_STATIC size_t rm_window_bytes(const rm_patches *p, int64_t lines, int64_t kc) {
  rm_window w;
  if (kc == 0 || !rm_window_of(&w, p, lines)) return 0;
  const int64_t rows = (lines - 1) / w.x.count + 2, slabs = (lines - 1) / (w.x.count * w.y.count) + 2;
  const int64_t all = rows * w.y.move + slabs * (rm_window_halo(&w, kc) + 1);
  return 8 * (size_t)(rm_window_outer(&w, kc) * w.z.terms * all * w.width + 2 * RM_WINDOW_SLACK + kc);
}

/* A row: elements from coordinate x.start + x.low on; src is where the first of them is, or would be. */
RM_FN void rm_window_row(double *dst, const rm_extent *x, int64_t width, const char *src, const int fmt) {
  const int64_t first = x->start + x->low, all = (x->count - 1) * x->move + x->halo + 1, each = width / x->move;
  int64_t low = first < 0 ? -first : 0, high = x->size - first;
  high = high > all ? all : high;
  if (low > high) low = high = high < 0 ? 0 : high;
  if (x->move > 1) {
    for (int64_t i = 0; i < width; i++) dst[i] = 0.0;
    for (int64_t i = low; i < high; i++) dst[i % x->move * each + i / x->move] = rm_read_element(src + i * x->stride, fmt);
    return;
  }
  int64_t i = 0;
  for (; i < low; i++) dst[i] = 0.0;
  if (x->stride == rm_size_of(fmt))
    for (; i + RM_LANES <= high; i += RM_LANES) vf64_store(dst + i, rm_load_elements(src + i * rm_size_of(fmt), fmt));
  for (; i < high; i++) dst[i] = rm_read_element(src + i * x->stride, fmt);
  for (; i < width; i++) dst[i] = 0.0;
}

/* The window of lines [line, line + lines) and terms [k0, k0 + kc), and where its terms are. */
RM_FN void rm_window_fill(double *image, ptrdiff_t *off, const rm_window *w, const rm_operand *o, int64_t line, int64_t lines,
                          int64_t k0, int64_t kc, const int fmt) {
  const rm_patches *p = o->patches;
  const int64_t plane = w->x.count * w->y.count, first = line / plane, end = (line + lines - 1) / plane + 1;
  const int64_t y0 = line % plane / w->x.count, y1 = (line + lines - 1) % plane / w->x.count + 1;
  const int64_t c0 = k0 / w->terms, c1 = (k0 + kc - 1) / w->terms + 1;
  const int64_t rows = end == first + 1 ? rm_rows_of_slab(w, y1 - y0)
                                        : rm_rows_of_slab(w, w->y.count - y0) +
                                              (end - first - 2) * rm_rows_of_slab(w, w->y.count) + rm_rows_of_slab(w, y1);
  double *dst = image;
  for (int64_t c = c0; c < c1; c++)
    for (int64_t t = 0; t < w->z.terms; t++)
      for (int64_t s = first; s < end; s++) {
        const int64_t begin = s == first ? y0 : 0, many = rm_rows_of_slab(w, (s + 1 == end ? y1 : w->y.count) - begin);
        const int64_t dz = s % w->z.count * w->z.move + t * w->z.step, z = w->z.start + dz, dy = begin * w->y.move + w->y.low;
        const char *src = o->base + s / w->z.count * p->lines.stride[0] + c * p->terms.stride[0] + dz * w->z.stride +
                          w->x.low * w->x.stride;
        for (int64_t r = 0; r < many; r++, dst += w->width) {
          const int64_t y = w->y.start + dy + r;
          if (z < 0 || z >= w->z.size || y < 0 || y >= w->y.size)
            __builtin_memset(dst, 0, (size_t)w->width * sizeof *dst);
          else
            rm_window_row(dst, &w->x, w->width, src + (dy + r) * w->y.stride, fmt);
        }
      }
  const int64_t each = w->width / w->x.move, area = w->x.terms * w->y.terms;
  int64_t x = k0 % w->x.terms, y = k0 % area / w->x.terms, z = k0 / area % w->z.terms, c = k0 / w->terms;
  for (int64_t k = 0; k < kc;) { /* a run along x */
    const int64_t row = (((c - c0) * w->z.terms + z) * rows + y * w->y.step - w->y.low) * w->width;
    const int64_t stop = kc - k < w->x.terms - x ? kc : k + w->x.terms - x;
    int64_t i = x * w->x.step - w->x.low;
    if (w->x.move == 1)
      for (; k < stop; k++, i += w->x.step) off[k] = row + i;
    else
      for (; k < stop; k++, i += w->x.step) off[k] = row + i % w->x.move * each + i / w->x.move;
    x = 0;
    if (++y == w->y.terms) y = 0, z++;
    if (z == w->z.terms) z = 0, c++;
  }
}

/* Where the lines of a vector are: for each run of neighbours the load that has them in their lanes, and which lanes these are. */
typedef struct {
  int runs;
  const double *at[RM_LANES];
  double first[RM_LANES]; /* lanes from here on are of this run or of a later one */
} rm_vector_runs;

/* A position and its row in the image, moved on line by line. */
typedef struct {
  int64_t x, y;
  const double *row;
} rm_cursor;

RM_FN void rm_runs_of(rm_vector_runs *v, rm_cursor *at, const rm_window *w, int lanes) {
  v->runs = 0;
  for (int l = 0; l < lanes;) {
    const int64_t left = w->x.count - at->x, n = left < lanes - l ? left : lanes - l;
    v->at[v->runs] = at->row + at->x - l;
    v->first[v->runs++] = l;
    l += (int)n;
    at->x += n;
    if (at->x < w->x.count) continue;
    at->x = 0;
    const int last = ++at->y == w->y.count; /* the next slab begins after the halo of this one */
    if (last) at->y = 0;
    at->row += (last ? w->y.halo + 1 : w->y.move) * w->width;
  }
}

/* One panel of nv vectors, of at most `most` runs each; of the last ones lines may be missing. Loads may begin or end RM_WINDOW_SLACK
 * elements outside of the image, in lanes that are not chosen. */
RM_FN void rm_window_panel(double *RM_RESTRICT dst, const int nv, const rm_vector_runs *runs, const int most, int lines,
                           int64_t kc, const ptrdiff_t *off, double *norm2, const double *scale) {
  double lane[RM_LANES];
  for (int l = 0; l < RM_LANES; l++) lane[l] = l;
  const vf64 lanes = vf64_load(lane);
  const int whole = lines == nv * RM_LANES;
  vf64 sum[RM_PACK_MAX_VECTORS], factor[RM_PACK_MAX_VECTORS];
  vm64 there[RM_PACK_MAX_VECTORS], from[RM_PACK_MAX_VECTORS][RM_LANES];
  const double *at[RM_PACK_MAX_VECTORS][RM_LANES];
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    for (int s = 0; s < most; s++) { /* those beyond the last are in no lane */
      const int run = s < runs[v].runs ? s : 0;
      at[v][s] = runs[v].at[run];
      from[v][s] = vf64_le(vf64_set1(s < runs[v].runs ? runs[v].first[s] : RM_LANES), lanes);
    }
    there[v] = vf64_lt(lanes, vf64_set1(lines - v * RM_LANES));
    sum[v] = norm2 ? vf64_load(norm2 + v * RM_LANES) : vf64_set1(0.0);
    factor[v] = scale ? vf64_load(scale + v * RM_LANES) : vf64_set1(1.0);
  }
  for (int64_t k = 0; k < kc; k++, dst += nv * RM_LANES) {
    RM_UNROLL
    for (int v = 0; v < nv; v++) {
      vf64 x = vf64_load(at[v][0] + off[k]);
      RM_UNROLL
      for (int s = 1; s < most; s++) x = vf64_select(from[v][s], vf64_load(at[v][s] + off[k]), x);
      if (!whole) x = vf64_select(there[v], x, vf64_set1(0.0));
      if (scale) x = vf64_mul(x, factor[v]);
      if (norm2) sum[v] = vf64_mad(x, x, sum[v]);
      vf64_store(dst + v * RM_LANES, x);
    }
  }
  if (norm2) RM_UNROLL
  for (int v = 0; v < nv; v++) vf64_store(norm2 + v * RM_LANES, sum[v]);
}

RM_FN void rm_window_panel_of(double *dst, const int nv, const rm_vector_runs *runs, int most, int lines, int64_t kc,
                              const ptrdiff_t *off, double *norm2, const double *scale) {
  enum { FEW = RM_LANES < 2 ? RM_LANES : 2, SOME = RM_LANES < 4 ? RM_LANES : 4 };
  if (most == 1)
    rm_window_panel(dst, nv, runs, 1, lines, kc, off, norm2, scale);
  else if (most <= FEW)
    rm_window_panel(dst, nv, runs, FEW, lines, kc, off, norm2, scale);
  else if (most <= SOME)
    rm_window_panel(dst, nv, runs, SOME, lines, kc, off, norm2, scale);
  else
    rm_window_panel(dst, nv, runs, RM_LANES, lines, kc, off, norm2, scale);
}

/* Terms [k0 + k, k0 + k + n) of the panels of rm_pack_window. */
RM_FN void rm_pack_window_part(double *dst, const int unit, const int trim, const rm_window *w, const rm_operand *o,
                               int64_t line, int64_t lines, int64_t k0, int64_t kc, int64_t k, int64_t n, const int fmt,
                               double *norm2, const double *scale, char *stage) {
  ptrdiff_t *off = (ptrdiff_t *)(void *)stage;
  double *image = (double *)(void *)stage + kc + RM_WINDOW_SLACK;
  rm_window_fill(image, off, w, o, line, lines, k0 + k, n, fmt);
  const int64_t plane = w->x.count * w->y.count;
  rm_cursor at = {line % w->x.count, line % plane / w->x.count, image};
  rm_vector_runs runs[RM_PACK_MAX_VECTORS];
  __builtin_memset(runs, 0, sizeof runs);
  for (int64_t i = 0; i < lines; i += unit) {
    const int here = lines - i < unit ? (int)(lines - i) : unit;
    const int nv = trim ? (here + RM_LANES - 1) / RM_LANES : unit / RM_LANES;
    int most = 1;
    for (int v = 0; v < nv; v++) {
      const int left = here - v * RM_LANES;
      if (left > 0)
        rm_runs_of(runs + v, &at, w, left < RM_LANES ? left : RM_LANES);
      else
        runs[v].runs = 1, runs[v].at[0] = image, runs[v].first[0] = 0.0;
      most = runs[v].runs > most ? runs[v].runs : most;
    }
    double *norm = norm2 ? norm2 + i : 0, *panel = dst + i * kc + k * nv * RM_LANES;
    const double *factor = scale ? scale + i : 0;
    switch (nv) {
      case 1: rm_window_panel_of(panel, 1, runs, most, here, n, off, norm, factor); break;
      case 2: rm_window_panel_of(panel, 2, runs, most, here, n, off, norm, factor); break;
      case 3: rm_window_panel_of(panel, 3, runs, most, here, n, off, norm, factor); break;
      default: rm_window_panel_of(panel, 4, runs, most, here, n, off, norm, factor);
    }
  }
}

/* Lines [line, line + lines) and terms [k0, k0 + kc) as panels (pack.h); stage has rm_window_bytes. */
RM_FN void rm_pack_window(double *dst, const int unit, const int trim, const rm_window *w, const rm_operand *o, int64_t line,
                          int64_t lines, int64_t k0, int64_t kc, const int fmt, double *norm2, const double *scale,
                          char *stage) {
  for (int64_t k = 0, n; k < kc; k += n) {
    rm_window part = *w;
    n = kc - k;
    if (w->parts) {
      const int64_t term = (k0 + k) % w->terms, left = w->terms - term, step = w->y.step;
      n = n < left ? n : left;
      const int64_t first = term / w->x.terms, last = (term + n - 1) / w->x.terms;
      part.y.low = step < 0 ? last * step : first * step;
      part.y.halo = (last - first) * (step < 0 ? -step : step);
    }
    rm_pack_window_part(dst, unit, trim, &part, o, line, lines, k0, kc, k, n, fmt, norm2, scale, stage);
  }
}

#endif
