#include "superaccumulator.inl" /* also device code: CUDA includes it too */
