/* Packs an im2col view faster than patch by patch. The rows of the view are positions and its k indices are channels and
 * taps, or, for the gradient with respect to the weight, the other way round.
 *
 * A block needs few rows of the images, but most of their elements several times. The conv window lays these rows out once,
 * in binary64 and with their padding. There element (row, k) lies at at[row] + off[k], so a vector of a panel is one
 * unaligned load where its rows are neighbours in one row of the image, and a choice among several loads elsewhere.
 *
 * Layout: [outer index of k][tap along z][image row][phase][position]. x, y and z are the last dimensions; what is above x
 * and y of the view's rows, a slab, has image rows of its own. Element i of an image row is at phase i mod move, position i
 * div move, for rows of the view more than one element apart. Where there are many taps to an outer index, a block of them is
 * packed in parts that need few image rows each. */
#pragma once

#include "../../common/elements.h"
#include "im2col_view.h"
#include "../gemm/panels.h"
#include "../gemm/tile.h"

enum { RM_CONV_WINDOW_SLACK = RM_LANES, RM_CONV_WINDOW_ACROSS = 3, RM_CONV_WINDOW_MOVE = 4, RM_CONV_WINDOW_MANY = 64 };

/* One dimension: rows of the view are `move` apart, taps `step`; 1 of each where there is no such dimension. Taps reach from
 * `low` on over halo + 1 elements. */
typedef struct {
  int64_t count, move, taps, step, low, halo, start, size;
  ptrdiff_t stride; /* bytes from element to element */
} rm_extent;

typedef struct {
  rm_extent x, y, z;
  int64_t depth, width; /* taps to an outer index; elements of a row, whole phases */
  int parts; /* whether blocks of k end where an outer index does */
} rm_conv_window;

RM_STATIC rm_extent rm_extent_of(const rm_im2col *p, int d) {
  rm_extent e = {1, 1, 1, 1, 0, 0, 0, 1, 0};
  if (d < 1) return e;
  e.count = p->rows.count[d], e.move = p->rows.step[d], e.taps = p->k.count[d], e.step = p->k.step[d];
  const int64_t last = (e.taps - 1) * e.step;
  e.low = last < 0 ? last : 0, e.halo = last < 0 ? -last : last;
  e.start = p->start[d - 1], e.size = p->size[d - 1];
  e.stride = p->rows.stride[d] / e.move;
  return e;
}

RM_FN int64_t rm_rows_of_slab(const rm_conv_window *w, int64_t rows) { return (rows - 1) * w->y.move + w->y.halo + 1; }

/* Limits for kc values of k: of the outer indices, and of the image rows between the first and the last of one row of the
 * view. */
RM_FN int64_t rm_conv_window_outer(const rm_conv_window *w, int64_t kc) { return w->parts ? 1 : (kc - 1) / w->depth + 2; }
RM_FN int64_t rm_conv_window_halo(const rm_conv_window *w, int64_t kc) {
  const int64_t image_rows = (kc - 1) / w->x.taps + 1, step = w->y.step < 0 ? -w->y.step : w->y.step;
  return w->parts && image_rows * step < w->y.halo ? image_rows * step : w->y.halo;
}

/* Whether a block of `rows` rows is packed by a window; w is filled in then. Longer blocks are when this one is, so that the
 * workspace of the longest one is enough. */
RM_STATIC int rm_conv_window_of(rm_conv_window *w, const rm_im2col *p, int64_t rows) {
  enum { DEPTH = 128 }; /* for the estimate: of a block, or half of them */
  if (!p || p->rows.dim[0] != RM_NO_COORDINATE || p->k.dim[0] != RM_NO_COORDINATE) return 0;
  for (int i = 1; i < RM_DIMS; i++)
    if (p->rows.dim[i] != i - 1 || p->k.dim[i] != i - 1 || p->rows.step[i] < 1) return 0;
  int d = RM_DIMS - 1;
  for (; d > 0 && p->rows.count[d] == 1; d--)
    if (p->k.count[d] != 1 || p->start[d - 1] < 0 || p->start[d - 1] >= p->size[d - 1]) return 0;
  if (d == 0) return 0;
  w->x = rm_extent_of(p, d), w->y = rm_extent_of(p, d - 1), w->z = rm_extent_of(p, d - 2);
  if (w->x.count < RM_CONV_WINDOW_ACROSS || w->x.count > 2 * rows || w->x.move > RM_CONV_WINDOW_MOVE ||
      w->y.move > RM_CONV_WINDOW_MOVE)
    return 0;
  w->depth = w->x.taps * w->y.taps * w->z.taps;
  w->parts = w->depth > RM_CONV_WINDOW_MANY && w->z.taps == 1;
  w->width = (w->x.count - 1 + w->x.halo / w->x.move + 1) * w->x.move;
  /* Elements of the window for each x.count rows of the view, against those of the panels: at most half as many. A slab of
   * the block has so many of these that share a halo. So the window stays within a few times 64 elements a row, however far
   * apart taps are. */
  const int64_t across = rows / w->x.count, shared = across < 1 ? 1 : across < w->y.count ? across : w->y.count;
  const double image_rows = (double)(w->y.move * (shared - 1) + rm_conv_window_halo(w, DEPTH) + 1) / (double)shared;
  return (double)(rm_conv_window_outer(w, DEPTH) * w->z.taps) * image_rows * (double)w->width <=
         (double)(DEPTH / 2 * w->x.count);
}

/* Bytes of a window, with its table of offsets. */
RM_STATIC size_t rm_conv_window_bytes(const rm_im2col *p, int64_t rows, int64_t kc) {
  rm_conv_window w;
  if (kc == 0 || !rm_conv_window_of(&w, p, rows)) return 0;
  const int64_t image_rows = (rows - 1) / w.x.count + 2, slabs = (rows - 1) / (w.x.count * w.y.count) + 2;
  const int64_t all = image_rows * w.y.move + slabs * (rm_conv_window_halo(&w, kc) + 1);
  return 8 * (size_t)(rm_conv_window_outer(&w, kc) * w.z.taps * all * w.width + 2 * RM_CONV_WINDOW_SLACK + kc);
}

/* One image row: its elements from coordinate x.start + x.low on; src is where the first of them is, or would be. */
RM_FN void rm_conv_window_row(double *dst, const rm_extent *x, int64_t width, const char *src, const int fmt) {
  const int64_t first = x->start + x->low, all = (x->count - 1) * x->move + x->halo + 1, each = width / x->move;
  int64_t low = first < 0 ? -first : 0, high = x->size - first;
  high = high > all ? all : high;
  if (low > high) low = high = high < 0 ? 0 : high;
  if (x->move > 1) {
    for (int64_t i = 0; i < width; i++) dst[i] = 0.0;
    for (int64_t phase = 0; phase < x->move; phase++)
      for (int64_t i = (low - phase + x->move - 1) / x->move; i * x->move + phase < high; i++)
        dst[phase * each + i] = rm_read_element(src + (i * x->move + phase) * x->stride, fmt);
    return;
  }
  int64_t i = 0;
  for (; i < low; i++) dst[i] = 0.0;
  if (x->stride == rm_size_of(fmt))
    for (; i + RM_LANES <= high; i += RM_LANES) vf64_store(dst + i, rm_load_elements(src + i * rm_size_of(fmt), fmt));
  for (; i < high; i++) dst[i] = rm_read_element(src + i * x->stride, fmt);
  for (; i < width; i++) dst[i] = 0.0;
}

/* Fills the window of rows [row, row + rows) and k in [k0, k0 + kc), and the offset of each k. */
RM_FN void rm_conv_window_fill(double *image, ptrdiff_t *off, const rm_conv_window *w, const rm_operand *o, int64_t row,
                               int64_t rows, int64_t k0, int64_t kc, const int fmt) {
  const rm_im2col *p = o->im2col;
  const int64_t plane = w->x.count * w->y.count, first = row / plane, end = (row + rows - 1) / plane + 1;
  const int64_t y0 = row % plane / w->x.count, y1 = (row + rows - 1) % plane / w->x.count + 1;
  const int64_t c0 = k0 / w->depth, c1 = (k0 + kc - 1) / w->depth + 1;
  const int64_t image_rows =
      end == first + 1
          ? rm_rows_of_slab(w, y1 - y0)
          : rm_rows_of_slab(w, w->y.count - y0) + (end - first - 2) * rm_rows_of_slab(w, w->y.count) + rm_rows_of_slab(w, y1);
  double *dst = image;
  for (int64_t c = c0; c < c1; c++)
    for (int64_t t = 0; t < w->z.taps; t++)
      for (int64_t s = first; s < end; s++) {
        const int64_t begin = s == first ? y0 : 0, many = rm_rows_of_slab(w, (s + 1 == end ? y1 : w->y.count) - begin);
        const int64_t dz = s % w->z.count * w->z.move + t * w->z.step, z = w->z.start + dz, dy = begin * w->y.move + w->y.low;
        const char *src =
            o->base + s / w->z.count * p->rows.stride[0] + c * p->k.stride[0] + dz * w->z.stride + w->x.low * w->x.stride;
        for (int64_t r = 0; r < many; r++, dst += w->width) {
          const int64_t y = w->y.start + dy + r;
          if (z < 0 || z >= w->z.size || y < 0 || y >= w->y.size) __builtin_memset(dst, 0, (size_t)w->width * sizeof *dst);
          else rm_conv_window_row(dst, &w->x, w->width, src + (dy + r) * w->y.stride, fmt);
        }
      }
  const int64_t each = w->width / w->x.move, area = w->x.taps * w->y.taps;
  int64_t x = k0 % w->x.taps, y = k0 % area / w->x.taps, z = k0 / area % w->z.taps, c = k0 / w->depth;
  for (int64_t k = 0; k < kc;) { /* a run along x */
    const int64_t start = (((c - c0) * w->z.taps + z) * image_rows + y * w->y.step - w->y.low) * w->width;
    const int64_t stop = kc - k < w->x.taps - x ? kc : k + w->x.taps - x;
    int64_t i = x * w->x.step - w->x.low;
    if (w->x.move == 1)
      for (; k < stop; k++, i += w->x.step) off[k] = start + i;
    else
      for (; k < stop; k++, i += w->x.step) off[k] = start + i % w->x.move * each + i / w->x.move;
    x = 0;
    if (++y == w->y.taps) y = 0, z++;
    if (z == w->z.taps) z = 0, c++;
  }
}

/* Where the rows of a vector are: for each run of neighbours the load that has them in their lanes, and which lanes these
 * are. */
typedef struct {
  int runs;
  const double *at[RM_LANES];
  double first[RM_LANES]; /* lanes from here on are of this run or of a later one */
} rm_vector_runs;

/* A position and its image row, moved on row by row of the view. */
typedef struct {
  int64_t x, y;
  const double *row;
} rm_cursor;

RM_FN void rm_runs_of(rm_vector_runs *v, rm_cursor *at, const rm_conv_window *w, int lanes) {
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

/* Packs one panel of nv vectors, of at most max_runs runs each; of the last ones rows may be missing. Loads may begin or end
 * RM_CONV_WINDOW_SLACK elements outside of the image, in lanes that are not chosen. */
RM_FN void rm_conv_window_panel(double *RM_RESTRICT dst, const int nv, const rm_vector_runs *runs, const int max_runs,
                                int rows, int64_t kc, const ptrdiff_t *off, double *norm2, const double *scale) {
  double lane[RM_LANES];
  for (int l = 0; l < RM_LANES; l++) lane[l] = l;
  const vf64 lanes = vf64_load(lane);
  const int whole = rows == nv * RM_LANES;
  vf64 sum[RM_PACK_MAX_VECTORS], factor[RM_PACK_MAX_VECTORS];
  vm64 there[RM_PACK_MAX_VECTORS], from[RM_PACK_MAX_VECTORS][RM_LANES];
  const double *at[RM_PACK_MAX_VECTORS][RM_LANES];
  RM_UNROLL
  for (int v = 0; v < nv; v++) {
    for (int s = 0; s < max_runs; s++) { /* those beyond the last are in no lane */
      const int run = s < runs[v].runs ? s : 0;
      at[v][s] = runs[v].at[run];
      from[v][s] = vf64_le(vf64_set1(s < runs[v].runs ? runs[v].first[s] : RM_LANES), lanes);
    }
    there[v] = vf64_lt(lanes, vf64_set1(rows - v * RM_LANES));
    sum[v] = norm2 ? vf64_load(norm2 + v * RM_LANES) : vf64_set1(0.0);
    factor[v] = scale ? vf64_load(scale + v * RM_LANES) : vf64_set1(1.0);
  }
  for (int64_t k = 0; k < kc; k++, dst += nv * RM_LANES) {
    RM_UNROLL
    for (int v = 0; v < nv; v++) {
      vf64 x = vf64_load(at[v][0] + off[k]);
      RM_UNROLL
      for (int s = 1; s < max_runs; s++) x = vf64_select(from[v][s], vf64_load(at[v][s] + off[k]), x);
      if (!whole) x = vf64_select(there[v], x, vf64_set1(0.0));
      if (scale) x = vf64_mul(x, factor[v]);
      if (norm2) sum[v] = vf64_mad(x, x, sum[v]);
      vf64_store(dst + v * RM_LANES, x);
    }
  }
  if (norm2) RM_UNROLL
  for (int v = 0; v < nv; v++) vf64_store(norm2 + v * RM_LANES, sum[v]);
}

RM_FN void rm_conv_window_panel_of(double *dst, const int nv, const rm_vector_runs *runs, int max_runs, int rows, int64_t kc,
                                   const ptrdiff_t *off, double *norm2, const double *scale) {
  enum { FEW = RM_LANES < 2 ? RM_LANES : 2, SOME = RM_LANES < 4 ? RM_LANES : 4 };
  if (max_runs == 1) rm_conv_window_panel(dst, nv, runs, 1, rows, kc, off, norm2, scale);
  else if (max_runs <= FEW) rm_conv_window_panel(dst, nv, runs, FEW, rows, kc, off, norm2, scale);
  else if (max_runs <= SOME) rm_conv_window_panel(dst, nv, runs, SOME, rows, kc, off, norm2, scale);
  else rm_conv_window_panel(dst, nv, runs, RM_LANES, rows, kc, off, norm2, scale);
}

/* Packs k in [k0 + k, k0 + k + n) of the panels of rm_pack_conv_window. */
RM_FN void rm_pack_conv_window_part(const rm_panels *t, const rm_conv_window *w, const rm_operand *o, int64_t row,
                                    int64_t rows, int64_t k0, int64_t k, int64_t n, const int fmt) {
  ptrdiff_t *off = (ptrdiff_t *)(void *)t->stage;
  double *image = (double *)(void *)t->stage + t->kc + RM_CONV_WINDOW_SLACK;
  rm_conv_window_fill(image, off, w, o, row, rows, k0 + k, n, fmt);
  const int64_t plane = w->x.count * w->y.count;
  rm_cursor at = {row % w->x.count, row % plane / w->x.count, image};
  rm_vector_runs runs[RM_PACK_MAX_VECTORS];
  __builtin_memset(runs, 0, sizeof runs);
  for (int64_t i = 0; i < rows; i += t->unit) {
    const int here = rows - i < t->unit ? (int)(rows - i) : t->unit;
    const int nv = t->trim ? (here + RM_LANES - 1) / RM_LANES : t->unit / RM_LANES;
    int max_runs = 1;
    for (int v = 0; v < nv; v++) {
      const int left = here - v * RM_LANES;
      if (left > 0) rm_runs_of(runs + v, &at, w, left < RM_LANES ? left : RM_LANES);
      else runs[v].runs = 1, runs[v].at[0] = image, runs[v].first[0] = 0.0;
      max_runs = runs[v].runs > max_runs ? runs[v].runs : max_runs;
    }
    double *norm = t->norm2 ? t->norm2 + i : 0, *panel = t->dst + i * t->kc + k * nv * RM_LANES;
    const double *factor = t->scale ? t->scale + i : 0;
    switch (nv) {
      case 1: rm_conv_window_panel_of(panel, 1, runs, max_runs, here, n, off, norm, factor); break;
      case 2: rm_conv_window_panel_of(panel, 2, runs, max_runs, here, n, off, norm, factor); break;
      case 3: rm_conv_window_panel_of(panel, 3, runs, max_runs, here, n, off, norm, factor); break;
      default: rm_conv_window_panel_of(panel, 4, runs, max_runs, here, n, off, norm, factor);
    }
  }
}

/* Packs rows [row, row + rows) and k from k0 on as panels, whose stage has rm_conv_window_bytes. */
RM_FN void rm_pack_conv_window(const rm_panels *t, const rm_conv_window *w, const rm_operand *o, int64_t row, int64_t rows,
                               int64_t k0, const int fmt) {
  for (int64_t k = 0, n; k < t->kc; k += n) {
    rm_conv_window part = *w;
    n = t->kc - k;
    if (w->parts) {
      const int64_t tap = (k0 + k) % w->depth, left = w->depth - tap, step = w->y.step;
      n = n < left ? n : left;
      const int64_t first = tap / w->x.taps, last = (tap + n - 1) / w->x.taps;
      part.y.low = step < 0 ? last * step : first * step;
      part.y.halo = (last - first) * (step < 0 ? -step : step);
    }
    rm_pack_conv_window_part(t, &part, o, row, rows, k0, k, n, fmt);
  }
}
