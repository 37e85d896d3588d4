/* The loops of the random rounding modes, compiled once per ISA. */
#include "../common/rounding_vector.h"
#include "formula.h"
#include "kernels.h"

/* At most RM_WORDS_CHUNK values and their words, rounded to neighbours in memory. The last vector takes copies. */
RM_FN int64_t round_chunk(const double *middle, const double *radius, int64_t n, const rm_words_chunk *words, int mode,
                          char *out, uint8_t *undecided, uint32_t *flags, const int fmt) {
  const int size = rm_size_of(fmt);
  int64_t open = 0;
  for (int64_t i = 0; i < n; i += RM_LANES) {
    const int lanes = n - i < RM_LANES ? (int)(n - i) : RM_LANES;
    const double *m = middle + i, *s = radius ? radius + i : 0;
    double copy[2][RM_LANES];
    char result[8 * RM_LANES], *const at = out + i * size;
    if (lanes < RM_LANES) {
      for (int l = 0; l < RM_LANES; l++) copy[0][l] = l < lanes ? m[l] : 0.0, copy[1][l] = s && l < lanes ? s[l] : 0.0;
      m = copy[0], s = s ? copy[1] : 0;
    }
    const vf64 c = vf64_load(m), r = s ? vf64_load(s) : vf64_set1(0.0);
    vf64 y;
    const uint32_t left = vm64_bits(rm_round_ball_vector(c, r, vi64_load(words->add + i), fmt, &y)) & ((1u << lanes) - 1);
    rm_store_elements(lanes < RM_LANES ? result : at, y, fmt);
    if (lanes < RM_LANES) __builtin_memcpy(at, result, (size_t)(lanes * size));
    for (int l = 0; l < lanes; l++) undecided[i + l] = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      double v[RM_LANES], e[RM_LANES];
      uint64_t bits = 0;
      vf64_store(v, c), vf64_store(e, r);
      const int unknown = rm_round_within(v[l], e[l], fmt, rm_random_mode(mode, rm_chunk_word(words, i + l)), &bits, flags);
      rm_write_bits(at + l * size, unknown ? 0 : bits, fmt);
      undecided[i + l] = (uint8_t)unknown;
      open += unknown;
    }
  }
  return open;
}

/* The words of a chunk of elements [at, end), and how many it has. */
RM_FN int64_t chunk_of(rm_words_chunk *words, const rm_random_rounding *r, int64_t at, int64_t end, const int fmt) {
  const int64_t n = end - at < RM_WORDS_CHUNK ? end - at : RM_WORDS_CHUNK;
  rm_words_fill(words, r->seed, r->stream, r->first + at, n);
  rm_words_addends(words, n, r->mode == RM_ROUND_STOCHASTIC, 53 - rm_precision(fmt));
  return n;
}

RM_FN int64_t balls_as(const rm_balls *p, int64_t begin, int64_t end, uint32_t *flags, const int fmt) {
  rm_words_chunk words;
  double plain[RM_WORDS_CHUNK];
  int64_t open = 0;
  for (int64_t at = begin; at < end; at += RM_WORDS_CHUNK) {
    const int64_t n = chunk_of(&words, p->r, at, end, fmt);
    for (int64_t i = 0; i < n; i++) plain[i] = p->middle[at + i] + 0.0; /* -0 becomes +0 */
    open += round_chunk(plain, p->radius ? p->radius + at : 0, n, &words, p->r->mode, p->out + at * rm_size_of(fmt),
                        p->undecided + at, flags, fmt);
  }
  return open;
}

static int64_t balls(const rm_balls *p, int64_t begin, int64_t end, uint32_t *flags) {
  switch (p->format) {
    case RM_FORMAT_F16: return balls_as(p, begin, end, flags, RM_F16);
    case RM_FORMAT_BF16: return balls_as(p, begin, end, flags, RM_BF16);
    default: return balls_as(p, begin, end, flags, RM_F32);
  }
}

/* --- elementwise functions and formulas */

/* An array's elements [at, at + n) in binary64. */
static void widen(const rm_random_array *x, int64_t at, int64_t n, double *out) {
  const int fmt = x->format;
  const char *p = x->base + at * x->stride;
  int64_t i = 0;
  if (x->stride == 0) {
    const double v = rm_read_element(p, fmt);
    for (; i < n; i++) out[i] = v;
  } else if (x->stride == rm_size_of(fmt)) {
    for (; i + RM_LANES <= n; i += RM_LANES) vf64_store(out + i, rm_load_elements(p + i * x->stride, fmt));
  }
  for (; i < n; i++) out[i] = rm_read_element(p + i * x->stride, fmt);
}

/* Evaluates vectors: v[k] + i are the arguments. */
#define RM_EACH_VECTOR(expression)                          \
  for (int64_t i = 0; i < n; i += RM_LANES) {               \
    const rm_vball x = rm_vball_exact(vf64_load(v[0] + i)); \
    const rm_vball y = rm_vball_exact(vf64_load(v[1] + i)); \
    const rm_vball z = rm_vball_exact(vf64_load(v[2] + i)); \
    const rm_vball a = rm_vball_exact(vf64_load(v[3] + i)); \
    (void)y, (void)z, (void)a;                              \
    const rm_vball result = expression;                     \
    vf64_store(middle + i, result.m);                       \
    vf64_store(radius + i, result.r);                       \
  }

/* n is padded to whole vectors; the pads of the arguments are ones. */
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
      ptrdiff_t stride[RM_MAX_ARITY];
      for (int k = 0; k < RM_MAX_ARITY; k++) x[k] = (const char *)v[k], stride[k] = 8;
      *ignored |= p->map(n, x, stride, (char *)middle, 8);
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

RM_FN int64_t elements_as(const rm_random_elements *p, int64_t begin, int64_t end, uint32_t *flags, const int fmt) {
  const int size = rm_size_of(fmt);
  rm_words_chunk words;
  double v[RM_RANDOM_ARRAYS][RM_WORDS_CHUNK + RM_LANES], middle[RM_WORDS_CHUNK + RM_LANES], radius[RM_WORDS_CHUNK + RM_LANES];
  char result[4 * RM_WORDS_CHUNK];
  uint8_t undecided[RM_WORDS_CHUNK];
  int64_t open = 0;
  for (int64_t at = begin; at < end; at += RM_WORDS_CHUNK) {
    const int64_t n = chunk_of(&words, p->r, at, end, fmt), whole = (n + RM_LANES - 1) / RM_LANES * RM_LANES;
    uint32_t ignored = 0;
    for (int k = 0; k < RM_RANDOM_ARRAYS; k++) {
      if (p->x[k].base) widen(&p->x[k], at, n, v[k]);
      for (int64_t i = p->x[k].base ? n : 0; i < whole; i++) v[k][i] = 1.0;
    }
    evaluate(p, v, whole, middle, radius, &ignored);
    if (p->plus_zero)
      for (int64_t i = 0; i < n; i++) middle[i] += 0.0; /* -0 becomes +0 */
    int64_t left = round_chunk(middle, radius, n, &words, p->r->mode, result, undecided, flags, fmt);
    for (int64_t i = 0; left && i < n; i++)
      if (undecided[i]) {
        left--;
        open += !p->rest;
        if (p->rest) rm_write_bits(result + i * size, p->rest(p, at + i, words.word[i], flags), fmt);
      }
    if (p->stride_out == size) __builtin_memcpy(p->out + at * size, result, (size_t)(n * size));
    else
      for (int64_t i = 0; i < n; i++) __builtin_memcpy(p->out + (at + i) * p->stride_out, result + i * size, (size_t)size);
  }
  return open;
}

static int64_t elements(const rm_random_elements *p, int64_t begin, int64_t end, uint32_t *flags) {
  switch (p->format) {
    case RM_FORMAT_F16: return elements_as(p, begin, end, flags, RM_F16);
    case RM_FORMAT_BF16: return elements_as(p, begin, end, flags, RM_BF16);
    default: return elements_as(p, begin, end, flags, RM_F32);
  }
}

static void fill(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out) {
  rm_words_chunk words;
  for (int64_t at = 0; at < n; at += RM_WORDS_CHUNK) {
    const int64_t count = n - at < RM_WORDS_CHUNK ? n - at : RM_WORDS_CHUNK;
    rm_words_fill(&words, seed, stream, first + at, count);
    __builtin_memcpy(out + at, words.word, (size_t)count * 4);
  }
}

const struct rm_rounding_kernels RM_ISA_SYMBOL(rm_rounding_table) = {balls, elements, fill};
