#include "normal_exact.inl" /* also device code: CUDA includes it too */
