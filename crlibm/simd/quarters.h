/* The quarters of octaves as intervals of a table of 16: four octaves of a positive b. */
#pragma once

#include "undecided.h"

/* b - (centre of its quarter of an octave), exactly; *j has the bits 50 to 53 of b as its low bits. */
RM_FN vf64 vf64_in_quarter(vf64 b, vi64 *j) {
  const vi64 bits = vf64_bits(b), quarter = vi64_and(bits, vi64_set1(-(INT64_C(1) << 50)));
  *j = vi64_srl(bits, 50);
  return vf64_sub(b, vf64_from_bits(vi64_or(quarter, vi64_set1(INT64_C(1) << 49))));
}
