/* Products again with bounds relative to sum |a_k b_k|: Dot2 of Ogita, Rump and Oishi (2005) on scaled operands
 * (rm_bound_dot2), one element at a time or a whole tile of the double-double engine.
 *
 * The count of one element: a lane takes one product of each RM_LANES k indices, RM_GATHER being a multiple of them, at most
 * K/RM_LANES + 1 in all; so a term passes as many two-sums in its lane, then at most RM_LANES <= 8 that join lanes to the
 * bias: fewer than K + 64. An error of a product joins that of its two-sum (one addition), then those of its lane
 * (K/RM_LANES + 1), the error of the lane's join and those of the lanes before (2), and RM_LANES - 1 joins: twice that count.
 *
 * In a tile each element is a chain of its own: a term passes K two-sums and one that joins the bias, an error one addition
 * more than that and two of the join. */
#pragma once

#include "bound_dd.h"
#include "pack.h"
#include "pair.h"
#include "resolve_b64.h"

/* Sums of the scaled products, of what is lost on the way, and of magnitudes, one a lane. */
RM_STATIC void rm_dot2_lanes(const rm_matmul_problem *m, int64_t row, double factor_a, int64_t col, double factor_b,
                             double *his, double *los, double *sizes) {
  double x[RM_GATHER], y[RM_GATHER];
  vf64 hi = vf64_set1(0.0), lo = hi, size = hi;
  for (int64_t k0 = 0; k0 < m->k; k0 += RM_GATHER) {
    int64_t n = m->k - k0 < RM_GATHER ? m->k - k0 : RM_GATHER;
    rm_gather(x, &m->a, row, k0, n, factor_a, m->fmt);
    rm_gather(y, &m->b, col, k0, n, factor_b, m->fmt);
    for (int64_t i = 0; i < n; i += RM_LANES) {
      vf64 u = vf64_load(x + i), v = vf64_load(y + i), p = vf64_mul(u, v), e = vf64_mul_err(u, v, p), f;
      hi = vf64_two_sum(hi, p, &f);
      lo = vf64_add(lo, vf64_add(f, e));
      size = vf64_add(size, vf64_abs(p));
    }
  }
  vf64_store(his, hi);
  vf64_store(los, lo);
  vf64_store(sizes, size);
}

/* The sum of scaled products and the scaled bias; *err becomes its bound. */
RM_STATIC rm_pair rm_dot2_scaled(const rm_matmul_problem *m, int64_t row, double factor_a, int64_t col, double factor_b,
                                 double bias, double *err) {
  double his[RM_LANES], los[RM_LANES], sizes[RM_LANES], total = __builtin_fabs(bias);
  rm_pair sum = {bias, 0.0};
  rm_dot2_lanes(m, row, factor_a, col, factor_b, his, los, sizes);
  for (int i = 0; i < RM_LANES; i++) {
    rm_pair s = rm_pair_two_sum(sum.hi, his[i]);
    sum = (rm_pair){s.hi, sum.lo + (s.lo + los[i])};
    total += sizes[i];
  }
  *err = rm_bound_dot2(m->k, total);
  return sum;
}

/* Sums, losses and sizes of the elements of a tile, nv vectors a row. */
typedef struct {
  double hi[RM_AW2 * RM_NR2], lo[RM_AW2 * RM_NR2], size[RM_AW2 * RM_NR2];
} rm_dot2_tile;

/* Adds the products of panels (kc x AW2 of A, kc x nv vectors of B) to the sums of a tile, or begins them: only where a lane
 * of a row's vectors is flagged. */
RM_FN void rm_dot2_panels(const int nv, int rows, int64_t kc, const double *RM_RESTRICT a, const double *RM_RESTRICT b,
                          const uint8_t *flagged, rm_dot2_tile *tile, int first) {
  for (int q = 0; q < rows; q++, flagged += nv) {
    vf64 hi[RM_NV2], lo[RM_NV2], size[RM_NV2];
    uint32_t any = 0;
    RM_UNROLL for (int v = 0; v < nv; v++) {
      const int at = (q * nv + v) * RM_LANES;
      any |= flagged[v];
      hi[v] = first ? vf64_set1(0.0) : vf64_load(tile->hi + at);
      lo[v] = first ? vf64_set1(0.0) : vf64_load(tile->lo + at);
      size[v] = first ? vf64_set1(0.0) : vf64_load(tile->size + at);
    }
    if (!any) continue;
    for (int64_t k = 0; k < kc; k++) {
      const vf64 x = vf64_set1(a[k * RM_AW2 + q]);
      RM_UNROLL for (int v = 0; v < nv; v++) {
        vf64 y = vf64_load(b + (k * nv + v) * RM_LANES), p = vf64_mul(x, y), e = vf64_mul_err(x, y, p), f;
        hi[v] = vf64_two_sum(hi[v], p, &f);
        lo[v] = vf64_add(lo[v], vf64_add(f, e));
        size[v] = vf64_add(size[v], vf64_abs(p));
      }
    }
    RM_UNROLL for (int v = 0; v < nv; v++) {
      const int at = (q * nv + v) * RM_LANES;
      vf64_store(tile->hi + at, hi[v]);
      vf64_store(tile->lo + at, lo[v]);
      vf64_store(tile->size + at, size[v]);
    }
  }
}
