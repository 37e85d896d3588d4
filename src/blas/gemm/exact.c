#include "exact.inl" /* also device code: CUDA includes it too */
