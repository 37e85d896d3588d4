/* repmath from C. Prints each result's bits; they are the same on every machine.
 *
 *   cc example.c $(pkg-config --cflags --libs repmath) -o example */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <repmath/repmath.h>

static uint32_t bits32(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  return b;
}
static uint64_t bits64(double x) {
  uint64_t b;
  memcpy(&b, &x, 8);
  return b;
}

int main(void) {
  printf("exp_f64(1) %016" PRIx64 "\n", bits64(rm_exp_f64(1.0)));
  printf("exp_f32(1) %08" PRIx32 "\n", bits32(rm_exp_f32(1.0f)));

  float x[3] = {1.0f, 2.0f, 3.0f}, y[3];
  if (rm_vlog_f32(3, x, sizeof *x, y, sizeof *y) != RM_OK) return 1;
  printf("log_f32(1 2 3) %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", bits32(y[0]), bits32(y[1]), bits32(y[2]));

  double terms[4] = {1e100, 1.0, -1e100, 0.5}, sum; /* in binary64, from left to right, this would be 0.5 */
  if (rm_sum_f64(4, terms, sizeof *terms, &sum) != RM_OK) return 1;
  printf("sum_f64 %016" PRIx64 "\n", bits64(sum));

  float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4];
  rm_status status = rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, 2, 2, 2, a, 2, b, 2, NULL, c, 2);
  if (status != RM_OK) {
    fprintf(stderr, "argument %d: %s\n", rm_status_argument(status), rm_status_message(status));
    return 1;
  }
  printf("matmul_f32 %08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", bits32(c[0]), bits32(c[1]), bits32(c[2]),
         bits32(c[3]));
  return 0;
}
