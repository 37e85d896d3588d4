/* Trains a small convolutional network and prints the SHA-256 of its weights after each step.
 * tests/packaging/test_training_c.py has the same loop in NumPy, and compares. Usage: training STEPS */
#include <stdlib.h>

#include <repmath/repmath.h>

#include "sha256.h"

enum {
  F32 = RM_FORMAT_F32,
  BATCH = 24,
  SIDE = 9,
  CHANNELS = 5,
  HALF = SIDE / 2,
  INNER = CHANNELS * HALF * HALF,
  CLASSES = 10
};

static void must(rm_status status) {
  if (status != RM_OK) {
    printf("status %d: %s\n", (int)status, rm_status_message(status));
    exit(1);
  }
}

typedef struct {
  float kernel[CHANNELS * 9], kernel_bias[CHANNELS], weight[CLASSES * INNER], bias[CLASSES];
} parameters;

static float x[BATCH * SIDE * SIDE], conv[BATCH * CHANNELS * SIDE * SIDE], active[BATCH * CHANNELS * SIDE * SIDE],
    pooled[BATCH * INNER], scores[BATCH * CLASSES], loss;
static float g_scores[BATCH * CLASSES], g_pooled[BATCH * INNER], g_active[BATCH * CHANNELS * SIDE * SIDE],
    g_conv[BATCH * CHANNELS * SIDE * SIDE];
static int64_t target[BATCH];
static parameters p, g, momentum;

static const ptrdiff_t of_x[4] = {4 * SIDE * SIDE, 4 * SIDE * SIDE, 4 * SIDE, 4}, of_kernel[4] = {36, 36, 12, 4},
                       of_conv[4] = {4 * CHANNELS * SIDE * SIDE, 4 * SIDE * SIDE, 4 * SIDE, 4},
                       of_pooled[4] = {4 * INNER, 4 * HALF * HALF, 4 * HALF, 4};
static const rm_conv convolution = {2, BATCH, 1, CHANNELS, 1, {SIDE, SIDE}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
static const rm_pool pool = {2, 0, BATCH, CHANNELS, {SIDE, SIDE}, {HALF, HALF}, {2, 2}, {2, 2}, {1, 1}, {0, 0}};

static void gradients(void) {
  const int64_t n = BATCH * CHANNELS * SIDE * SIDE;
  must(rm_conv_forward(F32, &convolution, x, of_x, p.kernel, of_kernel, p.kernel_bias, 4, conv, of_conv));
  must(rm_vsilu_f32(n, conv, 4, active, 4));
  must(rm_avg_pool(F32, &pool, 1, 0, active, of_conv, pooled, of_pooled));
  must(rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_TRANS, BATCH, CLASSES, INNER, pooled, INNER, p.weight, INNER, p.bias,
                     scores, CLASSES));
  rm_cross_entropy_problem problem = {BATCH, CLASSES, scores, 4 * CLASSES, 4,   target,           8, 0, 0,
                                      0,     0,       0,      -100,        0.1, RM_REDUCTION_MEAN};
  must(rm_cross_entropy(F32, &problem, &loss, 0));

  const float one = 1;
  must(rm_cross_entropy_backward(F32, &problem, &one, 0, g_scores, 4 * CLASSES, 4));
  must(rm_matmul_f32(RM_ROW_MAJOR, RM_TRANS, RM_NO_TRANS, CLASSES, INNER, BATCH, g_scores, CLASSES, pooled, INNER, NULL,
                     g.weight, INNER));
  for (int c = 0; c < CLASSES; c++) must(rm_sum_f32(BATCH, g_scores + c, 4 * CLASSES, g.bias + c));
  must(rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, BATCH, INNER, CLASSES, g_scores, CLASSES, p.weight, INNER, NULL,
                     g_pooled, INNER));
  must(rm_avg_pool_backward(F32, &pool, 1, 0, g_pooled, of_pooled, g_active, of_conv));
  must(rm_vsilu_backward_f32(n, g_active, 4, conv, 4, g_conv, 4));
  must(rm_conv_grad_weight(F32, &convolution, x, of_x, g_conv, of_conv, g.kernel, of_kernel));
  for (int c = 0; c < CHANNELS; c++) { /* the images one after the other: one exact sum */
    rm_accumulator *total = rm_accumulator_new();
    if (!total) exit(2);
    for (int i = 0; i < BATCH; i++)
      must(rm_accumulator_add_f32(total, SIDE * SIDE, g_conv + (i * CHANNELS + c) * SIDE * SIDE, 4));
    must(rm_accumulator_round_f32(total, g.kernel_bias + c));
    rm_accumulator_free(total);
  }
}

int main(int count, char **given) {
  const int steps = count > 1 ? atoi(given[1]) : 4;
  must(rm_random_normal(F32, 1, 0, 0, BATCH * SIDE * SIDE, 0, 1, x, 4));
  must(rm_random_integers(2, 0, 0, BATCH, 0, CLASSES - 1, target, 8));
  must(rm_random_uniform(F32, 3, 0, 0, CHANNELS * 9, -0.5, 0.5, p.kernel, 4));
  must(rm_random_uniform(F32, 4, 0, 0, CLASSES * INNER, -0.125, 0.125, p.weight, 4));
  for (int step = 0; step < steps; step++) {
    gradients();
    const rm_sgd_options options = {0.3, 0.9, 0, 1e-3, 1, 0, step == 0};
    must(rm_sgd_step(F32, sizeof p / 4, &p, &g, &momentum, &options));
    struct sha256 s;
    char text[65];
    sha256_begin(&s);
    sha256_feed(&s, &p, sizeof p);
    sha256_feed(&s, &loss, sizeof loss);
    sha256_end(&s, text);
    printf("step%d %s\n", step, text);
  }
  return 0;
}
