/* Strides of any sign, zero included, and any alignment: the array functions give the scalar functions' bits and write
 * nothing else. Reductions over views give the bits of the contiguous ones. */
#include "check.h"

enum { MAX_N = 700, ROOM = MAX_N * 8 * 3 + 64 };

static void one_case(const struct entry *e, int64_t n, int step_x, int step_y, int shift) {
  static unsigned char x[ROOM], y[ROOM], before[ROOM], expected[8];
  int size = e->size;
  ptrdiff_t sx = (ptrdiff_t)step_x * size, sy = (ptrdiff_t)step_y * size;
  fill_inputs(e, n * (step_x ? abs(step_x) : 1), x + shift, (uint64_t)n); /* all that is read */
  memset(y, 0xa5, sizeof y);
  unsigned char *px = x + shift + (step_x < 0 && n > 0 ? -sx * (n - 1) : 0);
  unsigned char *py = y + shift + (step_y < 0 && n > 0 ? -sy * (n - 1) : 0);
  memcpy(before, y, sizeof y);
  CHECK_FOR(e->array(n, px, sx, py, sy) == RM_OK, e->name);
  int wrong = 0;
  for (int64_t i = 0; i < n; i++) {
    e->one(px + i * sx, expected);
    wrong += memcmp(py + i * sy, expected, (size_t)size) != 0;
    memset(py + i * sy, 0xa5, (size_t)size); /* what is left must be untouched */
  }
  char detail[96];
  snprintf(detail, sizeof detail, "%s_%s n=%d steps %d %d shift %d: %d wrong", e->name, e->format, (int)n, step_x, step_y,
           shift, wrong);
  CHECK_FOR(wrong == 0, detail);
  CHECK_FOR(memcmp(y, before, sizeof y) == 0, detail);
}

static void in_place(const struct entry *e, int step) {
  static unsigned char x[ROOM], y[ROOM];
  int64_t n = MAX_N;
  fill_inputs(e, n * step, x, 5);
  memcpy(y, x, sizeof y);
  ptrdiff_t s = (ptrdiff_t)step * e->size;
  CHECK_FOR(e->array(n, y, s, y, s) == RM_OK, e->name);
  int wrong = 0;
  for (int64_t i = 0; i < n; i++) {
    unsigned char expected[8];
    e->one(x + i * s, expected);
    wrong += memcmp(y + i * s, expected, (size_t)e->size) != 0;
  }
  CHECK_FOR(wrong == 0, e->name);
}

static void elementwise(const struct entry *e) {
  static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, MAX_N};
  static const int steps[][2] = {{1, 1}, {2, 1}, {1, 3}, {-1, 1}, {1, -1}, {-2, -2}, {0, 1}, {0, -3}, {3, 2}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (unsigned s = 0; s < sizeof steps / sizeof *steps; s++)
      for (int shift = 0; shift < 4; shift += 1 + shift) /* 0, 1, 3 bytes off */
        one_case(e, sizes[i], steps[s][0], steps[s][1], shift);
  in_place(e, 1);
  in_place(e, 2);
}

/* Copies n elements to a place with a step and an offset, and returns the pointer to element 0. */
static char *spread(char *room, const void *x, int64_t n, int size, int step, int shift) {
  char *first = room + shift + (step < 0 ? (ptrdiff_t)-step * size * (n - 1) : 0);
  for (int64_t i = 0; i < n; i++) memcpy(first + i * step * size, (const char *)x + i * size, (size_t)size);
  return first;
}

static void reductions(void) {
  static char room_x[ROOM * 2], room_y[ROOM * 2];
  static const int steps[] = {1, 2, -1, -3};
  float x[MAX_N], y[MAX_N], expected_sum, expected_dot, out;
  double xd[MAX_N], yd[MAX_N], expected_sum_d, expected_dot_d, out_d;
  uint64_t state = 11;
  for (int i = 0; i < MAX_N; i++) {
    xd[i] = (double)(int64_t)next_random(&state) * 0x1p-40, yd[i] = (double)(int64_t)next_random(&state) * 0x1p-60;
    x[i] = (float)xd[i], y[i] = (float)yd[i];
  }
  for (int n = 1; n <= MAX_N; n += n < 20 ? 1 : 97) {
    rm_sum_f32(n, x, 4, &expected_sum);
    rm_dot_f32(n, x, 4, y, 4, &expected_dot);
    rm_sum_f64(n, xd, 8, &expected_sum_d);
    rm_dot_f64(n, xd, 8, yd, 8, &expected_dot_d);
    for (int s = 0; s < 4; s++)
      for (int shift = 0; shift < 4; shift += 3) {
        int tx = steps[s], ty = steps[(s + 1) % 4];
        const float *fx = (const float *)(void *)spread(room_x, x, n, 4, tx, shift);
        const float *fy = (const float *)(void *)spread(room_y, y, n, 4, ty, shift);
        CHECK(rm_sum_f32(n, fx, 4 * tx, &out) == RM_OK && memcmp(&out, &expected_sum, 4) == 0);
        CHECK(rm_dot_f32(n, fx, 4 * tx, fy, 4 * ty, &out) == RM_OK && memcmp(&out, &expected_dot, 4) == 0);
        const double *dx = (const double *)(void *)spread(room_x, xd, n, 8, tx, shift);
        const double *dy = (const double *)(void *)spread(room_y, yd, n, 8, ty, shift);
        CHECK(rm_sum_f64(n, dx, 8 * tx, &out_d) == RM_OK && memcmp(&out_d, &expected_sum_d, 8) == 0);
        CHECK(rm_dot_f64(n, dx, 8 * tx, dy, 8 * ty, &out_d) == RM_OK && memcmp(&out_d, &expected_dot_d, 8) == 0);
      }
  }
  float half = 0.5f; /* a stride of zero: n times the same term */
  CHECK(rm_sum_f32(1000, &half, 0, &out) == RM_OK && out == 500);
  CHECK(rm_dot_f32(1000, &half, 0, &half, 0, &out) == RM_OK && out == 250);
}

/* C = A B over views: A transposed or reversed, C with gaps, everything one byte off; against the plain call. */
static void matmul_views(void) {
  enum { M = 9, N = 17, K = 33 };
  float a[M * K], b[K * N], expected[M * N];
  static char room_a[4 * M * K * 4 + 8], room_b[4 * K * N * 4 + 8], room_c[4 * M * N * 4 + 8];
  uint64_t state = 13;
  for (int i = 0; i < M * K; i++) a[i] = (float)(int32_t)next_random(&state) * 0x1p-20f;
  for (int i = 0; i < K * N; i++) b[i] = (float)(int32_t)next_random(&state) * 0x1p-30f;
  CHECK(rm_matmul_f32(RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, M, N, K, a, K, b, N, NULL, expected, N) == RM_OK);
  for (int variant = 0; variant < 8; variant++) {
    int shift = variant & 1, reverse = variant & 2, transposed = variant & 4;
    ptrdiff_t row_a = transposed ? 4 : 4 * K, col_a = transposed ? 4 * M : 4;
    ptrdiff_t row_b = transposed ? 8 : 8 * N, col_b = transposed ? 8 * K : 8;
    ptrdiff_t row_c = 8 * N, col_c = 8;
    char *pa = room_a + shift, *pb = room_b + shift, *pc = room_c + shift;
    if (reverse) pa += row_a * (M - 1), row_a = -row_a, pc += row_c * (M - 1), row_c = -row_c;
    for (int i = 0; i < M; i++)
      for (int k = 0; k < K; k++) memcpy(pa + i * row_a + k * col_a, &a[i * K + k], 4);
    for (int k = 0; k < K; k++)
      for (int j = 0; j < N; j++) memcpy(pb + k * row_b + j * col_b, &b[k * N + j], 4);
    memset(room_c, 0x5a, sizeof room_c);
    CHECK(rm_matmul_strided_f32(M, N, K, (const float *)(void *)pa, row_a, col_a, (const float *)(void *)pb, row_b, col_b,
                                NULL, 0, (float *)(void *)pc, row_c, col_c) == RM_OK);
    int wrong = 0;
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        wrong += memcmp(pc + i * row_c + j * col_c, &expected[i * N + j], 4) != 0;
        memset(pc + i * row_c + j * col_c, 0x5a, 4);
      }
    int touched = 0;
    for (size_t i = 0; i < sizeof room_c; i++) touched += room_c[i] != 0x5a;
    CHECK(wrong == 0);
    CHECK(touched == 0);
  }
}

int main(void) {
  require_isa();
  for (int i = 0; i < ENTRIES; i++) elementwise(&entries[i]);
  reductions();
  matmul_views();
  return finish();
}
