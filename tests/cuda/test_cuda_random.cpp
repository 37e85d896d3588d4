/* The launchers of random numbers against the CPU library, every byte of the output (device.h). */
#include <repmath/cuda.h>
#include <repmath/random.h>

#include <math.h>

#include <initializer_list>

#include "device.h"

static const int64_t N = 700;
static char cpu[N * 24 + 8];
BOTH_SIDES char gpu[N * 24 + 8];
BOTH_SIDES uint64_t other[N + 1]; /* inputs on the device */
BOTH_SIDES double few[4];

template <class F, class G> static void compare(const char *what, F on_cpu, G on_gpu) {
  memset(cpu, 0x5a, sizeof cpu);
  memset(gpu, 0x5a, sizeof gpu);
  compare_memory(what, cpu, gpu, on_cpu, on_gpu);
}

template <class T> static T *at(char *base, int64_t n, ptrdiff_t stride, int shift) {
  return reinterpret_cast<T *>(base + shift + (stride < 0 ? -stride * (n - 1) : 0));
}

static const int widths[] = {2, 2, 4, 8}; /* bytes by format */

/* Every way of computing a range: [0, 1), exact, exact ties of the 16-bit formats but for the last bit, two parts, subnormal,
 * huge. */
static void uniform(int format, int64_t first, int64_t n, int k) {
  static const double ranges[][2] = {{0, 1},     {-1, 3},    {1, 3 - 0x1p-51},    {-0.1, 0.3},
                                     {0.1, 0.1}, {1e-12, 7}, {-0x1p-1060, 3e-310}};
  const ptrdiff_t s = (k ? 3 : 1) * widths[format];
  auto one = [&](double low, double high) {
    compare(
        "uniform", [&] { return rm_random_uniform(format, 5, 7, first, n, low, high, at<char>(cpu, n, s, k), s); },
        [&] { return rm_cuda_random_uniform(format, 5, 7, first, n, low, high, at<char>(gpu, n, s, k), s, nullptr); });
  };
  for (auto &r : ranges) one(r[0], r[1]);
  if (format == RM_FORMAT_F64) one(-1.7e308, 1.7e308);
}

/* Elements are decided by the vector step, or, with means and deviations it does not know, by the exact one. */
static void normal(int format, int64_t first, int64_t n, int k) {
  static const double laws[][2] = {{0, 1}, {0.5, 3}, {1 + 0x1p-11, 0x1p-60}, {1e300, 1e290}, {0, 1e-320}, {-2, 0}};
  static const double ends[][2] = {{-1, 1}, {2, 40}, {-1e300, 1e300}, {0.25, 0.25 + 0x1p-30}, {-30, -8}};
  const ptrdiff_t s = (k ? -2 : 1) * widths[format];
  for (auto &l : laws) {
    const int64_t m = n > 40 && (l[1] < 1e-200 || l[1] > 1e200) ? 40 : n;
    compare(
        "normal", [&] { return rm_random_normal(format, 11, 13, first, m, l[0], l[1], at<char>(cpu, m, s, k), s); },
        [&] { return rm_cuda_random_normal(format, 11, 13, first, m, l[0], l[1], at<char>(gpu, m, s, k), s, nullptr); });
  }
  for (auto &e : ends)
    for (double scale : {1.0, 0x1p-420}) {
      const int64_t m = n > 20 && scale < 1 ? 20 : n;
      const double std = 2 * scale, low = e[0] * scale, high = e[1] * scale;
      compare(
          "truncated",
          [&] {
            return rm_random_truncated_normal(format, 1, 2, first, m, scale, std, low, high, at<char>(cpu, m, s, k), s);
          },
          [&] {
            return rm_cuda_random_truncated_normal(format, 1, 2, first, m, scale, std, low, high, at<char>(gpu, m, s, k), s,
                                                   nullptr);
          });
    }
}

/* Inputs: the bits of the generator, so NaN and infinity too, and finite numbers; in place where k is 2. */
static void trials(int format, int64_t first, int64_t n, int k) {
  static uint64_t input[N + 1];
  const int size = widths[format];
  const ptrdiff_t s = (k == 1 ? -2 : 1) * size;
  for (double p : {0.0, 0x1p-70, 0.1, 0.5, 0.75, 1 - 0x1p-53, 1.0}) {
    compare(
        "bernoulli", [&] { return rm_random_bernoulli(3, 4, first, n, p, at<uint8_t>(cpu, n, k + 1, 0), k + 1); },
        [&] { return rm_cuda_random_bernoulli(3, 4, first, n, p, at<uint8_t>(gpu, n, k + 1, 0), k + 1, nullptr); });
    rm_random_words64(1, 2, 0, N + 1, input, 8);
    if (k) rm_random_normal(format, 1, 2, 0, N, 0, 1, input, size);
    memcpy(other, input, sizeof input);
    char *x = reinterpret_cast<char *>(input) + (k == 2 ? 0 : k), *y = reinterpret_cast<char *>(other) + (k == 2 ? 0 : k);
    compare(
        "dropout", [&] { return rm_dropout(format, 3, 4, first, n, p, x, size, k == 2 ? x : at<char>(cpu, n, s, k), s); },
        [&] { return rm_cuda_dropout(format, 3, 4, first, n, p, y, size, k == 2 ? y : at<char>(gpu, n, s, k), s, nullptr); });
    check(memcmp(input, other, sizeof input) == 0, "dropout in place");
  }
}

/* Statuses of the functions that have a format. */
static void refusals() {
  double x[4] = {1, 2, 3, 4};
  const double wrong[] = {NAN, INFINITY, -INFINITY, -1, 2, 1e39, 70000};
  for (int format = -1; format <= 4; format++)
    for (double w : wrong) {
      check(rm_random_uniform(format, 1, 2, 0, 2, w, 1, x, 8) ==
                rm_cuda_random_uniform(format, 1, 2, 0, 2, w, 1, few, 8, nullptr),
            "low");
      check(rm_random_uniform(format, 1, 2, 0, 2, 0, w, x, 8) ==
                rm_cuda_random_uniform(format, 1, 2, 0, 2, 0, w, few, 8, nullptr),
            "high");
      check(rm_random_normal(format, 1, 2, 0, 2, 1, w, x, 8) ==
                rm_cuda_random_normal(format, 1, 2, 0, 2, 1, w, few, 8, nullptr),
            "std");
      check(rm_random_truncated_normal(format, 1, 2, 0, 2, 0, 1, w, 2, x, 8) ==
                rm_cuda_random_truncated_normal(format, 1, 2, 0, 2, 0, 1, w, 2, few, 8, nullptr),
            "truncated");
      check(rm_dropout(format, 1, 2, 0, 2, w, x, 8, x + 1, 8) ==
                rm_cuda_dropout(format, 1, 2, 0, 2, w, few, 8, few + 1, 8, nullptr),
            "p");
      check(rm_random_bernoulli(1, 2, 0, 2, w, nullptr, 1) == rm_cuda_random_bernoulli(1, 2, 0, 2, w, nullptr, 1, nullptr),
            "null");
    }
  check(rm_status_code(rm_cuda_dropout(RM_FORMAT_F64, 1, 2, 0, 2, 0.5, few, 8, few + 1, 8, nullptr)) == RM_ERR_OVERLAP,
        "overlap");
  check(device_idle(), "refusals");
}

int main() {
  static const int64_t firsts[] = {0, 1, 3, (INT64_C(1) << 34) + 5, INT64_MAX - N}, sizes[] = {0, 1, 5, N};
  static const int steps[] = {1, -2, 3};
  /* counts of every kind: 1, small, 2^32 and beside it, above 2^63 (the tail of 128 bits is needed often), 2^64 */
  static const int64_t ends[][2] = {{7, 7},
                                    {0, 5},
                                    {-3, 4294967292},
                                    {0, 4294967295},
                                    {0, 4294967296},
                                    {INT64_MIN, 12345},
                                    {INT64_MIN, INT64_MAX - 1},
                                    {INT64_MIN, INT64_MAX}};
  for (int64_t first : firsts)
    for (int64_t n : sizes)
      for (int k = 0; k < 3; k++) {
        const uint64_t seed = 0x123456789abcdef0u + k, stream = ~uint64_t(0) - k;
        const ptrdiff_t s = steps[k];
        compare(
            "words32", [&] { return rm_random_words32(seed, stream, first, n, at<uint32_t>(cpu, n, 4 * s, k), 4 * s); },
            [&] { return rm_cuda_random_words32(seed, stream, first, n, at<uint32_t>(gpu, n, 4 * s, k), 4 * s, nullptr); });
        compare(
            "words64", [&] { return rm_random_words64(seed, stream, first, n, at<uint64_t>(cpu, n, 8 * s, k), 8 * s); },
            [&] { return rm_cuda_random_words64(seed, stream, first, n, at<uint64_t>(gpu, n, 8 * s, k), 8 * s, nullptr); });
        for (auto &e : ends)
          compare(
              "integers",
              [&] { return rm_random_integers(seed, stream, first, n, e[0], e[1], at<int64_t>(cpu, n, 8 * s, k), 8 * s); },
              [&] {
                return rm_cuda_random_integers(seed, stream, first, n, e[0], e[1], at<int64_t>(gpu, n, 8 * s, k), 8 * s,
                                               nullptr);
              });
      }
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 3; k++) {
      const int64_t first = firsts[k + 1], n = k ? 200 : N;
      uniform(format, first, n, k), trials(format, first, n, k);
      if (k < 2) normal(format, first, n, k);
    }
  refusals();
  int64_t x[2];
  struct {
    int64_t first, n, low, last, *out;
    ptrdiff_t stride;
  } bad[] = {{-1, 1, 0, 1, x, 8}, {0, -1, 0, 1, x, 8}, {INT64_MAX, 1, 0, 1, x, 8}, {0, 1, 0, 1, nullptr, 8},
             {0, 2, 0, 1, x, 7},  {0, 1, 1, 0, x, 8},  {-1, 1, 1, 0, x, 8},        {0, 0, 1, 0, nullptr, 8}};
  for (auto &b : bad) {
    const rm_status status = rm_random_integers(1, 2, b.first, b.n, b.low, b.last, b.out, b.stride);
    check(status && status == rm_cuda_random_integers(1, 2, b.first, b.n, b.low, b.last, b.out, b.stride, nullptr), "status");
  }
  return checked();
}
