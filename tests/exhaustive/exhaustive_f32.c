/* Every input of the f32 function RM_TEST_FUNCTION, on the instruction set in use (REPMATH_ISA).
 *
 *   exhaustive_f32 [<stride> [<file>]]
 *
 * Runs the bit patterns 0, stride, 2 stride, ... below 2^32 (stride 1: all of them) and prints one line
 *   <function> <isa> <stride> <inputs> <sha256 of the results, little endian, in this order> <undecided>
 * where <undecided> counts the inputs within the domain of the fast kernel that its rounding test left undecided. The
 * file receives these, each as two little-endian words: input and result. One thread: run one process a function. */
#include <stdlib.h>

#include "repmath/repmath.h"
#include "sha256.h"
#include "trace_accurate.h"

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c) PASTE_(a, b, c)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define MAP PASTE(rm_v, RM_TEST_FUNCTION, _f32)

enum { CHUNK = 1 << 18 };

int main(int argc, char **argv) {
  static uint32_t x[CHUNK], y[CHUNK];
  const uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  if (!rm_isa() || stride == 0) {
    fprintf(stderr, "usage: exhaustive_f32 [<stride> [<file>]], with a usable REPMATH_ISA\n");
    return 2;
  }
  rm_set_num_threads(1);

  struct sha256 s;
  char digest[65];
  uint64_t inputs = 0;
  sha256_begin(&s);
  for (uint64_t bits = 0; bits < UINT64_C(1) << 32;) {
    int n = 0;
    for (; n < CHUNK && bits < UINT64_C(1) << 32; bits += stride) x[n++] = (uint32_t)bits;
    if (MAP(n, (const float *)(const void *)x, 4, (float *)(void *)y, 4) != RM_OK) return 3;
    sha256_feed(&s, y, (size_t)n * 4);
    inputs += (uint64_t)n;
  }
  sha256_end(&s, digest);
  printf("%s %s %llu %llu %s %llu\n", TEXT(RM_TEST_FUNCTION), rm_isa(), (unsigned long long)stride,
         (unsigned long long)inputs, digest, (unsigned long long)trace_count);

  if (argc > 2) {
    FILE *file = fopen(argv[2], "wb");
    if (!file) return 4;
    const uint64_t noted = trace_count < TRACE_CAPACITY ? trace_count : TRACE_CAPACITY;
    for (uint64_t i = 0; i < noted; i++) {
      float pair[2] = {trace_inputs[i], 0};
      MAP(1, pair, 4, pair + 1, 4);
      if (fwrite(pair, 4, 2, file) != 2) return 4;
    }
    if (fclose(file)) return 4;
  }
  return 0;
}
