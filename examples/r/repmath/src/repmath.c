/* R's calls of the C library. R gives arrays of doubles, by columns; a result has the attributes of its longer argument. */
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <repmath/repmath.h>

static void check(rm_status status) {
  if (status != RM_OK) error("repmath: %s", rm_status_message(status));
}

typedef rm_status one_fn(int64_t, const double *, ptrdiff_t, double *, ptrdiff_t);
typedef rm_status two_fn(int64_t, const double *, ptrdiff_t, const double *, ptrdiff_t, double *, ptrdiff_t);
enum { STEP = sizeof(double) };

static SEXP map_one(one_fn *function, SEXP x) {
  SEXP out = PROTECT(duplicate(x));
  check(function(XLENGTH(x), REAL(x), STEP, REAL(out), STEP));
  UNPROTECT(1);
  return out;
}

static SEXP map_two(two_fn *function, SEXP x, SEXP y) {
  const R_xlen_t m = XLENGTH(x), n = XLENGTH(y);
  if (m != n && m != 1 && n != 1) error("repmath: the arrays have %.0f and %.0f elements", (double)m, (double)n);
  SEXP out = PROTECT(duplicate(m == 1 && n != 1 ? y : x));
  check(function(XLENGTH(out), REAL(x), m == 1 ? 0 : STEP, REAL(y), n == 1 ? 0 : STEP, REAL(out), STEP));
  UNPROTECT(1);
  return out;
}

/* clang-format off */
#define ONE(X) \
  X(acos) X(acosh) X(acospi) X(asin) X(asinh) X(asinpi) X(atan) X(atanh) X(atanpi) X(cbrt) X(cos) X(cosh) X(cospi) \
  X(digamma) X(entr) X(erf) X(erfc) X(erfcx) X(erfinv) X(exp) X(exp10) X(exp10m1) X(exp2) X(exp2m1) X(expm1) X(gelu) \
  X(gelu_tanh) X(lgamma) X(log) X(log10) X(log10p1) X(log1p) X(log2) X(log2p1) X(log_ndtr) X(log_sigmoid) X(ndtr) \
  X(ndtri) X(rsqrt) X(sigmoid) X(silu) X(sin) X(sinh) X(sinpi) X(softplus) X(sqrt) X(tan) X(tanh) X(tanpi) X(trigamma)
/* clang-format on */
#define TWO(X) X(add) X(atan2) X(betaln) X(divide) X(hypot) X(logaddexp) X(multiply) X(pow) X(subtract) X(xlog1py) X(xlogy)
#define DEFINE_ONE(f) \
  static SEXP of_##f(SEXP x) { return map_one(rm_v##f##_f64, x); }
#define DEFINE_TWO(f) \
  static SEXP of_##f(SEXP x, SEXP y) { return map_two(rm_v##f##_f64, x, y); }
ONE(DEFINE_ONE)
TWO(DEFINE_TWO)

static SEXP statistic(rm_status (*function)(int, int64_t, const void *, ptrdiff_t, int, void *), SEXP x) {
  double out;
  check(function(RM_FORMAT_F64, XLENGTH(x), REAL(x), STEP, RM_FORMAT_F64, &out));
  return ScalarReal(out);
}
static SEXP of_sum(SEXP x) { return statistic(rm_sum, x); }
static SEXP of_mean(SEXP x) { return statistic(rm_mean, x); }
static SEXP of_norm(SEXP x) { return statistic(rm_norm, x); }

static SEXP of_dot(SEXP x, SEXP y) {
  double out;
  if (XLENGTH(x) != XLENGTH(y))
    error("repmath: the vectors have %.0f and %.0f elements", (double)XLENGTH(x), (double)XLENGTH(y));
  check(rm_dot_f64(XLENGTH(x), REAL(x), STEP, REAL(y), STEP, &out));
  return ScalarReal(out);
}

static SEXP of_matmul(SEXP x, SEXP y) {
  if (!isMatrix(x) || !isMatrix(y)) error("repmath: the arguments must be matrices");
  const int m = nrows(x), k = ncols(x), n = ncols(y);
  if (nrows(y) != k) error("repmath: x has %d columns and y %d rows", k, nrows(y));
  SEXP out = PROTECT(allocMatrix(REALSXP, m, n));
  check(rm_matmul_f64(RM_COL_MAJOR, RM_NO_TRANS, RM_NO_TRANS, m, n, k, REAL(x), m > 0 ? m : 1, REAL(y), k > 0 ? k : 1, NULL,
                      REAL(out), m > 0 ? m : 1));
  UNPROTECT(1);
  return out;
}

#define LIST_ONE(f) {#f, (DL_FUNC)of_##f, 1},
#define LIST_TWO(f) {#f, (DL_FUNC)of_##f, 2},
static const R_CallMethodDef calls[] = {ONE(LIST_ONE) TWO(LIST_TWO) LIST_ONE(sum) LIST_ONE(mean) LIST_ONE(norm) LIST_TWO(dot)
                                            LIST_TWO(matmul){NULL, NULL, 0}};

void R_init_repmath(DllInfo *info) {
  R_registerRoutines(info, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(info, FALSE);
}
