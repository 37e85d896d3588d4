/* What the accurate phase of operators over rows shares, on the host. */
#include "decide.inl"
#include "exp_row.inl"
#include "totals.inl"
