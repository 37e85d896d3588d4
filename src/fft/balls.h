/* Single parts of a transform by balls (crlibm/enclosure/ball.h), with any precision that these have. */
#pragma once

#include "../../crlibm/enclosure/ball.h"
#include "problem.h"

/* The elements of a transform, sorted by the root of unity that they are multiplied by in result k. */
typedef struct {
  int64_t m;           /* roots of unity: e^(sign 2 pi i t/m), t < m */
  int64_t *head, *next; /* the elements of root t: head[t], next[head[t]] ...; -1 ends */
} rm_fft_terms;

/* 0: no memory. */
int rm_fft_terms_make(rm_fft_terms *terms, const rm_fft_problem *p, int64_t k);
void rm_fft_terms_free(rm_fft_terms *terms);

/* The real or imaginary part of the sum, times the factor of the problem, with n limbs. */
void rm_fft_part_ball(rm_ball *r, const rm_fft_problem *p, const rm_fft_terms *terms, const double *re, const double *im,
                      int imaginary, int n);
/* x times the factor of the problem. */
void rm_fft_factor_ball(rm_ball *r, const rm_ball *x, const rm_fft_problem *p);
