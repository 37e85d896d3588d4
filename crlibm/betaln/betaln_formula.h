/* One formula of betaln for two arithmetics (enclosure/numbers.h), which have besides
 *   RM_NUM_(gamma_series)(r, y)   Stirling's S(1/y^2)/y for y >= RM_BETALN_FROM
 *   RM_NUM_(half_log_2pi)(r, n)   log(2 pi)/2
 *
 * With c = a + b, and A = a + N, B = b + M, C = c + M for the least N and M by which A, B >= RM_BETALN_FROM:
 *   log B(a, b) = (A - 1/2) log A - A + log(2 pi)/2 + S(A) + A' - (B - 1/2) log1p(a/B) - a log C + S(B) - S(C) + log(p/q),
 * A' = a, p the product of c + j over j < M, q that of b + j over j < M and of a + j over j < N: these are Stirling's series
 * of lgamma A and of lgamma B - lgamma C, in which B log B and B are taken away exactly. What is left of b is at most 2 a, in
 * magnitude, beside a log C. */

/* r = x + shift, and product = product x (x + 1) ... (x + shift - 1). */
RM_FORMULA void RM_NUM_NAME(rm_betaln_shift)(RM_NUM_T *r, RM_NUM_T *product, const RM_NUM_T *x, int shift, int n) {
  RM_NUM_T one;
  RM_NUM_(set)(&one, 1.0, n);
  *r = *x;
  for (int j = 0; j < shift; j++) {
    RM_NUM_(mul)(product, product, r);
    RM_NUM_(add)(r, r, &one);
  }
}
RM_FN int RM_NUM_NAME(rm_betaln_steps)(double x) { return x < (double)RM_BETALN_FROM ? RM_BETALN_FROM - (int)x : 0; }

/* log B(a, b) for 0 < a <= b. */
RM_FORMULA void RM_NUM_NAME(rm_betaln)(RM_NUM_T *r, double a, double b, int n) {
  RM_NUM_T x, y, z, p, q, t, half;
  const int few = RM_NUM_NAME(rm_betaln_steps)(a), many = RM_NUM_NAME(rm_betaln_steps)(b);
  RM_NUM_(set)(&x, a, n);
  RM_NUM_(set)(&y, b, n);
  RM_NUM_(set)(&half, 0.5, n);
  RM_NUM_(set)(&p, 1.0, n);
  RM_NUM_(set)(&q, 1.0, n);
  RM_NUM_(add)(&z, &x, &y);
  RM_NUM_NAME(rm_betaln_shift)(&z, &p, &z, many, n);
  RM_NUM_NAME(rm_betaln_shift)(&y, &q, &y, many, n);
  RM_NUM_NAME(rm_betaln_shift)(&t, &q, &x, few, n); /* A */
  RM_NUM_(div)(&p, &p, &q);
  RM_NUM_(half_log_2pi)(r, n);
  if (few) {
    RM_NUM_(log)(&p, &p);
    RM_NUM_(add)(r, r, &p);
  }
  RM_NUM_(sub)(&p, &t, &half);
  RM_NUM_(log)(&q, &t);
  RM_NUM_(mul)(&p, &p, &q);
  RM_NUM_(sub)(&p, &p, &t);
  RM_NUM_(add)(r, r, &p);
  RM_NUM_(gamma_series)(&p, &t);
  RM_NUM_(add)(r, r, &p);
  RM_NUM_(div)(&p, &x, &y);
  RM_NUM_(log1p)(&p, &p);
  RM_NUM_(sub)(&q, &y, &half);
  RM_NUM_(mul)(&p, &p, &q);
  RM_NUM_(sub)(&p, &x, &p);
  RM_NUM_(log)(&q, &z);
  RM_NUM_(mul)(&q, &q, &x);
  RM_NUM_(sub)(&p, &p, &q);
  RM_NUM_(add)(r, r, &p);
  RM_NUM_(gamma_series)(&p, &y);
  RM_NUM_(add)(r, r, &p);
  RM_NUM_(gamma_series)(&p, &z);
  RM_NUM_(sub)(r, r, &p);
}
