#include "exp_row.inl" /* also device code: CUDA includes it too */
