/* The loops of depthwise convolutions in binary32, binary16 and bfloat16, compiled once per ISA: by lines; by vectors of
 * channels in depthwise_channels.h; of gradients with respect to weights in depthwise_weights.h.
 *
 * The rows of the image that a band needs are laid out in binary64 with their padding, as in conv_window.h, but with all
 * taps at constant distances. A vector of results is one accumulation chain, with one vector load and one mad for each
 * tap.
 *
 * Error bound. u = 2^-53. Products are exact (gemm/micro_b64.h). The chain begins at the bias, which is exact, and makes
 * one rounding a tap, none of which underflows: all is a multiple of 2^-298. So for n taps, of which each term passes at
 * most n roundings (Higham, Accuracy and Stability, section 4.2), with A = sum |x_t w_t| + |bias|,
 *
 *   |c - S| <= n u/(1 - n u) A <= (n + 1) u (1 + 2^-18) A' =: bound A'
 *
 * where A' >= A (1 - 2^-40) is computed: one addition a tap, or A' = X sum |w_t| + |bias| with X the largest magnitude of
 * the rows of the image that the row of results reads. One of the roundings that n + 1 leaves more than n is for those of
 * A' and of the bound itself. Ziv's rounding test is that of gemm/epilogue_b64.h, whose margin has room for its own
 * rounding.
 *
 * Undecided lanes are tested again with their own A', which is zero where all terms are. Then two-sums add the terms, and
 * other two-sums what these leave over: where the latter leave nothing, hi + lo is the sum, and is rounded to odd and then
 * to the format (gemm/pair.h), ties as such. The superaccumulator takes the rest. A sum that is not finite is the result,
 * unless padding, which counts as zeros here, may have met a weight that is not finite. */
#include "depthwise.h"

#include "../gemm/epilogue_b64.h"
#include "../../reduce/exact.h"
#include "../gemm/resolve_b64.h"
#include "conv_window.h"
#include "depthwise_weights.h"

/* Numbers of the image that are laid out at once: a share of the second-level cache. A view that needs more of them for one
 * row of results goes to the matrix engine, and so do many taps. */
enum { BAND = 1 << 14, BAND_LIMIT = 1 << 16, VECTORS = 4, SHORT = 4 * RM_LANES };

/* The extents of a plan, and the sizes of its workspace: `lines` rows of the image for each tap along z. */
typedef struct {
  rm_extent x, y, z;
  int64_t taps, width, lines;
} layout;

static int64_t width_of(const rm_extent *x) { return (x->count - 1 + x->halo / x->move + 1) * x->move; }

static layout layout_of(const rm_depthwise *d, int64_t rows) {
  layout l = {rm_extent_of(&d->view, d->x), rm_extent_of(&d->view, d->x - 1), rm_extent_of(&d->view, d->x - 2), 0, 0, 0};
  l.taps = l.x.taps * l.y.taps * l.z.taps;
  l.width = width_of(&l.x);
  l.lines = (rows - 1) * l.y.move + l.y.halo + 1;
  return l;
}

static int64_t padded(int64_t n) { return (n + RM_LANES - 1) / RM_LANES * RM_LANES; }

/* The taps' weights and offsets, the magnitude of each row of the image, a row of sums, and the rows, which loads of whole
 * vectors may leave. */
static int64_t numbers_of(const layout *l) {
  return 2 * l->taps + l->z.taps * l->lines + padded(l->x.count) + l->z.taps * l->lines * l->width + VECTORS * RM_LANES;
}

/* Whether the view is of one channel and of positions along coordinates; puts the channel first. */
static int is_of_channel(rm_depthwise *d) {
  rm_axis *k = &d->view.k;
  const rm_axis *rows = &d->view.rows;
  if (k->dim[RM_DIMS - 1] == RM_NO_COORDINATE && k->count[RM_DIMS - 1] == 1) { /* the one channel comes last */
    for (int i = RM_DIMS - 1; i > 0; i--)
      k->count[i] = k->count[i - 1], k->stride[i] = k->stride[i - 1], k->step[i] = k->step[i - 1], k->dim[i] = k->dim[i - 1];
    k->count[0] = 1, k->dim[0] = RM_NO_COORDINATE;
  }
  if (k->dim[0] != RM_NO_COORDINATE || k->count[0] != 1 || rows->dim[0] != RM_NO_COORDINATE) return 0;
  for (int i = 1; i < RM_DIMS; i++)
    if (rows->dim[i] != i - 1 || k->dim[i] != i - 1 || rows->step[i] < 1) return 0;
  d->x = RM_DIMS - 1;
  for (; d->x > 1 && rows->count[d->x] == 1; d->x--)
    if (k->count[d->x] != 1 || d->view.start[d->x - 1] < 0 || d->view.start[d->x - 1] >= d->view.size[d->x - 1]) break;
  return 1;
}

static int depthwise_of(rm_depthwise *d, const rm_matmul_problem *p) {
  const rm_operand *w = p->a.im2col ? &p->b : &p->a;
  const rm_im2col *view = p->a.im2col ? p->a.im2col : p->b.im2col;
  if (!view || p->fmt == RM_F64 || p->out_fmt != p->fmt || p->alpha_beta || p->k == 0) return 0;
  d->p = p, d->kind = RM_DEPTHWISE_LINES;
  if (p->b.im2col && p->m == 1 && p->n <= RM_DEPTHWISE_TAPS && p->k > RM_DEPTHWISE_TAPS &&
      !p->bias.base) { /* its rows are the taps */
    d->view = *p->b.im2col, d->view.rows = p->b.im2col->k, d->view.k = p->b.im2col->rows;
    d->kind = RM_DEPTHWISE_WEIGHTS;
    if (is_of_channel(d) && rm_weights_plan(d)) return 1;
    d->kind = RM_DEPTHWISE_LINES;
  }
  if (w->im2col || (p->a.im2col ? p->n : p->m) != 1) return 0;
  d->view = *view, d->by_rows = p->a.im2col != 0;
  if (!is_of_channel(d)) return 0;
  const layout one = layout_of(d, 1);
  /* Of floating numbers: products of sizes that no array has do not fit 64 bits. */
  if ((double)one.x.taps * (double)one.y.taps * (double)one.z.taps > RM_DEPTHWISE_TAPS) return 0;
  if ((double)one.z.taps * (double)one.lines * (double)one.width > BAND_LIMIT) return 0;
  const int64_t lines = BAND / (one.z.taps * one.width), rows = (lines - one.lines) / one.y.move + 1;
  d->rows = rows < 1 || lines < one.lines ? 1 : rows < one.y.count ? rows : one.y.count;
  const ptrdiff_t next = d->by_rows ? p->next_a : p->next_b;
  const int beside = (next < 0 ? -next : next) < (one.x.stride < 0 ? -one.x.stride : one.x.stride);
  const int64_t together = RM_LANES > 1 && (beside || one.x.count < SHORT) ? rm_channels_rows(d) : 0;
  int64_t groups = p->batch, more = 0;
  if (together) {
    d->kind = RM_DEPTHWISE_CHANNELS;
    d->rows = together < d->rows ? together : d->rows; /* a unit may be left to lines */
    const rm_channels_layout l = rm_channels_layout_of(d, d->rows);
    groups = (groups + RM_LANES - 1) / RM_LANES, more = rm_channels_numbers(&l);
  }
  d->bands = (one.y.count + d->rows - 1) / d->rows;
  d->planes = one.z.count;
  d->units = groups * view->rows.count[0] * d->planes * d->bands;
  const layout band = layout_of(d, d->rows);
  const int64_t numbers = numbers_of(&band);
  d->bytes = (size_t)(numbers > more ? numbers : more) * 8;
  return 1;
}

/* The largest magnitude of a row; NaN where one of its elements is infinite or NaN. */
static double magnitude_of(const double *row, int64_t n) {
  double max[RM_LANES], odd[RM_LANES], all = 0.0, any = 0.0;
  vf64 m = vf64_set1(0.0), e = vf64_set1(0.0);
  int64_t i = 0;
  for (; i + RM_LANES <= n; i += RM_LANES) {
    const vf64 x = vf64_load(row + i);
    m = vf64_max(m, vf64_abs(x));
    e = vf64_mad(x, vf64_set1(0.0), e);
  }
  vf64_store(max, m);
  vf64_store(odd, e);
  for (int l = 0; l < RM_LANES; l++) {
    all = max[l] > all ? max[l] : all;
    any += odd[l];
  }
  for (; i < n; i++) {
    const double x = __builtin_fabs(row[i]);
    all = x > all ? x : all;
    any += x * 0.0;
  }
  return all + any;
}

/* What the rows of a unit share. */
typedef struct {
  const rm_matmul_problem *p; /* of its group */
  const rm_depthwise *d;
  int64_t taps;
  const double *weight;
  const ptrdiff_t *off;
  double bias, bound; /* bound: (n + 1) u (1 + 2^-18) */
  int64_t first; /* the position of the row's first result */
  char *out;
  ptrdiff_t step; /* bytes between results */
  rm_tiers *tiers;
  uint32_t flags;
  const rm_extent *x;
  uint32_t classes; /* of the weights and the bias: RM_ACC_ bits */
  int signals; /* a NaN of the image signals */
  int nans; /* the image has NaNs */
  int within; /* no tap of the row is padding but for those at its ends */
} context;

/* Whether all taps of result i lie in the image. */
static int is_within(const rm_extent *e, int64_t i) {
  const int64_t first = e->start + e->low + i * e->move;
  return first >= 0 && first + e->halo < e->size;
}

/* Whether elements of an image row, laid out from src, are signalling NaNs, and whether one is NaN. */
static void find_nans(const rm_extent *x, const char *src, int fmt, int *signals, int *nans) {
  const int64_t first = x->start + x->low, all = (x->count - 1) * x->move + x->halo + 1;
  for (int64_t i = first < 0 ? -first : 0; i < all && first + i < x->size; i++) {
    const uint64_t bits = rm_read_bits(src + i * x->stride, fmt);
    if ((bits & ~rm_sign_bit(fmt)) <= rm_infinity_bits(fmt)) continue;
    *nans = 1;
    if (rm_is_signalling(bits, fmt)) *signals = 1;
  }
}

RM_FN uint32_t special_of(vf64 x) {
  return ~vm64_bits(vf64_le(vf64_abs(x), vf64_set1(0x1.fffffffffffffp1023))) & ((1u << RM_LANES) - 1);
}
RM_FN uint32_t nan_lanes(vf64 x) { return special_of(x) & ~vm64_bits(vf64_is_infinite(x)); }

/* Stores those of the undecided lanes whose sums c are infinite or NaN. Returns the others. Binary64 cannot overflow here. */
RM_NOINLINE uint32_t special_lanes(context *t, const double *row, int64_t i, vf64 c, uint32_t undecided, int fmt) {
  const rm_matmul_problem *p = t->p;
  const uint32_t made = nan_lanes(c);
  uint32_t special = undecided & special_of(c), quiet = t->classes & RM_ACC_QNAN ? ~0u : 0;
  double sums[RM_LANES];
  vf64_store(sums, c);
  for (int64_t k = 0; t->nans && (made & special & ~quiet) && k < t->taps; k++)
    quiet |= nan_lanes(vf64_load(row + t->off[k] + i));
  if (!t->signals && !t->classes) { /* no weight meets padding, and no NaN signals: the lanes need no branches */
    const uint64_t infinity = rm_infinity_bits(fmt), kinds[3] = {infinity, infinity | rm_sign_bit(fmt), rm_nan_bits(fmt)};
    if (made & special & ~quiet) t->flags |= RM_FLAG_INVALID;
    t->tiers->fast += __builtin_popcount(special);
    undecided &= ~special;
    for (; special; special &= special - 1) {
      const int l = __builtin_ctz(special);
      rm_write_bits(t->out + (i + l) * t->step, kinds[made >> l & 1 ? 2 : sums[l] < 0.0], fmt);
    }
    return undecided;
  }
  for (; special; special &= special - 1) {
    const int l = __builtin_ctz(special);
    const int64_t at = t->first + i + l, a = t->d->by_rows ? at : 0, b = t->d->by_rows ? 0 : at;
    const uint32_t image = RM_ACC_ANY & ~(t->signals ? 0u : (uint32_t)RM_ACC_SNAN);
    uint64_t bits = rm_infinity_bits(fmt) | (sums[l] < 0.0 ? rm_sign_bit(fmt) : 0);
    if (made >> l & 1) {
      bits = rm_nan_bits(fmt);
      if (t->signals || (t->classes & RM_ACC_SNAN) || (t->classes && !(t->within && is_within(t->x, i + l)))) {
        if (!rm_special_element(p, a, b, t->d->by_rows ? image : t->classes, t->d->by_rows ? t->classes : image, &bits,
                                &t->flags))
          continue;
      } else if (!(quiet >> l & 1)) {
        t->flags |= RM_FLAG_INVALID;
      }
    }
    rm_write_bits(t->out + (i + l) * t->step, bits, fmt);
    t->tiers->fast++;
    undecided &= ~(1u << l);
  }
  return undecided;
}

/* One row of sums: nv vectors of them. */
RM_FN void add_taps(const int nv, const context *t, const double *row, double *sums) {
  vf64 acc[VECTORS];
  RM_UNROLL for (int v = 0; v < nv; v++) acc[v] = vf64_set1(t->bias);
  for (int64_t k = 0; k < t->taps; k++) {
    const vf64 w = vf64_set1(t->weight[k]);
    const double *at = row + t->off[k];
    RM_UNROLL for (int v = 0; v < nv; v++) acc[v] = vf64_mad(w, vf64_load(at + v * RM_LANES), acc[v]);
  }
  RM_UNROLL for (int v = 0; v < nv; v++) vf64_store(sums + v * RM_LANES, acc[v]);
}
static void add_row(const context *t, const double *row, int64_t n, double *sums) {
  int64_t i = 0;
  for (; i + VECTORS * RM_LANES <= n; i += VECTORS * RM_LANES) add_taps(VECTORS, t, row + i, sums + i);
  switch ((n - i + RM_LANES - 1) / RM_LANES) {
    case 4: add_taps(4, t, row + i, sums + i); break;
    case 3: add_taps(3, t, row + i, sums + i); break;
    case 2: add_taps(2, t, row + i, sums + i); break;
    case 1: add_taps(1, t, row + i, sums + i); break;
    default: break;
  }
}

/* The undecided lanes of the vector of sums c, whose first result is the i-th of the row. */
RM_NOINLINE void resolve_lanes(context *t, const double *row, int64_t i, vf64 c, uint32_t undecided, const int fmt) {
  const int size = rm_size_of(fmt);
  const rm_matmul_problem *p = t->p;
  char out[4 * RM_LANES];
  if (undecided & special_of(c)) {
    undecided = special_lanes(t, row, i, c, undecided, fmt);
    if (!undecided) return;
  }
  vf64 a = vf64_abs(vf64_set1(t->bias));
  for (int64_t k = 0; k < t->taps; k++)
    a = vf64_mad(vf64_abs(vf64_set1(t->weight[k])), vf64_abs(vf64_load(row + t->off[k] + i)), a);
  uint32_t left = undecided & rm_round_vector(c, vf64_mul(a, vf64_set1(t->bound)), out, fmt);
  for (uint32_t lanes = undecided & ~left; lanes; lanes &= lanes - 1) {
    const int l = __builtin_ctz(lanes);
    __builtin_memcpy(t->out + (i + l) * t->step, out + l * size, (size_t)size);
    t->tiers->fast++;
  }
  if (!left) return;
  double hi[RM_LANES], lo[RM_LANES], over[RM_LANES];
  vf64 sum = vf64_set1(t->bias), rest = vf64_set1(0.0), any = vf64_set1(0.0);
  for (int64_t k = 0; k < t->taps; k++) {
    vf64 e, f;
    sum = vf64_two_sum(sum, vf64_mul(vf64_set1(t->weight[k]), vf64_load(row + t->off[k] + i)), &e);
    rest = vf64_two_sum(rest, e, &f);
    any = vf64_add(any, vf64_abs(f));
  }
  vf64_store(hi, sum);
  vf64_store(lo, rest);
  vf64_store(over, any);
  for (; left; left &= left - 1) {
    const int l = __builtin_ctz(left);
    uint64_t bits;
    if (rm_is_finite(hi[l]) && over[l] == 0.0) {
      bits = rm_round_double(rm_pair_to_odd(hi[l], lo[l]), fmt);
      t->tiers->double_double++;
      if ((bits & ~rm_sign_bit(fmt)) == rm_infinity_bits(fmt)) t->flags |= RM_FLAG_OVERFLOW;
    } else {
      const int64_t at = t->first + i + l;
      bits = rm_exact_element(p, t->d->by_rows ? at : 0, t->d->by_rows ? 0 : at, &t->flags);
      t->tiers->accumulator++;
    }
    rm_write_bits(t->out + (i + l) * t->step, bits, fmt);
  }
}

/* Rounds a row of n sums, each within err. */
RM_FN void round_row(context *t, const double *row, const double *sums, int64_t n, double err, const int fmt) {
  const int size = rm_size_of(fmt);
  const vf64 e = vf64_set1(err);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const int lanes = n - i < RM_LANES ? (int)(n - i) : RM_LANES;
    const vf64 c = vf64_load(sums + i);
    char *const at = t->out + i * t->step;
    uint32_t undecided;
    if (t->step == size && lanes == RM_LANES) {
      undecided = rm_round_vector(c, e, at, fmt);
    } else {
      char out[4 * RM_LANES];
      undecided = rm_round_vector(c, e, out, fmt) & ((1u << lanes) - 1);
      if (t->step == size) __builtin_memcpy(at, out, (size_t)(lanes * size));
      else
        for (int l = 0; l < lanes; l++) __builtin_memcpy(at + l * t->step, out + l * size, (size_t)size);
    }
    t->tiers->fast += lanes;
    if (RM_UNLIKELY(undecided)) {
      t->tiers->fast -= __builtin_popcount(undecided);
      resolve_lanes(t, row, i, c, undecided, fmt);
    }
  }
}

/* Where the result at (image, z, y, 0) is, and the bytes from one to the next along x. */
static char *result_at(const rm_depthwise *d, const rm_matmul_problem *p, int64_t image, int64_t z, int64_t y,
                       int64_t position, ptrdiff_t *step) {
  const rm_axis *axis = d->by_rows ? p->c.rows : p->c.cols;
  const int x = d->x;
  if (!axis) {
    *step = d->by_rows ? p->c.row : p->c.col;
    return p->c.base + position * *step;
  }
  *step = axis->stride[x];
  return p->c.base + image * axis->stride[0] + (x > 2 ? z * axis->stride[x - 2] : 0) + (x > 1 ? y * axis->stride[x - 1] : 0);
}

/* A band of one channel, by lines. */
static uint32_t lines_unit(const rm_depthwise *d, const rm_channels_band *b, double *work, rm_tiers *tiers) {
  rm_matmul_problem one = *d->p;
  const int fmt = one.fmt;
  const int64_t group = b->group, image = b->image, z = b->z, y0 = b->y, rows = b->rows;
  one.a.base += group * one.next_a, one.b.base += group * one.next_b, one.c.base += group * one.next_c;
  if (one.bias.base) one.bias.base += group * one.next_bias;
  const layout l = layout_of(d, rows);
  const int64_t all = l.z.taps * l.lines, each = l.width / l.x.move;
  double *weight = work, *max = weight + 2 * l.taps, *sums = max + all, *buffer = sums + padded(l.x.count);
  ptrdiff_t *off = (ptrdiff_t *)(void *)(weight + l.taps);

  const rm_operand *x = d->by_rows ? &one.a : &one.b, *w = d->by_rows ? &one.b : &one.a;
  double total = 0.0;
  rm_superaccumulator met; /* its classes alone, to which nothing finite is added */
  int signals = 0, nans = 0;
  met.classes = 0;
  for (int64_t k = 0; k < l.taps; k++) {
    const int64_t tx = k % l.x.taps, ty = k / l.x.taps % l.y.taps, tz = k / l.x.taps / l.y.taps, i = tx * l.x.step - l.x.low;
    const char *const tap = w->base + k * w->k_stride;
    weight[k] = rm_read_element(tap, fmt);
    if (RM_UNLIKELY(!rm_is_finite(weight[k]))) rm_superacc_add_array(&met, fmt, 1, tap, 0);
    total += __builtin_fabs(weight[k]);
    off[k] = (tz * l.lines + ty * l.y.step - l.y.low) * l.width + i % l.x.move * each + i / l.x.move;
  }
  for (int64_t tz = 0; tz < l.z.taps; tz++) {
    const int64_t dz = z * l.z.move + tz * l.z.step, at_z = l.z.start + dz, dy = y0 * l.y.move + l.y.low;
    const char *src = x->base + image * d->view.rows.stride[0] + dz * l.z.stride + l.x.low * l.x.stride;
    for (int64_t r = 0; r < l.lines; r++) {
      const int64_t y = l.y.start + dy + r, line = tz * l.lines + r;
      double *dst = buffer + line * l.width;
      max[line] = 0.0;
      if (at_z < 0 || at_z >= l.z.size || y < 0 || y >= l.y.size) {
        __builtin_memset(dst, 0, (size_t)l.width * sizeof *dst);
        continue;
      }
      const char *from = src + (dy + r) * l.y.stride;
      switch (fmt) {
        case RM_F16: rm_conv_window_row(dst, &l.x, l.width, from, RM_F16); break;
        case RM_BF16: rm_conv_window_row(dst, &l.x, l.width, from, RM_BF16); break;
        default: rm_conv_window_row(dst, &l.x, l.width, from, RM_F32);
      }
      max[line] = magnitude_of(dst, l.width);
      if (RM_UNLIKELY(rm_is_nan(max[line]))) find_nans(&l.x, from, fmt, &signals, &nans);
    }
  }
  __builtin_memset(buffer + all * l.width, 0, VECTORS * RM_LANES * sizeof *buffer);

  context t = {&one,    d,    l.taps, weight, off, 0.0,  RM_BOUND((double)(l.taps + 1) * 0x1p-53 * (1.0 + 0x1p-18)),
               0,       0,    0,      tiers,  0,   &l.x, 0,
               signals, nans, 0};
  if (one.bias.base) t.bias = rm_read_element(one.bias.base, fmt) + 0.0; /* a sum of zeros is +0 */
  if (!rm_is_finite(t.bias)) rm_superacc_add_array(&met, fmt, 1, one.bias.base, 0);
  t.classes = met.classes;
  for (int64_t r = 0; r < rows; r++) {
    const double *row = buffer + r * l.y.move * l.width;
    double top = 0.0, odd = 0.0;
    for (int64_t tz = 0; tz < l.z.taps; tz++)
      for (int64_t ty = 0; ty < l.y.taps; ty++) {
        const double m = max[tz * l.lines + r * l.y.move + ty * l.y.step - l.y.low];
        top = m > top ? m : top;
        odd += m * 0.0;
      }
    t.within = is_within(&l.y, y0 + r) && is_within(&l.z, z);
    t.first = ((image * d->planes + z) * l.y.count + y0 + r) * l.x.count;
    t.out = result_at(d, &one, image, z, y0 + r, t.first, &t.step);
    const double err = ((top + odd) * total + __builtin_fabs(t.bias)) * t.bound;
    add_row(&t, row, l.x.count, sums);
    switch (fmt) {
      case RM_F16: round_row(&t, row, sums, l.x.count, err, RM_F16); break;
      case RM_BF16: round_row(&t, row, sums, l.x.count, err, RM_BF16); break;
      default: round_row(&t, row, sums, l.x.count, err, RM_F32);
    }
  }
  return t.flags;
}

/* A band of several channels, by their vectors. */
static uint32_t channels_unit(const rm_depthwise *d, const rm_channels_band *b, double *work, rm_tiers *tiers) {
  const rm_matmul_problem *p = d->p;
  const int fmt = p->fmt;
  const rm_channels_layout l = rm_channels_layout_of(d, d->rows);
  const rm_operand *w = d->by_rows ? &p->b : &p->a;
  const ptrdiff_t next_w = d->by_rows ? p->next_b : p->next_a;
  ptrdiff_t *off = (ptrdiff_t *)(void *)work;
  double *weight = work + l.taps, *sums = weight + l.taps * RM_LANES;
  double *image = sums + (l.x.count + RM_CHANNELS_ACROSS) * RM_LANES;
  double norms[2][RM_LANES] = {{0.0}}, odd = 0.0, size[RM_LANES], err[RM_LANES] = {0.0};
  rm_channels t = {d, &l, b, weight, off, {0.0}, rm_channels_bound(l.taps), tiers, 0};
  rm_channels_offsets(off, &l);
  rm_lay_out_channels(weight, b->lanes, l.taps, (rm_strided){w->base + b->group * next_w, next_w, w->k_stride}, norms[0],
                      fmt);
  const int64_t end = l.z.taps * l.lines * l.width * RM_LANES;
  __builtin_memset(image + end, 0, (size_t)(RM_CHANNELS_ACROSS * l.x.move * RM_LANES) * sizeof *image);
  rm_channels_image(image, d, &l, b, norms[1]);
  vf64_store(size, vf64_sqrt(vf64_mul(vf64_load(norms[0]), vf64_load(norms[1]))));
  for (int i = 0; i < b->lanes; i++) {
    if (p->bias.base)
      t.bias[i] = rm_read_element(p->bias.base + (b->group + i) * p->next_bias, fmt) + 0.0; /* as in lines_unit */
    err[i] = (size[i] + __builtin_fabs(t.bias[i])) * t.bound;
    odd += (norms[0][i] + norms[1][i] + t.bias[i]) * 0.0;
  }
  if (RM_UNLIKELY(odd != 0.0)) { /* NaN: something is not finite */
    uint32_t flags = 0;
    for (int i = 0; i < b->lanes; i++) {
      const rm_channels_band one = {b->group + i, b->image, b->z, b->y, b->rows, 1};
      flags |= lines_unit(d, &one, work, tiers);
    }
    return flags;
  }
  for (int64_t r = 0; r < b->rows; r++) {
    const double *x = image + r * l.y.move * l.width * RM_LANES;
    const int64_t first = ((b->image * d->planes + b->z) * l.y.count + b->y + r) * l.x.count;
    ptrdiff_t step;
    char *const out = result_at(d, p, b->image, b->z, b->y + r, first, &step) + b->group * p->next_c;
    for (int64_t i = 0; i < l.x.count; i += RM_CHANNELS_ACROSS) {
      const double *at = x + i * l.x.move * RM_LANES;
      if (l.x.count - i > RM_CHANNELS_ACROSS / 2) rm_channels_add(RM_CHANNELS_ACROSS, &t, at, sums + i * RM_LANES);
      else rm_channels_add(RM_CHANNELS_ACROSS / 2, &t, at, sums + i * RM_LANES);
    }
    if (fmt == RM_F32) rm_channels_round(&t, x, sums, vf64_load(err), first, out, step, RM_F32);
    else rm_channels_round(&t, x, sums, vf64_load(err), first, out, step, fmt);
  }
  return t.flags;
}

static uint32_t depthwise_unit(const rm_depthwise *d, int64_t unit, double *work, rm_tiers *tiers) {
  if (d->kind == RM_DEPTHWISE_WEIGHTS) return rm_weights_unit(d, unit, work, tiers);
  const int together = RM_LANES > 1 && d->kind == RM_DEPTHWISE_CHANNELS;
  /* Vectors of channels that are neighbours in memory follow each other. */
  const int64_t groups = together ? (d->p->batch + RM_LANES - 1) / RM_LANES : 1, at = unit / groups;
  const int64_t band = at % d->bands, z = at / d->bands % d->planes, images = d->view.rows.count[0];
  const int64_t image = at / (d->bands * d->planes) % images, group = at / (d->bands * d->planes * images);
  const int64_t y = band * d->rows, left = rm_extent_of(&d->view, d->x - 1).count - y;
  rm_channels_band b = {group, image, z, y, left < d->rows ? left : d->rows, 1};
  if (!together) return lines_unit(d, &b, work, tiers);
  b.group = unit % groups * RM_LANES;
  b.lanes = d->p->batch - b.group < RM_LANES ? (int)(d->p->batch - b.group) : RM_LANES;
  return channels_unit(d, &b, work, tiers);
}

const struct rm_conv_kernels RM_ISA_SYMBOL(rm_conv_table) = {depthwise_of, depthwise_unit};
