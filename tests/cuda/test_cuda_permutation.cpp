/* The launcher of permutations against the CPU library, every byte of the output, and against std::sort (device.h). A build
 * of it that uses few bits of each draw is compared with such a sort alone. */
#include <repmath/cuda.h>
#include <repmath/random.h>

#include <stdlib.h>

#include <algorithm>

#include "device.h"

static const int64_t MOST = 1 << 20;
static int64_t cpu[3 * MOST];
BOTH_SIDES int64_t gpu[3 * MOST];

/* The definition (spec.md, section 6), by the leading `bits` of draws. */
struct key {
  uint64_t draw, more[2];
  int64_t number;
};
static bool comes_before(const key &a, const key &b) {
  for (int k = 0; k < 2; k++)
    if (a.draw == b.draw && a.more[k] != b.more[k]) return a.more[k] < b.more[k];
  return a.draw != b.draw ? a.draw < b.draw : a.number < b.number;
}
static void by_definition(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int bits, int64_t *out) {
  static key keys[MOST];
  for (int64_t i = 0; i < n; i++) {
    uint32_t w[4];
    rm_random_words64(seed, stream, first + i, 1, &keys[i].draw, 8);
    keys[i].draw &= ~uint64_t(0) << (64 - bits);
    rm_random_block(seed, stream, static_cast<uint64_t>(first + i) | uint64_t(1) << 63, w);
    for (int k = 0; k < 2; k++) keys[i].more[k] = static_cast<uint64_t>(w[2 * k + 1]) << 32 | w[2 * k];
    keys[i].number = i;
  }
  std::sort(keys, keys + n, comes_before);
  for (int64_t i = 0; i < n; i++) out[i] = keys[i].number;
}

static int bits_used() {
  const int64_t n = 200;
  rm_cuda_random_permutation(11, 12, 13, n, gpu, 8, nullptr);
  for (int bits : {64, 8, 3}) {
    by_definition(11, 12, 13, n, bits, cpu);
    if (device_idle() && memcmp(cpu, gpu, n * 8) == 0) return bits;
  }
  return 0;
}

int main(int, char **argv) {
  const int64_t scale = argv[1] ? atoll(argv[1]) : 1, long_one = std::min(MOST, 20000 * scale);
  const int bits = bits_used();
  check(bits == 64, "all bits are used");
  if (!bits) return checked();
  static const int64_t firsts[] = {0, 7, (INT64_C(1) << 34) + 5, INT64_MAX - MOST};
  static const ptrdiff_t strides[] = {8, -8, 17};
  int call = 0;
  for (int64_t n : {INT64_C(0), INT64_C(1), INT64_C(2), INT64_C(3), INT64_C(255), INT64_C(256), INT64_C(257), INT64_C(700),
                    INT64_C(2048), INT64_C(2049), long_one})
    for (int repeat = 0; repeat < (n > 2049 ? 1 : 2); repeat++, call++) {
      const int k = call % 3;
      const int64_t first = firsts[call % 4];
      const ptrdiff_t s = strides[k], begin = s < 0 ? -s * (n ? n - 1 : 0) : k;
      if (bits < 64 && n > 700) continue;
      const uint64_t seed = 0x123456789abcdef0u + static_cast<unsigned>(k), stream = ~uint64_t(0) - static_cast<unsigned>(k);
      const size_t room = static_cast<size_t>(24 * n + 64);
      memset(cpu, 0x5a, room), memset(gpu, 0x5a, room);
      if (bits == 64 && rm_random_permutation(seed, stream, first, n,
                                              reinterpret_cast<int64_t *>(reinterpret_cast<char *>(cpu) + begin), s))
        check(false, "the CPU");
      if (bits < 64) {
        static int64_t sorted[MOST];
        by_definition(seed, stream, first, n, bits, sorted);
        for (int64_t i = 0; i < n; i++) memcpy(reinterpret_cast<char *>(cpu) + begin + i * s, sorted + i, 8);
      }
      int64_t *const out = reinterpret_cast<int64_t *>(reinterpret_cast<char *>(gpu) + begin);
      check(rm_cuda_random_permutation(seed, stream, first, n, out, s, nullptr) == RM_OK && device_idle() &&
                memcmp(cpu, gpu, room) == 0,
            "permutation");
    }
  struct {
    int64_t first, n, *out;
    ptrdiff_t stride;
  } bad[] = {{-1, 1, cpu, 8}, {0, -1, cpu, 8}, {INT64_MAX, 1, cpu, 8}, {0, 1, nullptr, 8}, {0, 2, cpu, 7}};
  for (auto &b : bad) {
    const rm_status status = rm_random_permutation(1, 2, b.first, b.n, b.out, b.stride);
    check(status && status == rm_cuda_random_permutation(1, 2, b.first, b.n, b.out, b.stride, nullptr), "status");
  }
  return checked();
}
