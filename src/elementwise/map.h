/* One loop per function and format over the kernels of crlibm/<function>. Included by one translation unit a function
 * (cmake/functions.cmake writes them), after crlibm/<function>/<function>.h, which gives
 *   vm64 rm_<f>_fast_<format>(const vf64 *x, vf64 *y)            a vector of results and the undecided lanes
 *                                                                (simd/fast_phase.h)
 *   int64_t rm_<f>_span_<format>(x, i, n, y)                     for some functions: results from i on (simd/machine.h)
 *   vm64 rm_<f>_decided(vf64 x ..., int format, vf64 *y)         undecided lanes whose result saturates, put into y: NaN only
 *                                                                for an
 *                                                              invalid argument, an infinity where IEEE 754 gives one
 * The block loop stores results and tests one mask; only flagged lanes that are not saturated are computed again, by the
 * accurate phase: once for each argument that comes again (special.h). */
#pragma once

#include "../../crlibm/simd/fast_phase.h"
#include "../common/elements.h"
#include "argument.h"
#include "half_table.h"
#include "map_b32_half.h"
#include "special.h"

typedef vm64 rm_step(const vf64 *x, vf64 *y);
typedef vm64 rm_saturated(const vf64 *x, int format, vf64 *y);

/* Results from i on, as far as they need no test; returns the first that is left. */
typedef int64_t rm_span(const char *const *x, int64_t i, int64_t n, char *y, uint32_t *flags);

/* What the loop of a function and format calls. All of it is constant where the functions below are called, and is inlined
 * there. */
typedef struct {
  rm_step *step;
  rm_span *span;
  rm_saturated *saturated;
  rm_accurate_fn *accurate;
  int arity, format, number_of_nan; /* 1: of a NaN and another argument the function may be a number */
} rm_phases;

RM_FN uint32_t rm_map(const rm_phases f, int64_t n, const char *const *x, char *y) {
  const int size = rm_size_of(f.format), half = RM_LANES * size;
  uint64_t rest[RM_MAX_ARITY + 1][2 * RM_LANES];
  const char *from[RM_MAX_ARITY];
  char *to = y, *last = NULL;
  int64_t end = n, i = 0;
  uint32_t flags = 0, raised = 0; /* raised by a span */
  struct rm_known known;
  known.count = 0;
  for (int k = 0; k < f.arity; k++) from[k] = x[k];
  for (;;) {
    vf64 a[RM_MAX_ARITY], b[RM_MAX_ARITY], y0, y1;
    for (; i + 2 * RM_LANES <= end; i += 2 * RM_LANES) {
      i = f.span(from, i, end, to, &raised);
      if (i + 2 * RM_LANES > end) break;
      char *const out = to + i * size;
      RM_UNROLL for (int k = 0; k < f.arity; k++) {
        a[k] = rm_load_elements(from[k] + i * size, f.format);
        b[k] = rm_load_elements(from[k] + i * size + half, f.format);
      }
      vm64 m0 = f.step(a, &y0), m1 = f.step(b, &y1);
      if (RM_LIKELY(vm64_none(vm64_or(m0, m1)))) {
        rm_store_elements(out, y0, f.format);
        rm_store_elements(out + half, y1, f.format);
      } else {
        uint64_t in[RM_MAX_ARITY][2 * RM_LANES]; /* a copy: y may be x */
        vf64 s0 = y0, s1 = y1;
        RM_UNROLL for (int k = 0; k < f.arity; k++) {
          __builtin_memcpy(in[k], from[k] + i * size, (size_t)(2 * half));
          a[k] = rm_load_elements((const char *)in[k], f.format);
          b[k] = rm_load_elements((const char *)in[k] + half, f.format);
        }
        const vm64 d0 = vm64_and(m0, f.saturated(a, f.format, &s0)), d1 = vm64_and(m1, f.saturated(b, f.format, &s1));
        rm_store_elements(out, vf64_select(d0, s0, y0), f.format);
        rm_store_elements(out + half, vf64_select(d1, s1, y1), f.format);
        m0 = vm64_andnot(m0, d0);
        m1 = vm64_andnot(m1, d1);
        const uint32_t undecided = vm64_bits(m0) | vm64_bits(m1) << RM_LANES;
        const uint32_t decided = vm64_bits(vm64_and(d0, vf64_not_finite(s0, f.format))) |
                                 vm64_bits(vm64_and(d1, vf64_not_finite(s1, f.format))) << RM_LANES;
        if (undecided | decided)
          flags |= rm_redo(f.accurate, f.arity, f.format, f.number_of_nan, in, undecided, decided, out, &known);
      }
    }
    if (last) __builtin_memcpy(last, rest[RM_MAX_ARITY], (size_t)(y + n * size - last));
    if (i == end) break;
    /* The last elements in a block of their own, filled up with the first of them. */
    const int count = (int)(n - i);
    last = y + i * size;
    RM_UNROLL for (int k = 0; k < f.arity; k++) {
      const char *const at = from[k] + i * size;
      for (int j = 0; j < 2 * RM_LANES; j++)
        rm_write_bits((char *)rest[k] + j * size, rm_read_bits(at + (j < count ? j : 0) * size, f.format), f.format);
      from[k] = (const char *)rest[k];
    }
    to = (char *)rest[RM_MAX_ARITY];
    end = 2 * RM_LANES;
    i = 0;
  }
  return flags | raised;
}

#if RM_B32
/* The f32 loop over a binary32 evaluation. Undecided lanes are deferred and computed together by `wider`, the loop above; a
 * block most of whose lanes are undecided goes there as it is. Arrays may be anywhere: single elements are copied. */
enum { RM_QUEUE = 64 };
typedef vm32 rm_step_b32(vf32 x, vf32 *y);
struct rm_queue {
  int count;
  float x[RM_QUEUE + 2 * RM_B32_LANES];
  int64_t at[RM_QUEUE + 2 * RM_B32_LANES];
};

RM_COLD uint32_t rm_flush_queue(struct rm_queue *queue, rm_map_fn *wider, float *out) {
  float y[RM_QUEUE + 2 * RM_B32_LANES];
  const char *in = (const char *)queue->x;
  const uint32_t flags = wider(queue->count, &in, (char *)y);
  for (int k = 0; k < queue->count; k++) __builtin_memcpy(out + queue->at[k], y + k, sizeof(float));
  queue->count = 0;
  return flags;
}

RM_FN uint32_t rm_map_b32(rm_step_b32 *step, rm_map_fn *wider, int64_t n, const char *const *x, char *y) {
  const float *in = (const float *)(const void *)x[0];
  float *out = (float *)(void *)y;
  uint32_t flags = 0;
  int64_t i = 0;
  struct rm_queue queue;
  struct rm_known_f32 known;
  queue.count = known.count = 0;
  for (; i + 2 * RM_B32_LANES <= n; i += 2 * RM_B32_LANES) {
    vf32 y0, y1;
    vm32 m0 = step(vf32_load_f32(in + i), &y0), m1 = step(vf32_load_f32(in + i + RM_B32_LANES), &y1);
    if (RM_UNLIKELY(!vm32_none(vm32_or(m0, m1)))) { /* in may be out: it is read before the stores */
      uint32_t undecided = vm32_bits(m0) | vm32_bits(m1) << RM_B32_LANES;
      undecided &= ~rm_know_f32(&known, in + i, &y0, &y1, &flags);
      if (__builtin_popcount(undecided) > RM_B32_LANES / 2) {
        const char *block = (const char *)(in + i);
        const int first = __builtin_ctz(undecided), last = 31 - __builtin_clz(undecided);
        float asked, later, given; /* elements may lie anywhere */
        __builtin_memcpy(&asked, in + i + first, sizeof asked);
        __builtin_memcpy(&later, in + i + last, sizeof later);
        const int again = rm_bits32(asked) == rm_bits32(later);
        flags |= wider(2 * RM_B32_LANES, &block, (char *)(out + i));
        __builtin_memcpy(&given, out + i + first, sizeof given);
        if (again) rm_learn_f32(&known, asked, given);
        continue;
      }
      for (; undecided; undecided &= undecided - 1, queue.count++) {
        queue.at[queue.count] = i + __builtin_ctz(undecided);
        __builtin_memcpy(queue.x + queue.count, in + queue.at[queue.count], sizeof(float));
      }
    }
    vf32_store_f32(out + i, y0);
    vf32_store_f32(out + i + RM_B32_LANES, y1);
    if (RM_UNLIKELY(queue.count >= RM_QUEUE)) {
      const int64_t at = queue.at[0];
      float given;
      flags |= rm_flush_queue(&queue, wider, out);
      __builtin_memcpy(&given, out + at, sizeof given);
      rm_learn_f32(&known, queue.x[0], given);
    }
  }
  const char *rest = (const char *)(in + i);
  if (i < n) flags |= wider(n - i, &rest, (char *)(out + i));
  if (queue.count) flags |= rm_flush_queue(&queue, wider, out);
  return flags;
}
#endif

/* The second of its arguments: that of RM_SPAN_<f>_<format> (crlibm/simd/machine.h) or RM_NUMBER_OF_NAN_<f> when it is
 * defined, else 0. */
#define RM_SECOND_(a, b, ...) b
#define RM_SECOND(...) RM_SECOND_(__VA_ARGS__, 0)

/* The four loops of one function, and their table. */
#define RM_MAP_ENTRY(name, arity, fmt, FMT, type)                                                                            \
  RM_FN int64_t span_##name##_##fmt(const char *const *x, int64_t i, int64_t n, char *y, uint32_t *flags) {                  \
    int64_t (*const span)(const type *const *, int64_t, int64_t, type *, uint32_t *) = RM_SECOND(RM_SPAN_##name##_##fmt, 0); \
    const type *in[arity];                                                                                                   \
    RM_UNROLL for (int k = 0; k < arity; k++) in[k] = (const type *)(const void *)x[k];                                      \
    return span ? span(in, i, n, (type *)(void *)y, flags) : i;                                                              \
  }                                                                                                                          \
  RM_STATIC uint32_t map_##name##_##fmt(int64_t n, const char *const *x, char *y) {                                          \
    const rm_phases phases = {rm_##name##_fast_##fmt,                                                                        \
                              span_##name##_##fmt,                                                                           \
                              rm_saturated_##name,                                                                           \
                              rm_accurate_##name,                                                                            \
                              arity,                                                                                         \
                              FMT,                                                                                           \
                              RM_SECOND(RM_NUMBER_OF_NAN_##name, 0)};                                                        \
    return rm_map(phases, n, x, y);                                                                                          \
  }
#define RM_MAP_ENTRIES(name, arity)                                    \
  RM_FN vm64 rm_saturated_##name(const vf64 *x, int format, vf64 *y) { \
    return rm_##name##_decided(RM_ARGUMENTS_##arity(x), format, y);    \
  }                                                                    \
  RM_MAP_ENTRY(name, arity, f16, RM_F16, uint16_t)                     \
  RM_MAP_ENTRY(name, arity, bf16, RM_BF16, uint16_t)                   \
  RM_MAP_ENTRY(name, arity, f32, RM_F32, float)                        \
  RM_MAP_ENTRY(name, arity, f64, RM_F64, double)

/* The loops over binary32 evaluations, where the function has <f>_b32.h (RM_B32_<f> is 1: f32, one argument) or
 * <f>_b32_half.h (RM_HALF_<f> is 1: f16 and bf16), and which loops the table names. */
#define RM_B32_LOOP_0(name)
#define RM_B32_LOOP_1(name)                                                     \
  RM_STATIC uint32_t map_b32_##name(int64_t n, const char *const *x, char *y) { \
    return rm_map_b32(rm_##name##_b32, map_##name##_f32, n, x, y);              \
  }
#define RM_LOOPS_HALF_0(name, arity)
/* For what these loops leave undecided of one argument, a table once that pays. */
#define RM_WIDE16_1(name, fmt, FMT)                                                                  \
  RM_STATIC uint32_t wide16_##name##_##fmt(int64_t n, const char *const *x, char *y) {               \
    const struct rm_table16 *table = rm_undecided_table16(RM_FN_##name, FMT, map_##name##_##fmt, n); \
    return table ? rm_look_up16(table, n, x[0], y) : map_##name##_##fmt(n, x, y);                    \
  }
#define RM_WIDE16_2(name, fmt, FMT) \
  RM_STATIC uint32_t wide16_##name##_##fmt(int64_t n, const char *const *x, char *y) { return map_##name##_##fmt(n, x, y); }
#define RM_LOOPS_HALF_1(name, arity) RM_LOOP_HALF(name, arity, f16, RM_F16) RM_LOOP_HALF(name, arity, bf16, RM_BF16)
#define RM_LOOP_HALF(name, arity, fmt, FMT)                                                                                 \
  RM_WIDE16_##arity(name, fmt, FMT) RM_FN vf32 eval16_##name##_##fmt(const void *context, const uint16_t *const *x,         \
                                                                     int64_t i) {                                           \
    (void)context;                                                                                                          \
    vf32 v[arity];                                                                                                          \
    RM_UNROLL for (int k = 0; k < arity; k++) v[k] = vf32_load_##fmt(x[k] + i);                                             \
    return rm_##name##_b32_half(v, FMT);                                                                                    \
  }                                                                                                                         \
  RM_FN uint32_t take16_##name##_##fmt(const uint16_t *x, vf32 v0, vf32 v1, vu16 *y){RM_HALF_TAKE_##fmt(                    \
      name, FMT)} RM_FN uint32_t step16_##name##_##fmt(const void *context, const uint16_t *const *x, int64_t i, vu16 *y) { \
    return take16_##name##_##fmt(x[0] + i, eval16_##name##_##fmt(context, x, i),                                            \
                                 eval16_##name##_##fmt(context, x, i + RM_GROUP16), y);                                     \
  }                                                                                                                         \
  RM_STATIC uint32_t loop16_##name##_##fmt(int64_t n, const char *const *x, char *y) {                                      \
    return rm_map16(step16_##name##_##fmt, NULL, wide16_##name##_##fmt, arity, n, x, y);                                    \
  }
/* Results v0 and v1 for arguments from x on: tested, or known to be right (RM_HALF_KNOWN_<f>, b32.h). */
#define RM_HALF_TAKE_bf16(name, FMT) RM_HALF_TESTED(name, bf16, FMT)
#define RM_HALF_TAKE_f16(name, FMT) RM_CAT(RM_HALF_TAKE_, RM_HALF_KNOWN_##name)(name, f16, FMT)
#define RM_HALF_TAKE_0 RM_HALF_TESTED
#define RM_HALF_TAKE_1(name, fmt, FMT) \
  y[0] = vf32_to_##fmt(v0);            \
  y[1] = vf32_to_##fmt(v1);            \
  return vu16_outside(x, RM_HALF_INPUTS_##name);
#define RM_HALF_TESTED(name, fmt, FMT)                                          \
  (void)x;                                                                      \
  const uint32_t low = vf32_round_##fmt(v0, (float)RM_HALF_ERR_##name(FMT), y); \
  return low | vf32_round_##fmt(v1, (float)RM_HALF_ERR_##name(FMT), y + 1) << RM_GROUP16;
#define RM_PICK_0(b64, b32) b64
#define RM_PICK_1(b64, b32) b32
#define RM_PICK(which, b64, b32) RM_CAT(RM_PICK_, which)(b64, b32)
#define RM_MAP_FUNCTION(name, arity)                                                                                        \
  RM_MAP_ENTRIES(name, arity)                                                                                               \
  RM_CAT(RM_B32_LOOP_, RM_B32_##name)(name)                                                                                 \
      RM_CAT(RM_LOOPS_HALF_, RM_HALF_##name)(name, arity) extern rm_map_fn *const RM_ISA_SYMBOL(rm_map_##name)[RM_FORMATS]; \
  extern const int RM_ISA_SYMBOL(rm_direct16_##name);                                                                       \
  rm_map_fn *const RM_ISA_SYMBOL(rm_map_##name)[RM_FORMATS] = {                                                             \
      RM_PICK(RM_HALF_##name, map_##name##_f16, loop16_##name##_f16),                                                       \
      RM_PICK(RM_HALF_##name, map_##name##_bf16, loop16_##name##_bf16),                                                     \
      RM_PICK(RM_B32_##name, map_##name##_f32, map_b32_##name), map_##name##_f64};                                          \
  const int RM_ISA_SYMBOL(rm_direct16_##name) = RM_HALF_##name;
