/* The vocabulary of crlibm/simd for which a value is the number of a node: a kernel compiled over it prints its expression
 * graph.
 *
 * A line an operation, "<number> <operation> <arguments>", an argument being #<number> of a node or a literal; tables are
 * written out where they are looked up. The kernels are compiled as they are: this header is included first, and keeps
 * crlibm/simd/scalar.h out. A branch on data would follow one side only, so what ends a branch (vm64_none, vm64_bits)
 * stops. */
#ifndef RM_PROOFS_RECORD_H
#define RM_PROOFS_RECORD_H

#define RM_SIMD_SCALAR_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "crlibm/config.h"
#include "crlibm/fp/bits.h"

#define RM_LANES 1
typedef struct {
  int id;
} vf64;
typedef struct {
  int id;
} vi64;
typedef struct {
  int id;
} vm64;

static int rec_nodes = 0;

__attribute__((format(printf, 1, 2), unused)) static int rec(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%d ", rec_nodes);
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  return rec_nodes++;
}

RM_FN vf64 vf64_input(const char *name) { return (vf64){rec("input %s", name)}; }
RM_FN vf64 vf64_set1(double x) { return (vf64){rec("const %a", x)}; }
RM_FN vi64 vi64_set1(int64_t x) { return (vi64){rec("iconst %" PRId64, x)}; }

#define REC_1(type, result, name, operation) \
  RM_FN result name(type a) { return (result){rec(operation " #%d", a.id)}; }
#define REC_2(type, result, name, operation) \
  RM_FN result name(type a, type b) { return (result){rec(operation " #%d #%d", a.id, b.id)}; }
#define REC_3(type, result, name, operation) \
  RM_FN result name(type a, type b, type c) { return (result){rec(operation " #%d #%d #%d", a.id, b.id, c.id)}; }
#define REC_SHIFT(name, operation) \
  RM_FN vi64 name(vi64 a, int n) { return (vi64){rec(operation " #%d %d", a.id, n)}; }

REC_1(vf64, vf64, vf64_abs, "abs")
REC_1(vf64, vf64, vf64_neg, "neg")
REC_1(vf64, vf64, vf64_sqrt, "sqrt")
REC_1(vf64, vf64, vf64_reciprocal, "reciprocal")
REC_1(vf64, vf64, vf64_rsqrt, "rsqrt")
REC_1(vf64, vf64, vf64_round_f32, "round_f32")
REC_2(vf64, vf64, vf64_add, "add")
REC_2(vf64, vf64, vf64_sub, "sub")
REC_2(vf64, vf64, vf64_mul, "mul")
REC_2(vf64, vf64, vf64_div, "div")
REC_2(vf64, vf64, vf64_min, "min")
REC_2(vf64, vf64, vf64_max, "max")
REC_2(vf64, vf64, vf64_copysign, "copysign")
REC_3(vf64, vf64, vf64_mad, "mad")
REC_3(vf64, vf64, vf64_nmad, "nmad")
REC_3(vf64, vf64, vf64_mul_err, "mul_err")
REC_2(vf64, vm64, vf64_lt, "lt")
REC_2(vf64, vm64, vf64_le, "le")
REC_2(vf64, vm64, vf64_eq, "eq")
REC_2(vf64, vm64, vf64_ne, "ne")
REC_2(vf64, vm64, vf64_unord, "unord")
REC_1(vf64, vi64, vf64_bits, "bits")
REC_1(vi64, vf64, vf64_from_bits, "from_bits")
REC_1(vi64, vf64, vi64_to_f64, "to_f64")
REC_2(vi64, vi64, vi64_add, "iadd")
REC_2(vi64, vi64, vi64_sub, "isub")
REC_2(vi64, vi64, vi64_and, "iand")
REC_2(vi64, vi64, vi64_or, "ior")
REC_2(vi64, vi64, vi64_xor, "ixor")
REC_2(vi64, vm64, vi64_disjoint, "disjoint")
REC_2(vi64, vm64, vi64_eq, "ieq")
REC_2(vi64, vm64, vi64_ltu, "ltu")
REC_SHIFT(vi64_sll, "sll")
REC_SHIFT(vi64_srl, "srl")
REC_SHIFT(vi64_sra, "sra")
REC_2(vm64, vm64, vm64_and, "mand")
REC_2(vm64, vm64, vm64_or, "mor")
REC_2(vm64, vm64, vm64_andnot, "mandnot")
REC_1(vm64, vm64, vm64_not, "mnot")

RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) {
  *r = (vf64){rec("rough_reciprocal #%d", b.id)};
  return (vf64){rec("quotient #%d #%d", a.id, b.id)};
}
RM_FN vf64 vf64_root(vf64 a, vf64 *r) {
  *r = (vf64){rec("rough_rsqrt #%d", a.id)};
  return (vf64){rec("root #%d", a.id)};
}
RM_FN vf64 vf64_select(vm64 m, vf64 a, vf64 b) { return (vf64){rec("select #%d #%d #%d", m.id, a.id, b.id)}; }
RM_FN vf64 vf64_lookup16(const double *t, vi64 i) {
  printf("%d lookup #%d", rec_nodes, i.id);
  for (int k = 0; k < 16; k++) printf(" %a", t[k]);
  printf("\n");
  return (vf64){rec_nodes++};
}
RM_FN vi64 vi64_lookup16(const int64_t *t, vi64 i) {
  printf("%d ilookup #%d", rec_nodes, i.id);
  for (int k = 0; k < 16; k++) printf(" %" PRId64, t[k]);
  printf("\n");
  return (vi64){rec_nodes++};
}

/* What only loops use. */
RM_FN void rec_stop(const char *why) {
  fprintf(stderr, "record: %s is not part of a kernel\n", why);
  exit(1);
}
static int rec_both_branches = 0; /* where what a branch gives is taken by a selection, which follows */
RM_FN int vm64_none(vm64 a) {
  (void)a;
  if (rec_both_branches) return 0;
  rec_stop("a branch on a mask");
  return 0;
}
RM_FN uint32_t vm64_bits(vm64 a) {
  (void)a;
  rec_stop("a branch on a mask");
  return 0;
}
RM_FN void vf64_store_f32(float *p, vf64 v) {
  (void)p, (void)v;
  rec_stop("a store");
}

/* exp in double-double is proved by itself (exp_sum_dd). In kernels that are proved with its bound, rec_exp_known, a call is
 * a value and its two parts: composed.py. */
#include "crlibm/exp/exp_dd.h"

static int rec_exp_known = 0;

RM_FN void rec_exp_sum_dd(vf64 x, vf64 xl, vf64 *hi, vf64 *lo, vf64 *err) {
  if (!rec_exp_known) {
    rm_exp_sum_dd(x, xl, hi, lo, err);
    return;
  }
  int value = rec("exp_value #%d #%d %a", x.id, xl.id, RM_EXP_DD_ERR);
  *hi = (vf64){rec("exp_hi #%d", value)};
  *lo = (vf64){rec("exp_lo #%d #%d", value, hi->id)};
  *err = vf64_mul(*hi, vf64_set1(RM_EXP_DD_ERR));
}
#define rm_exp_sum_dd rec_exp_sum_dd

/* Powers of two that a kernel multiplies by: where rec_scale_known, an operation with the 16 of which one is taken
 * (scaled.py). */
static int rec_scale_known = 0;

RM_FN vf64 rec_exp_scale(vi64 k) {
  if (!rec_scale_known) return rm_exp_scale(k);
  printf("%d scale #%d", rec_nodes, k.id);
  for (int64_t j = 0; j < 16; j++) {
    const int64_t bits = rm_exp_t[j] + (j << 48);
    double power;
    __builtin_memcpy(&power, &bits, sizeof power);
    printf(" %a", power);
  }
  printf("\n");
  return (vf64){rec_nodes++};
}
#define rm_exp_scale rec_exp_scale

/* log in double-double is proved by itself too (log_sum_dd, log1p_near_dd). In kernels that are proved with its bound,
 * rec_log_known, a call of rm_log_near_dd is a value, its parts and their bound: logs.py. rm_log1p_dd_of calls it in the
 * header that defines it: there the name begins another function where the first word in its parentheses is vf64, the
 * definition's type, and a call where it is an argument. */
RM_FN void rec_log_near_dd(vf64 xh, vf64 xl, vf64 uh, vf64 ul, vf64 *hi, vf64 *lo, vf64 *err);
#define rm_log_near_dd(first, ...) REC_LOG_##first, __VA_ARGS__)
#define REC_LOG_vf64 rec_log_in_full_dd(vf64
#define REC_LOG_xh rec_log_near_dd(xh
#include "crlibm/log/log_dd.h"
#undef rm_log_near_dd
#define rm_log_near_dd rec_log_near_dd

static int rec_log_known = 0;

RM_FN void rec_log_near_dd(vf64 xh, vf64 xl, vf64 uh, vf64 ul, vf64 *hi, vf64 *lo, vf64 *err) {
  if (!rec_log_known) {
    rec_log_in_full_dd(xh, xl, uh, ul, hi, lo, err);
    return;
  }
  printf("out xh #%d\nout xl #%d\nout uh #%d\nout ul #%d\n", xh.id, xl.id, uh.id, ul.id);
  int value = rec("log_value #%d #%d #%d #%d", xh.id, xl.id, uh.id, ul.id);
  *hi = (vf64){rec("log_hi #%d", value)};
  *lo = (vf64){rec("log_lo #%d #%d", value, hi->id)};
  *err = (vf64){rec("log_err #%d", hi->id)};
}

#endif
