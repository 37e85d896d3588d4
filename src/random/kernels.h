/* The table of functions that src/random compiles once per ISA. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "../runtime/isa.h"

/* What each distribution computes once a call. Named outside the problem, since C++ allows no types in an anonymous union. */
struct rm_range {
  double low, high, width, width_error, err; /* high - low = width + width_error */
  int mode;
};
struct rm_integers {
  int64_t low;
  uint64_t count; /* 0 stands for 2^64 */
};
struct rm_affine {
  double mean, std;
  int mode;
};
struct rm_truncation {
  double mean, std, end[2]; /* the lower end and the upper one */
  double tails[2][2][2]; /* [0] below or [1] above; of which end; in two parts: twice the tail */
  int mode;
};
struct rm_drop {
  uint64_t limit; /* an element is dropped when its 53 bits are below */
  double p, hi, lo; /* 1/(1-p) = hi + lo within 2^-100 of it */
  int exact; /* 1/(1-p) = hi, a power of two */
};

/* The arguments of a call: n elements, of which element i of the output belongs to element first + i of the stream. */
typedef struct {
  uint64_t seed, stream;
  int64_t first;
  char *out;
  ptrdiff_t stride;
  const char *x; /* the input of a dropout */
  ptrdiff_t stride_x;
  union {
    struct rm_range range;
    struct rm_integers integers;
    struct rm_affine affine;
    struct rm_truncation truncation;
    struct rm_drop drop;
  };
  int64_t n;
} rm_random_problem;

/* How a range is computed (uniform.h). */
enum { RM_RANGE_UNIT, RM_RANGE_EXACT, RM_RANGE_FUSED, RM_RANGE_TESTED, RM_RANGE_ACCURATE };

enum { RM_AFFINE_STANDARD, RM_AFFINE_SCALED, RM_AFFINE_ACCURATE };

/* Elements [from, from + n) of the call. Returns RM_FLAG_* bits. */
typedef uint32_t rm_random_fn(const rm_random_problem *problem, int64_t from, int64_t n);

struct rm_random_kernels {
  rm_random_fn *words32, *words64, *bernoulli, *integers;
  rm_random_fn *uniform[4], *normal[4], *truncated[4], *dropout[4]; /* by format */
};
RM_ISA_TABLES(struct rm_random_kernels, rm_random_table, rm_random_kernels)
