/* sum, mean, norm, dot, var and std of many rows, or of one vector, in a few launches.
 *
 * Approximate sums with their bounds come first (row_totals.h). Rows that these leave undecided are listed, and summed
 * exactly by a thread block each, or by several where rows are few. The block has one accumulator for each lane of a warp in
 * shared memory, to which threads add atomically: additions of integers are exact in any order, and so is everything that
 * follows.
 *
 * Cost: each term is read once, for var and std twice, and again where its row is undecided. Nothing waits for the host.
 * Workspace: 8 bytes a row, for var and std 40. Where rows are split, 32 bytes a part: at most 4,094 parts (2,047 rows in two
 * parts each), in sums of columns 32 times as many, 4.2 MB. For the exact sums of fewer than 256 rows 280 kB, for var and std
 * 1.6 MB. */
extern "C" {
#include "../common/overlap.h" /* declares functions of C: it must come before headers that include it */
}

#include "row_totals.h"

#include "../reduce/round_columns.h"

extern "C" {
#include "../reduce/statistics.h" /* declares argument checks, which are C */
}
#include "../../include/repmath/cuda.h"

#include "../reduce/statistics_exact.inl"

namespace {

enum {
  EXACT_COPIES = 32,      /* accumulators of a block: each thread of a warp adds to its own */
  EXACT_BLOCKS = 1056,    /* at most: several on each multiprocessor */
  EXACT_ROWS = 256,       /* with fewer rows several blocks sum one */
  TOTAL_BLOCK = 32,
  TOTAL_BLOCKS = EXACT_ROWS / TOTAL_BLOCK, /* at most */
  VARIANCE_STACK = 4096   /* bytes for the digits of a variance */
};
const int64_t EXACT_TERMS = INT64_C(1) << 29; /* of a block: digits stay below 2^63 */

typedef unsigned long long counter; /* the type that atomicAdd takes */

struct undecided_rows {
  counter *count;
  int64_t *row;
  __device__ void add(int64_t i) const { row[atomicAdd(count, counter(1))] = i; }
};

/* S of a row, and the mean that its deviations are taken from; NaN where S is not known. */
struct row_moment {
  rm_moment sum;
  double mean;
};

/* A function of the sum of each row, or of the sum of its deviations' squares. */
struct row_function {
  sum_rows s;
  rm_sum_function f;
  int of_variance, of_nothing, format; /* of_nothing: without terms the result is NaN */
  char *out;
  ptrdiff_t stride;
  undecided_rows undecided;
  row_moment *moments;
  __device__ void write(int64_t row, uint64_t bits) const { rm_write_bits(out + row * stride, bits, format); }
};

/* An approximation of the function of a sum within err of hi + lo, and its error bound *around.
 *
 * The divisor and the quotient are rounded: 2.02 u |c| and an underflow, of at most 2^-1074. The root of a number within e of
 * c > 0 differs from that of c by at most e/root(c), and the computed root v is rounded. */
__device__ double function_dd_ball(const rm_sum_function &f, double hi, double lo, double err, double *around) {
  const double divisor = static_cast<double>(f.divisor), scale = rm_pow2(f.scale);
  const double c = hi * scale / divisor;
  const double e = 1.01 * ((__builtin_fabs(lo) + err) * scale / divisor) + 0x1p-51 * __builtin_fabs(c) + 0x1p-1072;
  *around = e;
  if (!f.root) return c;
  if (!(c > 0.0)) { /* a root of what may be 0 has no useful bound */
    *around = __builtin_huge_val();
    return 0.0;
  }
  const double v = __builtin_sqrt(c);
  *around = 1.01 * (e / v) + 0x1p-52 * v;
  return v;
}

/* Whether hi + lo within err decides the function, whose bits go to *bits. */
__device__ bool row_decide(const rm_sum_function &f, double hi, double lo, double err, int format, uint64_t *bits) {
  alignas(8) unsigned char out[8];
  uint32_t flags = 0; /* a device has no exception flags */
  if (hi == 0.0 && lo == 0.0 && err == 0.0) return *bits = 0, true;
  const bool itself = f.divisor == 1 && f.scale == 0 && !f.root;
  if (format == RM_F64 && !itself) return rm_function_decide(&f, hi, lo, err, format, bits, &flags);
  if (!itself) hi = function_dd_ball(f, hi, lo, err, &err), lo = 0.0;
  if (!rm_is_finite(err) || rm_round_columns(hi, lo, err, format, out)) return false;
  *bits = rm_read_bits(reinterpret_cast<const char *>(out), format);
  return true;
}

/* Turns a row's sum into its moment, its result, or an entry in the list of undecided rows. */
template <int tier, bool of_moments> struct conclusion {
  row_function f;
  __device__ double shift(int64_t row) const { return f.of_variance ? f.moments[row].mean : 0.0; }
  __device__ void operator()(int64_t row, const rm_partial &sum) const {
    rm_sum_problem p = f.s.row(row);
    double hi, lo, err, mean = 0.0;
    if (of_moments) {
      row_moment *m = f.moments + row;
      const int known = rm_partial_known(&sum, &p, tier, &m->sum.hi, &m->sum.lo, &m->sum.err);
      m->mean = known ? m->sum.hi / static_cast<double>(p.n) : rm_from_bits64(rm_nan_bits(RM_F64));
      return;
    }
    if (p.n == 0) {
      f.write(row, f.of_nothing ? rm_nan_bits(f.format) : 0);
      return;
    }
    if (f.of_variance) mean = f.moments[row].mean, p.shift = &mean;
    uint64_t bits;
    bool decided = rm_partial_known(&sum, &p, tier, &hi, &lo, &err);
    if (decided && f.of_variance) {
      const rm_moment squares = {hi, lo, err};
      decided = f.f.divisor && rm_deviations_known(p.n, &f.moments[row].sum, mean, &squares, &hi, &lo, &err);
    }
    if (decided && row_decide(f.f, hi, lo, err, f.format, &bits)) f.write(row, bits);
    else f.undecided.add(row);
  }
};

/* Adds (-1)^negative m 2^(position - RM_ACC_ONE) to digits EXACT_COPIES apart. */
__device__ void add_atomically(counter *digits, bool negative, rm_u128 m, int position) {
  const int shift = position % RM_ACC_DIGIT_BITS;
  counter *digit = digits + position / RM_ACC_DIGIT_BITS * EXACT_COPIES;
  const uint64_t above = shift ? static_cast<uint64_t>(m >> (128 - shift)) : 0; /* the bits shifted out of the low 128 */
  rm_u128 low = m << shift;
  for (int i = 0; i < 5; i++, low >>= RM_ACC_DIGIT_BITS) {
    const uint64_t d = i < 4 ? static_cast<uint64_t>(low) & 0xffffffffu : above;
    if (d) atomicAdd(digit + i * EXACT_COPIES, negative ? -static_cast<counter>(d) : static_cast<counter>(d));
  }
}

/* Adds x, or x y, if that is finite; else returns its class. */
__device__ uint32_t exact_term(counter *digits, bool of_products, double x, double y) {
  const uint64_t a = rm_bits64(x), b = of_products ? rm_bits64(y) : 0, all = 0x7ff0000000000000u;
  int ea, eb;
  if ((~a & all) == 0 || (~b & all) == 0) return of_products ? rm_product_class(a, b) : rm_number_class(a);
  const uint64_t m = rm_integer_significand(a, &ea);
  if (!of_products) {
    add_atomically(digits, a >> 63, m, ea + RM_ACC_ONE);
    return 0;
  }
  const uint64_t k = rm_integer_significand(b, &eb);
  add_atomically(digits, (a ^ b) >> 63, static_cast<rm_u128>(m) * k, ea + eb + RM_ACC_ONE);
  return 0;
}

/* How exact sums are divided: thread blocks of a row, and terms of each. */
struct exact_plan {
  int64_t splits, span;
  int totals; /* of a row: of x and, for var and std, of x^2 */
  rm_superaccumulator *total;
  char *stacks; /* of the threads that round variances of several blocks' sums */
  explicit exact_plan(const row_function &f, const sum_plan &plan)
      : totals(f.of_variance ? 2 : 1), total(nullptr), stacks(nullptr) {
    const int64_t needed = (f.s.n + EXACT_TERMS - 1) / EXACT_TERMS;
    splits = f.s.rows < EXACT_ROWS ? plan.splits : 1;
    if (splits < needed) splits = needed;
    if (splits < 1) splits = 1;
    span = (f.s.n + splits - 1) / splits;
  }
  size_t bytes(int64_t rows) const {
    return splits > 1 ? static_cast<size_t>(rows) * static_cast<size_t>(totals) * sizeof(rm_superaccumulator) : 0;
  }
  size_t stack_bytes() const { return splits > 1 && totals > 1 ? TOTAL_BLOCKS * TOTAL_BLOCK * VARIANCE_STACK : 0; }
};

/* total[0]: the sum, or S, which is overwritten; total[1]: for var and std the sum of squares. A sum is rounded in place,
 * since an accumulator is too large for the stack of a thread. */
template <bool of_variance> __device__ void exactly(const row_function &f, int64_t row, rm_superaccumulator *total) {
  uint32_t flags = 0;
  uint64_t bits;
  if (of_variance) {
    bits = rm_variance_of_sums(&f.f, f.s.n, total, total + 1, f.format, &flags);
  } else if (total->classes) {
    bits = rm_superacc_round_classes(total->classes, f.format, &flags);
  } else {
    const int negative = rm_superacc_magnitude(total, total);
    rm_superacc_top top = rm_digits_top(total->digit, RM_ACC_DIGITS);
    top.negative = negative, top.e -= RM_ACC_ONE;
    bits = rm_function_of_top(&f.f, top, f.format, &flags);
  }
  f.write(row, bits);
}

template <bool of_variance>
__global__ void __launch_bounds__(SUM_THREADS, SUM_RESIDENT)
    exact_rows_kernel(row_function f, exact_plan plan, bool by_words) {
  __shared__ counter digit[RM_ACC_DIGITS * EXACT_COPIES];
  __shared__ uint32_t classes;
  __shared__ rm_superaccumulator total[1 + of_variance];
  constexpr int totals = 1 + of_variance;
  const int t = static_cast<int>(threadIdx.x);
  const int64_t items = static_cast<int64_t>(*f.undecided.count) * plan.splits;
  for (int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const int64_t row = f.undecided.row[item / plan.splits], begin = item % plan.splits * plan.span;
    const int64_t end = begin + plan.span < f.s.n ? begin + plan.span : f.s.n;
    const rm_sum_problem p = f.s.row(row);
    for (int pass = 0; pass < totals; pass++) {
      const bool squares = pass == 1, of_products = squares || p.y.base;
      const char *y = squares ? p.x.base : p.y.base;
      const ptrdiff_t sy = squares ? p.x.stride : p.y.stride;
      __syncthreads();
      for (int d = t; d < RM_ACC_DIGITS * EXACT_COPIES; d += SUM_THREADS) digit[d] = 0;
      if (t == 0) classes = 0;
      __syncthreads();
      uint32_t mine = 0;
      for (int64_t i = begin + t; i < end; i += SUM_THREADS)
        mine |= exact_term(digit + t % EXACT_COPIES, of_products, element_of(p.x.base + i * p.x.stride, p.fmt, by_words),
                           of_products ? element_of(y + i * sy, p.fmt, by_words) : 0.0);
      if (mine) atomicOr(&classes, mine);
      __syncthreads();
      for (int d = t; d < RM_ACC_DIGITS; d += SUM_THREADS) {
        counter sum = 0;
        for (int k = 0; k < EXACT_COPIES; k++) sum += digit[d * EXACT_COPIES + k];
        total[pass].digit[d] = static_cast<int64_t>(sum);
      }
      if (t == 0) total[pass].classes = classes, total[pass].pending = 0;
    }
    __syncthreads();
    if (plan.splits == 1) {
      if (t == 0) { /* the accumulators are free */
        if (of_variance) rm_big_begin(reinterpret_cast<char *>(digit), sizeof digit);
        exactly<of_variance>(f, row, total);
      }
      continue;
    }
    if (t < totals) rm_superacc_propagate(total + t); /* so that the sums of all blocks fit */
    __syncthreads();
    for (int pass = 0; pass < totals; pass++) {
      rm_superaccumulator *to = plan.total + item / plan.splits * totals + pass;
      for (int d = t; d < RM_ACC_DIGITS; d += SUM_THREADS)
        atomicAdd(reinterpret_cast<counter *>(to->digit + d), static_cast<counter>(total[pass].digit[d]));
      if (t == 0) atomicOr(&to->classes, total[pass].classes);
    }
  }
}

/* The functions of sums that several blocks have added. */
template <bool of_variance>
__global__ void __launch_bounds__(TOTAL_BLOCK) exact_totals_kernel(row_function f, exact_plan plan) {
  const int64_t count = static_cast<int64_t>(*f.undecided.count);
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * TOTAL_BLOCK + threadIdx.x;
  if (of_variance) rm_big_begin(plan.stacks + thread * VARIANCE_STACK, VARIANCE_STACK);
  for (int64_t k = thread; k < count; k += static_cast<int64_t>(gridDim.x) * TOTAL_BLOCK)
    exactly<of_variance>(f, f.undecided.row[k], plan.total + k * (1 + of_variance));
}

template <bool of_variance>
void exact_rows(const row_function &f, const exact_plan &plan, bool by_words, cudaStream_t stream) {
  RM_LAUNCH((exact_rows_kernel<of_variance>), no_more_than(f.s.rows * plan.splits, EXACT_BLOCKS), SUM_THREADS, stream, f,
            plan, by_words);
  if (plan.splits > 1)
    RM_LAUNCH((exact_totals_kernel<of_variance>), no_more_than((f.s.rows + TOTAL_BLOCK - 1) / TOTAL_BLOCK, TOTAL_BLOCKS),
              TOTAL_BLOCK, stream, f, plan);
}

template <int tier> void approximately(const row_function &f, const sum_plan &plan, rm_partial *parts, cudaStream_t stream) {
  const conclusion<tier, false> result{f};
  if (f.of_variance) {
    row_totals<OF_TERMS, tier>(f.s, plan, parts, conclusion<tier, true>{f}, stream);
    row_totals<OF_DEVIATIONS, tier>(f.s, plan, parts, result, stream);
  } else if (f.s.y) {
    row_totals<OF_PRODUCTS, tier>(f.s, plan, parts, result, stream);
  } else {
    row_totals<OF_TERMS, tier>(f.s, plan, parts, result, stream);
  }
}

/* Positions of arguments: format_x 1, rows 2, n 3, x 4; those of format_out and out are given. */
rm_status check_rows(const row_function &f, int at_format, int at_out) {
  const sum_rows &s = f.s;
  if (s.fmt < 0 || s.fmt >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, 1);
  if (s.rows < 0) return RM_STATUS(RM_ERR_SIZE, 2);
  if (s.n < 0) return RM_STATUS(RM_ERR_SIZE, 3);
  const bool any = s.rows > 0 && s.n > 0;
  if (any && !s.x) return RM_STATUS(RM_ERR_NULL, 4);
  if (f.format < 0 || f.format >= RM_FORMATS) return RM_STATUS(RM_ERR_ENUM, at_format);
  if (s.rows > 0 && !f.out) return RM_STATUS(RM_ERR_NULL, at_out);
  if (!any) return RM_OK;
  const int widths[] = {2, 2, 4, 8}, size = widths[s.fmt], size_out = widths[f.format];
  const int64_t shape[] = {s.rows, s.n};
  const ptrdiff_t strides[] = {s.row_x, s.sx}, strides_y[] = {s.row_y, s.sy};
  const rm_grid out = {f.out, 1, &s.rows, &f.stride}, x = {s.x, 2, shape, strides}, y = {s.y, 2, shape, strides_y};
  if (rm_grid_may_overlap_itself(&out, size_out) || rm_spans_meet(&out, size_out, &x, size) ||
      (s.y && rm_spans_meet(&out, size_out, &y, size)))
    return RM_STATUS(RM_ERR_OVERLAP, at_out);
  return RM_OK;
}

rm_status run(row_function f, rm_cuda_stream on) {
  if (f.s.rows == 0) return RM_OK;
  const cudaStream_t stream = static_cast<cudaStream_t>(on);
  const sum_plan plan(f.s);
  exact_plan last(f, plan);
  const size_t rows = static_cast<size_t>(f.s.rows), totals = last.bytes(f.s.rows);
  const size_t parts = plan.splits > 1 ? rows * static_cast<size_t>(plan.splits) * sizeof(rm_partial) : 0;
  const size_t moments = f.of_variance ? rows * sizeof(row_moment) : 0, cleared = 16 + totals;
  const size_t stacks = last.stack_bytes();
  const workspace work(cleared + moments + parts + rows * sizeof(int64_t) + stacks, stream);
  if (!work.fill(0, cleared)) return RM_ERR_DEVICE;
  char *at = static_cast<char *>(work.data);
  f.undecided.count = reinterpret_cast<counter *>(at);
  last.total = reinterpret_cast<rm_superaccumulator *>(at + 16), at += cleared;
  f.moments = reinterpret_cast<row_moment *>(at), at += moments;
  rm_partial *const part = reinterpret_cast<rm_partial *>(at);
  f.undecided.row = reinterpret_cast<int64_t *>(at + parts);
  last.stacks = reinterpret_cast<char *>(f.undecided.row + rows);
  if (f.s.fmt == RM_F64 || f.format == RM_F64) /* no plain sum decides a result in binary64 */
    approximately<1>(f, plan, part, stream);
  else approximately<0>(f, plan, part, stream);
  if (f.s.n > 0 && f.of_variance) exact_rows<true>(f, last, plan.access != BY_BYTES, stream);
  else if (f.s.n > 0) exact_rows<false>(f, last, plan.access != BY_BYTES, stream);
  return launched();
}

sum_rows rows_of(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x) {
  return {format, rows, n, static_cast<const char *>(x), nullptr, row_x, stride_x, 0, 0};
}

rm_status of_sums(int mean, int root, const sum_rows &s, int at_format, int format_out, void *out, ptrdiff_t stride_out,
                  rm_cuda_stream stream) {
  const row_function f = {s,          {mean && s.n > 0 ? static_cast<uint64_t>(s.n) : 1, 0, root},
                          0,          mean,
                          format_out, static_cast<char *>(out),
                          stride_out, {},
                          nullptr};
  const rm_status status = check_rows(f, at_format, at_format + 1);
  return status ? status : run(f, stream);
}

/* A vector is one row. Its result may have bytes of it: nothing is written before all terms have been read. */
template <class T> constexpr int format_of = sizeof(T) == 4 ? RM_F32 : RM_F64;

template <class T> rm_status sum(int64_t n, const T *x, ptrdiff_t sx, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (!out) return RM_STATUS(RM_ERR_NULL, 4);
  const sum_rows s = rows_of(format_of<T>, 1, n, x, 0, sx);
  return run({s, {1, 0, 0}, 0, 0, s.fmt, reinterpret_cast<char *>(out), 0, {}, nullptr}, stream);
}

template <class T>
rm_status dot(int64_t n, const T *x, ptrdiff_t sx, const T *y, ptrdiff_t sy, T *out, rm_cuda_stream stream) {
  if (n < 0) return RM_STATUS(RM_ERR_SIZE, 1);
  if (n > 0 && !x) return RM_STATUS(RM_ERR_NULL, 2);
  if (n > 0 && !y) return RM_STATUS(RM_ERR_NULL, 4);
  if (!out) return RM_STATUS(RM_ERR_NULL, 6);
  sum_rows s = rows_of(format_of<T>, 1, n, x, 0, sx);
  s.y = reinterpret_cast<const char *>(y), s.sy = sy;
  return run({s, {1, 0, 0}, 0, 0, s.fmt, reinterpret_cast<char *>(out), 0, {}, nullptr}, stream);
}

rm_status of_vector(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                    rm_cuda_stream stream) {
  const rm_status status = rm_statistic_check(format_x, n, x, format_out, out);
  if (status) return status;
  sum_rows s = rows_of(format_x, 1, n, x, 0, stride_x);
  if (root) s.y = s.x, s.sy = stride_x;
  const uint64_t divisor = !root && n > 0 ? static_cast<uint64_t>(n) : 1;
  return run({s, {divisor, 0, root}, 0, !root, format_out, static_cast<char *>(out), 0, {}, nullptr}, stream);
}

rm_status variance_of_vector(int root, int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                             double ddof, rm_cuda_stream stream) {
  row_function f = {rows_of(format_x, 1, n, x, 0, stride_x), {}, 1, 1, format_out, static_cast<char *>(out), 0, {}, nullptr};
  const rm_status status = rm_variance_check(&f.f, root, format_x, n, x, format_out, out, ddof);
  return status ? status : run(f, stream);
}

rm_status variances(int root, const sum_rows &s, int format_out, void *out, ptrdiff_t stride_out, double ddof,
                    rm_cuda_stream stream) {
  row_function f = {s, {}, 1, 1, format_out, static_cast<char *>(out), stride_out, {}, nullptr};
  const rm_status status = check_rows(f, 7, 8);
  if (status) return status;
  if (rm_variance_check(&f.f, root, s.fmt, s.n, &s, format_out, &s, ddof)) return RM_STATUS(RM_ERR_RANGE, 10);
  return run(f, stream);
}

} // namespace

extern "C" {

rm_status rm_cuda_sum_f32(int64_t n, const float *x, ptrdiff_t stride_x, float *out, rm_cuda_stream stream) {
  return sum(n, x, stride_x, out, stream);
}
rm_status rm_cuda_sum_f64(int64_t n, const double *x, ptrdiff_t stride_x, double *out, rm_cuda_stream stream) {
  return sum(n, x, stride_x, out, stream);
}
rm_status rm_cuda_dot_f32(int64_t n, const float *x, ptrdiff_t stride_x, const float *y, ptrdiff_t stride_y, float *out,
                          rm_cuda_stream stream) {
  return dot(n, x, stride_x, y, stride_y, out, stream);
}
rm_status rm_cuda_dot_f64(int64_t n, const double *x, ptrdiff_t stride_x, const double *y, ptrdiff_t stride_y, double *out,
                          rm_cuda_stream stream) {
  return dot(n, x, stride_x, y, stride_y, out, stream);
}
rm_status rm_cuda_mean(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                       rm_cuda_stream stream) {
  return of_vector(0, format_x, n, x, stride_x, format_out, out, stream);
}
rm_status rm_cuda_norm(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out,
                       rm_cuda_stream stream) {
  return of_vector(1, format_x, n, x, stride_x, format_out, out, stream);
}
rm_status rm_cuda_var(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                      rm_cuda_stream stream) {
  return variance_of_vector(0, format_x, n, x, stride_x, format_out, out, ddof, stream);
}
rm_status rm_cuda_std(int format_x, int64_t n, const void *x, ptrdiff_t stride_x, int format_out, void *out, double ddof,
                      rm_cuda_stream stream) {
  return variance_of_vector(1, format_x, n, x, stride_x, format_out, out, ddof, stream);
}

rm_status rm_cuda_sum_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                           int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream) {
  return of_sums(0, 0, rows_of(format_x, rows, n, x, row_x, stride_x), 7, format_out, out, stride_out, stream);
}
rm_status rm_cuda_mean_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                            int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream) {
  return of_sums(1, 0, rows_of(format_x, rows, n, x, row_x, stride_x), 7, format_out, out, stride_out, stream);
}
rm_status rm_cuda_norm_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                            int format_out, void *out, ptrdiff_t stride_out, rm_cuda_stream stream) {
  sum_rows s = rows_of(format_x, rows, n, x, row_x, stride_x);
  s.y = s.x, s.row_y = row_x, s.sy = stride_x;
  return of_sums(0, 1, s, 7, format_out, out, stride_out, stream);
}
rm_status rm_cuda_dot_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                           const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, int format_out, void *out,
                           ptrdiff_t stride_out, rm_cuda_stream stream) {
  sum_rows s = rows_of(format_x, rows, n, x, row_x, stride_x);
  if (rows > 0 && n > 0 && x && !y) return RM_STATUS(RM_ERR_NULL, 7);
  s.y = static_cast<const char *>(y), s.row_y = row_y, s.sy = stride_y;
  return of_sums(0, 0, s, 10, format_out, out, stride_out, stream);
}
rm_status rm_cuda_var_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                           int format_out, void *out, ptrdiff_t stride_out, double ddof, rm_cuda_stream stream) {
  return variances(0, rows_of(format_x, rows, n, x, row_x, stride_x), format_out, out, stride_out, ddof, stream);
}
rm_status rm_cuda_std_rows(int format_x, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x,
                           int format_out, void *out, ptrdiff_t stride_out, double ddof, rm_cuda_stream stream) {
  return variances(1, rows_of(format_x, rows, n, x, row_x, stride_x), format_out, out, stride_out, ddof, stream);
}
}
