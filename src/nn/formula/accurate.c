#include "accurate.inl" /* also device code: CUDA includes it too */
