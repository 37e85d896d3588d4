#include "statistics_exact.inl" /* also device code: CUDA includes it too */
