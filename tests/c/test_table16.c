/* The 16-bit functions that have tables, on as many elements as bring them into use: every input (of a gradient, as both
 * arguments), bits and flags of the scalar function, whatever the strides, the alignment and the length. */
#include "check.h"

#include <fenv.h>

enum { INPUTS = 65536, DECIDED = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

static uint16_t every[INPUTS], expected[INPUTS];
static int due[INPUTS];

static void scalar_results(const struct entry *e) {
  for (int i = 0; i < INPUTS; i++) {
    every[i] = (uint16_t)i;
    feclearexcept(FE_ALL_EXCEPT);
    e->one(every + i, expected + i);
    due[i] = fetestexcept(DECIDED);
  }
}

/* The flags of n elements that are all `ordinary` but for number `at`, and the bits. */
static int raised(const struct entry *e, int64_t n, int64_t at, uint16_t x, uint16_t ordinary) {
  uint16_t in[600], out[600];
  for (int64_t i = 0; i < n; i++) in[i] = i == at ? x : ordinary;
  feclearexcept(FE_ALL_EXCEPT);
  CHECK_FOR(e->array(n, in, sizeof *in, out, sizeof *out) == RM_OK, e->name);
  const int flags = fetestexcept(DECIDED);
  CHECK_FOR(out[at] == expected[x], e->name);
  return flags;
}

static void views(const struct entry *e, int64_t n, int step_x, int step_y, int shift) {
  static unsigned char x[INPUTS * 6 + 8], y[INPUTS * 6 + 8], untouched[sizeof y];
  const ptrdiff_t sx = (ptrdiff_t)step_x * 2, sy = (ptrdiff_t)step_y * 2;
  unsigned char *px = x + shift + (sx < 0 ? -sx * (n - 1) : 0), *py = y + shift + (sy < 0 ? -sy * (n - 1) : 0);
  const int64_t first = INPUTS / 3; /* so that short arrays differ in their inputs */
  for (int64_t i = 0; i < n; i++) memcpy(px + i * sx, every + (first + i) % INPUTS, 2);
  memset(y, 0xa5, sizeof y);
  memset(untouched, 0xa5, sizeof untouched);
  CHECK_FOR(e->array(n, px, sx, py, sy) == RM_OK, e->name);
  int wrong = 0;
  for (int64_t i = 0; i < n; i++) {
    wrong += memcmp(py + i * sy, expected + (first + i) % INPUTS, 2) != 0;
    memset(py + i * sy, 0xa5, 2);
  }
  CHECK_FOR(wrong == 0, e->name);
  CHECK_FOR(memcmp(y, untouched, sizeof y) == 0, e->name);
}

static void elementwise(const struct entry *e) {
  static uint16_t y[INPUTS];
  scalar_results(e);
  CHECK_FOR(e->array(INPUTS, every, sizeof *every, y, sizeof *y) == RM_OK, e->name); /* from here on the table serves */
  CHECK_FOR(memcmp(y, expected, sizeof y) == 0, e->name);
  memcpy(y, every, sizeof y);
  CHECK_FOR(e->array(INPUTS, y, sizeof *y, y, sizeof *y) == RM_OK, e->name);
  CHECK_FOR(memcmp(y, expected, sizeof y) == 0, "in place");
  static const int64_t sizes[] = {1, 2, 255, 256, 257, 1000, INPUTS};
  static const int steps[][2] = {{1, 1}, {2, 1}, {1, 3}, {-1, 1}, {1, -1}};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (unsigned s = 0; s < sizeof steps / sizeof *steps; s++)
      views(e, sizes[i], steps[s][0], steps[s][1], (int)(i + s) % 4);
  int ordinary = 0x3800; /* 1/2 in f16; tiny in bf16 */
  while (due[ordinary]) ordinary++;
  int some = 0;
  for (int i = 0; i < INPUTS; i++)
    if (i % 251 == 0 || (i && due[i] != due[i - 1]) || expected[i] == 0) {
      some |= due[i];
      CHECK_FOR(raised(e, 1, 0, every[i], (uint16_t)ordinary) == due[i], e->name);
      CHECK_FOR(raised(e, 600, i % 600, every[i], (uint16_t)ordinary) == due[i], e->name);
    }
  CHECK_FOR(some & FE_INVALID, e->name); /* a signalling NaN at least */
}

int main(void) {
  require_isa();
  for (int i = 0; i < ENTRIES; i++)
    if (entries[i].size == 2 && (entries[i].arity == 1 || entries[i].gradient)) elementwise(&entries[i]);
  return finish();
}
