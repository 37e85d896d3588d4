/* The public convolutions: implicit GEMMs that the matrix engines of the CPU run. */
#include <stdlib.h>

#include "../../../include/repmath/convolution.h"
#include "args.h"
#include "depthwise.h"
#include "im2col_view.h"

/* Copies the rows of `groups` operands, *next bytes apart, one after the other, since they are packed once for each block of
 * the result. An operand of strides, or for which there is no memory, stays as it is. The caller frees what is returned. */
static char *copy(rm_operand *o, int size, int64_t rows, int64_t depth, int64_t groups, ptrdiff_t *next) {
  const __int128 bytes = (__int128)rows * depth * groups * size;
  char *memory = o->im2col && bytes > 0 && bytes <= PTRDIFF_MAX ? malloc((size_t)bytes) : NULL;
  if (!memory) return NULL;
  const ptrdiff_t each = (ptrdiff_t)(rows * depth * size);
  for (int64_t g = 0; g < groups; g++)
    rm_im2col_fill(o->im2col, o->base + g * *next, size, 0, 0, rows, 0, depth, memory + g * each);
  *o = (rm_operand){memory, (ptrdiff_t)(depth * size), size, 0};
  *next = each;
  return memory;
}

static rm_status run(const rm_matmul_problem *p, void *context) {
  (void)context;
  return rm_conv_run(p);
}

static const rm_conv_runner runner = {run, NULL, copy, 0};

rm_status rm_conv_output_size(const rm_conv *conv, int64_t out[3]) { return rm_conv_sizes(conv, out); }

rm_status rm_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *w,
                          const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *y,
                          const ptrdiff_t *strides_y) {
  const rm_conv_call call = {format, conv, x, strides_x, w, strides_w, bias, stride_bias, y, strides_y};
  return rm_conv_forward_by(&runner, &call);
}

rm_status rm_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *strides_g, const void *w,
                             const ptrdiff_t *strides_w, const void *bias, ptrdiff_t stride_bias, void *gx,
                             const ptrdiff_t *strides_gx) {
  const rm_conv_call call = {format, conv, g, strides_g, w, strides_w, bias, stride_bias, gx, strides_gx};
  return rm_conv_grad_input_by(&runner, &call);
}

rm_status rm_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *strides_x, const void *g,
                              const ptrdiff_t *strides_g, void *gw, const ptrdiff_t *strides_gw) {
  return rm_conv_grad_weight_by(&runner, format, conv, x, strides_x, g, strides_g, gw, strides_gw);
}
