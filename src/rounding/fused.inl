/* Loops of binary32 under the stochastic mode that evaluate, round and store two vectors at a time, without arrays between.
 *
 * A value is within e of c, or within so many steps of it in the order of binary64 numbers. Both ends are moved by R, the
 * addend of the element's word (common/rounding_vector.h), and where they then agree but for the dropped bits, so does the
 * value. e includes what c - e and c + e round by, 2^-53 of c: they lie outside the ball. A relative error of d is at most
 * 2^53 d (1 + 2^-10) + 1 steps, since a step is 2^-53 of the number or more, and a number below a power of two is a whole
 * number of such steps away from it. Only the lower end has to be normal and below 2^127: results are at most that. Pairs of
 * vectors with another lane, one that is undecided among them, are those of by_balls, and so is the rest of a chunk with many
 * of them. Results are stored when it is known that they stay, since they may lie where the arguments do.
 *
 * Formulas take a number a of 0 or from 2^-700 to 2^700, so that no product underflows: others are those of by_balls. With
 * t = a y, or what else is added to x, and the errors of its at most three operations together below 2^-51 |t|:
 *   x + t is off by 2^-51 |t| + 2^-53 |c|, and 2^-50 (|t| + |c|) has room for the ends' and its own rounding.
 * Where that is 0, x and t are exact zeros. Quotients, roots and products without a sum have at most two roundings: four
 * steps. Sums of two numbers have one, and are 0 only where that is exact. */

#include "../../crlibm/exp/exp.h"
#include "../../crlibm/gelu/gelu.h"
#include "../../crlibm/log/log.h"
#include "../../crlibm/sigmoid/sigmoid.h"
#include "../../crlibm/silu/silu.h"
#include "../../crlibm/tanh/tanh.h"

typedef int64_t rm_fused_fn(const rm_random_elements *p, int64_t at, int64_t n, const rm_words_chunk *words, char *result,
                            uint32_t *flags);

/* Steps of a relative error, of at most two roundings, and what a sum may be off by, as a share of it and what is added. */
#define RM_FUSED_STEPS(error) ((int64_t)RM_BOUND((error) * 0x1p53 * (1.0 + 0x1p-10) + 2.0))
#define RM_FUSED_ROUNDED (int64_t)RM_BOUND(4.0)
#define RM_FUSED_SUM RM_BOUND(0x1p-50)

/* A value: within e of c where steps is 0. other: lanes that are left, if any are. */
typedef struct {
  vf64 c, e;
  vm64 other;
  int any;
} rm_fused_value;

RM_FN rm_fused_value rm_fused_near(vf64 c) { return (rm_fused_value){.c = c}; }
RM_FN rm_fused_value rm_fused_sum(vf64 x, vf64 t) {
  const vf64 c = vf64_add(x, t);
  return (rm_fused_value){.c = c, .e = vf64_mul(vf64_set1(RM_FUSED_SUM), vf64_add(vf64_abs(t), vf64_abs(c)))};
}

/* Whether an infinite c is the value, too: that of an argument, as masks have it. */
enum { RM_FUSED_INFINITE = 2 };

/* Rounds a vector: *y is the result in the lanes that are returned.
 *
 * With `steps` the ends are a = b - 2 steps and b = c + R + steps, R = 2^dropped - 1 - floor(w/8). They agree but for the
 * dropped bits unless a multiple of 2^dropped lies in (a, b]: where b is less than 2 steps above one. */
RM_FN vm64 rm_fused_round(const rm_fused_value *v, vi64 w, const int64_t steps, vf64 *y) {
  const int dropped = 53 - rm_precision(RM_F32);
  const int64_t unit = INT64_C(1) << dropped;
  const vi64 kept = vi64_set1(-unit);
  const vi64 least = vi64_set1(((int64_t)(1023 + rm_emin(RM_F32)) << 52) + steps);
  const vi64 range = vi64_set1(((int64_t)(rm_emax(RM_F32) - rm_emin(RM_F32)) << 52) - steps);
  const vf64 size = vf64_abs(v->c);
  vi64 low, b, rounded;
  vm64 differ;
  if (steps) { /* the sign's bit stays apart */
    low = vf64_bits(size);
    b = vi64_sub(vi64_add(vf64_bits(v->c), vi64_set1(unit - 1 + steps)), vi64_srl(w, 3));
    rounded = vi64_and(b, kept);
    differ = vi64_ltu(vi64_and(b, vi64_set1(unit - 1)), vi64_set1(2 * steps));
  } else {
    const vi64 add = rm_addends(w, 1, dropped);
    const vf64 high = vf64_add(size, v->e);
    low = vf64_bits(vf64_sub(size, v->e));
    const vi64 a = vi64_add(low, add);
    b = vi64_add(vf64_bits(high), add);
    rounded = vi64_or(vi64_and(a, kept), vi64_xor(vf64_bits(v->c), vf64_bits(size)));
    differ = vm64_not(vi64_disjoint(vi64_xor(a, b), kept));
  }
  const vm64 good = vm64_andnot(vi64_ltu(vi64_sub(low, least), range), differ);
  *y = vf64_from_bits(rounded);
  return v->any ? vm64_andnot(good, v->other) : good;
}

/* The same where some lanes are not `good`: those in which c = 0 is the value are, or an infinite one. */
RM_FN vm64 rm_fused_whole(const rm_fused_value *v, vf64 plus, const int64_t steps, const int zeros, vm64 good, vf64 *y) {
  const vf64 size = vf64_abs(v->c), zero = vf64_set1(0.0);
  vm64 whole = vf64_eq(steps ? size : vf64_add(size, v->e), zero);
  if (zeros == RM_FUSED_INFINITE) whole = vm64_or(whole, vf64_eq(size, vf64_from_bits(vi64_set1(INT64_C(0x7ff) << 52))));
  if (v->any) whole = vm64_andnot(whole, v->other);
  *y = vf64_select(whole, vf64_add(v->c, plus), *y);
  return vm64_or(good, whole);
}

/* Elements [at, at + n) of a chunk. `value` is an expression of x, y, z and a. */
#define RM_FUSED(name, arity, steps, zeros, value)                                                                     \
  static int64_t rm_fused_##name(const rm_random_elements *p, int64_t at, int64_t n, const rm_words_chunk *words,      \
                                 char *result, uint32_t *flags) {                                                      \
    enum { MANY = 6, PAIR = 2 * RM_LANES, SIZE = 4 };                                                                  \
    const vf64 a = vf64_set1(p->x[3].base ? rm_read_element(p->x[3].base, p->x[3].format) : 0.0);                      \
    const vf64 plus = vf64_set1(p->plus_zero ? 0.0 : -0.0);                                                            \
    vectors in[3];                                                                                                     \
    for (int k = 0; k < arity; k++) vectors_of(&in[k], &p->x[k], at, RM_F32);                                          \
    const char *x_at = in[0].at, *y_at = in[arity > 1].at, *z_at = in[arity > 2 ? 2 : 0].at;                           \
    const ptrdiff_t x_step = in[0].step, y_step = in[arity > 1].step, z_step = in[arity > 2 ? 2 : 0].step;             \
    int64_t open = 0, i = 0;                                                                                           \
    for (int many = 0; i + PAIR <= n && many < MANY; i += PAIR) {                                                      \
      rm_fused_value v[2];                                                                                             \
      vf64 made[2];                                                                                                    \
      vm64 good[2];                                                                                                    \
      RM_UNROLL for (int half = 0; half < 2; half++) {                                                                 \
        const vf64 x = rm_load_elements(x_at, RM_F32);                                                                 \
        const vf64 y = arity > 1 ? rm_load_elements(y_at, RM_F32) : x;                                                 \
        const vf64 z = arity > 2 ? rm_load_elements(z_at, RM_F32) : x;                                                 \
        (void)y, (void)z, (void)a;                                                                                     \
        v[half] = value;                                                                                               \
        good[half] = rm_fused_round(v + half, rm_words_vector(words->word + i + half * RM_LANES), steps, made + half); \
        x_at += x_step, y_at += y_step, z_at += z_step;                                                                \
      }                                                                                                                \
      int all = vm64_none(vm64_not(vm64_and(good[0], good[1])));                                                       \
      if (zeros && !all) {                                                                                             \
        RM_UNROLL for (int half = 0; half < 2; half++) good[half] =                                                    \
            rm_fused_whole(v + half, plus, steps, zeros, good[half], made + half);                                     \
        all = vm64_none(vm64_not(vm64_and(good[0], good[1])));                                                         \
      }                                                                                                                \
      if (RM_LIKELY(all)) {                                                                                            \
        rm_store_elements(result + i * SIZE, made[0], RM_F32);                                                         \
        rm_store_elements(result + (i + RM_LANES) * SIZE, made[1], RM_F32);                                            \
      } else {                                                                                                         \
        many++;                                                                                                        \
        open += by_balls(p, at + i, PAIR, words, i, result + i * SIZE, flags);                                         \
      }                                                                                                                \
    }                                                                                                                  \
    return i < n ? open + by_balls(p, at + i, n - i, words, i, result + i * SIZE, flags) : open;                       \
  }

RM_FUSED(add, 2, RM_FUSED_ROUNDED, RM_FUSED_INFINITE, rm_fused_near(vf64_add(x, y)))
RM_FUSED(subtract, 2, RM_FUSED_ROUNDED, RM_FUSED_INFINITE, rm_fused_near(vf64_sub(x, y)))
RM_FUSED(divide, 2, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_div(x, y)))
RM_FUSED(root, 1, RM_FUSED_ROUNDED, RM_FUSED_INFINITE, rm_fused_near(vf64_sqrt(x)))
RM_FUSED(cube, 1, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_mul(vf64_mul(x, x), x)))
RM_FUSED(scaled, 1, RM_FUSED_ROUNDED, RM_FUSED_INFINITE, rm_fused_near(vf64_mul(a, x)))
RM_FUSED(over, 1, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_div(x, a)))
RM_FUSED(under, 1, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_div(a, x)))
RM_FUSED(added, 1, RM_FUSED_ROUNDED, RM_FUSED_INFINITE, rm_fused_near(vf64_add(x, a)))
RM_FUSED(plus, 2, 0, 1, rm_fused_sum(x, vf64_mul(a, y)))
RM_FUSED(between, 2, 0, 1, rm_fused_sum(x, vf64_mul(a, vf64_sub(y, x))))
RM_FUSED(product, 3, 0, 1, rm_fused_sum(x, vf64_mul(a, vf64_mul(y, z))))
RM_FUSED(quotient, 3, 0, 1, rm_fused_sum(x, vf64_div(vf64_mul(a, y), z)))
RM_FUSED(of_tanh, 2, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_mul(x, vf64_sub(vf64_set1(1.0), vf64_mul(y, y)))))
RM_FUSED(of_sigmoid, 2, RM_FUSED_ROUNDED, 1, rm_fused_near(vf64_mul(vf64_mul(x, y), vf64_sub(vf64_set1(1.0), y))))

/* Functions whose evaluation has a relative error below this bound but where they are special. */
RM_FN rm_fused_value rm_fused_function(vf64 c, vm64 special) { return (rm_fused_value){.c = c, .other = special, .any = 1}; }
#define RM_FUSED_FUNCTION(f, F, zeros, c) \
  RM_FUSED(f, 1, RM_FUSED_STEPS(RM_##F##_B64_ERR), zeros, rm_fused_function(c, rm_##f##_special(x, RM_F32)))
RM_FUSED_FUNCTION(exp, EXP, 0, rm_exp_eval(x))
RM_FUSED_FUNCTION(log, LOG, 0, rm_log_eval(x))
RM_FUSED_FUNCTION(sigmoid, SIGMOID, 0, rm_sigmoid_eval(x))
RM_FUSED_FUNCTION(silu, SILU, 0, rm_silu_eval(x))
RM_FUSED_FUNCTION(gelu, GELU, 1, vf64_copysign(rm_gelu_eval(x), x))
RM_FUSED_FUNCTION(tanh, TANH, 1, vf64_copysign(rm_tanh_eval(x), x))

/* The loop of a problem, or NULL. */
static rm_fused_fn *rm_fused_of(const rm_random_elements *p) {
  const rm_random_array *x = p->x;
  if (RM_LANES == 1) return NULL; /* not worth their size */
  if (p->format != RM_FORMAT_F32 || p->r->mode != RM_ROUND_STOCHASTIC) return NULL;
  for (int k = 0; k < 3; k++)
    if (x[k].base && x[k].stride && x[k].stride != 4) return NULL;
  if (x[3].base) {
    const double a = rm_read_element(x[3].base, x[3].format), size = a < 0.0 ? -a : a;
    if (!(size == 0.0 || (size >= 0x1p-700 && size <= 0x1p700))) return NULL;
  }
  switch (p->formula) {
    case RM_BALL_ADD: return rm_fused_add;
    case RM_BALL_SUBTRACT: return rm_fused_subtract;
    case RM_BALL_DIVIDE: return rm_fused_divide;
    case RM_BALL_ROOT: return rm_fused_root;
    case RM_FORMULA_SCALED: return rm_fused_scaled;
    case RM_FORMULA_OVER: return rm_fused_over;
    case RM_FORMULA_UNDER: return rm_fused_under;
    case RM_FORMULA_ADDED: return rm_fused_added;
    case RM_FORMULA_PLUS: return rm_fused_plus;
    case RM_FORMULA_BETWEEN: return rm_fused_between;
    case RM_FORMULA_PRODUCT: return rm_fused_product;
    case RM_FORMULA_QUOTIENT: return rm_fused_quotient;
    case RM_FORMULA_TANH: return rm_fused_of_tanh;
    case RM_FORMULA_SIGMOID: return rm_fused_of_sigmoid;
    case RM_BALL_FUNCTION: break;
    default: return NULL;
  }
  switch (p->function) {
    case RM_FN_exp: return rm_fused_exp;
    case RM_FN_log: return rm_fused_log;
    case RM_FN_sigmoid: return rm_fused_sigmoid;
    case RM_FN_silu: return rm_fused_silu;
    case RM_FN_gelu: return rm_fused_gelu;
    case RM_FN_tanh: return rm_fused_tanh;
    case RM_FN_pow: return x[1].stride == 0 && rm_read_element(x[1].base, x[1].format) == 3.0 ? rm_fused_cube : NULL;
    default: return NULL;
  }
}
