/* The operations of vectors of double-double numbers, one lane of them, for elementwise/test_vdd.py. */
#include "../../crlibm/simd/vdd.h"

/* out = h, l, e of a operation b, which are three numbers each: sum, difference, product, quotient, and the product with the
 * number b[0]. */
void rm_test_vdd(int operation, const double *a, const double *b, double *out);
void rm_test_vdd(int operation, const double *a, const double *b, double *out) {
  const rm_vdd x = {a[0], a[1], a[2]}, y = {b[0], b[1], b[2]};
  rm_vdd r;
  if (operation == 0) r = rm_vdd_add(x, y);
  else if (operation == 1) r = rm_vdd_sub(x, y);
  else if (operation == 2) r = rm_vdd_mul(x, y);
  else if (operation == 3) r = rm_vdd_div(x, y);
  else r = rm_vdd_times(x, b[0]);
  out[0] = r.h, out[1] = r.l, out[2] = r.e;
}
