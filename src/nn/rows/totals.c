#include "totals.inl" /* also device code: CUDA includes it too */
