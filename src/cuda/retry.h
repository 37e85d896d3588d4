/* The second phase of products of f32, f16 and bf16: a warp sums each element that the tiles leave undecided again in
 * double-double, as blas/gemm/resolve_b64.h does; about one in 2^40 stays undecided. It also tells which results are not
 * finite. A decided element is stored, and its bit in the bitmap cleared.
 *
 * Bounds: a lane adds every 32nd term by two-sums; lanes are joined one after the other, then to the bias. So no term passes
 * more than ceil(K/32) + 32 additions, and h = K + 64 is allowed (resolve_b64.h). Squares of norms: ceil(K/32) + min(K, 32) -
 * 1 <= K + 5 roundings. */
#pragma once

#include "tiles.h"

#include "../blas/gemm/resolve_b64.h"

namespace {

enum { RM_RETRY_THREADS = 32, RM_RETRY_BLOCKS = 32768, RM_RETRY_AHEAD = 8 /* terms that a lane loads before it adds them */ };

/* NULL for padding. */
__device__ inline const char *element_at(const rm_operand *o, int64_t row, int64_t k) {
  const char *at = o->base + row * o->row_stride + k * o->k_stride;
  if (o->im2col) rm_im2col_row(o->im2col, o->base, row, k, 1, &at);
  return at;
}

struct retry_part {
  double hi, lo, plain, row2, col2;
  int row_granule, col_granule;
};

/* The bits of an element from the parts of all lanes; false where it stays undecided. */
__device__ inline bool retry_bits(const rm_matmul_problem &p, int64_t r, int64_t c, const retry_part *part, const char *at,
                                  uint64_t *bits) {
  double bias = 0.0, plain = 0.0, row2 = 0.0, col2 = 0.0;
  int row_granule = RM_NO_GRANULE, col_granule = RM_NO_GRANULE;
  if (p.bias.base) bias = rm_read_element(p.bias.base + r * p.bias.row + c * p.bias.col, p.fmt);
  rm_pair s = {bias, 0.0};
  for (int l = 0; l < RM_RETRY_THREADS; l++) {
    const rm_pair t = rm_pair_two_sum(s.hi, part[l].hi);
    s = rm_pair{t.hi, s.lo + (t.lo + part[l].lo)};
    plain += part[l].plain, row2 += part[l].row2, col2 += part[l].col2;
    if (part[l].row_granule < row_granule) row_granule = part[l].row_granule;
    if (part[l].col_granule < col_granule) col_granule = part[l].col_granule;
  }
  plain += bias;
  const double tu = rm_bound_b64(p.k), err = tu * vf64_sqrt(row2) * vf64_sqrt(col2) + tu * vf64_abs(bias);
  double err2 = err * rm_bound_dd_ratio(p.k);
  uint32_t flags = 0;
  if (p.alpha_beta) {
    const double d = p.alpha_beta->beta == 0.0 ? 0.0 : rm_read_element(at, p.out_fmt);
    rm_pair v;
    if (rm_is_alpha_beta_infinity(p.alpha_beta, rm_is_finite(err), d, p.out_fmt, bits)) return true;
    if (p.k == 0) err2 = 0.0;
    return rm_is_finite(s.hi) && rm_alpha_beta_pair(p.alpha_beta, s, d, &v, &err2) &&
           rm_decide_pair(v, err2, rm_alpha_beta_granule(p.alpha_beta, row_granule + col_granule, d), p.out_fmt, bits,
                          &flags);
  }
  if (!rm_is_finite(plain)) { /* binary64 cannot overflow here; a NaN may come from an infinity times padding */
    if (rm_is_nan(plain) && (p.a.im2col || p.b.im2col)) return false;
    *bits =
        rm_is_nan(plain) ? rm_nan_bits(p.out_fmt) : rm_infinity_bits(p.out_fmt) | (plain < 0.0 ? rm_sign_bit(p.out_fmt) : 0);
    return true;
  }
  if (rm_decide_sum_b64(s, err2, p.out_fmt, bits)) return true;
  const int gb = rm_granule64(rm_bits64(bias)), g = row_granule + col_granule < gb ? row_granule + col_granule : gb;
  if (!(err2 < rm_pow2(g > 1000 ? 1000 : g))) return false;
  *bits = rm_round_double(rm_pair_to_odd(s.hi, s.lo), p.out_fmt);
  return true;
}

/* The sums of every 32nd term from `lane` on. load_x(k) and load_y(k) are the factors of a term. */
template <class X, class Y> __device__ retry_part retry_sums(int64_t terms, int lane, X load_x, Y load_y) {
  retry_part mine = {0.0, 0.0, 0.0, 0.0, 0.0, RM_NO_GRANULE, RM_NO_GRANULE};
  for (int64_t k0 = lane; k0 < terms; k0 += RM_RETRY_AHEAD * RM_RETRY_THREADS) {
    double ahead_x[RM_RETRY_AHEAD], ahead_y[RM_RETRY_AHEAD];
    RM_UNROLL for (int a = 0; a < RM_RETRY_AHEAD; a++) {
      const int64_t k = k0 + a * RM_RETRY_THREADS;
      ahead_x[a] = k < terms ? load_x(k) : 0.0, ahead_y[a] = k < terms ? load_y(k) : 0.0;
    }
    RM_UNROLL for (int a = 0; a < RM_RETRY_AHEAD; a++) {
      if (k0 + a * RM_RETRY_THREADS >= terms) break;
      const double x = ahead_x[a], y = ahead_y[a], xy = x * y;
      const rm_pair t = rm_pair_two_sum(mine.hi, xy);
      mine.hi = t.hi, mine.lo += t.lo, mine.plain += xy;
      mine.row2 = vf64_mad(x, x, mine.row2), mine.col2 = vf64_mad(y, y, mine.col2);
      const int gx = rm_granule64(rm_bits64(x)), gy = rm_granule64(rm_bits64(y));
      if (gx < mine.row_granule) mine.row_granule = gx;
      if (gy < mine.col_granule) mine.col_granule = gy;
    }
  }
  return mine;
}
template <int fmt>
__device__ retry_part retry_part_of_lane(const device_problem &d, const rm_matmul_problem &p, int64_t r, int64_t c,
                                         int lane) {
  if (p.a.im2col || p.b.im2col) { /* a missing element (padding) counts as 0 */
    auto load = [](const char *at, bool is_aligned) { return at ? read<fmt>(at, is_aligned) : 0.0; };
    return retry_sums(
        p.k, lane, [&](int64_t k) { return load(element_at(&p.a, r, k), d.a_aligned); },
        [&](int64_t k) { return load(element_at(&p.b, c, k), d.b_aligned); });
  }
  const char *const x = p.a.base + r * p.a.row_stride, *const y = p.b.base + c * p.b.row_stride;
  const ptrdiff_t step_x = p.a.k_stride, step_y = p.b.k_stride;
  return retry_sums(
      p.k, lane, [=, &d](int64_t k) { return read<fmt>(x + k * step_x, d.a_aligned); },
      [=, &d](int64_t k) { return read<fmt>(y + k * step_y, d.b_aligned); });
}

template <int fmt>
__global__ void __launch_bounds__(RM_RETRY_THREADS)
    retry_kernel(const __grid_constant__ device_problem d, uint32_t *undecided, int64_t words) {
  __shared__ retry_part part[RM_RETRY_THREADS];
  __shared__ uint32_t found[RM_RETRY_THREADS];
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t product = d.p.m * d.p.n;
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * RM_RETRY_THREADS; first < words;
       first += static_cast<int64_t>(gridDim.x) * RM_RETRY_THREADS) {
    found[lane] = first + lane < words ? undecided[first + lane] : 0;
    __syncthreads();
    for (int at = 0; at < RM_RETRY_THREADS; at++) {
      const uint32_t bits = found[at];
      uint32_t remaining = bits;
      for (int bit = 0; bits && bit < 32; bit++) {
        if (!(bits >> bit & 1u)) continue;
        const int64_t index = (first + at) * 32 + bit, r = index % product / d.p.n, c = index % d.p.n;
        const rm_matmul_problem p = problem_of(d, index / product);
        const retry_part mine = retry_part_of_lane<fmt>(d, p, r, c, lane);
        __syncthreads();
        part[lane] = mine;
        __syncthreads();
        if (lane == 0) {
          char *to = address_in_c(p, r, c);
          uint64_t result;
          if (retry_bits(p, r, c, part, to, &result)) {
            rm_write_bits(to, result, p.out_fmt);
            remaining &= ~(1u << bit);
          }
        }
      }
      if (bits && lane == 0) undecided[first + at] = remaining;
    }
    __syncthreads(); /* all have read `found` */
  }
}

} // namespace
