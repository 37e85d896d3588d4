#include "normalize.inl" /* also device code: CUDA includes it too */
