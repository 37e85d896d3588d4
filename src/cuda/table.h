/* Tables of functions of one 16-bit number (table.cu). */
#pragma once

#include "launch.h"

enum { RM_TABLE_NUMBERS = 65536 };

/* All numbers, in their order. */
void rm_cuda_all_numbers(uint16_t *x, cudaStream_t stream);

/* y[i] = table[x[i]] of numbers that lie one after the other. All addresses are multiples of 16; y may be x. */
rm_status rm_cuda_look_up(int64_t n, const uint16_t *x, const uint16_t *table, uint16_t *y, cudaStream_t stream);
