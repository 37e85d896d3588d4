/* The narrow evaluation of RM_TEST_FUNCTION alone, lane by lane: every result that it calls decided must be the one that the
 * library gives under REPMATH_ISA=avx2, where there is no narrow evaluation. (In the loop a block with many open lanes is
 * computed again as a whole, which would hide a wrong lane.)
 *
 *   narrow_lanes [<stride>]        f32: the bit patterns 0, stride, ... (1: all); f16 and bf16: all
 *
 * Prints one line a format, "<format> <inputs> <open> <wrong> <first wrong input>". Compiled for AVX-512 with RM_TEST_HEADER and
 * RM_TEST_NARROW_HEADER, the function's headers, and RM_TEST_NAME, its name in capitals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include RM_TEST_HEADER
#include RM_TEST_NARROW_HEADER
#include "src/elementwise/map.h"

#define NARROW_FUNCTION(name, NAME) RM_NARROW_FUNCTION(name, NAME)
NARROW_FUNCTION(RM_TEST_FUNCTION, RM_TEST_NAME)

#include "repmath/repmath.h"

#define STEP(fmt) RM_CAT(RM_CAT(narrow_step_, RM_TEST_FUNCTION), RM_CAT(_, fmt))
#define MAP(fmt) RM_CAT(RM_CAT(rm_v, RM_TEST_FUNCTION), RM_CAT(_, fmt))

enum { CHUNK = 1 << 14 };

#define CHECK_FORMAT(fmt, type, public, store)                                                                              \
  static int check_##fmt(uint64_t end, uint64_t stride) {                                                                   \
    static type x[CHUNK], want[CHUNK];                                                                                      \
    uint64_t inputs = 0, open = 0, wrong = 0, first = 0;                                                                    \
    for (uint64_t bits = 0; bits < end;) {                                                                                  \
      int n = 0;                                                                                                            \
      for (; n < CHUNK; bits += stride, n++) {                                                                              \
        const uint64_t pattern = bits < end ? bits : 0; /* the last chunk is filled up with zeros */                        \
        memcpy(x + n, &pattern, sizeof *x);                                                                                 \
      }                                                                                                                     \
      if (MAP(fmt)(n, (const public *)x, sizeof *x, (public *)want, sizeof *x) != RM_OK) return 2;                          \
      for (int i = 0; i < n; i += RM_NARROW_LANES) {                                                                        \
        type y[RM_NARROW_LANES];                                                                                            \
        vf32 v;                                                                                                             \
        const uint32_t mask = vm32_bits(STEP(fmt)(vf32_load_##fmt(x + i), &v));                                             \
        store(y, v);                                                                                                        \
        inputs += RM_NARROW_LANES, open += (uint64_t)__builtin_popcount(mask);                                              \
        for (int k = 0; k < RM_NARROW_LANES; k++)                                                                           \
          if (!(mask >> k & 1) && memcmp(y + k, want + i + k, sizeof *y) != 0) {                                            \
            if (wrong++ == 0) memcpy(&first, x + i + k, sizeof *x);                                                         \
          }                                                                                                                 \
      }                                                                                                                     \
    }                                                                                                                       \
    printf(#fmt " %llu %llu %llu %llx\n", (unsigned long long)inputs, (unsigned long long)open, (unsigned long long)wrong,  \
           (unsigned long long)first);                                                                                      \
    return wrong != 0;                                                                                                      \
  }
CHECK_FORMAT(f16, uint16_t, rm_f16, vf32_store_f16)
CHECK_FORMAT(bf16, uint16_t, rm_bf16, vf32_store_high)
CHECK_FORMAT(f32, float, float, vf32_store_f32)

int main(int argc, char **argv) {
  const uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const char *isa = rm_isa();
  if (!stride || !isa || strcmp(isa, "avx2") != 0) {
    fprintf(stderr, "usage: REPMATH_ISA=avx2 narrow_lanes [<stride>]\n");
    return 2;
  }
  rm_set_num_threads(1);
  return check_f16(1 << 16, 1) | check_bf16(1 << 16, 1) | check_f32(UINT64_C(1) << 32, stride);
}
