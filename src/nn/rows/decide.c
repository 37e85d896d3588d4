#include "decide.inl" /* also device code: CUDA includes it too */
