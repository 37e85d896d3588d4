#include "exact.h"

#include "strided.h"

RM_SHARED void rm_superacc_add_array_f32(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx) {
  for (int64_t i = 0; i < n; i++) rm_superacc_add_f32(acc, rm_read_f32(x, i, sx));
}

RM_SHARED void rm_superacc_add_array_f64(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx) {
  for (int64_t i = 0; i < n; i++) rm_superacc_add(acc, rm_read_f64(x, i, sx));
}

RM_SHARED void rm_superacc_add_products_f32(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx, const void *y,
                                  ptrdiff_t sy) {
  for (int64_t i = 0; i < n; i++) {
    float a = rm_read_f32(x, i, sx), b = rm_read_f32(y, i, sy);
    if (RM_UNLIKELY(rm_is_snan32(rm_bits32(a)) || rm_is_snan32(rm_bits32(b))))
      acc->classes |= RM_ACC_SNAN; /* seen here: the conversion to binary64 quiets it */
    else
      rm_superacc_add_product(acc, (double)a, (double)b);
  }
}

RM_SHARED void rm_superacc_add_products_f64(rm_superaccumulator *acc, int64_t n, const void *x, ptrdiff_t sx, const void *y,
                                  ptrdiff_t sy) {
  for (int64_t i = 0; i < n; i++) rm_superacc_add_product(acc, rm_read_f64(x, i, sx), rm_read_f64(y, i, sy));
}
