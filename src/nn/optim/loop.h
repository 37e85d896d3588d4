/* The loops of optimiser steps over vectors (optim/step.h) on the host. rm_optimizer_accurate evaluates undecided lanes
 * again, from what the arrays held before. */
#pragma once

#include "fused.h"
#include "step.h"

RM_FN rm_optimizer_element rm_read_step(const rm_step_arrays *a, int64_t i, const int fmt) {
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(fmt);
  rm_optimizer_element e = {rm_read_bits(a->p + at, fmt), rm_read_bits(a->g + at, fmt), 0, 0, 0, {0}};
  if (a->m) e.m = rm_read_bits(a->m + at, fmt);
  if (a->v) e.v = rm_read_bits(a->v + at, fmt);
  if (a->w) e.w = rm_read_bits(a->w + at, fmt);
  return e;
}
RM_FN void rm_write_step(const rm_step_arrays *a, int64_t i, const rm_optimizer_element *e, const int fmt) {
  const ptrdiff_t at = (ptrdiff_t)i * rm_size_of(fmt);
  rm_write_bits(a->p + at, e->p, fmt);
  if (a->m) rm_write_bits(a->m + at, e->m, fmt);
  if (a->v) rm_write_bits(a->v + at, e->v, fmt);
  if (a->w) rm_write_bits(a->w + at, e->w, fmt);
}

/* Evaluates the lanes in `undecided` from what the arrays hold, to e. */
RM_COLD uint32_t rm_redo_step(const rm_optimizer *o, const rm_step_arrays *a, uint32_t undecided, int fmt,
                              rm_optimizer_element *e) {
  uint32_t flags = 0;
  for (int i = 0; i < RM_LANES; i++)
    if (undecided >> i & 1) {
      e[i] = rm_read_step(a, i, fmt);
      flags |= rm_optimizer_accurate(o, e + i);
    }
  return flags;
}
/* The lanes whose arguments hold a signalling NaN, which a load would quiet. */
RM_FN uint32_t rm_step_signalling(const rm_step_arrays *a, const int fmt) {
  const char *const from[5] = {a->p, a->g, a->m, a->v, a->w};
  uint32_t lanes = 0;
  for (int k = 0; k < 5; k++)
    if (from[k])
      for (int i = 0; i < RM_LANES; i++)
        lanes |= (uint32_t)rm_is_signalling(rm_read_bits(from[k] + (ptrdiff_t)i * rm_size_of(fmt), fmt), fmt) << i;
  return lanes;
}

/* The undecided lanes less those of a model that diverged, whose new numbers are put into y:
 *   NaN       The gradient is NaN, or what m' and v' are made of, p where there are no such states, so that all new numbers
 *             are.
 *   infinity  Adam's v is infinite, or keep d^2 is above 2^(emax + 5) and v >= 0, where binary64 has the first part of d:
 *             after a cancellation that is below 2 |d|, since it is a multiple of the last place that the second part rounds
 *             to, so v' is above 2^(emax + 2): v' = inf, of which only v < inf is an overflow. Then the quotient is 0 and p'
 *             is a p rounded, which step.h's quotient is for m' = 0 and s = 1. */
RM_FN uint32_t rm_step_diverged(const rm_optimizer *o, const rm_step_arrays *a, uint32_t undecided, const int fmt,
                                rm_step_vectors *y, uint32_t *flags) {
  const rm_optimizer_constants *c = &o->constants;
  const vf64 infinity = vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52));
  const vf64 quiet = vf64_from_bits(vi64_set1((int64_t)rm_nan_bits(RM_F64)));
  const vf64 p = rm_load_elements(a->p, fmt), g = rm_load_elements(a->g, fmt);
  const vf64 m = a->m ? rm_load_elements(a->m, fmt) : p, v = a->v ? rm_load_elements(a->v, fmt) : p;
  vm64 lost = vf64_unord(g, g);
  if (!a->m || o->kind == RM_ADAM || !o->first) lost = vm64_or(lost, vm64_and(vf64_unord(m, m), vf64_unord(v, v)));
  y->p = vf64_select(lost, quiet, y->p);
  y->m = vf64_select(lost, quiet, y->m);
  y->v = vf64_select(lost, quiet, y->v);
  y->w = vf64_select(lost, quiet, y->w);
  undecided &= ~(vm64_bits(lost) & ~rm_step_signalling(a, fmt));
  if (!undecided || o->kind != RM_ADAM || o->beta2 <= 0.0) return undecided;

  const int coupled = !o->decoupled && o->decay != 0.0;
  vf64 size, fresh, kept;
  const rm_vpair d = rm_step_direction(o, p, g, coupled, &size);
  const vf64 w = a->w ? rm_load_elements(a->w, fmt) : v;
  const vm64 endless = vf64_eq(v, infinity);
  vm64 beyond = endless;
  if (fmt != RM_F64) {
    const vf64 term = vf64_mul(vf64_mul(d.hi, d.hi), vf64_set1(c->keep2[0]));
    const vf64 large = vf64_set1(rm_to_double(rm_infinity_bits(fmt) - 1, fmt) * 16.0);
    beyond = vm64_or(beyond, vm64_and(vf64_lt(large, term), vf64_le(vf64_set1(0.0), v)));
  }
  vm64 undecided_lanes = rm_step_average(o->beta1, m, c->keep1, d, coupled, size, 0, fmt, &fresh);
  undecided_lanes = vm64_or(undecided_lanes, rm_step_quotient(c, p, vf64_set1(0.0), vf64_set1(1.0), 0, fmt, &kept));
  undecided_lanes = vm64_or(undecided_lanes, vf64_unord(w, w));
  if (fmt == RM_F64)
    undecided_lanes = vm64_or(vm64_or(undecided_lanes, rm_step_outside(p)), vm64_or(rm_step_outside(g), rm_step_outside(m)));
  const vm64 known = vm64_andnot(beyond, undecided_lanes);
  const uint32_t lanes = vm64_bits(known) & undecided;
  y->p = vf64_select(known, kept, y->p);
  y->m = vf64_select(known, fresh, y->m);
  y->v = vf64_select(known, infinity, y->v);
  y->w = vf64_select(known, infinity, y->w);
  if (lanes & ~vm64_bits(endless)) *flags |= RM_FLAG_OVERFLOW;
  return undecided & ~lanes;
}
RM_COLD uint32_t rm_step_decide_diverged(const rm_optimizer *o, const rm_step_arrays *a, uint32_t undecided, int fmt,
                                         rm_step_vectors *y, uint32_t *flags) {
  if (fmt == RM_F16) return rm_step_diverged(o, a, undecided, RM_F16, y, flags);
  if (fmt == RM_BF16) return rm_step_diverged(o, a, undecided, RM_BF16, y, flags);
  if (fmt == RM_F32) return rm_step_diverged(o, a, undecided, RM_F32, y, flags);
  return rm_step_diverged(o, a, undecided, RM_F64, y, flags);
}

RM_FN uint32_t rm_finish_step(const rm_optimizer *o, const rm_step_arrays *a, rm_step_vectors y, uint32_t undecided,
                              const int fmt) {
  rm_optimizer_element e[RM_LANES];
  uint32_t flags = 0;
  if (RM_UNLIKELY(undecided)) {
    rm_step_vectors decided = y; /* a copy, so that y itself stays in registers */
    undecided = rm_step_decide_diverged(o, a, undecided, fmt, &decided, &flags);
    y = decided;
    if (undecided) flags |= rm_redo_step(o, a, undecided, fmt, e);
  }
  rm_store_elements(a->p, y.p, fmt);
  if (a->m) rm_store_elements(a->m, y.m, fmt);
  if (a->v) rm_store_elements(a->v, y.v, fmt);
  if (a->w) rm_store_elements(a->w, y.w, fmt);
  if (RM_UNLIKELY(undecided))
    for (int i = 0; i < RM_LANES; i++)
      if (undecided >> i & 1) rm_write_step(a, i, e + i, fmt);
  return flags;
}

/* Prefetches the cache lines of a later vector: five arrays are more than a hardware prefetcher follows during the
 * computation of one vector. */
RM_FN void rm_step_prefetch(const rm_step_arrays *a) {
  enum { AHEAD = 1024 }; /* bytes */
  __builtin_prefetch(a->p + AHEAD, 1);
  __builtin_prefetch(a->g + AHEAD, 0);
  if (a->m) __builtin_prefetch(a->m + AHEAD, 1);
  if (a->v) __builtin_prefetch(a->v + AHEAD, 1);
  if (a->w) __builtin_prefetch(a->w + AHEAD, 1);
}

/* Elements [begin, end): whole vectors, and a padded one for the rest, by the same code: the compiler puts it in place
 * once. */
RM_FN uint32_t rm_step_loop(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt, const int coupled,
                            const int mode, const int kind) {
  const int size = rm_size_of(fmt);
  uint32_t flags = 0, live = (1u << RM_LANES) - 1;
  char rest[5][8 * RM_LANES] = {{0}};
  for (int64_t i = begin; i < end; i += RM_LANES) {
    const int64_t at = i * size;
    char *const to[4] = {o->p + at, o->m ? o->m + at : 0, o->v ? o->v + at : 0, o->w ? o->w + at : 0};
    rm_step_arrays a = {to[0], to[1], to[2], to[3], o->g + at};
    const size_t bytes = (size_t)(end - i) * (size_t)size;
    const int whole = end - i >= RM_LANES;
    if (RM_LIKELY(whole)) {
      rm_step_prefetch(&a);
    } else {
      for (int k = 0; k < 4; k++)
        if (to[k]) __builtin_memcpy(rest[k], to[k], bytes);
      __builtin_memcpy(rest[4], a.g, bytes);
      a = (rm_step_arrays){rest[0], to[1] ? rest[1] : 0, to[2] ? rest[2] : 0, to[3] ? rest[3] : 0, rest[4]};
      live = (1u << (end - i)) - 1;
    }
    rm_step_vectors y;
    const vm64 undecided =
        kind == RM_ADAM ? rm_adam_values(o, &a, fmt, coupled, mode, 0, &y) : rm_sgd_values(o, &a, fmt, coupled, mode, 0, &y);
    flags |= rm_finish_step(o, &a, y, vm64_bits(undecided) & live, fmt);
    if (!RM_LIKELY(whole))
      for (int k = 0; k < 4; k++)
        if (to[k]) __builtin_memcpy(to[k], rest[k], bytes);
  }
  return flags;
}

/* The cases of one step as constants. */
RM_FN uint32_t rm_sgd_steps(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt) {
  const int mode = !o->m ? RM_PLAIN : o->nesterov ? RM_NESTEROV : RM_MOMENTUM;
  if (mode == RM_PLAIN && o->decay == 0.0) return rm_step_loop(o, begin, end, fmt, 0, RM_PLAIN, RM_SGD);
  if (mode == RM_PLAIN) return rm_step_loop(o, begin, end, fmt, 1, RM_PLAIN, RM_SGD);
  if (mode == RM_MOMENTUM && o->decay == 0.0) return rm_step_loop(o, begin, end, fmt, 0, RM_MOMENTUM, RM_SGD);
  if (mode == RM_MOMENTUM) return rm_step_loop(o, begin, end, fmt, 1, RM_MOMENTUM, RM_SGD);
  return rm_step_loop(o, begin, end, fmt, o->decay != 0.0, RM_NESTEROV, RM_SGD);
}
RM_FN uint32_t rm_adam_steps(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt) {
  const int coupled = !o->decoupled && o->decay != 0.0;
  if (o->w) return rm_step_loop(o, begin, end, fmt, coupled, 1, RM_ADAM);
  if (coupled) return rm_step_loop(o, begin, end, fmt, 1, 0, RM_ADAM);
  return rm_step_loop(o, begin, end, fmt, 0, 0, RM_ADAM);
}

/* --- rounded at random: common/rounding_vector.h; the accurate phase takes the lanes that are left */

/* Whether a step has a quantity, and so words for it. */
RM_FN int rm_step_has(const rm_optimizer *o, int quantity, const int kind) {
  return kind == RM_ADAM || quantity == PARAMETER || (quantity == FIRST_MOMENT && o->m);
}

/* A vector of elements with what their words add, and its undecided lanes again by the words at `at`. */
RM_FN uint32_t rm_random_step(const rm_optimizer *o, const rm_step_arrays *a, const rm_words_chunk *words, int64_t at,
                              uint32_t live, const int fmt, const int kind) {
  const int coupled = !(kind == RM_ADAM && o->decoupled) && o->decay != 0.0;
  const int mode = !o->m ? RM_PLAIN : o->nesterov ? RM_NESTEROV : RM_MOMENTUM;
  rm_optimizer_element e[RM_LANES];
  rm_step_vectors y;
  vi64 add[QUANTITIES];
  uint32_t flags = 0;
  for (int k = 0; k < QUANTITIES; k++) add[k] = rm_step_has(o, k, kind) ? vi64_load(words[k].add + at) : vi64_set1(0);
  const uint32_t left = live & vm64_bits(kind == RM_ADAM ? rm_adam_values(o, a, fmt, coupled, o->w != 0, add, &y)
                                                         : rm_sgd_values(o, a, fmt, coupled, mode, add, &y));
  for (uint32_t rest = left; rest; rest &= rest - 1) {
    const int i = __builtin_ctz(rest);
    e[i] = rm_read_step(a, i, fmt);
    for (int k = 0; k < QUANTITIES; k++) e[i].word[k] = rm_step_has(o, k, kind) ? rm_chunk_word(words + k, at + i) : 0;
    flags |= rm_optimizer_accurate(o, e + i);
  }
  rm_store_elements(a->p, y.p, fmt);
  if (a->m) rm_store_elements(a->m, y.m, fmt);
  if (a->v) rm_store_elements(a->v, y.v, fmt);
  if (a->w) rm_store_elements(a->w, y.w, fmt);
  for (uint32_t rest = left; rest; rest &= rest - 1) rm_write_step(a, __builtin_ctz(rest), e + __builtin_ctz(rest), fmt);
  return flags;
}

RM_FN uint32_t rm_random_steps_as(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt, const int kind) {
  if (fmt == RM_F64) return rm_optimizer_accurate_range(o, begin, end);
  const int size = rm_size_of(fmt);
  rm_words_chunk words[QUANTITIES];
  char rest[5][8 * RM_LANES] = {{0}};
  uint32_t flags = 0;
  for (int64_t start = begin; start < end; start += RM_WORDS_CHUNK) {
    const int64_t n = end - start < RM_WORDS_CHUNK ? end - start : RM_WORDS_CHUNK;
    for (int k = 0; k < QUANTITIES; k++) {
      if (!rm_step_has(o, k, kind)) continue;
      rm_words_fill(words + k, o->random.seed, o->random.stream + rm_step_stream(k), o->random.first + start, n);
      rm_words_addends(words + k, n, o->random.mode == RM_ROUND_STOCHASTIC, 53 - rm_precision(fmt));
    }
    for (int64_t i = 0; i < n; i += RM_LANES) {
      const int64_t at = (start + i) * size;
      char *const to[4] = {o->p + at, o->m ? o->m + at : 0, o->v ? o->v + at : 0, o->w ? o->w + at : 0};
      rm_step_arrays a = {to[0], to[1], to[2], to[3], o->g + at};
      const size_t bytes = (size_t)(n - i) * (size_t)size;
      const int whole = n - i >= RM_LANES;
      if (!whole) {
        for (int k = 0; k < 4; k++)
          if (to[k]) __builtin_memcpy(rest[k], to[k], bytes);
        __builtin_memcpy(rest[4], a.g, bytes);
        a = (rm_step_arrays){rest[0], to[1] ? rest[1] : 0, to[2] ? rest[2] : 0, to[3] ? rest[3] : 0, rest[4]};
      }
      flags |= rm_random_step(o, &a, words, i, (1u << (whole ? RM_LANES : n - i)) - 1, fmt, kind);
      if (!whole)
        for (int k = 0; k < 4; k++)
          if (to[k]) __builtin_memcpy(to[k], rest[k], bytes);
    }
  }
  return flags;
}

#if RM_HAS_NEIGHBOURS && RM_B32
RM_STATIC uint32_t rm_sgd_rest(const rm_optimizer *o, int64_t begin, int64_t end) {
  return rm_sgd_steps(o, begin, end, RM_F32);
}
RM_FN uint32_t rm_sgd_to_nearest(const rm_optimizer *o, int64_t begin, int64_t end, const int fmt) {
  if (fmt != RM_F32) return rm_sgd_steps(o, begin, end, fmt);
  if (!rm_sgd_is_fused(o)) return rm_sgd_rest(o, begin, end);
  return o->m ? rm_sgd_fused_loop(o, begin, end, 1, rm_sgd_rest) : rm_sgd_fused_loop(o, begin, end, 0, rm_sgd_rest);
}
#else
#define rm_sgd_to_nearest rm_sgd_steps
#endif

#define RM_DEFINE_STEPS(fmt, FMT)                                                    \
  static uint32_t rm_sgd_##fmt(const rm_optimizer *o, int64_t begin, int64_t end) {  \
    if (o->random.mode) return rm_random_steps_as(o, begin, end, FMT, RM_SGD);       \
    return rm_sgd_to_nearest(o, begin, end, FMT);                                    \
  }                                                                                  \
  static uint32_t rm_adam_##fmt(const rm_optimizer *o, int64_t begin, int64_t end) { \
    if (o->random.mode) return rm_random_steps_as(o, begin, end, FMT, RM_ADAM);      \
    return rm_adam_steps(o, begin, end, FMT);                                        \
  }
RM_DEFINE_STEPS(f16, RM_F16)
RM_DEFINE_STEPS(bf16, RM_BF16)
RM_DEFINE_STEPS(f32, RM_F32)
RM_DEFINE_STEPS(f64, RM_F64)
#undef RM_DEFINE_STEPS
