/* Checks the arguments of a call; rows of its arrays. */
#include "problem.h"

#include <string.h>

#include "../../crlibm/fp/round.h"
#include "../common/elements.h"
#include "../common/overlap.h"

enum {
  AT_FORMAT = 1,
  AT_KIND,
  AT_SIGN,
  AT_SCALE,
  AT_RANK,
  AT_SIZE,
  AT_TRANSFORMED,
  AT_X,
  AT_STRIDE_X,
  AT_OUT,
  AT_STRIDE_OUT
};

static int element_size(const rm_fft_problem *p, int real) { return rm_size_of(p->format) * (real ? 1 : 2); }

/* Whether the arrays share bytes that they must not share. */
static rm_status check_overlap(const rm_fft_problem *p, int rank, const int64_t *size, const ptrdiff_t *stride_x,
                               const ptrdiff_t *stride_out) {
  int64_t size_x[RM_FFT_RANK], size_out[RM_FFT_RANK];
  memcpy(size_x, size, (size_t)rank * sizeof *size);
  memcpy(size_out, size, (size_t)rank * sizeof *size);
  size_x[rank - 1] = p->in_last, size_out[rank - 1] = p->out_last;
  const rm_grid x = {p->x, rank, size_x, stride_x}, out = {p->out, rank, size_out, stride_out};
  const int bytes_x = element_size(p, p->kind == RM_FFT_FROM_REAL), bytes_out = element_size(p, p->kind == RM_FFT_TO_REAL);
  if (rm_grid_may_overlap_itself(&out, bytes_out) || rm_spans_meet(&x, bytes_x, &out, bytes_out))
    return RM_STATUS(RM_ERR_OVERLAP, AT_OUT);
  return RM_OK;
}

rm_status rm_fft_check(rm_fft_problem *p, int rank, const int64_t *size, int transformed, const ptrdiff_t *stride_x,
                       const ptrdiff_t *stride_out) {
  const int64_t limit = INT64_C(1) << 40;
  if (p->format != RM_F32 && p->format != RM_F64) return RM_STATUS(RM_ERR_ENUM, AT_FORMAT);
  if (p->kind < RM_FFT_COMPLEX || p->kind > RM_FFT_TO_REAL) return RM_STATUS(RM_ERR_ENUM, AT_KIND);
  if (p->scale < RM_FFT_SCALE_ONE || p->scale > RM_FFT_SCALE_N) return RM_STATUS(RM_ERR_ENUM, AT_SCALE);
  if (rank < 1 || rank > RM_FFT_RANK) return RM_STATUS(RM_ERR_SIZE, AT_RANK);
  if (transformed < 1 || transformed > rank) return RM_STATUS(RM_ERR_SIZE, AT_TRANSFORMED);
  if (!size) return RM_STATUS(RM_ERR_NULL, AT_SIZE);
  if (!stride_x) return RM_STATUS(RM_ERR_NULL, AT_STRIDE_X);
  if (!stride_out) return RM_STATUS(RM_ERR_NULL, AT_STRIDE_OUT);
  p->rank = transformed, p->batch_rank = rank - transformed, p->n = 1, p->batches = 1;
  int empty = 0;
  for (int i = 0; i < p->batch_rank; i++) {
    if (size[i] < 0) return RM_STATUS(RM_ERR_SIZE, AT_SIZE);
    empty |= size[i] == 0;
  }
  for (int i = 0; i < transformed; i++) {
    const int64_t n = size[p->batch_rank + i];
    if (n < 1 || n > limit / p->n) return RM_STATUS(RM_ERR_SIZE, AT_SIZE);
    p->n *= n;
    p->length[i] = n, p->stride_x[i] = stride_x[p->batch_rank + i], p->stride_out[i] = stride_out[p->batch_rank + i];
  }
  const int64_t last = p->length[transformed - 1];
  p->rows = p->n / last;
  p->in_last = p->kind == RM_FFT_TO_REAL ? last / 2 + 1 : last;
  p->out_last = p->kind == RM_FFT_FROM_REAL ? last / 2 + 1 : last;
  if (empty) {
    p->batches = 0;
    return RM_OK;
  }
  for (int i = 0; i < p->batch_rank; i++) {
    if (size[i] > INT64_MAX / 2 / p->batches) return RM_STATUS(RM_ERR_SIZE, AT_SIZE);
    p->batches *= size[i];
    p->batch_size[i] = size[i], p->batch_x[i] = stride_x[i], p->batch_out[i] = stride_out[i];
  }
  if (!p->x) return RM_STATUS(RM_ERR_NULL, AT_X);
  if (!p->out) return RM_STATUS(RM_ERR_NULL, AT_OUT);
  return check_overlap(p, rank, size, stride_x, stride_out);
}

/* The distance of element number i of an array of this shape. */
static ptrdiff_t distance(int rank, const int64_t *size, const ptrdiff_t *stride, int64_t i) {
  ptrdiff_t d = 0;
  for (int axis = rank - 1; axis >= 0 && i; axis--) {
    d += (ptrdiff_t)(i % size[axis]) * stride[axis];
    i /= size[axis];
  }
  return d;
}
const char *rm_fft_input(const rm_fft_problem *p, int64_t batch) {
  return p->x + distance(p->batch_rank, p->batch_size, p->batch_x, batch);
}
char *rm_fft_output(const rm_fft_problem *p, int64_t batch) {
  return p->out + distance(p->batch_rank, p->batch_size, p->batch_out, batch);
}
ptrdiff_t rm_fft_row_x(const rm_fft_problem *p, int64_t row) { return distance(p->rank - 1, p->length, p->stride_x, row); }
ptrdiff_t rm_fft_row_out(const rm_fft_problem *p, int64_t row) {
  return distance(p->rank - 1, p->length, p->stride_out, row);
}

RM_FN void read_row(const rm_fft_problem *p, const char *at, double *re, double *im, int64_t step, const int format) {
  const ptrdiff_t stride = p->stride_x[p->rank - 1];
  const int size = rm_size_of(format);
  const int64_t count = p->in_last;
  if (p->kind == RM_FFT_FROM_REAL)
    for (int64_t j = 0; j < count; j++) re[j * step] = rm_read_element(at + j * stride, format), im[j * step] = 0.0;
  else if (stride == 2 * size && step == 1) /* constant strides, for vectors */
    for (int64_t j = 0; j < count; j++)
      re[j] = rm_read_element(at + j * 2 * size, format), im[j] = rm_read_element(at + j * 2 * size + size, format);
  else
    for (int64_t j = 0; j < count; j++)
      re[j * step] = rm_read_element(at + j * stride, format), im[j * step] = rm_read_element(at + j * stride + size, format);
}

void rm_fft_read_row(const rm_fft_problem *p, const char *x, int64_t row, double *re, double *im, int64_t step) {
  const char *const at = x + rm_fft_row_x(p, row);
  if (p->format == RM_F32) read_row(p, at, re, im, step, RM_F32);
  else read_row(p, at, re, im, step, RM_F64);
  for (int64_t j = p->in_last; j < p->length[p->rank - 1]; j++) re[j * step] = im[j * step] = 0.0;
}

void rm_fft_write(const rm_fft_problem *p, char *out, int64_t k, int imaginary, uint64_t bits) {
  const int64_t last = p->length[p->rank - 1];
  char *const at = out + rm_fft_row_out(p, k / last) + (ptrdiff_t)(k % last) * p->stride_out[p->rank - 1];
  rm_write_bits(at + imaginary * rm_size_of(p->format), bits, p->format);
}
