/* The public accumulator: the superaccumulator, with argument checks and the floating-point environment. */
#include <stdlib.h>
#include <string.h>

#include "../../crlibm/fp/round.h"
#include "../../include/repmath/reductions.h"
#include "../runtime/env.h"
#include "exact.h"

struct rm_accumulator {
  rm_superaccumulator sum;
};

rm_accumulator *rm_accumulator_new(void) { return calloc(1, sizeof(rm_accumulator)); }
void rm_accumulator_free(rm_accumulator *acc) { free(acc); }

const rm_superaccumulator *rm_accumulator_sum(const rm_accumulator *acc) { return &acc->sum; }

static rm_status check(const rm_accumulator *acc, int64_t n, const void *x, int position) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, position);
  return RM_OK;
}

static rm_status merge(rm_accumulator *into, const rm_accumulator *from, int subtract) {
  if (!into) return RM_STATUS(RM_ERR_NULL, 1);
  if (!from) return RM_STATUS(RM_ERR_NULL, 2);
  return rm_superacc_merge(&into->sum, &from->sum, subtract) ? RM_OK : RM_STATUS(RM_ERR_RANGE, 2);
}
rm_status rm_accumulator_merge(rm_accumulator *into, const rm_accumulator *from) { return merge(into, from, 0); }
rm_status rm_accumulator_subtract(rm_accumulator *into, const rm_accumulator *from) { return merge(into, from, 1); }

/* Near the end of the range, which n terms could leave, the accumulator as it was is kept, and restored when they did. */
static rm_status stay_in_range(rm_accumulator *acc, const rm_superaccumulator *before, int position) {
  if (!before || rm_superacc_in_range(&acc->sum)) return RM_OK;
  acc->sum = *before;
  return RM_STATUS(RM_ERR_RANGE, position);
}
static const rm_superaccumulator *keep(const rm_accumulator *acc, int64_t n, rm_superaccumulator *copy) {
  if (__builtin_expect(!rm_superacc_may_overflow(&acc->sum, n), 1)) return NULL;
  *copy = acc->sum;
  return copy;
}

/* Subnormal numbers are converted: they must not be flushed. */
static rm_status add(rm_accumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t stride_x) {
  const rm_status status = check(acc, n, x, 3);
  if (status) return status;
  rm_superaccumulator copy;
  const rm_superaccumulator *before = keep(acc, n, &copy);
  const rm_env env = rm_env_enter();
  rm_superacc_add_array(&acc->sum, fmt, n, x, stride_x);
  rm_env_leave(env, 0);
  return stay_in_range(acc, before, 3);
}

static rm_status add_products(rm_accumulator *acc, int fmt, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                              ptrdiff_t stride_y) {
  rm_status status = check(acc, n, x, 3);
  if (!status) status = check(acc, n, y, 5);
  if (status) return status;
  rm_superaccumulator copy;
  const rm_superaccumulator *before = keep(acc, n, &copy);
  const rm_env env = rm_env_enter();
  rm_superacc_add_products(&acc->sum, fmt, n, x, stride_x, y, stride_y);
  rm_env_leave(env, 0);
  return stay_in_range(acc, before, 3);
}

static rm_status rounded(const rm_accumulator *acc, int fmt, void *out, int rounding) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (!out) return RM_STATUS(RM_ERR_NULL, 2);
  if (rounding < RM_ROUND_NEAREST || rounding > RM_ROUND_UP) return RM_STATUS(RM_ERR_ENUM, 3);
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  const uint64_t bits = rm_superacc_round(&acc->sum, fmt, rounding, &flags);
  memcpy(out, &bits, (size_t)rm_size_of(fmt)); /* little endian */
  rm_env_leave(env, flags);
  return RM_OK;
}

#define RM_DEFINE_ACCUMULATOR(fmt, FMT, type)                                                                    \
  rm_status rm_accumulator_add_##fmt(rm_accumulator *acc, int64_t n, const type *x, ptrdiff_t stride_x) {        \
    return add(acc, FMT, n, x, stride_x);                                                                        \
  }                                                                                                              \
  rm_status rm_accumulator_add_products_##fmt(rm_accumulator *acc, int64_t n, const type *x, ptrdiff_t stride_x, \
                                              const type *y, ptrdiff_t stride_y) {                               \
    return add_products(acc, FMT, n, x, stride_x, y, stride_y);                                                  \
  }                                                                                                              \
  rm_status rm_accumulator_rounded_##fmt(const rm_accumulator *acc, type *out, int rounding) {                   \
    return rounded(acc, FMT, out, rounding);                                                                     \
  }                                                                                                              \
  rm_status rm_accumulator_round_##fmt(const rm_accumulator *acc, type *out) {                                   \
    return rounded(acc, FMT, out, RM_ROUND_NEAREST);                                                             \
  }
RM_DEFINE_ACCUMULATOR(f16, RM_F16, rm_f16)
RM_DEFINE_ACCUMULATOR(bf16, RM_BF16, rm_bf16)
RM_DEFINE_ACCUMULATOR(f32, RM_F32, float)
RM_DEFINE_ACCUMULATOR(f64, RM_F64, double)

/* The byte string: "RMAC", version 1, the classes of terms seen, two zero bytes, the digits. */
static const unsigned char header[] = {'R', 'M', 'A', 'C', 1};
enum { CLASSES = 5, DIGITS = 8, ALL_CLASSES = 2 * RM_ACC_ZERO_INF - 1 };
typedef char rm_accumulator_size_is_public[RM_ACCUMULATOR_BYTES == DIGITS + RM_ACC_BYTES ? 1 : -1];

rm_status rm_accumulator_write(const rm_accumulator *acc, unsigned char *bytes, size_t size) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (!bytes) return RM_STATUS(RM_ERR_NULL, 2);
  if (size != RM_ACCUMULATOR_BYTES) return RM_STATUS(RM_ERR_SIZE, 3);
  memset(bytes, 0, DIGITS);
  memcpy(bytes, header, sizeof header);
  bytes[CLASSES] = (unsigned char)acc->sum.classes;
  rm_superacc_write(&acc->sum, bytes + DIGITS);
  return RM_OK;
}

rm_status rm_accumulator_read(rm_accumulator *acc, const unsigned char *bytes, size_t size) {
  if (!acc) return RM_STATUS(RM_ERR_NULL, 1);
  if (!bytes) return RM_STATUS(RM_ERR_NULL, 2);
  if (size != RM_ACCUMULATOR_BYTES) return RM_STATUS(RM_ERR_SIZE, 3);
  if (memcmp(bytes, header, sizeof header) != 0 || bytes[CLASSES] > ALL_CLASSES || bytes[6] || bytes[7])
    return RM_STATUS(RM_ERR_DATA, 2);
  rm_superaccumulator sum;
  rm_superacc_read(&sum, bytes + DIGITS, bytes[CLASSES]);
  acc->sum = sum;
  return RM_OK;
}
