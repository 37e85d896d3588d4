/* Tells whether views share bytes, exactly for usual views; for all others the answer is that they may. */
#include "overlap.h"

typedef __int128 offset; /* byte offsets of absurd arguments do not fit 64 bits */

static offset magnitude(offset x) { return x < 0 ? -x : x; }

/* The bytes that a view touches lie in [low, high). */
typedef struct {
  offset low, high;
} range;
static range range_of(rm_view v, int64_t rows, int64_t cols, int size) {
  offset r = (offset)v.row * (rows - 1), c = (offset)v.col * (cols - 1), base = (offset)(intptr_t)v.base;
  return (range){base + (r < 0 ? r : 0) + (c < 0 ? c : 0), base + (r > 0 ? r : 0) + (c > 0 ? c : 0) + size};
}

/* Whether |i row + j col| < size for some (i, j) != (0, 0) in reach. */
int rm_overlaps_itself(rm_view v, int64_t rows, int64_t cols, int size) {
  offset s = magnitude(v.row), t = magnitude(v.col);
  int64_t ns = rows, nt = cols;
  if (s > t) {
    offset u = s;
    s = t, t = u;
    ns = cols, nt = rows;
  }
  /* Now s <= t, and the shorter stride runs along a row. The usual case: elements of a row apart, rows apart. */
  if (ns > 1 && s < size) return 1;
  if (nt <= 1 || ns <= 1) return nt > 1 && t < size;
  if (t >= s * (ns - 1) + size) return 0;
  /* Interleaved rows: for each j the i that come nearest to -j t / s, from both sides (signs are symmetric here, as only
   * magnitudes of i and j range freely). */
  for (int64_t j = 1; j < nt; j++) {
    offset d = j * t, q = d / s, rest = d - q * s;
    if (q < ns && rest < size) return 1;
    if (q + 1 < ns && s - rest < size) return 1;
    if (q >= ns) return 0; /* further rows are out of reach */
  }
  return 0;
}

int rm_overlaps(rm_view c, int64_t cr, int64_t cc, int size_c, rm_view x, int64_t xr, int64_t xc, int size_x) {
  range p = range_of(c, cr, cc, size_c), q = range_of(x, xr, xc, size_x);
  if (p.high <= q.low || q.high <= p.low) return 0;
  offset pitch = magnitude(c.row) > magnitude(c.col) ? magnitude(c.row) : magnitude(c.col);
  offset other = magnitude(x.row) > magnitude(x.col) ? magnitude(x.row) : magnitude(x.col);
  if (pitch != other || pitch == 0) return 1;
  /* The rows of both repeat with the pitch: their bytes modulo the pitch must be two disjoint arcs. */
  int c_rows = magnitude(c.row) == pitch, x_rows = magnitude(x.row) == pitch;
  rm_view cl = c, xl = x;
  *(c_rows ? &cl.row : &cl.col) = 0;
  *(x_rows ? &xl.row : &xl.col) = 0;
  p = range_of(cl, c_rows ? 1 : cr, c_rows ? cc : 1, size_c);
  q = range_of(xl, x_rows ? 1 : xr, x_rows ? xc : 1, size_x);
  offset gap = (q.low - p.low) % pitch;
  if (gap < 0) gap += pitch;
  return gap < p.high - p.low || gap + (q.high - q.low) > pitch;
}

static offset gcd(offset a, offset b) {
  while (b) {
    const offset rest = a % b;
    a = b, b = rest;
  }
  return a;
}

int64_t rm_steps_together(int64_t n, const char *out, ptrdiff_t stride_out, const char *x, ptrdiff_t stride_x, int size) {
  const offset step = magnitude(stride_out), far = magnitude((offset)(intptr_t)x - (offset)(intptr_t)out);
  if (n < 2) return n;
  if (step < size) return 1; /* out overlaps itself: later steps win */
  const offset reach_out = (offset)stride_out * (n - 1), reach_x = (offset)stride_x * (n - 1),
               ahead = (offset)(intptr_t)x - (offset)(intptr_t)out;
  const offset low_x = ahead + (reach_x < 0 ? reach_x : 0), high_x = ahead + (reach_x > 0 ? reach_x : 0) + size;
  if (high_x <= (reach_out < 0 ? reach_out : 0) || low_x >= (reach_out > 0 ? reach_out : 0) + size) return n;
  if (stride_x !=
      stride_out) { /* x[j] and out[i] are ahead + j stride_x - i stride_out apart: `ahead` modulo the divisor, at least */
    const offset divisor = gcd(step, magnitude(stride_x)), rest = far % divisor;
    return rest >= size && divisor - rest >= size ? n : 1;
  }
  if (far < size) return far == 0 ? n : 1;
  /* The smallest distance of steps at which an element of x may share bytes with one of out: larger ones lie further
   * beyond. */
  const offset distance = (far - size) / step + 1;
  return distance >= n || distance * step - far >= size ? n : (int64_t)distance;
}

static range span_of(const rm_grid *a, int size) {
  range r = {(offset)(intptr_t)a->base, (offset)(intptr_t)a->base + size};
  for (int i = 0; i < a->rank; i++) {
    const offset move = (offset)a->stride[i] * (a->size[i] - 1);
    *(move < 0 ? &r.low : &r.high) += move;
  }
  return r;
}

int rm_spans_meet(const rm_grid *a, int size_a, const rm_grid *b, int size_b) {
  const range p = span_of(a, size_a), q = span_of(b, size_b);
  return p.low < q.high && q.low < p.high;
}

int rm_grid_may_overlap_itself(const rm_grid *a, int size) {
  unsigned used = 0;
  offset reach = size;
  for (;;) { /* the shortest of the axes that remain */
    int best = -1;
    for (int i = 0; i < a->rank; i++)
      if (!(used >> i & 1u) && a->size[i] > 1 && (best < 0 || magnitude(a->stride[i]) < magnitude(a->stride[best]))) best = i;
    if (best < 0) return 0;
    if (magnitude(a->stride[best]) < reach) return 1;
    reach += magnitude(a->stride[best]) * (a->size[best] - 1);
    used |= 1u << best;
  }
}
