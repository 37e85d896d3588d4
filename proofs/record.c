/* Prints the expression graph of the kernel named by the argument: kernels.def says which there are. The headers of the
 * functions are included from the command line (proofs/graph.py), after record.h. */
#include <string.h>

static void out(const char *name, vf64 v) { printf("out %s #%d\n", name, v.id); }

#define RM_PROOF_EVAL(name, test, bound, domain) \
  if (!strcmp(argv[1], #name "_b64")) {          \
    out("y", rm_##name##_eval(vf64_input("x"))); \
    out("claim", vf64_set1(bound));              \
  }
#define RM_PROOF_EVAL_G(name, test, bound, domain)  \
  if (!strcmp(argv[1], #name "_b64")) {             \
    vf64 g = vf64_input("g");                       \
    out("y", rm_##name##_eval(g, vf64_input("x"))); \
    out("claim", vf64_set1(bound));                 \
  }
#define RM_PROOF_EVAL_G_WITHIN(name, domain)              \
  if (!strcmp(argv[1], #name "_b64")) {                   \
    vf64 g = vf64_input("g"), err;                        \
    out("y", rm_##name##_eval(g, vf64_input("x"), &err)); \
    out("err", err);                                      \
  }
#define RM_PROOF_EVAL_WITHIN(name, share, domain)        \
  if (!strcmp(argv[1], #name "_b64")) {                  \
    vf64 err;                                            \
    out("y", rm_##name##_within(vf64_input("x"), &err)); \
    out("err", vf64_mul(err, vf64_set1(share)));         \
  }
/* What gamma functions are reflected by. */
#define RM_PROOF_TURN(name, value, test, bound, domain) \
  if (!strcmp(argv[1], #name "_turn_b64")) {            \
    vf64 x = vf64_input("x"), y;                        \
    value;                                              \
    out("y", y), out("claim", vf64_set1(bound));        \
  }
#define RM_PROOF_TURN_WITHIN(name, value, bound, domain) \
  if (!strcmp(argv[1], #name "_turn_b64")) {             \
    vf64 x = vf64_input("x"), y;                         \
    value;                                               \
    out("y", y), out("err", vf64_set1(bound));           \
  }
#define RM_PROOF_EVAL_WORD(name, test, bound, domain) RM_PROOF_EVAL(name, test, bound, domain)
#define RM_PROOF_TRIG(name, test, bound, domain) RM_PROOF_EVAL(name, test, bound, domain)
#define RM_PROOF_TRIG_LARGE(name, test, bound, domain) \
  if (!strcmp(argv[1], #name "_large_b64")) {          \
    out("y", rm_##name##_eval_large(vf64_input("x"))); \
    out("claim", vf64_set1(bound));                    \
  }
#define RM_PROOF_HALF_TURN(name, test, bound, domain) RM_PROOF_EVAL(name, test, bound, domain)
#define RM_PROOF_EVAL_2(name, test, bound)                   \
  if (!strcmp(argv[1], #name "_b64")) {                      \
    vf64 first = vf64_input("first");                        \
    out("y", rm_##name##_eval(first, vf64_input("second"))); \
    out("claim", vf64_set1(bound));                          \
  }
#define RM_PROOF_POW_LOG(name, bound, domain)      \
  if (!strcmp(argv[1], #name "_log_b64")) {        \
    vf64 g = vf64_input("g");                      \
    out("y", rm_pow_exponent(vf64_input("x"), g)); \
    out("claim", vf64_set1(bound));                \
  }
/* As rows of src/nn call exp: for any number of binary64. */
#define RM_PROOF_ROW(name, test, bound, domain)  \
  if (!strcmp(argv[1], #name "_row_b64")) {      \
    out("y", rm_##name##_eval(vf64_input("x"))); \
    out("claim", vf64_set1(bound));              \
  }
/* As the double-double kernel begins, from numbers of binary64. */
#define RM_PROOF_START(name, test, bound, domain) \
  if (!strcmp(argv[1], #name "_start_b64")) {     \
    out("y", rm_##name##_eval(vf64_input("x")));  \
    out("claim", vf64_set1(bound));               \
  }
/* The argument is within `given` of x, relatively. */
#define RM_PROOF_GIVEN(kernel, value, given_, bound) \
  if (!strcmp(argv[1], kernel)) {                    \
    out("y", value);                                 \
    out("given", vf64_set1(given_));                 \
    out("claim", vf64_set1(bound));                  \
  }
#define RM_PROOF_POW_EXP(name, test, given, bound, domain) \
  RM_PROOF_GIVEN(#name "_exp_b64", rm_exp_eval(vf64_input("x")), given, bound)
#define RM_PROOF_TAIL(name, given, bound, domain) \
  RM_PROOF_GIVEN(#name "_tail_b64", rm_softplus_tail(vf64_input("x")), given, bound)
#define RM_PROOF_DD(name, domain)                    \
  if (!strcmp(argv[1], #name "_dd")) {               \
    vf64 hi, lo, err;                                \
    rm_##name##_dd(vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);   \
  }

#define RM_PROOF_DD_ONE_OCTAVE(name, domain) RM_PROOF_DD(name, domain)
#define RM_PROOF_DD_HALF_TURN(name, domain) RM_PROOF_DD(name, domain)
/* Up to what the proof of the function of a reduced argument begins with (angles.py), which allows this part of rh. */
#define RM_PROOF_DD_HALF_TURN_REST(name, domain)                 \
  if (!strcmp(argv[1], #name "_reduction_dd")) {                 \
    vf64 rh, rl;                                                 \
    vi64 k;                                                      \
    rm_sinpi_reduce_dd(vf64_abs(vf64_input("x")), &k, &rh, &rl); \
    out("hi", rh), out("lo", rl), out("k", vf64_from_bits(k));   \
    out("err", vf64_mul(vf64_abs(rh), vf64_set1(0x1p-104)));     \
  }

/* The same with exp by its bound; with a second argument of the program as DD, for comparison. */
#define RM_PROOF_DD_COMPOSED_AS(kernel, name)        \
  if (!strcmp(argv[1], kernel)) {                    \
    vf64 hi, lo, err;                                \
    rec_exp_known = argc == 2;                       \
    rm_##name##_dd(vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);   \
  }
#define RM_PROOF_DD_COMPOSED(name, domain) RM_PROOF_DD_COMPOSED_AS(#name "_dd", name)
#define RM_PROOF_DD_SMALL(name, domain) RM_PROOF_DD_COMPOSED_AS(#name "_small_dd", name)
#define RM_PROOF_DD_LIMIT(name, domain) RM_PROOF_DD_COMPOSED_AS(#name "_limit_dd", name)
#define RM_PROOF_DD_2(name)                                      \
  if (!strcmp(argv[1], #name "_dd")) {                           \
    vf64 first = vf64_input("first"), hi, lo, err;               \
    rm_##name##_dd(first, vf64_input("second"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);               \
  }
/* log(1 + e^-(x + low)) added to a number that may be any; exp by its bound. */
#define RM_PROOF_DD_SUM(name, domain)                               \
  if (!strcmp(argv[1], #name "_dd")) {                              \
    vf64 big = vf64_input("big"), x = vf64_input("x"), hi, lo, err; \
    rec_exp_known = argc == 2;                                      \
    rm_softplus_sum_dd(big, x, vf64_input("low"), &hi, &lo, &err);  \
    out("hi", hi), out("lo", lo), out("err", err);                  \
  }
#define RM_PROOF_DD_CIRCLE(name, domain) RM_PROOF_DD_COMPOSED(name, domain)
#define RM_PROOF_DD_COMPUTED(name, domain) RM_PROOF_DD_COMPOSED(name, domain)
#define RM_PROOF_DD_COMPUTED_G(name, domain) RM_PROOF_DD_COMPOSED_G(name, domain)
#define RM_PROOF_DD_COMPOSED_G(name, domain)            \
  if (!strcmp(argv[1], #name "_dd")) {                  \
    vf64 g = vf64_input("g"), hi, lo, err;              \
    rec_exp_known = argc == 2;                          \
    rm_##name##_dd(g, vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);      \
  }

/* As DD: graph.py and prove.py know another domain of the same function. */
#define RM_PROOF_DD_OCTAVES(name) RM_PROOF_DD(name, "")
/* exp, exp2 and exp10 as rm_exp_fast_dd rounds them, which does not show the two parts. */
#define RM_PROOF_DD_STEPS(name, reduce)                     \
  if (!strcmp(argv[1], #name "_dd")) {                      \
    vf64 x = vf64_input("x"), rh, rl, h, c, t, hi, lo, err; \
    vi64 k;                                                 \
    reduce;                                                 \
    rm_exp_series_dd(rh, rl, &h, &c, &t);                   \
    rm_exp_unscaled_dd(k, rh, h, c, &hi, &lo, &err);        \
    out("hi", hi), out("lo", lo);                           \
    out("err", vf64_set1(2.05 * RM_EXP_DD_ERR));            \
  }

#define RM_PROOF_DD_STEPS_EXACT(name, reduce) RM_PROOF_DD_STEPS(name, reduce)
/* rm_exp_sum_dd before the scaling. */
#define RM_PROOF_DD_STEPS_LOW(name, reduce)            \
  if (!strcmp(argv[1], #name "_sum_dd")) {             \
    vf64 x = vf64_input("x"), low = vf64_input("low"); \
    vf64 rh, rl, h, c, t, hi, lo, err;                 \
    vi64 k;                                            \
    reduce;                                            \
    rm_exp_series_dd(rh, rl, &h, &c, &t);              \
    rm_exp_unscaled_dd(k, rh, h, c, &hi, &lo, &err);   \
    out("hi", hi), out("lo", lo), out("err", err);     \
  }

/* log |x| times y, then e^z for a z that is within `given` of x + low. */
#define RM_PROOF_DD_POW_LOG(name, bound)                        \
  if (!strcmp(argv[1], #name "_log_dd")) {                      \
    vf64 g = vf64_input("g"), claim = vf64_set1(bound), hi, lo; \
    rm_##name##_exponent_dd(vf64_input("x"), g, &hi, &lo);      \
    out("hi", hi), out("lo", lo), out("claim", claim);          \
    out("err", vf64_mul(vf64_abs(hi), claim));                  \
  }
/* The first evaluation for numbers of 53 bits, from which the loop takes the range of the result. */
#define RM_PROOF_DD_POW_RANGE(name, bound)                        \
  if (!strcmp(argv[1], #name "_range_b64")) {                     \
    vf64 g = vf64_input("g"), claim = vf64_set1(bound);           \
    vf64 z = rm_##name##_exponent(vf64_input("x"), g);            \
    out("hi", z), out("lo", vf64_set1(0.0)), out("claim", claim); \
    out("err", vf64_mul(vf64_abs(z), claim));                     \
  }
#define RM_PROOF_DD_POW_EXP(name, given_)                          \
  if (!strcmp(argv[1], #name "_exp_dd")) {                         \
    vf64 x = vf64_input("x"), low = vf64_input("low");             \
    vf64 rh, rl, h, c, t, hi, lo, err;                             \
    vi64 k;                                                        \
    rm_exp_reduce_dd(x, low, &k, &rh, &rl);                        \
    rm_exp_series_dd(rh, rl, &h, &c, &t);                          \
    rm_exp_unscaled_dd(k, rh, h, c, &hi, &lo, &err);               \
    out("hi", hi), out("lo", lo), out("given", vf64_set1(given_)); \
    out("err", vf64_set1(2.05 * RM_POW_DD_ERR));                   \
  }

/* With powers of two as operations of their own. */
#define RM_PROOF_DD_SCALED(name, domain)             \
  if (!strcmp(argv[1], #name "_large_dd")) {         \
    vf64 hi, lo, err;                                \
    rec_scale_known = 1;                             \
    rm_##name##_dd(vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);   \
  }

#define RM_PROOF_DD_SCALED_BASE(name, domain) RM_PROOF_DD_SCALED(name, domain)

/* log by itself, the argument's second part being whatever the analysis chooses: far from 1, and near it, where the table
 * gives 1. */
#define RM_PROOF_DD_LOG_SUM_AS(kernel, name)                   \
  if (!strcmp(argv[1], kernel)) {                              \
    vf64 x = vf64_input("x"), low = {rec("low")}, hi, lo, err; \
    rm_##name##_dd_of(x, low, &hi, &lo, &err);                 \
    out("hi", hi), out("lo", lo), out("err", err);             \
  }
#define RM_PROOF_DD_LOG_SUM(name) RM_PROOF_DD_LOG_SUM_AS(#name "_sum_dd", name)
#define RM_PROOF_DD_LOG_PARTS(name) RM_PROOF_DD_LOG_SUM_AS(#name "_parts_dd", name)
#define RM_PROOF_DD_LOG_NEAR_AS(kernel)                                    \
  if (!strcmp(argv[1], kernel)) {                                          \
    vf64 x = vf64_input("x"), low = {rec("low")}, hi, lo, err;             \
    int one = 0;                                                           \
    while (rm_log_c[one] != 1.0) one++;                                    \
    rm_log_sum_dd(vf64_set1(0.0), vi64_set1(one), x, low, &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);                         \
  }
#define RM_PROOF_DD_LOG_NEAR(name) RM_PROOF_DD_LOG_NEAR_AS(#name "_near_dd")
#define RM_PROOF_DD_LOG_PARTS_NEAR(name) RM_PROOF_DD_LOG_NEAR_AS(#name "_parts_dd")
#define RM_PROOF_DD_LOG_KNOWN(name, domain)          \
  if (!strcmp(argv[1], #name "_dd")) {               \
    vf64 hi, lo, err;                                \
    rec_log_known = argc == 2;                       \
    rm_##name##_dd(vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);   \
  }
#define RM_PROOF_DD_LOG_RANGE(name, domain) RM_PROOF_DD_LOG_KNOWN(name, domain)
#define RM_PROOF_DD_LOG_BASE(name, domain) RM_PROOF_DD_LOG_KNOWN(name, domain)
#define RM_PROOF_DD_LOG_NDTR(name, domain)           \
  if (!strcmp(argv[1], #name "_dd")) {               \
    vf64 hi, lo, err;                                \
    rec_exp_known = rec_log_known = argc == 2;       \
    rm_##name##_dd(vf64_input("x"), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);   \
  }

/* The step of erfinv and ndtri, from an argument x near the result, with both of its branches: a selection takes one. */
#define RM_PROOF_DD_STEP_AS(kernel, name)                                                \
  if (!strcmp(argv[1], kernel)) {                                                        \
    vf64 y = vf64_input("x"), uh = vf64_input("uh"), ul = vf64_input("ul"), hi, lo, err; \
    vf64 vh = vf64_input("vh"), vl = vf64_input("vl");                                   \
    rec_exp_known = argc == 2, rec_both_branches = 1;                                    \
    rm_erfinv_step_dd(y, uh, ul, vh, vl, &hi, &lo, &err);                                \
    if (!strcmp(#name, "ndtri")) rm_erfinv_times_sqrt2_dd(&hi, &lo, &err);               \
    out("hi", hi), out("lo", lo), out("err", err);                                       \
  }
#define RM_PROOF_DD_STEP(name, domain) RM_PROOF_DD_STEP_AS(#name "_dd", name)
#define RM_PROOF_DD_STEP_SMALL(name, domain) RM_PROOF_DD_STEP_AS(#name "_small_dd", name)

/* sin, cos and tan from their reduced argument on, k being whatever the analysis chooses. */
#define RM_PROOF_DD_ANGLE(name)                                        \
  if (!strcmp(argv[1], #name "_dd")) {                                 \
    vf64 rh = vf64_input("x"), rl = vf64_input("low"), hi, lo, err;    \
    vi64 k = {rec("turn")};                                            \
    rm_##name##_reduced_dd(k, rh, rl, vf64_set1(0.0), &hi, &lo, &err); \
    out("hi", hi), out("lo", lo), out("err", err);                     \
  }
/* As rm_sin_turned_f64 has it with turn = 1. */
#define RM_PROOF_DD_ANGLE_TURNED(name)                              \
  if (!strcmp(argv[1], #name "_dd")) {                              \
    vf64 rh = vf64_input("x"), rl = vf64_input("low"), hi, lo, err; \
    vi64 k = vi64_add((vi64){rec("turn")}, vi64_set1(8));           \
    rm_sin_reduced_dd(k, rh, rl, vf64_set1(0.0), &hi, &lo, &err);   \
    out("hi", hi), out("lo", lo), out("err", err);                  \
  }
#define RM_PROOF_REDUCTION(kernel, reduce)                        \
  if (!strcmp(argv[1], kernel)) {                                 \
    vf64 rh, rl, err;                                             \
    vi64 k;                                                       \
    reduce(vf64_input("x"), &k, &rh, &rl, &err);                  \
    err = vf64_mul(err, vf64_set1(1.0 - 0x1p-20));                \
    out("hi", rh), out("lo", rl);                                 \
    out("err", vf64_mad(vf64_abs(rh), vf64_set1(0x1p-104), err)); \
  }
#define RM_PROOF_DD_TURNS(name) RM_PROOF_REDUCTION("sin_reduction_dd", rm_sin_reduce_dd)
#define RM_PROOF_DD_TURNS_FAR(name) RM_PROOF_REDUCTION("sin_far_dd", rm_sin_reduce_far_dd)

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) return 1;
#include "kernels.def"
  return rec_nodes == 0;
}
