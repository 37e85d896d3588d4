/* Reports wrong arguments (errors.h), and has xerbla_ and cblas_xerbla for programs that have none. */
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The routine that found the error returns and writes nothing. */
RM_BLAS __attribute__((weak)) void xerbla_(const char *name, const int *info, size_t length) {
  fprintf(stderr, "repmath_blas: argument %d of %.*s has an illegal value\n", *info, (int)length, name);
}

/* As in the reference, where routines by rows call those by columns with their operands exchanged: RowMajorStrg says that a
 * position was found there and is counted in that order. Test programs of netlib set and read both variables. */
extern RM_BLAS int RowMajorStrg, CBLAS_CallFromC;
int RowMajorStrg, CBLAS_CallFromC;

int rm_blas_exchanged(const char *routine, int position) {
  static const struct {
    const char *name;
    int pair[2];
  } exchanged[] = {{"gemm", {4, 5}}, {"gemm", {9, 11}}, {"gemv", {3, 4}}};
  for (size_t i = 0; i < sizeof exchanged / sizeof *exchanged; i++)
    for (int k = 0; k < 2; k++)
      if (strstr(routine, exchanged[i].name) && position == exchanged[i].pair[k]) return exchanged[i].pair[!k];
  return position;
}

RM_BLAS __attribute__((weak)) void cblas_xerbla(int position, const char *routine, const char *form, ...) {
  va_list arguments;
  if (RowMajorStrg) position = rm_blas_exchanged(routine, position);
  va_start(arguments, form);
  fprintf(stderr, "repmath_blas: argument %d of %s has an illegal value\n", position, routine);
  vfprintf(stderr, form, arguments);
  va_end(arguments);
}

void rm_blas_wrong(int by_rows, int position, const char *routine) {
  const int before = RowMajorStrg;
  RowMajorStrg = by_rows;
  cblas_xerbla(by_rows ? rm_blas_exchanged(routine, position) : position, routine, "");
  RowMajorStrg = before;
}

void rm_blas_report(const char *routine, rm_status status) {
  if (status) fprintf(stderr, "repmath_blas: %s did nothing: %s\n", routine, rm_status_message(status));
}
