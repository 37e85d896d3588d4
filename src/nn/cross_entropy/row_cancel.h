/* Finds which logarithms of a total of cross entropy cancel exactly, on the host. cross_entropy/row.h includes this file.
 *
 * A total is rational plus the sum of Q_k log P_k over rows k, P_k = sum of e^(x_j - m), Q_k rational. It is rational only if
 * that sum is 0 (logarithms.h). Two searches find where it is, and note what they find for each row:
 *   - where the Q_k of rows with the same x_j - m, in any order, add up to 0, their logarithms are left out. This search
 *     takes little time, and comes before any evaluation in balls;
 *   - products of different P_k may be equal, too, such as (1 + u)^2 and 1 + 2 u + u^2 of the rows (0, 1) and (0, 1, 1, 2).
 *     This search takes longer, so that only totals that are undecided below RM_ENTROPY_RELATION_LIMBS have it. Where the sum
 *     of all logarithms is 0, they are left out. Let H_k be the terms of P_k that are not below e^RM_EXP_TAIL: where the sum
 *     of all log H_k is 0, log(1 + (P_k - H_k)/H_k) remains of log P_k. It is less than P_k - H_k, and so a part of the
 *     total's tail (tail.inc). */
#pragma once

#include <stdlib.h>

#include "logarithms.h"

typedef struct {
  uint64_t hash;
  int64_t row;
} rm_entropy_hashed;

static int rm_entropy_by_hash(const void *a, const void *b) {
  const rm_entropy_hashed *x = (const rm_entropy_hashed *)a, *y = (const rm_entropy_hashed *)b;
  return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : (x->row > y->row) - (x->row < y->row);
}

static int rm_entropy_descending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* The finite x_j - m of a row, greatest first, each in two parts that are exact, to d. Returns how many numbers these are, 0
 * where the row does not count. A difference that overflows is -infinity. */
static int64_t rm_entropy_differences(rm_entropy_exact *r, int64_t row, double *d) {
  const int64_t n = r->row.f->p.n;
  double *const x = d + n;
  int64_t count = 0;
  if (!rm_load_entropy(&r->row, row)) return 0;
  for (int64_t j = 0; j < n; j++)
    if (rm_is_finite(r->row.x[j])) x[count++] = r->row.x[j];
  qsort(x, (size_t)count, sizeof *x, rm_entropy_descending);
  const double m = x[0];
  for (int64_t j = 0; j < count; j++) { /* d[2 j + 1] does not reach x[j + 1], j < n */
    double low;
    const double high = rm_two_sum(x[j], -m, &low);
    d[2 * j] = high, d[2 * j + 1] = rm_is_finite(high) ? low + 0.0 : 0.0;
  }
  return 2 * count;
}

static uint64_t rm_entropy_hash(const double *d, int64_t count) {
  uint64_t hash = (uint64_t)count;
  for (int64_t j = 0; j < count; j++) {
    hash = (hash ^ rm_bits64(d[j])) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 29;
  }
  return hash;
}

/* Adds a row with these differences to the list. 0 where it cannot. */
static int rm_entropy_list(rm_logarithms *s, const double *d, int64_t length, const rm_ball *q, rm_row_state *state) {
  if (!rm_logarithms_grow(s, length / 2, state)) return 0;
  rm_logarithm *const row = &s->row[s->rows++];
  rm_ball_copy(&row->factor, q);
  row->first = s->terms;
  for (int64_t j = 0; j < length; j += 2) {
    rm_logarithm_term *const last = &s->term[s->terms - 1];
    if (j > 0 && last->high == d[j] && last->low == d[j + 1]) last->count++;
    else s->term[s->terms++] = (rm_logarithm_term){d[j], d[j + 1], 1};
  }
  row->end = s->terms;
  return 1;
}

/* Groups rows by their differences. With a list s, adds the rows whose logarithms are not left out to it, one for each group;
 * without, marks in `cancels` the rows whose logarithms are left out. 0 where the list has no room, or memory runs out: then
 * state says so. */
static int rm_entropy_alike(rm_entropy_exact *r, char *cancels, rm_logarithms *s, rm_row_state *state) {
  const size_t rows = (size_t)r->row.f->p.rows + 1, room = 2 * (size_t)r->row.f->p.n + 1;
  rm_entropy_hashed *order = (rm_entropy_hashed *)malloc(rows * sizeof *order);
  double *own = (double *)malloc(2 * room * sizeof *own), *others = own + room;
  int64_t count = 0, end;
  int listed = order && own;
  if (!listed) {
    state->failure |= RM_ROW_NO_MEMORY;
  } else {
    for (int64_t k = 0; k < r->row.f->p.rows; k++) {
      const int64_t length = rm_entropy_differences(r, k, own);
      if (length) order[count].hash = rm_entropy_hash(own, length), order[count++].row = k;
    }
    qsort(order, (size_t)count, sizeof *order, rm_entropy_by_hash);
  }
  for (int64_t first = 0; first < count && listed; first = end) {
    rm_ball sum, q;
    const int64_t length = rm_entropy_differences(r, order[first].row, own);
    rm_class_weights_ball(&sum, &r->row, RM_BALL_LIMBS);
    int alike = rm_is_finite(own[length - 2]); /* no difference has overflowed */
    for (end = first + 1; end < count && order[end].hash == order[first].hash; end++) {
      alike = alike && rm_entropy_differences(r, order[end].row, others) == length;
      for (int64_t j = 0; alike && j < length; j++) alike = own[j] == others[j];
      if (!alike) continue;
      rm_class_weights_ball(&q, &r->row, RM_BALL_LIMBS);
      rm_ball_add(&sum, &sum, &q);
    }
    if (!s) {
      for (int64_t i = first; i < end && alike; i++) cancels[order[i].row] = rm_ball_is_zero(&sum) ? RM_ENTROPY_LEFT_OUT : 0;
    } else if (alike) {
      if (!rm_ball_is_zero(&sum)) listed = rm_entropy_list(s, own, length, &sum, state);
    } else {
      for (int64_t i = first; i < end && listed; i++) {
        const int64_t its = rm_entropy_differences(r, order[i].row, own);
        rm_class_weights_ball(&q, &r->row, RM_BALL_LIMBS);
        listed = rm_entropy_list(s, own, its, &q, state);
      }
    }
  }
  free(order);
  free(own);
  return listed;
}

/* A mark for each row: RM_ENTROPY_LEFT_OUT where its logarithm cancels with those of rows of the same differences, else 0.
 * The caller frees it. NULL without memory: then state says so. r is begun. */
static char *rm_entropy_rows_that_cancel(rm_entropy_exact *r, rm_row_state *state) {
  char *cancels = (char *)calloc((size_t)r->row.f->p.rows + 1, 1);
  if (!cancels) state->failure |= RM_ROW_NO_MEMORY;
  if (cancels && rm_entropy_alike(r, cancels, NULL, state)) return cancels;
  free(cancels);
  return NULL;
}

/* Searches all other rows together for a relation, once. */
static void rm_entropy_relate(rm_entropy_exact *r) {
  rm_row_state *const state = r->row.state;
  rm_logarithms s = {NULL, NULL, 0, 0, 0, 0};
  int found = 0;
  r->related = 1;
  if (rm_entropy_alike(r, r->cancels, &s, state)) {
    if (rm_logarithms_cancel(&s, -rm_dd_ball_infinity(), state)) found = RM_ENTROPY_LEFT_OUT;
    else if (rm_logarithms_cancel(&s, RM_EXP_TAIL, state)) found = RM_ENTROPY_TAIL;
  }
  for (int64_t k = 0; k < r->row.f->p.rows && found; k++)
    if (r->cancels[k] != RM_ENTROPY_LEFT_OUT) r->cancels[k] = (char)found;
  rm_logarithms_free(&s);
}
