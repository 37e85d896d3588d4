/* What the products' kernels take of the tensor cores: that mma.m8n8k4 of binary64, and m16n8k8 where there is one, is a chain of fused
 * multiply-adds in some order, with subnormals, infinities and NaN as IEEE 754 has them. The bound of a product permits any order; a device whose sums were rounded in another way
 * would break it. tools/gpu_check.py runs it on a device of compute capability 8.0 or newer; older ones have no such instruction. */
#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, COLS = 8, DEPTH = 4, A = ROWS * DEPTH, B = DEPTH * COLS, C = ROWS * COLS };

/* One warp a tile: lane l has A[l / 4][l % 4], B[l % 4][l / 4] and C[l / 4][2 (l % 4) + {0, 1}], as the PTX manual says. */
__global__ void tiles(int64_t n, const double *a, const double *b, const double *c, double *d) {
  const int lane = threadIdx.x % 32;
  for (int64_t t = blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + threadIdx.x / 32; t < n; t += gridDim.x * (blockDim.x / 32)) {
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

/* The larger shape: A of 16 x 8 and B of 8 x 8 are two tiles of A above each other and two of both along the terms, so that the tiles 4t to 4t + 3
 * of A (rows, then terms), 4t and 4t + 1 of B, 4t and 4t + 1 of C make one. A lane has what src/cuda/dense.h says. */
__global__ void large_tiles(int64_t n, const double *a, const double *b, const double *c, double *d) {
#if __CUDA_ARCH__ >= 900
  const int lane = threadIdx.x % 32, row = lane / 4, col = lane % 4;
  for (int64_t t = blockIdx.x * static_cast<int64_t>(blockDim.x / 32) + threadIdx.x / 32; t < n; t += gridDim.x * (blockDim.x / 32)) {
    const double *x = a + 4 * t * A, *y = b + 4 * t * B, *z = c + 4 * t * C;
    double e[4], v[4], w[2];
    for (int i = 0; i < 4; i++) v[i] = x[(i % 2 * 2 + i / 2) * A + row * DEPTH + col], e[i] = z[i / 2 * C + row * COLS + 2 * col + i % 2];
    for (int i = 0; i < 2; i++) w[i] = y[i * B + col * COLS + row];
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+d"(e[0]), "+d"(e[1]), "+d"(e[2]), "+d"(e[3])
        : "d"(v[0]), "d"(v[1]), "d"(v[2]), "d"(v[3]), "d"(w[0]), "d"(w[1]));
    for (int i = 0; i < 4; i++) d[4 * t * C + i / 2 * C + row * COLS + 2 * col + i % 2] = e[i];
  }
#endif
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
/* The chain in some order of its four terms, that of `straight` first. */
static bool is_chain(double d, const double *a, const double *b, double c, int64_t *forward) {
  static const int straight[] = {0, 1, 2, 3};
  if (same(d, chain(a, b, c, straight))) return ++*forward, true;
  for (int w = 0; w < 256; w++) {
    const int order[] = {w & 3, w >> 2 & 3, w >> 4 & 3, w >> 6};
    if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15 && same(d, chain(a, b, c, order))) return true;
  }
  return false;
}

int main(int argc, char **argv) {
  const int64_t n = argc > 1 ? atoll(argv[1]) : 160000; /* tiles of 64 results a kind */
  int major = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) || major < 8) {
    printf("skipped: no device with mma of binary64\n");
    return 77;
  }
  double *a, *b, *c, *d;
  if (cudaMallocHost(&a, n * A * 8) || cudaMallocHost(&b, n * B * 8) || cudaMallocHost(&c, n * C * 8) || cudaMallocHost(&d, n * C * 8)) return 77;
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
      if (!is_chain(d[i], a + t * A + row * DEPTH, b + t * B + col, c[i], &forward)) other++;
    }
    printf("mma kind %d: %lld results, %lld a chain of terms 0 to 3, %lld no chain\n", kind, (long long)(n * C), (long long)forward, (long long)other);
    neither += other;
    if (major < 9) continue;
    memset(d, 0x5a, n * C * 8);
    large_tiles<<<1024, 256>>>(n / 4, a, b, c, d);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    static const int straight[] = {0, 1, 2, 3};
    forward = other = 0;
    for (int64_t i = 0; i < n / 4 * 2 * C; i++) { /* eight terms: in order, or the second four first */
      const int64_t t = i / (2 * C), half = i / C % 2, row = i % C / COLS, col = i % COLS;
      const double *p = a + (4 * t + 2 * half) * A + row * DEPTH, *q = b + 4 * t * B + col, first = c[(4 * t + half) * C + i % C];
      const double found = d[(4 * t + half) * C + i % C];
      if (same(found, chain(p + A, q + B, chain(p, q, first, straight), straight)))
        forward++;
      else if (!same(found, chain(p, q, chain(p + A, q + B, first, straight), straight)))
        other++;
    }
    printf("large mma kind %d: %lld results, %lld a chain of terms 0 to 7, %lld no chain that is known\n", kind, (long long)(n / 4 * 2 * C),
           (long long)forward, (long long)other);
    neither += other;
  }
  printf("mma: %lld results are no chain of fused operations\n", (long long)neither);
  return neither != 0;
}
