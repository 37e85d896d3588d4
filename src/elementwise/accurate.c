/* The table of the accurate phases, and loops over them for the rounding modes that have no fast phase. */
#include "rounded.h"

rm_accurate_fn *const rm_accurate_table[RM_FN_COUNT] = {
#define RM_FUNCTION(name, NAME, arity, gradient, hard, doc) rm_accurate_##name,
#include "../../crlibm/functions.def"
#undef RM_FUNCTION
};

uint32_t rm_map_rounded(int function, int arity, int format, rm_mode mode, int64_t n, const char *const *x,
                        const ptrdiff_t *sx, char *y, ptrdiff_t sy) {
  const size_t size = (size_t)rm_size_of(format);
  uint32_t flags = 0;
  for (int64_t i = 0; i < n; i++) {
    double in[RM_MAX_ARITY];
    uint64_t bits;
    for (int k = 0; k < arity; k++) {
      bits = 0; /* little endian */
      __builtin_memcpy(&bits, x[k] + i * sx[k], size);
      in[k] = rm_accurate_argument(bits, format, &flags);
    }
    bits = rm_accurate_table[function](in, format, mode, &flags);
    __builtin_memcpy(y + i * sy, &bits, size);
  }
  return flags;
}
