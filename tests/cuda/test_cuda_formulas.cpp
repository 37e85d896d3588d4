/* The launcher of formulas against the CPU library, every byte of all arrays (device.h). */
#include <repmath/cuda.h>
#include <repmath/formulas.h>

#include <initializer_list>

#include "samples.h"

enum { FORMULAS = RM_FORMULA_MIX + 1, CODES = 18, TRIPLES = CODES * CODES * CODES };
enum { X, Y, Z, OUT, ARRAYS };
static const int64_t ROOM = 8 * TRIPLES + 16; /* bytes of an array, as many words of 16 */
static char cpu[ARRAYS * ROOM];
alignas(16) BOTH_SIDES char gpu[ARRAYS * ROOM];

static bool has_y(int formula) {
  return (formula >= RM_FORMULA_PLUS && formula <= RM_FORMULA_SIGMOID) || formula >= RM_FORMULA_MAX;
}
static bool has_z(int formula) {
  return formula == RM_FORMULA_PRODUCT || formula == RM_FORMULA_QUOTIENT || formula == RM_FORMULA_MIX;
}

/* What is in cpu goes to both sides first. `odd`: arrays are misaligned. */
static void compare(const char *kind, int formula, int format, int64_t n, double a, int result, int odd) {
  static char before[sizeof cpu], what[120];
  snprintf(what, sizeof what, "%s: formula %d, format %d, n %d, a %g, result in %d", kind, formula, format,
           static_cast<int>(n), a, result);
  memcpy(before, cpu, sizeof cpu);
  memcpy(gpu, cpu, sizeof gpu);
  const auto at = [&](char *base, int k) { return base + k * ROOM + odd; };
  const auto y = [&](char *base) { return has_y(formula) ? at(base, Y) : nullptr; };
  const auto z = [&](char *base) { return has_z(formula) ? at(base, Z) : nullptr; };
  compare_memory(
      what, cpu, gpu, [&] { return rm_formula(formula, format, n, a, at(cpu, X), y(cpu), z(cpu), at(cpu, result)); },
      [&] { return rm_cuda_formula(formula, format, n, a, at(gpu, X), y(gpu), z(gpu), at(gpu, result), nullptr); });
  memcpy(cpu, before, sizeof cpu);
}

/* The kinds of samples.h, and all bits of the format. */
enum { ALL_BITS = KINDS, ALL_KINDS };
static void fill_arrays(int format, int kind, int64_t n, int odd) {
  const int size = widths[format];
  memset(cpu, 0x5a, sizeof cpu);
  for (uint64_t k = X; k < OUT; k++) {
    char *at = cpu + k * ROOM;
    if (kind == ALL_BITS) {
      rm_random_words32(5, k, 0, (n * size + 3) / 4, reinterpret_cast<uint32_t *>(at), 4);
      memmove(at + odd, at, static_cast<size_t>(n * size));
    } else fill(at + odd, format, kind, n, size, k);
  }
}

/* Zeros, the least and largest subnormal and normal numbers, 1, infinities, NaN quiet and signalling: every three of them. */
static void fill_codes(int format) {
  static const int fractions[] = {10, 7, 23, 52};
  const int size = widths[format], fraction = fractions[format], sign = 8 * size - 1;
  const uint64_t least = UINT64_C(1) << fraction, infinity = (UINT64_C(1) << sign) - least;
  const uint64_t one = (infinity >> 1) & ~(least - 1);
  const uint64_t codes[CODES / 2] = {0, 1, least - 1, least, one, infinity - 1, infinity, infinity | least / 2, infinity + 1};
  memset(cpu, 0x5a, sizeof cpu);
  for (int i = 0; i < TRIPLES; i++) {
    const int k[] = {i % CODES, i / CODES % CODES, i / CODES / CODES};
    for (int array = X; array < OUT; array++) {
      const uint64_t code = codes[k[array] / 2] | static_cast<uint64_t>(k[array] % 2) << sign;
      memcpy(cpu + array * ROOM + i * size, &code, static_cast<size_t>(size)); /* little endian */
    }
  }
}

/* a y/z within 2^-52 of a midpoint of f32, which only a rounding test with its right bound sees. */
static void beside_midpoints() {
  for (int i = 0; i < 300; i++) {
    double u[3], a;
    uint32_t word;
    rm_random_uniform(RM_FORMAT_F64, 17, 0, 3 * i, 3, 0.25, 2, u, 8);
    rm_random_words32(17, 1, i, 1, &word, 4);
    memset(cpu, 0x5a, sizeof cpu);
    for (int k = 0; k < 3; k++) put(cpu + k * ROOM, RM_FORMAT_F32, k == X ? 0 : u[k]);
    const double y = static_cast<float>(u[Y]), z = static_cast<float>(u[Z]);
    a = (1 + ((word >> 9) + 0.5) * 0x1p-23) / (y / z);
    compare("beside a midpoint", RM_FORMULA_QUOTIENT, RM_FORMAT_F32, 1, a, OUT, 0);
    for (int k = X; k < Z; k++) put(cpu + k * ROOM, RM_FORMAT_F32, k == X ? y : 0);
    for (int formula : {RM_FORMULA_SCALED, RM_FORMULA_OVER, RM_FORMULA_ADDED})
      compare("beside a midpoint of one", formula, RM_FORMAT_F32, 1, (1 + ((word >> 9) + 0.5) * 0x1p-23) / y, OUT, 0);
  }
}

#define SAME(...) \
  check(rm_formula(__VA_ARGS__) == rm_cuda_formula(__VA_ARGS__, nullptr) && device_idle(), "refuses " #__VA_ARGS__)
static void refusals() {
  char *x = gpu, *y = gpu + ROOM, *z = gpu + 2 * ROOM, *out = gpu + 3 * ROOM;
  memset(gpu, 0x5a, sizeof gpu);
  for (int formula : {-1, RM_FORMULA_REMAINDER_OF + 1}) SAME(formula, 2, 8, 1.0, x, y, z, out);
  for (int format : {-1, 4}) SAME(0, format, 8, 1.0, x, y, z, out);
  SAME(0, 2, -1, 1.0, x, y, z, out);
  SAME(0, 2, 0, 1.0, nullptr, nullptr, nullptr, nullptr);
  SAME(0, 2, 8, 1.0, nullptr, y, z, out);
  SAME(4, 2, 8, 1.0, x, nullptr, z, out);
  SAME(6, 2, 8, 1.0, x, y, nullptr, out);
  SAME(0, 2, 8, 1.0, x, y, z, nullptr);
  SAME(0, 2, 8, 1.0, x, y, z, x + 4);
  SAME(7, 2, 8, 1.0, x, y, z, z - 4);
  for (char byte : gpu)
    if (byte != 0x5a) return check(false, "nothing is written");
}

int main() {
  static const double numbers[] = {0.1,  1 / 0.9, -3.0,  0.5,      1.0, 0.0,
                                   -0.0, 1e-250,  1e300, INFINITY, NAN}; /* outside the bounds too */
  for (int format = 0; format < 4; format++) {
    for (int kind = 0; kind < ALL_KINDS; kind++) {
      const int odd = kind % 2;
      fill_arrays(format, kind, 300, odd);
      for (int formula = 0; formula < FORMULAS; formula++)
        for (int k = 0; k < 3; k++) {
          const int last = has_z(formula) ? Z : has_y(formula) ? Y : X;
          compare("samples", formula, format, 300, numbers[(4 * k + kind + formula) % 11],
                  k == 0 ? OUT : (kind + k) % (last + 1), odd);
        }
    }
    for (int64_t n : {1, 2, 31, 33, 255, 257, 4099}) {
      const int odd = n % 4 == 3 ? widths[format] : 0; /* elements are aligned, words of 16 bytes are not */
      fill_arrays(format, SHORT, n, odd);
      for (int formula = 0; formula < FORMULAS; formula++)
        compare("lengths", formula, format, n, 0.1, n % 3 == 0 ? X : OUT, odd);
    }
    fill_codes(format);
    for (int formula = 0; formula < FORMULAS; formula++)
      for (double a : numbers)
        compare("codes", formula, format, has_z(formula) ? TRIPLES : has_y(formula) ? CODES * CODES : CODES, a, OUT, 0);
  }
  beside_midpoints();
  refusals();
  return checked();
}
