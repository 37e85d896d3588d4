/* Products of integers modulo small numbers (src/cuda/crt.h) against the CPU library, every byte of the output; and when they
 * are chosen. */
#include <math.h>

#include <initializer_list>

#include "products.h"

/* The terms that a row has beside a boundary of rounding. */
enum { TERMS = 64 };
static const int fractions[] = {11, 8, 24, 53}; /* bits of a number's fraction, the leading one too */

/* A sum of TERMS of A in each row, B being 1 or -1. A's largest number is `top`, so that its integers are multiples of
 * `unit`, by `bits` bits. To top and half of its last place come 58 numbers of 0.6 units, each of which is rounded to one,
 * and what takes 36 units away: 1.2 units below a tie, where the integers are 22 above, and the bound allows for 32. Or,
 * `exact`: 58 units and less 58, the tie. Each row is times a power of two. */
static void make_boundary(int format, bool exact, int bits, int64_t m, int64_t n) {
  const double top = format == RM_FORMAT_F16 ? 1024 : 1, unit = ldexp(top, 1 - bits);
  const int64_t size = widths[format];
  for (int64_t i = 0; i < m; i++)
    for (int k = 0; k < TERMS; k++) {
      double x = exact ? unit : 0.6 * unit;
      if (k == 0) x = top;
      if (k == 1) x = ldexp(top, -fractions[format]);
      if (k >= 60) x = k >= 62 ? 0 : exact ? -29 * unit : -18 * unit;
      put(cpu + (i * TERMS + k) * size, format, ldexp(i % 2 ? -x : x, static_cast<int>(i % 3)));
    }
  for (int64_t e = 0; e < TERMS * n; e++) put(cpu + ROOM + e * size, format, e % n % 3 == 2 ? -1 : 1);
  memcpy(gpu, cpu, sizeof gpu);
}

static void boundary(int format, bool exact, int bits) {
  const int64_t m = 9, n = 5, size = widths[format];
  fill_arrays(format, WIDE, TERMS * m);
  make_boundary(format, exact, bits, m, n);
  auto call = [&](char *x, auto f, auto... stream) {
    return f(format, format, 1, m, n, TERMS, x, 0, size * TERMS, size, x + ROOM, 0, size * n, size, nullptr, 0, 0,
             x + 3 * ROOM, 0, size * n, size, stream...);
  };
  char what[64];
  snprintf(what, sizeof what, "%s a tie, format %d", exact ? "on" : "beside", format);
  compare_memory(
      what, cpu, gpu, [&] { return call(cpu, rm_matmul_batched); },
      [&] { return call(gpu, rm_cuda_matmul_batched, rm_cuda_stream(nullptr)); });
  bool right = true; /* both are rounded to `top`, which is below the tie, and even */
  for (int64_t e = 0; e < m * n; e++) {
    char bits[8];
    const double x = ldexp(format == RM_FORMAT_F16 ? 1024 : 1, static_cast<int>(e / n % 3));
    put(bits, format, (e / n % 2 != 0) == (e % n % 3 == 2) ? x : -x);
    right = right && memcmp(bits, gpu + 3 * ROOM + e * size, static_cast<size_t>(size)) == 0;
  }
  check(right, what);
}

/* Bytes of workspace that a product takes, of arrays that nothing reads: those of integers take more. */
static size_t workspace_of(int format, int64_t m, int64_t n, int64_t k) {
  char *const from = reinterpret_cast<char *>(UINT64_C(1) << 20), *const to = reinterpret_cast<char *>(UINT64_C(1) << 40);
  const ptrdiff_t s = widths[format];
  size_t bytes = 0;
  rm_cuda_measure_workspace();
  const rm_status status = rm_cuda_matmul_batched(format, format, 1, m, n, k, from, 0, s * k, s, from, 0, s * n, s, nullptr,
                                                  0, 0, to, 0, s * n, s, nullptr);
  rm_cuda_end_workspace(&bytes);
  check(status == RM_OK, "a workspace");
  return bytes;
}

/* Each way gives the CPU's bits, and takes the workspace that says which it was. */
static void choice() {
  double ratio = -1;
  check(rm_cuda_set_integer_ratio(NAN) == RM_STATUS(RM_ERR_RANGE, 1), "a ratio that is none");
  check(rm_cuda_integer_ratio(nullptr) == RM_STATUS(RM_ERR_NULL, 1), "no place for the ratio");
  for (int format = 0; format < 4; format++) {
    size_t bytes[3];
    const double ratios[] = {0, 30, INFINITY};
    for (int r = 0; r < 3; r++) {
      check(rm_cuda_set_integer_ratio(ratios[r]) == RM_OK, "a ratio");
      check(rm_cuda_integer_ratio(&ratio) == RM_OK && ratio == ratios[r], "the ratio that was set");
      bytes[r] = workspace_of(format, 40, 40, 40);
      batched(format, format, WIDE, 16, 1, 40, 40, 40);
    }
    check(bytes[0] && bytes[0] < bytes[2] && bytes[1] == bytes[format == RM_FORMAT_F64 ? 2 : 0], "which way a product takes");
    check(workspace_of(format, 3, 3, 65537) < bytes[2], "too many terms");
  }
  const double large = rm_cuda_set_integer_ratio(14) == RM_OK ? 14 : 0;
  check(large && workspace_of(RM_FORMAT_F32, 30000, 30000, 30000) > workspace_of(RM_FORMAT_F32, 30000, 30000, 70000),
        "a large product of f32");
  check(workspace_of(RM_FORMAT_F32, 30000, 30000, 64) < UINT64_C(1) << 28, "one of few terms");
  check(rm_cuda_set_integer_ratio(-1) == RM_OK, "a negative ratio");
  for (const char *word : {"2.5", "", "fast", "3x", "-1", "nan"}) {
    setenv("REPMATH_CUDA_INTEGER_RATIO", word, 1);
    const rm_status expected = word[0] == '2' ? RM_OK : RM_ERR_RANGE;
    check(rm_cuda_integer_ratio(&ratio) == expected && (expected || ratio == 2.5), "a ratio of the environment");
    check(rm_cuda_matmul_strided_f32(1, 1, 0, nullptr, 4, 4, nullptr, 4, 4, nullptr, 0, reinterpret_cast<float *>(gpu), 4, 4,
                                     nullptr) == expected,
          "a product then");
  }
  unsetenv("REPMATH_CUDA_INTEGER_RATIO");
#if defined(RM_TEST_EMULATE)
  emulated_record &device = *emulated_device();
  check(rm_cuda_set_integer_ratio(-1) == RM_OK && rm_cuda_integer_ratio(&ratio) == RM_OK && ratio == 0, "no estimate");
  device.slower = 1; /* the second of the products is timed: 2 ms, then 4 ms */
  const int64_t waits = device.host_waits;
  const double cost = 13 * (1 + 512 * (3.0 / 40));
  check(rm_cuda_measure_integer_ratio(&ratio, nullptr) == RM_OK && fabs(ratio - cost / 2) < 1e-9, "what is measured");
  double kept = 0;
  check(rm_cuda_integer_ratio(&kept) == RM_OK && kept == ratio && device.host_waits == waits + 4, "is kept");
  device.captured = 1;
  check(rm_cuda_measure_integer_ratio(nullptr, nullptr) == RM_ERR_DEVICE && device.host_waits == waits + 4,
        "nothing is measured in a stream that is captured");
  check(rm_cuda_integer_ratio(&kept) == RM_OK && kept == ratio, "and the ratio is known there");
  device.captured = 0;
  device.single_to_double = 64;
  check(rm_cuda_set_integer_ratio(-1) == RM_OK && rm_cuda_integer_ratio(&ratio) == RM_OK && ratio == 320, "an estimate");
#else
  check(rm_cuda_set_integer_ratio(-1) == RM_OK && rm_cuda_integer_ratio(&ratio) == RM_OK && ratio > 0, "an estimate");
  check(rm_cuda_measure_integer_ratio(&ratio, nullptr) == RM_OK && ratio > 0, "what is measured");
  printf("integer products in the time of one in binary64: %g\n", ratio);
#endif
}

int main(int argc, char **) {
  if (rm_cuda_devices() == 0) {
    printf("skipped: no device\n");
    return 77;
  }
  choice();
  rm_cuda_set_integer_ratio(INFINITY);
  static const int bits[] = {27, 27, 47, 81}; /* of integers, for TERMS terms */
  for (int format = 0; format < 4; format++)
    for (int exact = 0; exact < 2; exact++) boundary(format, exact, bits[format]);
  static const int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 0}, {1, 64, 64, 16}, {2, 65, 17, 33}, {1, 9, 20, 700}};
  int variant = 0;
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++) {
      const int64_t *s = shapes[(kind + format) % 5];
      variant = (variant + 7) % 32;
      batched(format, format, kind, variant, s[0], s[1], s[2], s[3]);
      if (format < 2) batched(format, RM_FORMAT_F32, kind, variant, 1, 30, 20, 40);
      if (kind % 3 == format % 3) gemm(format, kind, kind, kind % 2 ? -2.5 : 1e-30, kind % 3 ? 3.0 : 0.0);
    }
  for (int format = 0; format < 4; format++)
    batched(format, format, WIDE, 0, 1, 40, 40, 300, format == RM_FORMAT_F64 ? 52 : 27);
  /* Several tiles, with rows and columns that do not fill them, a bias, and an old C. */
  for (int kind = 0; kind < KINDS; kind++)
    batched(kind % 2 ? RM_FORMAT_F64 : RM_FORMAT_F32, kind % 2 ? RM_FORMAT_F64 : RM_FORMAT_F32, kind, 3 * kind + 16, 1, 66,
            70, 130);
  batched(RM_FORMAT_F64, RM_FORMAT_F64, WIDE, 0, 1, 40, 40, 300, 20);
  gemm(RM_FORMAT_F64, FAR, 2, -0.75, 0.5, 65, 66, 140, 141);
  if (argc > 1) { /* a GPU */
    for (int variant = 0; variant < 16; variant += 5)
      for (int format = 0; format < 4; format++) batched(format, format, FAR, variant, 1, 130, 140, 600);
    batched(RM_FORMAT_F32, RM_FORMAT_F32, WIDE, 16, 1, 300, 310, 290);
  }
  return checked();
}
