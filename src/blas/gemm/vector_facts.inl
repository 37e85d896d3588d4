/* Scans one row of an operand for its facts. It is also device code. */
#include "vector_facts.h"

#include "../../common/elements.h"
#include "../../reduce/exact.h"

enum { PIECE = 256 };

RM_FN void rm_vector_granule_of_run(rm_vector_facts *facts, rm_run r, int64_t n, const int fmt) {
  const uint64_t infinity = rm_infinity_bits(fmt);
  for (int64_t i = 0; i < n; i++) {
    const uint64_t b = rm_read_bits(r.p + i * r.step, fmt);
    if (RM_UNLIKELY((~b & infinity) == 0)) continue;
    const int g = rm_granule64(rm_bits64(rm_to_double(b, fmt)));
    if (g < facts->granule) facts->granule = (int16_t)g;
  }
}

/* The statement is for runs r of n elements of a row. */
#define RM_EACH_RUN(...)                                                  \
  char buffer[PIECE * 8];                                                 \
  const int64_t piece = o->im2col ? PIECE : k;                            \
  for (int64_t at = 0; at < k; at += piece) {                             \
    const int64_t n = k - at < piece ? k - at : piece;                    \
    const rm_run r = rm_run_of(o, index, at, n, rm_size_of(fmt), buffer); \
    __VA_ARGS__                                                           \
  }

RM_HOST_EXTERN void rm_vector_granule_scan(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt) {
  facts->granule = RM_NO_GRANULE, facts->known |= RM_KNOWN_GRANULE;
  RM_EACH_RUN(switch (fmt) {
    case RM_F16: rm_vector_granule_of_run(facts, r, n, RM_F16); break;
    case RM_BF16: rm_vector_granule_of_run(facts, r, n, RM_BF16); break;
    case RM_F32: rm_vector_granule_of_run(facts, r, n, RM_F32); break;
    default: rm_vector_granule_of_run(facts, r, n, RM_F64);
  })
}

/* Whether the finite ones of n elements are that small. */
RM_STATIC int rm_vector_is_modest(rm_run r, int64_t n, int fmt) {
  int modest = 1;
  for (int64_t i = 0; i < n && modest; i++) {
    const double x = __builtin_fabs(rm_read_element(r.p + i * r.step, fmt));
    modest = x <= rm_pow2(RM_MODEST) || !rm_is_finite(x);
  }
  return modest;
}

RM_HOST_EXTERN void rm_vector_classes_scan(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt) {
  facts->classes = 0, facts->known |= RM_KNOWN_CLASSES;
  facts->padded = o->im2col && rm_im2col_is_padded(o->im2col, index);
  facts->modest = 1;
  RM_EACH_RUN(facts->classes |= (uint8_t)rm_superacc_classes(fmt, n, r.p, r.step);
              if (fmt == RM_F64) facts->modest &= (uint8_t)rm_vector_is_modest(r, n, fmt);)
}
