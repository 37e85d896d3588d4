/* Tests what the kernels of matrix products assume of tensor cores: mma.m8n8k4 of binary64 is a chain of fused multiply-adds in some order, with
 * subnormals, infinities and NaN as IEEE 754 has them. The bound of a product permits any order; a device whose sums were rounded in another way
 * would break it. tools/gpu_check.py runs it on a device of compute capability 8.0 or newer; older ones have no such instruction. */
#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, COLS = 8, DEPTH = 4, A = ROWS * DEPTH, B = DEPTH * COLS, C = ROWS * COLS };

/* One warp computes a tile: lane l has A[l / 4][l % 4], B[l % 4][l / 4] and C[l / 4][2 (l % 4) + {0, 1}], as the PTX manual says. */
__global__ void tiles(int64_t n, const double *a, const double *b, const double *c, double *d) {
  const int lane = threadIdx.x % 32;
  for (int64_t t = blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + threadIdx.x / 32; t < n;
       t += gridDim.x * (blockDim.x / 32)) {
#if __CUDA_ARCH__ >= 800
    const double x = a[t * A + lane], y = b[t * B + lane % 4 * COLS + lane / 4];
    const double *z = c + t * C + lane / 4 * COLS + 2 * (lane % 4);
    double r0, r1;
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%4, %5};"
        : "=d"(r0), "=d"(r1)
        : "d"(x), "d"(y), "d"(z[0]), "d"(z[1]));
    double *r = d + t * C + lane / 4 * COLS + 2 * (lane % 4);
    r[0] = r0, r[1] = r1;
#endif
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
/* A number of a kind: 0 near 1, 1 with few bits (ties, cancellation), 2 any bits (infinities and NaN too), 3 about 2^-511, so that products are subnormal, 4
 * subnormal itself, 5 signed zeros and ones. */
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
static double chain(const double *a, const double *b, double c, const int *order) {
  for (int k = 0; k < DEPTH; k++) c = fma(a[order[k]], b[order[k] * COLS], c);
  return c;
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoll(argv[1]) : 160000; /* tiles of 64 results a kind */
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) || major < 8) {
    printf("skipped: no device with mma of binary64\n");
    return 77;
  }
  double *a, *b, *c, *d;
  if (cudaMallocHost(&a, n * A * 8) || cudaMallocHost(&b, n * B * 8) || cudaMallocHost(&c, n * C * 8) ||
      cudaMallocHost(&d, n * C * 8))
    return 77;
  int64_t neither = 0;
  for (int kind = 0; kind < 6; kind++) {
    for (int64_t i = 0; i < n * A; i++) a[i] = number(kind);
    for (int64_t i = 0; i < n * B; i++) b[i] = number(kind);
    for (int64_t i = 0; i < n * C; i++) c[i] = number(kind == 3 ? 4 : kind);
    memset(d, 0x5a, n * C * 8);
    tiles<<<1024, 256>>>(n, a, b, c, d);
    if (cudaDeviceSynchronize() != cudaSuccess) {
      printf("mma: %s\n", cudaGetErrorString(cudaGetLastError()));
      return 2;
    }
    int64_t forward = 0, other = 0;
    for (int64_t i = 0; i < n * C; i++) {
      const int64_t t = i / C, row = i % C / COLS, col = i % COLS;
      const double *p = a + t * A + row * DEPTH, *q = b + t * B + col;
      static const int straight[] = {0, 1, 2, 3};
      if (same(d[i], chain(p, q, c[i], straight))) {
        forward++;
        continue;
      }
      bool found = false;
      for (int w = 0; w < 256 && !found; w++) {
        const int order[] = {w & 3, w >> 2 & 3, w >> 4 & 3, w >> 6};
        if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15)
          found = same(d[i], chain(p, q, c[i], order));
      }
      other += found;
      if (!found && neither++ < 3)
        printf("kind %d, result %lld: %a is no chain (%a)\n", kind, (long long)i, d[i], chain(p, q, c[i], straight));
    }
    printf("mma kind %d: %lld results, %lld a chain of terms 0 to 3, %lld in another order\n", kind, (long long)(n * C),
           (long long)forward, (long long)other);
  }
  printf("mma: %lld results are no chain of fused operations\n", (long long)neither);
  return neither != 0;
}
