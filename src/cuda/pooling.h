/* Pooling: pooling.cu has maxima and the fast phase of averages, pooling_accurate.cu their accurate phase. */
#pragma once

#include "undecided.h"

#include "../nn/rows/parallel.h"

extern "C" {
#include "../nn/pool/args.h" /* declares argument checks, which are C */
}

/* The accurate phase of averages. */
rm_status rm_pool_accurate(const rm_pool_problem &f, const rm_undecided_set &undecided, cudaStream_t stream);

namespace {

/* A result: where it and its index are stored, and its window. */
struct pool_result {
  char *y, *index;
  int64_t r[3];
  rm_pool_window window;
  __device__ pool_result(const rm_pool_problem &f, int64_t i) {
    for (int k = 2; k >= 0; k--) {
      const rm_pool_axis &a = f.axis[k];
      r[k] = i % a.results, i /= a.results;
      window.first[k] = a.first[r[k]], window.end[k] = window.first[k] + a.count[r[k]] * a.step;
    }
    const int64_t channel = i % f.channels, image = i / f.channels;
    window.pool = &f, window.plane = f.x + image * f.sx[0] + channel * f.sx[1];
    y = f.y + offset(f.sy, image, channel);
    index = f.index ? f.index + offset(f.si, image, channel) : nullptr;
  }
  __device__ int64_t offset(const ptrdiff_t *s, int64_t image, int64_t channel) const {
    return image * s[0] + channel * s[1] + r[0] * s[2] + r[1] * s[3] + r[2] * s[4];
  }
  /* Elements of a window of an average. */
  __device__ int64_t terms() const {
    int64_t n = 1;
    for (int k = 0; k < 3; k++) n *= window.end[k] - window.first[k];
    return n;
  }
  /* The divisor of an average of one term or more, and whether it is that of all terms. */
  __device__ int64_t divisor() const {
    const rm_pool_problem &f = *window.pool;
    int64_t d = 1;
    if (f.divisor) return f.divisor;
    for (int k = 0; k < 3; k++) d *= f.axis[k].divisor[f.backward ? window.first[k] : r[k]];
    return d;
  }
  __device__ bool uniform() const {
    const rm_pool_problem &f = *window.pool;
    return !f.backward || f.divisor || (f.axis[0].same[r[0]] && f.axis[1].same[r[1]] && f.axis[2].same[r[2]]);
  }
};

/* Calls of(at, a, b, c) for each element of a window: its address and its coordinates. */
template <class F> __device__ void each_of_window(const rm_pool_window &w, F of) {
  const rm_pool_problem &f = *w.pool;
  for (int64_t a = w.first[0]; a < w.end[0]; a += f.axis[0].step)
    for (int64_t b = w.first[1]; b < w.end[1]; b += f.axis[1].step)
      for (int64_t c = w.first[2]; c < w.end[2]; c += f.axis[2].step) of(rm_pool_element(&f, w.plane, a, b, c), a, b, c);
}

} // namespace
