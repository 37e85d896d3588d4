/* Normal numbers: RN(mean + std z), z = Phi^-1((d + 1/2) 2^-64) for the draw d, one rounding. crlibm/ndtri/normal_draw.h
 * evaluates z. */
#pragma once

#include "../../crlibm/ndtri/normal_draw.h"
#include "../../crlibm/simd/undecided.h"
#include "chunks.h"
#include "normal_exact.h"

RM_FN vm64 rm_standard_step(vi64 k, vf64 *y, const int fmt) {
  switch (fmt) {
    case RM_F16: return rm_normal_fast_f16(k, y);
    case RM_BF16: return rm_normal_fast_bf16(k, y);
    case RM_F32: return rm_normal_fast_f32(k, y);
    default: return rm_normal_fast_f64(k, y);
  }
}

/* mean + std z in binary64 for the formats below, p = std z. z is within RM_ERFINV_B64_ERR = 2^-41 relatively, the product
 * rounds by 2^-53 |p|, the sum by 2^-53 of itself, and the test asks for 2^-52 of it more: |p| (2^-41 + 2^-52) + 2^-51
 * |v|. */
RM_FN vm64 rm_scaled_step(const struct rm_affine *a, vi64 k, vf64 *v, const int fmt) {
  const vf64 p = vf64_mul(rm_normal_eval(k), vf64_set1(a->std));
  *v = vf64_add(vf64_set1(a->mean), p);
  const vf64 err = vf64_mad(vf64_abs(p), vf64_set1(RM_ERFINV_B64_ERR * (1.0 + 0x1p-10)),
                            vf64_mul(vf64_abs(*v), vf64_set1(RM_BOUND(0x1p-51))));
  const vm64 sign = vf64_le(vf64_abs(*v), err); /* unknown: zero has one too */
  return vm64_or(vm64_or(vf64_undecided_within(*v, err, fmt), sign), vf64_overflows(*v, fmt));
}

/* The same in two parts. z = hi + lo within err, |lo| <= 2^-39 |hi|; p + pl = std (hi + lo): pl takes two roundings of
 * 2^-53 2^-38 |p|; s + e = mean + p exactly; e + pl, at most 2^-53 |s| + 2^-38 |p|, rounds by 2^-53 of that, and so does
 * the test. Together below std err + 2^-89 |p| + 2^-104 |s|. Where |s| < 2^-28 |p|, the second part may be no small part of
 * s: undecided. */
RM_FN vm64 rm_affine_f64(double mean_, double std_, vf64 hi, vf64 lo, vf64 err, vf64 *y) {
  const vf64 std = vf64_set1(std_), mean = vf64_set1(mean_);
  const vf64 p = vf64_mul(std, hi), pl = vf64_mad(std, lo, vf64_mul_err(std, hi, p));
  vf64 e;
  const vf64 s = vf64_two_sum(mean, p, &e);
  const vf64 size = vf64_abs(p), sum = vf64_abs(s);
  const vf64 bound = vf64_mad(std, err, vf64_mul(vf64_mad(sum, vf64_set1(0x1p-15), size), vf64_set1(RM_BOUND(0x1p-89))));
  return vm64_or(vf64_undecided_f64(s, vf64_add(e, pl), bound, y), vf64_lt(sum, vf64_mul(size, vf64_set1(0x1p-28))));
}
RM_FN vm64 rm_scaled_fast_f64(const struct rm_affine *a, vi64 k, vf64 *y) {
  const vi64 j = rm_normal_tail(k);
  vf64 uh, ul, vh, vl, hi, lo, err;
  rm_normal_dd(vi64_sub(vi64_set1(INT64_MAX), j), &uh, &ul);
  rm_normal_dd(j, &vh, &vl);
  rm_erfinv_step_dd(rm_erfinv_of(uh, vh), uh, ul, vh, vl, &hi, &lo, &err);
  rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);
  const vf64 sign = vf64_copysign(vf64_set1(1.0), rm_normal_scaled(rm_normal_signed(k), 1.0));
  return rm_affine_f64(a->mean, a->std, vf64_mul(hi, sign), vf64_mul(lo, sign), err, y);
}

/* In mode RM_AFFINE_ACCURATE the vector step is that of mean 0 and std 1 in binary64, and only a guess comes from it. */
RM_FN uint32_t rm_make_normal(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out,
                              const int fmt) {
  const struct rm_affine *a = &problem->affine;
  const int size = rm_size_of(fmt), accurate = a->mode == RM_AFFINE_ACCURATE;
  uint32_t flags = 0;
  (void)from;
  for (int i = 0; i < n; i += RM_LANES) {
    const int count = n - i < RM_LANES ? n - i : RM_LANES;
    const uint32_t all = (1u << count) - 1;
    const vi64 k = rm_load_draws(random, i);
    uint32_t undecided = all;
    vf64 y;
    if (accurate) {
      rm_standard_step(k, &y, RM_F64);
    } else {
      const vm64 mask = a->mode == RM_AFFINE_STANDARD ? rm_standard_step(k, &y, fmt)
                        : fmt == RM_F64               ? rm_scaled_fast_f64(a, k, &y)
                                                      : rm_scaled_step(a, k, &y, fmt);
      rm_store_first_elements(out + i * size, y, count, fmt);
      undecided &= vm64_bits(mask);
    }
    if (RM_LIKELY(!undecided)) continue;
    double guess[RM_LANES];
    vf64_store(guess, y);
    for (int l = 0; l < count; l++)
      if (undecided >> l & 1u) {
        const double near = accurate ? a->mean + a->std * guess[l] : guess[l];
        const uint64_t bits = rm_normal_exactly(rm_draw_at(random, i + l), a->mean, a->std, near, fmt, &flags);
        rm_write_bits(out + (i + l) * size, bits, fmt);
      }
  }
  return flags;
}
