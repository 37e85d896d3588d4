/* A stable radix sort of draws by their leading bits, 8 bits a pass, the lowest of them first.
 *
 * In a pass each block counts the digits of its tile; counts become beginnings, by digit, then by tile; each block sorts its
 * tile by the digit, and moves it. Every position follows from counts alone, so that the order of threads has no effect. */
#pragma once

#include "launch.h"

#include "../random/permutation_order.h"

namespace {

#ifndef RM_CFG_SORT_THREADS
#define RM_CFG_SORT_THREADS 256 /* a power of two */
#endif
enum {
  RM_SORT_THREADS = RM_CFG_SORT_THREADS,
  RM_SORT_ITEMS = 8, /* of a thread */
  RM_SORT_TILE = RM_SORT_THREADS * RM_SORT_ITEMS,
  RM_SORT_DIGITS = 256,
  RM_SORT_HALF = 16 /* a tile is sorted by half a digit at a time: counts for each thread fit its shared memory */
};

typedef unsigned long long sort_count;

/* n draws; count: the tiles' counts of each digit, then where each tile begins within the digit; begin: where each digit
 * begins. */
struct radix_pass {
  int64_t n, tiles;
  const rm_drawn *from;
  rm_drawn *to;
  int shift;
  sort_count *count, *begin;
  __device__ unsigned digit(const rm_drawn &d) const { return static_cast<unsigned>(d.draw >> shift) % RM_SORT_DIGITS; }
  __device__ int tile_size(int64_t tile) const {
    const int64_t rest = n - tile * RM_SORT_TILE;
    return rest < RM_SORT_TILE ? static_cast<int>(rest) : static_cast<int>(RM_SORT_TILE);
  }
};

/* The sum of the values of the threads before this one; *total: of all. */
template <class T> __device__ T sum_before(T mine, T *total) {
  __shared__ T part[RM_SORT_THREADS];
  const int t = static_cast<int>(threadIdx.x);
  __syncthreads();
  part[t] = mine;
  for (int apart = 1; apart < RM_SORT_THREADS; apart *= 2) {
    __syncthreads();
    const T before = t >= apart ? part[t - apart] : 0;
    __syncthreads();
    part[t] += before;
  }
  __syncthreads();
  *total = part[RM_SORT_THREADS - 1];
  return part[t] - mine;
}

/* A block replaces each of n numbers by the sum of those before it; returns that of all. */
__device__ sort_count to_sums_before(sort_count *v, int64_t n) {
  sort_count sum = 0;
  for (int64_t first = 0; first < n; first += RM_SORT_THREADS) {
    const int64_t i = first + threadIdx.x;
    sort_count all;
    const sort_count mine = i < n ? v[i] : 0, before = sum_before(mine, &all);
    if (i < n) v[i] = sum + before;
    sum += all;
  }
  return sum;
}

__global__ void __launch_bounds__(RM_SORT_THREADS) digits_kernel(radix_pass p) {
  __shared__ unsigned count[RM_SORT_DIGITS];
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    for (int d = static_cast<int>(threadIdx.x); d < RM_SORT_DIGITS; d += RM_SORT_THREADS) count[d] = 0;
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < p.tile_size(tile); i += RM_SORT_THREADS)
      atomicAdd(&count[p.digit(p.from[tile * RM_SORT_TILE + i])], 1u);
    __syncthreads();
    for (int d = static_cast<int>(threadIdx.x); d < RM_SORT_DIGITS; d += RM_SORT_THREADS)
      p.count[d * p.tiles + tile] = count[d];
    __syncthreads();
  }
}

/* Each block has one digit. */
__global__ void __launch_bounds__(RM_SORT_THREADS) tiles_kernel(radix_pass p) {
  const sort_count sum = to_sums_before(p.count + blockIdx.x * p.tiles, p.tiles);
  if (threadIdx.x == 0) p.begin[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(RM_SORT_THREADS) begin_kernel(radix_pass p) {
  (void)to_sums_before(p.begin, RM_SORT_DIGITS);
}

/* Sorts a tile by half of its digit, stably; each thread has RM_SORT_ITEMS neighbours. Items beyond the end have digits of
 * all ones and stay last. */
__device__ void sort_tile(rm_drawn *tile, uint16_t *count, const radix_pass &p, int size, int half) {
  const int t = static_cast<int>(threadIdx.x);
  rm_drawn mine[RM_SORT_ITEMS];
  unsigned digit[RM_SORT_ITEMS], place[RM_SORT_ITEMS], sum = 0, all;
  for (int d = 0; d < RM_SORT_HALF; d++) count[d * RM_SORT_THREADS + t] = 0;
  for (int k = 0; k < RM_SORT_ITEMS; k++) {
    const int i = t * RM_SORT_ITEMS + k;
    mine[k] = tile[i];
    digit[k] = i < size ? p.digit(mine[k]) >> 4 * half & (RM_SORT_HALF - 1u) : RM_SORT_HALF - 1u;
    place[k] = count[digit[k] * RM_SORT_THREADS + t]++;
  }
  __syncthreads();
  uint16_t *const row = count + t * RM_SORT_HALF; /* as many counts as threads have digits, in the order of all counts */
  for (int k = 0; k < RM_SORT_HALF; k++) sum += row[k];
  unsigned before = sum_before(sum, &all);
  for (int k = 0; k < RM_SORT_HALF; k++) {
    const unsigned c = row[k];
    row[k] = static_cast<uint16_t>(before); /* at most RM_SORT_TILE */
    before += c;
  }
  __syncthreads();
  for (int k = 0; k < RM_SORT_ITEMS; k++) tile[count[digit[k] * RM_SORT_THREADS + t] + place[k]] = mine[k];
  __syncthreads();
}

__global__ void __launch_bounds__(RM_SORT_THREADS) move_kernel(radix_pass p) {
  __shared__ rm_drawn tile[RM_SORT_TILE];
  __shared__ uint16_t count[RM_SORT_HALF * RM_SORT_THREADS];
  __shared__ unsigned start[RM_SORT_DIGITS];
  const int t = static_cast<int>(threadIdx.x);
  for (int64_t at = blockIdx.x; at < p.tiles; at += gridDim.x) {
    const int size = p.tile_size(at);
    for (int i = t; i < size; i += RM_SORT_THREADS) tile[i] = p.from[at * RM_SORT_TILE + i];
    __syncthreads();
    sort_tile(tile, count, p, size, 0);
    sort_tile(tile, count, p, size, 1);
    for (int i = t; i < size; i += RM_SORT_THREADS)
      if (i == 0 || p.digit(tile[i]) != p.digit(tile[i - 1])) start[p.digit(tile[i])] = static_cast<unsigned>(i);
    __syncthreads();
    for (int i = t; i < size; i += RM_SORT_THREADS) {
      const unsigned d = p.digit(tile[i]);
      p.to[p.begin[d] + p.count[d * p.tiles + at] + static_cast<unsigned>(i) - start[d]] = tile[i];
    }
    __syncthreads();
  }
}

/* Sorts the n draws of a by their leading `bits`, a multiple of 8, and returns a or b, whichever has them then. count: room
 * for sort_room(n) numbers. */
int64_t sort_tiles(int64_t n) { return (n + RM_SORT_TILE - 1) / RM_SORT_TILE; }
int64_t sort_room(int64_t n) { return RM_SORT_DIGITS * (sort_tiles(n) + 1); }
rm_drawn *radix_sort(int64_t n, int bits, rm_drawn *a, rm_drawn *b, sort_count *count, cudaStream_t stream) {
  const int64_t tiles = sort_tiles(n), blocks = tiles < 65536 ? tiles : 65536;
  for (int shift = 64 - bits; shift < 64; shift += 8) {
    const radix_pass p = {n, tiles, a, b, shift, count, count + RM_SORT_DIGITS * tiles};
    RM_LAUNCH(digits_kernel, blocks, RM_SORT_THREADS, stream, p);
    RM_LAUNCH(tiles_kernel, RM_SORT_DIGITS, RM_SORT_THREADS, stream, p);
    RM_LAUNCH(begin_kernel, 1, RM_SORT_THREADS, stream, p);
    RM_LAUNCH(move_kernel, blocks, RM_SORT_THREADS, stream, p);
    rm_drawn *const sorted = b;
    b = a, a = sorted;
  }
  return a;
}

} // namespace
