/* Rounds the elements of f64 products from double-double sums with a bound: for the kernels of matmul_dd.cu and
 * matmul_crt.cu. */
#pragma once

#include "tiles.h"

#include "../blas/gemm/pair.h"

namespace {

__device__ inline double bias_of(const rm_matmul_problem &p, int64_t i, int64_t j) {
  return p.bias.base ? rm_read_element(p.bias.base + i * p.bias.row + j * p.bias.col, RM_F64) : 0.0;
}

/* Rounds and stores an element; returns whether it is decided. err: the bound of the sum with its bias; zero: the sum is
 * 0. */
__device__ inline bool finish_f64(const rm_matmul_problem &p, int64_t i, int64_t j, rm_pair s, double err, bool zero,
                                  bool c_aligned) {
  char *at = address_in_c(p, i, j);
  const double bias = bias_of(p, i, j);
  double out = bias + 0.0;
  if (!zero || p.alpha_beta || !rm_is_finite(bias)) {
    rm_pair v = rm_pair_two_sum(s.hi, bias);
    v = rm_pair_two_sum(v.hi, v.lo + s.lo);
    if (p.alpha_beta) {
      uint32_t flags = 0;
      uint64_t bits;
      const double old = p.alpha_beta->beta == 0.0 ? 0.0 : rm_read_element(at, RM_F64);
      if (!rm_is_finite(v.hi) || !rm_alpha_beta_pair(p.alpha_beta, v, old, &v, &err) ||
          !rm_decide_pair(v, err, 0.0, RM_F64, &bits, &flags))
        return false;
      out = rm_from_bits64(bits);
    } else {
      const double lower = v.hi + (v.lo - err), upper = v.hi + (v.lo + err), size = vf64_abs(lower);
      if (rm_bits64(lower) != rm_bits64(upper) || !(size >= 0x1p-1000 && size <= 0x1.fffffffffffffp1023)) return false;
      out = lower;
    }
  }
  char bits[8];
  __builtin_memcpy(bits, &out, 8);
  write(at, bits, 8, c_aligned);
  return true;
}

} // namespace
