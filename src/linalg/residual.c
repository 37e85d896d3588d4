/* Let P A = L U + R for approximate factors, an exact equation, M ~ (L U)^-1, and |.| the square root of the sum of a
 * matrix's squares, for which |A B| <= |A| |B|, |tr(A B)| <= |A| |B| and |tr(E^k)| <= |E|^k, k > 1. R is small: what
 * compensated sums say of it is right within `off`. Then det(P A) = u_11 ... u_nn D, and log D follows from R M in two ways.
 *
 * L U M = I - G gives D = det(I + E), E = R (L U)^-1 = R M + R M G (I - G)^-1. L X = I + G1 and U Y = I + G2 are within the
 * units of triangular solutions, M = Y X + G3 within a product's, so that with the larger one, c,
 *   |G|_ij <= c (I + 2 |L| |X| + 2 |L| |U| |Y| |X|)_ij.
 * Sums of these rows are products with vectors: it takes no product of matrices to know that
 *   log D = tr(R M) within |R M| g/(1 - g) + |E|^2/(2 (1 - |E|)),   |E| <= |R M|/(1 - g),   |R M| <= |R| |M|,   g >= |G|.
 *
 * P A M = I - H gives 1/D = det(I - F), F = R (P A)^-1 = R M + R M H (I - H)^-1, for better bounds when H and R M are
 * computed:
 *   log D = tr F + tr(F^2)/2 within |F|^3/(3 (1 - |F|)). */
#include "residual.h"

#include <string.h>

#include "../../crlibm/fp/exact.h"
#include "approximate.h"
#include "kernels.h"

enum { BLOCK = 64, PARTS = 8 }; /* rows and columns of a block; columns whose sums run beside each other */
/* All norms are below 2^40, or there is no hope; what underflows in products of three of them is less than that. */
#define RM_LINALG_TINY 0x1p-900
#define RM_LINALG_LARGE 0x1p40

static double above(double sum, int64_t n) { return sum * (1.0 + (double)(n + 16) * 0x1p-52); }

/* What underflows is below 2^-1074 for each of n numbers. */
static double norm(int64_t n, const double *a) {
  return above(__builtin_sqrt(above(rm_sum_of_magnitudes(n, a, a), n) + 0x1p-1000), n);
}

/* to = |M| from, from above. */
static void multiply(int64_t n, const double *m, const double *from, double *to) {
  for (int64_t i = 0; i < n; i++) to[i] = above(rm_sum_of_magnitudes(n, m + i * n, from), n) + RM_LINALG_TINY;
}

/* The triangles of the factors by themselves, and P A where they have been. */
static void part_factors(rm_det_workspace *w, double *l, double *u) {
  const int64_t n = w->n;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      const double x = w->pa[i * n + j];
      l[i * n + j] = j < i ? x : j == i ? 1.0 : 0.0;
      u[i * n + j] = j < i ? 0.0 : x;
    }
  for (int64_t i = 0; i < n; i++) {
    w->diagonal[i] = u[i * n + i];
    memcpy(w->pa + i * n, w->a.a + w->place[i] * n, (size_t)n * sizeof *w->pa);
  }
}

/* c + a b, or c - a b, blocks of it by themselves: of two triangles, what is not 0. up: the first has zeros below. */
static void multiply_triangles(rm_linalg_product p, int up, void (*kernel)(const rm_linalg_product *)) {
  const int64_t n = p.n;
  for (int64_t i = 0; i < n; i += BLOCK)
    for (int64_t j = 0; j < n; j += BLOCK) {
      rm_linalg_product part = p;
      const int64_t least = i < j ? i : j, from = up ? i + j - least : 0, end = up || least + BLOCK > n ? n : least + BLOCK;
      part.m = n - i < BLOCK ? n - i : BLOCK, part.n = n - j < BLOCK ? n - j : BLOCK, part.k = end - from;
      part.a += i * n + from, part.b += from * n + j, part.c += i * n + j;
      if (part.low) part.low += i * n + j;
      kernel(&part);
    }
}

/* g^2 is at most the sum of squares of the rows' sums. */
static double bound_of_inverse(const rm_det_workspace *w, const double *l, const double *u) {
  const int64_t n = w->n;
  double *const one = w->one, *const two = w->other, *const rows = w->rows;
  for (int64_t i = 0; i < n; i++) two[i] = 1.0;
  multiply(n, w->x, two, one);
  multiply(n, l, one, rows);
  multiply(n, w->y, one, two);
  multiply(n, u, two, one);
  multiply(n, l, one, two);
  for (int64_t i = 0; i < n; i++) rows[i] = 1.0 + 2.0 * (rows[i] + two[i]);
  return above(RM_BOUND(rm_approximate_unit(n)) * norm(n, rows), n) + RM_LINALG_TINY;
}

int rm_det_factor(rm_det_workspace *w, rm_det_residual *v) {
  const int64_t n = w->n, count = n * n;
  const size_t bytes = (size_t)count * sizeof *w->s;
  const struct rm_linalg_kernels *kernels = rm_linalg_kernels();
  double *const l = w->e, *const u = w->e_low, *const m = w->t;
  memcpy(w->pa, w->a.a, bytes);
  if (!rm_approximate_lu(n, w->pa, w->place, &w->odd)) return -1;
  rm_approximate_lower_inverse(n, w->pa, 1, w->x);
  rm_approximate_upper_inverse(n, w->pa, w->y);
  part_factors(w, l, u);
  memcpy(w->s, w->pa, bytes), memset(m, 0, bytes);
  const rm_linalg_product residual = {n, n, n, l, n, u, n, 1, w->s, m, n, NULL};
  multiply_triangles(residual, 0, kernels->pair);
  for (int64_t i = 0; i < count; i++) w->s[i] += m[i];
  memset(m, 0, bytes);
  const rm_linalg_product inverse = {n, n, n, w->y, n, w->x, n, 0, m, NULL, n, NULL};
  multiply_triangles(inverse, 1, kernels->plain);
  const double of_l = norm(count, l), of_u = norm(count, u), of_x = norm(count, w->x), of_y = norm(count, w->y);
  v->a = norm(count, w->pa), v->m = norm(count, m);
  const double r = norm(count, w->s);
  if (!(of_l < RM_LINALG_LARGE && of_u < RM_LINALG_LARGE && of_x < RM_LINALG_LARGE && of_y < RM_LINALG_LARGE &&
        v->m < RM_LINALG_LARGE && r < RM_LINALG_LARGE))
    return 0;
  const double off = RM_BOUND(rm_linalg_pair_unit(n, 1)) * (v->a + of_l * of_u) + 0x1.01p-53 * r;
  v->r = r, v->off = above(off, n) + RM_LINALG_TINY;
  v->g = bound_of_inverse(w, l, u);
  return v->g < 0.125;
}

/* tr(A B), a column of B beside seven others; each term passes at most 2 n + 1 roundings. */
static double trace_of_product(int64_t n, const double *a, const double *b) {
  double trace = 0.0;
  for (int64_t i = 0; i < n; i += PARTS) {
    const int64_t rows = n - i < PARTS ? n - i : PARTS;
    double part[PARTS] = {0.0};
    for (int64_t j = 0; j < n; j++)
      for (int64_t c = 0; c < rows; c++) part[c] += a[(i + c) * n + j] * b[j * n + i + c];
    for (int64_t c = 0; c < rows; c++) trace += part[c];
  }
  return trace;
}

/* With g < 1/8, 1/(1 - g) <= 1.15; E < 2^-10, so that 1/(2 (1 - E)) < 0.501. */
static int quickly(const rm_det_workspace *w, const rm_det_residual *v, rm_det_enclosure *f) {
  const int64_t n = w->n;
  const double trace = trace_of_product(n, w->s, w->t);
  const double size = v->r * v->m, lacks = v->off * v->m, all = (size + lacks) * 1.15;
  if (!(all < 0x1p-10)) return 0;
  const double quick_err = all * v->g + lacks + (double)(n + 1) * 0x1.01p-52 * size + 0.501 * all * all;
  return rm_det_exponential(trace, 0.0, quick_err + RM_LINALG_TINY, 1.0 + 0x1p-40, f);
}

/* H and R M by products. `apart` is how far F is from the computed R M. */
static int thoroughly(const rm_det_workspace *w, const rm_det_residual *v, rm_det_enclosure *f) {
  const int64_t n = w->n, count = n * n;
  double *const product = w->e, *const h = w->e_low, unit = RM_BOUND(rm_linalg_plain_unit(n));
  memset(product, 0, (size_t)count * sizeof *product), memset(h, 0, (size_t)count * sizeof *h);
  for (int64_t i = 0; i < n; i++) h[i * n + i] = 1.0;
  const rm_linalg_product of_h = {n, n, n, w->pa, n, w->t, n, 1, h, NULL, n, NULL},
                          of_r = {n, n, n, w->s, n, w->t, n, 0, product, NULL, n, NULL};
  rm_linalg_kernels()->plain(&of_h);
  rm_linalg_kernels()->plain(&of_r);
  const double root = above(__builtin_sqrt((double)n), n), size = norm(count, product),
               of_inverse = norm(count, h) + unit * (root + v->a * v->m);
  double trace = 0.0, sum = 0.0;
  for (int64_t i = 0; i < n; i++) trace += product[i * n + i], sum += __builtin_fabs(product[i * n + i]);
  const double square = trace_of_product(n, product, product);
  const double lacks = unit * v->r * v->m + v->off * v->m, all = (size + lacks) * 1.15, turned = all * of_inverse,
               apart = lacks + turned;
  if (!(of_inverse < 0.124 && all < 0x1p-10)) return 0;
  const double err = (double)n * 0x1.01p-53 * sum + root * lacks + turned + (double)(n + 1) * 0x1.01p-53 * size * size +
                     size * apart + 0.5 * apart * apart + 0.34 * all * all * all;
  double low;
  const double high = rm_two_sum(trace, 0.5 * square, &low);
  return rm_det_exponential(high, low, err + RM_LINALG_TINY, 1.0 + 0x1p-40, f);
}

int rm_det_by_residual(const rm_det_workspace *w, const rm_det_residual *v, int thorough, rm_det_enclosure *f) {
  return thorough ? thoroughly(w, v, f) : quickly(w, v, f);
}
