/* The public functions of negative log likelihood and its gradient. */
#include <string.h>

#include "../../runtime/env.h"
#include "nll_row.h"

static rm_status targets(const rm_nll *f) {
  for (int64_t i = 0; i < f->p.rows; i++) {
    const int64_t t = rm_nll_target(f, i);
    if (t != f->p.ignore_index && (t < 0 || t >= f->p.n)) return RM_STATUS(RM_ERR_INDEX, 2);
  }
  return RM_OK;
}

enum { BLOCK = 256 };

/* The sums over rows that are not ignored: of w x (unless NULL), of w. Numbers lie apart: those of a block are copied, so
 * that the accumulator takes them together. Weights that are all 1 are counted. */
static void totals(const rm_nll *f, rm_superaccumulator *sum, rm_superaccumulator *weights) {
  const int format = f->format, size = rm_size_of(format);
  char x[BLOCK * sizeof(double)], w[BLOCK * sizeof(double)];
  int64_t count = 0;
  if (sum) rm_superacc_clear(sum);
  rm_superacc_clear(weights);
  for (int64_t i = 0; i < f->p.rows;) {
    int n = 0;
    for (; n < BLOCK && i < f->p.rows; i++) {
      const int64_t t = rm_nll_target(f, i);
      if (t == f->p.ignore_index) continue;
      if (sum) __builtin_memcpy(x + n * size, rm_nll_number(f, i, t), (size_t)size);
      if (f->p.weight) __builtin_memcpy(w + n * size, rm_nll_weight(f, t), (size_t)size);
      n++;
    }
    count += n;
    if (sum && f->p.weight) rm_superacc_add_products(sum, format, n, x, size, w, size);
    else if (sum) rm_superacc_add_array(sum, format, n, x, size);
    if (f->p.weight) rm_superacc_add_array(weights, format, n, w, size);
  }
  if (!f->p.weight && count) rm_superacc_add(weights, (double)count);
}

static rm_status leave(rm_env env, const rm_row_state *state) {
  rm_stats_add(state->tiers.fast, state->tiers.double_double, state->tiers.accumulator);
  rm_env_leave(env, state->flags);
  return rm_row_status(state->failure);
}

rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *p, void *loss, ptrdiff_t stride_loss) {
  rm_nll f = {.format = format, .out = rm_row_array_of(loss, stride_loss, 0)};
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_nll_check(&f, p);
  if (!status) status = targets(&f);
  const int none = !status && p->reduction == RM_REDUCTION_NONE;
  if (status || (none && p->rows == 0)) return status;
  rm_row_state state = {0};
  const rm_env env = rm_env_enter();
  if (none) {
    for (int64_t i = 0; i < p->rows; i++) rm_write_bits(rm_row_at(&f.out, i), rm_nll_of_row(&f, i, &state), format);
  } else {
    rm_superaccumulator sum, weights;
    totals(&f, &sum, &weights);
    rm_write_bits(loss, rm_nll_total(&f, &sum, &weights, &state), format);
  }
  return leave(env, &state);
}

rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *p, const void *g, ptrdiff_t stride_g, void *dx,
                               ptrdiff_t row_dx, ptrdiff_t stride_dx) {
  rm_nll f = {.format = format, .out = rm_row_array_of(dx, row_dx, stride_dx), .g = g, .stride_g = stride_g};
  if (rm_isa_status()) return RM_ERR_ISA;
  rm_status status = rm_nll_gradient_check(&f, p);
  if (!status) status = targets(&f);
  if (status || p->rows == 0 || p->n == 0) return status;
  rm_row_state state = {0};
  rm_superaccumulator weights;
  rm_nll_divisor divisor;
  uint32_t flags = 0;
  const rm_env env = rm_env_enter();
  if (p->reduction == RM_REDUCTION_MEAN) {
    totals(&f, NULL, &weights);
    rm_nll_divide(&divisor, &weights, &flags);
    f.divisor = &divisor;
  }
  const int size = rm_size_of(format);
  uint64_t g_before = 0, w_before = 0, before = 0;
  int known = 0; /* whether `before` is the gradient of these: the same for all rows of a mean without weights */
  for (int64_t i = 0; i < p->rows; i++) {
    const int64_t t = rm_nll_target(&f, i);
    char *row = rm_row_at(&f.out, i);
    if (f.out.stride == size) memset(row, 0, (size_t)p->n * (size_t)size);
    else
      for (int64_t k = 0; k < p->n; k++) rm_write_bits(row + k * f.out.stride, 0, format);
    if (t == p->ignore_index) continue;
    const uint64_t of_g = rm_read_bits(f.g + i * f.stride_g, format), of_w = rm_read_bits(rm_nll_weight(&f, t), format);
    if (known && of_g == g_before && of_w == w_before) state.tiers.fast++;
    else before = rm_nll_gradient(&f, i, &state);
    known = 1, g_before = of_g, w_before = of_w;
    rm_write_bits(row + t * f.out.stride, before, format);
  }
  return leave(env, &state);
}
