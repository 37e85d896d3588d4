/* The scan of one row of an operand. It is also device code. */
#include "vector_facts.h"

#include "../../common/elements.h"

enum { PIECE = 256 };

RM_FN void scan(rm_vector_facts *facts, const char *p, int64_t n, ptrdiff_t step, const int fmt) {
  const uint64_t infinity = rm_infinity_bits(fmt);
  for (int64_t i = 0; i < n; i++) {
    const uint64_t b = rm_read_bits(p + i * step, fmt);
    if (RM_UNLIKELY((~b & infinity) == 0)) {
      if ((b & ~rm_sign_bit(fmt)) != infinity) facts->classes |= rm_is_signalling(b, fmt) ? RM_ACC_SNAN : RM_ACC_QNAN;
      continue;
    }
    const int g = rm_granule64(rm_bits64(rm_to_double(b, fmt)));
    if (g < facts->granule) facts->granule = (int16_t)g;
  }
}

RM_HOST_EXTERN void rm_vector_facts_scan(rm_vector_facts *facts, const rm_operand *o, int64_t index, int64_t k, int fmt) {
  char buffer[PIECE * 8];
  const int64_t piece = o->im2col ? PIECE : k;
  *facts = (rm_vector_facts){RM_NO_GRANULE, 1, 0};
  for (int64_t at = 0; at < k; at += piece) {
    const int64_t n = k - at < piece ? k - at : piece;
    const rm_run r = rm_run_of(o, index, at, n, rm_size_of(fmt), buffer);
    switch (fmt) {
      case RM_F16: scan(facts, r.p, n, r.step, RM_F16); break;
      case RM_BF16: scan(facts, r.p, n, r.step, RM_BF16); break;
      case RM_F32: scan(facts, r.p, n, r.step, RM_F32); break;
      default: scan(facts, r.p, n, r.step, RM_F64);
    }
  }
}
