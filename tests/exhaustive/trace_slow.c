/* A stand-in for src/elementwise/slow.c that notes the arguments it is called with. The static library's own table then stays
 * in the archive, since its name is already defined. For one thread. */
#define rm_slow_table real_slow_table
#include "../../src/elementwise/slow.c"
#undef rm_slow_table

#include "trace_slow.h"

uint64_t trace_count;
float trace_inputs[TRACE_CAPACITY];

/* Arguments outside the domain of the fast kernel come here by design: only the others are noted. */
static void note(double x, int format, int outside) {
  if (format != RM_F32 || outside) return;
  if (trace_count < TRACE_CAPACITY) trace_inputs[trace_count] = (float)x;
  trace_count++;
}

#define RM_FUNCTION(name, NAME, hard, doc)                                                                                   \
  static uint64_t trace_##name(double x, int format, int rule, uint32_t *flags) {                                            \
    note(x, format, rm_##name##_special(x, RM_F32));                                                                         \
    return real_slow_table[RM_FN_##name](x, format, rule, flags);                                                            \
  }
#include "../../crlibm/functions.def"
#undef RM_FUNCTION

extern rm_slow_fn *const rm_slow_table[RM_FN_COUNT];
rm_slow_fn *const rm_slow_table[RM_FN_COUNT] = {
#define RM_FUNCTION(name, NAME, hard, doc) [RM_FN_##name] = trace_##name,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};
