/* Facts about one row of A or one column of B, which are gathered only when an element needs them: the weight of the lowest
 * set bit, which elements are not finite or are padding, and whether the others are small. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../reduce/superaccumulator.h"
#include "../conv/im2col_view.h"

typedef struct {
  int16_t granule; /* every finite element is a multiple of 2^granule; RM_NO_GRANULE when all are zero */
  uint8_t known; /* RM_KNOWN_ bits */
  uint8_t classes; /* RM_ACC_QNAN, RM_ACC_SNAN, RM_ACC_PINF, RM_ACC_NINF */
  uint8_t padded; /* elements of an im2col view may be padding */
  uint8_t modest; /* of a row that has such classes: its finite elements are at most 2^RM_MODEST in magnitude */
} rm_vector_facts;

enum { RM_NO_GRANULE = 4000, RM_KNOWN_GRANULE = 1, RM_KNOWN_CLASSES = 2, RM_MODEST = 480 };

/* Exponent of the lowest set bit of a finite number; RM_NO_GRANULE for zero. */
RM_FN int rm_granule64(uint64_t b) {
  uint64_t e = (b >> 52) & 0x7ff, m = (b & 0xfffffffffffffu) | ((uint64_t)(e != 0) << 52);
  return m ? (int)(e ? e : 1) - 1075 + rm_ctz64(m) : RM_NO_GRANULE;
}

/* These scan row `index` of an operand. */
RM_HOST_EXTERN void rm_vector_granule_scan(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt);
RM_HOST_EXTERN void rm_vector_classes_scan(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt);

RM_FN int rm_vector_granule(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt) {
  if (!(facts->known & RM_KNOWN_GRANULE)) rm_vector_granule_scan(facts, o, index, k, fmt);
  return facts->granule;
}
/* Returns the facts with what is not finite or padding. */
RM_FN const rm_vector_facts *rm_vector_classes(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k,
                                               int fmt) {
  if (RM_UNLIKELY(!(facts->known & RM_KNOWN_CLASSES))) rm_vector_classes_scan(facts, o, index, k, fmt);
  return facts;
}

/* The flags of an element that is NaN: invalid when a NaN signalled, or when none came in, so that it was made here. */
RM_FN uint32_t rm_nan_flags(uint32_t classes) {
  return (classes & RM_ACC_SNAN) || !(classes & RM_ACC_QNAN) ? RM_FLAG_INVALID : 0;
}
