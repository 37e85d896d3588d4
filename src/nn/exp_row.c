#include "exp_row.h"

RM_SHARED void rm_exp_row_begin(rm_exp_row *r, int64_t n, const double *x, double m) {
  r->n = n;
  r->x = x;
  r->m = m;
  r->at = rm_row_first(n, x, m);
  r->limbs_near = r->limbs_ball = -1;
  r->only_tail = -1;
  for (int64_t k = 0; k < n; k++) {
    if (k == r->at || x[k] - x[k] != 0.0) continue;
    if (x[k] - m >= RM_EXP_TAIL) {
      r->only_tail = 0;
      break;
    }
    r->only_tail = 1;
  }
}
