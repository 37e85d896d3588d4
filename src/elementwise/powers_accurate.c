/* The accurate phases of powers with an integer: one copy serves the loops of every ISA. */
#include "../../crlibm/pown/pown_accurate.h"
#include "powers.h"

rm_accurate_power_fn *const rm_accurate_powers[RM_POWERS_COUNT] = {
#define RM_POWER(name, NAME, definition, special) rm_##name##_accurate,
#include "../../crlibm/powers.def"
#undef RM_POWER
};
