/* The launchers of regression losses, of negative log likelihood and of their gradients against the CPU library, every byte
 * of the output (device.h). */
#include "loss_samples.h"

static void regression(const layout &l, int loss, double p, int reduction) {
  const ptrdiff_t s = l.stride(), sy = l.k % 5 == 4 ? 0 : s; /* one y for all */
  snprintf(what, sizeof what, "regression_loss %d, p %g: format %d, reduction %d, layout %d, n %d", loss, p, l.format,
           reduction, l.k, static_cast<int>(l.n));
  char saved[sizeof cpu];
  memcpy(saved, cpu, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, regression_loss, loss, p, l.format, reduction, l.n, l.at(base, X), s, l.at(base, Y), sy, l.out(base),
                s);
  });
  memcpy(cpu, saved, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, regression_loss_backward, loss, p, l.format, reduction, l.n, l.at(base, G), s, l.at(base, X), s,
                l.at(base, Y), sy, l.out(base), s);
  });
}

/* Ties behind a division: (q k)^2/(2 q^2) and g (q k)/q, for odd k and g such that the quotients have a bit more than the
 * format. */
static void ties(int format) {
  const int p = format == RM_FORMAT_F64 ? 53 : 24, half = p / 2;
  for (int gradient = 0; gradient < 2; gradient++) {
    const double q = odd_number(0x1p8, 0x1p10), low = gradient ? ldexp(1, half) : pow(2, p / 2.0);
    const layout l = {format, 1000, 0};
    clear();
    for (int64_t i = 0; i < l.n; i++) {
      put(l.at(cpu, X) + i * widths[format], format, q * odd_number(low, low * 1.41421));
      put(l.at(cpu, Y) + i * widths[format], format, 0);
      put(l.at(cpu, G) + i * widths[format], format, odd_number(ldexp(1, p - half), ldexp(1.41421, p - half)));
    }
    regression(l, RM_LOSS_SMOOTH_L1, gradient ? q * 0x1p60 : q * q * 0x1p50, RM_REDUCTION_NONE);
  }
}

/* g (x - y)/q of f64 beside a tie k, by an error of two parts: x - y is (k q)/g up to a number of 106 bits. */
static void quotients_beside_ties() {
  typedef unsigned __int128 wide;
  const layout l = {RM_FORMAT_F64, 1, 0};
  snprintf(what, sizeof what, "a quotient beside a tie");
  for (int round = 0; round < 200; round++) {
    const double q = odd_number(0x1p52, 0x1p53), g = odd_number(0x1p52, 0x1p53);
    const wide k = static_cast<wide>(odd_number(0x1p52, 0x1p53)) * 2 + 1, product = k * static_cast<wide>(q);
    const wide whole = product / static_cast<wide>(g) / 4 * 4; /* so that it is a double */
    clear();
    put(l.at(cpu, X), l.format, static_cast<double>(whole));
    put(l.at(cpu, Y), l.format, -static_cast<double>(product - whole * static_cast<wide>(g)) / g);
    put(l.at(cpu, G), l.format, g);
    both([&](char *base, bool device) -> rm_status {
      return SIDE(device, regression_loss_backward, RM_LOSS_SMOOTH_L1, q * 0x1p60, l.format, RM_REDUCTION_NONE, l.n,
                  l.at(base, G), 8, l.at(base, X), 8, l.at(base, Y), 8, l.out(base), 8);
    });
  }
}

static void regressions() {
  static const struct {
    int loss;
    double p;
  } losses[] = {{RM_LOSS_MSE, 0},       {RM_LOSS_L1, 0},      {RM_LOSS_SMOOTH_L1, 1}, {RM_LOSS_SMOOTH_L1, 0.3},
                {RM_LOSS_SMOOTH_L1, 0}, {RM_LOSS_HUBER, 0.7}, {RM_LOSS_HUBER, 1.25}};
  static const int64_t sizes[] = {0, 1, 7, 130, 1500};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < ALL_KINDS; kind++)
      for (int k = 0; k < 7; k++)
        for (int reduction = 0; reduction < 3; reduction++) {
          const layout l = {format, sizes[(k + kind + reduction) % 5], k + 3 * kind + reduction};
          fill_arrays(l, kind);
          regression(l, losses[k].loss, losses[k].p, reduction);
        }
  ties(RM_FORMAT_F32);
  ties(RM_FORMAT_F64);
  quotients_beside_ties();
}

static void regression_refusals() {
  clear();
  memcpy(gpu, cpu, sizeof gpu);
  char *x = gpu, *y = gpu + ROOM, *out = gpu + 2 * ROOM;
  SAME(regression_loss, 4, 0, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 3, 0, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 2, -1, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 4, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 3, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, -4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, nullptr, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, x, 8, nullptr, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 1, 4, x, 8, y, 8, nullptr, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, x, 8, y, 8, x, 16);
  SAME(regression_loss, 0, 0, 3, 0, 0, nullptr, 8, nullptr, 8, nullptr, 8);
  SAME(regression_loss_backward, 0, 0, 3, 0, 4, nullptr, 8, x, 8, y, 8, out, 8);
  SAME(regression_loss_backward, 0, 0, 3, 1, 4, out, 8, x, 8, y, 8, out, 8);
  SAME(regression_loss_backward, 0, 0, 3, 0, 4, y, 8, x, 8, y, 8, nullptr, 8);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

/* The arrays: X logits, W weights of classes, G gradients, P targets. A target may be no class: then all results are NaN,
 * where the CPU refuses. */
static void nll(int format, int kind, int64_t rows, int64_t n, int k) {
  const ptrdiff_t size = widths[format], stride = k % 2 ? -2 * size : size, row = k % 2 ? 2 * size * n + 1 : size * n;
  const ptrdiff_t first = k % 2 ? 1 + 2 * size * (n - 1) : 0, step = k % 3 ? 8 : -9;
  clear();
  for (int64_t i = 0; i < rows; i++)
    fill(cpu + first + i * row, format, (kind + i) % KINDS, n, stride, static_cast<uint64_t>(i));
  fill(cpu + W * ROOM, format, k % 4 == 3 ? kind : SHORT, n, size, 99);
  if (k % 4 == 1) rm_random_uniform(format, 9, 2, 0, n, 0.125, 2, cpu + W * ROOM, size);
  fill(cpu + G * ROOM, format, kind, rows, size, 98);
  const int64_t at = P * ROOM + (step < 0 ? 9 * rows : 0);
  for (int64_t i = 0; i < rows; i++) {
    const int64_t t = i % 5 == 3 ? -100 : (7 * i + k) % n;
    memcpy(cpu + at + i * step, &t, 8);
  }
  auto problem = [&](char *base, int reduction) {
    rm_cross_entropy_problem p = {};
    p.rows = rows, p.n = n, p.x = base + first, p.row_x = row, p.stride_x = stride;
    p.target = reinterpret_cast<const int64_t *>(base + at), p.stride_target = step;
    if (k % 4) p.weight = base + W * ROOM, p.stride_weight = size;
    p.ignore_index = -100, p.reduction = reduction;
    return p;
  };
  for (int reduction = 0; reduction < 3; reduction++) {
    snprintf(what, sizeof what, "nll_loss: format %d, kind %d, reduction %d, layout %d, %d x %d", format, kind, reduction, k,
             static_cast<int>(rows), static_cast<int>(n));
    both([&](char *base, bool device) -> rm_status {
      const rm_cross_entropy_problem p = problem(base, reduction);
      return SIDE(device, nll_loss, format, &p, base + OUT * ROOM, 2 * size);
    });
    both([&](char *base, bool device) -> rm_status {
      const rm_cross_entropy_problem p = problem(base, reduction);
      return SIDE(device, nll_loss_backward, format, &p, base + G * ROOM, size, base + OUT * ROOM + first, row, stride);
    });
  }
  if (rows == 0) return;
  memcpy(cpu + at, &n, 8);
  memcpy(gpu, cpu, sizeof gpu);
  for (int reduction = 0; reduction < 3; reduction++) {
    const rm_cross_entropy_problem p = problem(cpu, reduction), q = problem(gpu, reduction);
    check(rm_nll_loss(format, &p, cpu + OUT * ROOM, size) == RM_STATUS(RM_ERR_INDEX, 2), "a wrong target");
    check(rm_cuda_nll_loss(format, &q, gpu + OUT * ROOM, size, nullptr) == RM_OK && device_idle(), "a wrong target there");
    double nan = 0;
    if (format == RM_FORMAT_F64) memcpy(&nan, gpu + OUT * ROOM, 8), check(nan != nan, "NaN for a wrong target");
    check(rm_cuda_nll_loss_backward(format, &q, gpu + G * ROOM, size, gpu + OUT * ROOM + first, row, stride, nullptr) ==
                  RM_OK &&
              device_idle(),
          "its gradient");
    if (format == RM_FORMAT_F64) memcpy(&nan, gpu + OUT * ROOM + first, 8), check(nan != nan, "NaN for its gradient");
  }
}

/* Means whose divisor is an odd number q: g (q k)/q is a tie of the format. */
static void nll_ties(int format) {
  const int p = format == RM_FORMAT_F64 ? 53 : 24, half = p / 2, size = widths[format];
  const int64_t n = 2, rows = 2, target[] = {0, 1};
  for (int round = 0; round < 100; round++) {
    clear();
    const double q = odd_number(0x1p8, 0x1p10), a = odd_number(ldexp(1, half), ldexp(1.41421, half)) * q;
    put(cpu + W * ROOM, format, a);
    put(cpu + W * ROOM + size, format, q - a);
    memcpy(cpu + P * ROOM, target, sizeof target);
    put(cpu + G * ROOM, format, odd_number(ldexp(1, p - half), ldexp(1.41421, p - half)));
    both([&](char *base, bool device) -> rm_status {
      rm_cross_entropy_problem p = {};
      p.rows = rows, p.n = n, p.x = base, p.row_x = 0, p.stride_x = 0, p.weight = base + W * ROOM, p.stride_weight = size;
      p.target = reinterpret_cast<const int64_t *>(base + P * ROOM), p.stride_target = 8, p.reduction = RM_REDUCTION_MEAN;
      return SIDE(device, nll_loss_backward, format, &p, base + G * ROOM, 0, base + OUT * ROOM, n * size, size);
    });
  }
}

static void nll_refusals() {
  clear();
  memset(cpu, 0, ROOM);
  memcpy(gpu, cpu, sizeof gpu);
  rm_cross_entropy_problem p = {};
  p.rows = 3, p.n = 4, p.x = gpu, p.row_x = 32, p.stride_x = 8, p.target = reinterpret_cast<const int64_t *>(gpu),
  p.stride_target = 8;
  char *out = gpu + OUT * ROOM, *g = gpu + G * ROOM;
  SAME(nll_loss, 4, &p, out, 8);
  SAME(nll_loss, 3, nullptr, out, 8);
  SAME(nll_loss, 3, &p, nullptr, 8);
  SAME(nll_loss, 3, &p, out, 4);
  SAME(nll_loss, 3, &p, gpu + 8, 8);
  SAME(nll_loss_backward, 3, &p, nullptr, 8, out, 32, 8);
  SAME(nll_loss_backward, 3, &p, g, 8, nullptr, 32, 8);
  SAME(nll_loss_backward, 3, &p, out, 8, out, 32, 8);
  SAME(nll_loss_backward, 3, &p, g, 8, out, 8, 8);
  p.reduction = 3;
  SAME(nll_loss, 3, &p, out, 8);
  p.reduction = 0, p.rows = -1;
  SAME(nll_loss, 3, &p, out, 8);
  p.rows = 3, p.x = nullptr;
  SAME(nll_loss, 3, &p, out, 8);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

int main() {
  regressions();
  regression_refusals();
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int k = 0; k < 6; k++) nll(format, kind, k == 4 ? 0 : k == 5 ? 700 : 13 + k, k == 5 ? 3 : 9, k);
  nll_ties(RM_FORMAT_F32);
  nll_ties(RM_FORMAT_F64);
  nll_refusals();
  return checked();
}
