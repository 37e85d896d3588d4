/* The evaluation of RM_TEST_FUNCTION, of one argument, for the 16-bit formats (<f>_16.h), lane by lane: every result that the rounding
 * test lets pass must be the one that the library gives under REPMATH_ISA=base, where there is no such evaluation. All inputs.
 *
 *   lanes_16 [<factor>]            the evaluation times the factor, for a control
 *
 * Prints "<inputs> <open> <wrong> <first wrong input>". Compiled for AVX2 or AVX-512; RM_TEST_HEADER is the function's header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include RM_TEST_HEADER
#include "src/elementwise/map.h"

#include "repmath/repmath.h"

#define ERR_(f, FMT) RM_16_ERR_##f(FMT)
#define ERR(f, FMT) ERR_(f, FMT)
#define ROUND_(fmt, f) RM_16_ROUND_##fmt(f)
#define ROUND(fmt, f) ROUND_(fmt, f)
#define EVAL RM_CAT(RM_CAT(rm_, RM_TEST_FUNCTION), _16)
#define MAP(fmt) RM_CAT(RM_CAT(rm_v, RM_TEST_FUNCTION), _##fmt)

enum { INPUTS = 65536, LANES = 2 * RM_LANES };
static uint16_t x[INPUTS], want[INPUTS];
static unsigned long long inputs, undecided, wrong;
static unsigned first;
static float factor = 1.0f;

#define TEST(fmt, FMT)                                                                                            \
  static int test_##fmt(void) {                                                                                   \
    if (MAP(fmt)(INPUTS, x, sizeof *x, want, sizeof *want) != RM_OK) return 2;                                    \
    for (int i = 0; i < INPUTS; i += LANES) {                                                                     \
      uint16_t y[LANES];                                                                                          \
      vu16 rounded;                                                                                               \
      const vf32 in[1] = {vf32_load_##fmt(x + i)}, v = vf32_mul(EVAL(in, FMT), vf32_set1(factor));                \
      const uint32_t mask = ROUND(fmt, RM_TEST_FUNCTION)(v, (float)ERR(RM_TEST_FUNCTION, FMT), &rounded);         \
      vu16_store(y, rounded);                                                                                     \
      inputs += LANES, undecided += (unsigned)__builtin_popcount(mask);                                           \
      for (int k = 0; k < LANES; k++)                                                                             \
        if (!(mask >> k & 1) && y[k] != want[i + k] && wrong++ == 0) first = x[i + k];                            \
    }                                                                                                             \
    return 0;                                                                                                     \
  }
TEST(f16, RM_F16)
TEST(bf16, RM_BF16)

int main(int argc, char **argv) {
  const char *isa = rm_isa();
  if (!isa || strcmp(isa, "base") != 0) {
    fprintf(stderr, "usage: REPMATH_ISA=base lanes_16 [<factor>]\n");
    return 2;
  }
  if (argc > 1) factor = strtof(argv[1], NULL);
  rm_set_num_threads(1);
  for (int i = 0; i < INPUTS; i++) x[i] = (uint16_t)i;
  if (test_f16() || test_bf16()) return 2;
  printf("%llu %llu %llu %x\n", inputs, undecided, wrong, first);
  return wrong != 0;
}
