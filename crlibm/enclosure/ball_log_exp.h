/* exp, expm1, log and log1p of the numbers of ball.h: up to RM_BALL_MP limbs by the evaluations of exp_mp.h and log_mp.h,
 * beyond by series, which also serve near 0. At RM_BALL_LIMBS their results lose at most eight limbs to the doublings of the
 * argument. */
#pragma once

/* The limbs of an evaluation by mp.h: one more than n, for what their errors take (below 2^27 units). Numbers of more than
 * RM_BALL_MP limbs would get fewer than they have. */
enum { RM_BALL_MP = RM_MP_MAX - 1 };
RM_FN int rm_ball_mp_limbs(int n) { return n < RM_BALL_MP ? n + 1 : RM_MP_MAX; }

/* r = a of n limbs. */
RM_FN void rm_ball_resize(rm_ball *r, const rm_ball *a, int n) {
  RM_BIG(uint64_t, t, RM_BALL_LIMBS);
  const int length = a->length;
  for (int i = 0; i < length; i++) t[i] = a->m[i];
  rm_ball_store(r, a->negative, t, length, a->e, a->err, n);
}

/* r = a +- 2^exponent. */
RM_FN void rm_ball_widen(rm_ball *r, const rm_ball *a, int64_t exponent) {
  const uint64_t none = 0;
  rm_ball off;
  rm_ball_store(&off, 0, &none, 1, exponent, 1.0, a->n);
  rm_ball_add(r, a, &off);
}

/* expm1 and log1p are series below 2^-32, and of many limbs below 2^-s, s^2 about their bits: as many terms as doublings. */
enum { RM_BALL_SMALL = 32 };
RM_FN int rm_ball_small(int n) {
  int s = RM_BALL_SMALL;
  while (s * s < 64 * n) s += 8;
  return s;
}

/* x + sum of c_k x^k for k >= 2, |x| < 2^-32: c_k = (-1)^(k-1)/k, or 1/k! when `factorial`. The terms that are left out are
 * together less than twice |x|^k for the first of them. */
RM_SHARED void rm_ball_series(rm_ball *r, const rm_ball *x, int factorial);

/* Whether a, of more than RM_BALL_MP limbs, is known too well for the evaluations of mp.h. */
RM_FN int rm_ball_is_long(const rm_ball *a) {
  return a->n > RM_BALL_MP && (a->err == 0.0 || a->e + rm_ball_exponent(a->err) < -64 * RM_BALL_MP);
}

/* e^a, or e^a - 1, for a != 0 below 2^40 of any number of limbs. With m the middle of a, E = e^x - 1 for x = m 2^-h below
 * 2^-s, then h times 1 + E or E is that of the double argument: (1 + E)^2, or E (2 + E), which cancels nothing. A doubling at
 * most doubles the relative error, to its own unit: h bits, for which there are more limbs where they are to be had. The
 * error d of a changes e^m by a factor within d (1 + d). */
RM_SHARED void rm_ball_exp_doubled(rm_ball *r, const rm_ball *a, int less_one);

/* e^a = 2^(k + j) f: k = floor(a/ln2) nearly, y = a - k ln2, and rm_exp_mp gives f 2^j = e^y for y within one unit; the
 * error d of y changes it by a factor within d (1 + d). Beyond 2^40: unknown, or between 0 and 2^-2^40, which is 1 unit +-
 * 1. */
RM_SHARED void rm_ball_exp(rm_ball *r, const rm_ball *a);

/* log a: A 2^e with A in [1/2, 1) in as many limbs as its error leaves a meaning, up to those of mp.h. Beyond, with y the
 * middle of this, log a = y + log(1 + t), t = a e^-y - 1, and the series is short. Unknown unless a > 0. */
RM_SHARED void rm_ball_log(rm_ball *r, const rm_ball *a);

/* e^a - 1 and log(1 + a), with a small relative error around 0. */
RM_SHARED void rm_ball_expm1(rm_ball *r, const rm_ball *a);
RM_SHARED void rm_ball_log1p(rm_ball *r, const rm_ball *a);

#if RM_DEFINES_SHARED
RM_SHARED void rm_ball_series(rm_ball *r, const rm_ball *x, int factorial) {
  rm_ball power, term, sum;
  const int64_t smallest = rm_ball_top(x) - 64 * ((int64_t)x->n + 1);
  rm_ball_copy(&power, x);
  rm_ball_copy(&sum, x);
  for (uint64_t k = 2;; k++) {
    rm_ball_mul(&power, &power, x);
    if (rm_ball_top(&power) < smallest || rm_ball_is_unknown(&power)) break;
    rm_ball_set_u64(&term, k, x->n);
    rm_ball_div(&term, &power, &term);
    if (factorial) rm_ball_copy(&power, &term);
    else if (k % 2 == 0) rm_ball_neg(&term, &term);
    rm_ball_add(&sum, &sum, &term);
  }
  rm_ball_widen(r, &sum, rm_ball_top(&power) + 1);
}

RM_SHARED void rm_ball_exp_doubled(rm_ball *r, const rm_ball *a, int less_one) {
  rm_ball x, t, off;
  const uint64_t none = 0;
  int n = a->n;
  if (a->err != 0.0) {
    const int64_t known = (a->e + rm_ball_exponent(a->err)) / -64 + 3; /* limbs of the result that mean something */
    if (known < n) n = (int)known;
  }
  const int small = rm_ball_small(n);
  const int64_t top = rm_ball_top(a), h = top + small > 0 ? top + small : 0;
  const int limbs = n + (int)(h / 64) + 2 < RM_BALL_LIMBS ? n + (int)(h / 64) + 2 : RM_BALL_LIMBS;
  rm_ball_store(&off, 0, &none, 1, a->e, 1.125 * a->err, 1);
  rm_ball_copy(&x, a);
  x.err = 0.0, x.n = limbs;
  rm_ball_scale(&x, &x, -h);
  if (!rm_ball_is_zero(&x)) rm_ball_series(&x, &x, 1);
  rm_ball_set_u64(&t, 1, 1);
  if (!less_one) rm_ball_add(&x, &x, &t);
  for (int64_t i = 0; i < h; i++) {
    if (less_one) {
      rm_ball_set_u64(&t, 2, 1);
      rm_ball_add(&t, &x, &t);
      rm_ball_mul(&x, &x, &t);
    } else {
      rm_ball_mul(&x, &x, &x);
    }
  }
  if (a->err != 0.0) {
    rm_ball_set_u64(&t, 1, 1);
    if (less_one) rm_ball_add(&t, &x, &t);
    else rm_ball_copy(&t, &x);
    rm_ball_mul(&t, &t, &off);
    rm_ball_add(&x, &x, &t);
  }
  rm_ball_resize(r, &x, a->n);
}

RM_SHARED void rm_ball_exp(rm_ball *r, const rm_ball *a) {
  const int n = a->n;
  uint64_t y[RM_MP_LIMBS], f[RM_MP_LIMBS];
  const uint64_t one = 1;
  rm_ball ln2, t;
  if (rm_ball_is_zero(a)) {
    rm_ball_set_u64(r, 1, n);
    return;
  }
  if (rm_ball_top(a) > 40) {
    rm_ball_set(&t, 0x1p40, n);
    if (rm_ball_is_unknown(a) == 0) rm_ball_add(&t, a, &t);
    if (rm_ball_sign(&t) == -1) rm_ball_store(r, 0, &one, 1, -(INT64_C(1) << 40), 0.0, n), r->err = 1.0;
    else rm_ball_unknown(r, n);
    return;
  }
  if (rm_ball_is_long(a)) {
    rm_ball_exp_doubled(r, a, 0);
    return;
  }
  const double leading = rm_ball_leading(a); /* times 2^(e + 64 (length - 1)), where the exponent is below 40 */
  const int64_t at = a->e + 64 * ((int64_t)a->length - 1);
  const double size = at < -500 ? 0.0 : leading * rm_pow2((int)at);
  const double q = (a->negative ? -size : size) * 0x1.71547652b82fep+0;
  int64_t k = (int64_t)q;
  if ((double)k > q) k--;
  rm_ball_store(&ln2, 0, rm_mp_ln2, RM_MP_TABLE_LIMBS, -64 * (RM_MP_TABLE_LIMBS - 1), 1.0, RM_MP_TABLE_LIMBS);
  rm_ball_set_i64(&t, k, n);
  rm_ball_mul(&t, &t, &ln2);
  rm_ball_sub(&t, a, &t); /* its precision is at least that of ln2 */
  for (int w = rm_ball_mp_limbs(n); w > 0 && rm_ball_top(&t) <= 9; w--) {
    const double d = rm_ball_shifted(t.err, t.e + 64 * (int64_t)w); /* in units of 2^(-64 w): below 1/16 */
    if (!(d < 0x1p60)) continue;
    rm_ball_place(y, w + 1, &t, -64 * (int64_t)w);
    k += rm_exp_mp(f, y, t.negative, w);
    const double err = (double)rm_exp_mp_err(w) + ((double)f[w] + 1.0) * d * 1.125;
    rm_ball_store(r, 0, f, w + 1, k - 64 * (int64_t)w, rm_ball_up(err), n);
    return;
  }
  rm_ball_unknown(r, n);
}

RM_SHARED void rm_ball_log(rm_ball *r, const rm_ball *a) {
  const int n = a->n;
  uint64_t v[RM_MP_LIMBS], err;
  const int length = a->length;
  if (rm_ball_is_unknown(a) || rm_ball_sign(a) != 1) {
    rm_ball_unknown(r, n);
    return;
  }
  const int64_t top = a->e + 64 * (int64_t)length - rm_clz64(a->m[length - 1]); /* A = a 2^-top */
  if (a->err == 0.0 && length == 1 && a->m[0] == UINT64_C(1) << (top - 1 - a->e) && top == 1) {
    rm_ball_set_u64(r, 0, n);
    return;
  }
  int w = top < INT64_C(1) << 39 && top > -(INT64_C(1) << 39) ? rm_ball_mp_limbs(n) : 0, negative = 0;
  for (; w > 0; w--) {
    uint64_t t[RM_MP_LIMBS];
    const int64_t unit = top - 64 * (int64_t)w;
    const double d = rm_ball_shifted(a->err, a->e - unit);
    if (!(d < 0x1p50)) continue;
    const int cut = rm_ball_place(t, w + 1, a, unit);
    const uint64_t off = a->err == 0.0 ? (uint64_t)cut : (uint64_t)d + 1 + (uint64_t)cut;
    negative = rm_log_mp_of(v, t, top, off, w, &err);
    break;
  }
  if (w == 0) {
    rm_ball_unknown(r, n);
    return;
  }
  if (n > RM_BALL_MP && w == RM_MP_MAX) {
    rm_ball y, t, one;
    rm_ball_store(&y, negative, v, w + 1, -64 * (int64_t)w, 0.0, n);
    rm_ball_neg(&t, &y);
    rm_ball_exp(&t, &t);
    rm_ball_mul(&t, &t, a);
    rm_ball_set_u64(&one, 1, n);
    rm_ball_sub(&t, &t, &one);
    if (!rm_ball_is_zero(&t) && rm_ball_top(&t) < -RM_BALL_SMALL) {
      rm_ball_series(&t, &t, 0);
      rm_ball_add(r, &y, &t);
      return;
    }
  }
  rm_ball_store(r, negative, v, w + 1, -64 * (int64_t)w, rm_ball_up((double)err), n);
}

RM_SHARED void rm_ball_expm1(rm_ball *r, const rm_ball *a) {
  rm_ball one, t;
  const int n = a->n;
  const int64_t top = rm_ball_is_zero(a) ? 0 : rm_ball_top(a);
  if (rm_ball_is_zero(a)) {
    rm_ball_copy(r, a);
  } else if (top < -rm_ball_small(n)) {
    rm_ball_series(r, a, 1);
  } else if (rm_ball_is_long(a) && top <= 40) {
    rm_ball_exp_doubled(r, a, 1);
  } else {
    rm_ball_set_u64(&one, 1, n);
    rm_ball_copy(&t, a);
    t.n = n < RM_BALL_MP ? n + 1 : n;
    rm_ball_exp(&t, &t);
    rm_ball_sub(&t, &t, &one);
    rm_ball_resize(r, &t, n);
  }
}

RM_SHARED void rm_ball_log1p(rm_ball *r, const rm_ball *a) {
  rm_ball one;
  const int n = a->n, small = rm_ball_small(n), limbs = n + small / 64 + 1;
  if (rm_ball_is_zero(a)) {
    rm_ball_copy(r, a);
  } else if (rm_ball_top(a) < -small) {
    rm_ball_series(r, a, 0);
  } else {
    rm_ball_set_u64(&one, 1, limbs < RM_BALL_LIMBS ? limbs : RM_BALL_LIMBS);
    rm_ball_add(&one, &one, a);
    rm_ball_log(&one, &one);
    rm_ball_resize(r, &one, n);
  }
}
#endif
