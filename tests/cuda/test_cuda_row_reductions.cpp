/* The launchers of sum, mean, norm, dot, var and std of rows against the CPU library's functions of each row, and exact
 * accumulators for dot, every byte (device.h). */
#include <repmath/cuda.h>
#include <repmath/reductions.h>

#include <stddef.h>

#include "terms.h"

static const int64_t ROOM = 1 << 20; /* bytes of an array: x, y, results */
static char cpu[3 * ROOM];
BOTH_SIDES char gpu[3 * ROOM];

/* Rows that begin at multiples of 16 bytes; one right after the other; backward with gaps, misaligned; columns; one row again
 * and again. */
enum { PACKED, DENSE, ODD, COLUMNS, REPEATED, LAYOUTS };
struct rows_layout {
  ptrdiff_t first, row, stride;
  rows_layout(int format, int layout, int64_t rows, int64_t n) : first(0) {
    const ptrdiff_t size = widths[format];
    stride = size, row = size * n;
    if (layout == PACKED) row = (row + 15) / 16 * 16;
    if (layout == ODD) stride = -3 * size, row = -3 * size * n - 1, first = ROOM - 64;
    if (layout == COLUMNS) stride = size * rows, row = size;
    if (layout == REPEATED) row = 0;
  }
};

static uint64_t rounded(const rm_accumulator *total, int to) {
  uint64_t bits = 0;
  switch (to) {
    case RM_FORMAT_F16: (void)rm_accumulator_round_f16(total, reinterpret_cast<rm_f16 *>(&bits)); break;
    case RM_FORMAT_BF16: (void)rm_accumulator_round_bf16(total, reinterpret_cast<rm_bf16 *>(&bits)); break;
    case RM_FORMAT_F32: (void)rm_accumulator_round_f32(total, reinterpret_cast<float *>(&bits)); break;
    default: (void)rm_accumulator_round_f64(total, reinterpret_cast<double *>(&bits));
  }
  return bits;
}

/* The exact sum of products, rounded: of terms at any address, by copies. */
static void exact_dot(int format, int64_t n, const char *x, ptrdiff_t sx, const char *y, ptrdiff_t sy, int to, char *out) {
  rm_accumulator *total = rm_accumulator_new();
  for (int64_t i = 0; i < n; i++) {
    uint64_t a = 0, b = 0;
    memcpy(&a, x + i * sx, static_cast<size_t>(widths[format]));
    memcpy(&b, y + i * sy, static_cast<size_t>(widths[format]));
    const void *const p = &a, *const q = &b;
    switch (format) {
      case RM_FORMAT_F16:
        (void)rm_accumulator_add_products_f16(total, 1, static_cast<const rm_f16 *>(p), 0, static_cast<const rm_f16 *>(q), 0);
        break;
      case RM_FORMAT_BF16:
        (void)rm_accumulator_add_products_bf16(total, 1, static_cast<const rm_bf16 *>(p), 0, static_cast<const rm_bf16 *>(q),
                                               0);
        break;
      case RM_FORMAT_F32:
        (void)rm_accumulator_add_products_f32(total, 1, static_cast<const float *>(p), 0, static_cast<const float *>(q), 0);
        break;
      default:
        (void)rm_accumulator_add_products_f64(total, 1, static_cast<const double *>(p), 0, static_cast<const double *>(q), 0);
    }
  }
  const uint64_t bits = rounded(total, to);
  memcpy(out, &bits, static_cast<size_t>(widths[to]));
  rm_accumulator_free(total);
}

/* The functions of one row as those of a vector, whose results go where `at` says and further on. */
static rm_status of_vector(int format, int64_t n, const char *x, ptrdiff_t stride, int to, char *at, ptrdiff_t all,
                           double ddof) {
  const void *const first = x, *const second = x + ROOM;
  void *const sum = at, *const dot = at + 3 * all;
  rm_status status = rm_cuda_mean(format, n, x, stride, to, at + all, nullptr);
  status |= rm_cuda_norm(format, n, x, stride, to, at + 2 * all, nullptr);
  status |= rm_cuda_var(format, n, x, stride, to, at + 4 * all, ddof, nullptr);
  status |= rm_cuda_std(format, n, x, stride, to, at + 5 * all, ddof, nullptr);
  if (format == RM_FORMAT_F32 && to == format) {
    status |= rm_cuda_sum_f32(n, static_cast<const float *>(first), stride, static_cast<float *>(sum), nullptr);
    status |= rm_cuda_dot_f32(n, static_cast<const float *>(first), stride, static_cast<const float *>(second), stride,
                              static_cast<float *>(dot), nullptr);
  } else if (format == RM_FORMAT_F64 && to == format) {
    status |= rm_cuda_sum_f64(n, static_cast<const double *>(first), stride, static_cast<double *>(sum), nullptr);
    status |= rm_cuda_dot_f64(n, static_cast<const double *>(first), stride, static_cast<const double *>(second), stride,
                              static_cast<double *>(dot), nullptr);
  } else { /* for which there is no other */
    status |= rm_cuda_sum_rows(format, 1, n, x, 0, stride, to, at, 0, nullptr);
    status |= rm_cuda_dot_rows(format, 1, n, x, 0, stride, x + ROOM, 0, stride, to, at + 3 * all, 0, nullptr);
  }
  return status;
}

/* Every function of rows of one kind of terms, or of each row's own (kind KINDS). */
static void functions(int format, int to, int kind, int layout, int64_t rows, int64_t n) {
  const rows_layout l(format, layout, rows, n);
  const double corrections[] = {0, 1, 0.5, -2.25, static_cast<double>(n)};
  const double ddof = corrections[(kind + rows + n) % 5];
  const ptrdiff_t apart = widths[to] + 1; /* results are misaligned */
  static char what[160];
  state = static_cast<uint64_t>(kind * 1000 + n);
  memset(cpu, 0x5a, sizeof cpu);
  for (int64_t r = 0; r < rows; r++) {
    const int of_row = kind < KINDS ? kind : static_cast<int>(r % KINDS);
    fill(cpu + l.first + r * l.row, format, of_row, n, l.stride);
    fill(cpu + ROOM + l.first + r * l.row, format, kind < KINDS && r % 2 ? static_cast<int>(SHORT) : of_row, n, l.stride);
  }
  char *const out = cpu + 2 * ROOM + 1;
  const ptrdiff_t all = 1 << 14;
  memcpy(gpu, cpu, sizeof gpu);
  for (int64_t r = 0; r < rows; r++) {
    const char *x = cpu + l.first + r * l.row;
    char *at = out + r * apart;
    (void)rm_sum(format, n, x, l.stride, to, at);
    (void)rm_mean(format, n, x, l.stride, to, at + all);
    (void)rm_norm(format, n, x, l.stride, to, at + 2 * all);
    exact_dot(format, n, x, l.stride, x + ROOM, l.stride, to, at + 3 * all);
    (void)rm_var(format, n, x, l.stride, to, at + 4 * all, ddof);
    (void)rm_std(format, n, x, l.stride, to, at + 5 * all, ddof);
  }
  const char *x = gpu + l.first;
  char *at = gpu + (out - cpu);
  rm_status status = rm_cuda_sum_rows(format, rows, n, x, l.row, l.stride, to, at, apart, nullptr);
  status |= rm_cuda_mean_rows(format, rows, n, x, l.row, l.stride, to, at + all, apart, nullptr);
  status |= rm_cuda_norm_rows(format, rows, n, x, l.row, l.stride, to, at + 2 * all, apart, nullptr);
  status |=
      rm_cuda_dot_rows(format, rows, n, x, l.row, l.stride, x + ROOM, l.row, l.stride, to, at + 3 * all, apart, nullptr);
  status |= rm_cuda_var_rows(format, rows, n, x, l.row, l.stride, to, at + 4 * all, apart, ddof, nullptr);
  status |= rm_cuda_std_rows(format, rows, n, x, l.row, l.stride, to, at + 5 * all, apart, ddof, nullptr);
  snprintf(what, sizeof what, "rows: format %d to %d, kind %d, layout %d, %d of %d", format, to, kind, layout,
           static_cast<int>(rows), static_cast<int>(n));
  check(device_idle() && status == RM_OK, what);
  static const char *names[] = {"sum", "mean", "norm", "dot", "var", "std"};
  for (int k = 0; k < 6; k++) {
    snprintf(what, sizeof what, "%s of rows: format %d to %d, kind %d, layout %d, %d of %d", names[k], format, to, kind,
             layout, static_cast<int>(rows), static_cast<int>(n));
    check(memcmp(out + k * all, at + k * all, static_cast<size_t>(all)) == 0, what);
  }
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing else is written");
  if (rows != 1) return;
  memset(at, 0x5a, static_cast<size_t>(6 * all));
  status = of_vector(format, n, x, l.stride, to, at, all, ddof);
  check(device_idle() && status == RM_OK, "vectors");
  for (int k = 0; k < 6; k++) {
    snprintf(what, sizeof what, "%s of a vector: format %d to %d, kind %d, layout %d, %d", names[k], format, to, kind, layout,
             static_cast<int>(n));
    check(memcmp(out + k * all, at + k * all, static_cast<size_t>(all)) == 0, what);
  }
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing else is written");
}

/* A sum that is written over its own terms: of a block of threads, of several, and of those that count exactly. */
static void in_place() {
  static const int64_t lengths[] = {100, 100000};
  for (int64_t n : lengths)
    for (int exact = 0; exact < 2; exact++) {
      float *const x = reinterpret_cast<float *>(gpu), expected;
      for (int64_t i = 0; i < n; i++)
        x[i] = exact && i == 1 ? 0x1p-24f : exact && i == n - 1 ? 0x1p-70f : i == 0 ? 1.0f : 0.0f;
      (void)rm_sum_f32(n, x, 4, &expected);
      const rm_status status = rm_cuda_sum_f32(n, x, 4, x + n - 1, nullptr);
      check(device_idle() && status == RM_OK && x[n - 1] == expected && expected == (exact ? 1 + 0x1p-23f : 1.0f),
            "a sum over its own terms");
    }
}

/* Cumulative sums of rows. */
static void cumulative(int format, int to, int kind, int layout, int64_t rows, int64_t n) {
  const rows_layout l(format, layout, rows, n), o(to, layout == REPEATED ? PACKED : layout, rows, n);
  static char what[160];
  state = static_cast<uint64_t>(kind * 77 + n);
  memset(cpu, 0x5a, sizeof cpu);
  for (int64_t r = 0; r < rows; r++)
    fill(cpu + l.first + r * l.row, format, kind < KINDS ? kind : static_cast<int>(r % KINDS), n, l.stride);
  memcpy(gpu, cpu, sizeof gpu);
  for (int64_t r = 0; r < rows; r++)
    (void)rm_cumsum(format, n, cpu + l.first + r * l.row, l.stride, to, cpu + ROOM + o.first + r * o.row, o.stride);
  const rm_status status = rm_cuda_cumsum_rows(format, rows, n, gpu + l.first, l.row, l.stride, to, gpu + ROOM + o.first,
                                               o.row, o.stride, nullptr);
  snprintf(what, sizeof what, "cumsum of rows: format %d to %d, kind %d, layout %d, %d of %d", format, to, kind, layout,
           static_cast<int>(rows), static_cast<int>(n));
  check(device_idle() && status == RM_OK && memcmp(cpu, gpu, sizeof gpu) == 0, what);
}

/* What is refused writes nothing. */
static void refusals() {
  memset(cpu, 0x5a, sizeof cpu);
  memcpy(gpu, cpu, sizeof gpu);
  char *x = gpu, *y = gpu + ROOM, *out = gpu + 2 * ROOM;
#define REFUSED(code, position, call) check((call) == static_cast<rm_status>(RM_STATUS(code, position)), #call)
#define SUM(format, rows, n, x, to, out, stride) rm_cuda_sum_rows(format, rows, n, x, 400, 4, to, out, stride, nullptr)
#define DOT(n, x, y, to, out) rm_cuda_dot_rows(2, 3, n, x, 400, 4, y, 400, 4, to, out, 4, nullptr)
#define VAR(to, out, ddof) rm_cuda_var_rows(2, 3, 100, x, 400, 4, to, out, 4, ddof, nullptr)
  REFUSED(RM_ERR_ENUM, 1, SUM(4, 3, 100, x, 2, out, 4));
  REFUSED(RM_ERR_ENUM, 1, SUM(-1, 3, 100, x, 2, out, 4));
  REFUSED(RM_ERR_SIZE, 2, SUM(2, -3, 100, x, 2, out, 4));
  REFUSED(RM_ERR_SIZE, 3, SUM(2, 3, -100, x, 2, out, 4));
  REFUSED(RM_ERR_NULL, 4, SUM(2, 3, 100, nullptr, 2, out, 4));
  REFUSED(RM_ERR_ENUM, 7, SUM(2, 3, 100, x, 4, out, 4));
  REFUSED(RM_ERR_NULL, 8, SUM(2, 3, 100, x, 2, nullptr, 4));
  REFUSED(RM_ERR_OVERLAP, 8, SUM(2, 3, 100, x, 2, x + 1196, 4));
  REFUSED(RM_ERR_OVERLAP, 8, SUM(2, 3, 100, x, 2, out, 3));
  REFUSED(RM_ERR_NULL, 7, DOT(100, x, nullptr, 2, out));
  REFUSED(RM_ERR_ENUM, 10, DOT(100, x, y, 4, out));
  REFUSED(RM_ERR_NULL, 11, DOT(100, x, y, 2, nullptr));
  REFUSED(RM_ERR_OVERLAP, 11, DOT(100, x, y, 2, y));
  REFUSED(RM_ERR_ENUM, 7, VAR(-1, out, 0));
  REFUSED(RM_ERR_NULL, 8, VAR(2, nullptr, 0));
  REFUSED(RM_ERR_RANGE, 10, VAR(2, out, 0x1p62));
  REFUSED(RM_ERR_RANGE, 10, VAR(2, out, 0x1p-70));
#define CUMSUM(format, rows, n, x, to, out) rm_cuda_cumsum_rows(format, rows, n, x, 400, 4, to, out, 400, 4, nullptr)
  REFUSED(RM_ERR_ENUM, 1, CUMSUM(4, 3, 100, x, 2, out));
  REFUSED(RM_ERR_SIZE, 2, CUMSUM(2, -3, 100, x, 2, out));
  REFUSED(RM_ERR_SIZE, 3, CUMSUM(2, 3, -100, x, 2, out));
  REFUSED(RM_ERR_NULL, 4, CUMSUM(2, 3, 100, nullptr, 2, out));
  REFUSED(RM_ERR_ENUM, 7, CUMSUM(2, 3, 100, x, -1, out));
  REFUSED(RM_ERR_NULL, 8, CUMSUM(2, 3, 100, x, 2, nullptr));
  check(SUM(2, 0, 100, nullptr, 2, nullptr, 4) == RM_OK && CUMSUM(2, 3, 0, nullptr, 2, nullptr) == RM_OK,
        "no rows, no terms");
  check(device_idle() && memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

int main() {
  static const int64_t shapes[][2] = {{1, 61}, {5, 64}, {3, 1025}, {1, 40000}, {40, 7}, {300, 1},
                                      {4, 0},  {7, 33}, {2, 8200}, {70, 65},   {1, 1},  {33, 100}};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind <= KINDS; kind++)
      for (int k = 0; k < 12; k++) {
        if ((k == 3 || k == 8 || k == 5) && (kind + format) % 3 != k % 3) continue; /* they take longer */
        const int other = (format + 1 + kind % 3) % 4;
        functions(format, (k + kind) % 2 ? format : other, kind, (k + kind / 2) % LAYOUTS, shapes[k][0], shapes[k][1]);
      }
  static const int64_t lines[][2] = {{3, 1000}, {40, 70}, {1, 130}, {300, 5}, {5, 0}, {2, 8300}};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind <= KINDS; kind++)
      for (int k = 0; k < 6; k++)
        cumulative(format, (k + kind) % 2 ? format : (format + 1 + kind % 3) % 4, kind, (k + kind / 2) % LAYOUTS, lines[k][0],
                   lines[k][1]);
  for (int format = 0; format < 4; format++) { /* kinds that are split, side by side and beside ties */
    functions(format, format, BESIDE, PACKED, 1, 40000);
    functions(format, RM_FORMAT_F64, FINITE, ODD, 1, 40000);
    functions(format, format, KINDS, COLUMNS, 13, 3000);
    functions(format, format, BESIDE, REPEATED, 300, 64);
  }
  in_place();
  refusals();
  return checked();
}
