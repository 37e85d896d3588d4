/* One complete function over arrays, for test_slow.py: compiled there for each function, with several settings of RM_CFG_*.
 * RM_TEST_HEADER is its <f>_slow.h, RM_TEST_FUNCTION its name and RM_TEST_ARITY its number of arguments. */
#include RM_TEST_HEADER
#include "../src/elementwise/slow.h"

#define RM_SLOW_NAMED(name, arity) RM_SLOW_FUNCTION(name, arity)
RM_SLOW_NAMED(RM_TEST_FUNCTION, RM_TEST_ARITY)

/* x[k] is the array of argument k. */
void rm_test_slow(int format, int rule, int64_t n, const double *const *x, uint64_t *y, uint32_t *flags);
void rm_test_slow(int format, int rule, int64_t n, const double *const *x, uint64_t *y, uint32_t *flags) {
  for (int64_t i = 0; i < n; i++) {
    double in[RM_MAX_ARITY];
    for (int k = 0; k < RM_TEST_ARITY; k++) in[k] = x[k][i];
    flags[i] = 0;
    y[i] = RM_CAT(rm_slow_, RM_TEST_FUNCTION)(in, format, rule, flags + i);
  }
}
