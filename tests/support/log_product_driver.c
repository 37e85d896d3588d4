/* The evaluations of xlogy and xlog1py, for elementwise/test_log_products.py; in double-double out = hi, lo, err. */
#include "../../crlibm/xlog1py/xlog1py_accurate.h"

void rm_test_xlogy_dd(double x, double y, double *out);
void rm_test_xlogy_dd(double x, double y, double *out) { rm_xlogy_dd(x, y, out, out + 1, out + 2); }

void rm_test_xlog1py_dd(double x, double y, double *out);
void rm_test_xlog1py_dd(double x, double y, double *out) { rm_xlog1py_dd(x, y, out, out + 1, out + 2); }

double rm_test_xlogy_b64(double x, double y);
double rm_test_xlogy_b64(double x, double y) { return rm_xlogy_eval(x, y); }

double rm_test_xlog1py_b64(double x, double y);
double rm_test_xlog1py_b64(double x, double y) { return rm_xlog1py_eval(x, y); }
