/* The problem of a call of random numbers: its checked arguments, and what the host computes from them alone. Statuses name
 * the arguments of the public functions (include/repmath/random.h). The loops take a problem only if its status is RM_OK. */
#pragma once

#include "../../include/repmath/core.h"
#include "kernels.h"

/* The elements that a call writes; each of the functions below adds the rest. */
rm_random_problem rm_random_elements(uint64_t seed, uint64_t stream, int64_t first, int64_t n, void *out, ptrdiff_t stride);

/* Words and permutations; size: bytes of a result. */
rm_status rm_words_problem(const rm_random_problem *p, int size);

rm_status rm_uniform_problem(rm_random_problem *p, int format, double low, double high);
rm_status rm_normal_problem(rm_random_problem *p, int format, double mean, double std);
rm_status rm_truncated_problem(rm_random_problem *p, int format, double mean, double std, double low, double high);
rm_status rm_bernoulli_problem(rm_random_problem *p, double probability);
rm_status rm_dropout_problem(rm_random_problem *p, int format, double probability, const void *x, ptrdiff_t stride_x);
rm_status rm_integers_problem(rm_random_problem *p, int64_t low, int64_t last);
