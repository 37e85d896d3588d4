/* Loops over terms of losses, compiled once per ISA (loss/kernels.h). */
#include "kernels.h"

#include "entropy_step.h"
#include "pairs.h"
#include "step.h"

/* The block is copied: no store of a term can change it. */
RM_FN void terms_as(const rm_term_kind kind, const int by_g, const rm_term_block *block) {
  const rm_term_block p = *block;
  for (int64_t i = 0; i < p.n; i += RM_LANES) {
    vf64 err;
    vf64_store(p.t + i, rm_term_value(kind, by_g, &p, i, &err));
    vf64_store(p.err + i, err);
  }
}
RM_FN void terms_dd_as(const rm_term_kind kind, const int by_g, const rm_term_block *block) {
  const rm_term_block p = *block;
  for (int64_t i = 0; i < p.n; i += RM_LANES) {
    vf64 low, err;
    vf64_store(p.t + i, rm_term_value_dd(kind, by_g, &p, i, &low, &err));
    vf64_store(p.low + i, low);
    vf64_store(p.err + i, err);
  }
}

#define RM_TERM_KINDS(f, p)                                                                     \
  switch ((p)->kind) {                                                                          \
    case RM_TERM_SQUARE: f(RM_TERM_SQUARE, 0, p); return;                                       \
    case RM_TERM_ABSOLUTE: f(RM_TERM_ABSOLUTE, 0, p); return;                                   \
    case RM_TERM_CLAMPED: (p)->g ? f(RM_TERM_CLAMPED, 1, p) : f(RM_TERM_CLAMPED, 0, p); return; \
    default: (p)->g ? f(RM_TERM_SIGN, 1, p) : f(RM_TERM_SIGN, 0, p);                            \
  }
static void terms(const rm_term_block *p) { RM_TERM_KINDS(terms_as, p) }
static void terms_dd(const rm_term_block *p) { RM_TERM_KINDS(terms_dd_as, p) }

static int64_t round_dd(int64_t n, const double *t, const double *low, const double *err, double *out, int64_t *index) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i += RM_LANES) {
    vf64 y;
    const uint32_t undecided = vm64_bits(rm_term_round_dd(vf64_load(t + i), vf64_load(low + i), vf64_load(err + i), &y));
    if (i + RM_LANES <= n) {
      vf64_store(out + i, y);
    } else {
      double tail[RM_LANES];
      vf64_store(tail, y);
      for (int k = 0; i + k < n; k++) out[i + k] = tail[k];
    }
    if (__builtin_expect(undecided == 0, 1)) continue;
    for (int k = 0; k < RM_LANES && i + k < n; k++)
      if (undecided >> k & 1) index[count++] = i + k;
  }
  return count;
}

RM_FN void entropies_as(const rm_entropy_kind kind, const rm_entropy_block *block) {
  const rm_entropy_block p = *block;
  for (int64_t i = 0; i < p.n; i += RM_LANES) {
    vf64 err;
    vf64_store(p.t + i, rm_entropy_value(kind, &p, i, &err));
    vf64_store(p.err + i, err);
  }
}
static void entropies(const rm_entropy_block *p) {
  switch (p->kind) {
    case RM_ENTROPY_BCE: entropies_as(RM_ENTROPY_BCE, p); return;
    case RM_ENTROPY_BCE_GRADIENT: entropies_as(RM_ENTROPY_BCE_GRADIENT, p); return;
    case RM_ENTROPY_KL: entropies_as(RM_ENTROPY_KL, p); return;
    case RM_ENTROPY_KL_LOG: entropies_as(RM_ENTROPY_KL_LOG, p); return;
    case RM_ENTROPY_KL_GRADIENT: entropies_as(RM_ENTROPY_KL_GRADIENT, p); return;
    default: entropies_as(RM_ENTROPY_KL_LOG_GRADIENT, p);
  }
}

extern const struct rm_loss_kernels RM_ISA_SYMBOL(rm_loss_table);
const struct rm_loss_kernels RM_ISA_SYMBOL(rm_loss_table) = {terms,       terms_dd,        round_dd,        entropies,
                                                             rm_pair_sum, rm_pair_classes, rm_pair_gradient};
