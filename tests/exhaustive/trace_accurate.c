/* A stand-in for the accurate phase of RM_TEST_FUNCTION (its headers: RM_TEST_FAST_HEADER, RM_TEST_ACCURATE_HEADER) that
 * notes the arguments it is called with. It comes before the static library, whose own function of the name the linker is
 * told to leave out. For one thread. */
#include RM_TEST_FAST_HEADER
#include RM_TEST_ACCURATE_HEADER
#include "../../src/elementwise/accurate.h"
#include "trace_accurate.h"

uint64_t trace_count;
float trace_inputs[TRACE_CAPACITY];

/* Arguments outside the domain of the fast kernel come here by design: only the others are noted. */
uint64_t RM_CAT(rm_accurate_, RM_TEST_FUNCTION)(const double *x, int format, rm_mode rule, uint32_t *flags) {
  if (format == RM_F32 && !RM_CAT(rm_, RM_CAT(RM_TEST_FUNCTION, _special))(x[0], RM_F32)) {
    if (trace_count < TRACE_CAPACITY) trace_inputs[trace_count] = (float)x[0];
    trace_count++;
  }
  return RM_CAT(rm_, RM_CAT(RM_TEST_FUNCTION, _accurate))(x[0], format, rule, flags);
}
