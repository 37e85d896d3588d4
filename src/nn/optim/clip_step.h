/* Gradient clipping over vectors: c g in two parts, with the bound of the linear terms of optimisers (optim/step.h). */
#pragma once

#include "clip.h"
#include "step.h"

/* Returns the undecided lanes. It is also device code. */
RM_FN vm64 rm_clip_values(const rm_clip *c, const char *at, const int fmt, vf64 *y) {
  const vf64 g = rm_load_elements(at, fmt);
  const rm_vpair product = rm_vtimes(rm_vcoefficient(c->c), 1, rm_vone(g), 0);
  const vm64 undecided = rm_step_round_linear(product, vf64_abs(product.hi), fmt, y);
  return fmt == RM_F64 ? vm64_or(undecided, rm_step_outside(g)) : undecided;
}

#if !RM_DEVICE

RM_FN uint32_t rm_clip_vector(const rm_clip *c, char *at, const int fmt, uint32_t live) {
  vf64 y;
  const vm64 undecided = rm_clip_values(c, at, fmt, &y);
  const uint32_t lanes = vm64_bits(undecided) & live;
  uint64_t accurate[RM_LANES];
  uint32_t flags = 0;
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1) accurate[i] = rm_clip_accurate(c, rm_read_bits(at + i * rm_size_of(fmt), fmt), &flags);
  rm_store_elements(at, y, fmt);
  for (int i = 0; lanes >> i; i++)
    if (lanes >> i & 1) rm_write_bits(at + i * rm_size_of(fmt), accurate[i], fmt);
  return flags;
}

RM_FN uint32_t rm_clip_loop(const rm_clip *c, int64_t begin, int64_t end, const int fmt) {
  const int size = rm_size_of(fmt);
  uint32_t flags = 0;
  int64_t i = begin;
  for (; i + RM_LANES <= end; i += RM_LANES) flags |= rm_clip_vector(c, c->g + i * size, fmt, (1u << RM_LANES) - 1);
  if (i == end) return flags;
  char rest[8 * RM_LANES] = {0};
  const size_t bytes = (size_t)(end - i) * (size_t)size;
  __builtin_memcpy(rest, c->g + i * size, bytes);
  flags |= rm_clip_vector(c, rest, fmt, (1u << (end - i)) - 1);
  __builtin_memcpy(c->g + i * size, rest, bytes);
  return flags;
}

#define RM_DEFINE_CLIP(fmt, FMT) \
  static uint32_t rm_clip_##fmt(const rm_clip *c, int64_t begin, int64_t end) { return rm_clip_loop(c, begin, end, FMT); }
RM_DEFINE_CLIP(f16, RM_F16)
RM_DEFINE_CLIP(bf16, RM_BF16)
RM_DEFINE_CLIP(f32, RM_F32)
RM_DEFINE_CLIP(f64, RM_F64)
#undef RM_DEFINE_CLIP

#endif
