/* The launchers of pooling against the CPU library, every byte of the output (device.h). */
#include <repmath/cuda.h>
#include <repmath/pooling.h>

#include "samples.h"

static const int64_t ROOM = 1 << 15; /* bytes of an array: what is read, what is written, an index */
static char cpu[3 * ROOM];
BOTH_SIDES char gpu[3 * ROOM];

#define SIDE(device, f, ...) ((device) ? rm_cuda_##f(__VA_ARGS__, nullptr) : rm_##f(__VA_ARGS__))

/* Elements one after the other; channels last; backward, with gaps and misaligned. */
enum { PLAIN, CHANNELS_LAST, ODD, LAYOUTS };
struct array {
  ptrdiff_t first, strides[5];
  int64_t count;
  array(int layout, int64_t size, const rm_pool &p, const int64_t *spatial) : first(0), count(p.batch * p.channels) {
    const int64_t step = layout == ODD ? -2 * size : layout == CHANNELS_LAST ? size * p.channels : size;
    int64_t plane = 1;
    for (int k = p.dims - 1; k >= 0; k--) strides[2 + k] = step * plane, plane *= spatial[k];
    strides[1] = layout == CHANNELS_LAST ? size : step * plane,
    strides[0] = step * plane * (layout == CHANNELS_LAST ? 1 : p.channels);
    count *= plane;
    if (layout == ODD) first = 1 - step * (count - 1);
    check(count * 2 * size < ROOM, "memory");
  }
};

/* Besides the kinds of samples.h: sums, nine by nine, that are beside a tie of the format by what their greatest terms, which
 * cancel, do not leave in a first part. f16 has no such numbers. */
enum { BESIDE = KINDS, ALL_KINDS };
static void fill_source(const array &a, int format, int kind, int64_t size) {
  char *base = cpu + (a.first > 0 ? 1 : 0);
  const ptrdiff_t step = a.first > 0 ? 2 * size : size; /* memory is filled in its order */
  if (kind < KINDS || format == RM_FORMAT_F16) {
    fill(base, format, kind % KINDS, a.count, step, static_cast<uint64_t>(format));
    return;
  }
  static const int precisions[] = {11, 8, 24, 53};
  double sign = 1;
  for (int64_t i = 0; i < a.count; i++) {
    double u;
    rm_random_uniform(RM_FORMAT_F64, 77, static_cast<uint64_t>(format), i, 1, -1, 1, &u, 8);
    if (i % 9 == 1) sign = u < 0 ? -1 : 1;
    const double terms[] = {0x1p80, sign * ldexp(1, precisions[format]), sign, -0x1p80};
    const int64_t k = i % 9 == 8 ? 3 : i % 9;
    put(base + i * step, format, k < 3 || i % 9 == 8 ? terms[k] : ldexp(u, -28));
  }
}

static void compare(const rm_pool &p, int format, int kind, int layout) {
  const int64_t size = widths[format];
  const array x(layout, size, p, p.in), y((layout + 1) % LAYOUTS, size, p, p.out), index(kind % 2 ? ODD : PLAIN, 8, p, p.out);
  static char what[160];
  snprintf(what, sizeof what, "pooling: format %d, kind %d, layout %d, in %d %d %d, adaptive %d", format, kind, layout,
           static_cast<int>(p.in[0]), static_cast<int>(p.in[1]), static_cast<int>(p.in[2]), p.adaptive);
  const bool dilated = p.dilation[0] > 1 || p.dilation[1] > 1;
  for (int k = 0; k < (dilated ? 1 : 3); k++) {
    static const int64_t divisors[ALL_KINDS] = {0, 0, 7, 0, INT64_C(3) << 20, 0, 8, 8};
    const int64_t divisor = divisors[kind];
    memset(cpu, 0x5a, sizeof cpu);
    fill_source(k == 2 ? y : x, format, kind, size);
    memcpy(gpu, cpu, sizeof gpu);
    auto call = [&](char *base, bool device) -> rm_status {
      const char *from = base + (k == 2 ? y : x).first;
      char *to = base + ROOM + (k == 2 ? x : y).first;
      int64_t *const at = kind == 1 ? nullptr : reinterpret_cast<int64_t *>(base + 2 * ROOM + index.first);
      if (k == 0) return SIDE(device, max_pool, format, &p, from, x.strides, to, y.strides, at, index.strides);
      if (k == 1) return SIDE(device, avg_pool, format, &p, kind % 2, divisor, from, x.strides, to, y.strides);
      return SIDE(device, avg_pool_backward, format, &p, kind % 2, divisor, from, y.strides, to, x.strides);
    };
    compare_memory(what, cpu, gpu, [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
  }
}

/* Both sides say the same, and nothing is written. */
static void refusals() {
  const rm_pool good = {2, 0, 1, 2, {6, 9}, {3, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}};
  const ptrdiff_t sx[] = {432, 216, 36, 4}, sy[] = {96, 48, 16, 4}, si[] = {192, 96, 32, 8};
  memset(gpu, 0x5a, sizeof gpu);
  memset(cpu, 0x5a, sizeof cpu);
  char *const x = gpu, *const y = gpu + ROOM;
  int64_t *const index = reinterpret_cast<int64_t *>(gpu + 2 * ROOM);
  int refused = 0;
#define SAME(f, ...)                                                                                    \
  do {                                                                                                  \
    const rm_status expected = rm_##f(__VA_ARGS__);                                                     \
    refused += expected != RM_OK;                                                                       \
    check(expected == rm_cuda_##f(__VA_ARGS__, nullptr) && device_idle(), #f " refuses " #__VA_ARGS__); \
  } while (0)
  SAME(avg_pool, 4, &good, 1, 0, x, sx, y, sy);
  SAME(avg_pool, 2, nullptr, 1, 0, x, sx, y, sy);
  SAME(avg_pool, 2, &good, 1, -1, x, sx, y, sy);
  SAME(avg_pool, 2, &good, 1, 0, nullptr, sx, y, sy);
  SAME(avg_pool, 2, &good, 1, 0, x, sx, nullptr, sy);
  SAME(avg_pool, 2, &good, 1, 0, x, sx, x, sy);
  SAME(avg_pool_backward, 2, &good, 1, 0, y, sy, nullptr, sx);
  SAME(avg_pool_backward, 2, &good, 1, 0, y, sy, y, sx);
  SAME(max_pool, 2, &good, nullptr, sx, y, sy, index, si);
  SAME(max_pool, 2, &good, x, sx, y, sy, reinterpret_cast<int64_t *>(y), si);
  for (int k = 0; k < 5; k++) {
    rm_pool bad = good;
    if (k == 0) bad.dims = 4;
    if (k == 1) bad.batch = -1;
    if (k == 2) bad.kernel[1] = 0;
    if (k == 3) bad.dilation[0] = 2;
    if (k == 4) bad.padding[1] = -1;
    SAME(avg_pool, 2, &bad, 1, 0, x, sx, y, sy);
  }
  check(refused == 15, "all of these are refused");
  rm_pool none = good;
  none.batch = 0;
  SAME(avg_pool, 2, &none, 1, 0, nullptr, sx, nullptr, sy);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

int main() {
  static const rm_pool pools[] = {
      {1, 0, 2, 3, {17}, {8}, {3}, {2}, {1}, {0}},
      {1, 0, 1, 1, {1305}, {145}, {9}, {9}, {1}, {0}}, /* by nines */
      {1, 1, 1, 1, {1305}, {145}, {0}, {0}, {0}, {0}},
      {2, 0, 1, 2, {6, 9}, {3, 4}, {2, 2}, {2, 2}, {1, 1}, {0, 0}},
      {2, 0, 2, 1, {7, 8}, {4, 5}, {3, 2}, {2, 2}, {1, 1}, {1, 1}},
      {2, 0, 1, 1, {5, 7}, {6, 6}, {3, 4}, {1, 1}, {1, 1}, {1, 1}}, /* some windows are beyond the padding */
      {2, 0, 1, 2, {9, 11}, {3, 3}, {2, 3}, {3, 4}, {1, 1}, {0, 0}}, /* gaps */
      {3, 0, 1, 1, {4, 5, 6}, {2, 3, 3}, {2, 2, 3}, {2, 2, 2}, {1, 1, 1}, {0, 1, 1}},
      {2, 0, 1, 2, {9, 8}, {3, 4}, {3, 2}, {2, 1}, {2, 3}, {1, 0}}, /* dilated */
      {1, 0, 1, 1, {1}, {2}, {2}, {1}, {5}, {3}},
      {2, 1, 2, 2, {10, 7}, {3, 5}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
      {2, 1, 1, 3, {9, 13}, {5, 7}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, /* quotients by several numbers */
      {2, 1, 1, 1, {3, 4}, {5, 6}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
      {3, 1, 1, 2, {5, 3, 4}, {2, 2, 3}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
      {2, 1, 1, 1, {40, 30}, {1, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}};
  int layout = 0;
  for (const rm_pool &p : pools)
    for (int format = 0; format < 4; format++)
      for (int kind = 0; kind < ALL_KINDS; kind++)
        for (int k = 0; k < (kind == BESIDE ? LAYOUTS : 1); k++) compare(p, format, kind, layout++ % LAYOUTS);
  refusals();
  return checked();
}
