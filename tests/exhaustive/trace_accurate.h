/* The inputs that the fast f32 kernels left undecided. */
#ifndef RM_EXHAUSTIVE_TRACE_ACCURATE_H
#define RM_EXHAUSTIVE_TRACE_ACCURATE_H

#include <stdint.h>

enum { TRACE_CAPACITY = 1 << 25 }; /* silu has 2^24 subnormal results that the accurate phase decides */
extern uint64_t trace_count; /* may exceed the capacity */
extern float trace_inputs[TRACE_CAPACITY];

#endif
