/* Exponentials of long rows (whole_rows.h), in binary64 and in double-double. It follows nn/rows/exp_row.inc, for both of its
 * numbers. */
#pragma once

#include "whole_rows.h"

namespace {

/* The sum of the exponentials of all elements less m but that of `skip`, within RM_ROW_SUM_ERR of those that are not below
 * e^RM_ROW_EXP_MIN. */
template <int fmt> __device__ double whole_exponentials(const whole_row<fmt> &row, double m, int64_t skip) {
  row_sums<1> mine = {};
  double chain = 0.0;
  int terms = 0;
  each_of_whole(
      row.n, [=](int64_t i) { return i != skip ? rm_row_exp(vf64_sub(row.at(i), m)) : 0.0; },
      [&](int64_t, double v) {
        chain = vf64_add(chain, v);
        if (++terms < RM_ROW_CHAIN) return;
        add_to(&mine.sum[0], chain);
        chain = 0.0, terms = 0;
      });
  add_to(&mine.sum[0], chain);
  mine = of_whole<join_sums>(mine);
  return mine.sum[0].hi + mine.sum[0].lo;
}

/* log(1 + S) from that sum S: the number that binary64 has of it within RM_ROW_SUM_ERR of itself and n 2^-245, which stands
 * for what is below e^RM_ROW_EXP_MIN. RM_ROW_SUM_ERR enlarges the bound by as little as a 2^40-th. */
__device__ inline rm_dd_ball whole_logarithm(double sum, int64_t n) {
  rm_dd_ball l;
  rm_dd_ball_finish(&l, sum, 0.0, 1, (1.0 + 0x1p-40) * (RM_ROW_SUM_ERR * sum + static_cast<double>(n) * 0x1p-245));
  rm_dd_ball_log1p(&l, &l);
  return l;
}

/* The sum of the exponentials in double-double, as rm_exp_row_sum has it; false where its sign would be that of terms which
 * are left out. */
template <int fmt> __device__ bool whole_ball_sum(const whole_row<fmt> &row, double m, int64_t skip, rm_dd_ball *sum) {
  rm_dd_ball mine, t;
  int left_out = 0;
  rm_dd_ball_set(&mine, 0.0, 0);
  for (int64_t i = threadIdx.x; i < row.n; i += RM_WHOLE_THREADS) {
    const double x = row.at(i);
    if (i == skip) continue;
    left_out |= rm_exp_row_some_dd_ball(&t, 1, &x, m, -1, RM_EXP_LEFT_OUT, 0, 0, 1);
    rm_dd_ball_add(&mine, &mine, &t);
  }
  *sum = of_whole<join_balls>(mine);
  if (of_whole<join_add>(static_cast<int64_t>(left_out)) == 0) return true;
  if (sum->err == 0.0) return false;
  rm_dd_ball_widen(sum, sum, RM_EXP_LEFT_OUT_BITS + 40); /* fewer than 2^40 of them */
  return true;
}

} // namespace
