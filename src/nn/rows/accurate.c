/* Functions that the accurate phases of operators over rows share, on the host. */
#include "decide.inl"
#include "exp_row.inl"
#include "totals.inl"
#include "wide_numbers.inl"
