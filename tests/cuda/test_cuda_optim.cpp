/* The launchers of optimiser steps and gradient clipping against the CPU library, every byte of all arrays (device.h). */
#include <repmath/cuda.h>
#include <repmath/optim.h>
#include <repmath/random.h>

#include <math.h>

#include <initializer_list>

#include "device.h"

static const int64_t N = 300, ROOM = 8 * N + 8; /* bytes of an array */
static char cpu[5 * ROOM];
BOTH_SIDES char gpu[5 * ROOM];
BOTH_SIDES uint64_t squares[RM_CUDA_ACCUMULATOR_BYTES / 8];
BOTH_SIDES double root;

static const int widths[] = {2, 2, 4, 8}; /* bytes by format */

/* p, g, m, v, w: of the generator's bits (NaN, infinity, subnormal numbers too), or numbers near 1, or few digits: ties. */
enum { BITS, NEAR_1, SHORT, KINDS };
static void fill(int format, int kind, uint64_t seed) {
  memset(cpu, 0x5a, sizeof cpu);
  for (uint64_t k = 0; k < 5; k++) {
    char *at = cpu + k * ROOM + (kind == BITS);
    const int size = widths[format];
    if (kind == BITS) rm_random_words32(seed, k, 0, N * size / 4, reinterpret_cast<uint32_t *>(cpu + k * ROOM), 4);
    if (kind == BITS) memmove(at, cpu + k * ROOM, static_cast<size_t>(N * size));
    if (kind == NEAR_1) rm_random_uniform(format, seed, k, 0, N, k < 3 ? -1 : 0, 1.5, at, size);
    if (kind == SHORT)
      for (int64_t i = 0; i < N; i++) {
        uint32_t word;
        double x;
        rm_random_words32(seed, k, i, 1, &word, 4);
        x = ldexp((k < 3 ? 8.0 : 0.0) - word % 16, -static_cast<int>(word >> 8 & 3));
        if (k >= 3) x = -x;
        if (format == RM_FORMAT_F64) memcpy(at + i * 8, &x, 8);
        if (format == RM_FORMAT_F32) {
          const float f = static_cast<float>(x);
          memcpy(at + i * 4, &f, 4);
        }
        if (format < RM_FORMAT_F32) rm_random_uniform(format, 0, 0, 0, 1, x, x, at + i * 2, 2);
      }
  }
  memcpy(gpu, cpu, sizeof gpu);
}
static char *array(char *base, int k, int kind) { return base + k * ROOM + (kind == BITS); }
#define ARRAYS(base) array(base, 0, kind), array(base, 1, kind), array(base, 2, kind), array(base, 3, kind)

static void sgd(int format, int kind, int64_t n, const rm_sgd_options &o) {
  fill(format, kind, 7);
  compare_memory(
      "sgd", cpu, gpu,
      [&] { return rm_sgd_step(format, n, array(cpu, 0, kind), array(cpu, 1, kind), array(cpu, 2, kind), &o); },
      [&] {
        return rm_cuda_sgd_step(format, n, array(gpu, 0, kind), array(gpu, 1, kind), array(gpu, 2, kind), &o, nullptr);
      });
}

static void adam(int format, int kind, int64_t n, bool largest, const rm_adam_options &o) {
  fill(format, kind, 11);
  compare_memory(
      "adam", cpu, gpu, [&] { return rm_adam_step(format, n, ARRAYS(cpu), largest ? array(cpu, 4, kind) : nullptr, &o); },
      [&] { return rm_cuda_adam_step(format, n, ARRAYS(gpu), largest ? array(gpu, 4, kind) : nullptr, &o, nullptr); });
}

/* p - lr is a midpoint, and what decides is beta^t with t = 100,000: the deepest of all tiers. */
static void beside_a_limit(int format, int bits) {
  const rm_adam_options o = {ldexp(1, -bits - 1), 0.5, 0.25, 0, 0, 100000, 0, 0};
  memset(cpu, 0, sizeof cpu);
  for (int k = 0; k < 4; k++) rm_random_uniform(format, 0, 0, 0, 2, 1, 1, cpu + k * ROOM, widths[format]);
  memcpy(gpu, cpu, sizeof gpu);
  const int kind = NEAR_1;
  compare_memory(
      "beside a limit", cpu, gpu, [&] { return rm_adam_step(format, 2, ARRAYS(cpu), nullptr, &o); },
      [&] { return rm_cuda_adam_step(format, 2, ARRAYS(gpu), nullptr, &o, nullptr); });
}

static void clip(int format, int kind, int64_t n, double max_norm) {
  fill(format, kind, 13);
  rm_accumulator *sum = rm_accumulator_new();
  const char *g = array(gpu, 1, kind);
  const int size = widths[format];
  double expected = 0;
  memset(squares, 0, sizeof squares);
  for (int part = 0; part < 2; part++) { /* twice the same: 2 S */
    const void *x = array(cpu, 1, kind);
    if (format == RM_FORMAT_F16) rm_accumulator_add_products_f16(sum, n, (const rm_f16 *)x, 2, (const rm_f16 *)x, 2);
    if (format == RM_FORMAT_BF16) rm_accumulator_add_products_bf16(sum, n, (const rm_bf16 *)x, 2, (const rm_bf16 *)x, 2);
    if (format == RM_FORMAT_F32) rm_accumulator_add_products_f32(sum, n, (const float *)x, 4, (const float *)x, 4);
    if (format == RM_FORMAT_F64) rm_accumulator_add_products_f64(sum, n, (const double *)x, 8, (const double *)x, 8);
    check(rm_cuda_add_products(format, n, g, size, g, size, squares, nullptr) == RM_OK, "add_products");
  }
  check(rm_root_of_total(sum, &expected) == RM_OK && rm_cuda_root_of_total(squares, &root, nullptr) == RM_OK && device_idle(),
        "root");
  check(memcmp(&expected, &root, sizeof root) == 0, "root of the total");
  compare_memory(
      "clip", cpu, gpu, [&] { return rm_clip_to_norm(format, n, array(cpu, 1, kind), sum, max_norm); },
      [&] { return rm_cuda_clip_to_norm(format, n, array(gpu, 1, kind), squares, max_norm, nullptr); });
  rm_accumulator_free(sum);
}

static void refusals() {
  rm_sgd_options s = {0.1, 0.9, 0, 0, 0, 0, 0};
  rm_adam_options a = {0.1, 0.9, 0.99, 1e-8, 0, 1, 0, 0};
  char *p = gpu, *g = gpu + ROOM, *m = gpu + 2 * ROOM, *v = gpu + 3 * ROOM;
  for (int format = -1; format <= 4; format += 5) {
    check(rm_status_code(rm_cuda_sgd_step(format, 2, p, g, m, &s, nullptr)) == RM_ERR_ENUM, "format");
    check(rm_status_code(rm_cuda_adam_step(format, 2, p, g, m, v, nullptr, &a, nullptr)) == RM_ERR_ENUM, "format");
    check(rm_status_code(rm_cuda_clip_to_norm(format, 2, g, squares, 1, nullptr)) == RM_ERR_ENUM, "format");
    check(rm_status_code(rm_cuda_add_products(format, 2, g, 8, g, 8, squares, nullptr)) == RM_ERR_ENUM, "format");
  }
  check(rm_cuda_sgd_step(RM_FORMAT_F64, 2, p, g, nullptr, &s, nullptr) == rm_sgd_step(RM_FORMAT_F64, 2, p, g, nullptr, &s),
        "null");
  check(rm_cuda_sgd_step(RM_FORMAT_F64, 2, p, p + 8, m, &s, nullptr) == rm_sgd_step(RM_FORMAT_F64, 2, p, p + 8, m, &s),
        "overlap");
  check(rm_cuda_sgd_step(RM_FORMAT_F64, 2, p, g, m, nullptr, nullptr) == rm_sgd_step(RM_FORMAT_F64, 2, p, g, m, nullptr),
        "options");
  check(rm_cuda_adam_step(RM_FORMAT_F64, -1, p, g, m, v, nullptr, &a, nullptr) == RM_STATUS(RM_ERR_SIZE, 2), "size");
  a.step = 0;
  check(rm_cuda_adam_step(RM_FORMAT_F64, 2, p, g, m, v, nullptr, &a, nullptr) == RM_STATUS(RM_ERR_RANGE, 8), "range");
  check(rm_cuda_clip_to_norm(RM_FORMAT_F64, 2, g, squares, NAN, nullptr) == RM_STATUS(RM_ERR_RANGE, 5), "range");
  check(rm_cuda_clip_to_norm(RM_FORMAT_F64, 2, g, nullptr, 1, nullptr) == RM_STATUS(RM_ERR_NULL, 4), "null");
}

int main() {
  /* lr, momentum, dampening, decay, nesterov, maximize, first; the last ones leave the range of the fast step */
  static const rm_sgd_options steps[] = {{0.1, 0, 0, 0, 0, 0, 0},
                                         {0.5, 0, 0, 0.25, 0, 1, 0},
                                         {0.1, 0.9, 0.1, 0, 0, 0, 0},
                                         {0.1, 0.5, 0, 0.01, 1, 0, 0},
                                         {0.25, 0.9, 0, 0, 0, 0, 1},
                                         {1e-70, 0.9, 0, 0, 0, 0, 0},
                                         {0.1, 0.9, 1 - 0x1p-53, 0, 0, 0, 0}};
  /* lr, beta1, beta2, eps, decay, step, decoupled, maximize */
  static const rm_adam_options adams[] = {{1e-3, 0.9, 0.999, 1e-8, 0, 1, 0, 0},
                                          {0.5, 0.5, 0.75, 0.25, 0.5, 2, 1, 0},
                                          {1e-2, 0.9, 0.99, 1e-8, 0.01, 1000, 0, 1},
                                          {0.25, 0, 0, 0, 0, 1, 0, 0},
                                          {1e-3, 0.9, 0.999, 1e-80, 0, 3, 0, 0}};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++) {
      for (auto &o : steps) sgd(format, kind, o.lr < 1e-50 ? 40 : N, o);
      for (auto &o : adams)
        for (int largest = 0; largest < 2; largest++) adam(format, kind, o.eps > 0 && o.eps < 1e-50 ? 40 : N, largest, o);
      for (double norm : {0.0, 0.1, 1.0, 1e30, 1e-60}) clip(format, kind, N, norm);
    }
  beside_a_limit(RM_FORMAT_F16, 11);
  beside_a_limit(RM_FORMAT_F64, 53);
  refusals();
  return checked();
}
