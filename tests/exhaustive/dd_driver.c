/* The double-double kernel of one function over an array, for hard_f64.py. RM_TEST_HEADER is its <f>.h, RM_TEST_DD the
 * kernel; or <f>_dd.h and RM_TEST_DD_BALL, the evaluation in numbers with a bound; of two arguments, RM_TEST_DD_BALL_OF_TWO
 * and <f>_accurate.h. */
#include RM_TEST_HEADER

#ifdef RM_TEST_DD_BALL
static void rm_test_ball(double x, double *hi, double *lo, double *err) {
  rm_dd_ball v;
  RM_TEST_DD_BALL(&v, x);
  *hi = v.hi, *lo = v.lo, *err = v.err;
}
#define RM_TEST_DD rm_test_ball
#endif

#ifdef RM_TEST_DD_BALL_OF_TWO
void rm_test_dd_of_two(int64_t n, const double *x, const double *y, double *hi, double *lo);
void rm_test_dd_of_two(int64_t n, const double *x, const double *y, double *hi, double *lo) {
  for (int64_t i = 0; i < n; i++) {
    rm_dd_ball v;
    RM_TEST_DD_BALL_OF_TWO(&v, x[i], y[i], 0);
    hi[i] = v.hi, lo[i] = v.lo;
  }
}
#else
void rm_test_dd(int64_t n, const double *x, double *hi, double *lo);
void rm_test_dd(int64_t n, const double *x, double *hi, double *lo) {
  double err;
  for (int64_t i = 0; i < n; i++) RM_TEST_DD(x[i], hi + i, lo + i, &err);
}
#endif
