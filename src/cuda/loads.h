/* Loads elements of any format from device memory as binary64, one by one or 16 bytes at a time. */
#pragma once

#include "launch.h"

#include "../../crlibm/fp/round.h"

namespace {

/* by_words says that the address is a multiple of the element's size. */
__device__ inline double element_of(const char *p, int fmt, bool by_words) {
  if (fmt == RM_F32) return static_cast<double>(element<float>::load(p, by_words));
  if (fmt == RM_F64) return element<double>::load(p, by_words);
  return rm_to_double(element<uint16_t>::load(p, by_words), fmt);
}

/* The widest word that one instruction loads; its address must be a multiple of its size. */
struct alignas(16) packed_elements {
  uint32_t word[4];
};
/* The k-th element of such a word. fmt and k are constants at every call. */
__device__ inline double element_of(const packed_elements &v, int fmt, int k) {
  if (fmt == RM_F64) return rm_from_bits64(v.word[2 * k] | static_cast<uint64_t>(v.word[2 * k + 1]) << 32);
  if (fmt == RM_F32) return static_cast<double>(rm_from_bits32(v.word[k]));
  return rm_to_double(v.word[k / 2] >> 16 * (k % 2) & 0xffff, fmt);
}

} // namespace
