#include "exact_gemm.h"

#include "../reduce/exact.h"
#include "patches.h"

RM_LOCAL void add_products(rm_superaccumulator *acc, int fmt, int64_t n, const char *x, ptrdiff_t sx, const char *y, ptrdiff_t sy) {
  switch (fmt) {
    case RM_F16: rm_superacc_add_products_f16(acc, n, x, sx, y, sy); break;
    case RM_BF16: rm_superacc_add_products_bf16(acc, n, x, sx, y, sy); break;
    case RM_F32: rm_superacc_add_products_f32(acc, n, x, sx, y, sy); break;
    default: rm_superacc_add_products_f64(acc, n, x, sx, y, sy);
  }
}

RM_LOCAL void add_term(rm_superaccumulator *acc, int fmt, const char *x) {
  switch (fmt) {
    case RM_F16: rm_superacc_add_array_f16(acc, 1, x, 0); break;
    case RM_BF16: rm_superacc_add_array_bf16(acc, 1, x, 0); break;
    case RM_F32: rm_superacc_add_array_f32(acc, 1, x, 0); break;
    default: rm_superacc_add_array_f64(acc, 1, x, 0);
  }
}

RM_LOCAL const char *element_at(const rm_operand *o, int64_t line, int64_t k) {
  return o->patches ? rm_patches_at(o->patches, o->base, line, k) : o->base + line * o->line + k * o->step;
}

RM_SHARED uint64_t rm_exact_element(const rm_matmul_problem *p, int64_t i, int64_t j, uint32_t *flags) {
  rm_superaccumulator acc;
  rm_superacc_clear(&acc);
  if (!p->a.patches && !p->b.patches) {
    add_products(&acc, p->fmt, p->k, element_at(&p->a, i, 0), p->a.step, element_at(&p->b, j, 0), p->b.step);
  } else {
    for (int64_t k = 0; k < p->k; k++) { /* padding is no term: it must not meet an infinity */
      const char *x = element_at(&p->a, i, k), *y = element_at(&p->b, j, k);
      if (x && y) add_products(&acc, p->fmt, 1, x, 0, y, 0);
    }
  }
  if (p->bias.base) add_term(&acc, p->fmt, p->bias.base + i * p->bias.row + j * p->bias.col);
  return rm_superacc_round(&acc, p->out_fmt, RM_NEAREST, flags);
}
