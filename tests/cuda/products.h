/* Products of matrices on both sides, for the programs of this folder. */
#ifndef RM_TESTS_PRODUCTS_H
#define RM_TESTS_PRODUCTS_H

#include <repmath/cuda.h>
#include <repmath/reductions.h>

#include <stdlib.h>

#include "samples.h"

#if defined(RM_TEST_EMULATE)
static const int64_t ROOM = 1 << 19; /* bytes of an array: A, B, bias, C */
#else
static const int64_t ROOM = 1 << 21; /* for the products that only a GPU computes in time */
#endif
static char cpu[4 * ROOM];
BOTH_SIDES char gpu[4 * ROOM];

/* Arrays of elements of all kinds; those of C are read where beta is not 0. */
static void fill_arrays(int format, int kind, int64_t n) {
  if (n * widths[format] > ROOM) {
    printf("%lld elements of format %d have no room\n", static_cast<long long>(n), format);
    exit(2);
  }
  memset(cpu, 0x5a, sizeof cpu);
  for (int k = 0; k < 4; k++) fill(cpu + k * ROOM, format, kind, n, widths[format], static_cast<uint64_t>(k));
  memcpy(gpu, cpu, sizeof gpu);
}

/* A whose terms of the second half are those of the first with the other sign, but for two that are 2^-low of the others,
 * times a B of the same rows: all that rounding errors leave of large sums meets a small result. */
static void make_cancelling(int format, int64_t m, int64_t n, int64_t k, int low) {
  const int64_t half = k / 2, size = widths[format];
  double u;
  for (int64_t i = 0; i < m * half; i++) {
    char *first = cpu + (i / half * k + i % half) * size;
    rm_random_uniform(RM_FORMAT_F64, 9, 9, i, 1, -1, 1, &u, 8);
    put(first, format, i % half ? ldexp(u, static_cast<int>(i % 5)) : ldexp(u, -low));
    put(first + half * size, format, i % half ? -ldexp(u, static_cast<int>(i % 5)) : ldexp(u * u, -low));
  }
  memcpy(cpu + ROOM + half * n * size, cpu + ROOM, static_cast<size_t>(half * n * size));
  memcpy(gpu, cpu, sizeof gpu);
}

/* A transposed, B read backward, C with gaps and at odd addresses by the bits of `variant`. */
static void batched(int format, int format_out, int kind, int variant, int64_t batch, int64_t m, int64_t n, int64_t k,
                    int low = 0) {
  const ptrdiff_t s = widths[format], o = widths[format_out], shift = variant & 1;
  const ptrdiff_t row_a = variant & 2 ? s : s * k, col_a = variant & 2 ? s * m : s;
  const ptrdiff_t row_b = variant & 4 ? -s * n : s * n, first_b = variant & 4 && k ? s * n * (k - 1) : 0;
  const ptrdiff_t row_c = (variant & 8 ? 2 : 1) * o * n, next_c = row_c * m;
  fill_arrays(format, kind, batch * (m * k + n * k + n) + 8);
  if (low) make_cancelling(format, m, n, k, low);
  auto call = [&](char *base, auto f, auto... stream) {
    base += shift;
    const char *bias = variant & 16 ? base + 2 * ROOM : nullptr;
    return f(format, format_out, batch, m, n, k, base, s * m * k, row_a, col_a, base + ROOM + first_b, s * n * k, row_b, s,
             bias, s * n, s, base + 3 * ROOM, next_c, row_c, o, stream...);
  };
  char what[96];
  snprintf(what, sizeof what, "matmul format %d to %d kind %d variant %d: %dx%dx%dx%d", format, format_out, kind, variant,
           static_cast<int>(batch), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
  compare_memory(
      what, cpu, gpu, [&] { return call(cpu, rm_matmul_batched); },
      [&] { return call(gpu, rm_cuda_matmul_batched, rm_cuda_stream(nullptr)); });
}

static void gemm(int format, int kind, int variant, double alpha, double beta, int64_t m = 20, int64_t n = 70, int64_t k = 35,
                 int64_t ld = 80) {
  fill_arrays(format, kind, ld * ld);
  auto call = [&](char *base, auto f, auto... stream) {
    return f(format, variant & 1 ? RM_COL_MAJOR : RM_ROW_MAJOR, variant & 2 ? RM_TRANS : RM_NO_TRANS,
             variant & 4 ? RM_TRANS : RM_NO_TRANS, m, n, k, alpha, base, ld, base + ROOM, ld, beta, base + 3 * ROOM, ld,
             stream...);
  };
  char what[96];
  snprintf(what, sizeof what, "gemm format %d kind %d variant %d: %g %g, %dx%dx%d", format, kind, variant, alpha, beta,
           static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
  compare_memory(
      what, cpu, gpu, [&] { return call(cpu, rm_gemm); }, [&] { return call(gpu, rm_cuda_gemm, rm_cuda_stream(nullptr)); });
}

/* The same of three products in one call: views of matrices that lie apart; variant transposes the first or the second. */
static void gemm_batched(int format, int kind, int variant, double alpha, double beta, int64_t m, int64_t n, int64_t k) {
  enum { BATCH = 3, LD = 40 };
  const ptrdiff_t s = widths[format], next = LD * LD * s;
  fill_arrays(format, kind, BATCH * LD * LD);
  char what[96];
  snprintf(what, sizeof what, "gemm_batched format %d kind %d variant %d: %g %g", format, kind, variant, alpha, beta);
  auto each = [&]() -> rm_status {
    rm_status status = RM_OK;
    for (int i = 0; i < BATCH; i++)
      status |= rm_gemm(format, RM_ROW_MAJOR, variant & 1 ? RM_TRANS : RM_NO_TRANS, variant & 2 ? RM_TRANS : RM_NO_TRANS, m,
                        n, k, alpha, cpu + i * next, LD, cpu + ROOM + i * next, LD, beta, cpu + 3 * ROOM + i * next, LD);
    return status;
  };
  auto together = [&]() -> rm_status {
    const ptrdiff_t row = LD * s, row_a = variant & 1 ? s : row, row_b = variant & 2 ? s : row;
    return rm_cuda_gemm_batched(format, BATCH, m, n, k, alpha, gpu, next, row_a, row + s - row_a, gpu + ROOM, next, row_b,
                                row + s - row_b, beta, gpu + 3 * ROOM, next, row, s, nullptr);
  };
  compare_memory(what, cpu, gpu, each, together);
}

#endif
