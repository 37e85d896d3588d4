/* Arrays of losses for the programs of this folder, and calls on either side. */
#ifndef RM_TESTS_LOSS_SAMPLES_H
#define RM_TESTS_LOSS_SAMPLES_H

#include <repmath/cuda.h>
#include <repmath/losses.h>

#include "samples.h"

static const int64_t ROOM = 1 << 16; /* bytes of an array */
enum { X, Y, W, P, G, OUT, ARRAYS };
static char cpu[ARRAYS * ROOM];
BOTH_SIDES char gpu[ARRAYS * ROOM];

/* Elements one after the other, or backward with gaps and misaligned; results in their own array or in the place of x. */
struct layout {
  int format;
  int64_t n;
  int k;
  bool odd() const { return k % 2; }
  ptrdiff_t stride() const { return widths[format] * (odd() ? -3 : 1); }
  ptrdiff_t first() const { return odd() ? 1 + 3 * widths[format] * (n > 0 ? n - 1 : 0) : 0; }
  char *at(char *base, int array) const { return base + array * ROOM + first(); }
  char *out(char *base) const { return at(base, k % 3 == 2 ? X : OUT); }
};
static void clear() { memset(cpu, 0x5a, sizeof cpu); }
static uint64_t word;
static uint32_t random_word() {
  uint32_t w;
  rm_random_words32(7, 7, static_cast<int64_t>(word++), 1, &w, 4);
  return w;
}
/* Numbers as small and as large as there are; neighbours of two arrays are near each other now and then. */
enum { EXTREME = KINDS, ALL_KINDS };
static void fill_extreme(char *at, int format, int64_t n, ptrdiff_t stride, uint32_t seed) {
  const int most = format == RM_FORMAT_F64   ? 1023
                   : format == RM_FORMAT_F16 ? 15
                                             : 127,
            span = format == RM_FORMAT_F64 ? 2097 : 2 * most + 12;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t w = static_cast<uint32_t>(i) * 2654435761u >> 4, v = random_word();
    const int e = most - static_cast<int>((v % 3 ? w : v) % static_cast<uint32_t>(span));
    put(at + i * stride, format, ldexp(1.0 + (v >> 8) * 0x1p-24 * (seed % 2), e) * (v & 64 ? -1 : 1));
  }
}
static void fill_arrays(const layout &l, int kind) {
  clear();
  for (int a = 0; a < OUT; a++) {
    const uint64_t stream = static_cast<uint64_t>(a + 8 * l.k);
    if (kind == EXTREME) fill_extreme(l.at(cpu, a), l.format, l.n, l.stride(), static_cast<uint32_t>(l.k));
    else fill(l.at(cpu, a), l.format, (kind + (a > Y)) % KINDS, l.n, l.stride(), stream);
  }
}

static char what[160];
template <class F> static void both(F call) {
  memcpy(gpu, cpu, sizeof gpu);
  compare_memory(what, cpu, gpu, [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
}
#define SIDE(device, f, ...) ((device) ? rm_cuda_##f(__VA_ARGS__, nullptr) : rm_##f(__VA_ARGS__))
/* Both sides say the same, and nothing is written. */
#define SAME(f, ...) \
  check(rm_##f(__VA_ARGS__) == rm_cuda_##f(__VA_ARGS__, nullptr) && device_idle(), #f " refuses " #__VA_ARGS__)

static double odd_number(double low, double high) {
  return 2 * floor((low + (high - low) * (random_word() * 0x1p-32)) / 2) + 1;
}

#endif
