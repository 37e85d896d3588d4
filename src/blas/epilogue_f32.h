/* The rounding test of the binary32 engine, over one tile.
 *
 * For S in [c - err, c + err] and e >= err + 2 u |c|, with err's slack absorbing the rounding of e:
 *   RN64(c - e) <= c - e + u |c - e| <= c - err <= S, and likewise S <= RN64(c + e).
 * Rounding to binary32 is monotonic, so where both ends round to the same bits those are RN32(S). The signs of zeros are part
 * of the bits: S may be tiny and of unknown sign. Results that are not finite go to the resolver, for the flags. */
#ifndef RM_BLAS_EPILOGUE_F32_H
#define RM_BLAS_EPILOGUE_F32_H

#include "tile.h"

RM_FN vf64 rm_margin_f32(vf64 c, vf64 err) { return vf64_mad(vf64_abs(c), vf64_set1(0x1p-52), err); }

/* One vector of C. Returns the lanes that are not decided, or not finite. */
RM_FN uint32_t rm_round_vector_f32(vf64 c, vf64 err, float *out) {
  vf64 e = rm_margin_f32(c, err);
  vf64 low = vf64_round_f32(vf64_sub(c, e)), high = vf64_round_f32(vf64_add(c, e));
  vm64 same = vi64_eq(vf64_bits(low), vf64_bits(high));
  vm64 finite = vf64_le(vf64_abs(low), vf64_set1(0x1.fffffep127));
  vf64_store_f32(out, low);
  return ~vm64_bits(vm64_and(same, finite)) & ((1u << RM_LANES) - 1);
}

/* Writes `rows` x `cols` elements of C from a tile of nv vectors a row. bias and err_bias (bounds of its share) may be NULL;
 * flagged[i * nv + v] gets the lanes for the resolver. Returns how many. */
RM_FN int rm_epilogue_tile_f32(const double *tile, int nv, int rows, int cols, const double *row_bound,
                               const double *col_norm, const double *bias, const double *err_bias, char *c, ptrdiff_t row_c,
                               ptrdiff_t col_c, uint8_t *flagged) {
  int count = 0;
  for (int i = 0; i < rows; i++) {
    vf64 rb = vf64_set1(row_bound[i]);
    char *row = c + i * row_c;
    for (int v = 0; v < nv; v++, tile += RM_LANES) {
      int j = v * RM_LANES, lanes = cols - j < RM_LANES ? cols - j : RM_LANES;
      vf64 value = vf64_load(tile), err;
      if (bias) {
        value = vf64_add(value, vf64_load(bias + j));
        err = vf64_mad(rb, vf64_load(col_norm + j), vf64_load(err_bias + j));
      } else {
        err = vf64_mul(rb, vf64_load(col_norm + j));
      }
      uint32_t undecided;
      if (RM_LIKELY(col_c == 4 && lanes == RM_LANES)) {
        undecided = rm_round_vector_f32(value, err, (float *)(void *)(row + j * 4));
      } else {
        float out[RM_LANES];
        undecided = rm_round_vector_f32(value, err, out) & ((1u << lanes) - 1);
        for (int l = 0; l < lanes; l++) __builtin_memcpy(row + (j + l) * col_c, out + l, 4);
      }
      flagged[i * nv + v] = (uint8_t)undecided;
      count += __builtin_popcount(undecided);
    }
  }
  return count;
}

#endif
