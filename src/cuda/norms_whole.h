/* Long sets of norms in one piece (whole_rows.h), layer norm and RMS norm, whose statistics are their own: the values and
 * bounds of nn/norm/normalize.inl, with sums around the mean as binary64 finds it first. */
#pragma once

#include "whole_rows.h"

namespace {

/* Sums of x - shift and of its square over a row, each within RM_ROW_MOMENT_ERR of the sum of its terms' magnitudes. */
template <int fmt> __device__ row_sums<2> whole_moments(const whole_row<fmt> &row, double shift) {
  row_sums<2> mine = {};
  double chain[2] = {0.0, 0.0};
  int terms = 0;
  each_of_whole(
      row.n, [=](int64_t i) { return row.at(i); },
      [&](int64_t, double x) {
        const double v = vf64_sub(x, shift);
        chain[0] = vf64_add(chain[0], v);
        chain[1] = vf64_mad(v, v, chain[1]);
        if (++terms < RM_ROW_CHAIN) return;
        for (int k = 0; k < 2; k++) add_to(&mine.sum[k], chain[k]), chain[k] = 0.0;
        terms = 0;
      });
  for (int k = 0; k < 2; k++) add_to(&mine.sum[k], chain[k]);
  return of_whole<join_sums>(mine);
}

/* The statistics of rm_norm_approximate; false where they are not known well enough. *finite: all elements are, as no square
 * of a number of these formats overflows. */
template <int fmt>
__device__ bool whole_statistics(const rm_norm_problem &f, const whole_row<fmt> &row, rm_norm_statistics *t, bool *finite) {
  const double n = static_cast<double>(row.n);
  double c = 0.0;
  if (f.centered) {
    const row_sums<2> first = whole_moments(row, 0.0);
    c = (first.sum[0].hi + first.sum[0].lo) / n;
    *finite = rm_is_finite(c);
    if (!*finite) return false;
  }
  const row_sums<2> sums = whole_moments(row, c);
  const double s = sums.sum[0].hi + sums.sum[0].lo, q = sums.sum[1].hi + sums.sum[1].lo, p = s / n, m2 = q / n,
               off = 4.0 * RM_ROW_MOMENT_ERR * m2;
  *finite = rm_is_finite(q);
  t->c = t->c_err = 0.0, t->v = m2 + f.eps;
  if (f.centered) {
    t->c = c + p;
    t->c_err = q == 0.0 ? 0.0 : RM_ROW_MOMENT_ERR * vf64_sqrt(m2) + 0x1p-51 * (vf64_abs(p) + vf64_abs(t->c));
    t->v = (m2 - p * p) + f.eps;
  }
  if (!(t->v >= 0x1p-200 && t->v <= 0x1p400 && off <= 0x1p-20 * t->v)) return false;
  t->a = 1.0 / vf64_sqrt(t->v);
  t->rel = 0.51 * (off / t->v) + 0x1p-50;
  return true;
}

/* The mean, or 0, and the root of variance + eps in double-double. */
struct whole_balls {
  rm_dd_ball mean, root;
};
template <int fmt> __device__ whole_balls whole_statistics_in_balls(const rm_norm_problem &f, const whole_row<fmt> &row) {
  whole_balls r;
  rm_dd_ball mine, t, n;
  rm_dd_ball_set_i64(&n, row.n, 0);
  rm_dd_ball_set(&mine, 0.0, 0);
  for (int64_t i = threadIdx.x; i < row.n && f.centered; i += RM_WHOLE_THREADS) {
    rm_dd_ball_set(&t, row.at(i), 0);
    rm_dd_ball_add(&mine, &mine, &t);
  }
  r.mean = of_whole<join_balls>(mine);
  if (f.centered) rm_dd_ball_div(&r.mean, &r.mean, &n);
  rm_dd_ball_set(&mine, 0.0, 0);
  for (int64_t i = threadIdx.x; i < row.n; i += RM_WHOLE_THREADS) {
    rm_dd_ball_set(&t, row.at(i), 0);
    rm_dd_ball_sub(&t, &t, &r.mean);
    rm_dd_ball_mul(&t, &t, &t);
    rm_dd_ball_add(&mine, &mine, &t);
  }
  r.root = of_whole<join_balls>(mine);
  rm_dd_ball_div(&r.root, &r.root, &n);
  rm_dd_ball_set(&t, f.eps, 0);
  rm_dd_ball_add(&r.root, &r.root, &t);
  rm_dd_ball_sqrt(&r.root, &r.root);
  return r;
}

template <int fmt> __device__ bool whole_norm_row(const rm_norm_problem &f, int64_t set, char *memory) {
  const int64_t set0 = set / f.sets[1], set1 = set % f.sets[1], n = f.inner;
  const char *const from = rm_norm_set_at(&f.x, set0, set1);
  const char *const w = f.w.base ? rm_norm_set_at(&f.w, set0, set1) : nullptr, *const b =
                                                                                   f.b.base ? rm_norm_set_at(&f.b, set0, set1)
                                                                                            : nullptr;
  char *const out = rm_norm_set_at(&f.y, set0, set1);
  const bool w_words = are_words(w, f.w.inner, rm_size_of(fmt)), b_words = are_words(b, f.b.inner, rm_size_of(fmt));
  const auto weight = [=, &f](int64_t i) { return w ? element_of(w + i * f.w.inner, fmt, w_words) : 1.0; };
  const auto shift = [=, &f](int64_t i) { return b ? element_of(b + i * f.b.inner, fmt, b_words) : 0.0; };
  const whole_row<fmt> row = whole_load<fmt>(memory, from, f.x.inner, n);
  const auto decide = [&](const whole_balls &statistics, int64_t i, uint64_t *bits) {
    uint32_t flags = 0; /* a device has nowhere to raise them */
    rm_dd_ball y, v;
    rm_dd_ball_set(&y, row.at(i), 0);
    rm_dd_ball_sub(&y, &y, &statistics.mean);
    rm_dd_ball_set(&v, weight(i), 0);
    rm_dd_ball_mul(&y, &y, &v);
    rm_dd_ball_div(&y, &y, &statistics.root);
    rm_dd_ball_set(&v, shift(i), 0);
    rm_dd_ball_add(&y, &y, &v);
    return rm_dd_ball_round(&y, fmt, RM_NEAREST, &flags, bits) != 0;
  };
  whole_open &open = whole_begin_store();
  if constexpr (fmt == RM_F64) {
    const whole_balls statistics = whole_statistics_in_balls(f, row);
    const bool decided =
        rm_is_finite(statistics.root.err) && whole_decide_all<fmt>(n, out, f.y.inner, [&](int64_t i, uint64_t *bits) {
          return rm_is_finite(weight(i)) && rm_is_finite(shift(i)) && decide(statistics, i, bits);
        });
    if (!decided) whole_put_back(row, from, out, f.y.inner);
    return decided;
  }
  rm_norm_statistics t;
  bool finite;
  if (!whole_statistics(f, row, &t, &finite)) {
    if (!finite) whole_fill<fmt>(out, f.y.inner, n, rm_nan_bits(fmt));
    return !finite;
  }
  whole_store<fmt>(
      n, out, f.y.inner,
      [&](int64_t i, double *y, double *err) {
        rm_row_store s = {};
        s.n = n, s.c = t.c, s.a = t.a, s.rel = t.rel, s.err = 1.01 * t.c_err * t.a, s.w0 = weight(i), s.b0 = shift(i);
        rm_row_bounded(RM_ROW_AFFINE_SAME, &s, row.at(i), i, y, err);
      },
      [](int64_t, uint64_t *) { return false; });
  if (open.count == 0) return true;
  bool decided = open.count <= RM_WHOLE_OPEN;
  if (decided) {
    const whole_balls statistics = whole_statistics_in_balls(f, row);
    decided = whole_decide<fmt>(out, f.y.inner, [&](int64_t i, uint64_t *bits) { return decide(statistics, i, bits); });
  }
  if (!decided) whole_put_back(row, from, out, f.y.inner);
  return decided;
}

bool whole_norm(const rm_norm_problem &f, int64_t rows, int64_t n, const rm_undecided_set &undecided, cudaStream_t stream) {
  if (f.outer != 1 || f.variance.base) return false;
  switch (f.format) {
    case RM_F16: return each_whole_row<rm_norm_problem, whole_norm_row<RM_F16>>(f, rows, n, undecided, stream);
    case RM_BF16: return each_whole_row<rm_norm_problem, whole_norm_row<RM_BF16>>(f, rows, n, undecided, stream);
    case RM_F32: return each_whole_row<rm_norm_problem, whole_norm_row<RM_F32>>(f, rows, n, undecided, stream);
    default: return each_whole_row<rm_norm_problem, whole_norm_row<RM_F64>>(f, rows, n, undecided, stream);
  }
}

} // namespace
