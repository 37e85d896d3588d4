/* Ziv's rounding test of the binary64 engine, over one tile.
 *
 * For S in [c - err, c + err] and e >= err + 2 u |c|, with err's slack absorbing the rounding of e:
 *   RN64(c - e) <= c - e + u |c - e| <= c - err <= S, and likewise S <= RN64(c + e).
 * Rounding to binary32 is monotonic, so where both ends round to the same bits those are RN32(S). The signs of zeros are part
 * of the bits: S may be tiny and of unknown sign. Results that are not finite go to the resolver, for the flags. */
#pragma once

#include "../../../crlibm/simd/machine.h"
#include "epilogue_random.h"
#include "kernels.h"
#include "output_map.h"
#include "alpha_beta.h"
#include "tile.h"

RM_FN vf64 rm_margin_b64(vf64 c, vf64 err) { return vf64_mad(vf64_abs(c), vf64_set1(0x1p-52), err); }

/* Rounds one vector of C. Returns the lanes that are undecided, or not finite. */
RM_FN uint32_t rm_round_vector_f32(vf64 c, vf64 err, float *out) {
  const vf64 e = rm_margin_b64(c, err);
  return vf64_store_between_f32(out, vf64_sub(c, e), vf64_add(c, e));
}

/* The same rounded to a 16-bit format: each end first to odd, 16 bits (crlibm/simd/machine.h), so that storing it rounds it
 * once. */
RM_FN uint32_t rm_round_vector_16(vf64 c, vf64 err, char *out, const int fmt) {
  vf64 e = rm_margin_b64(c, err), low = vf64_to_odd16(vf64_sub(c, e)), high = vf64_to_odd16(vf64_add(c, e));
  uint16_t first[RM_LANES], other[RM_LANES];
  if (fmt == RM_F16) vf64_store_f16(first, low), vf64_store_f16(other, high);
  else vf64_store_bf16(first, low), vf64_store_bf16(other, high);
  const uint16_t infinity = (uint16_t)rm_infinity_bits(fmt);
  const vm64 number = vm64_and(vf64_le(vf64_abs(low), vf64_set1(0x1p1000)), vf64_le(vf64_abs(high), vf64_set1(0x1p1000)));
  uint32_t undecided = ~vm64_bits(number) & ((1u << RM_LANES) - 1); /* a NaN may be stored as anything */
  for (int l = 0; l < RM_LANES; l++) undecided |= (uint32_t)(first[l] != other[l] || (first[l] & 0x7fffu) >= infinity) << l;
  __builtin_memcpy(out, first, sizeof first);
  return undecided;
}

RM_FN uint32_t rm_round_vector(vf64 c, vf64 err, char *out, const int fmt) {
  return fmt == RM_F32 ? rm_round_vector_f32(c, err, (float *)(void *)out) : rm_round_vector_16(c, err, out, fmt);
}

/* What the epilogue of a block needs. Rows and columns are counted from the block's first. */
typedef struct {
  const rm_matmul_problem *p;
  const rm_block *block;
  rm_output_map output;
  const double *row_bound, *col_norm; /* err = row_bound col_norm + bias_bound |bias| */
  double bias_bound;
} rm_epilogue_b64;

/* A tile of `rows` x `cols` sums at (i, j) of the block, nv vectors a row. flagged[q * nv + v] gets the lanes for the
 * resolver. */
typedef struct {
  const double *sums;
  uint8_t *flagged;
  int64_t i, j;
  int rows, cols, nv;
} rm_tile_b64;

/* A whole tile without special values, bias, alpha or beta, whose rows are RM_NV vectors of neighbours in memory: what
 * rounding it to binary32 needs. */
typedef struct {
  const double *sums, *row_bound, *norm;
  char *base;
  const ptrdiff_t *row, *col;
  uint8_t *flagged;
} rm_plain_tile_b64;

/* Whether no element of the whole tile at (i, j) can be infinite, NaN or too large for binary32; then it is described. All of
 * a's and b's weights are at least 2/(t + 1) (bound_b64.h), so |c| <= |a| |b| <= row_bound col_norm/(2 u) = 2^52 row_bound
 * col_norm. A sum of norms is NaN or infinite where one is. */
RM_FN int rm_has_no_specials_b64(const rm_epilogue_b64 *e, const double *tile, int64_t i, int64_t j, uint8_t *flagged,
                                 rm_plain_tile_b64 *t) {
  const double *row_bound = e->row_bound + i, *norm = e->col_norm + j;
  double rows = 0.0;
  RM_UNROLL for (int q = 0; q < RM_MR; q++) rows += row_bound[q];
  vf64 columns = vf64_load(norm);
  RM_UNROLL for (int v = 1; v < RM_NV; v++) columns = vf64_add(columns, vf64_load(norm + v * RM_LANES));
  *t = (rm_plain_tile_b64){tile, row_bound, norm, e->output.base, e->output.row + i, e->output.col + j, flagged};
  return vm64_bits(vf64_le(vf64_mul(vf64_set1(rows), columns), vf64_set1(0x1p74))) == (1u << RM_LANES) - 1;
}

/* Rounds row i of such a tile: the bound has room for the rounding of both ends (bound_b64.h). Returns how many elements are
 * undecided. */
RM_FN int rm_round_row_b64(const rm_plain_tile_b64 *t, int i) {
  const vf64 rb = vf64_set1(t->row_bound[i]);
  const double *sums = t->sums + i * RM_NR;
  char *const at = t->base + t->row[i];
  uint8_t *flagged = t->flagged + i * RM_NV;
  uint32_t undecided[RM_NV], any = 0;
  int count = 0;
  RM_UNROLL for (int v = 0; v < RM_NV; v++) {
    const vf64 c = vf64_load(sums + v * RM_LANES), norm = vf64_load(t->norm + v * RM_LANES);
    undecided[v] =
        vf64_store_differing_f32((float *)(void *)(at + t->col[v * RM_LANES]), vf64_nmad(rb, norm, c), vf64_mad(rb, norm, c));
    any |= undecided[v];
  }
  RM_UNROLL for (int v = 0; v < RM_NV; v++) flagged[v] = (uint8_t)undecided[v];
  if (RM_UNLIKELY(any)) RM_UNROLL for (int v = 0; v < RM_NV; v++) count += __builtin_popcount(undecided[v]);
  return count;
}

/* Rounds a tile of RM_NR columns that are whole vectors in memory. */
RM_FN int rm_epilogue_whole_b64(const rm_epilogue_b64 *e, const rm_tile_b64 *t, const int out_fmt) {
  const double *RM_RESTRICT tile = t->sums;
  uint8_t *RM_RESTRICT flagged = t->flagged;
  const int64_t i0 = t->i, j0 = t->j;
  const int rows = t->rows;
  const ptrdiff_t *const col = e->output.col + j0, *const row = e->output.row + i0;
  int count = 0;
  rm_plain_tile_b64 plain;
  if (out_fmt == RM_F32 && rm_has_no_specials_b64(e, tile, i0, j0, flagged, &plain)) {
    for (int i = 0; i < rows; i++) count += rm_round_row_b64(&plain, i);
    return count;
  }
  vf64 norm[RM_NV];
  RM_UNROLL for (int v = 0; v < RM_NV; v++) norm[v] = vf64_load(e->col_norm + j0 + v * RM_LANES);
  for (int i = 0; i < rows; i++, tile += RM_NR, flagged += RM_NV) {
    const vf64 rb = vf64_set1(e->row_bound[i0 + i]);
    char *const at = e->output.base + row[i];
    uint32_t undecided[RM_NV], any = 0;
    RM_UNROLL for (int v = 0; v < RM_NV; v++) {
      undecided[v] = rm_round_vector(vf64_load(tile + v * RM_LANES), vf64_mul(rb, norm[v]), at + col[v * RM_LANES], out_fmt);
      any |= undecided[v];
    }
    RM_UNROLL for (int v = 0; v < RM_NV; v++) flagged[v] = (uint8_t)undecided[v];
    if (RM_UNLIKELY(any)) RM_UNROLL for (int v = 0; v < RM_NV; v++) count += __builtin_popcount(undecided[v]);
  }
  return count;
}

/* The lanes `infinite` of `out`: beta d (rm_alpha_beta_infinity). alpha c may have overflowed, so that its sum with beta d is
 * NaN. */
RM_FN void rm_store_infinities(char *out, uint32_t infinite, const rm_alpha_beta *s, vf64 d, const int fmt) {
  const uint32_t negative = vm64_bits(vf64_lt(vf64_mul(vf64_set1(s->beta), d), vf64_set1(0.0)));
  for (; infinite; infinite &= infinite - 1) {
    const int l = __builtin_ctz(infinite);
    rm_write_bits(out + l * rm_size_of(fmt), rm_infinity_bits(fmt) | (negative >> l & 1u ? rm_sign_bit(fmt) : 0), fmt);
  }
}

RM_FN int rm_is_whole(const rm_epilogue_b64 *e, int64_t j0, int cols) {
  if (e->p->bias.base || e->p->alpha_beta || e->p->random.mode || cols != RM_NR) return 0;
  int whole = 1;
  RM_UNROLL for (int v = 0; v < RM_NV; v++) whole &= e->output.whole[j0 / RM_LANES + v];
  return whole;
}

/* Rounds a vector of values within err of c to binary32 under the stochastic mode: the bound has room for the rounding of
 * both ends (bound_b64.h). Returns whether all of it is decided: only where the result is above 2^-126, the first normal
 * number. Then both ends are above it, since what is below becomes that number at most. */
RM_FN int rm_round_quickly(vf64 c, vf64 err, vi64 add, vf64 *y) {
  const int dropped = 53 - rm_precision(RM_F32);
  const vi64 kept = vi64_set1(-(INT64_C(1) << dropped));
  const vi64 least = vi64_set1(((int64_t)(1023 + rm_emin(RM_F32)) << 52) + 1);
  const vi64 range = vi64_set1((int64_t)(rm_emax(RM_F32) - rm_emin(RM_F32)) << 52);
  const vi64 a = vi64_add(vf64_bits(vf64_sub(c, err)), add), b = vi64_add(vf64_bits(vf64_add(c, err)), add);
  *y = vf64_from_bits(vi64_and(a, kept));
  const vm64 normal = vi64_ltu(vi64_sub(vf64_bits(vf64_abs(*y)), least), range);
  return vm64_none(vm64_not(vm64_and(normal, vi64_disjoint(vi64_xor(a, b), kept))));
}

/* Rounds a tile under a random mode. */
RM_FN int rm_epilogue_random(const rm_epilogue_b64 *e, const rm_tile_b64 *t, const int fmt, const int out_fmt,
                             const int stochastic) {
  const rm_matmul_problem *p = e->p;
  const int size = rm_size_of(out_fmt);
  const double *tile = t->sums;
  int count = 0;
  rm_tile_words words;
  rm_tile_words_make(&words, p, &e->output, t->i, t->j, t->rows, t->cols);
  for (int i = 0; i < t->rows; i++) {
    const vf64 rb = vf64_set1(e->row_bound[t->i + i]);
    for (int v = 0; v < t->nv; v++, tile += RM_LANES) {
      const int64_t j = t->j + v * RM_LANES;
      const int lanes = t->cols - v * RM_LANES < RM_LANES ? t->cols - v * RM_LANES : RM_LANES;
      vf64 value = vf64_load(tile), err = vf64_mul(rb, vf64_load(e->col_norm + j)), y;
      if (p->bias.base) {
        const vf64 bias = rm_load_bias(&p->bias, e->block->row + t->i + i, e->block->col + j, lanes, fmt);
        value = vf64_add(value, bias);
        err = vf64_mad(vf64_set1(e->bias_bound), vf64_abs(bias), err);
      }
      const vi64 add = rm_tile_addends(&words, i, v * RM_LANES, stochastic, out_fmt);
      if (fmt == RM_F32 && stochastic && RM_ROWS_ARE_LANES && e->output.whole[j / RM_LANES] &&
          RM_LIKELY(rm_round_quickly(value, err, add, &y))) {
        rm_store_elements(rm_output_at(&e->output, t->i + i, j), y, RM_F32);
        t->flagged[i * t->nv + v] = 0;
        continue;
      }
      const vm64 zeros = vf64_eq(vf64_add(vf64_abs(value), err), vf64_set1(0.0)); /* of a row or column of zeros */
      const uint32_t left = vm64_bits(vm64_andnot(rm_round_ball_vector(value, err, add, out_fmt, &y), zeros));
      const uint32_t undecided = left & ((1u << lanes) - 1);
      y = vf64_select(zeros, vf64_set1(0.0), y);
      if (RM_LIKELY(e->output.whole[j / RM_LANES])) {
        rm_store_elements(rm_output_at(&e->output, t->i + i, j), y, out_fmt);
      } else {
        char out[4 * RM_LANES];
        rm_store_elements(out, y, out_fmt);
        for (int l = 0; l < lanes; l++)
          __builtin_memcpy(rm_output_at(&e->output, t->i + i, j + l), out + l * size, (size_t)size);
      }
      t->flagged[i * t->nv + v] = (uint8_t)undecided;
      count += __builtin_popcount(undecided);
    }
  }
  return count;
}

/* The same of any format: one function for all engines that come here. */
RM_STATIC int rm_epilogue_at_random(const rm_epilogue_b64 *e, const rm_tile_b64 *t) {
  const rm_matmul_problem *p = e->p;
  const int stochastic = p->random.mode == RM_ROUND_STOCHASTIC;
  switch (4 * p->fmt + p->out_fmt) {
    case 4 * RM_F16 + RM_F16: return rm_epilogue_random(e, t, RM_F16, RM_F16, stochastic);
    case 4 * RM_F16 + RM_F32: return rm_epilogue_random(e, t, RM_F16, RM_F32, stochastic);
    case 4 * RM_BF16 + RM_BF16: return rm_epilogue_random(e, t, RM_BF16, RM_BF16, stochastic);
    case 4 * RM_BF16 + RM_F32: return rm_epilogue_random(e, t, RM_BF16, RM_F32, stochastic);
    default: return rm_epilogue_random(e, t, RM_F32, RM_F32, stochastic);
  }
}

/* Rounds a tile. Returns how many elements are for the resolver. */
RM_FN int rm_epilogue_tile_b64(const rm_epilogue_b64 *e, const rm_tile_b64 *t, const int fmt, const int out_fmt) {
  const int size = rm_size_of(out_fmt), rows = t->rows, cols = t->cols, nv = t->nv;
  const int64_t i0 = t->i, j0 = t->j;
  const double *tile = t->sums;
  const rm_alpha_beta *alpha_beta = e->p->alpha_beta;
  int count = 0;
  if (e->p->random.mode) return rm_epilogue_at_random(e, t);
  if (rm_is_whole(e, j0, cols)) return rm_epilogue_whole_b64(e, t, out_fmt);
  for (int i = 0; i < rows; i++) {
    const vf64 rb = vf64_set1(e->row_bound[i0 + i]);
    for (int v = 0; v < nv; v++, tile += RM_LANES) {
      const int64_t j = j0 + v * RM_LANES;
      const int lanes = cols - v * RM_LANES < RM_LANES ? cols - v * RM_LANES : RM_LANES;
      vf64 value = vf64_load(tile), err = vf64_mul(rb, vf64_load(e->col_norm + j));
      if (e->p->bias.base) {
        const vf64 bias = rm_load_bias(&e->p->bias, e->block->row + i0 + i, e->block->col + j, lanes, fmt);
        value = vf64_add(value, bias);
        err = vf64_mad(vf64_set1(e->bias_bound), vf64_abs(bias), err);
      }
      uint32_t undecided;
      if (alpha_beta) {
        char out[4 * RM_LANES];
        const vf64 old = rm_load_old(alpha_beta, &e->output, i0 + i, j, lanes, out_fmt);
        uint32_t infinite = vm64_bits(rm_alpha_beta_infinity(alpha_beta, value, old, err)) & ((1u << lanes) - 1);
        value = rm_alpha_beta_vector(alpha_beta, value, old, &err);
        undecided = rm_round_vector(value, err, out, out_fmt) & ((1u << lanes) - 1) & ~infinite;
        if (RM_UNLIKELY(infinite)) rm_store_infinities(out, infinite, alpha_beta, old, out_fmt);
        rm_store_decided(&e->output, i0 + i, j, lanes, undecided, out, size);
      } else if (RM_LIKELY(e->output.whole[j / RM_LANES])) {
        undecided = rm_round_vector(value, err, rm_output_at(&e->output, i0 + i, j), out_fmt);
      } else {
        char out[4 * RM_LANES];
        undecided = rm_round_vector(value, err, out, out_fmt) & ((1u << lanes) - 1);
        for (int l = 0; l < lanes; l++)
          __builtin_memcpy(rm_output_at(&e->output, i0 + i, j + l), out + l * size, (size_t)size);
      }
      t->flagged[i * nv + v] = (uint8_t)undecided;
      count += __builtin_popcount(undecided);
    }
  }
  return count;
}
