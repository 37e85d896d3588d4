/* Adds arrays and products exactly, in the superaccumulator. It is also device code. */
#include "exact.h"

#include "../common/elements.h"
#if !RM_DEVICE
#include "kernels.h"
#endif

/* The format is a constant at every call of the two loops. */
RM_FN void rm_superacc_add_array_of(rm_superaccumulator *acc, const int fmt, int64_t n, const char *x, ptrdiff_t sx) {
  for (int64_t i = 0; i < n; i++) {
    const uint64_t a = rm_read_bits(x + i * sx, fmt);
    if (RM_UNLIKELY(rm_is_signalling(a, fmt))) acc->classes |= RM_ACC_SNAN;
    else rm_superacc_add(acc, rm_to_double(a, fmt));
  }
}

RM_FN void rm_superacc_add_products_of(rm_superaccumulator *acc, const int fmt, int64_t n, const char *x, ptrdiff_t sx,
                                       const char *y, ptrdiff_t sy) {
  for (int64_t i = 0; i < n; i++) {
    const uint64_t a = rm_read_bits(x + i * sx, fmt), b = rm_read_bits(y + i * sy, fmt);
    if (RM_UNLIKELY(rm_is_signalling(a, fmt) || rm_is_signalling(b, fmt))) acc->classes |= RM_ACC_SNAN;
    else rm_superacc_add_product(acc, rm_to_double(a, fmt), rm_to_double(b, fmt));
  }
}

RM_HOST_EXTERN void rm_superacc_add_array(rm_superaccumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t sx) {
  const char *p = (const char *)x;
  switch (fmt) {
    case RM_F16: rm_superacc_add_array_of(acc, RM_F16, n, p, sx); return;
    case RM_BF16: rm_superacc_add_array_of(acc, RM_BF16, n, p, sx); return;
    case RM_F32: rm_superacc_add_array_of(acc, RM_F32, n, p, sx); return;
    default: rm_superacc_add_array_of(acc, RM_F64, n, p, sx); return;
  }
}

RM_HOST_EXTERN void rm_superacc_add_products(rm_superaccumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t sx,
                                             const void *y, ptrdiff_t sy) {
  const char *p = (const char *)x, *q = (const char *)y;
  switch (fmt) {
    case RM_F16: rm_superacc_add_products_of(acc, RM_F16, n, p, sx, q, sy); return;
    case RM_BF16: rm_superacc_add_products_of(acc, RM_BF16, n, p, sx, q, sy); return;
    case RM_F32: rm_superacc_add_products_of(acc, RM_F32, n, p, sx, q, sy); return;
    default: rm_superacc_add_products_of(acc, RM_F64, n, p, sx, q, sy); return;
  }
}

/* There are no branches and no comparisons, so that compilers make vectors of it. The highest bit of a difference says if
 * it is negative. */
RM_FN uint32_t rm_superacc_classes_of(const int fmt, int64_t n, const char *x, ptrdiff_t sx) {
  const uint64_t infinity = rm_infinity_bits(fmt), sign = rm_sign_bit(fmt), top = UINT64_C(1) << 63;
  uint64_t quiet = 0, signalling = 0, positive = 0, negative = 0;
  for (int64_t i = 0; i < n; i++) {
    const uint64_t b = rm_read_bits(x + i * sx, fmt), size = b & ~sign, below = 0 - ((b & sign) != 0);
    const uint64_t nan = infinity - size, low = size - rm_nan_bits(fmt), infinite = (size ^ infinity) - 1;
    quiet |= nan & ~low;
    signalling |= nan & low;
    positive |= infinite & ~below;
    negative |= infinite & below;
  }
  return (quiet & top ? RM_ACC_QNAN : 0u) | (signalling & top ? RM_ACC_SNAN : 0u) | (positive & top ? RM_ACC_PINF : 0u) |
         (negative & top ? RM_ACC_NINF : 0u);
}

RM_HOST_EXTERN uint32_t rm_superacc_classes(int fmt, int64_t n, const void *x, ptrdiff_t sx) {
  const char *p = (const char *)x;
#if !RM_DEVICE
  if (sx == rm_size_of(fmt)) return rm_reduce_kernels()->classes[fmt](n, p); /* many at a time */
#endif
  switch (fmt) {
    case RM_F16: return rm_superacc_classes_of(RM_F16, n, p, sx);
    case RM_BF16: return rm_superacc_classes_of(RM_BF16, n, p, sx);
    case RM_F32: return rm_superacc_classes_of(RM_F32, n, p, sx);
    default: return rm_superacc_classes_of(RM_F64, n, p, sx);
  }
}
