/* The engines for CPUs with tiles (crlibm/simd/amx.h). */
#pragma once

#include "../../runtime/tiles.h"
#include "kernels.h"

/* k: shorter sums are not worth the packing; of longer ones the packed rows would be few. */
enum { RM_TILES_MIN_K = 48, RM_TILES_MAX_K = 4096 };
/* Packing takes about as long as RM_TILES_WORTH products for each of an operand's elements, and for RM_TILES_ROW elements
 * more a row. */
enum { RM_TILES_WORTH = 20, RM_TILES_ROW = 128 };

#if RM_HAS_TILES
extern const rm_engine rm_tiles_bf16, rm_tiles_f16;

/* The engine for a problem, or NULL: results of another format need more digits. */
static inline const rm_engine *rm_tiles_engine(const rm_matmul_problem *p) {
  if (p->k < RM_TILES_MIN_K || p->k > RM_TILES_MAX_K) return NULL;
  const double m = (double)p->m, n = (double)p->n, k = (double)p->k;
  if (m * n * k < RM_TILES_WORTH * (m + n) * (k + RM_TILES_ROW)) return NULL;
  if (p->alpha_beta || p->fmt != p->out_fmt || (p->fmt != RM_BF16 && p->fmt != RM_F16) || !rm_isa_tiles()) return NULL;
  return p->fmt == RM_BF16 ? &rm_tiles_bf16 : &rm_tiles_f16;
}
#endif
