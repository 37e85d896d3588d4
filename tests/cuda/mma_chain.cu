/* Tests what the kernels of matrix products assume of tensor cores: mma.m8n8k4 and m16n8k8 of binary64 are chains of fused
 * multiply-adds in some order, with subnormals, infinities and NaN as IEEE 754 has them. The bound of a product permits any
 * order; a device whose sums were rounded in another way would break it. tools/gpu_check.py runs it on a device of compute
 * capability 8.0 or newer (9.0 for the second); older ones have no such instruction. */
#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

/* One warp computes a tile. Lane l has, of each 8 x 4 part of A, row l / 4 and column l % 4, of each 4 x 8 part of B row l %
 * 4 and column l / 4, of each 8 x 8 part of C row l / 4 and columns 2 (l % 4) + {0, 1}, as the PTX manual says; the parts of
 * a column of A come one after the other. */
struct small {
  enum { ROWS = 8, COLS = 8, DEPTH = 4, OLDEST = 8 };
  static __device__ void multiply(const double *a, const double *b, const double *c, double *r) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=d"(r[0]), "=d"(r[1])
        : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1]));
#endif
  }
};
struct large {
  enum { ROWS = 16, COLS = 8, DEPTH = 8, OLDEST = 9 };
  static __device__ void multiply(const double *a, const double *b, const double *c, double *r) {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
        : "=d"(r[0]), "=d"(r[1]), "=d"(r[2]), "=d"(r[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]));
#endif
  }
};

template <class Shape> __global__ void tiles(int64_t n, const double *a, const double *b, const double *c, double *d) {
  enum { ROWS = Shape::ROWS, COLS = Shape::COLS, DEPTH = Shape::DEPTH };
  const int lane = threadIdx.x % 32, vector = lane / 4, term = lane % 4;
  for (int64_t t = blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + threadIdx.x / 32; t < n;
       t += gridDim.x * (blockDim.x / 32)) {
    double x[ROWS / 8 * DEPTH / 4], y[DEPTH / 4], z[ROWS / 4], r[ROWS / 4] = {};
    for (int k = 0; k < DEPTH / 4; k++) {
      for (int i = 0; i < ROWS / 8; i++)
        x[k * (ROWS / 8) + i] = a[t * ROWS * DEPTH + (i * 8 + vector) * DEPTH + k * 4 + term];
      y[k] = b[t * DEPTH * COLS + (k * 4 + term) * COLS + vector];
    }
    const int64_t at = t * ROWS * COLS + vector * COLS + 2 * term;
    for (int i = 0; i < ROWS / 8; i++)
      for (int h = 0; h < 2; h++) z[2 * i + h] = c[at + i * 8 * COLS + h];
    Shape::multiply(x, y, z, r);
    for (int i = 0; i < ROWS / 8; i++)
      for (int h = 0; h < 2; h++) d[at + i * 8 * COLS + h] = r[2 * i + h];
  }
}

static uint64_t state = 1;
static uint64_t random_word() {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state * UINT64_C(0x9e3779b97f4a7c15);
}
static double of_bits(uint64_t w) {
  double x;
  memcpy(&x, &w, 8);
  return x;
}
/* A number of a kind: 0 near 1, 1 with few bits (ties, cancellation), 2 any bits (infinities and NaN too), 3 about 2^-511, so
 * that products are subnormal, 4 subnormal itself, 5 signed zeros and ones. */
static double number(int kind) {
  const uint64_t w = random_word(), sign = w >> 63 << 63, m = w & UINT64_C(0xfffffffffffff);
  switch (kind) {
    case 0: return of_bits(sign | (1021 + (w >> 52) % 5) << 52 | m);
    case 1: return of_bits(sign | (1000 + (w >> 52) % 47) << 52 | (m & UINT64_C(0xe000000000000)));
    case 2: return of_bits(w);
    case 3: return of_bits(sign | (490 + (w >> 52) % 44) << 52 | m);
    case 4: return of_bits(sign | m >> (w >> 52) % 52);
    default: return (w >> 20 & 1 ? 1.0 : 0.0) * (sign ? -1.0 : 1.0);
  }
}

static bool same(double x, double y) { return memcmp(&x, &y, 8) == 0 || (x != x && y != y); }
template <class Shape> static double chain(const double *a, const double *b, double c, const int *order) {
  for (int k = 0; k < Shape::DEPTH; k++) c = fma(a[order[k]], b[order[k] * Shape::COLS], c);
  return c;
}

/* How many results of n tiles of each kind are no chain; -1 without memory or with an error of the device. */
template <class Shape> static int64_t not_chains(const char *name, int64_t n) {
  enum { ROWS = Shape::ROWS, COLS = Shape::COLS, DEPTH = Shape::DEPTH, A = ROWS * DEPTH, B = DEPTH * COLS, C = ROWS * COLS };
  double *a, *b, *c, *d;
  if (cudaMallocHost(&a, n * A * 8) || cudaMallocHost(&b, n * B * 8) || cudaMallocHost(&c, n * C * 8) ||
      cudaMallocHost(&d, n * C * 8))
    return -1;
  int64_t neither = 0;
  for (int kind = 0; kind < 6; kind++) {
    for (int64_t i = 0; i < n * A; i++) a[i] = number(kind);
    for (int64_t i = 0; i < n * B; i++) b[i] = number(kind);
    for (int64_t i = 0; i < n * C; i++) c[i] = number(kind == 3 ? 4 : kind);
    memset(d, 0x5a, n * C * 8);
    tiles<Shape><<<1024, 256>>>(n, a, b, c, d);
    if (cudaDeviceSynchronize() != cudaSuccess) {
      printf("%s: %s\n", name, cudaGetErrorString(cudaGetLastError()));
      return -1;
    }
    int64_t forward = 0, other = 0;
    for (int64_t i = 0; i < n * C; i++) {
      const int64_t t = i / C, row = i % C / COLS, col = i % COLS;
      const double *p = a + t * A + row * DEPTH, *q = b + t * B + col;
      int order[DEPTH];
      for (int k = 0; k < DEPTH; k++) order[k] = k;
      if (same(d[i], chain<Shape>(p, q, c[i], order))) {
        forward++;
        continue;
      }
      bool found = false;
      while (!found && std::next_permutation(order, order + DEPTH)) found = same(d[i], chain<Shape>(p, q, c[i], order));
      other += found;
      if (neither > 100) return neither; /* enough is known */
      for (int k = 0; k < DEPTH; k++) order[k] = k;
      if (!found && neither++ < 3)
        printf("kind %d, result %lld: %a is no chain (%a)\n", kind, (long long)i, d[i], chain<Shape>(p, q, c[i], order));
    }
    printf("%s kind %d: %lld results, %lld a chain in order, %lld in another order\n", name, kind, (long long)(n * C),
           (long long)forward, (long long)other);
  }
  for (double *memory : {a, b, c, d}) cudaFreeHost(memory);
  return neither;
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoll(argv[1]) : 160000; /* tiles of 64 results a kind */
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) || major < small::OLDEST) {
    printf("skipped: no device with mma of binary64\n");
    return 77;
  }
  const int64_t first = not_chains<small>("m8n8k4", n),
                second = major < large::OLDEST ? 0 : not_chains<large>("m16n8k8", n / 2);
  if (first < 0 || second < 0) return 2;
  printf("mma: %lld results are no chain of fused operations\n", (long long)(first + second));
  return first + second != 0;
}
