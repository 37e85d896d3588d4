/* Prints the expression graph of a step of optimisers, formulas, rows or draws, named by the argument: the source of the library over
 * proofs/record.h, with its rounding tests as outputs. A number that a call is given is a constant that nothing else has; a line
 * "name <name> <constant>" says which. */
#include <string.h>

#define LOAD(name, type)                                              \
  RM_FN vf64 name(const type *p) {                                    \
    return vf64_input(place_of((const void *)p));                     \
  }
static const char *place_of(const void *p);
LOAD(vf64_load, double)
LOAD(vf64_load_f32, float)
LOAD(vf64_load_f16, uint16_t)
LOAD(vf64_load_bf16, uint16_t)
#define STORE(name, type)                 \
  RM_FN void name(type *p, vf64 v) {      \
    (void)p, (void)v;                     \
    rec_stop("a store");                  \
  }
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
#define rm_vtwo_sum rec_two_sum

/* The tests: what they are given, and what is rounded is a new number. */
static int tests;
static vm64 rec_test(const char *kind, vf64 hi, vf64 lo, vf64 err, vf64 *y) {
  char name[16];
  printf("out %s%d.hi #%d\nout %s%d.lo #%d\nout %s%d.err #%d\n", kind, tests, hi.id, kind, tests, lo.id, kind, tests, err.id);
  snprintf(name, sizeof name, "r%d", tests++);
  if (y) *y = vf64_input(name);
  return (vm64){rec("test")};
}
#define WATCH_rm_settle(y, err, reach, fmt, r)                                              \
  ({                                                                                        \
    const rm_vpair y_ = (y);                                                                \
    if ((fmt) != RM_F64) rec_test("reach", y_.hi, vf64_set1(0.0), reach, NULL), tests--;    \
    rec_test((fmt) == RM_F64 ? "ends" : "settle", y_.hi, y_.lo, err, r);                    \
  })
#define WATCH_vf64_undecided_f64(hi, lo, err, y) rec_test("ends", hi, lo, err, y)
#define WATCH_vf64_undecided_within(y, err, fmt) rec_test("row", y, vf64_set1(0.0), err, NULL)
#define WATCH_vf64_undecided_any(y, rel, fmt) rec_test("reach", y, vf64_set1(0.0), vf64_mul(vf64_abs(y), vf64_set1(rel)), NULL)

#include "src/nn/formulas_step.h"
#include "src/nn/optimizers_step.h"
#include "src/nn/rows_step.h"

static double places[6][8];
static const char *const place_names[] = {"p", "m", "v", "w", "g", "z"};
static const char *place_of(const void *p) {
  for (int i = 0; i < 6; i++)
    if (p == places[i]) return place_names[i];
  rec_stop("a load from somewhere");
  return NULL;
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
    c->keep1[0] = named("keep1.hi"), c->keep1[1] = named("keep1.lo"), c->keep2[0] = named("keep2.hi"), c->keep2[1] = named("keep2.lo");
    c->rate[0] = named("rate.hi"), c->rate[1] = named("rate.lo"), c->eps[0] = named("eps.hi"), c->eps[1] = named("eps.lo");
    c->a[0] = named("a.hi"), c->a[1] = named("a.lo");
    if (!strcmp(kind, "sgd"))
      rm_sgd_values(&o, &a, fmt, option, mode, &y);
    else
      rm_adam_values(&o, &a, fmt, option, 0, &y);
  } else if (!strcmp(kind, "formula")) {
    rm_formula_job job = {.formula = option, .format = fmt, .a = named("a"), .keep = {named("keep.hi"), named("keep.lo")}};
    vf64 result;
    rm_formula_values(&job, at(0), at(1), at(5), fmt, option, &result);
  } else if (!strcmp(kind, "row")) {
    rm_row_store s = {.u = places[0], .v = places[1], .w = places[2], .b = places[3], .a = named("a"), .c = named("c"), .d = named("d")};
    s.w0 = named("w0"), s.b0 = named("b0"), s.rel = named("rel"), s.err = named("err"), s.slope = named("slope");
    vf64 err;
    const vf64 value = rm_row_value(option, &s, 0, &err);
    rec_test("row", value, vf64_set1(0.0), err, NULL);
  } else {
    return 1;
  }
  return 0;
}
