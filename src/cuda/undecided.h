/* The elements or rows that a fast phase leaves undecided, and the workers that compute them in the accurate phase.
 *
 * The first RM_LISTED of them are listed in the order in which they come, the others are bits of a map. A worker takes one of
 * the list when it is done with the last one, so that the time depends on how many there are, not on where they lie. Which
 * worker takes which is left to chance, and no result depends on it.
 *
 * A worker on elements is a warp of which one thread runs: it computes with numbers of any precision, limb by limb, and
 * threads of a warp that take different ways wait for each other. Each has a second stack for such numbers
 * (crlibm/enclosure/limbs.h) in memory of the stream. */
#ifndef RM_CUDA_UNDECIDED_H /* a name, so that a test can put a changed copy in its place */
#define RM_CUDA_UNDECIDED_H

#include "launch.h"

#include "../../crlibm/enclosure/limbs.h"
#include "../../crlibm/fp/bits.h"

#ifndef RM_CFG_LISTED
#define RM_CFG_LISTED (1 << 16)
#endif
enum { RM_LISTED = RM_CFG_LISTED, RM_MAP_PART = 1024 /* elements of the map that a worker takes together */ };

/* How many there are, and how many were taken by workers that had one before. */
struct rm_undecided_counts {
  unsigned long long count, taken;
};

/* Of n elements. Behind the counts lie the map and the list. all: every element, whatever is listed. */
struct rm_undecided_set {
  int64_t n;
  rm_undecided_counts *counts;
  bool all;
  static size_t cleared(int64_t n) { return sizeof(rm_undecided_counts) + 8 * static_cast<size_t>((n + 63) / 64); }
  static size_t bytes(int64_t n) { return cleared(n) + 8 * static_cast<size_t>(n < RM_LISTED ? n : RM_LISTED); }
  __host__ __device__ uint32_t *map() const { return reinterpret_cast<uint32_t *>(counts + 1); }
  __host__ __device__ int64_t words() const { return (n + 31) / 32; }
  __device__ int64_t *list() const { return reinterpret_cast<int64_t *>(map() + 2 * ((n + 63) / 64)); }
  /* Whether the list had room. */
  __device__ bool take_down(int64_t i) const {
    const unsigned long long k = atomicAdd(&counts->count, 1ull);
    if (k < RM_LISTED) list()[k] = i;
    return k < RM_LISTED;
  }
  __device__ void add(int64_t i) const {
    if (!take_down(i)) atomicOr(map() + i / 32, 1u << (i % 32));
  }
  /* The same for elements that are in the map already: `bits` of a word that no other thread changes. */
  __device__ void list_bits(int64_t word, uint32_t bits) const {
    uint32_t left = 0;
    for (; bits; bits &= bits - 1) {
      const int64_t k = rm_ctz64(bits);
      if (!take_down(word * 32 + k)) left |= 1u << k;
    }
    map()[word] = left;
  }
};

namespace {

/* Begins with all elements or none. RM_ERR_DEVICE: there is no memory. */
rm_status undecided_begin(rm_undecided_set *undecided, const workspace &work, int64_t n, bool all) {
  if (!work.fill(0, rm_undecided_set::cleared(n))) return RM_ERR_DEVICE;
  *undecided = rm_undecided_set{n, static_cast<rm_undecided_counts *>(work.data), all};
  return RM_OK;
}

/* The k-th piece of work: elements from `first` to `end`, of which the map tells which where `mapped`. false: there are fewer
 * pieces. */
struct undecided_piece {
  int64_t first, end;
  bool mapped;
};
__device__ inline bool undecided_piece_of(const rm_undecided_set &undecided, int64_t k, undecided_piece *piece) {
  const int64_t count = undecided.all ? undecided.n : static_cast<int64_t>(undecided.counts->count);
  const int64_t listed = undecided.all || count < RM_LISTED ? count : RM_LISTED;
  if (k < listed) {
    const int64_t i = undecided.all ? k : undecided.list()[k];
    *piece = undecided_piece{i, i + 1, false};
    return true;
  }
  const int64_t first = (k - listed) * RM_MAP_PART;
  if (count == listed || first >= undecided.n) return false;
  *piece = undecided_piece{first, first + RM_MAP_PART < undecided.n ? first + RM_MAP_PART : undecided.n, true};
  return true;
}
template <class F> __device__ void each_of_piece(const rm_undecided_set &undecided, const undecided_piece &piece, F f) {
  for (int64_t i = piece.first; i < piece.end;) {
    if (piece.mapped && i % 32 == 0 && !undecided.map()[i / 32]) {
      i += 32;
      continue;
    }
    if (!piece.mapped || undecided.map()[i / 32] >> (i % 32) & 1u) f(i);
    i++;
  }
}
__device__ inline int64_t next_piece(const rm_undecided_set &undecided, int64_t workers) {
  return workers + static_cast<int64_t>(atomicAdd(&undecided.counts->taken, 1ull));
}

/* Calls f(i) for those that one worker takes. */
template <class F>
__device__ void each_undecided_of(const rm_undecided_set &undecided, int64_t worker, int64_t workers, F f) {
  undecided_piece piece;
  for (int64_t k = worker; undecided_piece_of(undecided, k, &piece); k = next_piece(undecided, workers))
    each_of_piece(undecided, piece, f);
}
/* The same with each thread of the grid as a worker. */
template <class F> __device__ void each_undecided(const rm_undecided_set &undecided, F f) {
  each_undecided_of(undecided, static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x,
                    static_cast<int64_t>(gridDim.x) * blockDim.x, f);
}
/* With each block of threads as a worker, all of which call f(i) together. */
template <class F> __device__ void each_undecided_of_block(const rm_undecided_set &undecided, F f) {
  __shared__ int64_t next;
  undecided_piece piece;
  for (int64_t k = blockIdx.x; undecided_piece_of(undecided, k, &piece); k = next) {
    each_of_piece(undecided, piece, f);
    __syncthreads(); /* all have read the last one */
    if (threadIdx.x == 0) next = next_piece(undecided, gridDim.x);
    __syncthreads();
  }
}

/* The workers of an accurate phase over n elements, blocks of one thread. They are few, since each has a stack of `bytes` for
 * big numbers. */
struct big_workers {
  int64_t count, bytes;
  big_workers(int64_t n, int64_t bytes_each) : count(n < 1024 ? n : 1024), bytes(bytes_each) {
    const int64_t room = (INT64_C(48) << 20) / bytes;
    if (count > room) count = room;
  }
  size_t memory() const { return static_cast<size_t>(count * bytes); }
};
__device__ inline void big_begin(char *memory, int64_t bytes) {
  rm_big_begin(memory + static_cast<int64_t>(blockIdx.x) * bytes, bytes);
}

} // namespace

#endif
