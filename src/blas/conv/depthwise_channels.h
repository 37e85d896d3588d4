/* Depthwise convolutions whose vectors are of channels: the positions of RM_LANES channels side by side in binary64, rows
 * of the image with their padding. A tap is at a constant distance from each position, whatever the strides of the
 * convolution are and wherever the channels are in memory. Images whose channels are neighbours in memory are read so, and
 * short lines, of which vectors along a line would have most lanes empty.
 *
 * A position is one chain over the taps, as in kernels.c, whose bound holds for it with other factors: by Cauchy-Schwarz
 *
 *   A = sum |x_t w_t| + |bias| <= |x| |w| + |bias|
 *
 * with the Euclidean norms of the channel's weights and of all that is laid out of its image. Squares of norms of n
 * elements err by at most (n + 5) u relatively, n <= 2^17 here, which the bound's factor 1 + 2^-18 has room for. Nothing
 * overflows: squares are at most 2^256.
 *
 * Undecided results are tested with their own A', then summed by two-sums, as there, one by one. Where a weight, the bias
 * or the image is not finite, the unit is left to the lines of its channels. */
#pragma once

#include "depthwise.h"

#include "../gemm/epilogue_b64.h"
#include "../gemm/resolve_b64.h"
#include "conv_window.h"

/* Numbers of the image that are laid out at once, and how many one row of results may need; positions that are summed at
 * once. */
enum { RM_CHANNELS_BAND = 1 << 14, RM_CHANNELS_LIMIT = 1 << 17, RM_CHANNELS_ACROSS = 8 };

typedef struct {
  rm_extent x, y, z;
  int64_t taps, width, lines; /* positions of a row of the image; its rows for a tap along z */
} rm_channels_layout;

RM_STATIC rm_channels_layout rm_channels_layout_of(const rm_depthwise *d, int64_t rows) {
  rm_channels_layout l = {
      rm_extent_of(&d->view, d->x), rm_extent_of(&d->view, d->x - 1), rm_extent_of(&d->view, d->x - 2), 0, 0, 0};
  l.taps = l.x.taps * l.y.taps * l.z.taps;
  l.width = (l.x.count - 1) * l.x.move + l.x.halo + 1;
  l.lines = (rows - 1) * l.y.move + l.y.halo + 1;
  return l;
}

/* Rows of results of a band; 0 where the problem is left to others. */
RM_STATIC int64_t rm_channels_rows(const rm_depthwise *d) {
  const rm_channels_layout one = rm_channels_layout_of(d, 1);
  if (d->p->batch < (RM_LANES + 1) / 2) return 0; /* most lanes would be empty */
  /* Of floating numbers: products of sizes that no array has do not fit 64 bits. */
  if ((double)one.x.taps * (double)one.y.taps * (double)one.z.taps > RM_DEPTHWISE_TAPS) return 0;
  if ((double)one.z.taps * (double)one.lines * (double)one.width * RM_LANES > RM_CHANNELS_LIMIT) return 0;
  const int64_t lines = RM_CHANNELS_BAND / (one.z.taps * one.width * RM_LANES), rows = (lines - one.lines) / one.y.move + 1;
  return rows < 1 || lines < one.lines ? 1 : rows < one.y.count ? rows : one.y.count;
}

/* Lays out n positions of `lanes` channels, row_stride bytes apart, and adds the squares of each channel to *norm2: as
 * rm_pack_group does, in a few hundred bytes of code. */
RM_FN void rm_lay_out_channels_of(double *dst, int lanes, int64_t n, rm_strided src, double *norm2, const int fmt) {
  const int size = rm_size_of(fmt), all = lanes == RM_LANES;
  vf64 sum = vf64_load(norm2);
  int64_t i = 0;
  if (all && src.row_stride == size) {
    for (; i < n; i++) {
      const vf64 x = rm_load_elements(src.base + i * src.k_stride, fmt);
      sum = vf64_mad(x, x, sum);
      vf64_store(dst + i * RM_LANES, x);
    }
  } else if (all && src.k_stride == size) {
    for (; i + RM_LANES <= n; i += RM_LANES) {
      vf64 t[RM_LANES];
      RM_UNROLL for (int l = 0; l < RM_LANES; l++) t[l] = rm_load_elements(src.base + l * src.row_stride + i * size, fmt);
      vf64_transpose(t);
      RM_UNROLL for (int q = 0; q < RM_LANES; q++) {
        sum = vf64_mad(t[q], t[q], sum);
        vf64_store(dst + (i + q) * RM_LANES, t[q]);
      }
    }
  }
  for (; i < n; i++) {
    double *const to = dst + i * RM_LANES;
    for (int l = 0; l < RM_LANES; l++)
      to[l] = l < lanes ? rm_read_element(src.base + l * src.row_stride + i * src.k_stride, fmt) : 0.0;
    const vf64 x = vf64_load(to);
    sum = vf64_mad(x, x, sum);
  }
  vf64_store(norm2, sum);
}
RM_NOINLINE void rm_lay_out_channels(double *dst, int lanes, int64_t n, rm_strided src, double *norm2, int fmt) {
  if (fmt == RM_F32) rm_lay_out_channels_of(dst, lanes, n, src, norm2, RM_F32);
  else rm_lay_out_channels_of(dst, lanes, n, src, norm2, fmt);
}

/* A band of one image: of the channels from `group` on, so many rows of results from (z, y) on. */
typedef struct {
  int64_t group, image, z, y, rows;
  int lanes;
} rm_channels_band;

/* Lays its image out at dst and adds to the squares of the channels' norms. */
RM_STATIC void rm_channels_image(double *dst, const rm_depthwise *d, const rm_channels_layout *l,
                                 const rm_channels_band *band, double *norm2) {
  const rm_matmul_problem *p = d->p;
  const int of_a = d->by_rows && d->kind != RM_DEPTHWISE_WEIGHTS;
  const ptrdiff_t next = of_a ? p->next_a : p->next_b;
  const char *const base = (of_a ? p->a.base : p->b.base) + band->group * next + band->image * d->view.rows.stride[0];
  const int64_t lines = (band->rows - 1) * l->y.move + l->y.halo + 1, first = l->x.start + l->x.low;
  const int64_t low = first < 0 ? -first : 0, high = l->x.size - first < l->width ? l->x.size - first : l->width;
  for (int64_t tz = 0; tz < l->z.taps; tz++)
    for (int64_t r = 0; r < lines; r++) {
      const int64_t dz = band->z * l->z.move + tz * l->z.step, dy = band->y * l->y.move + l->y.low + r;
      const int64_t z = l->z.start + dz, y = l->y.start + dy;
      double *const line = dst + (tz * l->lines + r) * l->width * RM_LANES;
      const int there = z >= 0 && z < l->z.size && y >= 0 && y < l->y.size && low < high;
      const int64_t from = there ? low : 0, to = there ? high : 0;
      __builtin_memset(line, 0, (size_t)(from * RM_LANES) * sizeof *line);
      __builtin_memset(line + to * RM_LANES, 0, (size_t)((l->width - to) * RM_LANES) * sizeof *line);
      if (!there) continue;
      const char *const src = base + dz * l->z.stride + dy * l->y.stride + (l->x.low + low) * l->x.stride;
      rm_lay_out_channels(line + low * RM_LANES, band->lanes, high - low, (rm_strided){src, next, l->x.stride}, norm2,
                          p->fmt);
    }
}

/* Where each tap is, in numbers from its position's first. */
RM_STATIC void rm_channels_offsets(ptrdiff_t *off, const rm_channels_layout *l) {
  for (int64_t k = 0; k < l->taps; k++) {
    const int64_t tx = k % l->x.taps, ty = k / l->x.taps % l->y.taps, tz = k / l->x.taps / l->y.taps;
    off[k] = ((tz * l->lines + ty * l->y.step - l->y.low) * l->width + tx * l->x.step - l->x.low) * RM_LANES;
  }
}

/* --- sums of a position */

/* The weights of a unit, lane by lane, and what its results share. */
typedef struct {
  const rm_depthwise *d;
  const rm_channels_layout *l;
  const rm_channels_band *band;
  const double *weight; /* of each tap, RM_LANES */
  const ptrdiff_t *off;
  double bias[RM_LANES], bound; /* bound: that of rm_channels_bound */
  rm_tiers *tiers;
  uint32_t flags;
} rm_channels;

/* (n + 1) u (1 + 2^-18) for n taps. */
RM_FN double rm_channels_bound(int64_t taps) { return RM_BOUND((double)(taps + 1) * 0x1p-53 * (1.0 + 0x1p-18)); }

/* Numbers of the workspace: offsets, weights, sums of a row, the image, which sums of a row's end may read beyond. */
RM_STATIC int64_t rm_channels_numbers(const rm_channels_layout *l) {
  const int64_t across = l->x.count + RM_CHANNELS_ACROSS;
  const int64_t image = l->z.taps * l->lines * l->width + RM_CHANNELS_ACROSS * l->x.move;
  return l->taps + (l->taps + across + image) * RM_LANES;
}

RM_FN void rm_channels_add(const int across, const rm_channels *t, const double *x, double *sums) {
  const ptrdiff_t move = t->l->x.move * RM_LANES;
  vf64 acc[RM_CHANNELS_ACROSS];
  RM_UNROLL for (int q = 0; q < across; q++) acc[q] = vf64_load(t->bias);
  for (int64_t k = 0; k < t->l->taps; k++) {
    const vf64 w = vf64_load(t->weight + k * RM_LANES);
    const double *at = x + t->off[k];
    RM_UNROLL for (int q = 0; q < across; q++) acc[q] = vf64_mad(w, vf64_load(at + q * move), acc[q]);
  }
  RM_UNROLL for (int q = 0; q < across; q++) vf64_store(sums + q * RM_LANES, acc[q]);
}

/* Writes lane l of the sum c, whose position's first number is x, and which is the i-th result of the problem. */
RM_NOINLINE void rm_channels_resolve(rm_channels *t, const double *x, int64_t i, double c, int l, char *to) {
  rm_matmul_problem one = *t->d->p;
  const int64_t group = t->band->group + l;
  const int fmt = one.fmt;
  uint64_t bits;
  double a = __builtin_fabs(t->bias[l]), over = 0.0;
  for (int64_t k = 0; k < t->l->taps; k++) a += __builtin_fabs(t->weight[k * RM_LANES + l] * x[t->off[k] + l]);
  if (rm_decide_b64(c, a * t->bound, fmt, &bits)) {
    t->tiers->fast++;
  } else {
    rm_pair sum = {t->bias[l], 0.0}, rest = {0.0, 0.0};
    for (int64_t k = 0; k < t->l->taps; k++) {
      sum = rm_pair_two_sum(sum.hi, t->weight[k * RM_LANES + l] * x[t->off[k] + l]);
      rest = rm_pair_two_sum(rest.hi, sum.lo);
      over += __builtin_fabs(rest.lo);
    }
    if (over != 0.0) {
      one.a.base += group * one.next_a, one.b.base += group * one.next_b;
      if (one.bias.base) one.bias.base += group * one.next_bias;
      t->tiers->accumulator++;
      rm_write_bits(to, rm_exact_element(&one, t->d->by_rows ? i : 0, t->d->by_rows ? 0 : i, &t->flags), fmt);
      return;
    }
    bits = rm_round_double(rm_pair_to_odd(sum.hi, rest.hi), fmt);
    t->tiers->double_double++;
  }
  if ((bits & ~rm_sign_bit(fmt)) == rm_infinity_bits(fmt)) t->flags |= RM_FLAG_OVERFLOW;
  rm_write_bits(to, bits, fmt);
}

/* Rounds a row of sums, the first of which is the first-th result of the problem and goes to out, the next ones step bytes
 * further. */
RM_FN void rm_channels_round(rm_channels *t, const double *x, const double *sums, vf64 err, int64_t first, char *out,
                             ptrdiff_t step, const int fmt) {
  const int size = rm_size_of(fmt), lanes = t->band->lanes;
  const ptrdiff_t next = t->d->p->next_c, move = t->l->x.move * RM_LANES;
  const int beside = next == size && lanes == RM_LANES;
  for (int64_t i = 0; i < t->l->x.count; i++, out += step) {
    const vf64 c = vf64_load(sums + i * RM_LANES);
    char made[4 * RM_LANES];
    uint32_t undecided = rm_round_vector(c, err, beside ? out : made, fmt) & ((1u << lanes) - 1);
    if (!beside)
      for (int l = 0; l < lanes; l++) __builtin_memcpy(out + l * next, made + l * size, (size_t)size);
    t->tiers->fast += lanes;
    if (RM_LIKELY(!undecided)) continue;
    t->tiers->fast -= __builtin_popcount(undecided);
    for (; undecided; undecided &= undecided - 1) {
      const int l = __builtin_ctz(undecided);
      rm_channels_resolve(t, x + i * move, first + i, sums[i * RM_LANES + l], l, out + l * next);
    }
  }
}
