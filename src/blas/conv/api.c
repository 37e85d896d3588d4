/* The public convolutions: implicit GEMMs that the matrix engines of the CPU run. */
#include <stdlib.h>

#include "../../../include/repmath/convolution.h"
#include "../../../include/repmath/rounding.h"
#include "../../common/rounding_words.h"
#include "args.h"
#include "../gemm/matmul.h"
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

/* --- rounded at random */

typedef struct {
  const rm_random_rounding *r;
  const char *origin;
} random_run;

static rm_status run_at_random(const rm_matmul_problem *given, void *context) {
  const random_run *c = context;
  rm_matmul_problem p = *given;
  p.random = *c->r, p.origin = c->origin;
  return rm_matmul_run(&p);
}

rm_status rm_random_conv(int format, const rm_conv *conv, const void *first, const ptrdiff_t *strides_first,
                         const void *second, const ptrdiff_t *strides_second, const void *bias, ptrdiff_t stride_bias,
                         void *out, int part, const rm_random_rounding *r) {
  enum { AT_OUT = 9, AT_PART, AT_R, AXES = 5 };
  int64_t size[AXES], count = 1;
  ptrdiff_t strides[AXES];
  if (format < RM_FORMAT_F16 || format > RM_FORMAT_F32) return RM_STATUS(RM_ERR_ENUM, 1);
  if (part < RM_CONV_FORWARD || part > RM_CONV_GRAD_WEIGHT) return RM_STATUS(RM_ERR_ENUM, AT_PART);
  rm_status status = rm_conv_sizes(conv, size + 2);
  if (status) return status;
  if (part != RM_CONV_FORWARD)
    for (int d = 0; d < conv->dims; d++) size[2 + d] = part == RM_CONV_GRAD_INPUT ? conv->in[d] : conv->kernel[d];
  size[0] = part == RM_CONV_GRAD_WEIGHT ? conv->channels_out : conv->batch;
  size[1] =
      part == RM_CONV_FORWARD ? conv->channels_out : conv->channels_in / (part == RM_CONV_GRAD_INPUT ? 1 : conv->groups);
  for (int d = conv->dims + 1; d >= 0; d--) {
    strides[d] = (ptrdiff_t)count * rm_size_of(format);
    if (size[d] > 0 && count > (INT64_C(1) << 58) / size[d]) return RM_STATUS(RM_ERR_SIZE, 2);
    count *= size[d];
  }
  status = rm_rounding_check(r, count, AT_R);
  if (status) return status;
  if (r->mode == RM_ROUND_UP_DOWN || rm_is_directed(r->mode)) return RM_STATUS(RM_ERR_ENUM, AT_R);
  if (count > 0 && !out) return RM_STATUS(RM_ERR_NULL, AT_OUT);
  random_run c = {r, out};
  const rm_conv_runner at_random = {run_at_random, &c, copy, 0};
  if (part == RM_CONV_GRAD_WEIGHT)
    return rm_conv_grad_weight_by(&at_random, format, conv, first, strides_first, second, strides_second, out, strides);
  const rm_conv_call call = {format, conv, first, strides_first, second, strides_second, bias, stride_bias, out, strides};
  return part == RM_CONV_FORWARD ? rm_conv_forward_by(&at_random, &call) : rm_conv_grad_input_by(&at_random, &call);
}
