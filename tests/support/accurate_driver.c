/* The accurate phases over arrays, for elementwise/test_accurate.py: compiled there with several settings of RM_CFG_*.
 * RM_TEST_HEADERS is a file that includes crlibm/<f>/<f>_accurate.h of every function of the manifest. */
static int test_first; /* limbs of the first wide evaluation: a variable, so that one build serves for each */
#define RM_CFG_MP_FIRST test_first
#include RM_TEST_HEADERS
#include "../../src/elementwise/accurate.h"

#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) RM_ACCURATE_FUNCTION(name, arity)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
#include "../../src/elementwise/accurate.c" /* rm_accurate_table */

/* function: its place in the manifest; x[k]: the array of argument k. */
void rm_test_accurate(int first, int function, int arity, int format, int rule, int64_t n, const double *const *x,
                      uint64_t *y, uint32_t *flags);
void rm_test_accurate(int first, int function, int arity, int format, int rule, int64_t n, const double *const *x,
                      uint64_t *y, uint32_t *flags) {
  test_first = first;
  for (int64_t i = 0; i < n; i++) {
    double in[RM_MAX_ARITY];
    for (int k = 0; k < arity; k++) in[k] = x[k][i];
    flags[i] = 0;
    y[i] = rm_accurate_table[function](in, format, rule, flags + i);
  }
}

/* The same under a random mode (RM_STOCHASTIC ...), each element with its word. */
void rm_test_accurate_random(int first, int function, int arity, int format, int kind, int64_t n, const double *const *x,
                             const uint32_t *words, uint64_t *y);
void rm_test_accurate_random(int first, int function, int arity, int format, int kind, int64_t n, const double *const *x,
                             const uint32_t *words, uint64_t *y) {
  uint32_t ignored = 0;
  test_first = first;
  for (int64_t i = 0; i < n; i++) {
    double in[RM_MAX_ARITY];
    for (int k = 0; k < arity; k++) in[k] = x[k][i];
    y[i] = rm_accurate_table[function](in, format, rm_random_mode(kind, words[i]), &ignored);
  }
}
