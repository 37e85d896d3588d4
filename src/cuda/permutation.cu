/* Permutations: draws are sorted by so many leading bits that few have them in common; each number then counts the draws
 * before it among those that do, in the CPU's order (random/permutation_order.h).
 *
 * Workspace: 32 bytes a number, one more for counts, and at least 2 KB. */
extern "C" {
#include "../random/args.h" /* compiled for the host, as C */
}

#include "radix_sort.h"

namespace {

__global__ void draws_kernel(rm_draw_source s, int64_t n, rm_drawn *out) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const uint64_t at = static_cast<uint64_t>(s.first + i);
    uint64_t draws[2];
    rm_philox_block(s.seed, s.stream, at / 2, draws);
    out[i] = rm_drawn{rm_draw_used(draws[at % 2]), i};
  }
}

__global__ void numbers_kernel(rm_draw_source s, int64_t n, int bits, const rm_drawn *sorted, char *out, ptrdiff_t stride,
                               bool by_words) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
    const rm_drawn mine = sorted[i];
    const uint64_t group = mine.draw >> (64 - bits);
    int64_t place = i;
    for (int64_t k = i - 1; k >= 0 && sorted[k].draw >> (64 - bits) == group; k--)
      place -= rm_drawn_less(&s, &mine, sorted + k);
    for (int64_t k = i + 1; k < n && sorted[k].draw >> (64 - bits) == group; k++)
      place += rm_drawn_less(&s, sorted + k, &mine);
    element<int64_t>::store(out + place * stride, mine.number, by_words);
  }
}

/* A group of draws with these bits in common has fewer than 1 + 1/32 of them on average. */
int leading_bits(int64_t n) {
  int bits = 8;
  while (bits < 64 && n >> (bits - 5)) bits += 8;
  return bits;
}

} // namespace

extern "C" rm_status rm_cuda_random_permutation(uint64_t seed, uint64_t stream, int64_t first, int64_t n, int64_t *out,
                                                ptrdiff_t stride_out, rm_cuda_stream queue) {
  const cudaStream_t q = static_cast<cudaStream_t>(queue);
  rm_random_problem problem = rm_random_elements(seed, stream, first, n, out, stride_out);
  const rm_status status = rm_words_problem(&problem, 8);
  if (status || n == 0) return status;
  if (n > RM_PERMUTATION_MAX) return RM_ERR_MEMORY;
  const rm_draw_source s = {seed, stream, first};
  const workspace draws(2 * static_cast<size_t>(n) * sizeof(rm_drawn), q);
  const workspace counts(static_cast<size_t>(sort_room(n)) * sizeof(sort_count), q);
  if (!draws.data || !counts.data) return RM_ERR_DEVICE;
  rm_drawn *const a = static_cast<rm_drawn *>(draws.data);
  const int bits = leading_bits(n);
  RM_LAUNCH(draws_kernel, blocks_for(n), RM_BLOCK, q, s, n, a);
  const rm_drawn *const sorted = radix_sort(n, bits, a, a + n, static_cast<sort_count *>(counts.data), q);
  RM_LAUNCH(numbers_kernel, blocks_for(n), RM_BLOCK, q, s, n, bits, sorted, problem.out, problem.stride,
            aligned<int64_t>(problem.out, problem.stride));
  return launched();
}
