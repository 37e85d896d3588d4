#include "vector_facts.inl" /* also device code: CUDA includes it too */
