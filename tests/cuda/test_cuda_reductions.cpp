/* The launchers of mean, norm, var, std, cumsum, index_add and segment_sum against the CPU library, every byte (device.h). */
#include <repmath/cuda.h>
#include <repmath/reductions.h>
#include <repmath/scatter.h>

#include <stddef.h>

#include "terms.h"

static const int64_t ROOM = 1 << 19; /* bytes of an array: what is read, what is written, an index */
static char cpu[3 * ROOM];
BOTH_SIDES char gpu[3 * ROOM];

/* Terms one after the other, or backward with gaps and misaligned, or one repeated. */
enum { PLAIN, ODD, REPEATED, LAYOUTS };
struct vector {
  ptrdiff_t first, stride;
  vector(int format, int layout, int64_t n)
      : first(layout == ODD ? 1 + 3 * widths[format] * (n ? n - 1 : 0) : 0), stride(layout == PLAIN ? widths[format]
                                                                                    : layout == ODD ? -3 * widths[format]
                                                                                                    : 0) {}
};

static void prepare(uint64_t seed) {
  state = seed;
  memset(cpu, 0x5a, sizeof cpu);
}

/* Whether an array of so many elements, as far apart as here, fits. */
static bool fits(int format, int64_t n) { return n * 3 * widths[format] + 64 < ROOM; }

static char what[160];
template <class F> static void both(F call) {
  memcpy(gpu, cpu, sizeof gpu);
  compare_memory(what, cpu, gpu, [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
}
#define SIDE(device, f, ...) ((device) ? rm_cuda_##f(__VA_ARGS__, nullptr) : rm_##f(__VA_ARGS__))

static void statistics(int format, int to, int kind, int layout, int64_t n) {
  const vector v(format, layout, n);
  const double corrections[] = {0, 1, 0.5, -2.25, static_cast<double>(n), static_cast<double>(n) + 3};
  prepare(static_cast<uint64_t>(kind * 100 + n));
  fill(cpu + v.first, format, kind, n, v.stride);
  snprintf(what, sizeof what, "mean, norm, var, std: format %d to %d, kind %d, layout %d, n %d", format, to, kind, layout,
           static_cast<int>(n));
  both([&](char *base, bool device) -> rm_status {
    const char *x = base + v.first;
    char *out = base + ROOM + 1; /* misaligned */
    rm_status status = SIDE(device, mean, format, n, x, v.stride, to, out);
    status |= SIDE(device, norm, format, n, x, v.stride, to, out + 9);
    for (int k = 0; k < 6; k++) {
      if (k != n % 6 && k != kind % 6 && k != 1) continue;
      status |= SIDE(device, var, format, n, x, v.stride, to, out + 18 * (k + 1), corrections[k]);
      status |= SIDE(device, std, format, n, x, v.stride, to, out + 18 * (k + 1) + 9, corrections[k]);
    }
    return status;
  });
}

static void cumsum(int format, int to, int kind, int layout, int layout_out, int64_t n) {
  const vector v(format, layout, n), o(to, layout_out, n);
  check(fits(format, n) && fits(to, n), "memory");
  prepare(static_cast<uint64_t>(kind * 77 + n));
  fill(cpu + v.first, format, kind, n, v.stride);
  snprintf(what, sizeof what, "cumsum: format %d to %d, kind %d, layouts %d %d, n %d", format, to, kind, layout, layout_out,
           static_cast<int>(n));
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, cumsum, format, n, base + v.first, v.stride, to, base + ROOM + o.first, o.stride);
  });
}

/* Matrices: rows together, or columns; or backward with gaps, misaligned. */
struct matrix {
  ptrdiff_t first, row, col;
  matrix(int format, int layout, int64_t rows, int64_t cols) {
    const ptrdiff_t size = widths[format];
    first = 0, row = size * cols, col = size;
    if (layout == 1) row = size, col = size * rows;
    if (layout == 2) col = -2 * size, row = 2 * size * cols + 1, first = 1 + 2 * size * (cols ? cols - 1 : 0);
  }
};

struct scatter_shape {
  int64_t rows, cols, n;
};
/* spread: rows that the index names, from the second on (from the first, where there is one). */
static void scatter(int format, int kind, int layout, const scatter_shape &s, int64_t spread) {
  const matrix src(format, layout, s.n, s.cols), out(format, (layout + 1) % 3, s.rows, s.cols);
  const ptrdiff_t step = layout == 2 ? -9 : 8, first = layout == 2 ? 9 * (s.n ? s.n - 1 : 0) : 0;
  const ptrdiff_t row = layout == 0 && kind % 4 == 3 ? 0 : src.row; /* one row repeated */
  check(fits(format, (s.rows + 1) * s.cols) && fits(format, (s.n + 1) * s.cols) && fits(RM_FORMAT_F64, s.n), "memory");
  prepare(static_cast<uint64_t>(kind * 31 + s.n));
  for (int64_t j = 0; j < s.cols; j++) {
    fill(cpu + src.first + j * src.col, format, kind, s.n, src.row);
    fill(cpu + ROOM + out.first + j * out.col, format, kind, s.rows, out.row);
  }
  for (int64_t i = 0; i < s.n; i++) {
    const int64_t r = static_cast<int64_t>((random_word() >> 8) % static_cast<uint64_t>(spread)) + (s.rows > spread);
    memcpy(cpu + 2 * ROOM + first + i * step, &r, sizeof r);
  }
  for (int add = 0; add < 2; add++) {
    snprintf(what, sizeof what, "%s: format %d, kind %d, layout %d, rows %d, cols %d, n %d",
             add ? "index_add" : "segment_sum", format, kind, layout, static_cast<int>(s.rows), static_cast<int>(s.cols),
             static_cast<int>(s.n));
    both([&](char *base, bool device) -> rm_status {
      const int64_t *index = reinterpret_cast<const int64_t *>(base + 2 * ROOM + first);
      char *to = base + ROOM + out.first;
      const char *from = base + src.first;
      if (add)
        return SIDE(device, index_add, format, s.rows, s.cols, to, out.row, out.col, s.n, index, step, from, row, src.col);
      return SIDE(device, segment_sum, format, s.rows, s.cols, to, out.row, out.col, s.n, index, step, from, row, src.col);
    });
  }
}

/* The CPU refuses; a launcher cannot see the index, and makes all of out NaN. */
static void index_outside(int64_t wrong) {
  for (int add = 0; add < 2; add++) {
    prepare(1);
    fill(cpu, RM_FORMAT_F32, NEAR_1, 60, 4);
    const int64_t index[] = {0, 3, wrong, 1};
    memcpy(cpu + 2 * ROOM, index, sizeof index);
    memcpy(gpu, cpu, sizeof gpu);
    auto call = [&](char *base, bool device) -> rm_status {
      const int64_t *at = reinterpret_cast<const int64_t *>(base + 2 * ROOM);
      if (add) return SIDE(device, index_add, RM_FORMAT_F32, 5, 3, base + ROOM, 12, 4, 4, at, 8, base, 12, 4);
      return SIDE(device, segment_sum, RM_FORMAT_F32, 5, 3, base + ROOM, 12, 4, 4, at, 8, base, 12, 4);
    };
    check(call(cpu, false) == RM_STATUS(RM_ERR_INDEX, 8) && call(gpu, true) == RM_OK && device_idle(), "an index outside");
    for (int i = 0; i < 15; i++) {
      float f;
      memcpy(&f, gpu + ROOM + 4 * i, 4);
      check(f != f, "NaN for an index outside");
    }
    memset(gpu + ROOM, 0x5a, 60);
    check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing else");
  }
}

/* Both sides say the same, and nothing is written. */
static void refusals() {
  prepare(5);
  memcpy(gpu, cpu, sizeof gpu);
  char *x = gpu, *out = gpu + ROOM;
  int64_t *const index = reinterpret_cast<int64_t *>(gpu + 2 * ROOM);
  int refused = 0;
#define SAME(f, ...)                                                                                    \
  do {                                                                                                  \
    const rm_status expected = rm_##f(__VA_ARGS__);                                                     \
    refused += expected != RM_OK;                                                                       \
    check(expected == rm_cuda_##f(__VA_ARGS__, nullptr) && device_idle(), #f " refuses " #__VA_ARGS__); \
  } while (0)
#define STATISTIC(f, ...)                             \
  SAME(f, -1, 4, x, 8, 3, out __VA_ARGS__);           \
  SAME(f, 4, 4, x, 8, 3, out __VA_ARGS__);            \
  SAME(f, 3, -1, x, 8, 3, out __VA_ARGS__);           \
  SAME(f, 3, -1, nullptr, 8, 3, nullptr __VA_ARGS__); \
  SAME(f, 3, 4, nullptr, 8, 3, out __VA_ARGS__);      \
  SAME(f, 3, 4, x, 8, -1, out __VA_ARGS__);           \
  SAME(f, 3, 4, x, 8, 4, out __VA_ARGS__);            \
  SAME(f, 3, 4, x, 8, 3, nullptr __VA_ARGS__)
#define COMMA ,
  STATISTIC(mean, );
  STATISTIC(norm, );
  STATISTIC(var, COMMA 0.0);
  STATISTIC(std, COMMA 0.0);
  STATISTIC(cumsum, COMMA 8);
  for (int64_t n = 0; n < 5; n += 4) {
    SAME(var, 3, n, x, 8, 3, out, 0x1p62);
    SAME(var, 3, n, x, 8, 3, out, 0x1p-70);
    SAME(std, 3, n, x, 8, 3, out, __builtin_nan(""));
    SAME(std, 3, n, x, 8, 3, out, -__builtin_inf());
  }
#define SCATTER(...)            \
  SAME(index_add, __VA_ARGS__); \
  SAME(segment_sum, __VA_ARGS__)
  SCATTER(-1, 4, 1, out, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(4, 4, 1, out, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, -1, 1, out, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, 4, -1, out, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, 4, 1, nullptr, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, 4, 1, out, 8, 8, -1, index, 8, x, 8, 8);
  SCATTER(3, 4, 1, out, 8, 8, 2, nullptr, 8, x, 8, 8);
  SCATTER(3, 4, 1, out, 8, 8, 2, index, 8, nullptr, 8, 8);
  SCATTER(3, 4, 2, out, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, 4, 1, x, 8, 8, 2, index, 8, x, 8, 8);
  SCATTER(3, 4, 1, index, 8, 8, 2, index, 8, x, 8, 8);
  check(refused == 5 * 8 + 8 + 2 * 11, "all of these are refused");
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
  SAME(cumsum, 3, 0, nullptr, 8, 3, nullptr, 8);
  SCATTER(3, 0, 1, nullptr, 8, 8, 0, nullptr, 8, nullptr, 8, 8);
  SCATTER(3, 4, 0, nullptr, 8, 8, 0, nullptr, 8, nullptr, 8, 8);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written for nothing");
}

int main() {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 64, 65, 1025, 3001};
  static const scatter_shape shapes[] = {{1, 1, 1},     {9, 1, 60}, {3, 35, 100},  {50, 5, 20}, {1, 3, 1500}, {5, 2, 4000},
                                         {1000, 1, 10}, {4, 3, 0},  {300, 1, 900}, {1, 2, 61},  {1, 1, 61}};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int k = 0; k < 11; k++) {
        const scatter_shape &s = shapes[k];
        scatter(format, kind, (k + kind) % 3, s, s.rows > 5 ? s.rows / 3 : s.rows > 1 ? s.rows - 1 : 1);
        if (k >= 9) continue;
        const int64_t n = sizes[k];
        statistics(format, k % 2 ? format : (format + kind) % 4, kind, (k + kind) % LAYOUTS, n);
        cumsum(format, format, kind, (k + kind) % LAYOUTS, k % 2, n);
        cumsum(format, (format + 1 + k % 3) % 4, kind, k % LAYOUTS, kind % 2, n);
      }
  for (int kind = 0; kind < KINDS; kind++) { /* more than one group of chunks */
    cumsum(RM_FORMAT_F64, RM_FORMAT_F64, kind, PLAIN, PLAIN, 20001);
    cumsum(RM_FORMAT_F32, RM_FORMAT_F16, kind, ODD, PLAIN, 20001);
  }
  index_outside(5);
  index_outside(-1);
  refusals();
  return checked();
}
