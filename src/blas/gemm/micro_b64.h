/* The microkernel of the binary64 engine.
 *
 * Contract: c (MR x nv RM_LANES, row after row) becomes, or grows by, the product of the panels a (kc x MR) and b
 * (kc x nv RM_LANES). Each element is one accumulation chain c = mad(a, b, c) over k from +0; products of binary32 values are
 * exact in binary64 (48 bits, exponents from -298 to 256), so a fused and an unfused mad round alike, once, and only the sums
 * err. */
#pragma once

#include "../../common/elements.h"
#include "epilogue_b64.h"
#include "tile.h"
#include "bound_weights.h"

/* Stores the sums of the chains in c, or joins them to it. */
RM_FN void rm_join_b64(const int nv, vf64 acc[RM_MR][RM_NV], double *c, int first) {
  RM_UNROLL for (int i = 0; i < RM_MR; i++) RM_UNROLL for (int v = 0; v < nv; v++) {
    double *p = c + (i * nv + v) * RM_LANES;
    vf64_store(p, first ? acc[i][v] : vf64_add(vf64_load(p), acc[i][v]));
  }
}

/* Where there is a tile before, its rows are rounded between parts of the chains, which leave room for that; returns how many
 * of its elements are undecided. */
RM_FN int rm_micro_b64_body(const int nv, int64_t kc, const double *RM_RESTRICT a, const double *RM_RESTRICT b,
                            double *RM_RESTRICT c, int first, const rm_plain_tile_b64 *before) {
  int undecided = 0, done = 0;
  vf64 acc[RM_MR][RM_NV];
  RM_UNROLL for (int i = 0; i < RM_MR; i++) RM_UNROLL for (int v = 0; v < nv; v++) acc[i][v] = vf64_set1(0.0);
  const double *row = c; /* prefetched row by row: all at once they would hold up the panels */
  for (int64_t k = 0, part = (kc + RM_MR - 1) / RM_MR; k < kc; row += nv * RM_LANES) {
    if (before) undecided += rm_round_row_b64(before, done++);
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
  rm_join_b64(nv, acc, c, first);
  return undecided;
}
enum { RM_ROUNDING_MIN_K = RM_MR * RM_MR }; /* k that make RM_MR parts */
RM_NOINLINE int rm_micro_b64_rounding(int64_t kc, const double *a, const double *b, double *c, int first,
                                      const rm_plain_tile_b64 *before) {
  return rm_micro_b64_body(RM_NV, kc, a, b, c, first, before);
}

enum { RM_PACKING_AHEAD = 16 }; /* k that are prefetched: rows a power of two apart drive each other out of the L1 cache */

/* A panel of B that the microkernel packs on the way. Its elements come from src, step bytes apart from one k to the next
 * (pack.h: rows that are neighbours in memory), and go to `packed` for the tiles below; their squares, all with the first
 * weight, go to norm2. */
typedef struct {
  const char *src;
  ptrdiff_t step;
  double *packed, *norm2;
  rm_weights weights;
} rm_panel_to_pack;

/* The product of RM_NV vectors whose panel is packed on the way: loads, conversions and stores fill what the chains leave
 * free. */
RM_FN void rm_micro_b64_packing_body(int64_t kc, const double *RM_RESTRICT a, const rm_panel_to_pack *panel,
                                     double *RM_RESTRICT c, int first, const int fmt) {
  const char *src = panel->src;
  const ptrdiff_t step = panel->step;
  double *RM_RESTRICT b = panel->packed;
  vf64 acc[RM_MR][RM_NV], sum[RM_NV];
  RM_UNROLL for (int i = 0; i < RM_MR; i++) RM_UNROLL for (int v = 0; v < RM_NV; v++) acc[i][v] = vf64_set1(0.0);
  RM_UNROLL for (int v = 0; v < RM_NV; v++) sum[v] = vf64_set1(0.0);
  const int bytes = RM_LANES * rm_size_of(fmt);
  for (int64_t k = 0; k < kc; k++, a += RM_MR, b += RM_NR, src += step) {
    vf64 bk[RM_NV];
    __builtin_prefetch(src + RM_PACKING_AHEAD * step);
    __builtin_prefetch(src + RM_PACKING_AHEAD * step + RM_NV * bytes / 2);
    RM_UNROLL for (int v = 0; v < RM_NV; v++) {
      bk[v] = rm_load_elements(src + v * bytes, fmt);
      vf64_store(b + v * RM_LANES, bk[v]);
      sum[v] = vf64_mad(bk[v], bk[v], sum[v]);
    }
    RM_UNROLL for (int i = 0; i < RM_MR; i++) {
      vf64 ai = vf64_set1(a[i]);
      RM_UNROLL for (int v = 0; v < RM_NV; v++) acc[i][v] = vf64_mad(ai, bk[v], acc[i][v]);
    }
  }
  rm_join_b64(RM_NV, acc, c, first);
  RM_UNROLL for (int v = 0; v < RM_NV; v++) {
    double *at = panel->norm2 + v * RM_LANES;
    vf64_store(at, vf64_mad(vf64_set1(panel->weights.first), sum[v], vf64_load(at)));
  }
}
#define RM_MICRO_B64_PACKING(name, FMT)                                                                           \
  RM_NOINLINE void rm_micro_b64_packing_##name(int64_t kc, const double *a, const rm_panel_to_pack *p, double *c, \
                                               int first) {                                                       \
    rm_micro_b64_packing_body(kc, a, p, c, first, FMT);                                                           \
  }
RM_MICRO_B64_PACKING(f16, RM_F16)
RM_MICRO_B64_PACKING(bf16, RM_BF16)
RM_MICRO_B64_PACKING(f32, RM_F32)
RM_FN void rm_micro_b64_packing(int64_t kc, const double *a, const rm_panel_to_pack *panel, double *c, int first,
                                const int fmt) {
  switch (fmt) {
    case RM_F16: rm_micro_b64_packing_f16(kc, a, panel, c, first); return;
    case RM_BF16: rm_micro_b64_packing_bf16(kc, a, panel, c, first); return;
    default: rm_micro_b64_packing_f32(kc, a, panel, c, first);
  }
}

typedef void rm_micro_b64_fn(int64_t kc, const double *a, const double *b, double *c, int first);
static void rm_micro_b64_1(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_b64_body(1, kc, a, b, c, first, 0);
}
static void rm_micro_b64_2(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_b64_body(2, kc, a, b, c, first, 0);
}
static void rm_micro_b64_3(int64_t kc, const double *a, const double *b, double *c, int first) {
  rm_micro_b64_body(3, kc, a, b, c, first, 0);
}
static rm_micro_b64_fn *const rm_micro_b64[RM_NV + 1] = {0, rm_micro_b64_1, rm_micro_b64_2, rm_micro_b64_3};
