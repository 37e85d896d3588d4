/* Transforms modulo primes (residues.h). */
#include "residues.h"

#include <stdlib.h>

#include "../../crlibm/fp/round.h"

static uint64_t reduce(const rm_fft_modulus *q, rm_u128 t) { /* t 2^-64, for t < 2^64 p */
  const uint64_t m = (uint64_t)t * q->inverse;
  const uint64_t r = (uint64_t)((t + (rm_u128)m * q->p) >> 64); /* t + m p < 2^127 */
  return r >= q->p ? r - q->p : r;
}
static uint64_t times(const rm_fft_modulus *q, uint64_t a, uint64_t b) { return reduce(q, (rm_u128)a * b); }
static uint64_t plus(const rm_fft_modulus *q, uint64_t a, uint64_t b) {
  const uint64_t s = a + b;
  return s >= q->p ? s - q->p : s;
}
static uint64_t minus(const rm_fft_modulus *q, uint64_t a, uint64_t b) { return a >= b ? a - b : a + q->p - b; }
static uint64_t power(const rm_fft_modulus *q, uint64_t a, uint64_t e) {
  uint64_t r = q->one;
  for (; e; e >>= 1, a = times(q, a, a))
    if (e & 1) r = times(q, r, a);
  return r;
}

static rm_fft_modulus modulus_of(uint64_t p) {
  rm_fft_modulus q = {.p = p};
  uint64_t inverse = 1;
  for (int i = 0; i < 6; i++) inverse *= 2 - p * inverse; /* Newton: 1, 2, 4 ... 64 bits are right */
  q.inverse = 0 - inverse;
  q.one = (uint64_t)(((rm_u128)1 << 64) % p);
  q.square = (uint64_t)((rm_u128)q.one * q.one % p);
  return q;
}

uint64_t rm_fft_residue(const rm_fft_modulus *q, uint64_t m, int64_t e) {
  const uint64_t two = plus(q, q->one, q->one);
  return times(q, times(q, m % q->p, q->square), power(q, two, (uint64_t)e));
}
uint64_t rm_fft_residue_product(const rm_fft_modulus *q, uint64_t a, uint64_t b) { return times(q, a, b); }
uint64_t rm_fft_residue_negative(const rm_fft_modulus *q, uint64_t a) { return minus(q, 0, a); }

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

/* Whether p is a prime: the test of Miller and Rabin to the first 12 primes as bases leaves no composite number below 2^64
 * (Sorenson and Webster 2015). */
static int is_prime(uint64_t p) {
  static const uint64_t bases[12] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  const rm_fft_modulus q = modulus_of(p);
  const uint64_t minus_one = p - q.one;
  const int twos = rm_ctz64(p - 1);
  for (int i = 0; i < 12; i++) {
    if (p % bases[i] == 0) return 0;
    uint64_t x = power(&q, times(&q, bases[i], q.square), (p - 1) >> twos);
    int passed = x == q.one || x == minus_one;
    for (int k = 1; k < twos && !passed; k++) {
      x = times(&q, x, x);
      passed = x == minus_one;
    }
    if (!passed) return 0;
  }
  return 1;
}

/* An element of order m, which divides p - 1. */
static uint64_t root_of_unity(const rm_fft_modulus *q, uint64_t m) {
  for (uint64_t g = 2;; g++) {
    const uint64_t h = power(q, times(q, g, q->square), (q->p - 1) / m);
    uint64_t rest = m;
    int whole = 1;
    for (uint64_t f = 2; rest > 1 && whole; f++) {
      if (f * f > rest) f = rest;
      if (rest % f) continue;
      whole = power(q, h, m / f) != q->one;
      while (rest % f == 0) rest /= f;
    }
    if (whole) return h;
  }
}

/* What the transform of one axis uses: roots of unity of its length, w^i at root[i step]. */
typedef struct {
  const rm_fft_modulus *q;
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
    for (int64_t j = 0; j < r; j++) v[j] = times(t->q, out[j * m + k], t->root[j * k * stride * t->step]);
    for (int64_t i = 0; i < r; i++) {
      uint64_t sum = v[0];
      for (int64_t j = 1, at = i; j < r; j++, at = at + i >= r ? at + i - r : at + i)
        sum = plus(t->q, sum, at ? times(t->q, v[j], t->root[at * m * stride * t->step]) : v[j]);
      out[i * m + k] = sum;
    }
  }
}

/* All axes. line: twice the longest length, and the scratch after it. */
static void transform_all(const rm_fft_modulus *q, const rm_fft_problem *p, uint64_t *x, const uint64_t *root, int64_t order,
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
static uint64_t residue_of(const rm_fft_modulus *q, double x, int unit, int weight) {
  int e;
  if (x == 0.0) return 0;
  uint64_t m = rm_decompose(x, &e);
  const int cut = e < unit ? unit - e : 0;
  const uint64_t r = rm_fft_residue(q, (m >> cut) * (uint64_t)weight, e + cut - unit);
  return x < 0.0 ? rm_fft_residue_negative(q, r) : r;
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
  uint64_t candidate = (below - 2) / (uint64_t)all * (uint64_t)all + 1;
  if (candidate >= below) candidate -= (uint64_t)all;
  while (!is_prime(candidate)) candidate -= (uint64_t)all;
  r->q = modulus_of(candidate);
  const rm_fft_modulus *const q = &r->q;
  const uint64_t whole = root_of_unity(q, (uint64_t)all), i = power(q, whole, (uint64_t)all / 4);
  uint64_t w = power(q, whole, (uint64_t)(all / order));
  if (!p->inverse) w = power(q, w, (uint64_t)(order - 1)); /* the sign of the exponent */
  root[0] = q->one;
  for (int64_t j = 1; j < order; j++) root[j] = times(q, root[j - 1], w);
  for (int64_t j = 0; j < n; j++) {
    const int weight = rm_fft_weight(p, j % last);
    const uint64_t x = residue_of(q, re[j], unit, weight), y = times(q, i, residue_of(q, im[j], unit, weight));
    a[j] = plus(q, x, y), b[j] = minus(q, x, y);
  }
  transform_all(q, p, a, root, order, line);
  transform_all(q, p, b, root, order, line);
  const uint64_t minus_i = minus(q, 0, i);
  for (int64_t k = 0; k < n; k++) {
    const uint64_t conjugate = b[opposite(p, k)];
    r->part[k] = plus(q, a[k], conjugate);
    r->part[n + k] = times(q, minus_i, minus(q, a[k], conjugate));
  }
  free(memory);
  return 1;
}
