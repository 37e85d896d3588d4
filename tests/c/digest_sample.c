/* Elementwise functions and reductions: a digest a case (digest.h). Usage: digest_sample [shrink]   (shrink: a divisor of the
 * sample sizes, for slow emulators) */
#include "check.h"
#include "digest.h"

static void run_entry(const struct entry *e, int64_t n, const void *x, const char *set) {
  void *y = allocate(n * e->size);
  if (e->pairs(n, x, e->size, y, e->size) != RM_OK) exit(3);
  print_digest(e->name, e->format, set, y, n, e->size);
  free(y);
}

static void elementwise(const struct entry *e, int64_t shrink) {
  if (e->size == 2) { /* every value */
    uint16_t *x = allocate(65536 * 2);
    for (int i = 0; i < 65536; i++) x[i] = (uint16_t)i;
    run_entry(e, 65536, x, "all");
    free(x);
    return;
  }
  if (e->size == 4) { /* every 16411th value (a prime): all exponents, both signs */
    int64_t step = 16411 * shrink, n = (INT64_C(1) << 32) / step;
    uint32_t *x = allocate(n * 4);
    for (int64_t i = 0; i < n; i++) x[i] = (uint32_t)(i * step);
    run_entry(e, n, x, "strided");
    free(x);
  }
  int64_t n = 100000 / shrink;
  unsigned char *x = allocate(n * e->size);
  fill_inputs(e, n, x, 1);
  run_entry(e, n, x, "random");
  free(x);
}

/* Numbers k 2^e, with |k| < 2^bits and e within a spread: narrow spreads give ties and cancellation, wide ones exercise the
 * accumulator. */
static double sample(uint64_t *state, int bits, int spread) {
  uint64_t w = next_random(state);
  double k = (double)(int64_t)(w >> (64 - bits)) * (w & 1 ? -1 : 1);
  int e = spread ? (int)((next_random(state) >> 32) % (uint64_t)(2 * spread + 1)) - spread : 0;
  return k * as_f64((uint64_t)(1023 + e) << 52);
}

static const struct {
  const char *set;
  int bits, spread;
} kinds[] = {{"integers", 6, 0}, {"near", 24, 4}, {"wide", 24, 40}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void reductions(int64_t shrink) {
  for (int kind = 0; kind < KINDS; kind++) {
    int64_t n = 100003 / shrink;
    float *x32 = allocate(n * 4), *y32 = allocate(n * 4), r32[2];
    double *x64 = allocate(n * 8), *y64 = allocate(n * 8), r64[2];
    uint64_t state = (uint64_t)kind;
    for (int64_t i = 0; i < n; i++) {
      x64[i] = sample(&state, kinds[kind].bits, kinds[kind].spread);
      y64[i] = sample(&state, kinds[kind].bits, kinds[kind].spread);
      x32[i] = (float)x64[i];
      y32[i] = (float)y64[i];
      x64[i] *= 1 + 0x1p-40; /* uses the low bits of binary64 too */
    }
    if (rm_sum_f32(n, x32, 4, &r32[0]) || rm_dot_f32(n, x32, 4, y32, 4, &r32[1])) exit(3);
    if (rm_sum_f64(n, x64, 8, &r64[0]) || rm_dot_f64(n, x64, 8, y64, 8, &r64[1])) exit(3);
    print_digest("sum_dot", "f32", kinds[kind].set, r32, 2, 4);
    print_digest("sum_dot", "f64", kinds[kind].set, r64, 2, 8);

    static const int64_t shapes[][3] = {{1, 1, 1}, {8, 8, 8}, {37, 53, 129}, {96, 64, 1000}};
    for (int s = 0; s < 4; s++) {
      int64_t rows = shapes[s][0], cols = shapes[s][1], k = shapes[s][2];
      if (rows * k > n || k * cols > n) continue;
      char set[64];
      float *c32 = allocate(rows * cols * 4);
      double *c64 = allocate(rows * cols * 8);
      if (rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_TRANS, rows, cols, k, x32, k, y32, k, s & 1 ? x32 : NULL, c32, cols))
        exit(3);
      if (rm_matmul_f64(RM_ROW_MAJOR, RM_TRANS, RM_NO_TRANS, rows, cols, k, x64, rows, y64, cols, s & 1 ? x64 : NULL, c64,
                        cols))
        exit(3);
      snprintf(set, sizeof set, "%s.%dx%dx%d", kinds[kind].set, (int)rows, (int)cols, (int)k);
      print_digest("matmul", "f32", set, c32, rows * cols, 4);
      print_digest("matmul", "f64", set, c64, rows * cols, 8);
      free(c32);
      free(c64);
    }
    if (n >= 270) {
      const rm_conv conv = {2, 1, 3, 4, 1, {9, 10}, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}}; /* to 5 x 10 */
      const ptrdiff_t sx[] = {1080, 360, 40, 4}, sw[] = {108, 36, 12, 4}, sy[] = {800, 200, 40, 4};
      float y[200], gx[270], gw[108], c[64];
      rm_bf16 h[128], hc[64];
      for (int i = 0; i < 64; i++) { /* the leading halves of binary32 numbers */
        uint32_t bits[2];
        memcpy(bits, x32 + i, 4), memcpy(bits + 1, y32 + i, 4);
        h[i] = (rm_bf16)(bits[0] >> 16), h[64 + i] = (rm_bf16)(bits[1] >> 16), c[i] = x32[i];
      }
      if (rm_conv_forward(RM_FORMAT_F32, &conv, x32, sx, y32, sw, x32, 4, y, sy) ||
          rm_conv_grad_input(RM_FORMAT_F32, &conv, x32, sy, y32, sw, NULL, 0, gx, sx) ||
          rm_conv_grad_weight(RM_FORMAT_F32, &conv, x32, sx, y32, sy, gw, sw) ||
          rm_gemm(RM_FORMAT_F32, RM_COL_MAJOR, RM_NO_TRANS, RM_TRANS, 8, 8, 20, 0.3, x32, 8, y32, 8, -1.5, c, 8) ||
          rm_matmul_bf16(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 8, 8, 8, h, 8, h + 64, 8, NULL, hc, 8))
        exit(3);
      print_digest("conv", "f32", kinds[kind].set, y, 200, 4);
      print_digest("conv_grad_input", "f32", kinds[kind].set, gx, 270, 4);
      print_digest("conv_grad_weight", "f32", kinds[kind].set, gw, 108, 4);
      print_digest("gemm", "f32", kinds[kind].set, c, 64, 4);
      print_digest("matmul", "bf16", kinds[kind].set, hc, 64, 2);
    }
    free(x32);
    free(y32);
    free(x64);
    free(y64);
  }
}

int main(int argc, char **argv) {
  int64_t shrink = argc > 1 ? atoi(argv[1]) : 1;
  if (shrink < 1 || !rm_isa()) return 2;
  for (int i = 0; i < ENTRIES; i++) elementwise(&entries[i], shrink);
  reductions(shrink);
  return 0;
}
