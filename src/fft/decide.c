/* Parts of results that the fast phase left undecided: the double-double value once more, with every exponent; then residues
 * decide whether the part is a boundary of rounding (residues.h), and balls what it is if it is none. */
#include <stdlib.h>

#include "balls.h"
#include "residues.h"

enum { UNKNOWN, RATIONAL, IRRATIONAL };

typedef struct {
  const rm_fft_open *open;
  const rm_fft_problem *p;
  double *re, *im; /* the elements, in the order of the transform */
  int no_re, no_im; /* all of these are 0 */
  int unit;
  int root; /* the factor is irrational: squares are compared */
  int primes, distance; /* numbers that stand for equal ones are less than 2^distance apart */
  rm_fft_residues residues[RM_FFT_PRIMES];
  uint8_t *state[2];
  rm_fft_terms terms;
  int64_t terms_of; /* which k they belong to; -1: none */
} decision;

static int exponent_above(double x) { return x > 0.0 ? rm_ball_exponent(x) + 1 : -2000; }

/* Reads the elements; 0: no memory. */
static int read_elements(decision *d) {
  const rm_fft_problem *const p = d->p;
  const int64_t last = p->length[p->rank - 1];
  d->re = malloc((size_t)(2 * p->n) * sizeof *d->re);
  if (!d->re) return 0;
  d->im = d->re + p->n;
  for (int64_t row = 0; row < p->rows; row++) rm_fft_read_row(p, d->open->x, row, d->re + row * last, d->im + row * last, 1);
  d->no_re = d->no_im = 1;
  d->unit = 2000;
  for (int64_t i = 0; i < 2 * p->n; i++) {
    int e;
    if (d->re[i] == 0.0) continue;
    const uint64_t m = rm_decompose(d->re[i], &e);
    if (e + rm_ctz64(m) < d->unit) d->unit = e + rm_ctz64(m);
    if (i < p->n) d->no_re = 0;
    else d->no_im = 0;
  }
  return 1;
}

/* Residues modulo as many primes above 2^61 as distances ask for: with E the bound of the approximations, numbers 2 Re X_k
 * that are taken for equal are less than 16 E apart (rational_class), in units of the elements. Squares are z^2 - w^2 = (z -
 * w)(z + w) with |z|, |w| <= 2 sqrt(n) ||x|| + 16 E, and E is below sqrt(n) ||x||, which is below n 2^3 times the largest
 * element's power of two. */
static int make_residues(decision *d) {
  const rm_fft_open *const t = d->open;
  int bits = 0;
  while (d->p->n >> bits) bits++;
  d->distance = exponent_above(t->err) + t->exponent - d->unit + 4;
  d->root = d->p->scale == RM_FFT_SCALE_ROOT && !rm_fft_whole_root(d->p->n);
  if (d->root) d->distance += t->exponent - d->unit + bits + 10;
  if (d->distance < 0) d->distance = 0;
  const int primes = d->distance / 61 + 1;
  uint64_t below = UINT64_C(1) << 62;
  if (primes > RM_FFT_PRIMES) return 0; /* never: distances are below 2^13 */
  for (int c = 0; c < 2; c++) {
    d->state[c] = calloc((size_t)d->p->n, 1);
    if (!d->state[c]) return 0;
  }
  for (int i = 0; i < primes; i++) {
    if (!rm_fft_residues_make(d->residues + i, d->p, d->re, d->im, d->unit, below)) return 0;
    d->primes = i + 1;
    below = d->residues[i].q.p;
  }
  return 1;
}

/* The residue of a part, or of its square. */
static uint64_t residue_at(const decision *d, int i, int64_t k, int imaginary) {
  const uint64_t r = d->residues[i].part[imaginary * d->p->n + k];
  return d->root ? rm_mod_mul(&d->residues[i].q, r, r) : r;
}

/* The index of u k, and the order of k. */
static int64_t multiple(const rm_fft_problem *p, int64_t k, int64_t u) {
  int64_t r = 0, block = 1;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis];
    r += (int64_t)((rm_u128)(uint64_t)(k % n) * (uint64_t)u % (uint64_t)n) * block;
    k /= n, block *= n;
  }
  return r;
}
static int64_t order_of(const rm_fft_problem *p, int64_t k) {
  int64_t order = 1;
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis], own = n / rm_fft_gcd(n, k % n);
    order *= own / rm_fft_gcd(order, own);
    k /= n;
  }
  return order;
}

/* The prime factors of a number, at most 15 below 2^62; their count. */
static int factors_of(int64_t n, int64_t factor[16]) {
  int count = 0;
  for (int64_t f = 2; n > 1; f++) {
    if (f > n / f) f = n;
    if (n % f) continue;
    factor[count++] = f;
    while (n % f == 0) n /= f;
  }
  return count;
}
static int has_factor(int64_t u, const int64_t *factor, int count) {
  for (int i = 0; i < count; i++)
    if (u % factor[i] == 0) return 1;
  return 0;
}

/* Whether part k, or its square, is rational: all of its conjugates have its residues, and no approximation of theirs (of its
 * absolute value) is further from its own than 2 E, and 2^-40 of them for the roundings here. Any two of them are then less
 * than 16 E apart, twice the parts. */
static int rational_class(const decision *d, int64_t k, int imaginary) {
  const int64_t order = order_of(d->p, k);
  uint8_t *const state = d->state[imaginary];
  if (state[k] != UNKNOWN) return state[k] == RATIONAL;
  const double *const own = rm_fft_value(d->open, k, imaginary);
  int64_t factor[16];
  const int factors = factors_of(order, factor);
  int rational = 1;
  for (int fill = 0; fill < 2; fill++)
    for (int64_t u = 1; u <= order; u++) {
      if ((order % 4 == 0 && u % 4 == 3) || has_factor(u, factor, factors)) continue;
      const int64_t at = multiple(d->p, k, u);
      if (fill) {
        state[at] = rational ? RATIONAL : IRRATIONAL;
        continue;
      }
      const double *const v = rm_fft_value(d->open, at, imaginary);
      double gap = (v[0] - own[0]) + (v[d->open->plane] - own[d->open->plane]);
      if (d->root && (v[0] < 0.0) != (own[0] < 0.0)) gap = (v[0] + own[0]) + (v[d->open->plane] + own[d->open->plane]);
      if (__builtin_fabs(gap) > 2.5 * d->open->err) rational = 0;
      for (int i = 0; i < d->primes && rational; i++)
        rational = residue_at(d, i, at, imaginary) == residue_at(d, i, k, imaginary);
      if (!rational) break;
    }
  return rational;
}

/* Whether part k, times the factor, is exactly (-1)^negative m 2^e, from which it is no further than 4 E. Twice the part is
 * then m 2^(e + 1) n, or m 2^(e + 1) or this times the root of n, by the factor: an integer times 2^unit, or the root of
 * one. */
static int is_exactly(const decision *d, int64_t k, int imaginary, int negative, uint64_t m, int64_t e) {
  const rm_fft_problem *const p = d->p;
  int64_t n = 1, shift = e + 1 - d->unit;
  if (p->scale == RM_FFT_SCALE_N || d->root) n = p->n;
  if (p->scale == RM_FFT_SCALE_ROOT && !d->root) n = rm_fft_whole_root(p->n);
  if (d->root) shift *= 2;
  if (m)
    while (shift < 0) { /* m is odd */
      if (n % 2) return 0;
      n /= 2, shift++;
    }
  else shift = 0;
  for (int i = 0; i < d->primes; i++) {
    const rm_modulus *const q = &d->residues[i].q;
    uint64_t r = rm_mod_mul(q, rm_fft_residue(q, m, shift), rm_fft_residue(q, (uint64_t)n, 0));
    if (d->root) r = rm_mod_mul(q, r, rm_fft_residue(q, m, 0));
    else if (negative) r = rm_mod_sub(q, 0, r);
    if (r != residue_at(d, i, k, imaginary)) return 0;
  }
  return rational_class(d, k, imaginary);
}

/* The double-double value as a ball, times the factor. */
static void first_ball(rm_ball *r, const decision *d, int64_t k, int imaginary) {
  const double *const v = rm_fft_value(d->open, k, imaginary);
  const uint64_t none = 0;
  rm_ball x, low;
  const int e = exponent_above(d->open->err);
  rm_ball_set(&x, v[0], 4);
  rm_ball_set(&low, v[d->open->plane], 4);
  rm_ball_add(&x, &x, &low);
  rm_ball_store(&low, 0, &none, 1, e, 1.0, 4);
  rm_ball_add(&x, &x, &low);
  rm_ball_scale(&x, &x, d->open->exponent);
  rm_fft_factor_ball(r, &x, d->p);
}

/* The boundary between two neighbours, of which `near` is the smaller one in magnitude: m 2^e, m odd. */
static uint64_t boundary(uint64_t near, int format, int64_t *e) {
  const int p = rm_precision(format);
  const uint64_t magnitude = near & (rm_sign_bit(format) - 1), fraction = magnitude & ((UINT64_C(1) << (p - 1)) - 1);
  const int64_t biased = (int64_t)(magnitude >> (p - 1));
  *e = (biased ? biased : 1) - 1 + rm_emin(format) - (p - 1) - 1;
  return 2 * (fraction | (uint64_t)(biased != 0) << (p - 1)) + 1;
}

/* Parts that are 0 for every such input: those of real or imaginary elements at indices that are their own opposites. */
static int is_always_zero(const decision *d, int64_t k, int imaginary) {
  if (!(imaginary ? d->no_im : d->no_re)) return 0;
  for (int axis = d->p->rank - 1; axis >= 0; axis--) {
    if (2 * (k % d->p->length[axis]) % d->p->length[axis]) return 0;
    k /= d->p->length[axis];
  }
  return 1;
}

static int has_large_factor(const rm_fft_problem *p) {
  int64_t factor[16];
  for (int axis = 0; axis < p->rank; axis++)
    for (int i = factors_of(p->length[axis], factor); i-- > 0;)
      if (factor[i] > RM_FFT_DIRECT) return 1;
  return 0;
}

/* 1 where *bits is the result, 0 where it stays undecided, -1 without memory. */
static int decide(decision *d, int64_t k, int imaginary, uint64_t *bits, uint32_t *flags) {
  const int format = d->p->format;
  int zero_asked = 0, asked = 0;
  uint64_t asked_of = 0;
  *bits = 0;
  if (is_always_zero(d, k, imaginary)) return 1;
  for (int n = 0; n <= RM_BALL_LIMBS; n = n ? 2 * n : 4) {
    rm_ball b;
    rm_ball_ends ends;
    if (n == 0) first_ball(&b, d, k, imaginary);
    else {
      if (d->terms_of != k) {
        if (d->terms_of >= 0) rm_fft_terms_free(&d->terms);
        d->terms_of = -1;
        if (!rm_fft_terms_make(&d->terms, d->p, k)) return -1;
        d->terms_of = k;
      }
      rm_fft_part_ball(&b, d->p, &d->terms, d->re, d->im, imaginary, n);
    }
    if (rm_ball_round(&b, format, RM_NEAREST, flags, bits)) return 1;
    *bits = 0;
    if (!rm_ball_round_ends(&b, format, RM_NEAREST, &ends)) continue;
    if (n == 0 && !d->primes && has_large_factor(d->p)) continue; /* residues are n^2 products then: a ball first */
    if (!d->primes && !make_residues(d)) return -1;
    if (ends.zero) {
      if (!zero_asked && is_exactly(d, k, imaginary, 0, 0, 0)) return 1;
      zero_asked = 1;
    } else if (ends.far == ends.near + 1 && !(asked && asked_of == ends.near)) {
      int64_t e;
      const uint64_t m = boundary(ends.near, format, &e);
      asked = 1, asked_of = ends.near;
      if (!is_exactly(d, k, imaginary, b.negative, m, e)) continue;
      *bits = ends.near & 1 ? ends.far : ends.near;
      *flags |= ends.near & 1 ? ends.far_flags : ends.near_flags;
      return 1;
    }
  }
  return 0;
}

int rm_fft_decide_quickly(const rm_fft_open *t, const rm_fft_part *part, uint32_t *flags) {
  const decision d = {.open = t, .p = t->problem};
  rm_ball b;
  uint64_t bits;
  first_ball(&b, &d, part->k, part->imaginary);
  if (!rm_ball_round(&b, t->problem->format, RM_NEAREST, flags, &bits)) return 0;
  rm_fft_write(t->problem, t->out, part->k, part->imaginary, bits);
  return 1;
}

rm_status rm_fft_decide(const rm_fft_open *t, const rm_fft_part *part, int64_t count, uint32_t *flags) {
  decision d = {.open = t, .p = t->problem, .terms_of = -1};
  rm_status status = read_elements(&d) ? RM_OK : RM_ERR_MEMORY;
  for (int64_t i = 0; i < count; i++) {
    uint64_t bits = rm_nan_bits(t->problem->format);
    if (status != RM_ERR_MEMORY) {
      const int done = decide(&d, part[i].k, part[i].imaginary, &bits, flags);
      if (done < 1) bits = rm_nan_bits(t->problem->format), status = done ? RM_ERR_MEMORY : RM_ERR_UNDECIDED;
    }
    rm_fft_write(t->problem, t->out, part[i].k, part[i].imaginary, bits);
  }
  if (d.terms_of >= 0) rm_fft_terms_free(&d.terms);
  for (int i = 0; i < d.primes; i++) free(d.residues[i].part);
  for (int c = 0; c < 2; c++) free(d.state[c]);
  free(d.re);
  return status;
}
