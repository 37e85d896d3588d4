/* Searches for relations between logarithms (logarithms.h). */
#include "logarithms.h"

#include <stdlib.h>

#include "../../common/modular.h"
#include "divisor.h"

/* Limits of the work. A step takes some nanoseconds; there are as many as primes, times the degree, times the terms of all
 * rows and 32 for each row. */
static const int64_t max_degree = INT64_C(1) << 20, max_steps = INT64_C(1) << 31;
enum {
  KNOWN = 64, /* at most so many exponents are written by several generators */
  GENERATORS = 12,
  MULTIPLE = 64, /* the greatest multiple of a generator in a coordinate */
  LIMBS = 80 /* of exponents and their quotients: differences of binary64 have at most 2,100 bits */
};

/* A term that counts, of a row: its exponent is -d[at]. */
typedef struct {
  int64_t at, count;
} term_index;

typedef struct {
  const rm_logarithms *s;
  double cutoff;
  term_index *index; /* of each term */
  rm_logarithm_term *d; /* the different exponents, greatest (0) first */
  int64_t different;
  int64_t *power; /* of z, for each of these exponents */
} work;

int rm_logarithms_grow(rm_logarithms *s, int64_t terms, rm_row_state *state) {
  if (s->rows >= RM_LOGARITHMS || terms > RM_LOGARITHM_TERMS - s->terms) return 0;
  if (s->rows == s->rows_room) {
    rm_logarithm *const row = realloc(s->row, (size_t)(2 * s->rows_room + 16) * sizeof *row);
    if (row) s->row = row, s->rows_room = 2 * s->rows_room + 16;
  }
  if (s->terms + terms > s->terms_room) {
    const int64_t room = 2 * (s->terms + terms) + 16;
    rm_logarithm_term *const term = realloc(s->term, (size_t)room * sizeof *term);
    if (term) s->term = term, s->terms_room = room;
  }
  if (s->rows < s->rows_room && s->terms + terms <= s->terms_room) return 1;
  state->failure |= RM_ROW_NO_MEMORY;
  return 0;
}

void rm_logarithms_free(rm_logarithms *s) {
  free(s->row);
  free(s->term);
  s->row = NULL, s->term = NULL;
}

static int descending(const void *a, const void *b) {
  const rm_logarithm_term *x = a, *y = b;
  return x->high != y->high ? (x->high < y->high) - (x->high > y->high) : (x->low < y->low) - (x->low > y->low);
}

/* The end of the terms of a row that count. */
static int64_t end_of(const work *w, const rm_logarithm *row) {
  int64_t end = row->first;
  while (end < row->end && w->s->term[end].high >= w->cutoff) end++;
  return end;
}

/* Numbers below 2^61 modulo p. */
static uint64_t mul_mod(uint64_t a, uint64_t b, uint64_t p) { return (uint64_t)((rm_u128)a * b % p); }
static uint64_t pow_mod(uint64_t a, uint64_t k, uint64_t p) {
  uint64_t r = 1;
  for (a %= p; k; k >>= 1, a = mul_mod(a, a, p))
    if (k & 1) r = mul_mod(r, a, p);
  return r;
}

/* An exact number times 2^-unit, an integer, modulo p. */
static uint64_t ball_mod(const rm_ball *a, int64_t unit, uint64_t p) {
  uint64_t r = 0;
  for (int i = a->length - 1; i >= 0; i--) r = (uint64_t)(((rm_u128)r << 64 | a->m[i]) % p);
  /* a->e is below the unit where a ends with zero bits: then powers of 1/2 are taken */
  r = mul_mod(r, pow_mod(a->e >= unit ? 2 : (p + 1) / 2, (uint64_t)(a->e >= unit ? a->e - unit : unit - a->e), p), p);
  return a->negative && r ? p - r : r;
}

/* Whether the sum of the factors times how often p divides the number of first terms is 0, for every prime p. */
static int constants_cancel(const rm_logarithms *s) {
  for (int64_t k = 0; k < s->rows; k++) {
    uint64_t rest = (uint64_t)s->term[s->row[k].first].count;
    for (uint64_t p = 2; rest > 1; p++) {
      if (p * p > rest) p = rest;
      if (rest % p) continue;
      while (rest % p == 0) rest /= p;
      rm_ball sum, t;
      rm_ball_set(&sum, 0.0, RM_BALL_LIMBS);
      for (int64_t j = 0; j < s->rows; j++) {
        uint64_t other = (uint64_t)s->term[s->row[j].first].count;
        int64_t times = 0;
        for (; other % p == 0; other /= p) times++;
        if (times == 0) continue;
        if (j < k) break; /* p has been checked with row j, and the sum is 0 */
        rm_ball_set_i64(&t, times, RM_BALL_LIMBS);
        rm_ball_mul(&t, &t, &s->row[j].factor);
        rm_ball_add(&sum, &sum, &t);
      }
      if (!rm_ball_is_zero(&sum)) return 0;
    }
  }
  return 1;
}

/* Adds q z P'/P modulo p, up to z^degree, to f: G = z P'/P has the coefficients G_i = (i n_i - sum of n_j G_(i-j) over 0 < j
 * <= i)/n_0. */
static void add_series(uint64_t *f, uint64_t *g, const work *w, const rm_logarithm *row, uint64_t q, int64_t degree,
                       uint64_t p) {
  const int64_t begin = row->first + 1, end = end_of(w, row), max_power = w->power[w->index[end - 1].at];
  const uint64_t first = (uint64_t)w->index[row->first].count, inverse = pow_mod(first, p - 2, p);
  if (end == begin) return;
  g[0] = 0;
  for (int64_t i = 1; i <= degree; i++) {
    rm_u128 sum = 0; /* fewer than 2^20 terms below 2^40 2^61 */
    if (i > max_power) {
      for (int64_t j = begin; j < end; j++)
        sum += (rm_u128)(uint64_t)w->index[j].count * (p - g[i - w->power[w->index[j].at]]);
    } else {
      for (int64_t j = begin; j < end; j++) {
        const int64_t at = i - w->power[w->index[j].at];
        if (at >= 0) sum += (rm_u128)(uint64_t)w->index[j].count * (at ? p - g[at] : (uint64_t)i);
      }
    }
    g[i] = (uint64_t)(sum % p);
    if (first != 1) g[i] = mul_mod(g[i], inverse, p);
  }
  for (int64_t i = 1; i <= degree; i++) f[i] = (uint64_t)((f[i] + (rm_u128)q * g[i]) % p);
}

/* The number of primes modulo which z dF/dz must be computed where D is `degree`; 0 where that takes too long. All factors
 * are multiples of 2^*unit. */
static int64_t primes_of(const work *w, int64_t degree, int64_t *unit) {
  const rm_logarithms *s = w->s;
  double bits = 64.0; /* of D and more */
  int64_t top = INT64_MIN, terms = 0;
  *unit = INT64_MAX;
  for (int64_t k = 0; k < s->rows; k++) {
    const rm_ball *q = &s->row[k].factor;
    const int64_t end = end_of(w, &s->row[k]);
    uint64_t at_one = 0;
    for (int64_t j = s->row[k].first; j < end; j++) at_one += (uint64_t)s->term[j].count;
    for (; at_one > 0; at_one >>= 1) bits += 1.0;
    terms += end - s->row[k].first + 32;
    if (rm_ball_is_zero(q)) continue;
    if (rm_ball_lowest_bit(q) < *unit) *unit = rm_ball_lowest_bit(q);
    if (rm_ball_top(q) > top) top = rm_ball_top(q);
  }
  const int64_t primes = (int64_t)((bits + (double)(top - *unit)) / 60.0) + 1; /* each above 2^60 */
  return degree <= max_degree && primes <= max_steps / degree / terms ? primes : 0;
}

/* Whether z dF/dz is 0, for w->power. */
static int derivative_is_zero(const work *w, int64_t degree, int64_t primes, int64_t unit, rm_row_state *state) {
  const rm_logarithms *s = w->s;
  uint64_t *const f = malloc(2 * ((size_t)degree + 1) * sizeof *f);
  if (!f) {
    state->failure |= RM_ROW_NO_MEMORY;
    return 0;
  }
  int zero = 1;
  uint64_t p = (UINT64_C(1) << 61) + 1;
  for (int64_t found = 0; found < primes && zero; found++) {
    p = rm_prime_below(p, 2).p;
    for (int64_t up_to = degree < 64 ? degree : 64; zero;
         up_to = degree) { /* most sums that are not 0 show it in the first 64 coefficients */
      for (int64_t i = 1; i <= up_to; i++) f[i] = 0;
      for (int64_t k = 0; k < s->rows; k++)
        add_series(f, f + degree + 1, w, &s->row[k], ball_mod(&s->row[k].factor, unit, p), up_to, p);
      for (int64_t i = 1; i <= up_to && zero; i++) zero = f[i] == 0;
      if (up_to == degree) break;
    }
  }
  free(f);
  return zero;
}

static void distance(rm_ball *r, const rm_logarithm_term *d) {
  rm_ball t;
  rm_ball_set(r, -d->high, LIMBS);
  rm_ball_set(&t, -d->low, LIMBS);
  rm_ball_add(r, r, &t);
}

/* a/b, where it is an integer from 0 to limit; else -1. */
static int64_t quotient(const rm_ball *a, const rm_ball *b, int64_t limit) {
  uint64_t q;
  rm_ball t, by;
  if (rm_ball_is_zero(a)) return 0;
  if (a->negative) return -1;
  rm_ball_copy(&t, a);
  rm_ball_copy(&by, b);
  t.n = by.n = 2; /* enough for such an integer: a longer quotient is rounded, and then not exact */
  rm_ball_div(&t, &t, &by);
  if (!rm_ball_is_exact(&t) || rm_ball_top(&t) > 40 || rm_ball_place(&q, 1, &t, 0) || (int64_t)q > limit) return -1;
  return (int64_t)q;
}

/* The sum over the rows of their greatest powers; max_degree + 1 where it is more. */
static int64_t degree_of(const work *w, const int64_t *power) {
  int64_t degree = 0;
  for (int64_t k = 0; k < w->s->rows && degree <= max_degree; k++) {
    int64_t max = 0;
    for (int64_t j = w->s->row[k].first, end = end_of(w, &w->s->row[k]); j < end; j++)
      if (power[w->index[j].at] > max) max = power[w->index[j].at];
    degree += max;
  }
  return degree > max_degree ? max_degree + 1 : degree;
}

/* Writes the exponents as multiples of their greatest common divisor. 0 where one of them is more than max_degree times
 * that. */
static int by_one_variable(work *w) {
  rm_ball unit, d;
  w->power[0] = 0;
  if (w->different == 1) return 1;
  distance(&unit, &w->d[1]);
  for (int64_t i = 2; i < w->different; i++) {
    distance(&d, &w->d[i]);
    rm_ball_divisor(&unit, &unit, &d);
  }
  for (int64_t i = w->different - 1; i > 0; i--) {
    distance(&d, &w->d[i]);
    w->power[i] = quotient(&d, &unit, max_degree);
    if (w->power[i] < 0) return 0;
  }
  return 1;
}

/* The numbers whose coordinates are known: first the exponents, then the generators. */
typedef struct {
  rm_ball known[KNOWN], generator[GENERATORS];
  int64_t at[KNOWN][GENERATORS];
  int64_t generators;
} basis;

/* Writes d as a known number plus a multiple of a generator, or as a sum of two known numbers. 0 where it cannot. */
static int is_sum(basis *b, int64_t count, const rm_ball *d, int64_t *at) {
  rm_ball rest;
  for (int64_t i = count - 1; i >= 0; i--) {
    rm_ball_sub(&rest, d, &b->known[i]);
    for (int64_t g = 0; g < b->generators; g++) {
      const int64_t q = quotient(&rest, &b->generator[g], MULTIPLE);
      if (q < 0) continue;
      for (int64_t c = 0; c < b->generators; c++) at[c] = b->at[i][c] + (c == g ? q : 0);
      return 1;
    }
  }
  for (int64_t i = count - 1; i >= 0; i--) {
    rm_ball_sub(&rest, d, &b->known[i]);
    for (int64_t j = i; j >= 0; j--) {
      if (rm_ball_compare(&rest, &b->known[j]) != 0) continue;
      for (int64_t c = 0; c < b->generators; c++) at[c] = b->at[i][c] + b->at[j][c];
      return 1;
    }
  }
  return 0;
}

/* Writes d by replacing a generator of which d is a small rational multiple with a smaller one, or by a new generator, the
 * distance of d from the last known number; 0 where there are too many. */
static int new_generator(basis *b, int64_t count, const rm_ball *d, int64_t *at) {
  rm_ball h, unit;
  rm_ball_sub(&h, d, &b->known[count - 1]);
  for (int64_t c = 0; c < GENERATORS; c++) at[c] = b->at[count - 1][c];
  for (int64_t g = 0; g < b->generators; g++) {
    rm_ball_divisor(&unit, &h, &b->generator[g]);
    const int64_t p = quotient(&h, &unit, MULTIPLE), q = quotient(&b->generator[g], &unit, MULTIPLE);
    if (p < 0 || q < 0) continue;
    rm_ball_copy(&b->generator[g], &unit);
    for (int64_t i = 0; i < count; i++) b->at[i][g] *= q;
    at[g] = at[g] * q + p;
    return 1;
  }
  if (b->generators == GENERATORS) return 0;
  rm_ball_copy(&b->generator[b->generators], &h);
  at[b->generators++] = 1;
  return 1;
}

/* Writes the exponents by several generators, and these as powers of one variable. Returns the degree of the products, or 0
 * where there are too many exponents or their powers are too large. */
static int64_t by_several_variables(work *w, basis *b) {
  if (w->different > KNOWN) return 0;
  b->generators = 0;
  rm_ball_set(&b->known[0], 0.0, LIMBS);
  for (int64_t i = 0; i < KNOWN; i++)
    for (int64_t g = 0; g < GENERATORS; g++) b->at[i][g] = 0;
  for (int64_t i = 1; i < w->different; i++) {
    distance(&b->known[i], &w->d[i]);
    if (!is_sum(b, i, &b->known[i], b->at[i]) && !new_generator(b, i, &b->known[i], b->at[i])) return 0;
    for (int64_t g = 0; g < b->generators; g++)
      if (b->at[i][g] > max_degree) return 0;
  }
  int64_t scale = 1;
  for (int64_t i = 0; i < w->different; i++) w->power[i] = 0;
  for (int64_t g = 0; g < b->generators; g++) {
    int64_t one[KNOWN];
    for (int64_t i = 0; i < w->different; i++) one[i] = b->at[i][g], w->power[i] += scale * one[i];
    scale *= degree_of(w, one) + 1;
    if (scale > max_degree) return 0;
  }
  return scale - 1;
}

int rm_logarithms_cancel(const rm_logarithms *s, double cutoff, rm_row_state *state) {
  work w = {s, cutoff, NULL, NULL, 0, NULL};
  int signs = 0, zero = 0;
  for (int64_t k = 0; k < s->rows; k++) {
    const rm_logarithm *row = &s->row[k];
    if (!rm_ball_is_exact(&row->factor)) return 0;
    if (!(s->term[row->end - 1].high > -rm_ball_infinity()) && !(cutoff > -rm_ball_infinity())) return 0;
    if (end_of(&w, row) == row->first + 1 && s->term[row->first].count == 1) continue; /* log 1 */
    if (!rm_ball_is_zero(&row->factor)) signs |= row->factor.negative ? 2 : 1;
  }
  if (signs != 3) return signs == 0; /* P_k >= 1: logarithms of one sign do not cancel */
  if (!constants_cancel(s)) return 0;
  const size_t terms = (size_t)s->terms + 1;
  w.index = malloc(terms * sizeof *w.index);
  w.d = malloc(terms * sizeof *w.d);
  w.power = malloc(terms * sizeof *w.power);
  basis *b = malloc(sizeof *b);
  if (!w.index || !w.d || !w.power || !b) {
    state->failure |= RM_ROW_NO_MEMORY;
  } else {
    int64_t count = 0, degree = 0, primes = 0, unit;
    for (int64_t k = 0; k < s->rows; k++)
      for (int64_t j = s->row[k].first, end = end_of(&w, &s->row[k]); j < end; j++) w.d[count++] = s->term[j];
    qsort(w.d, (size_t)count, sizeof *w.d, descending);
    for (int64_t i = 0; i < count; i++)
      if (i == 0 || descending(&w.d[i], &w.d[w.different - 1]) != 0) w.d[w.different++] = w.d[i];
    for (int64_t j = 0; j < s->terms; j++) {
      const rm_logarithm_term *at = bsearch(&s->term[j], w.d, (size_t)w.different, sizeof *w.d, descending);
      w.index[j] = (term_index){at ? at - w.d : 0, s->term[j].count};
    }
    zero = w.different == 1; /* all P_k are constants */
    if (by_one_variable(&w)) degree = degree_of(&w, w.power);
    if (degree > 0) primes = primes_of(&w, degree, &unit);
    if (primes == 0 && !zero) {
      degree = by_several_variables(&w, b);
      if (degree > 0) primes = primes_of(&w, degree, &unit);
    }
    if (primes > 0) zero = derivative_is_zero(&w, degree, primes, unit, state);
  }
  free(w.index);
  free(w.d);
  free(w.power);
  free(b);
  return zero;
}
