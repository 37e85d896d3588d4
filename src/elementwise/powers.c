/* The public functions of powers with an integer. They check the arguments, set the floating-point environment, and divide
 * the work among threads. */
#include "powers.h"

#include "../../crlibm/pown/pown.h"
#include "../../include/repmath/powers.h"
#include "../common/elements.h"
#include "../common/overlap.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"
#include "argument.h"

enum { RM_GRAIN_POWERS = 1 << 14, RM_GRAIN_POWERS_ROUNDED = 1 << 11 }; /* elements that are worth a thread */

/* A rounding mode that has no loop of vectors. */
static uint32_t rounded(const void *context, int64_t begin, int64_t end) {
  const rm_powers *p = context;
  uint32_t flags = 0;
  for (int64_t i = begin; i < end; i++) {
    int64_t n;
    const double x = rm_accurate_argument(rm_read_bits(p->x + i * p->stride_x, p->format), p->format, &flags);
    __builtin_memcpy(&n, p->n + i * p->stride_n, sizeof n);
    const uint64_t bits = rm_accurate_powers[p->kind](x, n, p->format, (rm_mode)p->mode, &flags);
    rm_write_bits(p->y + i * p->stride_y, bits, p->format);
  }
  return flags;
}

static uint32_t nearest(const void *context, int64_t begin, int64_t end) {
  return rm_power_kernels()->map(context, begin, end);
}

/* Whether results may be stored while later arguments are unread: where out overlaps x otherwise than in the same place, or
 * the integers at all, elements are taken one by one. */
static int is_apart(const rm_powers *p, int64_t count) {
  const int size = rm_size_of(p->format);
  const rm_grid out = {p->y, 1, &count, &p->stride_y}, n = {p->n, 1, &count, &p->stride_n};
  return rm_steps_together(count, p->y, p->stride_y, p->x, p->stride_x, size) == count &&
         !rm_spans_meet(&out, size, &n, (int)sizeof(int64_t));
}

/* Positions of the arguments: the count, a pointer and a stride for each array, the rounding mode. */
static rm_status run(const rm_powers *p, int64_t count) {
  if (p->mode < RM_NEAREST || p->mode > RM_UP) return RM_STATUS(RM_ERR_ENUM, 8);
  if (count < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (count == 0) return RM_OK;
  if (!p->x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!p->n) return RM_STATUS(RM_ERR_NULL, 4);
  if (!p->y) return RM_STATUS(RM_ERR_NULL, 6);
  if (!rm_power_kernels()) return RM_ERR_ISA;
  rm_part_fn *const part = p->mode == RM_NEAREST ? nearest : rounded;
  const int64_t grain = p->mode == RM_NEAREST ? RM_GRAIN_POWERS : RM_GRAIN_POWERS_ROUNDED;
  const rm_env env = rm_env_enter();
  uint32_t flags = 0;
  if (is_apart(p, count)) flags = rm_in_parts(count, grain, part, p);
  else
    for (int64_t i = 0; i < count; i++) flags |= part(p, i, i + 1);
  rm_env_leave(env, flags);
  return RM_OK;
}

/* One value: the base build's loop of one element, which runs on every CPU. */
extern const struct rm_power_kernels rm_power_table__base;
static void one(int kind, int format, const void *x, int64_t n, void *y) {
  const rm_powers p = {kind, format, RM_NEAREST, x, (const char *)&n, y, 0, 0, 0};
  const rm_env env = rm_env_enter();
  rm_env_leave(env, rm_power_table__base.map(&p, 0, 1));
}

#define RM_POWER_OF(name, NAME, fmt, FMT, type)                                                                        \
  type rm_##name##_##fmt(type x, int64_t n) {                                                                          \
    type y;                                                                                                            \
    one(NAME, FMT, &x, n, &y);                                                                                         \
    return y;                                                                                                          \
  }                                                                                                                    \
  rm_status rm_v##name##_rounded_##fmt(int64_t count, const type *x, ptrdiff_t stride_x, const int64_t *n,             \
                                       ptrdiff_t stride_n, type *out, ptrdiff_t stride_out, int rounding) {            \
    const rm_powers p = {                                                                                              \
        NAME, FMT, rounding, (const char *)x, (const char *)n, (char *)out, stride_x, stride_n, stride_out};           \
    return run(&p, count);                                                                                             \
  }                                                                                                                    \
  rm_status rm_v##name##_##fmt(int64_t count, const type *x, ptrdiff_t stride_x, const int64_t *n, ptrdiff_t stride_n, \
                               type *out, ptrdiff_t stride_out) {                                                      \
    return rm_v##name##_rounded_##fmt(count, x, stride_x, n, stride_n, out, stride_out, RM_NEAREST);                   \
  }
#define RM_POWER(name, NAME, definition, special)      \
  RM_POWER_OF(name, RM_##NAME, f16, RM_F16, rm_f16)    \
  RM_POWER_OF(name, RM_##NAME, bf16, RM_BF16, rm_bf16) \
  RM_POWER_OF(name, RM_##NAME, f32, RM_F32, float)     \
  RM_POWER_OF(name, RM_##NAME, f64, RM_F64, double)
#include "../../crlibm/powers.def"
