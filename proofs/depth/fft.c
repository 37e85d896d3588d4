/* How many roundings a term passes in a pass of a transform (src/fft/passes.inc), in binary64: the source of the library over
 * depths, where a constant of the plan is one rounding, and so are a product and a sum. fft LONGEST [ALLOWANCES LESS BY]
 *
 * What the norm of a pass is off follows from these counts, src/fft/kernels.h; proofs/formula/linear.py has the numbers. */
#include "vocabulary.h"

/* A product with a constant: both round. */
static vf64 depth_mul(vf64 a, vf64 b) {
  vf64 r = vf64_mul(a, b);
  EACH if (r.v[q_] != 0) r.v[q_] += 2.0;
  return r;
}
#define vf64_mul depth_mul
#define vf64_mad(a, b, c) vf64_add(depth_mul(a, b), c)
#define vf64_nmad(a, b, c) vf64_add(depth_mul(a, b), c)
#include "../../src/fft/kernels.h"
#include "../../src/fft/numbers.h"
#define RM_FFT_UNROLL
#define RM_FFT_TIER b64
#define RM_FFT_PLANES 2
#include "../../src/fft/passes.inc"

enum { MOST = 4096, PAD = 64 };
static double buffer[2][2 * (MOST + PAD)], ones[4 * (MOST + PAD)], scratch[4 * 16 * (2 * 401 + 2)];

static double deepest(const double *x, int64_t n) {
  double most = 0.0;
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < 2; c++)
      if (x[c * (MOST + PAD) + i] > most) most = x[c * (MOST + PAD) + i];
  return most - 1.0;
}

/* One pass of radix r on sub-transforms of length r m, s of them beside each other. */
static void pass(int64_t r, int64_t m, int64_t s) {
  char where[64];
  const int64_t n = r * m * s;
  const double h = (double)((r - 1) / 2);
  if (n > MOST) return;
  rm_fft_plan plan = {.n = r * m, .passes = 1};
  plan.pass[0] = (rm_fft_pass){r, m, ones, ones};
  const rm_fft_plan *const plans[1] = {&plan};
  const rm_fft_work work = {.rank = 1,
                            .plan = plans,
                            .n = r * m,
                            .width = s,
                            .plane = MOST + PAD,
                            .half = 1,
                            .buffer = {buffer[0], buffer[1]},
                            .scratch = scratch};
  for (int i = 0; i < 2 * (MOST + PAD); i++) buffer[0][i] = 1.0, buffer[1][i] = 0.0;
  rm_fft_transform_b64(&work);
  snprintf(where, sizeof where, "radix %lld, m %lld, s %lld", (long long)r, (long long)m, (long long)s);
  const char *name = r == 2 ? "radix 2" : r == 4 ? "radix 4" : "odd radices";
  const double allowed = r == 2 ? 1.0 : r == 4 ? 2.0 : h + 4.0, turned = m > 1 ? 3.0 : 0.0;
  counted(record_of(name), deepest(buffer[1], n), allowed + turned, where);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  if (argc > 2) depth_less = atof(argv[2]);
  const int64_t longest = atoll(argv[1]) < 400 ? atoll(argv[1]) : 400;
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1.0;
  for (int64_t m = 1; m <= 9; m += 4)
    for (int64_t s = 1; s <= 17; s += s < 5 ? 2 : 6) {
      pass(2, m, s), pass(4, m, s);
      for (int64_t r = 3; r <= longest; r += r < 40 ? 2 : 22) pass(r, m, s);
    }
  static const char *const all[] = {"radix 2", "radix 4", "odd radices"};
  int bad = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) bad |= told(record_of(all[i]));
  return bad;
}
