/* The launchers of optimiser steps and gradient clipping against the CPU library, every byte of all arrays (device.h). */
#include <repmath/cuda.h>
#include <repmath/formulas.h>
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

/* Lists: sizes about those of a thread's word, of a warp and of a block's chunk, and none; of every three tensors the
 * arrays of one are aligned to words, of one to elements, and of one to nothing. */
enum { TENSORS = 75, PLACE = 9 << 10, LIST = TENSORS * 5 * PLACE };
static char cpu_list[LIST];
alignas(16) BOTH_SIDES char gpu_list[LIST];
static const int64_t list_sizes[21] = {1, 0, 33, 7, 513, 1024, 1, 1029, 8, 0, 256, 4, 515, 31, 2, 1023, 100, 16, 9, 64, 63};

static void fill_list(int format, uint64_t seed) {
  memset(cpu_list, 0x5a, sizeof cpu_list);
  const int size = widths[format];
  for (int t = 0; t < TENSORS; t++)
    for (int k = 0; k < 5; k++) {
      char *const at = cpu_list + (t * 5 + k) * PLACE;
      char *const first = at + (t % 3 == 0 ? 0 : t % 3 == 1 ? size : 1);
      const uint64_t stream = static_cast<uint64_t>(t * 5 + k);
      if (t % 5 == 4) {
        rm_random_words32(seed, stream, 0, 2100, reinterpret_cast<uint32_t *>(at), 4);
        memmove(first, at, 8400);
      } else {
        rm_random_uniform(format, seed, stream, 0, 1040, k < 3 ? -1 : 0, 1.5, first, size);
      }
    }
  memcpy(gpu_list, cpu_list, sizeof cpu_list);
}

static void listed(int format, int count, rm_cuda_step_arrays *tensors, char *base, bool largest) {
  const int size = widths[format];
  for (int t = 0; t < count; t++) {
    char *const at = base + t * 5 * PLACE + (t % 3 == 0 ? 0 : t % 3 == 1 ? size : 1);
    tensors[t] = {list_sizes[t % 21], at, at + PLACE, at + 2 * PLACE, at + 3 * PLACE, largest ? at + 4 * PLACE : nullptr};
  }
}

#if defined(RM_TEST_EMULATE)
extern "C" emulated_record *emulated_device();
static int64_t launches() { return emulated_device()->launches; }
#else
static int64_t launches() { return 0; }
#endif

template <class F, class G> static void lists(const char *what, int format, int count, bool largest, F on_cpu, G on_gpu) {
  rm_cuda_step_arrays here[TENSORS], there[TENSORS];
  listed(format, count, here, cpu_list, largest), listed(format, count, there, gpu_list, largest);
  fill_list(format, 17);
  compare_memory(
      what, cpu_list, gpu_list,
      [&] {
        rm_status status = RM_OK;
        for (int t = 0; t < count && status == RM_OK; t++) status = on_cpu(here[t]);
        return status;
      },
      [&] { return on_gpu(count, there); });
  int64_t full = 0;
  for (int t = 0; t < count; t++) full += here[t].n != 0;
  const int64_t before = launches();
  check(on_gpu(count, there) == RM_OK && device_idle(), what);
  const int64_t each = launches() - before;
  check(each <= 2 * ((full + 63) / 64), "a launch for 64 tensors");
  /* A control: a gradient of another tensor is seen. */
  fill_list(format, 17);
  there[0].g = there[2].g;
  for (int t = 0; t < count; t++) check(on_cpu(here[t]) == RM_OK, what);
  check(on_gpu(count, there) == RM_OK && device_idle() && memcmp(cpu_list, gpu_list, sizeof cpu_list) != 0,
        "another tensor's gradient");
}

static void sgd_lists(int format, int count, const rm_sgd_options &o) {
  lists(
      "sgd of a list", format, count, false,
      [&](const rm_cuda_step_arrays &t) { return rm_sgd_step(format, t.n, t.p, t.g, t.m, &o); },
      [&](int n, const rm_cuda_step_arrays *t) { return rm_cuda_sgd_steps(format, n, t, &o, nullptr, nullptr); });
}
static void adam_lists(int format, int count, bool largest, const rm_adam_options &o) {
  lists(
      "adam of a list", format, count, largest,
      [&](const rm_cuda_step_arrays &t) { return rm_adam_step(format, t.n, t.p, t.g, t.m, t.v, t.w, &o); },
      [&](int n, const rm_cuda_step_arrays *t) { return rm_cuda_adam_steps(format, n, t, &o, nullptr, nullptr); });
}

/* The quotient of n numbers by one that every format has; its zeros keep their signs. */
static void divide(int format, char *x, int64_t n, float scale) {
  static char zeros[8], by[8], was[8];
  const int size = widths[format];
  rm_random_uniform(format, 0, 0, 0, 1, static_cast<double>(scale), static_cast<double>(scale), by, size);
  for (int64_t i = 0; i < n; i++, x += size) {
    memcpy(was, x, static_cast<size_t>(size));
    check(rm_formula(RM_FORMULA_QUOTIENT, format, 1, 1, zeros, was, by, x) == RM_OK, "a quotient");
    bool zero = true;
    for (int k = 0; k < size; k++) zero = zero && x[k] == 0;
    if (zero) x[size - 1] = static_cast<char>(was[size - 1] & 0x80);
  }
}

/* Counts of steps, a scale of gradients and whether the step is left out, as the device finds them. */
BOTH_SIDES float on_device[TENSORS + 2];
static void reads_on_device(int format, int count, float scale, bool left_out, const rm_adam_options &given) {
  rm_cuda_step_arrays c[TENSORS], d[TENSORS];
  fill_list(format, count);
  listed(format, count, c, cpu_list, false);
  listed(format, count, d, gpu_list, false);
  for (int i = 0; i < count; i++) on_device[i] = static_cast<float>(1 + i % 3 * 500), d[i].count = on_device + i;
  on_device[TENSORS] = scale, on_device[TENSORS + 1] = left_out;
  const rm_cuda_step_scale read = {scale != 1 ? on_device + TENSORS : nullptr, on_device + TENSORS + 1};
  for (int i = 0; i < count && !left_out; i++) {
    rm_adam_options o = given;
    o.step = 1 + i % 3 * 500;
    if (scale != 1) divide(format, static_cast<char *>(const_cast<void *>(c[i].g)), c[i].n, scale);
    check(rm_adam_step(format, c[i].n, c[i].p, c[i].g, c[i].m, c[i].v, c[i].w, &o) == RM_OK, "a step");
  }
  check(rm_cuda_adam_steps(format, count, d, &given, &read, nullptr) == RM_OK && device_idle(), "a step on the device");
  check(memcmp(cpu_list, gpu_list, sizeof cpu_list) == 0, "what a step reads on the device");
  if (scale > 100) return; /* gradients that bfloat16 does not see */
  /* The control: another count of one tensor is seen; a step that is left out reads none. */
  static char expected[LIST];
  memcpy(expected, cpu_list, sizeof expected);
  fill_list(format, count);
  on_device[2] = 3;
  check(rm_cuda_adam_steps(format, count, d, &given, &read, nullptr) == RM_OK && device_idle(), "another count");
  check((memcmp(expected, gpu_list, sizeof expected) == 0) == left_out, "another count is seen");
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

static void refusals_of_lists() {
  const rm_sgd_options s = {0.1, 0.9, 0, 0, 0, 0, 0}, plain = {0.1, 0, 0, 0, 0, 0, 0};
  const rm_adam_options a = {0.1, 0.9, 0.99, 1e-8, 0, 1, 0, 0}, zeroth = {0.1, 0.9, 0.99, 1e-8, 0, 0, 0, 0};
  rm_cuda_step_arrays t[4];
  const int f64 = RM_FORMAT_F64;
  fill_list(f64, 3);
  const auto sgd = [&](int64_t n, const rm_sgd_options *o) { return rm_cuda_sgd_steps(f64, n, t, o, nullptr, nullptr); };
  const auto adam = [&](int64_t n, const rm_adam_options *o) { return rm_cuda_adam_steps(f64, n, t, o, nullptr, nullptr); };
  const auto whole = [&] { listed(f64, 4, t, gpu_list, true); };
  whole();
  check(rm_cuda_sgd_steps(4, 4, t, &s, nullptr, nullptr) == RM_STATUS(RM_ERR_ENUM, 1), "format");
  check(rm_cuda_adam_steps(-1, 4, t, &a, nullptr, nullptr) == RM_STATUS(RM_ERR_ENUM, 1), "format");
  check(sgd(-1, &s) == RM_STATUS(RM_ERR_SIZE, 2) && sgd(0, &s) == RM_OK, "count");
  check(rm_cuda_sgd_steps(f64, 0, nullptr, &s, nullptr, nullptr) == RM_OK, "no list");
  check(rm_cuda_sgd_steps(f64, 1, nullptr, &s, nullptr, nullptr) == RM_STATUS(RM_ERR_NULL, 3), "no list");
  check(sgd(4, nullptr) == RM_STATUS(RM_ERR_NULL, 4) && adam(4, &zeroth) == RM_STATUS(RM_ERR_RANGE, 4), "options");
  t[3].n = -1;
  check(sgd(4, &s) == RM_STATUS(RM_ERR_SIZE, 3), "size");
  whole(), t[2].m = nullptr;
  check(sgd(4, &s) == RM_STATUS(RM_ERR_NULL, 3) && sgd(2, &s) == RM_OK && sgd(4, &plain) == RM_OK, "null");
  whole(), t[2].w = nullptr;
  check(adam(4, &a) == RM_STATUS(RM_ERR_NULL, 3), "null");
  whole(), t[3].v = t[2].v, t[1].p = nullptr; /* which has no elements */
  check(adam(4, &a) == RM_STATUS(RM_ERR_OVERLAP, 3) && sgd(4, &s) == RM_OK, "overlap");
  whole(), t[3].g = t[0].m;
  check(sgd(4, &s) == RM_STATUS(RM_ERR_OVERLAP, 3), "overlap");
  whole(), t[3].g = t[2].g;
  check(sgd(4, &s) == RM_OK, "gradients that share bytes");
  memcpy(cpu_list, gpu_list, sizeof cpu_list);
  whole(), t[3].p = static_cast<char *>(t[2].p) + 8 * t[2].n - 1;
  check(sgd(4, &s) == RM_STATUS(RM_ERR_OVERLAP, 3) && memcmp(cpu_list, gpu_list, sizeof cpu_list) == 0, "overlap");
}

/* What the first kernel leaves is counted while it is asked for: nothing where sums are exact, all outside of its range. */
BOTH_SIDES uint64_t counter;
static void counts() {
  const rm_sgd_options exact = {0.5, 0, 0, 0, 0, 0, 0}, outside = {1e-70, 0, 0, 0, 0, 0, 0};
  const auto step = [&](const rm_sgd_options &o) {
    fill(RM_FORMAT_F32, SHORT, 7);
    check(rm_cuda_sgd_step(RM_FORMAT_F32, 40, gpu, gpu + ROOM, nullptr, &o, nullptr) == RM_OK && device_idle(), "counted");
    return counter;
  };
  check(rm_cuda_count_undecided(reinterpret_cast<uint64_t *>(gpu + 4)) == RM_STATUS(RM_ERR_RANGE, 1), "a counter's address");
  check(rm_cuda_count_undecided(&counter) == RM_OK && step(exact) == 0 && step(outside) >= 40, "counted elements");
  const uint64_t before = counter;
  check(rm_cuda_count_undecided(nullptr) == RM_OK && step(outside) == before, "no more");
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
  for (int format = 0; format < 4; format++) {
    for (int k = 0; k < 5; k++) sgd_lists(format, k == 0 ? TENSORS : 21, steps[k]);
    for (int k = 0; k < 4; k++) adam_lists(format, k == 1 ? TENSORS : 20, k % 2, adams[k]);
  }
  sgd_lists(RM_FORMAT_F32, 5, steps[5]); /* all elements in the accurate phase */
  for (int format = 0; format < 4; format++) {
    reads_on_device(format, TENSORS, 1, false, adams[0]);
    reads_on_device(format, 20, 3, false, adams[2]);
    reads_on_device(format, 20, 3, true, adams[1]);
    reads_on_device(format, 6, 0x1p12F, false, adams[4]); /* whose steps are all for the accurate phase */
  }
  refusals_of_lists();
  counts();
  beside_a_limit(RM_FORMAT_F16, 11);
  beside_a_limit(RM_FORMAT_F64, 53);
  refusals();
  return checked();
}
