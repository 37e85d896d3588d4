/* Reports wrong arguments as programs that use BLAS expect it: such a program may have its own xerbla_ and cblas_xerbla. */
#pragma once

#include <stddef.h>

#include "../../include/repmath/core.h"

#define RM_BLAS __attribute__((visibility("default")))

/* Argument number *info of the routine is wrong. length: that of the name, which is padded with spaces. */
RM_BLAS void xerbla_(const char *name, const int *info, size_t length);
RM_BLAS void cblas_xerbla(int position, const char *routine, const char *form, ...);

/* Reports argument `position` of a routine of the C interface, called by rows or not. */
void rm_blas_wrong(int by_rows, int position, const char *routine);
/* Prints a status that is an error: BLAS has no way to return it. */
void rm_blas_report(const char *routine, rm_status status);
/* A position as the routine by columns counts it, or back. */
int rm_blas_exchanged(const char *routine, int position);
