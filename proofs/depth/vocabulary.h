/* The vocabulary of crlibm/simd for any number of lanes, over depths instead of numbers. 0 is nothing: the +0 that a sum
 * begins with, padding. d + 1 is a value that some term has reached through at most d rounded additions. An element is 1; a
 * product of two elements is exact in the formats below binary64 and no deeper than they are; a sum is one deeper than the
 * deeper operand, unless one is nothing.
 *
 * A source of the library compiled with it is run as it is, and its results say how many roundings a term has passed,
 * whatever the data. A term of MARK + 1 is deeper than all others: what the result has beyond MARK is that term's own
 * count. */
#ifndef RM_PROOF_VOCABULARY_H
#define RM_PROOF_VOCABULARY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lanes.h"

#define MARK 1e9

static inline double depth_sum(double a, double b) { return a == 0 ? b : b == 0 ? a : (a > b ? a : b) + 1; }
static inline double depth_product(double a, double b) { return a == 0 || b == 0 ? 0 : a > b ? a : b; }

/* Nothing is stored in a format: what counts are the depths before. */
RM_FN void vf64_store_f32(float *p, vf64 a) { (void)p, (void)a; }
RM_FN void vf64_store_f16(uint16_t *p, vf64 a) { (void)p, (void)a; }
RM_FN void vf64_store_bf16(uint16_t *p, vf64 a) { (void)p, (void)a; }

RM_FN void vf64_store_halves(double *low, double *high, vf64 a) {
  EACH (q_ < RM_LANES / 2 ? low : high)[q_ % ((RM_LANES + 1) / 2)] = a.v[q_];
}

ONE(vf64_round_f32, x)
ONE(vf64_abs, x)
ONE(vf64_neg, x)
ONE(vf64_sqrt, x)
ONE(vf64_reciprocal, x)
ONE(vf64_rsqrt, x)
VALUES(vf64_add, depth_sum(x, y))
VALUES(vf64_sub, depth_sum(x, y))
VALUES(vf64_mul, depth_product(x, y))
VALUES(vf64_div, x)
VALUES(vf64_min, x < y ? x : y)
VALUES(vf64_max, x > y ? x : y)
VALUES(vf64_copysign, x)
RM_FN vf64 vf64_mad(vf64 a, vf64 b, vf64 c) { return vf64_add(vf64_mul(a, b), c); }
RM_FN vf64 vf64_nmad(vf64 a, vf64 b, vf64 c) { return vf64_mad(a, b, c); }
RM_FN vf64 vf64_mul_err(vf64 a, vf64 b, vf64 p) { return (void)a, (void)b, (void)p, vf64_set1(0.0); }
RM_FN vf64 vf64_quotient(vf64 a, vf64 b, vf64 *r) { return *r = b, a; }
RM_FN vf64 vf64_root(vf64 a, vf64 *r) { return *r = a, a; }

/* What a run has found. depth_less: a control takes so many roundings from every allowance. */
static double depth_less;
typedef struct {
  const char *name;
  int64_t cases, beyond;
  double smallest; /* the smallest of what is left of an allowance */
  char where[160];
} record;
static record *record_of(const char *name) {
  static record all[64];
  for (int i = 0; i < 64; i++) {
    if (!all[i].name) all[i] = (record){name, 0, 0, 1e300, ""};
    if (strcmp(all[i].name, name) == 0) return all + i;
  }
  exit(3);
}
/* Checks one count; `where` says which case it is. */
static void counted(record *r, double count, double allowed, const char *where) {
  const double left = allowed - depth_less - count;
  r->cases++;
  if (left < 0) r->beyond++;
  if (left < r->smallest) r->smallest = left, snprintf(r->where, sizeof r->where, "%s", where);
}
/* One line a check; 1 where a count is beyond what is allowed, or nothing was counted. */
static int told(const record *r) {
  printf("%-34s lanes %d: %lld counts, smallest left %g (%s), beyond %lld\n", r->name, RM_LANES, (long long)r->cases,
         r->smallest, r->where, (long long)r->beyond);
  return r->beyond != 0 || r->cases == 0;
}

#endif
