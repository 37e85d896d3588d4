/* The public functions. Threads share chunks of elements: a chunk is converted to binary64, evaluated by the loops of the ISA
 * in use, and each value rounded where its bound decides. */
#include "kernels.h"

#include <stddef.h>
#include <string.h>

#include "../common/elements.h"
#include "../runtime/env.h"
#include "../runtime/threads.h"

enum { GRAIN = 1 << 13 }; /* elements that are worth a thread */

/* Whether all numbers within err of hi + lo round to one, which goes to `to`. The bound is enlarged by what hi + lo and the
 * sums here may round: lo is at most 2^-53 |hi|, and an end is rounded once. The 16-bit formats are rounded by way of
 * binary32, half a unit of which is 2^-24 |hi| or 2^-150: between ends that are so much further apart lie those binary32
 * numbers, and what these round to alike. */
int rm_special_round(int format, double hi, double lo, double err, char *to) {
  const double size = __builtin_fabs(hi);
  double e = err * (1.0 + 0x1p-48) + size * (format == RM_F64 ? RM_BOUND(0x1p-105) : RM_BOUND(0x1p-51));
  if (format == RM_F64) {
    const double low = hi + (lo - e), high = hi + (lo + e);
    memcpy(to, &low, sizeof low);
    return low == high && rm_is_finite(low);
  }
  if (format != RM_F32) e += size * RM_BOUND(0x1p-23) + 0x1p-149;
  const float low = (float)(hi - e), high = (float)(hi + e);
  if (format == RM_F32) {
    memcpy(to, &low, sizeof low);
    return size > e && low == high;
  }
  const uint16_t below = format == RM_F16 ? rm_f32_to_f16(low) : rm_f32_to_bf16(low);
  const uint16_t above = format == RM_F16 ? rm_f32_to_f16(high) : rm_f32_to_bf16(high);
  memcpy(to, &below, sizeof below);
  return size > e && below == above;
}

/* The same; of an exact value the rounding is exact. */
static int round_value(int format, double hi, double lo, double err, char *to) {
  if (rm_special_round(format, hi, lo, err, to)) return 1;
  if (err != 0.0 || !rm_is_finite(hi)) return 0;
  int undecided = 0;
  uint32_t flags = 0;
  const uint64_t bits = hi == 0.0 ? 0 : rm_round_dd(hi, lo, 0.0, 0, format, RM_NEAREST, &flags, &undecided);
  rm_write_bits(to, bits, format);
  return !undecided;
}

/* Puts the chunk's undecided elements down and returns whether there are any. */
static int round_chunk(const rm_special_problem *p, const rm_special_chunk *chunk, int count, const uint8_t *outside,
                       int64_t at) {
  int any = 0;
  for (int j = 0; j < count; j++) {
    const int open =
        !round_value(p->format, chunk->hi[j], chunk->lo[j], chunk->err[j], p->out + (at + j) * rm_size_of(p->format));
    p->undecided[at + j] = (uint8_t)(open | outside[j]);
    any |= open & !outside[j];
  }
  return any;
}

static uint32_t part(const void *context, int64_t begin, int64_t end) {
  const rm_special_problem *p = context;
  rm_special_fn *const values = rm_special_kernels()->values;
  const int size = rm_size_of(p->format_x);
  const double last = p->recurrence ? 0x1p1023 : p->series ? RM_SPECIAL_SERIES_END : 0x1p100;
  const double first = p->derivative ? RM_SPECIAL_POWERS_BEGIN : -last;
  rm_special_chunk chunk;
  uint8_t outside[RM_SPECIAL_CHUNK];
  for (int64_t i = begin; i < end; i += RM_SPECIAL_CHUNK) {
    const int count = end - i < RM_SPECIAL_CHUNK ? (int)(end - i) : RM_SPECIAL_CHUNK;
    for (int j = 0; j < RM_SPECIAL_CHUNK; j++) {
      const int64_t at = i + (j < count ? j : 0);
      const double x = rm_read_element(p->x + at * size, p->format_x);
      outside[j] = !(x >= first && x <= last);
      chunk.x[j] = outside[j] ? 1.0 : x;
      if (p->degree) chunk.degree[j] = p->degree[at * p->step];
      if (p->degree && outside[j] && chunk.degree[j] < 1.0) outside[j] = 0;
    }
    const int wide = p->format == RM_F64 || !p->series;
    values(p, &chunk, count, wide);
    if (!round_chunk(p, &chunk, count, outside, i) || wide) continue;
    values(p, &chunk, count, 1);
    round_chunk(p, &chunk, count, outside, i);
  }
  return 0;
}

/* Positions of the arguments: the function, formats, n, x, degree and step of a recurrence, then out, undecided,
 * left. */
static rm_status run(const rm_special_problem *p, int64_t n, int64_t *left) {
  const int more = p->recurrence ? 2 : 0;
  if (p->format_x < 0 || p->format_x >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 2);
  if (p->format < 0 || p->format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 3);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 4);
  if (!left) return RM_STATUS(RM_ERR_NULL, 8 + more);
  *left = 0;
  if (n == 0) return RM_OK;
  if (!p->x) return RM_STATUS(RM_ERR_NULL, 5);
  if (!p->out) return RM_STATUS(RM_ERR_NULL, 6 + more);
  if (!p->undecided) return RM_STATUS(RM_ERR_NULL, 7 + more);
  if (!rm_special_kernels()) return RM_ERR_ISA;
  const rm_env env = rm_env_enter();
  rm_in_parts(n, GRAIN, part, p);
  rm_env_leave(env, 0);
  for (int64_t i = 0; i < n; i++) *left += p->undecided[i];
  return RM_OK;
}

rm_status rm_recurrence_values(const rm_recurrence *f, int format_x, int format, int64_t n, const void *x,
                               const double *degree, int64_t step, void *out, uint8_t *undecided, int64_t *left) {
  if (!f) return RM_STATUS(RM_ERR_NULL, 1);
  if (n > 0 && !degree) return RM_STATUS(RM_ERR_NULL, 6);
  if (step != 0 && step != 1) return RM_STATUS(RM_ERR_SIZE, 7);
  for (int64_t i = 0; i < (step ? n : n > 0); i++)
    if (!(degree[i] <= 4096.0 && degree[i] >= -4096.0 && degree[i] == (double)(int)degree[i]))
      return RM_STATUS(RM_ERR_SIZE, 6);
  const rm_special_problem p = {.recurrence = f,
                                .format_x = format_x,
                                .format = format,
                                .x = x,
                                .degree = degree,
                                .step = step,
                                .out = out,
                                .undecided = undecided};
  return run(&p, n, left);
}

rm_status rm_even_series_values(const rm_even_series *f, int format_x, int format, int64_t n, const void *x, void *out,
                                uint8_t *undecided, int64_t *left) {
  if (!f || !f->c) return RM_STATUS(RM_ERR_NULL, 1);
  if (f->terms < 1 || (f->order != 0 && f->order != 1) || (f->sign != 1 && f->sign != -1)) return RM_STATUS(RM_ERR_ENUM, 1);
  const rm_special_problem p = {
      .series = f, .format_x = format_x, .format = format, .x = x, .out = out, .undecided = undecided};
  return run(&p, n, left);
}

rm_status rm_digamma_derivatives(const rm_digamma_derivative *f, int format_x, int format, int64_t n, const void *x,
                                 void *out, uint8_t *undecided, int64_t *left) {
  if (!f || !f->c) return RM_STATUS(RM_ERR_NULL, 1);
  if (f->order < 2 || f->order > 7) return RM_STATUS(RM_ERR_ENUM, 1);
  const rm_special_problem p = {
      .derivative = f, .format_x = format_x, .format = format, .x = x, .out = out, .undecided = undecided};
  return run(&p, n, left);
}
