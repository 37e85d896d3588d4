/* Prints the expression graph of a step of optimisers, formulas, rows or draws, named by the argument: the source of the
 * library over proofs/record.h, with its rounding tests as outputs. A number that a call is given is a constant that nothing
 * else has; a line "name <name> <constant>" says which. */
#include <string.h>

#define LOAD(name, type) \
  RM_FN vf64 name(const type *p) { return vf64_input(place_of((const void *)p)); }
static const char *place_of(const void *p);
LOAD(vf64_load, double)
LOAD(vf64_load_f32, float)
LOAD(vf64_load_f16, uint16_t)
LOAD(vf64_load_bf16, uint16_t)
#define STORE(name, type) \
  RM_FN void name(type *p, vf64 v) { (void)p, (void)v; /* a draw that is stored: the test has it */ }
STORE(vf64_store, double)
STORE(vf64_store_f16, uint16_t)
STORE(vf64_store_bf16, uint16_t)

/* A two-sum as such: that its second part is exact is no property of its operations one by one. */
#include "crlibm/simd/simd.h"
#include "src/reduce/vector_pair.h"
static rm_vpair rec_two_sum(vf64 a, vf64 b) {
  rm_vpair r;
  r.hi = (vf64){rec("add #%d #%d", a.id, b.id)};
  r.lo = (vf64){rec("rest #%d #%d #%d", a.id, b.id, r.hi.id)};
  return r;
}
#define rm_vpair_two_sum rec_two_sum

/* The tests: what they are given, and what is rounded is a new number. */
static int tests;
static vm64 rec_test(const char *kind, vf64 hi, vf64 lo, vf64 err, vf64 *y) {
  char name[16];
  printf("out %s%d.hi #%d\nout %s%d.lo #%d\nout %s%d.err #%d\n", kind, tests, hi.id, kind, tests, lo.id, kind, tests, err.id);
  snprintf(name, sizeof name, "r%d", tests++);
  if (y) *y = vf64_input(name);
  return (vm64){rec("test")};
}
#define WATCH_rm_step_round(y, err, reach, fmt, r)                                       \
  ({                                                                                     \
    const rm_vpair y_ = (y);                                                             \
    if ((fmt) != RM_F64) rec_test("reach", y_.hi, vf64_set1(0.0), reach, NULL), tests--; \
    rec_test((fmt) == RM_F64 ? "ends" : "settle", y_.hi, y_.lo, err, r);                 \
  })
#define WATCH_vf64_undecided_f64(hi, lo, err, y) rec_test("ends", hi, lo, err, y)
#define WATCH_vf64_undecided_within(y, err, fmt) rec_test("row", y, vf64_set1(0.0), err, NULL)
#define WATCH_vf64_undecided_any(y, rel, fmt) \
  rec_test("reach", y, vf64_set1(0.0), vf64_mul(vf64_abs(y), vf64_set1(rel)), NULL)

/* Exponentials and quantiles are proved by themselves: a call is a new number. */
#include "crlibm/exp/exp_b64.h"
#define rm_exp_sixteenths(x, step) vf64_input("e")

#include "crlibm/simd/machine.h"
static vf64 rec_two_sum_of(vf64 a, vf64 b, vf64 *e) {
  const rm_vpair r = rec_two_sum(a, b);
  *e = r.lo;
  return r.hi;
}
#define vf64_two_sum rec_two_sum_of

#include "crlibm/softplus/softplus_b64.h"
#define rm_softplus_tail(d) ((void)(d), vf64_input("tail"))
#define vf64_undecided_within WATCH_vf64_undecided_within
#include "crlibm/logaddexp/logaddexp.h"
#undef vf64_undecided_within

/* What gamma functions are reflected by is proved by itself. */
#define rm_log_eval(p) ((void)(p), vf64_input("log"))
#define rm_gamma_turn(a, sine) (*(sine) = vf64_input("sine"), vf64_input("r"))
#define rm_gamma_turned(r) vf64_input("cosine")
#define rm_lgamma_eval(a) vf64_input("whole")
#define rm_digamma_within(a, err) (*(err) = vf64_input("more"), vf64_input("whole"))
#include "crlibm/digamma/digamma_b64.h"
#undef rm_log_eval
#undef rm_lgamma_eval

/* So are those of betaln: each value is a number of its own, named by the letter and how many there were before. */
#include "crlibm/log1p/log1p_b64.h"
static int rec_calls[26];
static vf64 rec_call(char letter) {
  char name[16];
  snprintf(name, sizeof name, "%c%d", letter, rec_calls[letter - 'a']++);
  return vf64_input(name);
}
#define rm_log_eval(x) ((void)(x), vf64_input("log"))
#define rm_log1p_eval(x) ((void)(x), rec_call('l'))
#define rm_lgamma_eval(x) ((void)(x), rec_call('w'))
#define rm_betaln_rest(x) ((void)(x), rec_call('s'))
#include "crlibm/betaln/betaln_b64.h"
#undef rm_log_eval
#undef rm_log1p_eval
#undef rm_lgamma_eval
#undef rm_betaln_rest

#define RM_COMMON_PHILOX_H /* the generator makes no numbers here */
enum { RM_PHILOX_STEP = 8 };
static void rm_philox_fill(uint64_t seed, uint64_t stream, uint64_t counter, int64_t blocks, uint64_t *out) {
  (void)seed, (void)stream, (void)counter, (void)blocks, (void)out;
}
static void rm_philox_block(uint64_t seed, uint64_t stream, uint64_t counter, uint64_t *out) {
  (void)seed, (void)stream, (void)counter, (void)out;
}

/* Steps are rounded to nearest: random rounding tests the same bounds, and makes no numbers here. */
#define RM_COMMON_ROUNDING_VECTOR_H
static vm64 rm_round_ball_vector(vf64 value, vf64 radius, vi64 add, const int fmt, vf64 *r) {
  (void)radius, (void)add, (void)fmt, (void)r;
  return vf64_lt(value, value);
}

#include "src/nn/optim/clip_step.h"
#include "src/nn/formula/step.h"
#include "src/nn/loss/step.h"
#include "src/nn/optim/step.h"
#include "src/nn/rows/step.h"

/* Draws: a vector of one element, of which nothing is open; the random bytes are new numbers. */
static vi64 vi64_load(const int64_t *p) {
  (void)p;
  return (vi64){rec("iinput")};
}
#define vm64_bits(mask) ((void)(mask), 0u)
#define rm_store_elements(p, v, fmt) ((void)(p), (void)(v), (void)(fmt)) /* results of draws are not stored */
static vf64 vi64_round_f64(vi64 i) { return (vf64){rec("round_f64 #%d", i.id)}; }
static vf64 rec_unit(vi64 draw) {
  (void)draw;
  return vf64_input("u");
}
#include "src/random/uniform.h"

#include "crlibm/ndtri/normal_draw.h"
static void rec_quantile(vf64 *hi, vf64 *lo, vf64 *err) {
  *hi = vf64_input("hi"), *lo = vf64_input("lo"), *err = vf64_input("err");
}
#define rm_normal_eval(k) ((void)(k), vf64_input("quantile"))
#define rm_erfinv_of(u, v) ((void)(u), (void)(v), vf64_input("quantile"))
#define rm_erfinv_step_dd(z, u, ul, v, vl, hi, lo, err) ((void)(z), rec_quantile(hi, lo, err))
#define rm_erfinv_times_sqrt2_dd(hi, lo, err) ((void)(hi), (void)(lo), (void)(err))
#include "src/random/dropout.h"
#include "src/random/truncated.h"
#include "src/blas/gemm/alpha_beta.h"

static double places[6][8];
static const char *const place_names[] = {"p", "m", "v", "w", "g", "z"};
static const char *place_of(const void *p) {
  for (int i = 0; i < 6; i++)
    if (p == places[i]) return place_names[i];
  return "u"; /* a draw */
}
static char *at(int i) { return (char *)places[i]; }

static double named(const char *name) {
  static int count;
  const double x = 1.0 + 0x1.23456789p-3 * ++count;
  printf("name %s %a\n", name, x);
  return x;
}

int main(int argc, char **argv) {
  char kind[20];
  int fmt, option = 0, mode = 0;
  if (argc != 2 || sscanf(argv[1], "%19[a-z]-%d-%d-%d", kind, &fmt, &option, &mode) != 4) return 1;
  rm_step_vectors y;
  const rm_step_arrays a = {at(0), at(1), at(2), at(3), at(4)};
  if (!strcmp(kind, "sgd") || !strcmp(kind, "adam")) {
    rm_optimizer o = {.lr = named("lr"), .beta1 = named("beta1"), .beta2 = named("beta2"), .decay = named("decay")};
    rm_optimizer_constants *c = &o.constants;
    c->keep1[0] = named("keep1.hi"), c->keep1[1] = named("keep1.lo"), c->keep2[0] = named("keep2.hi"),
    c->keep2[1] = named("keep2.lo");
    c->rate[0] = named("rate.hi"), c->rate[1] = named("rate.lo"), c->eps[0] = named("eps.hi"), c->eps[1] = named("eps.lo");
    c->a[0] = named("a.hi"), c->a[1] = named("a.lo");
    if (!strcmp(kind, "sgd")) rm_sgd_values(&o, &a, fmt, option, mode, 0, &y);
    else rm_adam_values(&o, &a, fmt, option, mode, 0, &y);
  } else if (!strcmp(kind, "formula")) {
    rm_formula_problem job = {
        .formula = option, .format = fmt, .a = named("a"), .keep = {named("keep.hi"), named("keep.lo")}};
    vf64 result;
    rm_formula_values(&job, at(0), at(1), at(5), fmt, option, &result);
  } else if (!strcmp(kind, "row")) {
    rm_row_store s = {
        .u = places[0], .v = places[1], .w = places[2], .b = places[3], .a = named("a"), .c = named("c"), .d = named("d")};
    s.w0 = named("w0"), s.b0 = named("b0"), s.rel = named("rel"), s.err = named("err"), s.slope = named("slope");
    vf64 err;
    const vf64 value = rm_row_value(option, &s, 0, &err);
    rec_test("row", value, vf64_set1(0.0), err, NULL);
  } else if (!strcmp(kind, "clip")) {
    const rm_clip c = {.c = {named("c.hi"), named("c.lo")}};
    vf64 result;
    rm_clip_values(&c, at(0), fmt, &result);
  } else if (!strcmp(kind, "scaled")) {
    const rm_alpha_beta s = {.alpha = named("alpha"), .beta = named("beta")};
    vf64 err = vf64_input("err");
    const vf64 value = rm_alpha_beta_vector(&s, vf64_input("c"), vf64_input("d"), &err);
    rec_test("known", value, vf64_set1(0.0), err, NULL);
  } else if (!strcmp(kind, "logaddexp")) {
    const vf64 x[2] = {vf64_input("small"), vf64_input("big")};
    vf64 result;
    rm_logaddexp_b32(x, fmt, &result);
  } else if (!strcmp(kind, "reflected")) {
    vf64 err;
    const vf64 value = option ? rm_digamma_of_negative(vf64_input("x"), &err) : rm_lgamma_reflected(vf64_input("x"), &err);
    rec_test("row", value, vf64_set1(0.0), err, NULL);
  } else if (!strcmp(kind, "betaln")) {
    vf64 err = vf64_set1(RM_BETALN_SERIES_ERR);
    const vf64 value = option ? rm_betaln_series(vf64_input("v")) : rm_betaln_ordered(vf64_input("a"), vf64_input("b"), &err);
    rec_test(option ? "known" : "row", value, vf64_set1(0.0), err, NULL);
  } else if (!strcmp(kind, "term")) {
    rm_term_block block = {.x = places[0], .y = places[1], .g = places[2]};
    block.b = named("b"), block.scale = named("scale"), block.scale_low = named("scale_low");
    vf64 err, low = vf64_set1(0.0);
    const vf64 value = fmt == 3 ? rm_term_value_dd((rm_term_kind)option, mode, &block, 0, &low, &err)
                                : rm_term_value((rm_term_kind)option, mode, &block, 0, &err);
    rec_test(fmt == 3 ? "ends" : "row", value, low, err, NULL);
  } else if (!strcmp(kind, "uniform")) {
    static uint64_t random[RM_CHUNK_DRAWS], out[RM_CHUNK_DRAWS];
    rm_random_problem job = {.seed = 0};
    job.range =
        (struct rm_range){named("low"), named("high"), named("width"), named("width_error"), named("err"), RM_RANGE_TESTED};
    rm_make_uniform(&job, 0, 1, (const char *)random, (char *)out, fmt);
  } else if (!strcmp(kind, "normal")) {
    const struct rm_affine a_ = {named("mean"), named("std"), RM_AFFINE_SCALED};
    vf64 result;
    if (fmt == 3) rm_affine_f64(a_.mean, a_.std, vf64_input("hi"), vf64_input("lo"), vf64_input("err"), &result);
    else rm_scaled_step(&a_, vi64_set1(0), &result, fmt);
  } else if (!strcmp(kind, "truncated")) {
    const struct rm_truncation t = {.mean = named("mean"), .std = named("std")};
    const vf64 u = vf64_input("u"), v = vf64_input("v"), sign = vf64_input("sign");
    vf64 result;
    if (fmt == 3) rm_truncated_fast_f64(&t, u, u, v, v, sign, &result);
    else rm_truncated_step(&t, u, v, sign, &result, fmt);
  } else if (!strcmp(kind, "tails")) {
    const double tails[2][2] = {{named("tail0"), named("tail_low0")}, {named("tail1"), named("tail_low1")}};
    const vf64 h[2] = {vf64_input("weight0"), vf64_input("weight1")},
               l[2] = {vf64_input("weight_low0"), vf64_input("weight_low1")};
    vf64 t, low;
    rm_truncated_tail(tails, h, l, &t, &low);
    rec_test("known", t, low, vf64_mul(vf64_abs(t), vf64_set1(0x1p-100)), NULL);
  } else if (!strcmp(kind, "dropout")) {
    const struct rm_drop drop = {.hi = named("hi"), .lo = named("lo")};
    vf64 result;
    rm_kept_step(&drop, vf64_input("x"), &result, fmt);
  } else if (!strcmp(kind, "column")) {
    vf64 sum = vf64_set1(0.0), bound = vf64_set1(0.0);
    const vf64 g = vf64_load(places[0]), x = vf64_load(places[1]);
    const vf64 c = vf64_set1(named("c")), a_ = vf64_set1(named("a")), rel = vf64_set1(named("rel")),
               err = vf64_set1(named("err"));
    rm_row_column(g, x, c, a_, rel, err, &sum, &bound);
    rec_test("row", sum, vf64_set1(0.0), bound, NULL);
  } else {
    return 1;
  }
  return 0;
}
