/* The launchers of random numbers against the CPU library, every byte of the output, on the emulated device. */
#include <repmath/cuda.h>
#include <repmath/random.h>

#include <stdio.h>

static int passed, failed;
static void check(bool ok, const char *what) {
  ok ? passed++ : failed++;
  if (!ok) printf("FAILED %s\n", what);
}

static const int64_t N = 700;
static char cpu[N * 24 + 8], gpu[N * 24 + 8];

template <class F, class G> static void compare(const char *what, F on_cpu, G on_gpu) {
  memset(cpu, 0x5a, sizeof cpu);
  memset(gpu, 0x5a, sizeof gpu);
  check(on_cpu() == RM_OK && on_gpu() == RM_OK && memcmp(cpu, gpu, sizeof cpu) == 0, what);
}

template <class T> static T *at(char *base, int64_t n, ptrdiff_t stride, int shift) {
  return reinterpret_cast<T *>(base + shift + (stride < 0 ? -stride * (n - 1) : 0));
}

int main() {
  static const int64_t firsts[] = {0, 1, 3, (INT64_C(1) << 34) + 5, INT64_MAX - N}, sizes[] = {0, 1, 5, N};
  static const int steps[] = {1, -2, 3};
  /* counts of every kind: 1, small, 2^32 and beside it, above 2^63 (the tail of 128 bits is needed often), 2^64 */
  static const int64_t ends[][2] = {{7, 7}, {0, 5}, {-3, 4294967292}, {0, 4294967295}, {0, 4294967296},
                                    {INT64_MIN, 12345}, {INT64_MIN, INT64_MAX - 1}, {INT64_MIN, INT64_MAX}};
  for (int64_t first : firsts)
    for (int64_t n : sizes)
      for (int k = 0; k < 3; k++) {
        const uint64_t seed = 0x123456789abcdef0u + k, stream = ~uint64_t(0) - k;
        const ptrdiff_t s = steps[k];
        compare("words32", [&] { return rm_random_words32(seed, stream, first, n, at<uint32_t>(cpu, n, 4 * s, k), 4 * s); },
                [&] { return rm_cuda_random_words32(seed, stream, first, n, at<uint32_t>(gpu, n, 4 * s, k), 4 * s, nullptr); });
        compare("words64", [&] { return rm_random_words64(seed, stream, first, n, at<uint64_t>(cpu, n, 8 * s, k), 8 * s); },
                [&] { return rm_cuda_random_words64(seed, stream, first, n, at<uint64_t>(gpu, n, 8 * s, k), 8 * s, nullptr); });
        for (auto &e : ends)
          compare("integers",
                  [&] { return rm_random_integers(seed, stream, first, n, e[0], e[1], at<int64_t>(cpu, n, 8 * s, k), 8 * s); },
                  [&] {
                    return rm_cuda_random_integers(seed, stream, first, n, e[0], e[1], at<int64_t>(gpu, n, 8 * s, k), 8 * s,
                                                   nullptr);
                  });
      }
  int64_t x[2];
  struct {
    int64_t first, n, low, last, *out;
    ptrdiff_t stride;
  } bad[] = {{-1, 1, 0, 1, x, 8},       {0, -1, 0, 1, x, 8}, {INT64_MAX, 1, 0, 1, x, 8}, {0, 1, 0, 1, nullptr, 8},
             {0, 2, 0, 1, x, 7},        {0, 1, 1, 0, x, 8},  {-1, 1, 1, 0, x, 8},        {0, 0, 1, 0, nullptr, 8}};
  for (auto &b : bad) {
    const rm_status status = rm_random_integers(1, 2, b.first, b.n, b.low, b.last, b.out, b.stride);
    check(status && status == rm_cuda_random_integers(1, 2, b.first, b.n, b.low, b.last, b.out, b.stride, nullptr), "status");
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
