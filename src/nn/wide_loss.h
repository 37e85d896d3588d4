/* Losses element by element that start in double-double (decide.h): bce.c, kl_div.c. */
#ifndef RM_NN_WIDE_LOSS_H
#define RM_NN_WIDE_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "../reduce/elements.h"
#include "decide.h"

enum { RM_WIDE_LOSS_INPUTS = 5 };

typedef struct rm_wide_loss rm_wide_loss;

/* Values are those of a const rm_wide_loss * and an index; total is the sum of all, divided, over the elements where holds() is true. */
typedef struct {
  rm_near_value_fn *value_near, *gradient_near, *total_near;
  rm_ball_value_fn *value_ball, *gradient_ball, *total_ball;
  int (*holds)(const rm_wide_loss *f, int64_t i, int gradient);    /* the formula does, of numbers that are finite where it takes them */
  double (*limit)(const rm_wide_loss *f, int64_t i, int gradient); /* elsewhere: NaN, an infinity, or 0 */
} rm_wide_loss_kind;

struct rm_wide_loss {
  const rm_wide_loss_kind *kind;
  int format, reduction, option;
  int64_t n, count; /* count: what a mean divides by, else 1 */
  rm_row_array in[RM_WIDE_LOSS_INPUTS], out; /* an input that is missing counts as 1 */
  double top; /* m of a sum in kl_div.c, which also has the option log_target */
};

static inline rm_row_array rm_wide_loss_line(const void *base, ptrdiff_t stride) {
  return (rm_row_array){(char *)(uintptr_t)base, 0, stride};
}
static inline double rm_wide_loss_read(const rm_wide_loss *f, int k, int64_t i) {
  return f->in[k].base ? rm_read_element(f->in[k].base + i * f->in[k].stride, f->format) : 1.0;
}

/* Clears f for n elements. Positions: format 1, reduction 2, n `at_n`. */
rm_status rm_wide_loss_begin(rm_wide_loss *f, const rm_wide_loss_kind *kind, int format, int reduction, int64_t n, int at_n);
/* Each element's result. RM_ERR_OVERLAP at `at_out`. */
rm_status rm_wide_loss_each(rm_wide_loss *f, int gradient, int at_out);
/* The sum, or the sum over count: NaN for 0/0. */
void rm_wide_loss_total(rm_wide_loss *f);

#endif
