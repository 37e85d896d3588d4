/* The words of the random rounding modes (spec.md, section 1a), and what the functions that have them share. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../crlibm/fp/round.h"
#include "../../include/repmath/rounding.h"
#include "philox.h"

/* No draw of section 6 has a counter from 2^62 to 2^62 + 2^60; elements of rounding do. */
#define RM_ROUNDING_COUNTER (UINT64_C(1) << 62)
#define RM_ROUNDING_ELEMENTS (INT64_C(1) << 62)

/* The words of one stream, in the order of elements or in any other. */
typedef struct {
  uint64_t seed, stream, at; /* at: the counter of `block`; 0 has none yet */
  uint64_t block[2];
} rm_rounding_words;

RM_FN rm_rounding_words rm_rounding_words_of(const rm_random_rounding *r) {
  const rm_rounding_words w = {r->seed, r->stream, 0, {0, 0}};
  return w;
}

RM_FN uint32_t rm_rounding_word(rm_rounding_words *w, int64_t element) {
  const uint64_t counter = RM_ROUNDING_COUNTER + ((uint64_t)element >> 2);
  if (counter != w->at) {
    rm_philox_block(w->seed, w->stream, counter, w->block);
    w->at = counter;
  }
  return (uint32_t)(w->block[element >> 1 & 1] >> 32 * (element & 1));
}

/* What the mode makes of a number that is rounded to nearest: one step in the order of magnitudes, by the top bit of the
 * word. Zeros, infinities and NaN stay, and so does the largest number that would become infinite. */
RM_FN uint64_t rm_round_up_down(uint64_t bits, int format, uint32_t word) {
  const uint64_t size = bits & (rm_sign_bit(format) - 1);
  if (size == 0 || size >= rm_infinity_bits(format)) return bits;
  if (word >> 31) return size == rm_max_finite_bits(format) ? bits : bits + 1;
  return bits - 1;
}

/* Whether the mode is one of IEEE 754, which asks no word. */
RM_FN int rm_is_directed(int mode) { return mode < RM_ROUND_STOCHASTIC; }

/* The rounding mode in which a value is evaluated for an element. */
RM_FN rm_mode rm_rounding_mode(int mode, uint32_t word) {
  if (rm_is_directed(mode)) return (rm_mode)mode;
  return mode == RM_ROUND_UP_DOWN ? RM_NEAREST : rm_random_mode(mode, word);
}

/* The status of r for n elements, argument number `position`. */
RM_FN rm_status rm_rounding_check(const rm_random_rounding *r, int64_t n, int position) {
  if (!r) return RM_STATUS(RM_ERR_NULL, position);
  if (r->mode < RM_ROUND_TOWARD_ZERO || r->mode > RM_ROUND_UP_DOWN) return RM_STATUS(RM_ERR_ENUM, position);
  if (r->first < 0 || r->first > RM_ROUNDING_ELEMENTS - n) return RM_STATUS(RM_ERR_RANGE, position);
  return RM_OK;
}
