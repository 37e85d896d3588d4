/* The double-double kernel of one function over an array, for hard_f64.py. RM_TEST_HEADER is its <f>.h, RM_TEST_DD the kernel. */
#include RM_TEST_HEADER

void rm_test_dd(int64_t n, const double *x, double *hi, double *lo);
void rm_test_dd(int64_t n, const double *x, double *hi, double *lo) {
  double err;
  for (int64_t i = 0; i < n; i++) RM_TEST_DD(x[i], hi + i, lo + i, &err);
}
