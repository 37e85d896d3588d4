/* The accurate phases of powers with an integer: one copy serves the loops of every ISA. */
#include "../../crlibm/pown/pown_accurate.h"
#include "powers.h"

rm_accurate_power_fn *const rm_accurate_powers[RM_POWER_KINDS] = {rm_pown_accurate, rm_rootn_accurate, rm_compound_accurate};
