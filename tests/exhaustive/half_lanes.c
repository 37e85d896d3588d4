/* The evaluation of RM_TEST_FUNCTION for the 16-bit formats (<f>_b32_half.h), lane by lane: every result that is not left
 * open must be the one that the library gives under REPMATH_ISA=base, where there is no such evaluation. All inputs; of two
 * arguments (RM_TEST_ARITY is 2), all second ones with every <stride>-th first one.
 *
 *   half_lanes [<factor> [<stride>]]       the evaluation times the factor, for a control; the stride is 1 unless given
 *
 * Prints "<inputs> <open> <wrong> <first wrong input>". Compiled for AVX2 or AVX-512; RM_TEST_HEADER is the function's
 * header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include RM_TEST_HEADER
#include "src/elementwise/map.h"

#include "repmath/repmath.h"

#define TAKE_(fmt, FMT, f) \
  static uint32_t take_##fmt(const uint16_t *x, vf32 v0, vf32 v1, vu16 *y) { RM_HALF_TAKE_##fmt(f, FMT) }
#define TAKE(fmt, FMT, f) TAKE_(fmt, FMT, f)
TAKE(f16, RM_F16, RM_TEST_FUNCTION)
TAKE(bf16, RM_BF16, RM_TEST_FUNCTION)
#define EVAL RM_CAT(RM_CAT(rm_, RM_TEST_FUNCTION), _b32_half)
#define MAP(fmt) RM_CAT(RM_CAT(rm_v, RM_TEST_FUNCTION), _##fmt)

enum { INPUTS = 65536, LANES = 2 * RM_GROUP16 };
static uint16_t x[INPUTS], want[INPUTS], other[RM_GROUP16]; /* other: the first of two arguments, in each lane */
#if RM_TEST_ARITY == 1
#define CALL(fmt) MAP(fmt)(INPUTS, x, sizeof *x, want, sizeof *want)
#define ARGUMENTS(fmt, i) {vf32_load_##fmt(x + (i))}
#else
#define CALL(fmt) MAP(fmt)(INPUTS, other, 0, x, sizeof *x, want, sizeof *want)
#define ARGUMENTS(fmt, i) {vf32_load_##fmt(other), vf32_load_##fmt(x + (i))}
#endif
static unsigned long long inputs, undecided, wrong;
static unsigned first;
static float factor = 1.0f;

#define TEST(fmt, FMT)                                                                                                    \
  static int test_##fmt(void) {                                                                                           \
    if (CALL(fmt) != RM_OK) return 2;                                                                                     \
    for (int i = 0; i < INPUTS; i += LANES) {                                                                             \
      uint16_t y[LANES];                                                                                                  \
      vu16 rounded[2];                                                                                                    \
      const vf32 in0[] = ARGUMENTS(fmt, i), in1[] = ARGUMENTS(fmt, i + RM_GROUP16), times = vf32_set1(factor);            \
      const uint32_t mask = take_##fmt(x + i, vf32_mul(EVAL(in0, FMT), times), vf32_mul(EVAL(in1, FMT), times), rounded); \
      vu16_store(y, rounded[0]);                                                                                          \
      vu16_store(y + RM_GROUP16, rounded[1]);                                                                             \
      inputs += LANES, undecided += (unsigned)__builtin_popcount(mask);                                                   \
      for (int k = 0; k < LANES; k++)                                                                                     \
        if (!(mask >> k & 1) && y[k] != want[i + k] && wrong++ == 0) first = (unsigned)other[0] << 16 | x[i + k];         \
    }                                                                                                                     \
    return 0;                                                                                                             \
  }
TEST(f16, RM_F16)
TEST(bf16, RM_BF16)

int main(int argc, char **argv) {
  const char *isa = rm_isa();
  if (!isa || strcmp(isa, "base") != 0) {
    fprintf(stderr, "usage: REPMATH_ISA=base half_lanes [<factor> [<stride>]]\n");
    return 2;
  }
  if (argc > 1) factor = strtof(argv[1], NULL);
  rm_set_num_threads(1);
  for (int i = 0; i < INPUTS; i++) x[i] = (uint16_t)i;
  const int stride = RM_TEST_ARITY == 1 ? INPUTS : argc > 2 ? atoi(argv[2]) : 1;
  if (stride < 1) return 2;
  for (int a = 0; a < INPUTS; a += stride) {
    for (int k = 0; k < RM_GROUP16; k++) other[k] = (uint16_t)a;
    if (test_f16() || test_bf16()) return 2;
  }
  printf("%llu %llu %llu %x\n", inputs, undecided, wrong, first);
  return wrong != 0;
}
