/* Argument errors: the documented code and argument, and nothing written. */
#include "check.h"

static void elementwise(const struct entry *e) {
  unsigned char x[64] = {0}, y[64], before[64];
  memset(y, 0xa5, sizeof y);
  memcpy(before, y, sizeof y);
  CHECK_FOR(e->array(-1, x, e->size, y, e->size) == RM_STATUS(RM_ERR_SIZE, 1), e->name);
  CHECK_FOR(e->array(3, NULL, e->size, y, e->size) == RM_STATUS(RM_ERR_NULL, 2), e->name);
  CHECK_FOR(e->array(3, x, e->size, NULL, e->size) == RM_STATUS(RM_ERR_NULL, 2 * e->arity + 2), e->name);
  CHECK_FOR(e->array(0, NULL, 0, NULL, 0) == RM_OK, e->name);
  CHECK_FOR(e->array(0, x, e->size, y, e->size) == RM_OK, e->name);
  CHECK_FOR(memcmp(y, before, sizeof y) == 0, e->name);
}

static void scatter_sums(void) {
  double out[4] = {7, 7, 7, 7}, src[2] = {1, 2};
  int64_t index[2] = {0, 3}, outside[2] = {0, 4};
#define ADD(f, format, rows, cols, out, n, index, src) rm_##f(format, rows, cols, out, 8, 8, n, index, 8, src, 8, 8)
#define BOTH(status, ...) CHECK(ADD(index_add, __VA_ARGS__) == (status) && ADD(segment_sum, __VA_ARGS__) == (status))
  BOTH(RM_STATUS(RM_ERR_ENUM, 1), 4, 4, 1, out, 2, index, src);
  BOTH(RM_STATUS(RM_ERR_SIZE, 2), RM_FORMAT_F64, -1, 1, out, 2, index, src);
  BOTH(RM_STATUS(RM_ERR_SIZE, 3), RM_FORMAT_F64, 4, -1, out, 2, index, src);
  BOTH(RM_STATUS(RM_ERR_NULL, 4), RM_FORMAT_F64, 4, 1, NULL, 2, index, src);
  BOTH(RM_STATUS(RM_ERR_SIZE, 7), RM_FORMAT_F64, 4, 1, out, -1, index, src);
  BOTH(RM_STATUS(RM_ERR_NULL, 8), RM_FORMAT_F64, 4, 1, out, 2, NULL, src);
  BOTH(RM_STATUS(RM_ERR_INDEX, 8), RM_FORMAT_F64, 4, 1, out, 2, outside, src);
  BOTH(RM_STATUS(RM_ERR_NULL, 10), RM_FORMAT_F64, 4, 1, out, 2, index, NULL);
  BOTH(RM_STATUS(RM_ERR_OVERLAP, 4), RM_FORMAT_F64, 2, 1, src, 2, index, src);
  CHECK(out[0] == 7 && out[1] == 7 && out[2] == 7 && out[3] == 7 && src[0] == 1 && src[1] == 2);
  CHECK(ADD(index_add, RM_FORMAT_F64, 4, 1, out, 2, index, src) == RM_OK && out[0] == 8 && out[1] == 7 && out[3] == 9);
  CHECK(ADD(segment_sum, RM_FORMAT_F64, 4, 1, out, 2, index, src) == RM_OK && out[0] == 1 && out[1] == 0 && out[3] == 2);
}

static void rows_of_f32(void) {
  const float x[6] = {1, 2, 3, 4, 5, 6}, g[2] = {1, 2};
  float out[6] = {7, 7, 7, 7, 7, 7}, one[2] = {7, 7};
  CHECK(rm_weight_norm_f32(-1, 3, x, g, out, one) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_weight_norm_f32(2, -1, x, g, out, one) == RM_STATUS(RM_ERR_SIZE, 2));
  CHECK(rm_weight_norm_f32(2, 3, NULL, g, out, one) == RM_STATUS(RM_ERR_NULL, 3));
  CHECK(rm_weight_norm_f32(2, 3, x, NULL, out, one) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(rm_weight_norm_f32(2, 3, x, g, NULL, one) == RM_STATUS(RM_ERR_NULL, 5));
  CHECK(rm_weight_norm_f32(2, 3, x, g, out, NULL) == RM_STATUS(RM_ERR_NULL, 6));
  CHECK(rm_weight_norm_backward_f32(-1, 3, x, x, g, out, one) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_weight_norm_backward_f32(2, 3, NULL, x, g, out, one) == RM_STATUS(RM_ERR_NULL, 3));
  CHECK(rm_weight_norm_backward_f32(2, 3, x, x, g, NULL, one) == RM_STATUS(RM_ERR_NULL, 6));
  CHECK(rm_weight_norm_backward_f32(2, 3, x, x, g, out, NULL) == RM_STATUS(RM_ERR_NULL, 7));
  CHECK(rm_norm_rows_f32(-1, 3, x, one) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_norm_rows_f32(2, -1, x, one) == RM_STATUS(RM_ERR_SIZE, 2));
  CHECK(rm_norm_rows_f32(2, 3, NULL, one) == RM_STATUS(RM_ERR_NULL, 3));
  CHECK(rm_norm_rows_f32(2, 3, x, NULL) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(out[0] == 7 && out[5] == 7 && one[0] == 7 && one[1] == 7);
  CHECK(rm_norm_rows_f32(2, 0, NULL, one) == RM_OK && one[0] == 0 && one[1] == 0);
  CHECK(rm_weight_norm_f32(0, 3, NULL, NULL, NULL, NULL) == RM_OK);
}

static void reductions(void) {
  float x[4] = {1, 2, 3, 4}, out = 77;
  double xd[4] = {1, 2, 3, 4}, outd = 77;
  CHECK(rm_sum_f32(-1, x, 4, &out) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_sum_f32(4, NULL, 4, &out) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_sum_f32(4, x, 4, NULL) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(rm_sum_f64(-1, xd, 8, &outd) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_sum_f64(4, NULL, 8, &outd) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_sum_f64(4, xd, 8, NULL) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(rm_dot_f32(-1, x, 4, x, 4, &out) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_dot_f32(4, NULL, 4, x, 4, &out) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_dot_f32(4, x, 4, NULL, 4, &out) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(rm_dot_f32(4, x, 4, x, 4, NULL) == RM_STATUS(RM_ERR_NULL, 6));
  CHECK(rm_dot_f64(-1, xd, 8, xd, 8, &outd) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_dot_f64(4, xd, 8, NULL, 8, &outd) == RM_STATUS(RM_ERR_NULL, 4));
  CHECK(out == 77 && outd == 77);
  CHECK(rm_sum_f32(0, NULL, 0, &out) == RM_OK && out == 0);
  CHECK(rm_dot_f64(0, NULL, 0, NULL, 0, &outd) == RM_OK && outd == 0);
}

#define MATMUL(...) rm_matmul_f32(__VA_ARGS__)
static void matmul(void) {
  enum { R = RM_ROW_MAJOR, N = RM_NO_TRANS, T = RM_TRANS };
  float a[12] = {0}, b[12] = {0}, c[12], before[12];
  for (int i = 0; i < 12; i++) c[i] = 77;
  memcpy(before, c, sizeof c);
  /* 2 x 3 times 3 x 4 */
  CHECK(MATMUL(0, N, N, 2, 4, 3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_ENUM, 1));
  CHECK(MATMUL(R, 0, N, 2, 4, 3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_ENUM, 2));
  CHECK(MATMUL(R, N, 9, 2, 4, 3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_ENUM, 3));
  CHECK(MATMUL(R, N, N, -2, 4, 3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_SIZE, 4));
  CHECK(MATMUL(R, N, N, 2, -4, 3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_SIZE, 5));
  CHECK(MATMUL(R, N, N, 2, 4, -3, a, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_SIZE, 6));
  CHECK(MATMUL(R, N, N, 2, 4, 3, NULL, 3, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_NULL, 7));
  CHECK(MATMUL(R, N, N, 2, 4, 3, a, 2, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_LD, 8));
  CHECK(MATMUL(R, T, N, 2, 4, 3, a, 1, b, 4, NULL, c, 4) == RM_STATUS(RM_ERR_LD, 8));
  CHECK(MATMUL(R, N, N, 2, 4, 3, a, 3, NULL, 4, NULL, c, 4) == RM_STATUS(RM_ERR_NULL, 9));
  CHECK(MATMUL(R, N, N, 2, 4, 3, a, 3, b, 3, NULL, c, 4) == RM_STATUS(RM_ERR_LD, 10));
  CHECK(MATMUL(R, N, T, 2, 4, 3, a, 3, b, 2, NULL, c, 4) == RM_STATUS(RM_ERR_LD, 10));
  CHECK(MATMUL(R, N, N, 2, 4, 3, a, 3, b, 4, NULL, NULL, 4) == RM_STATUS(RM_ERR_NULL, 12));
  CHECK(MATMUL(R, N, N, 2, 4, 3, a, 3, b, 4, NULL, c, 3) == RM_STATUS(RM_ERR_LD, 13));
  CHECK(rm_status_code(MATMUL(R, N, N, 2, 4, 3, c, 3, b, 4, NULL, c, 4)) == RM_ERR_OVERLAP);
  CHECK(rm_status_code(MATMUL(R, N, N, 2, 4, 3, a, 3, c + 4, 4, NULL, c, 4)) == RM_ERR_OVERLAP);
  CHECK(memcmp(c, before, sizeof c) == 0);
  /* Nothing to do is no error; no terms is +0, or the bias. */
  CHECK(MATMUL(R, N, N, 0, 4, 3, NULL, 3, NULL, 4, NULL, NULL, 4) == RM_OK);
  CHECK(MATMUL(R, N, N, 2, 4, 0, NULL, 1, NULL, 4, NULL, c, 4) == RM_OK);
  CHECK(c[0] == 0 && c[7] == 0 && c[8] == 77);
}

static void accumulators(void) {
  float out = 77, x[2] = {1, 2};
  rm_accumulator *acc = rm_accumulator_new();
  CHECK(acc != NULL);
  CHECK(rm_accumulator_add_f32(NULL, 2, x, 4) == RM_STATUS(RM_ERR_NULL, 1));
  CHECK(rm_accumulator_add_f32(acc, -1, x, 4) == RM_STATUS(RM_ERR_SIZE, 2));
  CHECK(rm_accumulator_add_f32(acc, 2, NULL, 4) == RM_STATUS(RM_ERR_NULL, 3));
  CHECK(rm_accumulator_round_f32(acc, NULL) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_accumulator_merge(acc, NULL) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_accumulator_round_f32(acc, &out) == RM_OK && out == 0);
  CHECK(rm_accumulator_add_f32(acc, 2, x, 4) == RM_OK);
  CHECK(rm_accumulator_merge(acc, acc) == RM_OK); /* doubles it */
  CHECK(rm_accumulator_round_f32(acc, &out) == RM_OK && out == 6);
  CHECK(rm_accumulator_rounded_f32(acc, &out, 4) == RM_STATUS(RM_ERR_ENUM, 3));
  CHECK(rm_accumulator_rounded_f32(NULL, &out, RM_ROUND_UP) == RM_STATUS(RM_ERR_NULL, 1));
  CHECK(rm_accumulator_subtract(NULL, acc) == RM_STATUS(RM_ERR_NULL, 1));
  CHECK(rm_accumulator_add_products_f32(acc, 2, x, 4, NULL, 4) == RM_STATUS(RM_ERR_NULL, 5));

  unsigned char bytes[RM_ACCUMULATOR_BYTES + 1];
  CHECK(rm_accumulator_write(acc, bytes, sizeof bytes) == RM_STATUS(RM_ERR_SIZE, 3));
  CHECK(rm_accumulator_write(acc, NULL, RM_ACCUMULATOR_BYTES) == RM_STATUS(RM_ERR_NULL, 2));
  CHECK(rm_accumulator_write(acc, bytes, RM_ACCUMULATOR_BYTES) == RM_OK);
  CHECK(rm_accumulator_subtract(acc, acc) == RM_OK);
  CHECK(rm_accumulator_read(acc, bytes, RM_ACCUMULATOR_BYTES - 1) == RM_STATUS(RM_ERR_SIZE, 3));
  for (int i = 0; i < 8; i++) { /* the header; 32 is no class */
    bytes[i] ^= 32;
    CHECK(rm_accumulator_read(acc, bytes, RM_ACCUMULATOR_BYTES) == RM_STATUS(RM_ERR_DATA, 2));
    bytes[i] ^= 32;
  }
  CHECK(rm_accumulator_round_f32(acc, &out) == RM_OK && out == 0);
  CHECK(rm_accumulator_read(acc, bytes, RM_ACCUMULATOR_BYTES) == RM_OK);
  CHECK(rm_accumulator_round_f32(acc, &out) == RM_OK && out == 6);
  rm_f16 half = 0;
  CHECK(rm_accumulator_round_f16(acc, &half) == RM_OK && half == 0x4600);
  rm_accumulator_free(acc);
  rm_accumulator_free(NULL);
}

int main(void) {
  require_isa();
  for (int code = 0; code <= 11; code++) CHECK(rm_status_message(code) && rm_status_message(code)[0]);
  CHECK(rm_status_code(RM_STATUS(RM_ERR_LD, 8)) == RM_ERR_LD && rm_status_argument(RM_STATUS(RM_ERR_LD, 8)) == 8);
  CHECK(strcmp(rm_version(), RM_VERSION) == 0);
  CHECK(rm_set_num_threads(0) == RM_STATUS(RM_ERR_SIZE, 1));
  CHECK(rm_set_num_threads(2) == RM_OK && rm_get_num_threads() == 2);
  for (int i = 0; i < ENTRIES; i++) elementwise(&entries[i]);
  scatter_sums();
  rows_of_f32();
  reductions();
  matmul();
  accumulators();
  return finish();
}
