#include "exact_gemm.h"

#include "../reduce/exact.h"
#include "../reduce/strided.h"

RM_SHARED float rm_exact_element_f32(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_products_f32(&acc, p->k, p->a.base + i * p->a.row, p->a.col, p->b.base + j * p->b.col, p->b.row);
  if (p->bias.base) rm_superacc_add_f32(&acc, rm_read_f32(p->bias.base, j, p->bias.col));
  return rm_superacc_round_f32(&acc, flags);
}

RM_SHARED double rm_exact_element_f64(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  rm_superacc_add_products_f64(&acc, p->k, p->a.base + i * p->a.row, p->a.col, p->b.base + j * p->b.col, p->b.row);
  if (p->bias.base) rm_superacc_add(&acc, rm_read_f64(p->bias.base, j, p->bias.col));
  return rm_superacc_round_f64(&acc, flags);
}
