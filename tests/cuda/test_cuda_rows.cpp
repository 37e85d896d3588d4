/* The launchers of softmax, its relatives, norms, cross entropy and their gradients against the CPU library, every byte of
 * the output (device.h). */
#include <repmath/cuda.h>
#include <repmath/nn.h>

#include <cmath>
#include <initializer_list>

#include "samples.h"

static const int64_t ROOM = 1 << 18; /* bytes of an array */
static char cpu[4 * ROOM];
BOTH_SIDES char gpu[4 * ROOM];

/* Array k of rows of n elements: its first element, the bytes between rows and elements. One layout is backward and
 * misaligned. */
struct layout {
  int format;
  int64_t rows, n;
  bool odd;
  ptrdiff_t stride() const { return widths[format] * (odd ? -2 : 1); }
  ptrdiff_t row() const { return widths[format] * (odd ? 2 * n + 1 : n); }
  char *at(char *base, int k) const { return base + k * ROOM + (odd ? 1 + 2 * widths[format] * (n - 1) * (n > 0) : 0); }
};
static void fill_rows(const layout &l, int kind) {
  memset(cpu, 0x5a, sizeof cpu);
  for (int k = 0; k < 2; k++)
    for (int64_t r = 0; r < l.rows; r++)
      fill(l.at(cpu, k) + r * l.row(), l.format, (kind + r) % KINDS, l.n, l.stride(), static_cast<uint64_t>(2 * r + k));
  memcpy(gpu, cpu, sizeof gpu);
}

typedef rm_status forward_fn(int, int64_t, int64_t, const void *, ptrdiff_t, ptrdiff_t, void *, ptrdiff_t, ptrdiff_t);
typedef rm_status cuda_forward_fn(int, int64_t, int64_t, const void *, ptrdiff_t, ptrdiff_t, void *, ptrdiff_t, ptrdiff_t,
                                  rm_cuda_stream);
typedef rm_status backward_fn(int, int64_t, int64_t, const void *, ptrdiff_t, ptrdiff_t, const void *, ptrdiff_t, ptrdiff_t,
                              void *, ptrdiff_t, ptrdiff_t);
typedef rm_status cuda_backward_fn(int, int64_t, int64_t, const void *, ptrdiff_t, ptrdiff_t, const void *, ptrdiff_t,
                                   ptrdiff_t, void *, ptrdiff_t, ptrdiff_t, rm_cuda_stream);

/* out: 2, or 0 for results in the place of the input. */
static void forward(const char *what, const layout &l, int kind, int out, forward_fn *f, cuda_forward_fn *g) {
  const ptrdiff_t r = l.row(), s = l.stride();
  fill_rows(l, kind);
  compare_memory(
      what, cpu, gpu, [&] { return f(l.format, l.rows, l.n, l.at(cpu, 0), r, s, l.at(cpu, out), r, s); },
      [&] { return g(l.format, l.rows, l.n, l.at(gpu, 0), r, s, l.at(gpu, out), r, s, nullptr); });
}
static void backward(const char *what, const layout &l, int kind, int out, backward_fn *f, cuda_backward_fn *g) {
  const ptrdiff_t r = l.row(), s = l.stride();
  fill_rows(l, kind);
  compare_memory(
      what, cpu, gpu, [&] { return f(l.format, l.rows, l.n, l.at(cpu, 0), r, s, l.at(cpu, 1), r, s, l.at(cpu, out), r, s); },
      [&] { return g(l.format, l.rows, l.n, l.at(gpu, 0), r, s, l.at(gpu, 1), r, s, l.at(gpu, out), r, s, nullptr); });
}
static void logsumexp(const layout &l, int kind) {
  const ptrdiff_t r = l.row(), s = l.stride(), y = widths[l.format] + l.odd;
  fill_rows(l, kind);
  compare_memory(
      "logsumexp", cpu, gpu, [&] { return rm_logsumexp(l.format, l.rows, l.n, l.at(cpu, 0), r, s, cpu + 2 * ROOM, y); },
      [&] { return rm_cuda_logsumexp(l.format, l.rows, l.n, l.at(gpu, 0), r, s, gpu + 2 * ROOM, y, nullptr); });
}

/* Sets of rows x n elements each as layer, group, batch and instance norm see them; k chooses what is given. */
static void norms(int format, int kind, int k, int64_t a, int64_t c, int64_t n) {
  const ptrdiff_t size = widths[format], row = c * n * size;
  const ptrdiff_t plain[] = {row, n * size, 0, size}, channel[] = {row, n * size, 0, size},
                  batch[] = {0, n * size, row, size};
  const ptrdiff_t by_element[] = {0, 0, 0, size}, by_channel[] = {0, size, 0, 0};
  const bool columns = k % 3 == 2; /* batch norm */
  const rm_norm_sets sets = {k % 5 != 4, {columns ? 1 : a, c}, columns ? a : 1, n};
  const ptrdiff_t *s = columns ? batch : k % 2 ? channel : plain, *sw = columns ? by_channel : by_element;
  static const double eps[] = {1e-5, 0, 0.25};
  const layout l = {format, a * c, n, false};
  fill_rows(l, kind);
  const bool given = k == 5;
  for (int side = 0; side < 2; side++) { /* w, b, mean and variance: rows of the third array */
    char *to = (side ? gpu : cpu) + 2 * ROOM;
    rm_random_uniform(format, 3, 4, 0, n + c, -2, 2, to, size);
    rm_random_uniform(format, 3, 5, 0, n + c, 0, 2, to + ROOM / 2, size);
  }
  auto call = [&](char *base, bool device, bool backward) -> rm_status {
    const char *w = base + 2 * ROOM, *v = w + ROOM / 2, *mean = given ? w : nullptr, *variance = given ? v : nullptr;
    const char *b = k % 2 ? nullptr : v;
    char *x = base, *g = base + ROOM, *out = k % 3 == 1 ? x : base + 3 * ROOM;
    if (k == 1) w = nullptr;
    const double e = eps[k % 3];
    if (!backward && !device)
      return rm_normalize(format, &sets, x, s, w, sw, b, sw, mean, by_channel, variance, by_channel, e, out, s);
    if (!backward)
      return rm_cuda_normalize(format, &sets, x, s, w, sw, b, sw, mean, by_channel, variance, by_channel, e, out, s, nullptr);
    if (!device)
      return rm_normalize_backward(format, &sets, g, s, x, s, w, sw, mean, by_channel, variance, by_channel, e, out, s);
    return rm_cuda_normalize_backward(format, &sets, g, s, x, s, w, sw, mean, by_channel, variance, by_channel, e, out, s,
                                      nullptr);
  };
  compare_memory("normalize", cpu, gpu, [&] { return call(cpu, false, false); }, [&] { return call(gpu, true, false); });
  compare_memory(
      "normalize_backward", cpu, gpu, [&] { return call(cpu, false, true); }, [&] { return call(gpu, true, true); });
}

/* Statistics of a x c sets of n elements. With the momentum 1 a running mean becomes the mean. Of a set that is constant, or
 * not finite, there is no root without eps. beside: the mean is beside a midpoint, by less than a rounding of binary64. */
static void found(int format, int kind, int k, int64_t a, int64_t c, int64_t n, bool beside) {
  const ptrdiff_t size = widths[format], s[] = {c * n * size, n * size, 0, size};
  const rm_norm_sets sets = {k % 3 != 2, {a, c}, 1, n};
  const double eps = k % 2 ? 0 : 1e-5;
  const layout l = {format, a * c, n, false};
  fill_rows(l, kind);
  if (beside) {
    memset(cpu, 0, sizeof cpu);
    for (int64_t i = 0; i < a * c; i++) {
      const double terms[] = {static_cast<double>(n), ldexp(static_cast<double>(n), -24), i % 2 ? 0x1p-60 : -0x1p-60};
      for (int j = 0; j < 3; j++) put(cpu + (i * n + j) * size, format, terms[j]);
    }
    memcpy(gpu, cpu, sizeof gpu);
  }
  const ptrdiff_t each = a * c * size;
  auto call = [&](char *base, bool device) -> rm_status {
    char *const y = base + 3 * ROOM, *const root = base + ROOM, *const mean = sets.centered ? root + each : nullptr,
                *const running = sets.centered && eps > 0 ? root + 2 * each : nullptr;
    if (device) {
      const rm_status status = rm_cuda_normalize(format, &sets, base, s, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                                                 nullptr, nullptr, eps, y, s, nullptr);
      return status ? status
                    : rm_cuda_norm_statistics(format, &sets, base, s, eps, mean, root, 1, format, running, nullptr, nullptr);
    }
    const rm_status status =
        rm_normalize_with_statistics(format, &sets, base, s, nullptr, nullptr, nullptr, nullptr, eps, y, s, mean, root);
    if (running) memcpy(running, mean, static_cast<size_t>(each));
    return status;
  };
  if (!beside) /* that a running statistic which is not finite stays */
    for (char *base : {cpu, static_cast<char *>(gpu)}) memset(base + ROOM, 0x11, static_cast<size_t>(3 * each));
  compare_memory(
      beside ? "statistics beside a midpoint" : "statistics", cpu, gpu, [&] { return call(cpu, false); },
      [&] { return call(gpu, true); });
}

/* Variances with n - 1 = 2^j that are a midpoint of f32, 1 + 2^-11 + 2^-24, or above it by far less than a rounding of
 * binary64: with the momentum 1, running ones, on which eps has no effect. */
static void variances_beside(int j, double eps) {
  const int64_t n = (INT64_C(1) << j) + 1, sets_of_both = 8;
  const double b = ldexp(1 + 0x1p-12, j / 2 - 1);
  const rm_norm_sets sets = {1, {1, sets_of_both}, 1, n};
  const ptrdiff_t s[] = {0, 4 * n, 0, 4};
  memset(cpu, 0, sizeof cpu);
  for (int64_t i = 0; i < sets_of_both; i++) {
    const double d = i % 2 ? ldexp(1, -40 - static_cast<int>(i)) : 0, terms[] = {b, -b, b, -b, d, -d};
    for (int k = 0; k < 6; k++) put(cpu + 4 * (i * n + (k * (i + 1)) % n), RM_FORMAT_F32, terms[k]);
    put(cpu + ROOM + 4 * i, RM_FORMAT_F32, 3);
  }
  memcpy(gpu, cpu, sizeof gpu);
  compare_memory(
      "variances beside a midpoint", cpu, gpu,
      [&] {
        for (int64_t i = 0; i < sets_of_both; i++)
          put(cpu + ROOM + 4 * i, RM_FORMAT_F32, i % 2 ? 1 + 0x1p-11 + 0x1p-23 : 1 + 0x1p-11);
        return RM_OK;
      },
      [&] {
        return rm_cuda_norm_statistics(RM_FORMAT_F32, &sets, gpu, s, eps, nullptr, nullptr, 1, RM_FORMAT_F32, nullptr,
                                       gpu + ROOM, nullptr);
      });
}

/* Gradients by weights: of columns of sets, of a block or of all blocks of each second index. mixed: rows of all kinds. */
static void norm_weights(int format, int kind, bool mixed, int k, int64_t a, int64_t c, int64_t blocks, int64_t n) {
  const ptrdiff_t size = widths[format], step = k % 2 ? -size : size, row = n * step;
  const bool columns = k < 2, all_blocks = k < 4, batch = k == 4;
  if (columns) blocks = 1;
  const ptrdiff_t plain[] = {c * blocks * row, blocks * row, row, step}, of_batch[] = {0, row, c * row, step};
  const ptrdiff_t by_column[] = {0, 0, 0, size}, by_set[] = {0, size, 0, 0}, by_block[] = {0, blocks * size, size, 0};
  const ptrdiff_t given[] = {c * size, size, 0, 0};
  const rm_norm_sets sets = {k % 3 != 2, {batch ? 1 : a, c}, batch ? a : blocks, n};
  const ptrdiff_t *s = batch ? of_batch : plain, *sdw = columns ? by_column : all_blocks || batch ? by_set : by_block;
  const int64_t rows = batch ? a * c : a * c * blocks, odd = k % 2 && !batch;
  check((rows * n + 1) * size < ROOM, "memory");
  memset(cpu, 0x5a, sizeof cpu);
  for (int64_t i = 0; i < 2 * rows; i++) /* x, then g */
    fill(cpu + i / rows * ROOM + odd + i % rows * n * size, format, mixed ? (kind + i) % KINDS : kind, n, size,
         static_cast<uint64_t>(i));
  rm_random_uniform(format, 3, 4, 0, a * c, 0, 2, cpu + 2 * ROOM, size);
  memcpy(gpu, cpu, sizeof gpu);
  auto call = [&](char *base, bool device) -> rm_status {
    const char *x = base + odd - (odd ? (rows * n - 1) * step : 0), *g = x + ROOM,
               *m = k % 4 == 3 ? base + 2 * ROOM : nullptr;
    char *dw = base + 3 * ROOM + odd;
    const double eps = k == 2 ? 0 : 1e-5;
    if (!device) return rm_normalize_backward_weight(format, &sets, g, s, x, s, m, given, m, given, eps, dw, sdw);
    return rm_cuda_normalize_backward_weight(format, &sets, g, s, x, s, m, given, m, given, eps, dw, sdw, nullptr);
  };
  compare_memory("normalize_backward_weight", cpu, gpu, [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
}

/* Sums that are a tie and less than a rounding of binary64: 60 weights, of seven terms each, one in 32 of a block's. x is 1,
 * and its given statistics change nothing. */
static void norm_weights_beside(bool columns) {
  enum { WEIGHTS = 60, TERMS = 7, APART = 32 };
  const int format = RM_FORMAT_F32;
  const rm_norm_sets sets = {1, {columns ? TERMS : 1, columns ? 1 : WEIGHTS}, 1, columns ? WEIGHTS : TERMS * APART};
  const ptrdiff_t row = 4 * sets.inner, s[] = {row, row, 0, 4}, of_column[] = {0, 0, 0, 4}, of_set[] = {0, 4, 0, 0},
                  one[] = {0, 0, 0, 0};
  memset(cpu, 0, sizeof cpu);
  for (int64_t i = 0; i < WEIGHTS * TERMS * APART; i++) put(cpu + 4 * i, format, 1);
  put(cpu + 2 * ROOM + 4, format, 1);
  for (int64_t w = 0; w < WEIGHTS; w++)
    for (int64_t k = 0; k < TERMS; k++) {
      double u;
      rm_random_uniform(RM_FORMAT_F64, 5, static_cast<uint64_t>(w), k, 1, -1, 1, &u, 8);
      const double sign = w % 2 ? -1 : 1, term = k == 0 ? sign * 0x1p24 : k == 1 ? sign : u * 0x1p-28;
      put(cpu + ROOM + (columns ? k * row + 4 * w : w * row + 4 * k * APART), format, term);
    }
  memcpy(gpu, cpu, sizeof gpu);
  auto call = [&](char *base, bool device) -> rm_status {
    const char *m = base + 2 * ROOM, *v = m + 4;
    const ptrdiff_t *sdw = columns ? of_column : of_set;
    if (!device)
      return rm_normalize_backward_weight(format, &sets, base + ROOM, s, base, s, m, one, v, one, 0, base + 3 * ROOM, sdw);
    return rm_cuda_normalize_backward_weight(format, &sets, base + ROOM, s, base, s, m, one, v, one, 0, base + 3 * ROOM, sdw,
                                             nullptr);
  };
  compare_memory(
      columns ? "weights of columns beside a tie" : "weights of sets beside a tie", cpu, gpu,
      [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
}

/* Losses and gradients; a target may be no class: then all results are NaN, where the CPU refuses. */
BOTH_SIDES int64_t target[32];
static void cross_entropy(const layout &l, int kind, int k) {
  const ptrdiff_t size = widths[l.format];
  fill_rows(l, kind);
  for (int side = 0; side < 2;
       side++) { /* probabilities in the second array, weights and gradients of the loss in the third */
    char *base = side ? gpu : cpu;
    rm_random_uniform(l.format, 9, 1, 0, l.rows * l.n, 0, 1, base + ROOM, size);
    rm_random_uniform(l.format, 9, 2, 0, l.n + 64, 0.125, 2, base + 2 * ROOM, size);
    if (k == 4) rm_random_uniform(l.format, 9, 3, 0, 64, -2, 2, base + 2 * ROOM + l.n * size, size);
  }
  for (int64_t i = 0; i < l.rows; i++) target[i] = i % 5 == 3 ? -100 : (7 * i + k) % l.n;
  auto call = [&](char *base, bool device, bool backward) -> rm_status {
    rm_cross_entropy_problem p = {};
    p.rows = l.rows, p.n = l.n, p.x = l.at(base, 0), p.row_x = l.row(), p.stride_x = l.stride();
    if (k % 4 == 3) p.probability = base + ROOM, p.row_probability = l.n * size, p.stride_probability = size;
    else p.target = target, p.stride_target = 8;
    if (k % 2) p.weight = base + 2 * ROOM, p.stride_weight = size;
    p.ignore_index = -100, p.label_smoothing = k % 3 == 2 ? 0.125 : 0, p.reduction = k % 3;
    const char *g = base + 2 * ROOM + l.n * size;
    char *out = base + 3 * ROOM;
    if (!backward)
      return device ? rm_cuda_cross_entropy(l.format, &p, out, size, nullptr) : rm_cross_entropy(l.format, &p, out, size);
    if (!device) return rm_cross_entropy_backward(l.format, &p, g, size, out, l.row(), size);
    return rm_cuda_cross_entropy_backward(l.format, &p, g, size, out, l.row(), size, nullptr);
  };
  compare_memory("cross_entropy", cpu, gpu, [&] { return call(cpu, false, false); }, [&] { return call(gpu, true, false); });
  compare_memory(
      "cross_entropy_backward", cpu, gpu, [&] { return call(cpu, false, true); }, [&] { return call(gpu, true, true); });
  if (k % 4 == 3) return;
  target[0] = l.n;
  check(rm_status_code(call(cpu, false, true)) == RM_ERR_INDEX && call(gpu, true, true) == RM_OK && device_idle(),
        "a wrong target");
  float nan = 0;
  if (l.format == RM_FORMAT_F32) memcpy(&nan, gpu + 3 * ROOM, 4), check(nan != nan, "NaN for a wrong target");
}

/* Losses and gradients of which parts cancel or overflow: weights of a divisor, a probability and smoothing, logarithms below
 * the tail; and infinities beside them. NaN in x: -infinity. */
struct parts {
  int format, rows, n;
  double x[25], w[5], p, smoothing, g; /* p: the probability of every class, or 0 for the targets 0, 1, 2, ... */
};
static void entropy_parts(const parts &c, int reduction) {
  const ptrdiff_t size = widths[c.format];
  memset(cpu, 0x5a, sizeof cpu);
  for (int i = 0; i < c.rows * c.n; i++) {
    put(cpu + i * size, c.format, c.x[i] == c.x[i] ? c.x[i] : -HUGE_VAL);
    put(cpu + ROOM + i * size, c.format, c.p);
  }
  for (int i = 0; i < c.n; i++) put(cpu + 2 * ROOM + i * size, c.format, c.w[i]);
  for (int i = 0; i < c.rows; i++) put(cpu + 2 * ROOM + (c.n + i) * size, c.format, c.g), target[i] = i % c.n;
  memcpy(gpu, cpu, sizeof gpu);
  auto call = [&](char *base, bool device, bool backward) -> rm_status {
    rm_cross_entropy_problem p = {};
    p.rows = c.rows, p.n = c.n, p.x = base, p.row_x = c.n * size, p.stride_x = size, p.weight = base + 2 * ROOM,
    p.stride_weight = size;
    if (c.p != 0) p.probability = base + ROOM, p.row_probability = c.n * size, p.stride_probability = size;
    else p.target = target, p.stride_target = 8;
    p.ignore_index = -100, p.label_smoothing = c.smoothing, p.reduction = reduction;
    const char *g = base + 2 * ROOM + c.n * size;
    char *out = base + 3 * ROOM;
    if (!backward)
      return device ? rm_cuda_cross_entropy(c.format, &p, out, size, nullptr) : rm_cross_entropy(c.format, &p, out, size);
    if (!device) return rm_cross_entropy_backward(c.format, &p, g, size, out, c.n * size, size);
    return rm_cuda_cross_entropy_backward(c.format, &p, g, size, out, c.n * size, size, nullptr);
  };
  const char *what = "cross_entropy of parts that cancel";
  compare_memory(what, cpu, gpu, [&] { return call(cpu, false, false); }, [&] { return call(gpu, true, false); });
  compare_memory(what, cpu, gpu, [&] { return call(cpu, false, true); }, [&] { return call(gpu, true, true); });
}
static void entropies_of_parts() {
  const double no = NAN;
  const parts cases[] = {
      {RM_FORMAT_F32,
       5,
       5,
       {0, no, no, no, no, no, 0, no, no, no, 0, no, 0, no, no, no, no, no, 0, no, no, no, no, no, 0},
       {0x1p120, 1, 0x1p-100, -0x1p120, -1},
       0,
       0,
       1},
      {RM_FORMAT_F32, 2, 2, {0, 0, 1, 0}, {1, -1}, 0, 0, 1},
      {RM_FORMAT_F32, 2, 2, {0, no, no, 0}, {1, -1}, 0, 0, 1},
      {RM_FORMAT_F32, 2, 2, {0, 0, 1, 0}, {HUGE_VAL, 1}, 0, 0, 1},
      {RM_FORMAT_F32, 1, 2, {0.8216181397438049, 0.3304370641708374}, {1, 1}, -0.19475296139717102, 0.28031973111551554, 1},
      {RM_FORMAT_F64, 1, 2, {no, 0}, {1, 1}, -0.19475296139717102, 0.28031973111551554, 1},
      {RM_FORMAT_F32, 3, 3, {-0x1p24, 0, no, 0, -0x1p24, no, -9000, no, 0}, {1, 0x1p-24, -0.5}, 0, 0, 1},
      {RM_FORMAT_F64, 1, 2, {100, 0}, {1e109, 1}, 1e200, 0, 1e-5},
      {RM_FORMAT_F64, 3, 2, {0, 0, 1, 2, 0, 0}, {1.5e308, -1.7e308}, 0, 0, 1e308},
  };
  for (const parts &c : cases)
    for (int reduction = 0; reduction < 3; reduction++) entropy_parts(c, reduction);
}

#if defined(RM_TEST_EMULATE)
/* Bytes of workspace for a softmax of 2000 rows, of arrays that nothing reads. */
static int64_t workspace_of_rows(int64_t n) {
  float *const x = reinterpret_cast<float *>(UINT64_C(1) << 20), *const y = reinterpret_cast<float *>(UINT64_C(1) << 40);
  size_t bytes = 0;
  rm_cuda_measure_workspace();
  const rm_status status = rm_cuda_softmax(RM_FORMAT_F32, 2000, n, x, 4 * n, 4, y, 4 * n, 4, nullptr);
  rm_cuda_end_workspace(&bytes);
  check(status == RM_OK, "a workspace of rows");
  return static_cast<int64_t>(bytes);
}
#endif

int main() {
  entropies_of_parts();
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 12; k++) {
      const bool wide = format == RM_FORMAT_F64;
      cross_entropy({format, wide ? 7 : 14, wide ? 9 : 30, k % 5 == 1}, k, k);
      if (!wide && k < 3) cross_entropy({format, 2, 2000, false}, WIDE, k);
      if (!wide) cross_entropy({format, 14, 1000, k % 3 == 1}, k, 6 * k); /* targets without probabilities or smoothing */
      if (wide) cross_entropy({format, 2, 300, false}, k % KINDS, k);
    }
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 6; k++)
      for (int kind = 0; kind < KINDS; kind += 2) {
        norms(format, kind, k, 3, 4, format == RM_FORMAT_F64 ? 7 : 40);
        if (format != RM_FORMAT_F64 && kind == 0) norms(format, kind, k, 2, 2, 1500);
        if (format == RM_FORMAT_F64) norms(format, kind, k, 2, 2, 300); /* threads have several elements each */
      }
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 6; k++) {
      for (int kind = 0; kind < KINDS; kind++) found(format, kind, k, 2, 3, k % 2 ? 33 : 1 + k, false);
      if (format == RM_FORMAT_F32 && k % 3 != 2) found(format, 0, k, 2, 4, 64, true);
    }
  for (int j = 4; j < 10; j += 2)
    for (int k = 1; k < 8; k++) variances_beside(j, 0.1 * k); /* of some eps the rounded value is beyond the midpoint */
  norm_weights_beside(true);
  norm_weights_beside(false);
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 6; k++) {
      for (int kind = (format + k) % 2; kind < KINDS; kind += 2) norm_weights(format, kind, kind % 3 == 2, k, 2, 3, 2, 5);
      if (k < 2) norm_weights(format, WIDE, false, k, 70, 2, 1, 20); /* more sets than a share adds plainly */
      if (k > 2) norm_weights(format, NEAR_0, false, k, 2, 2, 1, 500);
      norm_weights(format, SHORT, false, k, 5, 7, 3, 1);
    }
  for (int format = 0; format < 4; format++)
    for (int k = 0; k < 7; k++) {
      static const int64_t shapes[][2] = {{14, 33}, {7, 700}, {21, 3}, {2, 9000}, {14, 1}, {3, 0}, {14, 1500}};
      int64_t rows = shapes[k][0], n = shapes[k][1];
      if (format == RM_FORMAT_F64 && n > 300) rows = 7, n = 300; /* every row is undecided */
      const layout l = {format, rows, n, k % 2 == 1};
      forward("softmax", l, k, k % 3 ? 2 : 0, rm_softmax, rm_cuda_softmax);
      forward("log_softmax", l, k, k % 3 ? 2 : 0, rm_log_softmax, rm_cuda_log_softmax);
      logsumexp(l, k);
      backward("softmax_backward", l, k, k % 3, rm_softmax_backward, rm_cuda_softmax_backward);
      backward("log_softmax_backward", l, k, k % 3, rm_log_softmax_backward, rm_cuda_log_softmax_backward);
    }
#if defined(RM_TEST_EMULATE)
  check(workspace_of_rows(5000) < INT64_C(2000) * 5000 * 32, "long rows are in shared memory, in their format");
  check(workspace_of_rows(6000) > INT64_C(2000) * 6000 * 32, "rows for which it has no room are not");
#endif
  return checked();
}
