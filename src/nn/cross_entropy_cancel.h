/* Which logarithms of a total of cross entropy cancel exactly, on the host. Included by cross_entropy_rows.h.
 *
 * A total is rational plus the sum of Q_k log P_k over rows k, P_k = sum of e^(x_j - m), Q_k rational. With a suitable u = e^(1/N), which is
 * transcendental (Lindemann), every P_k is a polynomial in 1/u: the total is rational only where the product of P_k^(Q_k N') is a power of u
 * identically. That it is where the Q_k of rows with the same x_j - m, in any order, add up to 0; their logarithms are left out. Products of different
 * polynomials may be equal, too, as (1 + u)^2 and 1 + 2 u + u^2 of rows (0, 1) and (0, 1, 1, 2): no such relation is looked for, and a total that
 * is a boundary of rounding by one is undecided (decide.h). */
#ifndef RM_NN_CROSS_ENTROPY_CANCEL_H
#define RM_NN_CROSS_ENTROPY_CANCEL_H

#include <stdlib.h>

typedef struct {
  uint64_t hash;
  int64_t row;
} entropy_hashed;

static int entropy_by_hash(const void *a, const void *b) {
  const entropy_hashed *x = (const entropy_hashed *)a, *y = (const entropy_hashed *)b;
  return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : (x->row > y->row) - (x->row < y->row);
}

static int entropy_descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* The finite x_j - m of a row, greatest first, each in two parts that are exact, to d; how many numbers that is. 0 where the row does not count, and
 * where a difference overflows: that row is taken for one without equals. */
static int64_t entropy_differences(rm_entropy_exact *r, int64_t row, double *d) {
  const int64_t n = r->row.f->p.n;
  double *const x = d + n;
  int64_t count = 0;
  if (!load_entropy(&r->row, row)) return 0;
  for (int64_t j = 0; j < n; j++)
    if (r->row.x[j] - r->row.x[j] == 0.0) x[count++] = r->row.x[j];
  qsort(x, (size_t)count, sizeof *x, entropy_descending);
  const double m = x[0];
  for (int64_t j = 0; j < count; j++) { /* d[2 j + 1] does not reach x[j + 1], j < n */
    double low;
    const double high = rm_near_two_sum(x[j], -m, &low);
    if (high - high != 0.0) return 0;
    d[2 * j] = high, d[2 * j + 1] = low + 0.0;
  }
  return 2 * count;
}

static uint64_t entropy_hash(const double *d, int64_t count) {
  uint64_t hash = (uint64_t)count;
  for (int64_t j = 0; j < count; j++) {
    hash = (hash ^ rm_bits64(d[j])) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

/* For each row 1 where its logarithm cancels with others, else 0; to be freed. NULL without memory: then state says so. r is begun. */
static char *rm_entropy_rows_that_cancel(rm_entropy_exact *r, rm_row_state *state) {
  const size_t rows = (size_t)r->row.f->p.rows + 1, room = 2 * (size_t)r->row.f->p.n + 1;
  char *cancels = (char *)calloc(rows, 1);
  entropy_hashed *order = (entropy_hashed *)malloc(rows * sizeof *order);
  double *own = (double *)malloc(2 * room * sizeof *own), *others = own + room;
  int64_t count = 0, end;
  if (!cancels || !order || !own) {
    free(cancels);
    cancels = NULL;
    state->undecided |= RM_ROW_NO_MEMORY;
  } else {
    for (int64_t k = 0; k < r->row.f->p.rows; k++) {
      const int64_t length = entropy_differences(r, k, own);
      if (length) order[count].hash = entropy_hash(own, length), order[count++].row = k;
    }
    qsort(order, (size_t)count, sizeof *order, entropy_by_hash);
  }
  for (int64_t first = 0; first < count; first = end) {
    rm_ball sum, q;
    const int64_t length = entropy_differences(r, order[first].row, own);
    rm_class_weights_ball(&sum, &r->row, RM_BALL_LIMBS);
    int alike = 1;
    for (end = first + 1; end < count && order[end].hash == order[first].hash; end++) {
      alike = alike && entropy_differences(r, order[end].row, others) == length;
      for (int64_t j = 0; alike && j < length; j++) alike = own[j] == others[j];
      rm_class_weights_ball(&q, &r->row, RM_BALL_LIMBS);
      rm_ball_add(&sum, &sum, &q);
    }
    for (int64_t i = first; i < end && alike; i++) cancels[order[i].row] = rm_ball_is_zero(&sum);
  }
  free(order);
  free(own);
  return cancels;
}

#endif
