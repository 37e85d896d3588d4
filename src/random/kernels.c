/* The loops of random numbers, compiled once per ISA. */
#include "kernels.h"
#include "dropout.h"
#include "integers.h"
#include "normal.h"
#include "truncated.h"
#include "uniform.h"

/* Names a loop of the table: rm_random_loop for one maker and format. */
#define RM_LOOP(name, width, size, make, fmt)                                       \
  static uint32_t name(const rm_random_problem *problem, int64_t from, int64_t n) { \
    return rm_random_loop(problem, from, n, width, size, make, fmt);                \
  }
#define RM_LOOPS(fmt, FMT, size, uniform_width)                     \
  RM_LOOP(uniform_##fmt, uniform_width, size, rm_make_uniform, FMT) \
  RM_LOOP(normal_##fmt, 8, size, rm_make_normal, FMT)               \
  RM_LOOP(truncated_##fmt, 8, size, rm_make_truncated, FMT)         \
  RM_LOOP(dropout_##fmt, 8, size, rm_make_dropout, FMT)

RM_LOOP(words32, 4, 4, rm_make_words32, RM_F32)
RM_LOOP(words64, 8, 8, rm_make_words64, RM_F64)
RM_LOOP(bernoulli, 8, 1, rm_make_bernoulli, RM_F64)
RM_LOOP(integers, 8, 8, rm_make_integers, RM_F64)
RM_LOOPS(f16, RM_F16, 2, 4)
RM_LOOPS(bf16, RM_BF16, 2, 4)
RM_LOOPS(f32, RM_F32, 4, 4)
RM_LOOPS(f64, RM_F64, 8, 8)

const struct rm_random_kernels RM_ISA_SYMBOL(rm_random_table) = {
    words32,
    words64,
    bernoulli,
    integers,
    {uniform_f16, uniform_bf16, uniform_f32, uniform_f64},
    {normal_f16, normal_bf16, normal_f32, normal_f64},
    {truncated_f16, truncated_bf16, truncated_f32, truncated_f64},
    {dropout_f16, dropout_bf16, dropout_f32, dropout_f64}};
