/* SGD's step in binary32 where every new number is one multiplication and addition of numbers of binary64: b' = beta b + d,
 * where 1 - dampening is 1, and p' = p - lr b', or - lr d. Rounded down and up, it is rounded once (formula/fused.h), so that
 * no element is undecided: not ties, not short decimals. Coefficients are 0 or between 2^-200 and 2^200 (args.h), numbers of
 * the format 0 or between 2^-149 and 2^128: nothing overflows or underflows in binary64. A sum that is exactly zero is +0:
 * rounded up it is that but where both terms are -0, so that numbers d and p of -0 count as +0.
 *
 * NaN are those of an operand: b' is NaN where d or b is, p' where one of them or p is. Vectors with infinities, results that
 * overflow, or signalling NaN take the other loop. */
#pragma once

#include "../../../crlibm/simd/neighbours.h"
#include "step.h"

#if RM_HAS_NEIGHBOURS && RM_B32
/* The loop that takes what this one leaves. */
typedef uint32_t rm_sgd_rest_fn(const rm_optimizer *o, int64_t begin, int64_t end);

RM_FN int rm_sgd_is_fused(const rm_optimizer *o) {
  const double *const keep = o->constants.keep1;
  return o->decay == 0.0 && !o->nesterov && (!o->m || o->first || (keep[0] == 1.0 && keep[1] == 0.0));
}

/* *r: b' and p' of 2 RM_LANES elements, of which some are not finite. Puts NaN there; returns 0 where that is not all. */
RM_NOINLINE int rm_sgd_only_nan(const rm_optimizer *o, int64_t i, vf32 r[2]) {
  const float *const p = (const float *)(const void *)o->p + i, *const g = (const float *)(const void *)o->g + i;
  const float *const b = o->m && !o->first ? (const float *)(const void *)o->m + i : g;
  const vf32 infinity = vf32_from_bits(vi32_set1(0x7f800000)), canonical = vf32_from_bits(vi32_set1(0x7fc00000));
  const vf32 x = vf32_load_f32(p), y = vf32_load_f32(g), z = vf32_load_f32(b);
  const vm32 of_state = vm32_or(vf32_ne(y, y), vf32_ne(z, z)), of_all = vm32_or(of_state, vf32_ne(x, x));
  const uint32_t known = (vm32_bits(vf32_lt(vf32_abs(r[0]), infinity)) | vm32_bits(of_state)) &
                         (vm32_bits(vf32_lt(vf32_abs(r[1]), infinity)) | vm32_bits(of_all));
  if ((~known & ((1u << 2 * RM_LANES) - 1)) || rm_any_signalling(p, 2 * RM_LANES, RM_F32) ||
      rm_any_signalling(g, 2 * RM_LANES, RM_F32) || rm_any_signalling(b, 2 * RM_LANES, RM_F32))
    return 0;
  r[0] = vf32_select(of_state, canonical, r[0]);
  r[1] = vf32_select(of_all, canonical, r[1]);
  return 1;
}

RM_FN uint32_t rm_sgd_fused_loop(const rm_optimizer *o, int64_t i, int64_t end, const int momentum, rm_sgd_rest_fn *rest) {
  float *const p = (float *)(void *)o->p, *const b = (float *)(void *)o->m;
  const float *const g = (const float *)(const void *)o->g;
  const vf64 zero = vf64_set1(0.0), beta = vf64_set1(o->beta1), rate = vf64_set1(-o->lr);
  const vf64 sign = vf64_set1(o->negate ? -1.0 : 1.0);
  const int first = o->first;
  const float infinity = __builtin_inff();
  uint32_t flags = 0;
  for (; i + 2 * RM_LANES <= end; i += 2 * RM_LANES) {
    float state[2 * RM_LANES];
    vf32 r[2];
    vf64 x[2], v[2][2];
    RM_UNROLL for (int h = 0; h < 2; h++) {
      x[h] = vf64_add(vf64_mul(rm_load_elements((const char *)(g + i + h * RM_LANES), RM_F32), sign), zero);
      if (momentum && first) v[h][0] = v[h][1] = x[h];
      else if (momentum) vf64_fma_both(beta, rm_load_elements((const char *)(b + i + h * RM_LANES), RM_F32), x[h], v[h]);
    }
    r[0] = vf32_set1(0.0f);
    if (momentum) {
      r[0] = vf32_from_both(v[0], v[1]);
      vf32_store_f32(state, r[0]);
      RM_UNROLL for (int h = 0; h < 2; h++) x[h] = rm_load_elements((const char *)(state + h * RM_LANES), RM_F32);
    }
    RM_UNROLL for (int h = 0; h < 2; h++) vf64_fma_both(rate, x[h], vf64_load_f32_plus_0(p + i + h * RM_LANES), v[h]);
    r[1] = vf32_from_both(v[0], v[1]);
    if (RM_UNLIKELY(!vf32_all_below(r[0], r[1], infinity))) {
      vf32 found[2] = {r[0], r[1]};
      if (!rm_sgd_only_nan(o, i, found)) {
        flags |= rest(o, i, i + 2 * RM_LANES);
        continue;
      }
      r[0] = found[0], r[1] = found[1];
    }
    if (momentum) vf32_store_f32(b + i, r[0]);
    vf32_store_f32(p + i, r[1]);
  }
  return i < end ? flags | rest(o, i, end) : flags;
}
#endif
