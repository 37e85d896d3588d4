/* betaln in multiprecision, up to RM_GAMMA_MP_MAX limbs: numbers of fp/mp.h with an exponent and a running bound of their
 * error, by which betaln_formula.h needs no analysis of its own. (The numbers of enclosure/ball.h are wider than a device's
 * elementwise loops have memory for.)
 *
 * No theorem is known for most arguments, as for lgamma (lgamma_mp.h). Should a value be undecided with 512 bits, the result
 * is the lower end of its interval, rounded. */
#pragma once

#include "../enclosure/numbers.h"
#include "../lgamma/lgamma_mp.h"

/* Every number within err units of (-1)^negative m 2^e, a unit 2^(e - 64 n); m is 0 or in [1/2, 1), n limbs, what
 * rm_mp_ball_finish makes of other numbers below 2^64. err is below RM_MP_BALL_KNOWN, else nothing is known (what
 * cancels has an err of many units). */
typedef struct {
  uint64_t m[RM_MP_LIMBS];
  int64_t e;
  double err;
  int negative, n;
} rm_mp_ball;
#define RM_MP_BALL_KNOWN 0x1p600
#define RM_MP_BALL_UNKNOWN 0x1p900

/* Moves m, below 2^64, to [1/2, 1); err is enlarged for its own roundings. Bits that are cut are below a unit. */
RM_COLD void rm_mp_ball_finish(rm_mp_ball *r, double err) {
  const int n = r->n, length = rm_mp_length(r->m, n);
  int up = 0;
  if (length == n + 1) {
    const int down = 64 - rm_clz64(r->m[n]);
    rm_mp_shift_down(r->m, r->m, down, n);
    r->e += down;
    err = err * rm_pow2(-down) + 1.0;
  } else if (length > 0) {
    up = 64 * (n - length) + rm_clz64(r->m[length - 1]);
    rm_mp_shift_up(r->m, r->m, up, n);
    r->e -= up;
    err *= rm_pow2(up);
  }
  err *= 1.0 + 0x1p-40;
  r->err = err < RM_MP_BALL_KNOWN ? err : RM_MP_BALL_UNKNOWN;
}
/* m 2^e within err units, from an m below 2^64. */
RM_FN void rm_mp_ball_of(rm_mp_ball *r, int negative, int64_t e, double err, int n) {
  r->negative = negative;
  r->e = e;
  r->n = n;
  rm_mp_ball_finish(r, err);
}

/* x other than 0, exactly: 53 bits are within one limb. */
RM_FN void rm_mp_ball_set(rm_mp_ball *r, double x, int n) {
  int e;
  const uint64_t m = rm_decompose(x, &e);
  rm_mp_from_integer(r->m, m, -53, n);
  rm_mp_ball_of(r, x < 0.0, (int64_t)e + 53, 0.0, n);
}

/* a + b, or a - b. The one of the smaller exponent is moved to the other's, by d: its error falls by 2^-d, and less than a
 * unit is cut off; beyond all limbs it is below a unit, error included. */
RM_COLD void rm_mp_ball_sum(rm_mp_ball *r, const rm_mp_ball *a, const rm_mp_ball *b, int flip) {
  uint64_t t[RM_MP_LIMBS];
  const int n = a->n, swap = a->e < b->e;
  const rm_mp_ball *const large = swap ? b : a, *const small = swap ? a : b;
  int negative = large->negative ^ (swap ? flip : 0);
  const int other = small->negative ^ (swap ? 0 : flip);
  const int64_t d = large->e - small->e, e = large->e;
  double err = large->err;
  if (!(small->err < RM_MP_BALL_KNOWN)) err = RM_MP_BALL_UNKNOWN;
  if (d >= 64 * n + 100) {
    rm_mp_set(t, 0, n);
    err += 1.0;
  } else {
    rm_mp_shift_down(t, small->m, (int)d, n);
    err += small->err * rm_pow2(-(int)d) + (d ? 1.0 : 0.0);
  }
  if (negative == other) {
    rm_mp_add(r->m, large->m, t, n);
  } else if (rm_mp_less(large->m, t, n)) {
    rm_mp_sub(r->m, t, large->m, n);
    negative = other;
  } else {
    rm_mp_sub(r->m, large->m, t, n);
  }
  rm_mp_ball_of(r, negative, e, err, n);
}
RM_FN void rm_mp_ball_add(rm_mp_ball *r, const rm_mp_ball *a, const rm_mp_ball *b) { rm_mp_ball_sum(r, a, b, 0); }
RM_FN void rm_mp_ball_sub(rm_mp_ball *r, const rm_mp_ball *a, const rm_mp_ball *b) { rm_mp_ball_sum(r, a, b, 1); }

/* At least m, from its most significant limb. */
RM_FN double rm_mp_ball_size(const rm_mp_ball *a) { return ((double)a->m[a->n - 1] + 1.0) * 0x1.0000001p-64; }

/* a b: n + 1 units short, and |a|, |b| times the other's error, and both errors' product. (With 1 in their place a product of
 * many factors would have a bound that doubles with half of them.) */
RM_COLD void rm_mp_ball_mul(rm_mp_ball *r, const rm_mp_ball *a, const rm_mp_ball *b) {
  const int n = a->n;
  const double err =
      a->err * rm_mp_ball_size(b) + b->err * rm_mp_ball_size(a) + a->err * b->err * rm_pow2(-64 * n) + (double)(n + 1);
  rm_mp_mul(r->m, a->m, b->m, n);
  rm_mp_ball_of(r, a->negative ^ b->negative, a->e + b->e, err, n);
}

/* a/b = (a/2)/b 2. m = (a/2)/b < 1 is a unit short, a/2 another over b >= 1/2; |A/B - a/b| <= (ea + eb a/b)/|B| with |B| >=
 * 1/2 - eb >= 1/4, of a/2: 2 ea + 4 eb. Unknown where b is not that far from 0. */
RM_COLD void rm_mp_ball_div(rm_mp_ball *r, const rm_mp_ball *a, const rm_mp_ball *b) {
  const int n = a->n, far = b->err <= rm_pow2(64 * n - 2) && rm_mp_length(b->m, n) > 0;
  const double err = far ? 2.0 * a->err + 4.0 * b->err + 3.0 : RM_MP_BALL_UNKNOWN;
  uint64_t t[RM_MP_LIMBS], q[RM_MP_LIMBS];
  rm_mp_shift_down(t, a->m, 1, n);
  if (far) rm_mp_div(q, t, b->m, n);
  rm_mp_copy(r->m, far ? q : t, n);
  rm_mp_ball_of(r, a->negative ^ b->negative, a->e - b->e + 1, err, n);
}

/* log a for a > 0. */
RM_COLD void rm_mp_ball_log(rm_mp_ball *r, const rm_mp_ball *a) {
  const int n = a->n, known = a->err < 0x1p50 && !a->negative;
  uint64_t err = 0;
  const int negative = rm_log_mp_of(r->m, a->m, a->e, known ? (uint64_t)a->err + 1 : 0, n, &err);
  rm_mp_ball_of(r, negative, 0, known ? (double)err : RM_MP_BALL_UNKNOWN, n);
}

/* log(1 + a) for a > 0: below 2^-32 by the series a - a^2/2 + ..., whose terms fall and have alternating signs, so that what
 * is left out is below the first term left out, itself below a unit. */
RM_COLD void rm_mp_ball_log1p(rm_mp_ball *r, const rm_mp_ball *a) {
  rm_mp_ball x = *a, p, t;
  const int n = a->n;
  if (x.e > -32) {
    rm_mp_ball_set(&t, 1.0, n);
    rm_mp_ball_add(&x, &x, &t);
    rm_mp_ball_log(r, &x);
    return;
  }
  p = *r = x;
  for (int k = 2;; k++) {
    rm_mp_ball_mul(&p, &p, &x);
    if (p.e < r->e - 64 * n) break;
    t = p;
    rm_mp_div_small(t.m, t.m, (uint64_t)k, n);
    rm_mp_ball_finish(&t, t.err + 1.0);
    rm_mp_ball_sum(r, r, &t, k % 2 == 0);
  }
  rm_mp_ball_finish(r, r->err + 1.0);
}

/* S(1/y^2)/y for y >= 256: y times the sum of |B_2k|/(2k (2k - 1)) y^-2k with alternating signs. What is left out, after 50
 * terms or once a term is that small, is below the first term left out: below a unit of the sum, whose first term is 1/(12
 * y), since the 51st is below 2^-530 of that. An entry of the table is below 2^-17, within a unit: a term is as its product
 * with p leaves it, with leading zeros, since it would have few digits of its own. */
RM_COLD void rm_mp_ball_gamma_series(rm_mp_ball *r, const rm_mp_ball *y) {
  rm_mp_ball w, p, t;
  const int n = y->n;
  rm_mp_ball_set(&t, 0x1p7, n); /* 2^RM_GAMMA_MP_BASE */
  rm_mp_ball_div(&w, &t, y);
  rm_mp_ball_mul(&w, &w, &w);
  p = w;
  for (int k = 0; k < RM_GAMMA_MP_TERMS; k++) {
    rm_gamma_mp_entry(t.m, rm_gamma_mp_series_table, k, n);
    rm_mp_mul(t.m, t.m, p.m, n);
    rm_mp_div_small(t.m, t.m, (uint64_t)(2 * k + 1), n);
    t.e = p.e;
    t.err = (p.err * 0x1p-17 + (double)(n + 3)) * (1.0 + 0x1p-40);
    if (k == 0) *r = t;
    else rm_mp_ball_sum(r, r, &t, k % 2);
    if (t.e < r->e - 64 * n) break;
    rm_mp_ball_mul(&p, &p, &w);
  }
  rm_mp_ball_finish(r, r->err + 1.0); /* what is left out */
  rm_mp_ball_mul(r, r, y);
}
RM_FN void rm_mp_ball_half_log_2pi(rm_mp_ball *r, int n) {
  rm_gamma_mp_entry(r->m, rm_gamma_mp_half_log_2pi, 0, n);
  rm_mp_ball_of(r, 0, 0, 1.0, n);
}
RM_FN int rm_mp_ball_round(const rm_mp_ball *a, int format, rm_mode mode, uint32_t *flags, uint64_t *bits) {
  const int known = a->err < 0x1p60;
  return rm_mp_round(a->negative, a->m, a->e, known ? (uint64_t)a->err + 1 : ~UINT64_C(0) >> 1, a->n, format, mode, flags,
                     bits) &&
         known;
}
