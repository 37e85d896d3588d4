/* Every input of an f32 function, on the instruction set in use (REPMATH_ISA).
 *
 *   exhaustive_f32 <function> [<stride> [<file>]]
 *
 * Runs the bit patterns 0, stride, 2 stride, ... below 2^32 (stride 1: all of them) and prints one line
 *   <function> <isa> <stride> <inputs> <sha256 of the results, little endian, in this order> <undecided>
 * where <undecided> counts the inputs within the domain of the fast kernel that its rounding test left to the slow path. The
 * file receives these, each as two little-endian words: input and result. One thread: run one process a function. */
#include <stdlib.h>

#include "repmath/repmath.h"
#include "sha256.h"
#include "trace_slow.h"

typedef rm_status map_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *y, ptrdiff_t stride_y);

static const struct {
  const char *name;
  map_f32 *map;
} functions[] = {
#define RM_FUNCTION(name, NAME, hard, doc) {#name, rm_v##name##_f32},
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

enum { CHUNK = 1 << 18 };

int main(int argc, char **argv) {
  static uint32_t x[CHUNK], y[CHUNK];
  map_f32 *map = NULL;
  for (size_t i = 0; argc > 1 && i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].name, argv[1]) == 0) map = functions[i].map;
  const uint64_t stride = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  if (!map || !rm_isa() || stride == 0) {
    fprintf(stderr, "usage: exhaustive_f32 <function> [<stride> [<file>]], with a usable REPMATH_ISA\n");
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
    if (map(n, (const float *)(const void *)x, 4, (float *)(void *)y, 4) != RM_OK) return 3;
    sha256_feed(&s, y, (size_t)n * 4);
    inputs += (uint64_t)n;
  }
  sha256_end(&s, digest);
  printf("%s %s %llu %llu %s %llu\n", argv[1], rm_isa(), (unsigned long long)stride, (unsigned long long)inputs, digest,
         (unsigned long long)trace_count);

  if (argc > 3) {
    FILE *file = fopen(argv[3], "wb");
    if (!file) return 4;
    const uint64_t noted = trace_count < TRACE_CAPACITY ? trace_count : TRACE_CAPACITY;
    for (uint64_t i = 0; i < noted; i++) {
      float pair[2] = {trace_inputs[i], 0};
      map(1, pair, 4, pair + 1, 4);
      if (fwrite(pair, 4, 2, file) != 2) return 4;
    }
    if (fclose(file)) return 4;
  }
  return 0;
}
