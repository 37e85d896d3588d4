/* Transforms modulo primes (residues.h). */
#include "residues.h"

#include <stdlib.h>

#include "../../crlibm/fp/round.h"

uint64_t rm_fft_residue(const rm_modulus *q, uint64_t m, int64_t e) {
  const uint64_t two = rm_mod_add(q, q->one, q->one);
  return rm_mod_mul(q, rm_mod_of(q, m), rm_mod_power(q, two, (uint64_t)e));
}
int64_t rm_fft_gcd(int64_t a, int64_t b) {
  while (b) {
    const int64_t r = a % b;
    a = b, b = r;
  }
  return a;
}
int64_t rm_fft_order(const rm_fft_problem *p) {
  int64_t order = 1;
  for (int axis = 0; axis < p->rank; axis++) order *= p->length[axis] / rm_fft_gcd(order, p->length[axis]);
  return order;
}

/* An element of order m, which divides p - 1. */
static uint64_t root_of_unity(const rm_modulus *q, uint64_t m) {
  for (uint64_t g = 2;; g++) {
    const uint64_t h = rm_mod_power(q, rm_mod_of(q, g), (q->p - 1) / m);
    uint64_t rest = m;
    int whole = 1;
    for (uint64_t f = 2; rest > 1 && whole; f++) {
      if (f * f > rest) f = rest;
      if (rest % f) continue;
      whole = rm_mod_power(q, h, m / f) != q->one;
      while (rest % f == 0) rest /= f;
    }
    if (whole) return h;
  }
}

/* What the transform of one axis uses: roots of unity of its length, w^i at root[i step]. */
typedef struct {
  const rm_modulus *q;
  const uint64_t *root;
  int64_t n, step;
  uint64_t *scratch; /* n */
} axis_roots;

/* out[k] = sum over j < n of x[j stride] w_n^(j k), where the length of the axis is n times `stride`: by its smallest
 * factor. */
static void transform(const axis_roots *t, int64_t n, const uint64_t *x, int64_t stride, uint64_t *out) {
  int64_t r = 2;
  if (n == 1) {
    out[0] = x[0];
    return;
  }
  while (n % r) r = r * r > n ? n : r + 1;
  const int64_t m = n / r;
  for (int64_t j = 0; j < r; j++) transform(t, m, x + j * stride, stride * r, out + j * m);
  for (int64_t k = 0; k < m; k++) {
    uint64_t *const v = t->scratch;
    for (int64_t j = 0; j < r; j++) v[j] = rm_mod_mul(t->q, out[j * m + k], t->root[j * k * stride * t->step]);
    for (int64_t i = 0; i < r; i++) {
      uint64_t sum = v[0];
      for (int64_t j = 1, at = i; j < r; j++, at = at + i >= r ? at + i - r : at + i)
        sum = rm_mod_add(t->q, sum, at ? rm_mod_mul(t->q, v[j], t->root[at * m * stride * t->step]) : v[j]);
      out[i * m + k] = sum;
    }
  }
}

/* All axes. line: twice the longest length, and the scratch after it. */
static void transform_all(const rm_modulus *q, const rm_fft_problem *p, uint64_t *x, const uint64_t *root, int64_t order,
                          uint64_t *line) {
  int64_t inner = p->n;
  for (int axis = 0; axis < p->rank; axis++) {
    const int64_t n = p->length[axis], block = inner;
    inner /= n;
    const axis_roots t = {q, root, n, order / n, line + 2 * n};
    for (int64_t begin = 0; begin < p->n; begin += block)
      for (int64_t i = 0; i < inner; i++) {
        uint64_t *const at = x + begin + i;
        for (int64_t j = 0; j < n; j++) line[j] = at[j * inner];
        transform(&t, n, line, 1, line + n);
        for (int64_t j = 0; j < n; j++) at[j * inner] = line[n + j];
      }
  }
}

/* x 2^-unit, an integer, times `weight`. */
static uint64_t residue_of(const rm_modulus *q, double x, int unit, int weight) {
  int e;
  if (x == 0.0) return 0;
  uint64_t m = rm_decompose(x, &e);
  const int cut = e < unit ? unit - e : 0;
  const uint64_t r = rm_fft_residue(q, (m >> cut) * (uint64_t)weight, e + cut - unit);
  return x < 0.0 ? rm_mod_sub(q, 0, r) : r;
}

/* The index of -k. */
static int64_t opposite(const rm_fft_problem *p, int64_t k) {
  int64_t r = 0, block = 1;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis], i = k % n;
    k /= n;
    r += (i ? n - i : 0) * block;
    block *= n;
  }
  return r;
}

int rm_fft_residues_make(rm_fft_residues *r, const rm_fft_problem *p, const double *re, const double *im, int unit,
                         uint64_t below) {
  const int64_t order = rm_fft_order(p), all = order * (4 / rm_fft_gcd(order, 4)), n = p->n, last = p->length[p->rank - 1];
  int64_t longest = 1;
  for (int axis = 0; axis < p->rank; axis++)
    if (p->length[axis] > longest) longest = p->length[axis];
  uint64_t *const memory = malloc((size_t)(2 * n + order + 3 * longest) * sizeof *memory);
  r->part = malloc((size_t)(2 * n) * sizeof *r->part);
  if (!memory || !r->part) {
    free(memory);
    free(r->part);
    r->part = NULL;
    return 0;
  }
  uint64_t *const a = memory, *const b = memory + n, *const root = memory + 2 * n, *const line = root + order;
  const uint64_t step = (uint64_t)all;
  r->q = rm_prime_below((below - 2) / step * step + 1 + step, step); /* 1 modulo all, and below */
  const rm_modulus *const q = &r->q;
  const uint64_t whole = root_of_unity(q, (uint64_t)all), i = rm_mod_power(q, whole, (uint64_t)all / 4);
  uint64_t w = rm_mod_power(q, whole, (uint64_t)(all / order));
  if (!p->inverse) w = rm_mod_power(q, w, (uint64_t)(order - 1)); /* the sign of the exponent */
  root[0] = q->one;
  for (int64_t j = 1; j < order; j++) root[j] = rm_mod_mul(q, root[j - 1], w);
  for (int64_t j = 0; j < n; j++) {
    const int weight = rm_fft_weight(p, j % last);
    const uint64_t x = residue_of(q, re[j], unit, weight), y = rm_mod_mul(q, i, residue_of(q, im[j], unit, weight));
    a[j] = rm_mod_add(q, x, y), b[j] = rm_mod_sub(q, x, y);
  }
  transform_all(q, p, a, root, order, line);
  transform_all(q, p, b, root, order, line);
  const uint64_t minus_i = rm_mod_sub(q, 0, i);
  for (int64_t k = 0; k < n; k++) {
    const uint64_t conjugate = b[opposite(p, k)];
    r->part[k] = rm_mod_add(q, a[k], conjugate);
    r->part[n + k] = rm_mod_mul(q, minus_i, rm_mod_sub(q, a[k], conjugate));
  }
  free(memory);
  return 1;
}
