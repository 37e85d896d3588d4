/* The elements or rows that a fast phase leaves undecided, and the few threads that compute them in the accurate phase, each
 * with a second stack for big numbers (crlibm/enclosure/limbs.h) in memory of the stream. */
#pragma once

#include "launch.h"

#include "../../crlibm/enclosure/limbs.h"

/* A bitmap of n elements or rows, and a bit for each of its words: few bits are set, so that most words are skipped. */
struct rm_undecided_set {
  int64_t n;
  uint32_t *bits, *words;
  static size_t bytes(int64_t n) { return 4 * static_cast<size_t>((n + 31) / 32 + (n + 1023) / 1024); }
  __device__ void add(int64_t i) const {
    atomicOr(bits + i / 32, 1u << (i % 32));
    atomicOr(words + i / 1024, 1u << (i / 32 % 32));
  }
};

namespace {

/* Begins with all elements or none. RM_ERR_DEVICE: there is no memory. */
rm_status undecided_begin(rm_undecided_set *undecided, const workspace &work, int64_t n, bool all) {
  if (!work.fill(all ? 0xff : 0, rm_undecided_set::bytes(n))) return RM_ERR_DEVICE;
  *undecided = rm_undecided_set{n, static_cast<uint32_t *>(work.data), static_cast<uint32_t *>(work.data) + (n + 31) / 32};
  return RM_OK;
}

/* Calls f(i) for each set bit of one worker's share: every `workers`-th bit, or runs of bits where the bitmap is large. */
template <class F>
__device__ void each_undecided_of(const rm_undecided_set &undecided, int64_t worker, int64_t workers, F f) {
  const int64_t unit = undecided.n >= 1 << 22 ? 1024 : undecided.n >= 1 << 17 ? 32 : 1;
  for (int64_t first = worker * unit; first < undecided.n; first += workers * unit)
    for (int64_t i = first; i < first + unit && i < undecided.n;) {
      if (i % 1024 == 0 && !undecided.words[i / 1024]) {
        i += 1024;
      } else if (i % 32 == 0 && !undecided.bits[i / 32]) {
        i += 32;
      } else {
        if (undecided.bits[i / 32] >> (i % 32) & 1u) f(i);
        i++;
      }
    }
}

/* The same with each thread of the grid as a worker. */
template <class F> __device__ void each_undecided(const rm_undecided_set &undecided, F f) {
  each_undecided_of(undecided, static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                    static_cast<int64_t>(gridDim.x) * blockDim.x, f);
}

/* The threads of an accurate phase over n elements. They are few, since each has a stack of `bytes` for big numbers. */
struct big_threads {
  int64_t blocks, bytes;
  big_threads(int64_t n, int64_t bytes_each) : bytes(bytes_each) {
    blocks = (n + RM_BIG_THREADS - 1) / RM_BIG_THREADS;
    if (blocks > 8) blocks = 8;
  }
  size_t memory() const { return static_cast<size_t>(blocks * RM_BIG_THREADS * bytes); }
};
__device__ inline void big_begin(char *memory, int64_t bytes) {
  rm_big_begin(memory + (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * bytes, bytes);
}

} // namespace
