#include "im2col_view.inl" /* also device code: CUDA includes it too */
