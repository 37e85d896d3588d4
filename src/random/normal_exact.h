/* Rounds normal random numbers that the fast phase leaves undecided (normal_exact.inl, compiled once). */
#pragma once

#include "../../crlibm/config.h"

/* The bits of RN(mean + std Phi^-1((k + 1/2) 2^-64)), std >= 0, both finite; guess, a number near it. Returns RM_FLAG_* bits
 * in *flags. */
RM_HOST_EXTERN uint64_t rm_normal_exactly(uint64_t k, double mean, double std, double guess, int format, uint32_t *flags);
