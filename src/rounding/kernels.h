/* The loops of src/rounding, which each ISA build provides in a table. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../../include/repmath/formulas.h"
#include "../../include/repmath/rounding.h"
#include "../elementwise/kernels.h"
#include "../runtime/isa.h"

/* Values within radius[i], or 0 where radius is NULL, of middle[i]. */
typedef struct {
  int format;
  const double *middle, *radius;
  char *out;
  uint8_t *undecided;
  const rm_random_rounding *r;
} rm_balls;

/* Functions that are one operation; other formulas are those of formulas.h. */
enum {
  RM_BALL_FUNCTION = -1, /* the function of rm_random_elements */
  RM_BALL_ADD = -2,
  RM_BALL_SUBTRACT = -3,
  RM_BALL_MULTIPLY = -4,
  RM_BALL_DIVIDE = -5,
  RM_BALL_ROOT = -6,
  RM_BALL_FMA = -7
};

enum { RM_RANDOM_ARRAYS = 4 };
typedef struct {
  const char *base;
  ptrdiff_t stride;
  int format;
} rm_random_array;

/* A formula, or an elementwise function by its loop for binary64, over arrays x; those without a
 * base are not used. */
typedef struct rm_random_elements rm_random_elements;
struct rm_random_elements {
  int formula, format;
  int plus_zero; /* an exact zero gives +0, else the zero that binary64 gives */
  int function; /* of RM_BALL_FUNCTION: its number in functions.def */
  rm_map_fn *map;
  rm_random_array x[RM_RANDOM_ARRAYS];
  char *out;
  ptrdiff_t stride_out;
  /* An element that is undecided: 1 with its bits, or 0 where it stays as it was. NULL: they are 0 and counted. */
  int (*rest)(const rm_random_elements *p, int64_t element, uint32_t word, uint32_t *flags, uint64_t *bits);
  const rm_random_rounding *r;
};

struct rm_rounding_kernels {
  /* Elements [begin, end). Adds RM_FLAG_* bits to *flags, and returns how many elements are undecided. */
  int64_t (*balls)(const rm_balls *p, int64_t begin, int64_t end, uint32_t *flags);
  int64_t (*elements)(const rm_random_elements *p, int64_t begin, int64_t end, uint32_t *flags);
  /* A sum of rm_sums_in_parts: high and low part and radius. */
  void (*total)(int64_t n, const double *x, const double *y, double *found);
  void (*words)(uint64_t seed, uint64_t stream, int64_t first, int64_t n, uint32_t *out);
  /* Moves binary32 numbers [begin, end) up or down. */
  void (*steps)(const rm_random_rounding *r, char *x, int64_t begin, int64_t end);
};
RM_ISA_TABLES(struct rm_rounding_kernels, rm_rounding_table, rm_rounding_kernels)
