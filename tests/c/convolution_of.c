/* One convolution of a file's two contiguous tensors: convolution_of WHAT FORMAT DIMS BATCH CHANNELS_IN CHANNELS_OUT GROUPS,
 * then three numbers each of the sizes, kernel, strides, dilations, low and high padding, and FILE; writes the result's
 * elements to FILE. WHAT: 0 forward, 1 the gradient of the input, 2 that of the weights. */
#include <stdio.h>
#include <stdlib.h>

#include "repmath/repmath.h"

typedef struct {
  int64_t sizes[5], count;
  ptrdiff_t strides[5];
  char *data;
} tensor;

static void shape(tensor *t, int dims, int64_t outer, int64_t inner, const int64_t *spatial, size_t size) {
  t->sizes[0] = outer, t->sizes[1] = inner;
  for (int k = 0; k < dims; k++) t->sizes[2 + k] = spatial[k];
  t->count = 1;
  for (int k = dims + 1; k >= 0; k--) {
    t->strides[k] = (ptrdiff_t)size * t->count;
    t->count *= t->sizes[k];
  }
  t->data = malloc(size * (size_t)t->count);
}

int main(int count, char **argument) {
  if (count != 27) return 2;
  int64_t number[26] = {0};
  for (int k = 1; k < 26; k++) number[k] = atoll(argument[k]);
  const int what = (int)number[1], format = (int)number[2], dims = (int)number[3];
  rm_conv conv = {dims, number[4], number[5], number[6], number[7], {0}, {0}, {0}, {0}, {0}, {0}};
  for (int k = 0; k < 3; k++) {
    conv.in[k] = number[8 + k], conv.kernel[k] = number[11 + k], conv.stride[k] = number[14 + k];
    conv.dilation[k] = number[17 + k], conv.padding_low[k] = number[20 + k], conv.padding_high[k] = number[23 + k];
  }
  int64_t out[3];
  if (rm_conv_output_size(&conv, out)) return 3;
  const size_t size = format == RM_FORMAT_F64 ? 8 : format == RM_FORMAT_F32 ? 4 : 2;
  tensor x, w, y;
  shape(&x, dims, conv.batch, conv.channels_in, conv.in, size);
  shape(&w, dims, conv.channels_out, conv.channels_in / conv.groups, conv.kernel, size);
  shape(&y, dims, conv.batch, conv.channels_out, out, size);
  if (!x.data || !w.data || !y.data) return 3;
  const tensor *first = what == 1 ? &y : &x, *second = what == 2 ? &y : &w, *result = what == 0 ? &y : what == 1 ? &x : &w;
  FILE *file = fopen(argument[26], "rb");
  if (!file || fread(first->data, size, (size_t)first->count, file) != (size_t)first->count ||
      fread(second->data, size, (size_t)second->count, file) != (size_t)second->count)
    return 3;
  fclose(file);
  const rm_status status =
      what == 0   ? rm_conv_forward(format, &conv, x.data, x.strides, w.data, w.strides, NULL, 0, y.data, y.strides)
      : what == 1 ? rm_conv_grad_input(format, &conv, y.data, y.strides, w.data, w.strides, NULL, 0, x.data, x.strides)
                  : rm_conv_grad_weight(format, &conv, x.data, x.strides, y.data, y.strides, w.data, w.strides);
  if (status) return 4;
  file = fopen(argument[26], "wb");
  if (!file || fwrite(result->data, size, (size_t)result->count, file) != (size_t)result->count || fclose(file)) return 5;
  free(x.data), free(w.data), free(y.data);
  return 0;
}
