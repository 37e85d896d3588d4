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

/* Between binary32 and binary64 the machine's conversions are right in the environment of a block, the default one. A NaN
 * becomes the canonical one. */
static void widened(int64_t n, const float *x, double *out) {
  for (int64_t i = 0; i < n; i++) out[i] = x[i] == x[i] ? (double)x[i] : (double)NAN;
}
static void narrowed(int64_t n, const double *x, float *out) {
  for (int64_t i = 0; i < n; i++) out[i] = x[i] == x[i] ? (float)x[i] : NAN;
}

/* Otherwise the sum of one term is that term, rounded once; but a zero is +0. */
int rm_py_converted(int from, int to, int64_t n, const void *x, void *out) {
  const size_t size = size_of(from), made = size_of(to);
  if (from == RM_FORMAT_F32 && to == RM_FORMAT_F64) return widened(n, x, out), 0;
  if (from == RM_FORMAT_F64 && to == RM_FORMAT_F32) return narrowed(n, x, out), 0;
  const int64_t shape[4] = {1, n, 1, 1};
  const ptrdiff_t stride[4] = {0, (ptrdiff_t)size, 0, 0};
  const rm_status status = rm_sum_axes(from, shape, stride, x, to, out);
  for (int64_t i = 0; i < n && !status; i++) {
    const uint64_t b = bits_at((const char *)x + i * (int64_t)size, size);
    if (b == UINT64_C(1) << (8 * size - 1)) put((char *)out + i * (int64_t)made, made, UINT64_C(1) << (8 * made - 1));
  }
  return status;
}

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

static int compared(int which, double x, double y) {
  switch (which) {
    case RM_PY_LESS: return x < y;
    case RM_PY_AT_MOST: return x <= y;
    case RM_PY_MORE: return x > y;
    case RM_PY_AT_LEAST: return x >= y;
    case RM_PY_EQUAL: return x == y;
    case RM_PY_IS_NAN: return isnan(x) != 0;
    default: return isinf(x) != 0;
  }
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

static void whole(int which, int format, int64_t n, const char *x, char *out) {
  for (int64_t i = 0; i < n; i++) {
    double v;
    float s;
    if (format == RM_FORMAT_F64) memcpy(&v, x + 8 * i, 8);
    else memcpy(&s, x + 4 * i, 4), v = s;
    v = which == RM_PY_WHOLE_NEAREST ? rint(v) : which == RM_PY_WHOLE_FLOOR ? floor(v) : trunc(v);
    s = (float)v; /* a whole number of binary32 stays one */
    if (format == RM_FORMAT_F64) memcpy(out + 8 * i, &v, 8);
    else memcpy(out + 4 * i, &s, 4);
  }
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
          for (int64_t j = 0; j < n; j++) put(filled + j * (int64_t)size_of(format), size_of(format), bits[k]);
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
      case RM_PY_STEP_COMPARE:
        for (int64_t j = 0; j < n; j++) {
          const double x = value_at(v[0].data + j * v[0].step, format);
          to[j] = (char)compared(step->which, x, v[1].data ? value_at(v[1].data + j * v[1].step, format) : 0.0);
        }
        made->format = RM_PY_MASK, made->step = 1;
        break;
      case RM_PY_STEP_BOTH:
      case RM_PY_STEP_EITHER:
      case RM_PY_STEP_NOT:
        for (int64_t j = 0; j < n; j++) {
          const char x = v[0].data[j], y = v[1].data ? v[1].data[j] : 0;
          to[j] = step->kind == RM_PY_STEP_BOTH ? x & y : step->kind == RM_PY_STEP_EITHER ? x | y : !x;
        }
        made->format = RM_PY_MASK, made->step = 1;
        break;
      case RM_PY_STEP_REQUIRED:
        for (int64_t j = 0; j < n && good; j++) good = v[0].data[j];
        break;
      case RM_PY_STEP_CHOOSE:
        for (int64_t j = 0; j < n && good; j++) {
          const reg *const chosen = v + (v[0].data[j] ? 1 : 2);
          put(to + j * (int64_t)size, size, bits_at(chosen->data + j * chosen->step, size));
        }
        break;
      case RM_PY_STEP_NEGATED:
        for (int64_t j = 0; j < n; j++)
          put(to + j * (int64_t)size, size, bits_at(v[0].data + j * v[0].step, size) ^ UINT64_C(1) << (8 * size - 1));
        break;
      default:
        if (size == 2) good = 0;
        else whole(step->which, format, n, v[0].data, to);
    }
    good = good && status == 0;
    if (good && i == steps - 1 && made->data != out)
      memmove(out, made->data, size_of(own) * (size_t)n); /* a step that changed nothing */
  }
  if (memory != small) free(memory);
  return good;
}
