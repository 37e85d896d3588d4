/* Whether a sum of parts over roots, P_k / sqrt(q_k) with rational P_k and q_k, is rational, and then its value: exactly, on
 * the host. Included by norm/weight_row.h.
 *
 * Roots of numbers of which no two have a quotient that is a square are linearly independent over the rationals (Besicovitch,
 * On the linear independence of fractional powers of integers, 1940). So the parts of each class, numbers q that are a square
 * times each other, are brought over one root, P sqrt(q' q)/q over sqrt(q') for q' of the class; the sum is rational only if
 * those of every class but that of 1 add up to 0. Sets are put in order by residues: whether q is a square modulo a prime
 * that does not divide it is the same for all q of a class. All this is exact, or else the sum is not known to be rational:
 * where a common denominator takes more than RM_BALL_LIMBS, or a prime divides some q. */
#pragma once

#include <stdlib.h>

#include "../cross_entropy/divisor.h"

typedef struct {
  uint32_t residues;
  char done;
  int64_t set;
} rm_weight_set;

/* The Jacobi symbol (a/m), m odd: 1, -1, or 0 where they have a common divisor. */
static int rm_jacobi(uint64_t a, uint64_t m) {
  int sign = 1;
  for (a %= m; a != 0; a %= m) {
    for (; a % 2 == 0; a /= 2)
      if (m % 8 == 3 || m % 8 == 5) sign = -sign;
    const uint64_t t = a;
    if (a % 4 == 3 && m % 4 == 3) sign = -sign;
    a = m, m = t;
  }
  return m == 1 ? sign : 0;
}

/* For each of 32 primes below 2^31 a bit: q > 0, exact, is no square modulo it. */
static uint32_t rm_residues_of(const rm_ball *q) {
  static const uint16_t below[] = {1,   19,  61,  69,  85,  99,  105, 151, 159, 171, 225, 249, 295, 325, 379, 399,
                                   411, 469, 477, 511, 525, 571, 579, 589, 595, 615, 619, 697, 699, 705, 711, 727};
  uint32_t bits = 0;
  for (int k = 0; k < 32; k++) {
    const uint64_t prime = (UINT64_C(1) << 31) - below[k];
    uint64_t rest = 0;
    for (int i = q->length - 1; i >= 0; i--) {
      rest = (rest << 32 | q->m[i] >> 32) % prime;
      rest = (rest << 32 | (q->m[i] & 0xffffffff)) % prime;
    }
    if (rm_jacobi(q->e & 1 ? 2 * rest : rest, prime) < 0) bits |= UINT32_C(1) << k;
  }
  return bits;
}

static int rm_compare_residues(const void *a, const void *b) {
  const rm_weight_set *x = (const rm_weight_set *)a, *y = (const rm_weight_set *)b;
  return x->residues != y->residues ? (x->residues > y->residues) - (x->residues < y->residues)
                                    : (x->set > y->set) - (x->set < y->set);
}

/* Divides both by their greatest odd divisor. */
static void rm_without_common(rm_ball *a, rm_ball *b) {
  rm_ball common;
  rm_odd_divisor(&common, a, b);
  rm_ball_div(a, a, &common);
  rm_ball_div(b, b, &common);
}

/* Whether an exact number is a square; then its root, to *root. */
static int rm_integer_square_root(rm_ball *root, const rm_ball *square) {
  rm_ball short_square;
  rm_ball_resize(&short_square, square, square->length + 1);
  rm_ball_sqrt(root, &short_square);
  root->n = RM_BALL_LIMBS;
  return rm_ball_is_exact(root);
}

/* *above / *below += part sqrt(q0 q)/q, where q0 q is a square; all exact: else *above becomes unknown, and also where it
 * would not be. */
static int rm_add_to_class(rm_ball *above, rm_ball *below, const rm_ball *part, const rm_ball *q0, const rm_ball *q) {
  rm_ball root, b, t;
  rm_ball_mul(&t, q0, q);
  if (!rm_ball_is_exact(&t) || !rm_integer_square_root(&root, &t)) return 0;
  rm_ball_copy(&b, q);
  rm_without_common(&root, &b);
  rm_ball_copy(&t, &b);
  rm_without_common(&t, below); /* below / common, b / common */
  rm_ball_mul(above, above, &t);
  rm_ball_mul(&root, &root, below);
  rm_ball_mul(&root, &root, part);
  rm_ball_add(above, above, &root);
  rm_ball_mul(below, below, &b);
  return 1;
}

/* *part and q of a set. */
static void rm_part_of_set(rm_ball *part, rm_weight_sum *r, int64_t set) {
  const rm_weight_range *w = r->range;
  const int64_t width = w->set1_to - w->set1_from;
  rm_norm_weight_part_ball(part, r, set / width, w->set1_from + set % width, RM_BALL_LIMBS);
}

/* 1 where the sum is rational: *value is its quotient. 0 where it is not, or not known to be; state says so where memory
 * lacks. */
static int rm_weight_is_rational(rm_ball *value, rm_weight_sum *r, rm_row_state *state) {
  const int64_t sets = r->f->sets[0] * (r->range->set1_to - r->range->set1_from);
  rm_weight_set *order = (rm_weight_set *)malloc(((size_t)sets + 1) * sizeof *order);
  rm_ball above, below, part, q0, *q = &r->row.ball.square;
  int64_t count = 0;
  int rational = order != NULL;
  if (!order) state->failure |= RM_ROW_NO_MEMORY;
  rm_ball_set(value, 0.0, RM_BALL_LIMBS);
  for (int64_t k = 0; k < sets && rational; k++) {
    rm_part_of_set(&part, r, k);
    rational = rm_ball_is_exact(&part) && rm_ball_is_exact(q);
    if (rational && !rm_ball_is_zero(&part)) order[count++] = (rm_weight_set){rm_residues_of(q), 0, k};
  }
  if (rational) qsort(order, (size_t)count, sizeof *order, rm_compare_residues);
  for (int64_t k = 0; k < count && rational; k++) {
    if (order[k].done) continue;
    rm_part_of_set(&above, r, order[k].set);
    rm_ball_copy(&q0, q);
    rm_ball_set(&below, 1.0, RM_BALL_LIMBS);
    for (int64_t j = k + 1; j < count && order[j].residues == order[k].residues; j++) {
      if (order[j].done) continue;
      rm_part_of_set(&part, r, order[j].set);
      order[j].done = (char)rm_add_to_class(&above, &below, &part, &q0, q);
    }
    rational = rm_ball_is_exact(&above) && rm_ball_is_exact(&below);
    if (!rational || rm_ball_is_zero(&above)) continue;
    rational = rm_integer_square_root(&part, &q0);
    if (!rational) continue;
    rm_ball_mul(&below, &below, &part);
    rm_ball_div(value, &above, &below); /* squares are one class */
  }
  free(order);
  return rational;
}
