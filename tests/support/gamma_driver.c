/* The evaluations of lgamma and its first two derivatives in double-double numbers with a bound, and in multiprecision, for
 * elementwise/test_gamma.py. */
#include "../../crlibm/betaln/betaln_accurate.h"
#include "../../crlibm/digamma/digamma_accurate.h"
#include "../../crlibm/lgamma/lgamma_accurate.h"
#include "../../crlibm/trigamma/trigamma_accurate.h"

/* out = hi, lo, err of a function of x, which is neither a pole nor 0 nor, for lgamma, 1 or 2. */
void rm_test_gamma_dd(int derivatives, double x, double *out);
void rm_test_gamma_dd(int derivatives, double x, double *out) {
  const int reflected = x <= -0.5;
  rm_dd_ball v;
  if (derivatives == 2 && reflected) rm_trigamma_reflected_dd_ball(&v, x);
  else if (derivatives == 2) rm_trigamma_dd_ball(&v, x);
  else if (derivatives && reflected) rm_digamma_reflected_dd_ball(&v, x);
  else if (derivatives) rm_digamma_dd_ball(&v, x);
  else if (reflected) rm_lgamma_reflected_dd_ball(&v, x);
  else rm_lgamma_dd_ball(&v, x);
  out[0] = v.hi, out[1] = v.lo, out[2] = v.err;
}

/* plus and minus in n limbs, and *err, for x > -1/2: the exponent is returned. Of the derivatives the term of 1/x is left out
 * for |x| < 1/2. */
int rm_test_gamma_mp(int derivatives, double x, int n, uint64_t *plus, uint64_t *minus, uint64_t *err);
int rm_test_gamma_mp(int derivatives, double x, int n, uint64_t *plus, uint64_t *minus, uint64_t *err) {
  if (!derivatives) return rm_lgamma_mp(plus, minus, x, n, err);
  if (derivatives == 2) {
    rm_mp_set(minus, 0, n);
    return rm_trigamma_mp(plus, x, x > -0.5 && x < 0.5, n, err);
  }
  rm_digamma_mp(plus, minus, x, n, err);
  return 0;
}

/* The same of a fast phase in f64, and of betaln x, y: what the rounding test is given; it is all that lanes of the vector
 * are given. */
void rm_test_gamma_fast(int derivatives, double x, double y, double *out);
void rm_test_gamma_fast(int derivatives, double x, double y, double *out) {
  if (derivatives == 3) rm_betaln_dd(x, y, out, out + 1, out + 2);
  else if (derivatives == 2) rm_trigamma_dd(x, out, out + 1, out + 2);
  else if (derivatives) rm_digamma_dd(x, out, out + 1, out + 2);
  else rm_lgamma_dd(x, out, out + 1, out + 2);
}

/* The evaluation in binary64. */
double rm_test_trigamma(double x);
double rm_test_trigamma(double x) { return x < -0.5 ? rm_trigamma_reflected(x) : rm_trigamma_eval(x); }

/* log B(a, b), 0 < a <= b: value and bound in binary64, of numbers of f32; hi, lo, err; and n limbs with an error of *err
 * units, whose exponent is returned, *negative its sign. */
void rm_test_betaln(double a, double b, double *out);
void rm_test_betaln(double a, double b, double *out) { out[0] = rm_betaln_eval(b, a, out + 1); }
void rm_test_betaln_dd(double a, double b, double *out);
void rm_test_betaln_dd(double a, double b, double *out) {
  rm_dd_ball v;
  rm_betaln_dd_ball(&v, a, b, 0);
  out[0] = v.hi, out[1] = v.lo, out[2] = v.err;
}
int64_t rm_test_betaln_mp(double a, double b, int n, uint64_t *m, int *negative, double *err);
int64_t rm_test_betaln_mp(double a, double b, int n, uint64_t *m, int *negative, double *err) {
  rm_mp_ball v;
  rm_betaln_mp_ball(&v, a, b, n);
  rm_mp_copy(m, v.m, n);
  *negative = v.negative, *err = v.err;
  return v.e;
}

/* The sine and cosine of pi r, the sine over pi r. */
void rm_test_gamma_turn(double r, int n, uint64_t *sine, uint64_t *cosine, uint64_t *err);
void rm_test_gamma_turn(double r, int n, uint64_t *sine, uint64_t *cosine, uint64_t *err) {
  rm_gamma_mp_turn(sine, cosine, r, n);
  *err = RM_GAMMA_MP_TURN_ERR(n);
}
