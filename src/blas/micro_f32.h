/* The microkernel of the binary32 engine.
 *
 * Contract: c (MR x nv RM_LANES, row after row) becomes, or grows by, the product of the panels a (kc x MR) and b
 * (kc x nv RM_LANES). Each element is one chain c = mad(a, b, c) over k from +0; products of binary32 values are exact in
 * binary64 (48 bits, exponents from -298 to 256), so a fused and an unfused mad round alike, once, and only the sums err. */
#ifndef RM_BLAS_MICRO_F32_H
#define RM_BLAS_MICRO_F32_H

#include "tile.h"

RM_FN void rm_micro_f32_body(const int nv, int64_t kc, const double *RM_RESTRICT a, const double *RM_RESTRICT b,
                             double *RM_RESTRICT c, int first) {
  vf64 acc[RM_MR][RM_NV];
  RM_UNROLL for (int i = 0; i < RM_MR; i++) RM_UNROLL for (int v = 0; v < nv; v++) acc[i][v] = vf64_set1(0.0);
  const double *row = c; /* fetched row by row: all at once they would hold up the panels */
  for (int64_t k = 0, part = (kc + RM_MR - 1) / RM_MR; k < kc; row += nv * RM_LANES) {
    RM_UNROLL for (int v = 0; v < nv * RM_LANES; v += 8) __builtin_prefetch(row + v, 1);
    for (const int64_t end = k + part < kc ? k + part : kc; k < end; k++, a += RM_MR, b += nv * RM_LANES) {
      vf64 bk[RM_NV];
      RM_UNROLL for (int v = 0; v < nv; v++) bk[v] = vf64_load(b + v * RM_LANES);
      RM_UNROLL for (int i = 0; i < RM_MR; i++) {
        vf64 ai = vf64_set1(a[i]);
        RM_UNROLL for (int v = 0; v < nv; v++) acc[i][v] = vf64_mad(ai, bk[v], acc[i][v]);
      }
    }
  }
  RM_UNROLL for (int i = 0; i < RM_MR; i++) RM_UNROLL for (int v = 0; v < nv; v++) {
    double *p = c + (i * nv + v) * RM_LANES;
    vf64_store(p, first ? acc[i][v] : vf64_add(vf64_load(p), acc[i][v]));
  }
}

typedef void rm_micro_f32_fn(int64_t kc, const double *a, const double *b, double *c, int first);
static void rm_micro_f32_1(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_f32_body(1, kc, a, b, c, first);
}
static void rm_micro_f32_2(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_f32_body(2, kc, a, b, c, first);
}
static void rm_micro_f32_3(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_f32_body(3, kc, a, b, c, first);
}
static rm_micro_f32_fn *const rm_micro_f32[RM_NV + 1] = {0, rm_micro_f32_1, rm_micro_f32_2, rm_micro_f32_3};

#endif
