/* The loops of random numbers, compiled once per ISA. */
#include "kernels.h"
#include "dropout.h"
#include "integers.h"
#include "normal.h"
#include "truncated.h"
#include "uniform.h"

static uint32_t words32(const rm_random_problem *problem, int64_t from, int64_t n) {
  return rm_random_loop(problem, from, n, 4, 4, rm_make_words32);
}
static uint32_t words64(const rm_random_problem *problem, int64_t from, int64_t n) {
  return rm_random_loop(problem, from, n, 8, 8, rm_make_words64);
}
static uint32_t bernoulli(const rm_random_problem *problem, int64_t from, int64_t n) {
  return rm_random_loop(problem, from, n, 8, 1, rm_make_bernoulli);
}
static uint32_t integers(const rm_random_problem *problem, int64_t from, int64_t n) {
  return rm_random_loop(problem, from, n, 8, 8, rm_make_integers);
}

#define RM_DEFINE(fmt, FMT, width)                                                                                          \
  RM_FN uint32_t make_uniform_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out) { \
    (void)from;                                                                                                             \
    return rm_make_uniform(problem, n, random, out, FMT);                                                                   \
  }                                                                                                                         \
  RM_FN uint32_t make_normal_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out) {  \
    return rm_make_normal(problem, from, n, random, out, FMT);                                                              \
  }                                                                                                                         \
  RM_FN uint32_t make_truncated_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random,            \
                                      char *out) {                                                                          \
    return rm_make_truncated(problem, from, n, random, out, FMT);                                                           \
  }                                                                                                                         \
  RM_FN uint32_t make_dropout_##fmt(const rm_random_problem *problem, int64_t from, int n, const char *random, char *out) { \
    return rm_make_dropout(problem, from, n, random, out, FMT);                                                             \
  }                                                                                                                         \
  static uint32_t uniform_##fmt(const rm_random_problem *problem, int64_t from, int64_t n) {                                \
    return rm_random_loop(problem, from, n, width, rm_size_of(FMT), make_uniform_##fmt);                                    \
  }                                                                                                                         \
  static uint32_t normal_##fmt(const rm_random_problem *problem, int64_t from, int64_t n) {                                 \
    return rm_random_loop(problem, from, n, 8, rm_size_of(FMT), make_normal_##fmt);                                         \
  }                                                                                                                         \
  static uint32_t truncated_##fmt(const rm_random_problem *problem, int64_t from, int64_t n) {                              \
    return rm_random_loop(problem, from, n, 8, rm_size_of(FMT), make_truncated_##fmt);                                      \
  }                                                                                                                         \
  static uint32_t dropout_##fmt(const rm_random_problem *problem, int64_t from, int64_t n) {                                \
    return rm_random_loop(problem, from, n, 8, rm_size_of(FMT), make_dropout_##fmt);                                        \
  }
RM_DEFINE(f16, RM_F16, 4)
RM_DEFINE(bf16, RM_BF16, 4)
RM_DEFINE(f32, RM_F32, 4)
RM_DEFINE(f64, RM_F64, 8)

const struct rm_random_kernels RM_ISA_SYMBOL(rm_random_table) = {
    words32,
    words64,
    bernoulli,
    integers,
    {uniform_f16, uniform_bf16, uniform_f32, uniform_f64},
    {normal_f16, normal_bf16, normal_f32, normal_f64},
    {truncated_f16, truncated_bf16, truncated_f32, truncated_f64},
    {dropout_f16, dropout_bf16, dropout_f32, dropout_f64}};
