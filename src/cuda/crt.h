/* Products by the integer matrix instructions, after Ozaki, Uchino and Imamura (2025): each row of A and of B^T is scaled by
 * a power of two and rounded to integers of `bits` bits, whose products are found modulo some numbers of 8 bits, and from
 * these, by the Chinese remainder theorem, exactly. Integers are exact in any order, so that only the rounding of the
 * factors is left to bound.
 *
 * How many moduli: for K = 4096 the integers have 78 bits of f64, 44 of f32 and 24 of the 16-bit formats. Numbers of p bits
 * that are not smaller than 2^(p - bits) times the largest of their vector are integers as they are.
 *
 * Moduli: P, their product, is at least 2^LOG. |a'|, |b'| <= 2^bits and K 2^(2 bits) <= P/4 (crt_bits), so that the sum c'
 * of a' b' is the one number in (-P/2, P/2] with its residues, and far from the ends: with t the residues times the inverses
 * of P/p modulo p, c' = sum t P/p - q P for the integer q nearest to sum t/p. c'/P is at most 1/4 in magnitude and binary64
 * finds the sum within 2^-40: no other integer is nearer. Residues are -128 to 127, so that a sum of K products is below
 * 2^31 for K <= RM_CRT_TERMS.
 *
 * Bounds: a' = a 2^s + d with |d| <= 1/2, where a row's d are all 0 unless it is `inexact`; the same for b' and e. Then |c'
 * - sum of a b 2^(s + s')| <= sum |a' e| + |b' d| + |d e| <= (|b'|_1 + |a'|_1)/2 + K/4, of which the parts remain whose d or
 * e are not 0. The sums |.|_1 are added in binary64, within K 2^-53 of themselves; 1.0001 covers that and the rest. Of c'
 * the leading 106 bits are kept, and an error of one of the last of them where others follow. */
#ifndef RM_CUDA_CRT_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_CRT_H

#include "tiles.h"

#include "../blas/gemm/pair.h"

namespace {

/* How many moduli a format has. */
template <int fmt> constexpr int RM_CRT_MODULI = fmt == RM_F64 ? 22 : fmt == RM_F32 ? 13 : 8;
/* Words of 32 bits for sums of t P/p: n moduli of 8 bits, 5 bits for a sum of up to 22 terms, a sign. */
template <int n> constexpr int RM_CRT_WORDS = (8 * n + 6 + 31) / 32;

enum {
  RM_CRT_POWERS = 32,
  RM_CRT_TERMS = 65536, /* at most */
  RM_CRT_T = 64, /* a block multiplies T x T elements for one modulus, DEPTH terms at a time */
  RM_CRT_DEPTH = 64,
  RM_CRT_PITCH = RM_CRT_DEPTH + 16, /* bytes: eight rows' words then lie in different banks */
  RM_CRT_THREADS = 128, /* 4 warps of 32 x 32 elements */
  RM_CRT_LOADS = RM_CRT_T * RM_CRT_DEPTH / 16 / RM_CRT_THREADS
};
#ifndef RM_CFG_ROW_THREADS
#define RM_CFG_ROW_THREADS 256
#endif
enum { RM_CRT_ROW_THREADS = RM_CFG_ROW_THREADS };

/* n moduli p, P and P/p, the inverses of P/p modulo p, and powers of 2 modulo p. */
template <int n> struct crt_tables {
  enum { WORDS = RM_CRT_WORDS<n> };
  uint32_t modulus[n], inverse[n], power[n][RM_CRT_POWERS];
  uint32_t part[n][WORDS], product[WORDS];
};
constexpr uint32_t crt_divisor(uint32_t a, uint32_t b) { return b ? crt_divisor(b, a % b) : a; }
template <int n> constexpr crt_tables<n> crt_make_tables() {
  constexpr int words = RM_CRT_WORDS<n>;
  crt_tables<n> t = {};
  int count = 0;
  for (uint32_t p = 256; count < n; p--) {
    bool apart = true;
    for (int j = 0; j < count; j++) apart = apart && crt_divisor(p, t.modulus[j]) == 1;
    if (apart) t.modulus[count++] = p;
  }
  for (int i = 0; i <= n; i++) { /* the last is the product of all */
    uint32_t w[words] = {1};
    for (int j = 0; j < n; j++) {
      uint64_t carry = 0;
      for (int k = 0; k < words && j != i; k++) {
        carry += static_cast<uint64_t>(w[k]) * t.modulus[j];
        w[k] = static_cast<uint32_t>(carry), carry >>= 32;
      }
    }
    for (int k = 0; k < words; k++) (i < n ? t.part[i] : t.product)[k] = w[k];
  }
  for (int i = 0; i < n; i++) {
    const uint32_t p = t.modulus[i];
    uint64_t rest = 0;
    for (int k = words - 1; k >= 0; k--) rest = ((rest << 32) + t.part[i][k]) % p;
    while (t.inverse[i] * rest % p != 1) t.inverse[i]++;
    t.power[i][0] = 1;
    for (int k = 1; k < RM_CRT_POWERS; k++) t.power[i][k] = 2 * t.power[i][k - 1] % p;
  }
  return t;
}
template <int n> constexpr crt_tables<n> RM_CRT = crt_make_tables<n>();
template <int n> constexpr int crt_log() {
  int bit = 32 * RM_CRT_WORDS<n> - 1;
  while (!(RM_CRT<n>.product[bit / 32] >> bit % 32 & 1)) bit--;
  return bit;
}
static_assert(crt_log<22>() == 170 && crt_log<13>() == 102 && crt_log<8>() == 63, "the bits above");

/* The bits of integers for sums of k terms: k 2^(2 bits) <= 2^(LOG - 2). */
template <int n> int crt_bits(int64_t k) {
  static_assert(n <= 22 && crt_log<n>() + 5 < 32 * RM_CRT_WORDS < n > -1, "sums of up to 22 numbers below P have a sign");
  int log = 0;
  while (INT64_C(1) << log < k) log++;
  return (crt_log<n>() - 2 - log) / 2;
}

/* A row of A, or a column of B: its numbers are integers times 2^exponent, `sum` the sum of these integers' magnitudes. */
enum { RM_CRT_INEXACT = 1, RM_CRT_ZERO = 2, RM_CRT_UNUSABLE = 4 }; /* ... what is not finite, or has no normal number */
struct crt_vector {
  double sum;
  int exponent, state;
};

/* One factor, whose vectors from `first` on are taken. */
struct crt_side {
  bool of_b;
  int64_t first, count, padded; /* vectors, up to a multiple of T */
  int64_t pitch; /* terms, up to a multiple of DEPTH */
  int8_t *residues; /* of each modulus, vector and term */
  crt_vector *vectors;
};

/* |x| as M 2^shift in units of 2^exponent, M an integer below 2^53 and 0 <= shift. */
__device__ inline uint64_t crt_integer(uint64_t bits, int exponent, int *shift, int *state) {
  const int field = static_cast<int>(bits >> 52 & 0x7ff);
  uint64_t m = bits & 0xfffffffffffffu;
  if (field) m |= UINT64_C(1) << 52;
  const int s = (field ? field : 1) - 1075 - exponent;
  *shift = s > 0 ? s : 0;
  if (s >= 0) return m;
  if (s < -60) {
    if (m) *state |= RM_CRT_INEXACT;
    return 0;
  }
  if (m << (64 + s)) *state |= RM_CRT_INEXACT;
  return (m + (UINT64_C(1) << (-s - 1))) >> -s;
}

/* All threads of a block scale and divide a vector. */
template <int fmt>
__global__ void __launch_bounds__(RM_CRT_ROW_THREADS)
    crt_residues_kernel(const __grid_constant__ device_problem d,
                        const __grid_constant__ crt_tables<RM_CRT_MODULI<fmt>> tables, crt_side s, int64_t which, int bits) {
  __shared__ uint64_t tops[RM_CRT_ROW_THREADS];
  __shared__ double sums[RM_CRT_ROW_THREADS];
  __shared__ int states[RM_CRT_ROW_THREADS];
  const int t = static_cast<int>(threadIdx.x);
  const rm_matmul_problem p = problem_of(d, which);
  const rm_operand &o = s.of_b ? p.b : p.a;
  const bool is_aligned = s.of_b ? d.b_aligned : d.a_aligned;
  for (int64_t v = blockIdx.x; v < s.padded; v += gridDim.x) {
    const int64_t terms = v < s.count ? p.k : 0;
    const char *const base = o.base + (s.first + v) * o.row_stride;
    auto load = [&](int64_t k) { return rm_bits64(read<fmt>(base + k * o.k_stride, is_aligned)); };
    uint64_t top = 0;
    for (int64_t k = t; k < terms; k += RM_CRT_ROW_THREADS) {
      const uint64_t size = load(k) & ~(UINT64_C(1) << 63);
      if (size > top) top = size;
    }
    __syncthreads(); /* nobody reads the vector before any more */
    tops[t] = top;
    for (int half = RM_CRT_ROW_THREADS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half && tops[t + half] > tops[t]) tops[t] = tops[t + half];
    }
    __syncthreads();
    top = tops[0];
    const int field = static_cast<int>(top >> 52), exponent = field - 1022 - bits; /* the largest is below 2^(field - 1022) */
    int state = top == 0 ? RM_CRT_ZERO : field == 0 || field == 0x7ff ? RM_CRT_UNUSABLE : 0;
    const bool usable = !(state & RM_CRT_UNUSABLE);
    double sum = 0.0;
    for (int64_t k = t; k < s.pitch; k += RM_CRT_ROW_THREADS) {
      const uint64_t x = k < terms && usable ? load(k) : 0;
      int shift;
      const uint64_t m = crt_integer(x, exponent, &shift, &state);
      const uint32_t high = static_cast<uint32_t>(m >> 27), low = static_cast<uint32_t>(m) & 0x7ffffff;
      sum += static_cast<double>(m) * static_cast<double>(UINT64_C(1) << shift);
      for (int i = 0; i < RM_CRT_MODULI<fmt>; i++) {
        const uint32_t n = tables.modulus[i];
        uint32_t r = (high % n * tables.power[i][27] + low % n) % n * tables.power[i][shift] % n;
        if (x >> 63 && r) r = n - r;
        const int centred = static_cast<int>(r) - (2 * r >= n ? static_cast<int>(n) : 0);
        s.residues[(i * s.padded + v) * s.pitch + k] = static_cast<int8_t>(centred);
      }
    }
    sums[t] = sum, states[t] = state;
    for (int half = RM_CRT_ROW_THREADS / 2; half > 0; half /= 2) {
      __syncthreads();
      if (t < half) sums[t] += sums[t + half], states[t] |= states[t + half];
    }
    if (t == 0 && v < s.count) s.vectors[v] = crt_vector{sums[0], exponent, states[0]};
  }
}

#if !defined(RM_CFG_EMULATE_DEVICE)
/* c += A B of integers of 8 bits, 16 x 32 times 32 x 8, by a warp. */
__device__ inline void multiply_s8(int (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if RM_HAS_MMA
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
#endif

struct alignas(16) crt_word {
  uint32_t w[4];
};
struct alignas(16) crt_memory {
  int8_t a[RM_CRT_T * RM_CRT_PITCH], b[RM_CRT_T * RM_CRT_PITCH];
};
/* A block's part of a factor: T vectors of DEPTH terms. */
__device__ inline void crt_load(int8_t *to, const int8_t *from, int64_t pitch) {
  for (int q = 0; q < RM_CRT_LOADS; q++) {
    const int at = q * RM_CRT_THREADS + static_cast<int>(threadIdx.x), row = at / (RM_CRT_DEPTH / 16);
    const int col = at % (RM_CRT_DEPTH / 16) * 16;
    *reinterpret_cast<crt_word *>(to + row * RM_CRT_PITCH + col) =
        *reinterpret_cast<const crt_word *>(from + row * pitch + col);
  }
}
__device__ inline uint32_t crt_word_at(const int8_t *x, int row, int col) {
  return *reinterpret_cast<const uint32_t *>(x + row * RM_CRT_PITCH + col);
}

/* Residues of the products of all vectors, T x T of them and one modulus by each block. */
template <int moduli>
__global__ void __launch_bounds__(RM_CRT_THREADS)
    crt_products_kernel(const __grid_constant__ crt_tables<moduli> tables, crt_side a, crt_side b, uint8_t *out) {
  __shared__ crt_memory x;
  const int64_t rows = a.padded / RM_CRT_T, cols = b.padded / RM_CRT_T, tiles = rows * cols;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int group = lane / 4, turn = lane % 4, row0 = warp / 2 * 32, col0 = warp % 2 * 32;
  for (int64_t index = blockIdx.x; index < tiles * moduli; index += gridDim.x) {
    const int64_t i = index / tiles, row = index % tiles / cols * RM_CRT_T, col = index % cols * RM_CRT_T;
    const int8_t *const from_a = a.residues + (i * a.padded + row) * a.pitch;
    const int8_t *const from_b = b.residues + (i * b.padded + col) * b.pitch;
    int sum[2][4][4] = {};
    for (int64_t k0 = 0; k0 < a.pitch; k0 += RM_CRT_DEPTH) {
      __syncthreads(); /* nobody reads the terms before any more */
      crt_load(x.a, from_a + k0, a.pitch);
      crt_load(x.b, from_b + k0, b.pitch);
      __syncthreads();
      for (int k = 4 * turn; k < RM_CRT_DEPTH; k += 32) {
        uint32_t left[2][4], right[4][2];
        for (int e = 0; e < 8; e++)
          left[e / 4][e % 4] = crt_word_at(x.a, row0 + e / 4 * 16 + e % 2 * 8 + group, k + e % 4 / 2 * 16);
        for (int e = 0; e < 8; e++) right[e / 2][e % 2] = crt_word_at(x.b, col0 + e / 2 * 8 + group, k + e % 2 * 16);
        for (int h = 0; h < 2; h++)
          for (int j = 0; j < 4; j++) multiply_s8(sum[h][j], left[h], right[j]);
      }
    }
    const int n = static_cast<int>(tables.modulus[i]);
    for (int e = 0; e < 32; e++) {
      const int h = e / 16, j = e / 4 % 4, r = row0 + h * 16 + e % 4 / 2 * 8 + group, c = col0 + j * 8 + 2 * turn + e % 2;
      const int rest = sum[h][j][e % 4] % n;
      out[(i * a.padded + row + r) * b.padded + col + c] = static_cast<uint8_t>(rest < 0 ? rest + n : rest);
    }
  }
}

/* The number in (-P/2, P/2] with these residues, `apart` from each other: its magnitude. Returns whether it is negative. */
template <int moduli>
__device__ bool crt_number(const crt_tables<moduli> &tables, const uint8_t *residue, int64_t apart,
                           uint32_t (&w)[RM_CRT_WORDS<moduli>]) {
  constexpr int words = RM_CRT_WORDS<moduli>;
  uint64_t column[words] = {};
  double whole = 0.0;
  for (int i = 0; i < moduli; i++) {
    const uint32_t t = residue[i * apart] * tables.inverse[i] % tables.modulus[i];
    whole += static_cast<double>(t) / static_cast<double>(tables.modulus[i]);
    for (int k = 0; k < words; k++) column[k] += static_cast<uint64_t>(t) * tables.part[i][k];
  }
  const uint32_t q = static_cast<uint32_t>(whole + 0.5);
  uint64_t carry = 0, borrow = 0;
  for (int k = 0; k < words; k++) {
    carry += column[k];
    borrow += static_cast<uint64_t>(q) * tables.product[k];
    const uint64_t difference = (carry & 0xffffffffu) - (borrow & 0xffffffffu);
    w[k] = static_cast<uint32_t>(difference);
    carry >>= 32, borrow = (borrow >> 32) + (difference >> 63);
  }
  const bool negative = w[words - 1] >> 31;
  uint64_t one = negative;
  for (int k = 0; k < words && negative; k++)
    one += static_cast<uint32_t>(~w[k]), w[k] = static_cast<uint32_t>(one), one >>= 32;
  return negative;
}

/* The 53 bits of w from `from` on, a place that may be below its lowest bit. */
template <int words> __device__ uint64_t crt_bits_from(const uint32_t (&w)[words], int from) {
  uint64_t found = 0;
  for (int k = 0; k < words; k++) {
    const int at = 32 * k - from;
    if (at > -32 && at < 53) found |= at < 0 ? w[k] >> -at : static_cast<uint64_t>(w[k]) << at;
  }
  return found & ((UINT64_C(1) << 53) - 1);
}

/* A sum of products as a pair with an error bound. false: it is beyond what has bounds here. zero: it is 0, and exact. */
struct crt_sum {
  rm_pair v;
  double err;
  bool zero;
};
template <int moduli>
__device__ bool crt_sum_of(const crt_tables<moduli> &tables, const uint8_t *residue, int64_t apart, const crt_vector &row,
                           const crt_vector &col, int64_t k, crt_sum *s) {
  constexpr int words = RM_CRT_WORDS<moduli>;
  *s = crt_sum{{0.0, 0.0}, 0.0, true};
  if ((row.state | col.state) & RM_CRT_UNUSABLE) return false;
  if ((row.state | col.state) & RM_CRT_ZERO) return true;
  uint32_t w[words];
  const bool negative = crt_number(tables, residue, apart, w), in_a = row.state & RM_CRT_INEXACT,
             in_b = col.state & RM_CRT_INEXACT;
  int length = 32 * words;
  while (length > 0 && !(w[(length - 1) / 32] >> (length - 1) % 32 & 1)) length--;
  if (length == 0) return !in_a && !in_b;
  const int exponent = row.exponent + col.exponent, low = length - 106;
  if (exponent < -900 || exponent > 900 || length + exponent < -800 || length + exponent > 1000) return false;
  const double sign = negative ? -1.0 : 1.0;
  s->v = rm_pair_two_sum(sign * static_cast<double>(crt_bits_from(w, low + 53)) * rm_pow2(low + 53 + exponent),
                         sign * static_cast<double>(crt_bits_from(w, low)) * rm_pow2(low + exponent));
  double units = 0.0;
  if (in_b) units += 0.5 * row.sum;
  if (in_a) units += 0.5 * col.sum;
  if (in_a && in_b) units += 0.25 * static_cast<double>(k);
  bool more = false;
  for (int bit = 0; bit < low && !more; bit++) more = w[bit / 32] >> bit % 32 & 1;
  s->err = RM_BOUND(1.0001 * units * rm_pow2(exponent) + (more ? rm_pow2(low + exponent) : 0.0));
  s->zero = false;
  return true;
}

} // namespace

#endif
