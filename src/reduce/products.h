/* Products of many factors: what the public function and the kernels share. */
#pragma once

#include <stdint.h>

#include "../runtime/isa.h"

typedef struct {
  int fmt, fmt_out, partial;
  int64_t n;
  const char *x;
  char *out;
  uint8_t *undecided;
} rm_products_problem;

struct rm_products_kernels {
  /* Rows begin to end; undecided is 0 before. */
  void (*rows)(const rm_products_problem *p, int64_t begin, int64_t end);
};
RM_ISA_TABLES(struct rm_products_kernels, rm_products_table, rm_products_kernels)
