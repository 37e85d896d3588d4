/* The binary32 evaluation of RM_TEST_FUNCTION alone, lane by lane: every result that it calls decided must be the one that
 * the library gives under REPMATH_ISA=base, where there is no binary32 evaluation. (In the loop a block with many undecided
 * lanes is computed again as a whole, which would hide a wrong lane.)
 *
 *   b32_lanes [<stride>]        the bit patterns 0, stride, ... (1: all)
 *
 * Prints "<inputs> <undecided> <wrong> <first wrong input>". Compiled for AVX2 or AVX-512; RM_TEST_B32_HEADER is the
 * function's header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include RM_TEST_B32_HEADER

#include "repmath/repmath.h"

#define EVALUATE RM_CAT(RM_CAT(rm_, RM_TEST_FUNCTION), _b32)
#define MAP RM_CAT(RM_CAT(rm_v, RM_TEST_FUNCTION), _f32)

enum { CHUNK = 1 << 14 };

int main(int argc, char **argv) {
  static float x[CHUNK], want[CHUNK];
  const uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, end = UINT64_C(1) << 32;
  const char *isa = rm_isa();
  if (!stride || !isa || strcmp(isa, "base") != 0) {
    fprintf(stderr, "usage: REPMATH_ISA=base b32_lanes [<stride>]\n");
    return 2;
  }
  rm_set_num_threads(1);
  uint64_t inputs = 0, undecided = 0, wrong = 0;
  uint32_t first = 0;
  for (uint64_t bits = 0; bits < end;) {
    for (int k = 0; k < CHUNK; k++, bits += stride) {
      const uint32_t pattern = bits < end ? (uint32_t)bits : 0; /* the last chunk is filled up with zeros */
      memcpy(x + k, &pattern, sizeof *x);
    }
    if (MAP(CHUNK, x, sizeof *x, want, sizeof *x) != RM_OK) return 2;
    for (int i = 0; i < CHUNK; i += RM_B32_LANES) {
      float y[RM_B32_LANES];
      vf32 v;
      const uint32_t mask = vm32_bits(EVALUATE(vf32_load_f32(x + i), &v));
      vf32_store_f32(y, v);
      inputs += RM_B32_LANES, undecided += (uint64_t)__builtin_popcount(mask);
      for (int k = 0; k < RM_B32_LANES; k++)
        if (!(mask >> k & 1) && memcmp(y + k, want + i + k, sizeof *y) != 0 && wrong++ == 0)
          memcpy(&first, x + i + k, sizeof *x);
    }
  }
  printf("%llu %llu %llu %x\n", (unsigned long long)inputs, (unsigned long long)undecided, (unsigned long long)wrong, first);
  return wrong != 0;
}
