/* The engine for CPUs that add products of pairs of bf16 numbers (crlibm/simd/bf16.h). */
#pragma once

#include "../../runtime/bf16.h"
#include "kernels.h"

/* k: shorter sums are not worth the packing; of longer ones the bound leaves too much undecided. */
enum { RM_CHAINS_MIN_K = 48, RM_CHAINS_MAX_K = 4096 };
/* Packing takes about as long as RM_CHAINS_WORTH products for each of an operand's elements. */
enum { RM_CHAINS_WORTH = 8, RM_CHAINS_MIN_ROWS = 8 };

#if RM_HAS_BF16
extern const rm_engine rm_chains_bf16;

/* The engine for a problem, or NULL. */
static inline const rm_engine *rm_chains_engine(const rm_matmul_problem *p) {
  if (p->fmt != RM_BF16 || p->out_fmt != RM_BF16 || p->alpha_beta || p->k < RM_CHAINS_MIN_K || p->k > RM_CHAINS_MAX_K)
    return NULL;
  if (p->m < RM_CHAINS_MIN_ROWS || (double)p->m * (double)p->n < RM_CHAINS_WORTH * ((double)p->m + (double)p->n)) return NULL;
  return rm_isa_bf16() ? &rm_chains_bf16 : NULL;
}
#endif
