/* The loops of the random rounding modes, compiled once per ISA. */
#include "../common/rounding_vector.h"
#include "formula.h"
#include "kernels.h"

/* How results of a chunk are rounded. */
typedef struct {
  const uint32_t *word; /* of the first of them */
  int mode, fmt;
} rounding;

/* At most RM_WORDS_CHUNK values, whole vectors of them in memory, rounded to neighbours in memory, whole vectors too. */
static int64_t round_chunk(const double *middle, const double *radius, int64_t n, const rounding *how, char *out,
                           uint8_t *undecided, uint32_t *flags) {
  const int mode = how->mode, fmt = how->fmt;
  const int size = rm_size_of(fmt);
  int64_t open = 0;
  __builtin_memset(undecided, 0, (size_t)n);
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const int lanes = n - i < RM_LANES ? (int)(n - i) : RM_LANES;
    const vf64 c = vf64_load(middle + i), r = vf64_load(radius + i);
    vf64 y;
    const vi64 add = rm_addends(rm_words_vector(how->word + i), mode == RM_ROUND_STOCHASTIC, 53 - rm_precision(fmt));
    const uint32_t left = vm64_bits(rm_round_ball_vector(c, r, add, fmt, &y)) & ((1u << lanes) - 1);
    rm_store_elements(out + i * size, y, fmt);
    for (uint32_t rest = left; rest; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      uint64_t bits = 0;
      uint32_t word;
      __builtin_memcpy(&word, how->word + i + l, sizeof word);
      const int unknown = rm_round_within(middle[i + l], radius[i + l], fmt, rm_random_mode(mode, word), &bits, flags);
      rm_write_bits(out + (i + l) * size, unknown ? 0 : bits, fmt);
      undecided[i + l] = (uint8_t)unknown;
      open += unknown;
    }
  }
  return open;
}

/* The words of a chunk of elements [at, end), and how many it has. */
RM_FN int64_t chunk_of(rm_words_chunk *words, const rm_random_rounding *r, int64_t at, int64_t end) {
  const int64_t n = end - at < RM_WORDS_CHUNK ? end - at : RM_WORDS_CHUNK;
  rm_words_fill(words, r->seed, r->stream, r->first + at, n);
  return n;
}

/* Under the modes of IEEE 754, whose addends depend on signs: one by one. */
static int64_t balls_directed(const rm_balls *p, int64_t begin, int64_t end, uint32_t *flags) {
  const rm_mode mode = rm_rounding_mode(p->r->mode, 0);
  int64_t open = 0;
  for (int64_t i = begin; i < end; i++) {
    uint64_t bits = 0;
    const int left = rm_round_within(p->middle[i], p->radius ? p->radius[i] : 0.0, p->format, mode, &bits, flags);
    rm_write_bits(p->out + i * rm_size_of(p->format), left ? 0 : bits, p->format);
    p->undecided[i] = (uint8_t)left;
    open += left;
  }
  return open;
}

static int64_t balls(const rm_balls *p, int64_t begin, int64_t end, uint32_t *flags) {
  if (rm_is_directed(p->r->mode)) return balls_directed(p, begin, end, flags);
  const int size = rm_size_of(p->format);
  rm_words_chunk words;
  double middle[RM_WORDS_CHUNK + RM_LANES], radius[RM_WORDS_CHUNK + RM_LANES];
  char result[4 * (RM_WORDS_CHUNK + RM_LANES)];
  int64_t open = 0;
  for (int64_t i = 0; i < RM_WORDS_CHUNK + RM_LANES; i++) middle[i] = radius[i] = 0.0;
  for (int64_t at = begin; at < end; at += RM_WORDS_CHUNK) {
    const int64_t n = chunk_of(&words, p->r, at, end);
    for (int64_t i = 0; i < n; i++) middle[i] = p->middle[at + i] + 0.0; /* -0 becomes +0 */
    if (p->radius) __builtin_memcpy(radius, p->radius + at, (size_t)n * sizeof *radius);
    const rounding how = {words.word, p->r->mode, p->format};
    open += round_chunk(middle, radius, n, &how, result, p->undecided + at, flags);
    __builtin_memcpy(p->out + at * size, result, (size_t)(n * size));
  }
  return open;
}

/* --- elementwise functions and formulas */

/* An array's elements [at, at + n) in binary64, then ones up to a whole vector. */
static void widen(const rm_random_array *x, int64_t at, int64_t n, double *out) {
  const int fmt = x->format;
  const char *p = x->base + at * x->stride;
  int64_t i = 0;
  if (x->stride == 0) {
    const vf64 v = vf64_set1(rm_read_element(p, fmt));
    for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(out + i, v);
  } else if (x->stride == rm_size_of(fmt)) {
    for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(out + i, rm_load_elements(p + i * x->stride, fmt));
  }
  for (; i < n; i++) out[i] = rm_read_element(p + i * x->stride, fmt);
  for (; i % RM_LANES; i++) out[i] = 1.0;
}

/* Evaluates vectors: v[k] + i are the arguments. */
#define RM_EACH_VECTOR(expression)                          \
  for (int64_t i = 0; i < n; i += RM_LANES) {               \
    const rm_vball x = rm_vball_exact(vf64_load(v[0] + i)); \
    const rm_vball y = rm_vball_exact(vf64_load(v[1] + i)); \
    const rm_vball z = rm_vball_exact(vf64_load(v[2] + i)); \
    const rm_vball a = rm_vball_exact(vf64_load(v[3] + i)); \
    (void)x, (void)y, (void)z, (void)a;                     \
    const rm_vball result = expression;                     \
    vf64_store(middle + i, result.m);                       \
    vf64_store(radius + i, result.r);                       \
  }

/* n is padded to whole vectors; the pads of the arguments are ones. Arrays that a formula has not hold anything. */
static void evaluate(const rm_random_elements *p, double (*v)[RM_WORDS_CHUNK + RM_LANES], int64_t n, double *middle,
                     double *radius, uint32_t *ignored) {
  const rm_vball one = rm_vball_exact(vf64_set1(1.0));
  switch (p->formula) {
    case RM_BALL_ADD: RM_EACH_VECTOR(rm_vball_add(x, y)); break;
    case RM_BALL_SUBTRACT: RM_EACH_VECTOR(rm_vball_subtract(x, y)); break;
    case RM_BALL_MULTIPLY: RM_EACH_VECTOR(rm_vball_multiply(x, y)); break;
    case RM_BALL_DIVIDE: RM_EACH_VECTOR(rm_vball_divide(x, y.m)); break;
    case RM_BALL_ROOT: RM_EACH_VECTOR(rm_vball_root(x.m)); break;
    case RM_BALL_FMA: RM_EACH_VECTOR(rm_vball_add(rm_vball_multiply(x, y), z)); break;
    case RM_FORMULA_SCALED: RM_EACH_VECTOR(rm_vball_multiply(a, x)); break;
    case RM_FORMULA_OVER: RM_EACH_VECTOR(rm_vball_divide(x, a.m)); break;
    case RM_FORMULA_UNDER: RM_EACH_VECTOR(rm_vball_divide(a, x.m)); break;
    case RM_FORMULA_ADDED: RM_EACH_VECTOR(rm_vball_add(x, a)); break;
    case RM_FORMULA_PLUS: RM_EACH_VECTOR(rm_vball_add(x, rm_vball_multiply(a, y))); break;
    case RM_FORMULA_BETWEEN: RM_EACH_VECTOR(rm_vball_add(x, rm_vball_multiply(a, rm_vball_subtract(y, x)))); break;
    case RM_FORMULA_PRODUCT: RM_EACH_VECTOR(rm_vball_add(x, rm_vball_multiply(a, rm_vball_multiply(y, z)))); break;
    case RM_FORMULA_QUOTIENT: RM_EACH_VECTOR(rm_vball_add(x, rm_vball_divide(rm_vball_multiply(a, y), z.m))); break;
    case RM_FORMULA_TANH: RM_EACH_VECTOR(rm_vball_multiply(x, rm_vball_subtract(one, rm_vball_multiply(y, y)))); break;
    case RM_FORMULA_SIGMOID: RM_EACH_VECTOR(rm_vball_multiply(rm_vball_multiply(x, y), rm_vball_subtract(one, y))); break;
    default: {
      const char *x[RM_MAX_ARITY];
      for (int k = 0; k < RM_MAX_ARITY; k++) x[k] = (const char *)v[k];
      *ignored |= p->map(n, x, (char *)middle);
      const int stochastic = p->r->mode == RM_ROUND_STOCHASTIC;
      for (int64_t i = 0; i < n; i += RM_LANES) {
        const vf64 c = vf64_load(middle + i), zero = vf64_set1(0.0);
        /* What rounds to 0 is below each threshold of stochastic rounding: the least is 2^-34 of a quantum. */
        const vf64 r = rm_half_place(c);
        vf64_store(radius + i, stochastic ? vf64_select(vf64_eq(c, zero), zero, r) : r);
      }
    }
  }
}

/* Elements [at, at + n) of a chunk, whose words begin at `first`: balls, and what these leave. The result may be an
 * argument. */
static int64_t by_balls(const rm_random_elements *p, int64_t at, int64_t n, const rm_words_chunk *words, int64_t first,
                        char *result, uint32_t *flags) {
  const int fmt = p->format, size = rm_size_of(fmt);
  const int64_t whole = (n + RM_LANES - 1) / RM_LANES * RM_LANES;
  double v[RM_RANDOM_ARRAYS][RM_WORDS_CHUNK + RM_LANES], middle[RM_WORDS_CHUNK + RM_LANES], radius[RM_WORDS_CHUNK + RM_LANES];
  char made[4 * (RM_WORDS_CHUNK + RM_LANES)];
  uint8_t undecided[RM_WORDS_CHUNK];
  uint32_t ignored = 0;
  int64_t open = 0;
  for (int k = 0; k < RM_RANDOM_ARRAYS; k++)
    if (p->x[k].base) widen(&p->x[k], at, n, v[k]);
  evaluate(p, v, whole, middle, radius, &ignored);
  if (p->plus_zero)
    for (int64_t i = 0; i < n; i += RM_LANES) /* -0 becomes +0 */
      vf64_store(middle + i, vf64_add(vf64_load(middle + i), vf64_set1(0.0)));
  const rounding how = {words->word + first, p->r->mode, fmt};
  int64_t left = round_chunk(middle, radius, n, &how, made, undecided, flags);
  for (int64_t i = 0; left && i < n; i++)
    if (undecided[i]) {
      uint64_t bits;
      left--;
      open += !p->rest;
      if (p->rest && p->rest(p, at + i, rm_chunk_word(words, first + i), flags, &bits))
        rm_write_bits(made + i * size, bits, fmt);
      else if (p->rest) __builtin_memcpy(made + i * size, result + i * size, (size_t)size);
    }
  __builtin_memcpy(result, made, (size_t)(n * size));
  return open;
}

/* Operations that are x y + z, whose arguments are these arrays or constants: 1, -1 or -0, which as z changes no product. */
typedef struct {
  rm_random_array x, y, z;
} quick;

static const double constants[] = {1.0, -1.0, -0.0};
static const char *const nothing = (const char *)(constants + 2);
static rm_random_array constant(int which) { return (rm_random_array){(const char *)(constants + which), 0, RM_FORMAT_F64}; }

/* Whether products of it and a number of 24 bits are exact in binary64. */
static int is_short(const rm_random_array *a) {
  const double v = rm_read_element(a->base, a->format), size = v < 0.0 ? -v : v;
  return (rm_bits64(v) & 0xffffff) == 0 && size >= 0x1p-500 && size <= 0x1p500;
}

static int is_quick(const rm_random_elements *p, quick *q) {
  const rm_random_array *x = p->x;
  switch (p->formula) {
    case RM_BALL_ADD: *q = (quick){x[0], constant(0), x[1]}; break;
    case RM_BALL_SUBTRACT: *q = (quick){x[1], constant(1), x[0]}; break;
    case RM_BALL_MULTIPLY: *q = (quick){x[0], x[1], constant(2)}; break;
    case RM_FORMULA_SCALED: *q = (quick){x[0], x[3], constant(2)}; break;
    case RM_FORMULA_PLUS: *q = (quick){x[1], x[3], x[0]}; break;
    default: return 0;
  }
  const rm_random_array *const each[] = {&q->x, &q->y, &q->z};
  for (int k = 0; k < 3; k++)
    if (each[k]->stride && each[k]->stride != rm_size_of(each[k]->format)) return 0;
  return q->y.format != RM_FORMAT_F64 || q->y.stride || is_short(&q->y);
}

static vf64 same_number(const rm_random_array *x) { return vf64_set1(x->stride ? 0.0 : rm_read_element(x->base, x->format)); }

/* Where the elements of an array lie from element `at` on, and how far a vector is from the next: not at all where they are
 * one number, of which `same` then is a vector in the format fmt, which holds it. */
typedef struct {
  const char *at;
  ptrdiff_t step;
  char same[8 * RM_LANES];
} vectors;

RM_FN void vectors_of(vectors *v, const rm_random_array *x, int64_t at, const int fmt) {
  v->step = x->stride ? RM_LANES * rm_size_of(fmt) : 0;
  v->at = x->stride ? x->base + at * x->stride : v->same;
  if (!x->stride) rm_store_elements(v->same, same_number(x), fmt);
}

/* The elements [at, at + n) of a chunk that have x y + z in binary64, two vectors at a time: products of two numbers of at
 * most 24 bits, or is_short, are exact and far from its limits, and the two-sum says whether the sum is. So nothing but one
 * addition of R rounds an element among the normal numbers of the format, and a zero is that of binary64, or +0. Other pairs
 * of vectors are those of by_balls, and the rest of a chunk with many of them. Results are stored when it is known that they
 * stay, since they may lie where the arguments do. kind: of the bits below. */
enum { SUMS = 1 /* z is not -0, and y is one number */, BY_CHANCE = 2 /* the mode is the stochastic one */ };
RM_FN int64_t exactly(const rm_random_elements *p, const quick *q, int64_t at, int64_t n, const rm_words_chunk *words,
                      char *result, uint32_t *flags, const int fmt, const int kind) {
  enum { MANY = 6, PAIR = 2 * RM_LANES };
  const int size = rm_size_of(fmt), dropped = 53 - rm_precision(fmt), sums = kind & SUMS, stochastic = kind & BY_CHANCE;
  const vi64 kept = vi64_set1(-(INT64_C(1) << dropped)), least = vi64_set1((int64_t)(1023 + rm_emin(fmt)) << 52);
  const vi64 range = vi64_set1((int64_t)(rm_emax(fmt) - rm_emin(fmt)) << 52);
  const vf64 y0 = same_number(&q->y), zero = vf64_set1(0.0), sign = vf64_set1(p->plus_zero ? 0.0 : -0.0);
  const ptrdiff_t step_y = sums ? 0 : q->y.stride;
  const char *y = q->y.base + at * step_y;
  vectors x, z;
  vectors_of(&x, &q->x, at, fmt);
  if (sums) vectors_of(&z, &q->z, at, fmt);
  int64_t open = 0, i = 0;
  for (int many = 0; i + PAIR <= n && many < MANY; i += PAIR) {
    vf64 made[2];
    vm64 good[2];
    RM_UNROLL
    for (int half = 0; half < 2; half++) {
      vf64 lost = zero, c = vf64_mul(rm_load_elements(x.at, fmt), step_y ? rm_load_elements(y, fmt) : y0);
      if (sums) c = vf64_two_sum(c, rm_load_elements(z.at, fmt), &lost);
      const vi64 w = rm_words_vector(words->word + i + half * RM_LANES);
      const vi64 a = vi64_and(vi64_add(vf64_bits(c), rm_addends(w, stochastic, dropped)), kept);
      const vm64 none = vf64_eq(c, zero);
      const vm64 normal = vi64_ltu(vi64_sub(vf64_bits(vf64_abs(c)), least), range);
      made[half] = vf64_select(none, vf64_add(c, sign), vf64_from_bits(a));
      good[half] = vm64_or(normal, none);
      if (sums) good[half] = vm64_and(good[half], vf64_eq(lost, zero));
      x.at += x.step, y += RM_LANES * step_y;
      if (sums) z.at += z.step;
    }
    if (RM_LIKELY(vm64_none(vm64_not(vm64_and(good[0], good[1]))))) {
      rm_store_elements(result + i * size, made[0], fmt);
      rm_store_elements(result + (i + RM_LANES) * size, made[1], fmt);
    } else {
      many++;
      open += by_balls(p, at + i, PAIR, words, i, result + i * size, flags);
    }
  }
  return i < n ? open + by_balls(p, at + i, n - i, words, i, result + i * size, flags) : open;
}

#include "fused.inl"

static int64_t elements(const rm_random_elements *p, int64_t begin, int64_t end, uint32_t *flags) {
  const int size = rm_size_of(p->format), direct = p->stride_out == size;
  const int chance = p->r->mode == RM_ROUND_STOCHASTIC ? BY_CHANCE : 0;
  rm_words_chunk words;
  char buffer[4 * RM_WORDS_CHUNK];
  quick q;
  rm_fused_fn *const fused = rm_fused_of(p);
  const int is = !fused && is_quick(p, &q), f32 = p->format == RM_FORMAT_F32 && chance;
  int64_t open = 0;
  for (int64_t at = begin; at < end; at += RM_WORDS_CHUNK) {
    const int64_t n = chunk_of(&words, p->r, at, end);
    char *const out = p->out + at * p->stride_out, *const result = direct ? out : buffer;
    if (fused) open += fused(p, at, n, &words, result, flags);
    else if (!is) open += by_balls(p, at, n, &words, 0, result, flags);
    else if (!f32 && q.z.base == nothing) open += exactly(p, &q, at, n, &words, result, flags, p->format, chance);
    else if (!f32) open += exactly(p, &q, at, n, &words, result, flags, p->format, chance | SUMS);
    else if (q.z.base == nothing) open += exactly(p, &q, at, n, &words, result, flags, RM_F32, BY_CHANCE);
    else open += exactly(p, &q, at, n, &words, result, flags, RM_F32, BY_CHANCE | SUMS);
    for (int64_t i = 0; !direct && i < n; i++) __builtin_memcpy(out + i * p->stride_out, result + i * size, (size_t)size);
  }
  return open;
}

static void fill(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out) {
  rm_words_chunk words;
  for (int64_t at = 0; at < n; at += RM_WORDS_CHUNK) {
    const int64_t count = n - at < RM_WORDS_CHUNK ? n - at : RM_WORDS_CHUNK;
    rm_words_fill(&words, seed, stream, first + at, count);
    __builtin_memcpy(out + at, words.word, (size_t)count * 4);
  }
}

/* rm_round_up_down of a vector of binary32 numbers, of which `size` bytes are there. A mask is -1 or 0: a step is up or down
 * by the sign of the word, and a size below 1 or above the largest that has such a step stays. */
enum { STEPS = RM_LANES > 1 ? 2 * RM_LANES : 4 };
typedef uint32_t step_words __attribute__((vector_size(4 * STEPS)));
typedef int32_t step_masks __attribute__((vector_size(4 * STEPS)));

RM_FN void step_vector(char *x, const uint32_t *word, size_t size) {
  step_words bits = {0}, w;
  __builtin_memcpy(&bits, x, size);
  __builtin_memcpy(&w, word, sizeof w);
  const step_masks up = (step_masks)w < 0;
  const step_words last = (uint32_t)rm_infinity_bits(RM_F32) - 1 + (step_words)up;
  const step_masks moves = (bits & (uint32_t)(rm_sign_bit(RM_F32) - 1)) - 1 < last;
  bits += (step_words)(moves & (~up | 1));
  __builtin_memcpy(x, &bits, size);
}

static void steps(const rm_random_rounding *r, char *x, int64_t begin, int64_t end) {
  rm_words_chunk words;
  for (int64_t at = begin; at < end; at += RM_WORDS_CHUNK) {
    const int64_t n = chunk_of(&words, r, at, end);
    int64_t i = 0;
    for (; i + STEPS <= n; i += STEPS) step_vector(x + 4 * (at + i), words.word + i, 4 * STEPS);
    if (i < n) step_vector(x + 4 * (at + i), words.word + i, (size_t)(4 * (n - i)));
  }
}

/* --- sums in two parts: the bound is that of sums.c, whose additions these are, in chains that are joined at the end.
 * Products below 2^-900 may have a part of at most 2^-952 that is not seen: less than 2^-104 of a sum of 2^-700. A sum
 * without products of which no addition has a low part is exact. */

enum { CHAINS = 4 };

static void total(int64_t n, const double *x, const double *y, double *found) {
  vf64 high[CHAINS], low[CHAINS], size[CHAINS];
  vi64 seen = vi64_set1(0);
  double parts[3][CHAINS * RM_LANES], rest[2][CHAINS * RM_LANES];
  for (int c = 0; c < CHAINS; c++) high[c] = low[c] = size[c] = vf64_set1(0.0);
  for (int64_t i = 0; i < n; i += CHAINS * RM_LANES) {
    const double *u = x + i, *v = y ? y + i : NULL;
    if (n - i < CHAINS * RM_LANES) { /* with zeros, which add nothing */
      for (int k = 0; k < CHAINS * RM_LANES; k++)
        rest[0][k] = i + k < n ? x[i + k] : 0.0, rest[1][k] = v && i + k < n ? y[i + k] : 0.0;
      u = rest[0], v = v ? rest[1] : NULL;
    }
    RM_UNROLL
    for (int c = 0; c < CHAINS; c++) {
      vf64 a = vf64_load(u + c * RM_LANES), lost, error = vf64_set1(0.0);
      if (v) {
        const vf64 b = vf64_load(v + c * RM_LANES), p = vf64_mul(a, b);
        error = vf64_mul_err(a, b, p), a = p;
      }
      high[c] = vf64_two_sum(high[c], a, &lost);
      low[c] = vf64_add(low[c], vf64_add(lost, error));
      size[c] = vf64_add(size[c], vf64_abs(a));
      seen = vi64_or(seen, vf64_bits(lost));
    }
  }
  for (int c = 0; c < CHAINS; c++) {
    vf64_store(parts[0] + c * RM_LANES, high[c]);
    vf64_store(parts[1] + c * RM_LANES, low[c]);
    vf64_store(parts[2] + c * RM_LANES, size[c]);
  }
  double h = 0.0, l = 0.0, sum = 0.0, lost, spare;
  int parted = y || !vm64_none(vm64_not(vi64_disjoint(seen, vi64_set1(INT64_MAX))));
  for (int k = 0; k < CHAINS * RM_LANES; k++) {
    h = rm_two_sum(h, parts[0][k], &lost);
    l += lost + parts[1][k];
    parted |= lost != 0.0;
    sum += parts[2][k];
  }
  h = rm_two_sum(h, l, &spare);
  const double count = (double)n + 2.0 * CHAINS * RM_LANES;
  const int known = (sum == 0.0 && !y) || (sum >= 0x1p-700 && sum <= 0x1p1000 && n <= 1 << 24);
  found[0] = known ? h : 0.0, found[1] = known ? spare : 0.0;
  found[2] = known ? parted * count * count * 0x1p-104 * sum : rm_from_bits64(UINT64_C(0x7ff) << 52);
}

const struct rm_rounding_kernels RM_ISA_SYMBOL(rm_rounding_table) = {balls, elements, total, fill, steps};
