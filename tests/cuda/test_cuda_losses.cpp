/* The launchers of losses and their gradients against the CPU library, every byte of the output (device.h). */
#include <repmath/cuda.h>
#include <repmath/losses.h>

#include <initializer_list>

#include "samples.h"

static const int64_t ROOM = 1 << 16; /* bytes of an array */
enum { X, Y, W, P, G, OUT, ARRAYS };
static char cpu[ARRAYS * ROOM];
BOTH_SIDES char gpu[ARRAYS * ROOM];

/* Elements one after the other, or backward with gaps and misaligned; results in their own array or in the place of x. */
struct layout {
  int format;
  int64_t n;
  int k;
  bool odd() const { return k % 2; }
  ptrdiff_t stride() const { return widths[format] * (odd() ? -3 : 1); }
  ptrdiff_t first() const { return odd() ? 1 + 3 * widths[format] * (n > 0 ? n - 1 : 0) : 0; }
  char *at(char *base, int array) const { return base + array * ROOM + first(); }
  char *out(char *base) const { return at(base, k % 3 == 2 ? X : OUT); }
};
static void clear() { memset(cpu, 0x5a, sizeof cpu); }
static void fill_arrays(const layout &l, int kind) {
  clear();
  for (int a = 0; a < OUT; a++) fill(l.at(cpu, a), l.format, (kind + (a > Y)) % KINDS, l.n, l.stride(), static_cast<uint64_t>(a + 8 * l.k));
}

static char what[160];
template <class F> static void both(F call) {
  memcpy(gpu, cpu, sizeof gpu);
  compare_memory(what, cpu, gpu, [&] { return call(cpu, false); }, [&] { return call(gpu, true); });
}
#define SIDE(device, f, ...) ((device) ? rm_cuda_##f(__VA_ARGS__, nullptr) : rm_##f(__VA_ARGS__))
/* Both sides say the same, and nothing is written. */
#define SAME(f, ...) check(rm_##f(__VA_ARGS__) == rm_cuda_##f(__VA_ARGS__, nullptr) && device_idle(), #f " refuses " #__VA_ARGS__)

static void regression(const layout &l, int loss, double p, int reduction) {
  const ptrdiff_t s = l.stride(), sy = l.k % 5 == 4 ? 0 : s; /* one y for all */
  snprintf(what, sizeof what, "regression_loss %d, p %g: format %d, reduction %d, layout %d, n %d", loss, p, l.format, reduction, l.k,
           static_cast<int>(l.n));
  char saved[sizeof cpu];
  memcpy(saved, cpu, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, regression_loss, loss, p, l.format, reduction, l.n, l.at(base, X), s, l.at(base, Y), sy, l.out(base), s);
  });
  memcpy(cpu, saved, sizeof cpu);
  both([&](char *base, bool device) -> rm_status {
    return SIDE(device, regression_loss_backward, loss, p, l.format, reduction, l.n, l.at(base, G), s, l.at(base, X), s, l.at(base, Y),
                sy, l.out(base), s);
  });
}

/* Ties behind a division: (q k)^2/(2 q^2) and g (q k)/q, for odd k and g such that the quotients have a bit more than the format. */
static uint64_t word;
static double odd_number(double low, double high) {
  uint32_t w[2];
  rm_random_words32(7, 7, static_cast<int64_t>(word), 2, w, 4);
  word += 2;
  return 2 * floor((low + (high - low) * (w[0] * 0x1p-32)) / 2) + 1;
}
static void ties(int format) {
  const int p = format == RM_FORMAT_F64 ? 53 : 24, half = p / 2;
  for (int gradient = 0; gradient < 2; gradient++) {
    const double q = odd_number(0x1p8, 0x1p10), low = gradient ? ldexp(1, half) : pow(2, p / 2.0);
    const layout l = {format, 1000, 0};
    clear();
    for (int64_t i = 0; i < l.n; i++) {
      put(l.at(cpu, X) + i * widths[format], format, q * odd_number(low, low * 1.41421));
      put(l.at(cpu, Y) + i * widths[format], format, 0);
      put(l.at(cpu, G) + i * widths[format], format, odd_number(ldexp(1, p - half), ldexp(1.41421, p - half)));
    }
    regression(l, RM_LOSS_SMOOTH_L1, gradient ? q * 0x1p60 : q * q * 0x1p50, RM_REDUCTION_NONE);
  }
}

static void regressions() {
  static const struct {
    int loss;
    double p;
  } losses[] = {{RM_LOSS_MSE, 0},         {RM_LOSS_L1, 0},      {RM_LOSS_SMOOTH_L1, 1}, {RM_LOSS_SMOOTH_L1, 0.3},
                {RM_LOSS_SMOOTH_L1, 0}, {RM_LOSS_HUBER, 0.7}, {RM_LOSS_HUBER, 1.25}};
  static const int64_t sizes[] = {0, 1, 7, 130, 1500};
  for (int format = 0; format < 4; format++)
    for (int kind = 0; kind < KINDS; kind++)
      for (int k = 0; k < 7; k++)
        for (int reduction = 0; reduction < 3; reduction++) {
          const layout l = {format, sizes[(k + kind + reduction) % 5], k + 3 * kind + reduction};
          fill_arrays(l, kind);
          regression(l, losses[k].loss, losses[k].p, reduction);
        }
  ties(RM_FORMAT_F32);
  ties(RM_FORMAT_F64);
}

static void regression_refusals() {
  clear();
  memcpy(gpu, cpu, sizeof gpu);
  char *x = gpu, *y = gpu + ROOM, *out = gpu + 2 * ROOM;
  SAME(regression_loss, 4, 0, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 3, 0, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 2, -1, 3, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 4, 0, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 3, 4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, -4, x, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, nullptr, 8, y, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, x, 8, nullptr, 8, out, 8);
  SAME(regression_loss, 0, 0, 3, 1, 4, x, 8, y, 8, nullptr, 8);
  SAME(regression_loss, 0, 0, 3, 0, 4, x, 8, y, 8, x, 16);
  SAME(regression_loss, 0, 0, 3, 0, 0, nullptr, 8, nullptr, 8, nullptr, 8);
  SAME(regression_loss_backward, 0, 0, 3, 0, 4, nullptr, 8, x, 8, y, 8, out, 8);
  SAME(regression_loss_backward, 0, 0, 3, 1, 4, out, 8, x, 8, y, 8, out, 8);
  SAME(regression_loss_backward, 0, 0, 3, 0, 4, y, 8, x, 8, y, 8, nullptr, 8);
  check(memcmp(cpu, gpu, sizeof gpu) == 0, "nothing is written");
}

int main() {
  regressions();
  regression_refusals();
  return checked();
}
