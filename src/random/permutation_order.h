/* The numbers of a permutation are ordered by their draws, equal draws by the 128 bits that follow, then by the numbers. It
 * is also device code. */
#pragma once

#include "integers.h"

/* A test of its own builds this with fewer bits, to see equal draws. */
#ifndef RM_CFG_PERMUTATION_BITS
#define RM_CFG_PERMUTATION_BITS 64
#endif

typedef struct {
  uint64_t draw;
  int64_t number;
} rm_drawn;

/* Where the draw of number 0 is. */
typedef struct {
  uint64_t seed, stream;
  int64_t first;
} rm_draw_source;

RM_FN uint64_t rm_draw_used(uint64_t draw) {
  return RM_CFG_PERMUTATION_BITS == 64 ? draw : draw & ~(UINT64_MAX >> RM_CFG_PERMUTATION_BITS % 64);
}

RM_COLD int rm_more_bits_less(const rm_draw_source *s, int64_t a, int64_t b) {
  uint64_t x[2], y[2];
  rm_more_bits(s->seed, s->stream, s->first + a, x);
  rm_more_bits(s->seed, s->stream, s->first + b, y);
  return x[0] != y[0] ? x[0] < y[0] : x[1] != y[1] ? x[1] < y[1] : a < b;
}
RM_FN int rm_drawn_less(const rm_draw_source *s, const rm_drawn *a, const rm_drawn *b) {
  return RM_LIKELY(a->draw != b->draw) ? a->draw < b->draw : rm_more_bits_less(s, a->number, b->number);
}

/* How many numbers a call may permute: what they need can be counted in bytes. */
#define RM_PERMUTATION_MAX (INT64_MAX / 64)
