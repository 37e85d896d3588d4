/* The steps of columns.h. */
#include "columns.h"

#include "../../crlibm/simd/machine.h"
#include "../common/elements.h"
#include "../reduce/vector_pair.h"

/* As kernels.h says of a pair's product of one term: one two-sum, and two roundings of what is below. */
static void subtract(const rm_linalg_column *y, double factor, const double *x) {
  const vf64 f = vf64_set1(-factor);
  if (!y->low) {
    for (int64_t i = 0; i < y->n; i += RM_LANES) vf64_store(y->hi + i, vf64_mad(f, vf64_load(x + i), vf64_load(y->hi + i)));
    return;
  }
  for (int64_t i = 0; i < y->n; i += RM_LANES) {
    const vf64 v = vf64_load(x + i), product = vf64_mul(f, v), rest = vf64_mul_err(f, v, product);
    const rm_vpair sum = rm_vpair_two_sum(vf64_load(y->hi + i), product);
    vf64_store(y->hi + i, sum.hi);
    vf64_store(y->low + i, vf64_add(vf64_load(y->low + i), vf64_add(sum.lo, rest)));
  }
}

/* The value of hi + lo within err, or NaN: as `decide` of recurrence.c, whose bounds these are, without branches, and
 * infinite where both ends are. They are not both 0, which would leave a sign open. */
RM_FN vf64 decided(vf64 hi, vf64 lo, vf64 err, const int format) {
  const vf64 size = vf64_abs(hi);
  const vf64 least = vf64_mul(vf64_set1(format == RM_F32 ? 0x1p-51 : 0x1p-105), size);
  const vf64 wide = vf64_add(vf64_mul(err, vf64_set1(1.0 + 0x1p-40)), least);
  vf64 low = vf64_add(hi, vf64_sub(lo, wide)), high = vf64_add(hi, vf64_add(lo, wide));
  if (format == RM_F32) low = vf64_round_f32(low), high = vf64_round_f32(high);
  const vm64 none = vf64_eq(low, vf64_set1(0.0));
  return vf64_select(vm64_andnot(vf64_eq(low, high), none), low, vf64_set1(__builtin_nan("")));
}

/* Stores a vector of results from place i on; how many of the first n are numbers. */
RM_FN int64_t store(double *to, int64_t i, int64_t n, vf64 v) {
  const uint32_t lanes = n - i < RM_LANES ? (1u << (n - i)) - 1u : (1u << RM_LANES) - 1u;
  vf64_store(to + i, v);
  return __builtin_popcount(vm64_bits(vm64_not(vf64_unord(v, v))) & lanes);
}

/* The values at place i, without overlap. */
RM_FN rm_vpair values_at(const rm_linalg_column *v, int64_t i) {
  const rm_vpair x = {vf64_load(v->hi + i), vf64_set1(0.0)};
  return v->low ? rm_vpair_two_sum(x.hi, vf64_load(v->low + i)) : x;
}

/* Bounds of the values at place i. */
RM_FN vf64 bound_at(const rm_linalg_column *v, int64_t i) { return vf64_mul(vf64_set1(v->unit), vf64_load(v->size + i)); }

RM_FN int64_t round_values(const rm_linalg_column *v, const int format, double *to) {
  int64_t count = 0;
  for (int64_t i = 0; i < v->n; i += RM_LANES) {
    const rm_vpair x = values_at(v, i);
    const vf64 err = bound_at(v, i), zero = vf64_set1(0.0);
    const vm64 nothing = vm64_and(vf64_eq(x.hi, zero), vf64_eq(err, zero));
    count += store(to, i, v->n, vf64_select(nothing, zero, decided(x.hi, x.lo, err, format)));
  }
  return count;
}

/* As `divide` of recurrence.c, whose bound this is: hi + lo do not overlap, and lanes of small numbers, of whose products
 * parts are lost, are left open. Large ones lose nothing, or all: what is infinite or NaN is decided nowhere. */
RM_FN int64_t divide_values(const rm_linalg_column *v, double d, const int format, double *to) {
  const vf64 by = vf64_set1(d), size_of_d = vf64_abs(by), zero = vf64_set1(0.0);
  int64_t count = 0;
  for (int64_t i = 0; i < v->n; i += RM_LANES) {
    const rm_vpair x = values_at(v, i);
    const vf64 hi = x.hi, lo = x.lo, err = bound_at(v, i);
    const vf64 q = vf64_div(hi, by), p = vf64_mul(q, by), rest = vf64_sub(vf64_sub(hi, p), vf64_mul_err(q, by, p));
    const vf64 low = vf64_div(vf64_add(rest, lo), by);
    const vf64 quotient_err =
        vf64_add(vf64_mul(vf64_div(err, size_of_d), vf64_set1(1.0 + 0x1p-40)), vf64_mul(vf64_set1(0x1p-102), vf64_abs(q)));
    const vm64 tame = vf64_lt(vf64_set1(0x1p-400), vf64_abs(hi));
    const vm64 nothing = vm64_and(vf64_eq(hi, zero), vf64_eq(err, zero));
    const vf64 y = vf64_select(tame, decided(q, low, RM_BOUND(quotient_err), format), vf64_set1(__builtin_nan("")));
    count += store(to, i, v->n, vf64_select(nothing, zero, y));
  }
  return count;
}

static int64_t round_column(const rm_linalg_column *v, int format, double *to) {
  return format == RM_F32 ? round_values(v, RM_F32, to) : round_values(v, RM_F64, to);
}
static int64_t divide_column(const rm_linalg_column *v, double d, int format, double *to) {
  return format == RM_F32 ? divide_values(v, d, RM_F32, to) : divide_values(v, d, RM_F64, to);
}

extern const struct rm_column_kernels RM_ISA_SYMBOL(rm_column_table);
const struct rm_column_kernels RM_ISA_SYMBOL(rm_column_table) = {subtract, round_column, divide_column};
