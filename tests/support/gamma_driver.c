/* The evaluations of lgamma and digamma in double-double numbers with a bound, and in multiprecision, for
 * elementwise/test_gamma.py. */
#include "../../crlibm/digamma/digamma_accurate.h"
#include "../../crlibm/lgamma/lgamma_accurate.h"

/* out = hi, lo, err of a function of x, which is neither a pole nor 0 nor, for lgamma, 1 or 2. */
void rm_test_gamma_dd(int digamma, double x, double *out);
void rm_test_gamma_dd(int digamma, double x, double *out) {
  rm_dd_ball v;
  if (digamma && x <= -0.5) rm_digamma_reflected_dd_ball(&v, x);
  else if (digamma) rm_digamma_dd_ball(&v, x);
  else if (x <= -0.5) rm_lgamma_reflected_dd_ball(&v, x);
  else rm_lgamma_dd_ball(&v, x);
  out[0] = v.hi, out[1] = v.lo, out[2] = v.err;
}

/* plus and minus in n limbs, and *err, for x > -1/2: the exponent is returned. Of digamma the term 1/x is left out for |x| <
 * 1/2.
 * */
int rm_test_gamma_mp(int digamma, double x, int n, uint64_t *plus, uint64_t *minus, uint64_t *err);
int rm_test_gamma_mp(int digamma, double x, int n, uint64_t *plus, uint64_t *minus, uint64_t *err) {
  if (!digamma) return rm_lgamma_mp(plus, minus, x, n, err);
  rm_digamma_mp(plus, minus, x, n, err);
  return 0;
}

/* The sine and cosine of pi r, the sine over pi r. */
void rm_test_gamma_turn(double r, int n, uint64_t *sine, uint64_t *cosine, uint64_t *err);
void rm_test_gamma_turn(double r, int n, uint64_t *sine, uint64_t *cosine, uint64_t *err) {
  rm_gamma_mp_turn(sine, cosine, r, n);
  *err = RM_GAMMA_MP_TURN_ERR(n);
}
