/* Gradients of depthwise convolutions with respect to their weights, in binary32, binary16 and bfloat16: for each channel
 * and tap the sum, over all positions, of an element of the image times the gradient there.
 *
 * Image and gradient are laid out as in depthwise_channels.h, for all images of a unit of RM_LANES channels; a tap is a
 * chain of mads over positions, with one load each.
 *
 * Error bound. u = 2^-53. Products are exact (gemm/micro_b64.h). A chain is of at most L positions, of whole rows of
 * results, and begins at +0; C chains are added to a sum that begins at +0. So a term passes at most h = L + C roundings,
 * none of which underflows: all is a multiple of 2^-298. As in gemm/bound_b64.h, with Euclidean norms (Cauchy-Schwarz),
 *
 *   |c - S| <= h u/(1 - h u) sum |x g| <= (h + 1) u (1 + slack) |x| |g| =: err
 *
 * where one more rounding has room for that of Ziv's test (gemm/epilogue_b64.h). x is all of the image that is read, in
 * any order and some of it twice, which is no less than what a tap reads. The square of a norm of n elements errs by at
 * most (n + 5) u relatively, and the root of the product of both by half of the sum of that and a few u: slack = 2^-18 + n
 * 2^-51, n the elements of both, has room for that, for h u < 2^-20, and for the roundings of err. Nothing overflows:
 * squares are at most 2^256.
 *
 * What the bound leaves undecided, and what is not finite, is resolved as an element of the matrix product that the
 * gradient is (gemm/resolve_b64.h): its bound for double-double needs err >= u sum |x g|, which (h + 1) u gives, and one
 * of the certificate is err itself. */
#pragma once

#include "depthwise_channels.h"

/* Positions after which a chain ends; taps that are added at once. */
enum { RM_WEIGHTS_CHAIN = 512, RM_WEIGHTS_TAPS = 9 };

/* Taps with those that fill the last block, whose sums nobody reads. */
RM_FN int64_t rm_weights_padded(int64_t taps) { return taps + RM_WEIGHTS_TAPS; }

/* Whether the plan's view, whose rows are the positions, is of such a gradient; sets the bands, the units and the
 * workspace. */
RM_STATIC int rm_weights_plan(rm_depthwise *d) {
  d->rows = rm_channels_rows(d);
  if (!d->rows) return 0;
  const rm_channels_layout band = rm_channels_layout_of(d, d->rows);
  const int64_t taps = rm_weights_padded(band.taps);
  d->bands = (band.y.count + d->rows - 1) / d->rows;
  d->planes = band.z.count;
  d->units = (d->p->batch + RM_LANES - 1) / RM_LANES;
  d->bytes = (size_t)(taps + (2 * taps + band.z.taps * band.lines * band.width + band.x.count) * RM_LANES) * 8;
  return 1;
}

/* One row of results of a band: where its gradients and its positions in the image are. */
typedef struct {
  const double *g, *x;
  int64_t n;
  ptrdiff_t move; /* numbers from a position to the next */
} rm_weights_row;

/* Adds the products of a row to the chains of so many taps. */
RM_FN void rm_weights_add(const int taps, const rm_weights_row *row, const ptrdiff_t *off, double *chains) {
  vf64 acc[RM_WEIGHTS_TAPS];
  const double *x = row->x;
  ptrdiff_t at[RM_WEIGHTS_TAPS];
  RM_UNROLL for (int t = 0; t < taps; t++) acc[t] = vf64_load(chains + t * RM_LANES), at[t] = off[t];
  for (int64_t i = 0; i < row->n; i++, x += row->move) {
    const vf64 g = vf64_load(row->g + i * RM_LANES);
    RM_UNROLL for (int t = 0; t < taps; t++) acc[t] = vf64_mad(g, vf64_load(x + at[t]), acc[t]);
  }
  RM_UNROLL for (int t = 0; t < taps; t++) vf64_store(chains + t * RM_LANES, acc[t]);
}
RM_STATIC void rm_weights_add_row(const rm_weights_row *row, int64_t taps, const ptrdiff_t *off, double *chains) {
  while (taps > 0) {
    double *const to = chains;
    const ptrdiff_t *const from = off;
    const int some = taps >= RM_WEIGHTS_TAPS ? RM_WEIGHTS_TAPS : taps > 4 ? 8 : 4;
    taps -= some, off += some, chains += some * RM_LANES;
    switch (some) {
      case RM_WEIGHTS_TAPS: rm_weights_add(RM_WEIGHTS_TAPS, row, from, to); break;
      case 8: rm_weights_add(8, row, from, to); break;
      default: rm_weights_add(4, row, from, to);
    }
  }
}

/* Adds the chains, which begin anew, to the sums. */
RM_STATIC void rm_weights_join(double *chains, double *sums, int64_t taps) {
  for (int64_t t = 0; t < taps * RM_LANES; t += RM_LANES) {
    vf64_store(sums + t, vf64_add(vf64_load(sums + t), vf64_load(chains + t)));
    vf64_store(chains + t, vf64_set1(0.0));
  }
}

/* Resolves those of the sums of one channel, which is the lane's, that `left` names. */
RM_STATIC void rm_weights_resolve(const rm_matmul_problem *p, const double *sums, const uint8_t *left, int lane, double err,
                                  rm_tiers *tiers, uint32_t *flags) {
  rm_vector_facts row = {0}, cols[RM_DEPTHWISE_TAPS] = {{0}};
  const rm_block block = {0, 1, 0, p->n};
  int64_t open = 0;
  for (int64_t t = 0; t < p->n; t++) open += left[t] >> lane & 1;
  if (!open) return;
  rm_resolver r = {p, &block, &row, cols, open > 2, 0, 0, tiers, 0};
  if (rm_is_nan(err)) err = __builtin_inf(); /* zeros have met infinities: no test may take that for a bound */
  for (int64_t t = 0; t < p->n; t++) {
    if (!(left[t] >> lane & 1)) continue;
    const uint64_t bits = rm_resolve_element_b64(&r, 0, t, sums[t * RM_LANES + lane], err, 0.0);
    rm_write_bits(p->c.base + rm_target_offset(p->c.cols, p->c.col, t), bits, p->fmt);
  }
  *flags |= r.flags;
}

/* Rounds the sums of the channels from `group` on. */
RM_STATIC uint32_t rm_weights_round(const rm_matmul_problem *p, int64_t group, const double *sums, vf64 err,
                                    rm_tiers *tiers) {
  const int fmt = p->fmt, size = rm_size_of(fmt);
  const int lanes = p->batch - group < RM_LANES ? (int)(p->batch - group) : RM_LANES;
  uint8_t left[RM_DEPTHWISE_TAPS];
  double errs[RM_LANES];
  uint32_t flags = 0, any = 0;
  for (int64_t t = 0; t < p->n; t++) {
    char out[4 * RM_LANES];
    const vf64 c = vf64_load(sums + t * RM_LANES);
    char *const at = p->c.base + rm_target_offset(p->c.cols, p->c.col, t);
    left[t] = (uint8_t)rm_round_vector(c, err, out, fmt);
    any |= left[t];
    for (int l = 0; l < lanes; l++)
      if (!(left[t] >> l & 1)) __builtin_memcpy(at + (group + l) * p->next_c, out + l * size, (size_t)size), tiers->fast++;
  }
  vf64_store(errs, err);
  for (int l = 0; l < lanes; l++) {
    if (!(any >> l & 1)) continue;
    rm_matmul_problem one = *p;
    one.a.base += (group + l) * p->next_a, one.b.base += (group + l) * p->next_b, one.c.base += (group + l) * p->next_c;
    rm_weights_resolve(&one, sums, left, l, errs[l], tiers, &flags);
  }
  return flags;
}

/* The strides of the gradient, a row of p's A: of images, planes, rows and positions. */
RM_STATIC void rm_weights_strides(const rm_depthwise *d, const rm_channels_layout *l, ptrdiff_t stride[4]) {
  const rm_operand *a = &d->p->a;
  if (a->im2col) {
    const ptrdiff_t *s = a->im2col->k.stride;
    stride[0] = s[0], stride[1] = d->x > 2 ? s[d->x - 2] : 0, stride[2] = d->x > 1 ? s[d->x - 1] : 0, stride[3] = s[d->x];
    return;
  }
  stride[3] = a->k_stride;
  stride[2] = l->x.count * stride[3];
  stride[1] = l->y.count * stride[2];
  stride[0] = l->z.count * stride[1];
}

RM_STATIC uint32_t rm_weights_unit(const rm_depthwise *d, int64_t unit, double *work, rm_tiers *tiers) {
  const rm_matmul_problem *p = d->p;
  const int64_t group = unit * RM_LANES, bands = d->view.rows.count[0] * d->planes * d->bands;
  const int lanes = p->batch - group < RM_LANES ? (int)(p->batch - group) : RM_LANES;
  const char *const g = p->a.base + group * p->next_a;
  const rm_channels_layout l = rm_channels_layout_of(d, d->rows);
  const int64_t taps = rm_weights_padded(l.taps), numbers = l.z.taps * l.lines * l.width;
  const int64_t chain = l.x.count < RM_WEIGHTS_CHAIN ? RM_WEIGHTS_CHAIN / l.x.count : 1; /* rows */
  ptrdiff_t *off = (ptrdiff_t *)(void *)work, stride[4];
  double *chains = work + taps, *sums = chains + taps * RM_LANES, *image = sums + taps * RM_LANES;
  double *gradient = image + numbers * RM_LANES, norms[2][RM_LANES] = {{0.0}}, joined = 0.0;
  rm_weights_strides(d, &l, stride);
  __builtin_memset(work, 0, (size_t)(taps + 2 * taps * RM_LANES) * sizeof *work);
  rm_channels_offsets(off, &l);
  for (int64_t at = 0; at < bands; at++) {
    const int64_t y = at % d->bands * d->rows, z = at / d->bands % d->planes, n = at / d->bands / d->planes;
    const rm_channels_band band = {group, n, z, y, l.y.count - y < d->rows ? l.y.count - y : d->rows, lanes};
    rm_channels_image(image, d, &l, &band, norms[0]);
    for (int64_t r = 0; r < band.rows; r++) {
      const char *const src = g + n * stride[0] + z * stride[1] + (y + r) * stride[2];
      const rm_weights_row row = {gradient, image + r * l.y.move * l.width * RM_LANES, l.x.count, l.x.move * RM_LANES};
      rm_lay_out_channels(gradient, lanes, row.n, (rm_strided){src, p->next_a, stride[3]}, norms[1], p->fmt);
      rm_weights_add_row(&row, l.taps, off, chains);
      if ((r + 1) % chain && r + 1 < band.rows) continue;
      rm_weights_join(chains, sums, l.taps);
      joined += 1.0;
    }
  }
  const double longest = (double)((chain < d->rows ? chain : d->rows) * l.x.count);
  const double slack = 0x1p-18 + ((double)p->k + (double)bands * (double)numbers) * 0x1p-51;
  const double bound = RM_BOUND((longest + joined + 1.0) * 0x1p-53 * (1.0 + slack));
  const vf64 norm = vf64_sqrt(vf64_mul(vf64_load(norms[0]), vf64_load(norms[1])));
  return rm_weights_round(p, group, sums, vf64_mul(vf64_set1(bound), norm), tiers);
}
