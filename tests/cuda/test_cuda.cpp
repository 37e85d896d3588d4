/* The CUDA launchers against the CPU library, bit by bit: elementwise functions over strided and misaligned arrays, sums and
 * dot products. Compiled by nvcc it runs on the GPU; with -DRM_TEST_EMULATE (emulate.h first) on the host. */
#include <repmath/cuda.h>

#include "../c/check.h"

#if defined(RM_TEST_EMULATE)
static void *device_new(size_t bytes) { return malloc(bytes); }
static void device_free(void *p) { free(p); }
static void to_device(void *d, const void *h, size_t bytes) { memcpy(d, h, bytes); }
static void to_host(void *h, const void *d, size_t bytes) { memcpy(h, d, bytes); }
static bool device_idle() { return true; }
#else
#include <cuda_runtime.h>
static void *device_new(size_t bytes) {
  void *p = nullptr;
  if (cudaMalloc(&p, bytes) != cudaSuccess) exit(2);
  return p;
}
static void device_free(void *p) { cudaFree(p); }
static void to_device(void *d, const void *h, size_t bytes) { cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice); }
static void to_host(void *h, const void *d, size_t bytes) { cudaMemcpy(h, d, bytes, cudaMemcpyDeviceToHost); }
static bool device_idle() { return cudaDeviceSynchronize() == cudaSuccess; }
#endif

typedef rm_status device_fn(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy);
#define DEVICE_FORMAT(f, arity, fmt, type)                                                             \
  static rm_status f##_##fmt##_device(int64_t n, const void *x, ptrdiff_t sx, void *y, ptrdiff_t sy) { \
    return rm_cuda_v##f##_##fmt(n, PAIRS_##arity(type), static_cast<type *>(y), sy, nullptr);          \
  }
#define RM_FUNCTION(f, F, arity, ...)    \
  DEVICE_FORMAT(f, arity, f16, rm_f16)   \
  DEVICE_FORMAT(f, arity, bf16, rm_bf16) \
  DEVICE_FORMAT(f, arity, f32, float)    \
  DEVICE_FORMAT(f, arity, f64, double)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
static device_fn *const device_entries[] = {
#define RM_FUNCTION(f, ...) f##_f16_device, f##_bf16_device, f##_f32_device, f##_f64_device,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

/* n elements, `step` apart and `shift` bytes off, on both sides; every byte of y is compared. */
static void elementwise(int which, int64_t n, int step, int shift) {
  const struct entry *e = &entries[which];
  ptrdiff_t s = static_cast<ptrdiff_t>(step) * e->size, length = s < 0 ? -s : s;
  size_t bytes = static_cast<size_t>(n * length) + 64;
  unsigned char *x = static_cast<unsigned char *>(malloc(bytes)), *y = static_cast<unsigned char *>(malloc(bytes)),
                *expected = static_cast<unsigned char *>(malloc(bytes));
  memset(x, 0, bytes);
  if (n == 65536 && e->size == 2 && step == 1)
    for (int i = 0; i < 65536; i++)
      x[shift + 2 * i] = static_cast<unsigned char>(i), x[shift + 2 * i + 1] = static_cast<unsigned char>(i >> 8);
  else fill_inputs(e, static_cast<int64_t>(bytes - 8) / e->size, x + shift, static_cast<uint64_t>(n));
  memset(expected, 0x5a, bytes);
  memset(y, 0x5a, bytes);
  ptrdiff_t first = shift + (s < 0 ? length * (n - 1) : 0);
  e->pairs(n, x + first, s, expected + first, s);
  unsigned char *dx = static_cast<unsigned char *>(device_new(bytes)), *dy = static_cast<unsigned char *>(device_new(bytes));
  to_device(dx, x, bytes);
  to_device(dy, y, bytes);
  char detail[96];
  snprintf(detail, sizeof detail, "%s_%s n=%d step %d shift %d", e->name, e->format, static_cast<int>(n), step, shift);
  CHECK_FOR(device_entries[which](n, dx + first, s, dy + first, s) == RM_OK, detail);
  to_host(y, dy, bytes);
  CHECK_FOR(device_idle(), detail);
  CHECK_FOR(memcmp(y, expected, bytes) == 0, detail);
  device_free(dx);
  device_free(dy);
  free(x);
  free(y);
  free(expected);
}

/* As in digest_sample.c: k 2^e with |k| < 2^bits and e within a spread. */
static double sample(uint64_t *state, int bits, int spread) {
  uint64_t w = next_random(state);
  double k = static_cast<double>(static_cast<int64_t>(w >> (64 - bits))) * (w & 1 ? -1 : 1);
  int e = spread ? static_cast<int>((next_random(state) >> 32) % static_cast<uint64_t>(2 * spread + 1)) - spread : 0;
  return k * as_f64(static_cast<uint64_t>(1023 + e) << 52);
}
static const struct {
  const char *set;
  int bits, spread;
} kinds[] = {{"integers", 4, 0}, {"near", 24, 4}, {"wide", 24, 60}};

static void reductions(int64_t n, int kind, int special) {
  double *x64 = static_cast<double *>(malloc(n * 8 + 8)), *y64 = static_cast<double *>(malloc(n * 8 + 8));
  float *x32 = static_cast<float *>(malloc(n * 4 + 4)), *y32 = static_cast<float *>(malloc(n * 4 + 4));
  uint64_t state = static_cast<uint64_t>(kind + 5);
  for (int64_t i = 0; i < n; i++) {
    x64[i] = sample(&state, kinds[kind].bits, kinds[kind].spread);
    y64[i] = sample(&state, kinds[kind].bits, kinds[kind].spread);
    x32[i] = static_cast<float>(x64[i]);
    y32[i] = static_cast<float>(y64[i]);
    x64[i] *= 1 + 0x1p-40;
  }
  if (special && n > 2) {
    x32[n / 2] = static_cast<float>(x64[n / 2] = as_f64(UINT64_C(0x7ff0000000000000)));
    if (special == 2) x32[n / 3] = static_cast<float>(x64[n / 3] = as_f64(UINT64_C(0xfff0000000000000)));
  }
  float cpu32[2], gpu32[2];
  double cpu64[2], gpu64[2];
  rm_sum_f32(n, x32, 4, &cpu32[0]);
  rm_dot_f32(n, x32, 4, y32, 4, &cpu32[1]);
  rm_sum_f64(n, x64, 8, &cpu64[0]);
  rm_dot_f64(n, x64, 8, y64, 8, &cpu64[1]);
  char *dx = static_cast<char *>(device_new(n * 8 + 8)), *dy = static_cast<char *>(device_new(n * 8 + 8)),
       *out = static_cast<char *>(device_new(32));
  to_device(dx, x32, n * 4);
  to_device(dy, y32, n * 4);
  float *fx = reinterpret_cast<float *>(dx), *fy = reinterpret_cast<float *>(dy), *fo = reinterpret_cast<float *>(out);
  CHECK(rm_cuda_sum_f32(n, fx, 4, fo, nullptr) == RM_OK);
  CHECK(rm_cuda_dot_f32(n, fx, 4, fy, 4, fo + 1, nullptr) == RM_OK);
  to_host(gpu32, out, 8);
  to_device(dx, x64, n * 8);
  to_device(dy, y64, n * 8);
  double *gx = reinterpret_cast<double *>(dx), *gy = reinterpret_cast<double *>(dy), *go = reinterpret_cast<double *>(out);
  CHECK(rm_cuda_sum_f64(n, gx, 8, go, nullptr) == RM_OK);
  CHECK(rm_cuda_dot_f64(n, gx, 8, gy, 8, go + 1, nullptr) == RM_OK);
  to_host(gpu64, out, 16);
  CHECK(device_idle());
  CHECK_FOR(memcmp(cpu32, gpu32, sizeof cpu32) == 0, kinds[kind].set);
  CHECK_FOR(memcmp(cpu64, gpu64, sizeof cpu64) == 0, kinds[kind].set);
  device_free(dx);
  device_free(dy);
  device_free(out);
  free(x64);
  free(y64);
  free(x32);
  free(y32);
}

static void arguments() {
  float x = 1;
  CHECK(rm_cuda_vexp_f32(-1, &x, 4, &x, 4, nullptr) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_cuda_vexp_f32(1, nullptr, 4, &x, 4, nullptr) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_cuda_vexp_f32(1, &x, 4, nullptr, 4, nullptr) == RM_STATUS(RM_ERR_NULL, 4));
  float four[4] = {1, 2, 3, 4}; /* a device takes no steps in order */
  CHECK(rm_cuda_vadd_f32(3, four, 0, four + 1, 4, four, 0, nullptr) == RM_STATUS(RM_ERR_OVERLAP, 6));
  CHECK(rm_cuda_vexp_f32(3, four, 4, four + 1, 4, nullptr) == RM_STATUS(RM_ERR_OVERLAP, 4));
  CHECK(rm_cuda_vexp_f32(0, nullptr, 4, nullptr, 4, nullptr) == RM_OK);
  CHECK(rm_cuda_sum_f32(3, nullptr, 4, &x, nullptr) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_cuda_sum_f32(3, &x, 4, nullptr, nullptr) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(rm_cuda_dot_f32(-3, &x, 4, &x, 4, &x, nullptr) == RM_STATUS(RM_ERR_SIZE, 1));
}

/* test_cuda apply <function> <format>: from standard input to standard output, for digests over any inputs. */
static int apply(const char *name, const char *format) {
  for (int i = 0; i < ENTRIES; i++) {
    const struct entry *e = &entries[i];
    if (strcmp(e->name, name) || strcmp(e->format, format)) continue;
    const size_t room = static_cast<size_t>(e->size) << 20;
    char *h = static_cast<char *>(malloc(room)), *d = static_cast<char *>(device_new(room));
    for (size_t bytes; (bytes = fread(h, 1, room, stdin)) > 0;) {
      int64_t n = static_cast<int64_t>(bytes) / e->size;
      to_device(d, h, bytes);
      if (device_entries[i](n, d, e->size, d, e->size) != RM_OK || !device_idle()) return 3;
      to_host(h, d, bytes);
      if (fwrite(h, 1, bytes, stdout) != bytes) return 4;
    }
    return 0;
  }
  return 2;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "apply") == 0) return apply(argv[2], argv[3]);
  const int scale = argc > 1 ? atoi(argv[1]) : 1; /* 1 for the host, more for a GPU */
  if (rm_cuda_devices() == 0) {
    printf("skipped: no device\n");
    return 77;
  }
  arguments();
  for (int i = 0; i < ENTRIES; i++) {
    if (entries[i].size == 2) elementwise(i, 65536, 1, 0); /* by a table, on a GPU that of the next line alone */
    if (entries[i].size == 2 && i < 16) elementwise(i, 65536 * 4 + 11, 1, 0);
    elementwise(i, 20000 * static_cast<int64_t>(scale), 1, 0);
    elementwise(i, 1000, -3, 0);
    elementwise(i, 1000, 2, 1);
  }
  static const int64_t sizes[] = {0, 1, 100, 5000, 200000};
  for (int kind = 0; kind < 3; kind++) {
    for (int s = 0; s < 5; s++) reductions(sizes[s] * (s == 4 ? scale : 1), kind, 0);
    reductions(1000, kind, 1);
    reductions(1000, kind, 2);
  }
  return finish();
}
