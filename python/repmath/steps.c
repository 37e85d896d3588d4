/* Runs the steps of an operator (steps.h) one after the other over whole arrays, each by a function of the C library. */
#include "steps.h"

#include <math.h>
#include <repmath/repmath.h>
#include <stdlib.h>
#include <string.h>

typedef rm_status unary(int64_t n, const void *x, ptrdiff_t sx, void *out, ptrdiff_t so);
typedef rm_status binary(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, void *out, ptrdiff_t so);
typedef rm_status ternary(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, const void *z, ptrdiff_t sz,
                          void *out, ptrdiff_t so);

enum { MAX_REGISTERS = 64 };

static size_t size_of(int format) {
  return format == RM_PY_MASK ? 1 : format == RM_FORMAT_F64 ? 8 : format == RM_FORMAT_F32 ? 4 : 2;
}

static uint64_t bits_at(const char *x, size_t size) {
  uint64_t b = 0;
  if (size == 8) memcpy(&b, x, 8);
  else if (size == 4) {
    uint32_t s;
    memcpy(&s, x, 4);
    b = s;
  } else {
    uint16_t h;
    memcpy(&h, x, 2);
    b = h;
  }
  return b;
}

static void put(char *x, size_t size, uint64_t b) {
  const uint32_t s = (uint32_t)b;
  const uint16_t h = (uint16_t)b;
  memcpy(x, size == 8 ? (const void *)&b : size == 4 ? (const void *)&s : (const void *)&h, size);
}

/* The number of an element, exactly. */
static double value_at(const char *x, int format) {
  const uint64_t b = bits_at(x, size_of(format));
  if (format == RM_FORMAT_F64) {
    double v;
    memcpy(&v, &b, 8);
    return v;
  }
  if (format == RM_FORMAT_F16) {
    const int field = (int)(b >> 10 & 31), m = (int)(b & 1023);
    const double v = field == 31 ? (m ? NAN : INFINITY) : ldexp(field ? m + 1024 : m, (field ? field : 1) - 25);
    return b >> 15 ? -v : v;
  }
  const uint32_t s = format == RM_FORMAT_BF16 ? (uint32_t)b << 16 : (uint32_t)b;
  float v;
  memcpy(&v, &s, 4);
  return (double)v;
}

/* Whether binary64 has the integer at x. */
static int integer_at(const char *x, int format, double *to) {
  int64_t v = 0;
  if (format == -8) memcpy(&v, x, 8);
  else if (format == -4) {
    int32_t s;
    memcpy(&s, x, 4);
    v = s;
  } else if (format == -2) {
    int16_t s;
    memcpy(&s, x, 2);
    v = s;
  } else v = format == -1 ? *(const int8_t *)x : *(const uint8_t *)x;
  *to = (double)v;
  return v <= INT64_C(1) << 53 && v >= -(INT64_C(1) << 53);
}

/* Copies n elements that are `step` bytes apart. */
static void apart(int64_t n, const char *x, ptrdiff_t step, size_t size, char *to) {
  if (size == 4)
    for (int64_t i = 0; i < n; i++) memcpy(to + 4 * i, x + i * step, 4);
  else if (size == 2)
    for (int64_t i = 0; i < n; i++) memcpy(to + 2 * i, x + i * step, 2);
  else
    for (int64_t i = 0; i < n; i++) memcpy(to + 8 * i, x + i * step, 8);
}

int rm_py_spread(const rm_py_strided *x, int ndim, const int64_t *shape, char *to) {
  const int added = ndim - x->ndim, whole = x->format < 0;
  const size_t size = whole ? 8 : size_of(x->format);
  int64_t at[8] = {0}, n = 1;
  ptrdiff_t step[8];
  const char *from = x->data;
  for (int d = 0; d < ndim; d++) {
    step[d] = d < added || x->shape[d - added] == 1 ? 0 : x->stride[d - added];
    n *= shape[d];
  }
  if (!whole && ndim && n) { /* along the last axis the elements are next to each other, or one */
    const int64_t length = shape[ndim - 1];
    rm_py_runs runs = {from, length, (ptrdiff_t)size, step[ndim - 1], ndim - 1, 0, {0}, {0}, {0}};
    for (int d = 0; d < ndim - 1; d++) runs.shape[d] = shape[d], runs.stride[d] = step[d];
    if (length > 1 && (runs.step == 0 || runs.step == runs.size)) {
      rm_py_copy_runs(&runs, n / length, to);
      return 1;
    }
  }
  const int64_t length = ndim ? shape[ndim - 1] : 1;
  if (!whole && length > 4) { /* a loop along the last axis for each place of the others */
    for (int64_t i = 0; i < n; i += length, to += (size_t)length * size) {
      apart(length, from, step[ndim - 1], size, to);
      for (int d = ndim - 2; d >= 0; d--) {
        from += step[d];
        if (++at[d] < shape[d]) break;
        from -= step[d] * shape[d];
        at[d] = 0;
      }
    }
    return 1;
  }
  for (int64_t i = 0; i < n; i++, to += size) {
    if (whole) {
      double v;
      if (!integer_at(from, x->format, &v)) return 0;
      memcpy(to, &v, 8);
    } else memcpy(to, from, size);
    for (int d = ndim - 1; d >= 0; d--) {
      from += step[d];
      if (++at[d] < shape[d]) break;
      from -= step[d] * shape[d];
      at[d] = 0;
    }
  }
  return 1;
}

#define FILL(type)                                      \
  do {                                                  \
    type v, *const all = (type *)(void *)to;            \
    memcpy(&v, r->x, sizeof v);                         \
    for (int64_t i = 0; i < r->length; i++) all[i] = v; \
  } while (0)
void rm_py_copy_runs(rm_py_runs *r, int64_t count, char *to) {
  const size_t bytes = (size_t)r->length * (size_t)r->size;
  for (; count > 0; count--, to += bytes) {
    if (r->step) memcpy(to, r->x, bytes);
    else if (r->size == 8) FILL(uint64_t);
    else if (r->size == 4) FILL(uint32_t);
    else FILL(uint16_t);
    for (int d = r->outer - 1; d >= 0; d--) {
      r->x += r->stride[d];
      if (++r->at[d] < r->shape[d]) break;
      r->x -= r->stride[d] * r->shape[d];
      r->at[d] = 0;
    }
  }
}
#undef FILL

#define WITHOUT_NAN(type, infinity)                                         \
  do {                                                                      \
    const type *const from = x;                                             \
    type *const made = to;                                                  \
    const type sign = (type)((type)1 << (8 * sizeof(type) - 1));            \
    for (int64_t i = 0; i < n; i++) {                                       \
      const type b = from[i];                                               \
      made[i] = (type)((type)(b & (type)~sign) > (type)(infinity) ? 0 : b); \
    }                                                                       \
  } while (0)
void rm_py_without_nan(int format, int64_t n, const void *x, void *to) {
  if (format == RM_FORMAT_F64) WITHOUT_NAN(uint64_t, UINT64_C(0x7ff) << 52);
  else if (format == RM_FORMAT_F32) WITHOUT_NAN(uint32_t, 0x7f800000);
  else if (format == RM_FORMAT_BF16) WITHOUT_NAN(uint16_t, 0x7f80);
  else WITHOUT_NAN(uint16_t, 0x7c00);
}
#undef WITHOUT_NAN

int rm_py_converted(int from, int to, int64_t n, const void *x, void *out) { return rm_convert(from, to, n, x, out); }

/* Once a sum is not finite, it is what the exact one is: terms of narrower formats do not make it so. */
int rm_py_added(int wide, int64_t n, const int64_t *at, int64_t size, const double *x, double *sum) {
  int outside = 0, rounded = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t k = at[i];
    if ((uint64_t)k >= (uint64_t)size) {
      outside |= k != -1;
      continue;
    }
    const double a = sum[k], b = x[i], s = a + b, v = s - a, e = (a - (s - v)) + (b - v); /* Knuth's two-sum */
    sum[k] = s;
    rounded |= e != 0.0 && (wide || s - s == 0.0);
  }
  return outside ? -1 : !rounded;
}

void rm_py_divided(int64_t rows, int64_t cols, double *x, const double *by) {
  for (int64_t i = 0; i < rows; i++, x += cols)
    for (int64_t j = 0; j < cols && by[i] != 1.0; j++) x[j] /= by[i];
}

/* Whether a number of binary64 may be a boundary of rounding of a narrower format, as may_be_boundary of _narrow.py says:
 * what was rounded to it may lie on either side. */
static int beside_boundary(double s, int to) {
  const int dropped = to == RM_FORMAT_F32 ? 29 : to == RM_FORMAT_F16 ? 42 : 45;
  const uint64_t half = UINT64_C(1) << (dropped - 1);
  uint64_t b;
  memcpy(&b, &s, 8);
  if (s == 0 || !isfinite(s)) return 0;
  if (fabs(s) < (to == RM_FORMAT_F16 ? 0x1p-14 : 0x1p-126)) return (b & (half - 1)) == 0;
  return (b & (2 * half - 1)) == half;
}

typedef struct {
  const char *data;
  ptrdiff_t step; /* 0 for a number */
  int format;
} reg;

/* Of a number that the format has not: no operand. */
static int as_number(const rm_py_number *v, int format, int own, uint64_t *bits, reg *r) {
  if (format == RM_FORMAT_F64) memcpy(bits, &v->value, 8);
  else if (format == own && v->held) *bits = v->bits;
  else return 0;
  r->data = (const char *)bits, r->step = 0, r->format = format;
  return 1;
}

/* Whole numbers by arithmetic that compilers vectorise: |x| below `last` plus and minus that is the nearest one, and others
 * are whole. No choice comes last, and -1 or 0 is added where 0 could not be left out: compilers would branch. */
#define WHOLE(name, type, fabs_, copysign_, last)                                                               \
  static void name(int which, int64_t n, const type *x, type *out) {                                            \
    for (int64_t i = 0; i < n; i++) {                                                                           \
      const type size = fabs_(x[i]), by = size < last ? last : (type)0, whole = (size + by) - by;               \
      const type near = copysign_(whole, x[i]), low = near - (near > x[i] ? (type)1 : (type)0);                 \
      const type inner = whole + (whole > size ? -(type)1 : (type)0);                                           \
      out[i] = which == RM_PY_WHOLE_NEAREST ? near : which == RM_PY_WHOLE_FLOOR ? low : copysign_(inner, x[i]); \
    }                                                                                                           \
  }
WHOLE(whole_f64, double, fabs, copysign, 0x1p52)
WHOLE(whole_f32, float, fabsf, copysignf, 0x1p23f)
#undef WHOLE

/* Of numbers next to each other or one number (a step of 0), which is known for the whole loop: compilers vectorise it. */
#define BY_STEPS(LOOP, ...)         \
  do {                              \
    if (sx && sy) {                 \
      LOOP(x[i], y[i], __VA_ARGS__) \
    } else if (sx) {                \
      LOOP(x[i], y[0], __VA_ARGS__) \
    } else if (sy) {                \
      LOOP(x[0], y[i], __VA_ARGS__) \
    } else {                        \
      LOOP(x[0], y[0], __VA_ARGS__) \
    }                               \
  } while (0)

/* Masks as the numbers 1 and 0, which compilers make of numbers by vectors; they do not make bytes of binary64. */
#define COMPARE_LOOP(X, Y, type, condition)  \
  for (int64_t i = 0; i < n; i++) {          \
    const type u = (X), v = (Y);             \
    to[i] = (condition) ? (type)1 : (type)0; \
    (void)v;                                 \
  }
#define COMPARE(name, type)                                                                                 \
  static void name(int which, int64_t n, const type *x, int sx, const type *y, int sy, type *restrict to) { \
    switch (which) {                                                                                        \
      case RM_PY_LESS: BY_STEPS(COMPARE_LOOP, type, u < v); break;                                          \
      case RM_PY_AT_MOST: BY_STEPS(COMPARE_LOOP, type, u <= v); break;                                      \
      case RM_PY_MORE: BY_STEPS(COMPARE_LOOP, type, u > v); break;                                          \
      case RM_PY_AT_LEAST: BY_STEPS(COMPARE_LOOP, type, u >= v); break;                                     \
      case RM_PY_EQUAL: BY_STEPS(COMPARE_LOOP, type, u == v); break;                                        \
      case RM_PY_IS_NAN: BY_STEPS(COMPARE_LOOP, type, u != u); break;                                       \
      default: BY_STEPS(COMPARE_LOOP, type, isinf(u) != 0); break;                                          \
    }                                                                                                       \
  }
COMPARE(compare_f64, double)
COMPARE(compare_f32, float)
#undef COMPARE
#undef COMPARE_LOOP

enum { PART = 512 };

/* Numbers of 16 bits are compared in binary32, which has them all. */
static int compare(int which, int format, int64_t n, const char *x, int sx, const char *y, int sy, char *to) {
  const int64_t size = (int64_t)size_of(format);
  double wide[PART];
  float u[PART], v[PART], narrow[PART];
  for (int64_t i = 0; i < n; i += PART) {
    const int64_t some = n - i < PART ? n - i : PART;
    const void *const from_x = x + size * i * sx, *const from_y = y + size * i * sy;
    if (size == 8) {
      compare_f64(which, some, from_x, sx, from_y, sy, wide);
      for (int64_t j = 0; j < some; j++) {
        uint64_t b;
        memcpy(&b, wide + j, 8);
        to[i + j] = (char)(b >> 52 & 1); /* the last bit of the exponent's field */
      }
      continue;
    }
    if (size == 2) {
      if (rm_convert(format, RM_FORMAT_F32, sx ? some : 1, from_x, u)) return 0;
      if (rm_convert(format, RM_FORMAT_F32, sy ? some : 1, from_y, v)) return 0;
    }
    compare_f32(which, some, size == 2 ? u : from_x, sx, size == 2 ? v : from_y, sy, narrow);
    for (int64_t j = 0; j < some; j++) to[i + j] = narrow[j] != 0.0f;
  }
  return 1;
}

/* By bits: a branch would be mispredicted for every other element. */
#define CHOOSE_LOOP(X, Y, type)                           \
  for (int64_t i = 0; i < n; i++) {                       \
    const type first = (type) - (type)(mask[i] != 0);     \
    to[i] = (type)(((X) & first) | ((Y) & (type)~first)); \
  }
#define CHOOSE(name, type)                                                                                \
  static void name(int64_t n, const char *mask, const type *x, int sx, const type *y, int sy, type *to) { \
    BY_STEPS(CHOOSE_LOOP, type);                                                                          \
  }
CHOOSE(choose_8, uint64_t)
CHOOSE(choose_4, uint32_t)
CHOOSE(choose_2, uint16_t)
#undef CHOOSE
#undef CHOOSE_LOOP
#undef BY_STEPS

static void clamp(int64_t n, const double *x, double limit, double least, double *to) {
  for (int64_t i = 0; i < n; i++) {
    const double u = x[i], above = u < -limit ? -limit : u, inside = above > limit ? limit : above;
    to[i] = fabs(u) < least ? 0.0 : inside;
  }
}

/* The whole number toward zero from x/y, rounded; q is x/y rounded to a whole number below 2**106 that is not 0, and rest the
 * sign of x - q y, which is not 0. From 2**53 on it is q and the whole number beside r/y, for r = x - q y, a number then: the
 * one below it where q is positive, else the one above (_beyond in _quotients.py). */
static double beside(double q, double rest, double x, double y) {
  const int down = q > 0.0;
  if (fabs(q) < 0x1p53) return (rest < 0.0) == (x < 0.0) ? q : copysign(q - copysign(1.0, q), q);
  double whole = trunc(rest / y), left = rm_fma_f64(-whole, y, rest);
  if (left != 0.0 && (left < 0.0) != (rest < 0.0)) { /* the quotient was rounded away from zero to a whole number */
    whole -= copysign(1.0, whole);
    left = rm_fma_f64(-whole, y, rest);
  }
  if (left != 0.0 && ((rest < 0.0) != (y < 0.0)) == down) whole -= down ? 1.0 : -1.0;
  return q + whole;
}

/* A rounded quotient q that is no whole number lies between the same two as x/y, and 0 needs no more. Others tell on which
 * side of them x/y lies by x - q y, of which fma has the sign: it is a multiple of the least subnormal number, and so not
 * rounded to 0. From 2**106 on the whole number is rounded to q (_beyond in _quotients.py). x or y may be out. */
static int toward_zero(int64_t n, const double *q, const double *x, ptrdiff_t sx, const double *y, ptrdiff_t sy,
                       double *out) {
  double whole[PART], less[PART], rest[PART];
  for (int64_t i = 0; i < n; i += PART, q += PART, out += PART) {
    const int64_t some = n - i < PART ? n - i : PART;
    const double *const u = sx ? x + i : x, *const v = sy ? y + i : y;
    uint64_t open = 0;
    whole_f64(RM_PY_WHOLE_TRUNC, some, q, whole);
    for (int64_t j = 0; j < some; j++) {
      const double near = fabs(q[j]) < 0x1p106 ? q[j] : 0.0, left = near == whole[j] ? near : 0.0, size = fabs(left);
      uint64_t b;
      memcpy(&b, &size, 8);
      open |= b, less[j] = -left;
    }
    if (open) {
      if (rm_vfma_f64(some, less, 8, v, sy, u, sx, rest, 8)) return 0;
      for (int64_t j = 0; j < some; j++)
        if (less[j] != 0.0 && rest[j] != 0.0) whole[j] = beside(q[j], rest[j], sx ? u[j] : *u, sy ? v[j] : *v);
    }
    memcpy(out, whole, (size_t)some * 8);
  }
  return 1;
}

static void combine(int kind, int64_t n, const char *restrict x, const char *restrict y, char *restrict to) {
  if (kind == RM_PY_STEP_NOT)
    for (int64_t i = 0; i < n; i++) to[i] = !x[i];
  else if (kind == RM_PY_STEP_BOTH)
    for (int64_t i = 0; i < n; i++) to[i] = x[i] & y[i];
  else
    for (int64_t i = 0; i < n; i++) to[i] = x[i] | y[i];
}

int rm_py_run_steps(const rm_py_step *step, int steps, int inputs, const char *const *in, const int *formats,
                    const rm_py_number *number, int own, int64_t n, void *out) {
  char small[4096];
  reg registers[MAX_REGISTERS];
  const size_t room = (size_t)n * 8 * (size_t)(steps + 3); /* the last three for numbers as arrays */
  char *const memory = room <= sizeof small ? small : malloc(room);
  int good = memory != NULL;
  for (int i = 0; i < inputs; i++) {
    const reg r = {in[i], (ptrdiff_t)size_of(formats[i]), formats[i]};
    registers[i] = r;
  }
  for (int i = 0; i < steps && good; i++, step++) {
    reg v[3] = {{0}}, *const made = registers + inputs + i;
    uint64_t bits[3];
    const int arrays = step->kind == RM_PY_STEP_FORMULA || step->kind == RM_PY_STEP_SCALED;
    const double a = step->number == RM_PY_NO_OPERAND ? 0.0 : number[step->number].value;
    char *const to = i == steps - 1 ? out : memory + (size_t)i * 8 * (size_t)n;
    int format = step->wide ? RM_FORMAT_F64 : own, known = 0;
    for (int k = 0; k < 3; k++)
      if (step->operand[k] < RM_PY_NUMBER) {
        v[k] = registers[step->operand[k]];
        if (v[k].format != RM_PY_MASK) {
          good = good && (!known || format == v[k].format);
          format = v[k].format, known = 1;
        }
      }
    for (int k = 0; k < 3 && good; k++)
      if (step->operand[k] >= RM_PY_NUMBER && step->operand[k] != RM_PY_NO_OPERAND) {
        good = as_number(number + (step->operand[k] - RM_PY_NUMBER), format, own, bits + k, v + k);
        if (good && arrays) {
          char *const filled = memory + (size_t)(steps + k) * 8 * (size_t)n;
          rm_py_copy_runs(&(rm_py_runs){.x = v[k].data, .length = n, .size = (ptrdiff_t)size_of(format)}, 1, filled);
          v[k].data = filled;
        }
      }
    const int becomes = step->kind == RM_PY_STEP_WIDE ? RM_FORMAT_F64 : step->kind == RM_PY_STEP_OWN ? own : format;
    if (i == steps - 1) good = good && becomes == own; /* out has room for that format alone */
    if (!good) break;
    const size_t size = size_of(format);
    rm_status status = 0;
    made->data = to, made->format = format, made->step = (ptrdiff_t)size;
    switch (step->kind) {
      case RM_PY_STEP_FUNCTION: {
        rm_py_step_function *const f = step->function[format];
        if (step->arity == 1) status = ((unary *)f)(n, v[0].data, v[0].step, to, made->step);
        else if (step->arity == 2) status = ((binary *)f)(n, v[0].data, v[0].step, v[1].data, v[1].step, to, made->step);
        else status = ((ternary *)f)(n, v[0].data, v[0].step, v[1].data, v[1].step, v[2].data, v[2].step, to, made->step);
        break;
      }
      case RM_PY_STEP_SCALED:
        if (a == 1.0) *made = v[0];
        else status = rm_formula(RM_FORMULA_SCALED, format, n, a, v[0].data, NULL, NULL, to);
        break;
      case RM_PY_STEP_FORMULA: status = rm_formula(step->which, format, n, a, v[0].data, v[1].data, v[2].data, to); break;
      case RM_PY_STEP_WIDE:
      case RM_PY_STEP_OWN: {
        const int other = step->kind == RM_PY_STEP_WIDE ? RM_FORMAT_F64 : own;
        for (int64_t j = 0; j < n && good && step->which && format != other; j++)
          good = !beside_boundary(value_at(v[0].data + 8 * j, format), other);
        if (!good) break;
        if (format == other) *made = v[0];
        else
          status = rm_py_converted(format, other, n, v[0].data, to), made->format = other,
          made->step = (ptrdiff_t)size_of(other);
        break;
      }
      case RM_PY_STEP_COMPARE: {
        const reg *const other = v[1].data ? v + 1 : v;
        good = compare(step->which, format, n, v[0].data, v[0].step != 0, other->data, other->step != 0, to);
      }
        made->format = RM_PY_MASK, made->step = 1;
        break;
      case RM_PY_STEP_BOTH:
      case RM_PY_STEP_EITHER:
      case RM_PY_STEP_NOT:
        combine(step->kind, n, v[0].data, v[1].data, to);
        made->format = RM_PY_MASK, made->step = 1;
        break;
      case RM_PY_STEP_REQUIRED: good = memchr(v[0].data, 0, (size_t)n) == NULL; break;
      case RM_PY_STEP_CHOOSE: {
        const int sx = v[1].step != 0, sy = v[2].step != 0;
        const void *const x = v[1].data, *const y = v[2].data;
        void *const chosen = to;
        if (size == 8) choose_8(n, v[0].data, x, sx, y, sy, chosen);
        else if (size == 4) choose_4(n, v[0].data, x, sx, y, sy, chosen);
        else choose_2(n, v[0].data, x, sx, y, sy, chosen);
      } break;
      case RM_PY_STEP_CLAMPED: {
        const void *const x = v[0].data;
        void *const clamped = to;
        good = format == RM_FORMAT_F64;
        if (good) clamp(n, x, value_at(v[1].data, format), value_at(v[2].data, format), clamped);
      } break;
      case RM_PY_STEP_TOWARD_ZERO: {
        const void *const q = v[0].data, *const x = v[1].data, *const y = v[2].data;
        void *const whole = to;
        good = format == RM_FORMAT_F64 && toward_zero(n, q, x, v[1].step, y, v[2].step, whole);
      } break;
      case RM_PY_STEP_NEGATED:
        if (size == 8)
          for (int64_t j = 0; j < n; j++) {
            double x;
            memcpy(&x, v[0].data + j * v[0].step, 8);
            x = -x;
            memcpy(to + 8 * j, &x, 8);
          }
        else if (size == 4)
          for (int64_t j = 0; j < n; j++) {
            float x;
            memcpy(&x, v[0].data + j * v[0].step, 4);
            x = -x;
            memcpy(to + 4 * j, &x, 4);
          }
        else
          for (int64_t j = 0; j < n; j++) put(to + 2 * j, size, bits_at(v[0].data + j * v[0].step, size) ^ UINT64_C(1) << 15);
        break;
      default:
        if (size == 2) good = 0;
        else {
          const void *const x = v[0].data;
          void *const made_of = to;
          if (size == 8) whole_f64(step->which, n, x, made_of);
          else whole_f32(step->which, n, x, made_of);
        }
    }
    good = good && status == 0;
    if (good && i == steps - 1 && made->data != out)
      memmove(out, made->data, size_of(own) * (size_t)n); /* a step that changed nothing */
  }
  if (memory != small) free(memory);
  return good;
}
