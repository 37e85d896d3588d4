/* One loop per function and format over the kernels of crlibm/<function>. Included by one translation unit a function
 * (cmake/functions.cmake writes them), after crlibm/<function>/<function>.h, which gives
 *   vm64 rm_<f>_fast_<format>(const vf64 *x, vf64 *y)            a vector of results and the undecided lanes (simd/fast_phase.h)
 *   int64_t rm_<f>_span_<format>(x, i, n, y)                     for some functions: results from i on (simd/machine.h)
 *   vm64 rm_<f>_decided(vf64 x ..., int format, vf64 *y)         undecided lanes whose result saturates, put into y
 * The block loop stores results and tests one mask; only flagged lanes that are not saturated are computed again, by the accurate
 * phase. */
#pragma once

#include "../../crlibm/simd/fast_phase.h"
#include "argument.h"
#include "map_b32_half.h"
#include "accurate.h"

enum { RM_BUFFER = 256 }; /* elements of a strided array that are gathered at a time; a multiple of 2 RM_LANES */

typedef vm64 rm_step(const vf64 *x, vf64 *y);
typedef vm64 rm_saturated(const vf64 *x, int format, vf64 *y);

#define RM_DEFINE_MAP(fmt, FMT, type, load, store)                                                                        \
  /* The elements of `mask` again, by the accurate phase. in is a copy: y may be x. */                                    \
  RM_COLD uint32_t rm_redo_##fmt(rm_accurate_fn *accurate, int arity, type(*in)[2 * RM_LANES], uint32_t mask, type *y) {  \
    uint32_t flags = 0;                                                                                                   \
    for (int i = 0; mask >> i; i++)                                                                                       \
      if (mask >> i & 1u) {                                                                                               \
        double x[RM_MAX_ARITY];                                                                                           \
        uint64_t bits;                                                                                                    \
        for (int k = 0; k < arity; k++) {                                                                                 \
          bits = 0; /* little endian */                                                                                   \
          __builtin_memcpy(&bits, in[k] + i, sizeof(type));                                                               \
          x[k] = rm_accurate_argument(bits, FMT, &flags);                                                                 \
        }                                                                                                                 \
        bits = accurate(x, FMT, RM_NEAREST, &flags);                                                                      \
        __builtin_memcpy(y + i, &bits, sizeof(type));                                                                     \
      }                                                                                                                   \
    return flags;                                                                                                         \
  }                                                                                                                       \
                                                                                                                          \
  typedef int64_t rm_span_##fmt(const type *const *x, int64_t i, int64_t n, type *y);                                     \
  RM_FN uint32_t rm_map_contiguous_##fmt(rm_step *step, rm_span_##fmt *span, rm_saturated *saturated,                     \
                                         rm_accurate_fn *accurate, int arity, int64_t n, const type *const *x, type *y) { \
    uint32_t flags = 0;                                                                                                   \
    int64_t i = 0;                                                                                                        \
    vf64 a[RM_MAX_ARITY], b[RM_MAX_ARITY], y0, y1;                                                                        \
    for (; i + 2 * RM_LANES <= n; i += 2 * RM_LANES) {                                                                    \
      if (span) {                                                                                                         \
        i = span(x, i, n, y);                                                                                             \
        if (i + 2 * RM_LANES > n) break;                                                                                  \
      }                                                                                                                   \
      RM_UNROLL for (int k = 0; k < arity; k++) a[k] = load(x[k] + i), b[k] = load(x[k] + i + RM_LANES);                  \
      vm64 m0 = step(a, &y0), m1 = step(b, &y1);                                                                          \
      if (RM_LIKELY(vm64_none(vm64_or(m0, m1)))) {                                                                        \
        store(y + i, y0);                                                                                                 \
        store(y + i + RM_LANES, y1);                                                                                      \
      } else {                                                                                                            \
        type in[RM_MAX_ARITY][2 * RM_LANES];                                                                              \
        RM_UNROLL for (int k = 0; k < arity; k++) {                                                                       \
          __builtin_memcpy(in[k], x[k] + i, sizeof in[k]);                                                                \
          a[k] = load(in[k]), b[k] = load(in[k] + RM_LANES);                                                              \
        }                                                                                                                 \
        m0 = vm64_andnot(m0, saturated(a, FMT, &y0));                                                                     \
        m1 = vm64_andnot(m1, saturated(b, FMT, &y1));                                                                     \
        store(y + i, y0);                                                                                                 \
        store(y + i + RM_LANES, y1);                                                                                      \
        uint32_t mask = vm64_bits(m0) | vm64_bits(m1) << RM_LANES;                                                        \
        if (mask) flags |= rm_redo_##fmt(accurate, arity, in, mask, y + i);                                               \
      }                                                                                                                   \
    }                                                                                                                     \
    while (i < n) { /* the tail, in a padded vector */                                                                    \
      int count = n - i < RM_LANES ? (int)(n - i) : RM_LANES;                                                             \
      type in[RM_MAX_ARITY][2 * RM_LANES], out[RM_LANES];                                                                 \
      RM_UNROLL for (int k = 0; k < arity; k++) {                                                                         \
        for (int j = 0; j < RM_LANES; j++) in[k][j] = 0;                                                                  \
        __builtin_memcpy(in[k], x[k] + i, (size_t)count * sizeof(type));                                                  \
        a[k] = load(in[k]);                                                                                               \
      }                                                                                                                   \
      uint32_t mask = vm64_bits(step(a, &y0)) & ((1u << count) - 1u);                                                     \
      store(out, y0);                                                                                                     \
      if (RM_UNLIKELY(mask)) flags |= rm_redo_##fmt(accurate, arity, in, mask, out);                                      \
      __builtin_memcpy(y + i, out, (size_t)count * sizeof(type));                                                         \
      i += count;                                                                                                         \
    }                                                                                                                     \
    return flags;                                                                                                         \
  }                                                                                                                       \
                                                                                                                          \
  RM_FN uint32_t rm_map_##fmt(rm_step *step, rm_span_##fmt *span, rm_saturated *saturated, rm_accurate_fn *accurate,      \
                              int arity, int64_t n, const char *const *x, const ptrdiff_t *sx, char *y, ptrdiff_t sy) {   \
    int contiguous = sy == sizeof(type);                                                                                  \
    const type *in[RM_MAX_ARITY];                                                                                         \
    for (int k = 0; k < arity; k++) {                                                                                     \
      contiguous &= sx[k] == sizeof(type);                                                                                \
      in[k] = (const type *)(const void *)x[k];                                                                           \
    }                                                                                                                     \
    if (contiguous) return rm_map_contiguous_##fmt(step, span, saturated, accurate, arity, n, in, (type *)(void *)y);     \
    uint32_t flags = 0;                                                                                                   \
    type buffer[RM_MAX_ARITY + 1][RM_BUFFER]; /* arguments that are not contiguous, and the results */                    \
    for (int k = 0; k < arity; k++)                                                                                       \
      if (sx[k] == 0) /* one element for all */                                                                           \
        for (int j = 0; j < RM_BUFFER; j++) __builtin_memcpy(buffer[k] + j, x[k], sizeof(type));                          \
    for (int64_t i = 0; i < n; i += RM_BUFFER) {                                                                          \
      int64_t count = n - i < RM_BUFFER ? n - i : RM_BUFFER;                                                              \
      for (int k = 0; k < arity; k++) {                                                                                   \
        in[k] = sx[k] == sizeof(type) ? (const type *)(const void *)x[k] + i : buffer[k];                                 \
        if (sx[k] != sizeof(type) && sx[k] != 0)                                                                          \
          for (int64_t j = 0; j < count; j++) __builtin_memcpy(buffer[k] + j, x[k] + (i + j) * sx[k], sizeof(type));      \
      }                                                                                                                   \
      type *out = sy == sizeof(type) ? (type *)(void *)y + i : buffer[RM_MAX_ARITY];                                      \
      flags |= rm_map_contiguous_##fmt(step, span, saturated, accurate, arity, count, in, out);                           \
      if (sy != sizeof(type))                                                                                             \
        for (int64_t j = 0; j < count; j++) __builtin_memcpy(y + (i + j) * sy, out + j, sizeof(type));                    \
    }                                                                                                                     \
    return flags;                                                                                                         \
  }

RM_DEFINE_MAP(f16, RM_F16, uint16_t, vf64_load_f16, vf64_store_f16)
RM_DEFINE_MAP(bf16, RM_BF16, uint16_t, vf64_load_bf16, vf64_store_bf16)
RM_DEFINE_MAP(f32, RM_F32, float, vf64_load_f32, vf64_store_f32)
RM_DEFINE_MAP(f64, RM_F64, double, vf64_load, vf64_store)

#if RM_B32
/* The f32 loop over a binary32 evaluation. Undecided lanes are deferred and computed together by `wider`, the loop above; a block most
 * of whose lanes are undecided goes there as it is. Arrays may be anywhere: single elements are copied. */
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
  const ptrdiff_t stride = sizeof(float);
  const uint32_t flags = wider(queue->count, &in, &stride, (char *)y, stride);
  for (int k = 0; k < queue->count; k++) __builtin_memcpy(out + queue->at[k], y + k, sizeof(float));
  queue->count = 0;
  return flags;
}

RM_FN uint32_t rm_map_b32(rm_step_b32 *step, rm_map_fn *wider, int64_t n, const char *const *x, const ptrdiff_t *sx, char *y,
                          ptrdiff_t sy) {
  if (sx[0] != sizeof(float) || sy != sizeof(float)) return wider(n, x, sx, y, sy);
  const float *in = (const float *)(const void *)x[0];
  float *out = (float *)(void *)y;
  uint32_t flags = 0;
  int64_t i = 0;
  struct rm_queue queue;
  queue.count = 0;
  for (; i + 2 * RM_B32_LANES <= n; i += 2 * RM_B32_LANES) {
    vf32 y0, y1;
    vm32 m0 = step(vf32_load_f32(in + i), &y0), m1 = step(vf32_load_f32(in + i + RM_B32_LANES), &y1);
    if (RM_UNLIKELY(!vm32_none(vm32_or(m0, m1)))) { /* in may be out: it is read before the stores */
      uint32_t undecided = vm32_bits(m0) | vm32_bits(m1) << RM_B32_LANES;
      if (__builtin_popcount(undecided) > RM_B32_LANES / 2) {
        const char *block = (const char *)(in + i);
        flags |= wider(2 * RM_B32_LANES, &block, sx, (char *)(out + i), sy);
        continue;
      }
      for (; undecided; undecided &= undecided - 1, queue.count++) {
        queue.at[queue.count] = i + __builtin_ctz(undecided);
        __builtin_memcpy(queue.x + queue.count, in + queue.at[queue.count], sizeof(float));
      }
    }
    vf32_store_f32(out + i, y0);
    vf32_store_f32(out + i + RM_B32_LANES, y1);
    if (RM_UNLIKELY(queue.count >= RM_QUEUE)) flags |= rm_flush_queue(&queue, wider, out);
  }
  const char *rest = (const char *)(in + i);
  if (i < n) flags |= wider(n - i, &rest, sx, (char *)(out + i), sy);
  if (queue.count) flags |= rm_flush_queue(&queue, wider, out);
  return flags;
}
#endif

/* The second of its arguments: that of RM_SPAN_<f>_<format> (crlibm/simd/machine.h) when it is defined, else a null pointer. */
#define RM_SECOND_(a, b, ...) b
#define RM_SECOND(...) RM_SECOND_(__VA_ARGS__, 0)

/* The four loops of one function, and their table. The steps and spans are inlined into the loops. */
#define RM_MAP_ENTRY(name, arity, fmt)                                                                                 \
  RM_STATIC uint32_t map_##name##_##fmt(int64_t n, const char *const *x, const ptrdiff_t *sx, char *y, ptrdiff_t sy) { \
    return rm_map_##fmt(rm_##name##_fast_##fmt, RM_SECOND(RM_SPAN_##name##_##fmt, 0), rm_saturated_##name,             \
                        rm_accurate_##name, arity, n, x, sx, y, sy);                                                   \
  }
#define RM_MAP_ENTRIES(name, arity)                                    \
  RM_FN vm64 rm_saturated_##name(const vf64 *x, int format, vf64 *y) { \
    return rm_##name##_decided(RM_ARGUMENTS_##arity(x), format, y);    \
  }                                                                    \
  RM_MAP_ENTRY(name, arity, f16)                                       \
  RM_MAP_ENTRY(name, arity, bf16)                                      \
  RM_MAP_ENTRY(name, arity, f32)                                       \
  RM_MAP_ENTRY(name, arity, f64)

/* The loops over binary32 evaluations, where the function has <f>_b32.h (RM_B32_<f> is 1: f32, one argument) or <f>_b32_half.h
 * (RM_HALF_<f> is 1: f16 and bf16), and which loops the table names. */
#define RM_B32_LOOP_0(name)
#define RM_B32_LOOP_1(name)                                                                                        \
  RM_STATIC uint32_t map_b32_##name(int64_t n, const char *const *x, const ptrdiff_t *sx, char *y, ptrdiff_t sy) { \
    return rm_map_b32(rm_##name##_b32, map_##name##_f32, n, x, sx, y, sy);                                         \
  }
#define RM_LOOPS_HALF_0(name, arity)
#define RM_LOOPS_HALF_1(name, arity) RM_LOOP_HALF(name, arity, f16, RM_F16) RM_LOOP_HALF(name, arity, bf16, RM_BF16)
#define RM_LOOP_HALF(name, arity, fmt, FMT)                                                                                 \
  RM_FN vf32 eval16_##name##_##fmt(const void *context, const uint16_t *const *x, int64_t i) {                              \
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
  RM_STATIC uint32_t run16_##name##_##fmt(const void *context, rm_map_fn *wider, int64_t n, const uint16_t *const *x,       \
                                          uint16_t *y) {                                                                    \
    return rm_contiguous16(step16_##name##_##fmt, context, wider, arity, n, x, y);                                          \
  }                                                                                                                         \
  RM_STATIC uint32_t loop16_##name##_##fmt(int64_t n, const char *const *x, const ptrdiff_t *sx, char *y, ptrdiff_t sy) {   \
    return rm_map16(run16_##name##_##fmt, NULL, map_##name##_##fmt, arity, n, x, sx, y, sy);                                \
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
