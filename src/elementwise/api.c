/* The public elementwise functions. They check the arguments, set the floating-point environment, and divide the work among
 * threads, which call the kernel table. */
#include "../../include/repmath/elementwise.h"
#include "../../include/repmath/elementwise_rounded.h"

#include "kernels.h"
#include "rounded.h"
#include "half_table.h"
#include "../common/copy.h"
#include "../common/overlap.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { RM_GRAIN = 1 << 15, RM_GRAIN_ROUNDED = 1 << 11 }; /* elements that are worth a thread */

enum { RM_LONG_ARRAY = 1 << 12, RM_LINE = 64 }; /* elements; bytes of a cache line */

/* One call: the same arguments for every thread. table: see elementwise/half_table.h; kernel: NULL for a rounding mode
 * without one. */
typedef struct {
  int function, arity, format, mode;
  int64_t n;
  const char *const *x;
  const ptrdiff_t *sx;
  char *y;
  ptrdiff_t sy;
  int contiguous;
  rm_lookup16_fn *lookup;
  const struct rm_table16 *table;
  rm_map_fn *kernel;
} problem;

static uint32_t run(const problem *j, int64_t n, const char *const *x, char *y) {
  return j->table ? j->lookup(j->table, j->kernel, n, x, y) : j->kernel(n, x, y);
}

/* Computes `count` elements from `from` on. Loops are of neighbours: others are copied, so many at a time that the copies
 * stay in the first cache. */
static uint32_t stretch(const problem *j, int64_t from, int64_t count) {
  enum { BUFFER = 4096 };
  const ptrdiff_t size = rm_size_of(j->format), room = BUFFER / size;
  const char *x[RM_MAX_ARITY], *in[RM_MAX_ARITY];
  char *y = j->y + from * j->sy;
  for (int k = 0; k < j->arity; k++) x[k] = j->x[k] + from * j->sx[k];
  if (!j->kernel) return rm_map_rounded(j->function, j->arity, j->format, j->mode, count, x, j->sx, y, j->sy);
  if (j->contiguous) return run(j, count, x, y);
  _Alignas(64) char buffer[RM_MAX_ARITY + 1][BUFFER];
  uint32_t flags = 0;
  for (int k = 0; k < j->arity; k++)
    if (j->sx[k] == 0) rm_copy_elements(buffer[k], size, x[k], 0, count < room ? count : room, (int)size);
  for (int64_t i = 0; i < count; i += room) {
    const int64_t n = count - i < room ? count - i : room;
    for (int k = 0; k < j->arity; k++) {
      in[k] = j->sx[k] == size ? x[k] + i * size : buffer[k];
      if (j->sx[k] != size && j->sx[k] != 0) rm_copy_elements(buffer[k], size, x[k] + i * j->sx[k], j->sx[k], n, (int)size);
    }
    flags |= run(j, n, in, j->sy == size ? y + i * size : buffer[RM_MAX_ARITY]);
    if (j->sy != size) rm_copy_elements(y + i * j->sy, j->sy, buffer[RM_MAX_ARITY], size, n, (int)size);
  }
  return flags;
}

/* Of a long array, the elements before the first whole cache line are computed first: the vectors after them lie in one line
 * each, where the arrays are alike, as NumPy's large ones are. */
static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const problem *j = context;
  const int64_t count = end - begin;
  const ptrdiff_t size = rm_size_of(j->format);
  int64_t before = 0;
  if (count >= RM_LONG_ARRAY && j->sx[0] == size) {
    const uintptr_t start = (uintptr_t)(j->x[0] + begin * size), beyond = start % RM_LINE;
    if (beyond && start % (uintptr_t)size == 0) before = (int64_t)(RM_LINE - beyond) / size;
  }
  const uint32_t flags = before ? stretch(j, begin, before) : 0;
  return flags | stretch(j, begin + before, count - before);
}

/* Where out shares bytes with other elements of an argument, or with itself: `together` steps at a time, in order. */
static uint32_t in_order(const problem *j, int64_t together) {
  uint32_t flags = 0;
  for (int64_t i = 0; i < j->n; i += together) flags |= stretch(j, i, j->n - i < together ? j->n - i : together);
  return flags;
}

/* Positions of the arguments: n, then a pointer and a stride for each array, then the rounding mode. */
static rm_status map(int function, int arity, int format, int mode, int64_t n, const char *const *x, const ptrdiff_t *sx,
                     char *y, ptrdiff_t sy) {
  if (mode < RM_NEAREST || mode > RM_UP) return RM_STATUS(RM_ERR_ENUM, 2 * arity + 4);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n == 0) return RM_OK;
  for (int k = 0; k < arity; k++)
    if (!x[k]) return RM_STATUS(RM_ERR_NULL, 2 * k + 2);
  if (!y) return RM_STATUS(RM_ERR_NULL, 2 * arity + 2);
  const struct rm_map_kernels *kernels = rm_map_kernels();
  if (!kernels) return RM_ERR_ISA;
  problem j = {function, arity, format, mode, n, x, sx, y, sy, n == 1 || sy == rm_size_of(format), NULL, NULL, NULL};
  for (int k = 0; k < arity; k++) j.contiguous &= n == 1 || sx[k] == rm_size_of(format);
  if (mode == RM_NEAREST) j.kernel = kernels->map[function][format];
  const int64_t grain = j.kernel ? RM_GRAIN : RM_GRAIN_ROUNDED;
  int64_t together = n;
  for (int k = 0; k < arity; k++) {
    const int64_t steps = rm_steps_together(n, y, sy, x[k], sx[k], rm_size_of(format));
    if (steps < together) together = steps;
  }
  rm_env env = rm_env_enter();
  if (j.kernel) j.lookup = rm_lookup16_get(kernels, function, arity, format);
  if (j.lookup) j.table = rm_table16_get(kernels, function, arity, format, n);
  rm_env_leave(env, together < n ? in_order(&j, together) : rm_in_parts(n, grain, part, &j));
  return RM_OK;
}

#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) extern rm_map_fn *const rm_map_##name##__base[RM_FORMATS];
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

/* Parameters and arguments by arity. */
#define RM_VALUES_1(type) type x
#define RM_VALUES_2(type) type x, type y
#define RM_VALUES_3(type) type x, type y, type z
#define RM_NAMES_1 x
#define RM_NAMES_2 x, y
#define RM_NAMES_3 x, y, z
#define RM_POINTERS_1 (const char *)&x
#define RM_POINTERS_2 (const char *)&x, (const char *)&y
#define RM_POINTERS_3 (const char *)&x, (const char *)&y, (const char *)&z
#define RM_ARRAYS_1(type) const type *x, ptrdiff_t stride_x
#define RM_ARRAYS_2(type) const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y
#define RM_ARRAYS_3(type) \
  const type *x, ptrdiff_t stride_x, const type *y, ptrdiff_t stride_y, const type *z, ptrdiff_t stride_z
#define RM_ARRAY_POINTERS_1 (const char *)x
#define RM_ARRAY_POINTERS_2 (const char *)x, (const char *)y
#define RM_ARRAY_POINTERS_3 (const char *)x, (const char *)y, (const char *)z
#define RM_STRIDES_1 stride_x
#define RM_STRIDES_2 stride_x, stride_y
#define RM_STRIDES_3 stride_x, stride_y, stride_z

/* One value: the base build's loop of one element, which runs on every CPU. */
#define RM_SCALAR(name, arity, fmt, FMT, type)                      \
  type rm_##name##_##fmt(RM_VALUES_##arity(type)) {                 \
    type r;                                                         \
    const char *in[] = {RM_POINTERS_##arity};                       \
    rm_env env = rm_env_enter();                                    \
    uint32_t flags = rm_map_##name##__base[FMT](1, in, (char *)&r); \
    rm_env_leave(env, flags);                                       \
    return r;                                                       \
  }
#define RM_ARRAY(name, arity, fmt, FMT, type)                                                                               \
  rm_status rm_v##name##_##fmt(int64_t n, RM_ARRAYS_##arity(type), type *out, ptrdiff_t stride_out) {                       \
    const char *const in[] = {RM_ARRAY_POINTERS_##arity};                                                                   \
    const ptrdiff_t strides[] = {RM_STRIDES_##arity};                                                                       \
    return map(RM_FN_##name, arity, FMT, RM_NEAREST, n, in, strides, (char *)out, stride_out);                              \
  }                                                                                                                         \
  rm_status rm_v##name##_rounded_##fmt(int64_t n, RM_ARRAYS_##arity(type), type *out, ptrdiff_t stride_out, int rounding) { \
    const char *const in[] = {RM_ARRAY_POINTERS_##arity};                                                                   \
    const ptrdiff_t strides[] = {RM_STRIDES_##arity};                                                                       \
    return map(RM_FN_##name, arity, FMT, rounding, n, in, strides, (char *)out, stride_out);                                \
  }
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) \
  RM_SCALAR(name, arity, f16, RM_F16, rm_f16)               \
  RM_SCALAR(name, arity, bf16, RM_BF16, rm_bf16)            \
  RM_SCALAR(name, arity, f32, RM_F32, float)                \
  RM_SCALAR(name, arity, f64, RM_F64, double)               \
  RM_ARRAY(name, arity, f16, RM_F16, rm_f16)                \
  RM_ARRAY(name, arity, bf16, RM_BF16, rm_bf16)             \
  RM_ARRAY(name, arity, f32, RM_F32, float)                 \
  RM_ARRAY(name, arity, f64, RM_F64, double)
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
