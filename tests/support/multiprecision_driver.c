/* The rounding step and the evaluations in multiprecision fixed point, each alone, for elementwise/test_accurate.py. */
#include "../../crlibm/acos/acos_accurate.h"
#include "../../crlibm/asin/asin_accurate.h"
#include "../../crlibm/atan/atan_accurate.h"
#include "../../crlibm/digamma/digamma_mp.h"
#include "../../crlibm/erf/erf_accurate.h"
#include "../../crlibm/erfc/erfc_accurate.h"
#include "../../crlibm/erfcx/erfcx_accurate.h"
#include "../../crlibm/exp/exp_accurate.h"
#include "../../crlibm/exp10/exp10_accurate.h"
#include "../../crlibm/exp2/exp2_accurate.h"
#include "../../crlibm/expm1/expm1_accurate.h"
#include "../../crlibm/lgamma/lgamma_mp.h"
#include "../../crlibm/log/log_accurate.h"
#include "../../crlibm/log_ndtr/log_ndtr_accurate.h"
#include "../../crlibm/ndtr/ndtr_accurate.h"
#include "../../crlibm/sigmoid/sigmoid_accurate.h"
#include "../../crlibm/sin/sin_mp.h"
#include "../../crlibm/sinh/sinh_accurate.h"
#include "../../crlibm/tan/tan_mp.h"
#include "../../crlibm/tanh/tanh_accurate.h"

/* hi + lo within err, for the rounding step of the middle tier. */
uint64_t rm_test_round_dd(double hi, double lo, double err, int format, int rule, uint32_t *flags, int *undecided);
uint64_t rm_test_round_dd(double hi, double lo, double err, int format, int rule, uint32_t *flags, int *undecided) {
  return rm_round_dd(hi, lo, err, 0, format, rule, flags, undecided);
}

/* (-1)^negative (high 2^64 + low) 2^e, within err units of 2^e. */
uint64_t rm_test_round(int negative, uint64_t high, uint64_t low, int64_t e, uint64_t err, int format, int rule,
                       uint32_t *flags, int *undecided);
uint64_t rm_test_round(int negative, uint64_t high, uint64_t low, int64_t e, uint64_t err, int format, int rule,
                       uint32_t *flags, int *undecided) {
  return rm_round_bits(negative, (rm_u128)high << 64 | low, e, err, format, rule, flags, undecided);
}

/* |f(x)| = v 2^(the result) within *err units of 2^(-64 n), f the sigmoid or one of its kin:
 * crlibm/sigmoid/sigmoid_shapes.h. */
int rm_test_sigmoid_mp(double x, int argument, int shape, int n, uint64_t *v, uint64_t *err);
int rm_test_sigmoid_mp(double x, int argument, int shape, int n, uint64_t *v, uint64_t *err) {
  int64_t scale;
  rm_sigmoid_mp(v, &scale, x, argument, shape, n);
  *err = rm_sigmoid_mp_err(n);
  return (int)scale;
}

/* The same of lgamma x, and of digamma x, with 1/x more for |x| < 1/2; x > -1/2, n at most RM_GAMMA_MP_MAX. */
int rm_test_lgamma_mp(double x, int n, uint64_t *v, uint64_t *err);
int rm_test_lgamma_mp(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  const int scale = rm_lgamma_mp(plus, minus, x, n, err);
  rm_gamma_mp_difference(v, plus, minus, n);
  return scale;
}
int rm_test_digamma_mp(double x, int n, uint64_t *v, uint64_t *err);
int rm_test_digamma_mp(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t plus[RM_MP_LIMBS], minus[RM_MP_LIMBS];
  rm_digamma_mp(plus, minus, x, n, err);
  rm_gamma_mp_difference(v, plus, minus, n);
  return 0;
}

/* |f(x)| = v 2^(the result) within *err units of 2^(-64 n), for n + 1 limbs v. */
int rm_mp_test_exp(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_exp(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS];
  rm_mp_from_double(y, x, 0, n);
  *err = rm_exp_mp_err(n);
  return rm_exp_mp(v, y, x < 0.0, n);
}
int rm_mp_test_exp2(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_exp2(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS];
  rm_exp_mp_argument(y, x, rm_mp_ln2, n);
  *err = rm_exp_mp_err(n);
  return rm_exp_mp(v, y, x < 0.0, n);
}
int rm_mp_test_exp10(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_exp10(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS];
  rm_exp_mp_argument(y, x, rm_mp_ln10, n);
  *err = rm_exp_mp_err(n);
  return rm_exp_mp(v, y, x < 0.0, n);
}
int rm_mp_test_expm1(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_expm1(double x, int n, uint64_t *v, uint64_t *err) {
  uint64_t y[RM_MP_LIMBS];
  rm_mp_from_double(y, x, 0, n);
  *err = rm_expm1_mp_err(n);
  return rm_expm1_mp(v, y, x < 0.0, n);
}
int rm_mp_test_log(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_log(double x, int n, uint64_t *v, uint64_t *err) {
  rm_log_mp(v, x, n);
  *err = rm_log_mp_err(n);
  return 0;
}
int rm_mp_test_tan(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_tan(double x, int n, uint64_t *v, uint64_t *err) {
  int negative;
  *err = rm_tan_mp_err(n);
  return rm_tan_mp(v, x, n, &negative);
}
int rm_mp_test_sinh(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_sinh(double x, int n, uint64_t *v, uint64_t *err) {
  *err = rm_sinh_mp_err(n);
  return rm_sinh_cosh_mp(v, x, 0, n);
}
int rm_mp_test_cosh(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_cosh(double x, int n, uint64_t *v, uint64_t *err) {
  *err = rm_sinh_mp_err(n);
  return rm_sinh_cosh_mp(v, x, 1, n);
}
int rm_mp_test_tanh(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_tanh(double x, int n, uint64_t *v, uint64_t *err) {
  rm_tanh_mp(v, x, n);
  *err = 2 * rm_exp_mp_err(n) + 5;
  return 0;
}
int rm_mp_test_erf(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_erf(double x, int n, uint64_t *v, uint64_t *err) { return rm_erf_mp(v, x, n, err); }
int rm_mp_test_ndtr(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_ndtr(double x, int n, uint64_t *v, uint64_t *err) { return rm_ndtr_mp_twice(v, x, n, err) - 1; }
int rm_mp_test_erfcx(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_erfcx(double x, int n, uint64_t *v, uint64_t *err) { return rm_erfcx_mp_value(v, x, n, err); }
int rm_mp_test_log_ndtr(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_log_ndtr(double x, int n, uint64_t *v, uint64_t *err) { return rm_log_ndtr_mp(v, x, n, err); }
int rm_mp_test_erf_half(double x, int n, uint64_t *v, uint64_t *err); /* erf(x/sqrt(2)) */
int rm_mp_test_erf_half(double x, int n, uint64_t *v, uint64_t *err) {
  int e;
  const uint64_t a = rm_decompose(x, &e);
  return rm_erf_mp_of(v, a, e, 1, n, err);
}
int rm_mp_test_erfc(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_erfc(double x, int n, uint64_t *v, uint64_t *err) {
  const int k = rm_erfc_mp(v, x, 0, n, err);
  if (x > 0.0) return k;
  rm_erfc_mp_reflect(v, k, n);
  (*err)++;
  return 0;
}
int rm_mp_test_atan(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_atan(double x, int n, uint64_t *v, uint64_t *err) {
  rm_atan_mp_direction(v, x, 1.0, n);
  *err = rm_atan_mp_err(n, 1);
  return 0;
}
int rm_mp_test_asin(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_asin(double x, int n, uint64_t *v, uint64_t *err) {
  rm_asin_mp(v, x, n);
  *err = rm_asin_mp_err(n);
  return 0;
}
int rm_mp_test_acos(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_acos(double x, int n, uint64_t *v, uint64_t *err) {
  rm_acos_mp(v, x, n);
  *err = rm_asin_mp_err(n);
  return 0;
}
int rm_mp_test_sin(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_sin(double x, int n, uint64_t *v, uint64_t *err) {
  int negative;
  *err = rm_sin_mp_err(n);
  return rm_sin_mp(v, x, 0, n, &negative);
}
int rm_mp_test_cos(double x, int n, uint64_t *v, uint64_t *err);
int rm_mp_test_cos(double x, int n, uint64_t *v, uint64_t *err) {
  int negative;
  *err = rm_sin_mp_err(n);
  return rm_sin_mp(v, x, 1, n, &negative);
}
