/* Long rows of softmax, log_softmax and logsumexp (whole_rows.h): the values and bounds of nn/softmax/row.h, but for the
 * logarithm, which is taken in double-double: its own error, 2^-41, left open three of four long rows of f32. */
#pragma once

#include "whole_exp.h"

namespace {

/* Result x of a row in double-double; sum: that of all exponentials, or the logarithm. */
__device__ inline bool whole_softmax_decide(const rm_softmax_problem &f, double x, double m, const rm_dd_ball &sum,
                                            uint64_t *bits) {
  uint32_t flags = 0; /* a device has nowhere to raise them */
  rm_dd_ball v, t;
  if (f.kind == RM_SOFTMAX) {
    if (x - m < -1200.0) { /* as in rm_softmax_accurate_result */
      *bits = 0;
      return true;
    }
    rm_exp_term_dd_ball(&v, x, m, 0);
    rm_dd_ball_div(&v, &v, &sum);
  } else {
    rm_dd_ball_set(&v, f.kind == RM_LOGSUMEXP ? 0.0 : x, 0);
    rm_dd_ball_set(&t, m, 0);
    if (f.kind == RM_LOGSUMEXP) rm_dd_ball_add(&v, &t, &sum);
    else rm_dd_ball_sub(&v, &v, &t), rm_dd_ball_sub(&v, &v, &sum);
  }
  return rm_dd_ball_round(&v, f.format, RM_NEAREST, &flags, bits);
}

template <int fmt> __device__ bool whole_softmax_row(const rm_softmax_problem &f, int64_t i, char *memory) {
  const char *const from = rm_row_at(&f.x, i);
  char *const out = rm_row_at(&f.y, i);
  const whole_row<fmt> row = whole_load<fmt>(memory, from, f.x.stride, f.n);
  const double m = whole_max(row);
  if (!rm_is_finite(m)) { /* as in rm_softmax_special */
    const bool of_all = f.kind == RM_LOGSUMEXP;
    whole_fill<fmt>(out, f.y.stride, of_all ? 1 : f.n,
                    of_all && !rm_is_nan(m) ? rm_signed_infinity(m < 0.0, fmt) : rm_nan_bits(fmt));
    return true;
  }
  const int64_t at = f.kind == RM_SOFTMAX ? -1 : whole_first(row, m);
  if constexpr (fmt == RM_F64) {
    rm_dd_ball all;
    bool decided = whole_ball_sum(row, m, at, &all) && all.hi != 0.0; /* an only finite number is the accurate phase's */
    if (!decided) return false;
    whole_begin_store();
    if (f.kind != RM_SOFTMAX) rm_dd_ball_log1p(&all, &all);
    decided = whole_decide_all<fmt>(f.kind == RM_LOGSUMEXP ? 1 : f.n, out, f.y.stride, [&](int64_t k, uint64_t *bits) {
      const double x = row.at(k);
      *bits = rm_signed_infinity(1, fmt); /* log 0 */
      return (f.kind == RM_LOG_SOFTMAX && x == -rm_dd_ball_infinity()) || whole_softmax_decide(f, x, m, all, bits);
    });
    if (!decided && f.kind != RM_LOGSUMEXP) whole_put_back(row, from, out, f.y.stride);
    return decided;
  }
  const double sum = whole_exponentials(row, m, at);
  if (sum == 0.0) return false;
  rm_row_store s = {};
  s.n = f.kind == RM_LOGSUMEXP ? 1 : f.n, s.c = m, s.fmt = fmt;
  const whole_open &open = whole_begin_store();
  if (f.kind == RM_SOFTMAX) {
    s.a = 1.0 / sum, s.rel = 2.25 * RM_ROW_EXP_ERR;
    whole_store<fmt>(
        s.n, out, f.y.stride,
        [=](int64_t k, double *y, double *err) {
          rm_row_bounded(RM_ROW_SCALED, &s, rm_row_exp(vf64_sub(row.at(k), m)), k, y, err);
        },
        [](int64_t, uint64_t *) { return false; });
  } else {
    const rm_dd_ball l = whole_logarithm(sum, f.n);
    s.a = l.hi, s.err = vf64_abs(l.lo) + l.err;
    const bool of_all = f.kind == RM_LOGSUMEXP;
    if (of_all) s.c = -m, s.a = -s.a; /* (0 + m) + log */
    whole_store<fmt>(
        s.n, out, f.y.stride,
        [=](int64_t k, double *y, double *err) { rm_row_bounded(RM_ROW_SHIFTED, &s, of_all ? 0.0 : row.at(k), k, y, err); },
        [=](int64_t k, uint64_t *bits) {
          if (of_all || row.at(k) != -rm_dd_ball_infinity()) return false;
          *bits = rm_signed_infinity(1, fmt); /* log 0 */
          return true;
        });
  }
  if (open.count == 0) return true;
  rm_dd_ball all;
  bool decided = open.count <= RM_WHOLE_OPEN && whole_ball_sum(row, m, at, &all);
  if (decided) {
    if (f.kind != RM_SOFTMAX) rm_dd_ball_log1p(&all, &all);
    decided = whole_decide<fmt>(out, f.y.stride,
                                [&](int64_t k, uint64_t *bits) { return whole_softmax_decide(f, row.at(k), m, all, bits); });
  }
  if (!decided && f.kind != RM_LOGSUMEXP) whole_put_back(row, from, out, f.y.stride);
  return decided;
}

bool whole_softmax(const rm_softmax_problem &f, int64_t rows, int64_t n, const rm_undecided_set &undecided,
                   cudaStream_t stream) {
  switch (f.format) {
    case RM_F16: return each_whole_row<rm_softmax_problem, whole_softmax_row<RM_F16>>(f, rows, n, undecided, stream);
    case RM_BF16: return each_whole_row<rm_softmax_problem, whole_softmax_row<RM_BF16>>(f, rows, n, undecided, stream);
    case RM_F32: return each_whole_row<rm_softmax_problem, whole_softmax_row<RM_F32>>(f, rows, n, undecided, stream);
    default: return each_whole_row<rm_softmax_problem, whole_softmax_row<RM_F64>>(f, rows, n, undecided, stream);
  }
}

} // namespace
