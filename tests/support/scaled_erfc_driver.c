/* The double-double evaluations of erfcx and log_ndtr, for elementwise/test_scaled_erfc.py: out = hi, lo, err. */
#include "../../crlibm/erfcx/erfcx_accurate.h"
#include "../../crlibm/log_ndtr/log_ndtr_accurate.h"

void rm_test_erfcx_dd(double x, double *out);
void rm_test_erfcx_dd(double x, double *out) {
  if (x > RM_ERFCX_DD_MAX) rm_erfcx_far_dd(x, 0, out, out + 1, out + 2);
  else rm_erfcx_dd(x, out, out + 1, out + 2);
}
void rm_test_log_ndtr_dd(double x, double *out);
void rm_test_log_ndtr_dd(double x, double *out) {
  if (x < RM_LOG_NDTR_DD_MIN) rm_log_ndtr_far_dd(x, out, out + 1, out + 2);
  else rm_log_ndtr_dd(x, out, out + 1, out + 2);
}
/* Half the scaled erfc of x/sqrt(2), by its asymptotic series. */
void rm_test_half_dd(double x, double *out);
void rm_test_half_dd(double x, double *out) { rm_erfcx_far_dd(x, 1, out, out + 1, out + 2); }
