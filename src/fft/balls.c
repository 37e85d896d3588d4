/* Parts of a transform by balls (balls.h): the exact tier for what is no boundary of rounding. */
#include "balls.h"

#include <stdlib.h>

#include "residues.h"

int rm_fft_terms_make(rm_fft_terms *terms, const rm_fft_problem *p, int64_t k) {
  const int64_t order = rm_fft_order(p);
  int64_t step[RM_FFT_RANK], g = order; /* element j has the exponent sum of j_i step_i modulo order */
  for (int axis = p->rank - 1; axis >= 0; axis--) {
    const int64_t n = p->length[axis];
    step[axis] = k % n * (order / n); /* below order <= n */
    g = rm_fft_gcd(g, step[axis]);
    k /= n;
  }
  terms->m = order / g;
  terms->head = malloc((size_t)terms->m * sizeof *terms->head);
  terms->next = malloc((size_t)p->n * sizeof *terms->next);
  if (!terms->head || !terms->next) {
    rm_fft_terms_free(terms);
    return 0;
  }
  for (int64_t t = 0; t < terms->m; t++) terms->head[t] = -1;
  int64_t index[RM_FFT_RANK] = {0}, exponent = 0;
  for (int64_t j = 0; j < p->n; j++) {
    const int64_t t = exponent / g;
    terms->next[j] = terms->head[t];
    terms->head[t] = j;
    for (int axis = p->rank - 1; axis >= 0; axis--) { /* the next element; a whole turn of an axis adds a multiple of order */
      exponent += step[axis];
      if (exponent >= order) exponent -= order;
      if (++index[axis] < p->length[axis]) break;
      index[axis] = 0;
    }
  }
  return 1;
}
void rm_fft_terms_free(rm_fft_terms *terms) {
  free(terms->head);
  free(terms->next);
  terms->head = terms->next = NULL;
}

/* arctan(1/q), q >= 5: the alternating sum of 1/((2 i + 1) q^(2 i + 1)); what follows the last term is below the next one. */
static void arctan_of_inverse(rm_ball *r, uint64_t q, int n) {
  rm_ball power, term, small;
  rm_ball_set_u64(&power, 1, n);
  rm_ball_set_u64(&small, q, n);
  rm_ball_div(&power, &power, &small);
  rm_ball_set_u64(r, 0, n);
  rm_ball_set_u64(&small, q * q, n);
  for (uint64_t i = 0;; i++) {
    rm_ball odd;
    rm_ball_set_u64(&odd, 2 * i + 1, n);
    rm_ball_div(&term, &power, &odd);
    if (rm_ball_top(&term) < -64 * (int64_t)n) break;
    if (i & 1) rm_ball_sub(r, r, &term);
    else rm_ball_add(r, r, &term);
    rm_ball_div(&power, &power, &small);
  }
  rm_ball rest;
  const uint64_t none = 0;
  rm_ball_store(&rest, 0, &none, 1, -64 * (int64_t)n, 1.0, n);
  rm_ball_add(r, r, &rest);
}

/* pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin 1706). */
static void pi_of(rm_ball *r, int n) {
  rm_ball other;
  arctan_of_inverse(r, 5, n);
  arctan_of_inverse(&other, 239, n);
  rm_ball_scale(r, r, 4);
  rm_ball_scale(&other, &other, 2);
  rm_ball_sub(r, r, &other);
}

/* cos(2 pi/m) and sin(2 pi/m): exact for m = 1, 2, 4; else the angle is at most 2.1, and the series alternate, with falling
 * terms from the third on, so that what follows the last term is below the next one. */
static void first_root(rm_ball *c, rm_ball *s, int64_t m, int n) {
  rm_ball angle, term, divisor;
  if (m == 1 || m == 2 || m == 4) {
    rm_ball_set_i64(c, m == 1 ? 1 : m == 2 ? -1 : 0, n);
    rm_ball_set_i64(s, m == 4, n);
    return;
  }
  pi_of(&angle, n);
  rm_ball_scale(&angle, &angle, 1);
  rm_ball_set_i64(&divisor, m, n);
  rm_ball_div(&angle, &angle, &divisor);
  rm_ball_set_u64(&term, 1, n);
  rm_ball_set_u64(c, 0, n);
  rm_ball_set_u64(s, 0, n);
  for (uint64_t i = 0; i < 4 || rm_ball_top(&term) >= -64 * (int64_t)n; i++) {
    rm_ball *const sum = i & 1 ? s : c;
    if (i & 2) rm_ball_sub(sum, sum, &term);
    else rm_ball_add(sum, sum, &term);
    rm_ball_mul(&term, &term, &angle);
    rm_ball_set_u64(&divisor, i + 1, n);
    rm_ball_div(&term, &term, &divisor);
  }
  rm_ball rest;
  const uint64_t none = 0;
  rm_ball_store(&rest, 0, &none, 1, -64 * (int64_t)n, 1.0, n);
  rm_ball_add(c, c, &rest);
  rm_ball_add(s, s, &rest);
}

void rm_fft_factor_ball(rm_ball *r, const rm_ball *x, const rm_fft_problem *p) {
  rm_ball divisor;
  rm_ball_copy(r, x);
  if (p->scale == RM_FFT_SCALE_ONE) return;
  rm_ball_set_i64(&divisor, p->n, x->n);
  if (p->scale == RM_FFT_SCALE_ROOT) rm_ball_sqrt(&divisor, &divisor);
  rm_ball_div(r, x, &divisor);
}

void rm_fft_part_ball(rm_ball *r, const rm_fft_problem *p, const rm_fft_terms *terms, const double *re, const double *im,
                      int imaginary, int n) {
  const int64_t last = p->length[p->rank - 1];
  rm_ball c1, s1, c, s, next, a, b, x;
  first_root(&c1, &s1, terms->m, n);
  rm_ball_set_u64(&c, 1, n);
  rm_ball_set_u64(&s, 0, n);
  rm_ball_set_u64(r, 0, n);
  for (int64_t t = 0; t < terms->m; t++) {
    if (t) { /* c, s <- those of the next angle */
      rm_ball_mul(&a, &c, &c1);
      rm_ball_mul(&b, &s, &s1);
      rm_ball_sub(&next, &a, &b);
      rm_ball_mul(&a, &s, &c1);
      rm_ball_mul(&b, &c, &s1);
      rm_ball_add(&s, &a, &b);
      rm_ball_copy(&c, &next);
    }
    rm_ball_set_u64(&a, 0, n);
    rm_ball_set_u64(&b, 0, n);
    for (int64_t j = terms->head[t]; j >= 0; j = terms->next[j]) {
      const int twice = rm_fft_weight(p, j % last) - 1;
      rm_ball_set(&x, re[j], n);
      rm_ball_scale(&x, &x, twice);
      rm_ball_add(&a, &a, &x);
      rm_ball_set(&x, im[j], n);
      rm_ball_scale(&x, &x, twice);
      rm_ball_add(&b, &b, &x);
    }
    /* (a + i b)(c + i sign s) */
    rm_ball_mul(&x, imaginary ? &b : &a, &c);
    rm_ball_add(r, r, &x);
    rm_ball_mul(&x, imaginary ? &a : &b, &s);
    if (imaginary == p->inverse) rm_ball_add(r, r, &x);
    else rm_ball_sub(r, r, &x);
  }
  rm_ball_copy(&x, r);
  rm_fft_factor_ball(r, &x, p);
}
