/* The gradient of a norm with respect to its weights. norms.cu includes it after the functions of sets.
 *
 * For layer norm each thread has a column and a share of the sets, which it adds as a thread of the CPU does, in binary64 in
 * double-double; another kernel adds the shares of each column. For other norms a thread block has a weight. Workspace: 49
 * bytes a set, of binary64 121; for layer norm also 6 MB of shares at most, or, if that is more, 24 bytes a column. */
#pragma once

namespace {

#ifndef RM_CFG_SHARES_ROOM
#define RM_CFG_SHARES_ROOM (1 << 18)
#endif
enum { RM_SHARES_ROOM = RM_CFG_SHARES_ROOM };

/* Shares of `each` sets, of each column. bound is infinite where the statistics of a set are not known. */
struct column_shares {
  int64_t each, count;
  double *hi, *lo, *bound;
  column_shares(const rm_norm_problem &f) {
    const int64_t sets = f.sets[0] * f.sets[1];
    int64_t limit = RM_SHARES_ROOM / f.inner;
    if (limit < 1) limit = 1;
    each = RM_WEIGHT_TERMS * ((sets + limit * RM_WEIGHT_TERMS - 1) / (limit * RM_WEIGHT_TERMS));
    count = (sets + each - 1) / each;
  }
  size_t bytes(const rm_norm_problem &f) const { return static_cast<size_t>(count * f.inner) * 3 * sizeof(double); }
  /* In binary64 the memory of hi, lo and bound has numbers of double-double. */
  __device__ rm_dd_ball *wide() const { return reinterpret_cast<rm_dd_ball *>(hi); }
  bool set(const workspace &work, const rm_norm_problem &f) {
    hi = static_cast<double *>(work.data), lo = hi + count * f.inner, bound = lo + count * f.inner;
    return hi != nullptr;
  }
};

template <int fmt>
__global__ void shares_kernel(const __grid_constant__ rm_norm_weights w, column_shares shares, bool by_words) {
  const rm_norm_problem &f = w.f;
  const int64_t sets = f.sets[0] * f.sets[1], step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < shares.count * f.inner; i += step) {
    const int64_t first = i / f.inner * shares.each, end = first + shares.each < sets ? first + shares.each : sets,
                  k = i % f.inner;
    double hi = 0.0, lo = 0.0, sum = 0.0, bound = 0.0;
    for (int64_t set = first; set < end; set++) {
      const rm_norm_statistics &t = w.statistics[set];
      const int64_t set0 = set / f.sets[1], set1 = set % f.sets[1];
      if (t.rel < 0.0) {
        bound = rm_dd_ball_infinity();
        break;
      }
      const double g = element_of(f.g.base + set0 * f.g.set[0] + set1 * f.g.set[1] + k * f.g.inner, fmt, by_words);
      const double x = element_of(f.x.base + set0 * f.x.set[0] + set1 * f.x.set[1] + k * f.x.inner, fmt, by_words);
      rm_row_column(g, x, t.c, t.a, rm_norm_weight_rel(&t), rm_norm_weight_err(&t), &sum, &bound);
      if ((set - first) % RM_WEIGHT_TERMS == RM_WEIGHT_TERMS - 1) rm_norm_weight_join(&hi, &lo, &sum);
    }
    rm_norm_weight_join(&hi, &lo, &sum);
    shares.hi[i] = hi, shares.lo[i] = lo, shares.bound[i] = bound;
  }
}

static_assert(sizeof(rm_dd_ball) == 3 * sizeof(double), "room for a share");

/* The same of binary64. Of a number that is not finite nothing is known (dd_ball.h). */
__global__ void wide_shares_kernel(const __grid_constant__ rm_norm_weights w, column_shares shares, bool by_words) {
  const rm_norm_problem &f = w.f;
  const int64_t sets = f.sets[0] * f.sets[1], step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  rm_dd_ball scale;
  rm_dd_ball_set_i64(&scale, f.variance.base ? 1 : f.outer * f.inner, 0);
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < shares.count * f.inner; i += step) {
    const int64_t first = i / f.inner * shares.each, end = first + shares.each < sets ? first + shares.each : sets,
                  k = i % f.inner;
    rm_dd_ball total, term, t;
    rm_dd_ball_set(&total, 0.0, 0);
    for (int64_t set = first; set < end; set++) {
      const int64_t set0 = set / f.sets[1], set1 = set % f.sets[1];
      if (w.kind[set] == RM_SET_INVALID) {
        rm_dd_ball_unknown(&total);
        break;
      }
      rm_dd_ball_set(&term, element_of(f.x.base + set0 * f.x.set[0] + set1 * f.x.set[1] + k * f.x.inner, RM_F64, by_words),
                     0);
      rm_dd_ball_mul(&term, &term, &scale);
      rm_dd_ball_sub(&term, &term, &w.wide[set].c);
      rm_dd_ball_mul(&term, &term, &w.wide[set].a);
      rm_dd_ball_set(&t, element_of(f.g.base + set0 * f.g.set[0] + set1 * f.g.set[1] + k * f.g.inner, RM_F64, by_words), 0);
      rm_dd_ball_mul(&term, &term, &t);
      rm_dd_ball_add(&total, &total, &term);
    }
    shares.wide()[i] = total;
  }
}

template <bool wide>
__global__ void columns_kernel(const __grid_constant__ rm_norm_weights w, column_shares shares, rm_undecided_set undecided) {
  const rm_norm_problem &f = w.f;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < f.inner; i += step) {
    rm_dd_ball total;
    rm_dd_ball_set(&total, 0.0, 0);
    for (int64_t k = i; k < shares.count * f.inner; k += f.inner)
      if (wide) rm_dd_ball_add(&total, &total, &shares.wide()[k]);
      else rm_norm_weight_add(&total, shares.hi[k], shares.lo[k], shares.bound[k], shares.each / RM_WEIGHT_TERMS + 1);
    const rm_weight_range range = rm_norm_weight_column(&f, i);
    rm_row_state state = {};
    rm_norm_weight_finish(&w, &range, &total, f.y.base + i * f.y.inner, &state);
    if (state.deferred) undecided.add(i);
  }
}

template <class T> bool are_aligned(const rm_norm_problem &f) {
  const rm_set_view *const both[] = {&f.x, &f.g};
  bool ok = true;
  for (const rm_set_view *p : both)
    ok = ok && aligned<T>(p->base, p->set[0]) && aligned<T>(p->base, p->set[1]) && aligned<T>(p->base, p->inner);
  return ok;
}

rm_status by_columns(const rm_norm_weights &w, cudaStream_t stream) {
  const rm_norm_problem &f = w.f;
  column_shares shares(f);
  const workspace work(shares.bytes(f), stream), bits(rm_undecided_set::bytes(f.inner), stream);
  rm_undecided_set undecided;
  if (!shares.set(work, f)) return RM_ERR_DEVICE;
  const rm_status status = undecided_begin(&undecided, bits, f.inner, false);
  if (status) return status;
  const int64_t grid = blocks_for(shares.count * f.inner);
  switch (f.format) {
    case RM_F16: RM_LAUNCH((shares_kernel<RM_F16>), grid, RM_BLOCK, stream, w, shares, are_aligned<uint16_t>(f)); break;
    case RM_BF16: RM_LAUNCH((shares_kernel<RM_BF16>), grid, RM_BLOCK, stream, w, shares, are_aligned<uint16_t>(f)); break;
    case RM_F32: RM_LAUNCH((shares_kernel<RM_F32>), grid, RM_BLOCK, stream, w, shares, are_aligned<float>(f)); break;
    default: RM_LAUNCH(wide_shares_kernel, grid, RM_BLOCK, stream, w, shares, are_aligned<double>(f));
  }
  if (f.format == RM_F64) RM_LAUNCH(columns_kernel<true>, blocks_for(f.inner), RM_BLOCK, stream, w, shares, undecided);
  else RM_LAUNCH(columns_kernel<false>, blocks_for(f.inner), RM_BLOCK, stream, w, shares, undecided);
  return rm_norm_columns_accurate(w, undecided, stream);
}

rm_status weights_of(const rm_norm_problem &f, rm_cuda_stream stream) {
  const cudaStream_t s = static_cast<cudaStream_t>(stream);
  const int64_t sets = f.sets[0] * f.sets[1];
  const int64_t wide_sets = f.format == RM_F64 ? sets : 0;
  const workspace work(static_cast<size_t>(sets) * (sizeof(rm_norm_statistics) + 1) +
                           static_cast<size_t>(wide_sets) * sizeof(rm_norm_wide),
                       s);
  if (!work.data) return RM_ERR_DEVICE;
  rm_norm_statistics *const statistics = static_cast<rm_norm_statistics *>(work.data);
  rm_norm_wide *const wide = reinterpret_cast<rm_norm_wide *>(statistics + sets);
  const rm_norm_weights w = {f.format, f, statistics, reinterpret_cast<signed char *>(wide + wide_sets), wide};
  const rm_status status = each_row<rm_norm_weights, rm_norm_weight_statistics>(w, sets, f.outer * f.inner, 4,
                                                                                rm_norm_weight_statistics_accurate, stream);
  if (status) return status;
  if (f.w.inner) return by_columns(w, s);
  return each_row<rm_norm_weights, rm_norm_weight_channel>(w, rm_norm_weight_channels(&f), f.outer * f.inner, 4,
                                                           rm_norm_weight_channel_accurate, stream);
}

} // namespace
