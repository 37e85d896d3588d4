/* Operators of several elementwise steps, each rounded once: their steps one after the other in memory of their own. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef void rm_py_step_function(void);

/* What a step does. Its operands are registers: the tensors, then the result of each step; RM_PY_NUMBER + i is number i,
 * beside which every element has the same operand. */
enum {
  RM_PY_STEP_FUNCTION, /* a function of functions.def */
  RM_PY_STEP_FORMULA,  /* rm_formula, `which`, with a number */
  RM_PY_STEP_SCALED,   /* the formula a x; x itself where a is 1 */
  RM_PY_STEP_WIDE,     /* in binary64, exactly */
  RM_PY_STEP_OWN, /* in the tensors' format, rounded once; with `which` of a rounded number of binary64, which must be beside
                     no boundary */
  RM_PY_STEP_COMPARE, /* a mask: `which` is one of RM_PY_LESS ... */
  RM_PY_STEP_BOTH, /* of masks */
  RM_PY_STEP_EITHER,
  RM_PY_STEP_NOT,
  RM_PY_STEP_CHOOSE, /* the second operand where the mask is set, else the third one */
  RM_PY_STEP_NEGATED,
  RM_PY_STEP_CLAMPED, /* a number of binary64 between minus and plus the second operand; 0 for what is below the third */
  RM_PY_STEP_TOWARD_ZERO, /* of the quotient of x and y of binary64, x and y: x/y toward zero as a whole number, rounded */
  RM_PY_STEP_REQUIRED, /* nothing: the mask must be set everywhere */
  RM_PY_STEP_WHOLE /* rounded to a whole number: `which` is one of RM_PY_WHOLE_NEAREST ... */
};
enum { RM_PY_LESS, RM_PY_AT_MOST, RM_PY_MORE, RM_PY_AT_LEAST, RM_PY_EQUAL, RM_PY_IS_NAN, RM_PY_IS_INFINITE };
enum { RM_PY_WHOLE_NEAREST, RM_PY_WHOLE_FLOOR, RM_PY_WHOLE_TRUNC };
enum { RM_PY_NUMBER = 64, RM_PY_NO_OPERAND = 255, RM_PY_MASK = -1 };

typedef struct {
  uint8_t kind, which, wide; /* wide: of a function of numbers alone, whether it is in binary64 */
  uint8_t operand[3];
  uint8_t number; /* of a formula; RM_PY_NO_OPERAND is 0 */
  uint8_t arity;
  rm_py_step_function *function[4]; /* by RM_FORMAT_... */
} rm_py_step;

typedef struct {
  double value;
  uint64_t bits; /* in the tensors' format */
  int held; /* by that format */
} rm_py_number;

/* An array of at most 8 axes. */
typedef struct {
  const char *data;
  int format, ndim;
  int64_t shape[8];
  ptrdiff_t stride[8]; /* in bytes */
} rm_py_strided;

/* The elements of an array, broadcast to a shape, one after the other; integers (`format` is -size, or -3 for bytes without a
 * sign) in binary64. Returns 0 where this does not hold one of them. */
int rm_py_spread(const rm_py_strided *x, int ndim, const int64_t *shape, char *to);

/* n elements from one format in another one, each rounded once, a NaN canonical. Returns a status. */
int rm_py_converted(int from, int to, int64_t n, const void *x, void *out);

/* Runs of `length` elements of `size` bytes, `step` bytes apart, over the outer axes of an array; `at` is the next run, whose
 * first element x points to. */
typedef struct {
  const char *x;
  int64_t length;
  ptrdiff_t size, step; /* 0, or size */
  int outer, same; /* same: all runs are one */
  int64_t at[8], shape[8];
  ptrdiff_t stride[8];
} rm_py_runs;

/* Copies the next runs one after the other. */
void rm_py_copy_runs(rm_py_runs *runs, int64_t count, char *to);

/* Copies n numbers, NaN as 0. */
void rm_py_without_nan(int format, int64_t n, const void *x, void *to);

/* The steps of n elements each. in: arrays of n elements in the formats of `formats`; own: the format of the result, which
 * goes to out, where one of the arrays may be. Returns 1; 0, with nothing written, where a number is not held, memory is
 * short, operands of a step differ in their formats or a step is refused. */
int rm_py_run_steps(const rm_py_step *step, int steps, int inputs, const char *const *in, const int *formats,
                    const rm_py_number *number, int own, int64_t n, void *out);

/* Adds x[i] to sum[at[i]], and nothing where at[i] is -1; places are below `size`. Returns 1; 0 where a sum is rounded or not
 * finite beside terms that are of binary64 (`wide`) and not of a narrower format; -1 where a place is out of range. */
int rm_py_added(int wide, int64_t n, const int64_t *at, int64_t size, const double *x, double *sum);

/* Divides the elements of each row by one number, in binary64. */
void rm_py_divided(int64_t rows, int64_t cols, double *x, const double *by);
