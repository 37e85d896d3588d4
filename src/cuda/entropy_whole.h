/* Long rows of cross entropy with targets (whole_rows.h), and of its gradient: one class counts, with its weight. The values
 * are those of nn/cross_entropy/row.h; losses, and the gradient by the target's logit, are made of the row's sum in
 * double-double. */
#pragma once

#include "whole_exp.h"

namespace {

/* A row that counts: its target, the target's weight and logit, and the maximum. */
struct whole_target {
  int64_t at;
  double w, x, m;
  __device__ bool is_finite() const { return rm_is_finite(w) && rm_is_finite(x) && rm_is_finite(m); }
};
template <int fmt> __device__ whole_target whole_target_of(const rm_entropy &f, const whole_row<fmt> &row, int64_t target) {
  return {target, rm_entropy_weight(&f, target), row.at(target), whole_max(row)};
}

/* each: losses are results. */
template <int fmt, bool each> __device__ bool whole_loss_row(const rm_entropy &f, int64_t i, char *memory) {
  if (*f.counted < 0) return false; /* results are NaN */
  const int64_t target = rm_entropy_target(&f, i);
  whole_open &open = whole_begin_store();
  rm_dd_ball loss;
  rm_dd_ball_set(&loss, 0.0, 0);
  if (target != f.p.ignore_index) {
    const whole_row<fmt> row = whole_load<fmt>(memory, static_cast<const char *>(f.p.x) + i * f.p.row_x, f.p.stride_x, f.p.n);
    const whole_target t = whole_target_of(f, row, target);
    if (!t.is_finite()) return false;
    rm_dd_ball x, w;
    rm_dd_ball_set(&loss, t.m, 0);
    rm_dd_ball_set(&x, t.x, 0);
    rm_dd_ball_set(&w, t.w, 0);
    rm_dd_ball_sub(&loss, &loss, &x);
    const int64_t first = whole_first(row, t.m);
    if constexpr (fmt == RM_F64) {
      if (!whole_ball_sum(row, t.m, first, &x)) return false;
      rm_dd_ball_log1p(&x, &x);
    } else {
      x = whole_logarithm(whole_exponentials(row, t.m, first), f.p.n);
    }
    rm_dd_ball_add(&loss, &loss, &x);
    rm_dd_ball_mul(&loss, &loss, &w);
  }
  if (threadIdx.x == 0) {
    uint32_t flags = 0; /* a device has nowhere to raise them */
    uint64_t bits = 0;
    f.losses[i] = loss, f.specials[i] = 0.0;
    if (each && rm_dd_ball_round(&loss, fmt, RM_NEAREST, &flags, &bits)) rm_write_bits(rm_row_at(&f.out, i), bits, fmt);
    else open.failed = each;
  }
  __syncthreads();
  return !open.failed;
}

/* y becomes e w g/(the divisor of the mean times `all`). */
__device__ inline void whole_gradient_of(rm_dd_ball *y, const rm_dd_ball &e, const whole_target &t, double g,
                                         const rm_dd_ball &divisor, const rm_dd_ball &all) {
  rm_dd_ball v;
  rm_dd_ball_set(&v, t.w, 0);
  rm_dd_ball_mul(y, &e, &v);
  rm_dd_ball_set(&v, g, 0);
  rm_dd_ball_mul(y, y, &v);
  rm_dd_ball_mul(&v, &divisor, &all);
  rm_dd_ball_div(y, y, &v);
}

template <int fmt> __device__ bool whole_entropy_gradient_row(const rm_entropy &f, int64_t i, char *memory) {
  if (*f.counted < 0) return false;
  const char *const from = static_cast<const char *>(f.p.x) + i * f.p.row_x;
  char *const out = rm_row_at(&f.out, i);
  const ptrdiff_t stride = f.out.stride;
  const int64_t target = rm_entropy_target(&f, i);
  if (target == f.p.ignore_index) {
    whole_fill<fmt>(out, stride, f.p.n, 0);
    return true;
  }
  const double g = rm_read_element(f.g + i * f.stride_g, fmt);
  const rm_dd_ball divisor = f.losses[0]; /* kept there */
  const double k = g / divisor.hi;
  if (!rm_is_finite(k) || !(divisor.err <= 0x1p-60 * __builtin_fabs(divisor.hi))) return false;
  const whole_row<fmt> row = whole_load<fmt>(memory, from, f.p.stride_x, f.p.n);
  const whole_target t = whole_target_of(f, row, target);
  if (!rm_is_finite(t.m)) {
    whole_fill<fmt>(out, stride, f.p.n, rm_nan_bits(fmt));
    return true;
  }
  if (!t.is_finite()) return false;
  const auto decide = [&](const rm_dd_ball &all, int64_t c, uint64_t *bits) {
    uint32_t flags = 0; /* a device has nowhere to raise them */
    rm_dd_ball y;
    rm_exp_term_dd_ball(&y, row.at(c), t.m, 0);
    whole_gradient_of(&y, y, t, g, divisor, all);
    return rm_dd_ball_round(&y, fmt, RM_NEAREST, &flags, bits) != 0;
  };
  if constexpr (fmt == RM_F64) {
    rm_dd_ball others, all;
    if (!whole_ball_sum(row, t.m, target, &others) || !(t.x - t.m >= RM_EXP_TAIL)) return false;
    rm_exp_term_dd_ball(&all, t.x, t.m, 0);
    rm_dd_ball_add(&all, &all, &others);
    whole_begin_store();
    const bool decided = whole_decide_all<fmt>(f.p.n, out, stride, [&](int64_t c, uint64_t *bits) {
      if (c != target) return row.at(c) - t.m >= RM_EXP_TAIL && decide(all, c, bits);
      uint32_t flags = 0;
      rm_dd_ball y;
      rm_dd_ball_neg(&y, &others);
      whole_gradient_of(&y, y, t, g, divisor, all);
      return rm_dd_ball_round(&y, fmt, RM_NEAREST, &flags, bits) != 0;
    });
    if (!decided) whole_put_back(row, from, out, stride);
    return decided;
  }
  const double others = whole_exponentials(row, t.m, target), d = t.x - t.m;
  const double sum = others + (d >= RM_ROW_EXP_MIN ? rm_exp_sixteenths(d, RM_EXP_INV_STEP) : 0.0);
  rm_row_store s = {};
  s.n = f.p.n, s.fmt = fmt, s.a = k * t.w / sum, s.rel = 2.25 * RM_ROW_EXP_ERR + 0x1p-49;
  s.err = s.a < 0.0 ? -s.a * 0x1p-245 : 0.0; /* what counts as 0 rounds to -0 then, unless it is 0 */
  if (!(__builtin_fabs(s.a) <= 0x1p64)) return false;
  whole_open &open = whole_begin_store();
  whole_store<fmt>(
      s.n, out, stride,
      [=](int64_t c, double *y, double *err) {
        rm_row_bounded(RM_ROW_SCALED, &s, c != target ? rm_row_exp(vf64_sub(row.at(c), t.m)) : 0.0, c, y, err);
      },
      [=](int64_t c, uint64_t *bits) {
        const double x = row.at(c);
        if (c != target && x - t.m >= RM_ROW_EXP_MIN) return false;
        *bits = rm_signed_zero(c != target && s.a < 0.0 && rm_is_finite(x), fmt); /* the target's follows */
        return true;
      });
  if (threadIdx.x == 0) {
    uint32_t flags = 0; /* a device has nowhere to raise them */
    uint64_t bits;
    rm_dd_ball y, all, e;
    rm_dd_ball_finish(&y, -others, 0.0, 1,
                      (1.0 + 0x1p-40) * (RM_ROW_SUM_ERR * others + static_cast<double>(f.p.n) * 0x1p-245));
    rm_exp_term_dd_ball(&e, t.x, t.m, 0);
    rm_dd_ball_sub(&all, &e, &y);
    whole_gradient_of(&y, y, t, g, divisor, all);
    if (d >= RM_ROW_EXP_MIN && rm_dd_ball_round(&y, fmt, RM_NEAREST, &flags, &bits))
      rm_write_bits(out + target * stride, bits, fmt);
    else open.failed = 1;
  }
  __syncthreads();
  rm_dd_ball all;
  bool decided = !open.failed && open.count <= RM_WHOLE_OPEN;
  if (decided && open.count) {
    decided = whole_ball_sum(row, t.m, -1, &all) &&
              whole_decide<fmt>(out, stride, [&](int64_t c, uint64_t *bits) { return decide(all, c, bits); });
  }
  if (!decided) whole_put_back(row, from, out, stride);
  return decided;
}

template <whole_fn<rm_entropy> *f16, whole_fn<rm_entropy> *bf16, whole_fn<rm_entropy> *f32, whole_fn<rm_entropy> *f64>
bool whole_entropy(const rm_entropy &f, int64_t rows, int64_t n, const rm_undecided_set &undecided, cudaStream_t stream) {
  if (!f.p.target || f.p.label_smoothing != 0.0) return false;
  switch (f.format) {
    case RM_F16: return each_whole_row<rm_entropy, f16>(f, rows, n, undecided, stream);
    case RM_BF16: return each_whole_row<rm_entropy, bf16>(f, rows, n, undecided, stream);
    case RM_F32: return each_whole_row<rm_entropy, f32>(f, rows, n, undecided, stream);
    default: return each_whole_row<rm_entropy, f64>(f, rows, n, undecided, stream);
  }
}
template <bool each>
constexpr auto whole_losses = whole_entropy<whole_loss_row<RM_F16, each>, whole_loss_row<RM_BF16, each>,
                                            whole_loss_row<RM_F32, each>, whole_loss_row<RM_F64, each>>;
constexpr auto whole_entropy_gradients =
    whole_entropy<whole_entropy_gradient_row<RM_F16>, whole_entropy_gradient_row<RM_BF16>, whole_entropy_gradient_row<RM_F32>,
                  whole_entropy_gradient_row<RM_F64>>;

} // namespace
