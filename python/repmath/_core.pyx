# cython: language_level=3, freethreading_compatible=True, embedsignature=True
"""The C library seen from Python: ufuncs, threads, the instruction set. Argument unpacking only."""

import os

from libc.stdint cimport int64_t
from libc.string cimport memcpy

cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    int fegetenv(fenv_t *env)
    int fesetenv(const fenv_t *env)
    int feupdateenv(const fenv_t *env)
    int feclearexcept(int which)
    int fetestexcept(int which)
    const fenv_t *FE_DFL_ENV
    int FE_INVALID, FE_OVERFLOW

cdef extern from "ufuncs.h":
    int rm_py_import_numpy() except -1
    dict rm_py_elementwise_ufuncs()
    dict rm_py_reduction_gufuncs()
    dict rm_py_rounded_ufuncs(int rule)
    int rm_py_promote_to_double(object ufuncs) except -1
    int rm_py_add_bfloat16(object ufuncs, object dtype_class) except -1
    int rm_py_add_bfloat16_reductions(object gufuncs, object dtype_class) except -1
    int rm_py_add_float8(object ufuncs, object dtype_class, int format) except -1
    bint rm_py_same_float(object a, object b)

cdef extern from "float8.h":
    int RM_PY_E4M3FN, RM_PY_E5M2
    unsigned char rm_py_float8_round(double x, int format) nogil

cdef extern from "repmath/repmath.h":
    ctypedef int rm_status
    const char *rm_version()
    const char *rm_isa()
    rm_status rm_isa_status()
    int rm_isa_available(const char *name)
    rm_status rm_set_num_threads(int n)
    int rm_get_num_threads()
    int RM_SPEC_VERSION
    int RM_ROUND_NEAREST, RM_ROUND_TOWARD_ZERO, RM_ROUND_DOWN, RM_ROUND_UP
    rm_status rm_sum(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_mean(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_norm(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out) nogil
    rm_status rm_var(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out, double ddof) nogil
    rm_status rm_std(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out, double ddof) nogil
    rm_status rm_cumsum(int format_x, long long n, const void *x, ptrdiff_t sx, int format_out, void *out, ptrdiff_t so) nogil
    ctypedef struct rm_reduction_stats:
        unsigned long long fast, double_double, accumulator
    void rm_get_reduction_stats(rm_reduction_stats *out)
    void rm_reset_reduction_stats()
    rm_status rm_index_add(int format, long long rows, long long cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                           long long n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                           ptrdiff_t col_src) nogil
    rm_status rm_segment_sum(int format, long long rows, long long cols, void *out, ptrdiff_t row_out, ptrdiff_t col_out,
                             long long n, const int64_t *index, ptrdiff_t stride_index, const void *src, ptrdiff_t row_src,
                             ptrdiff_t col_src) nogil
    int RM_FORMAT_F16, RM_FORMAT_BF16, RM_FORMAT_F32, RM_FORMAT_F64
    ctypedef unsigned short rm_f16
    ctypedef unsigned short rm_bf16
    ctypedef struct rm_accumulator:
        pass
    ctypedef struct rm_sgd_options:
        double lr, momentum, dampening, weight_decay
        int nesterov, maximize, first
    ctypedef struct rm_adam_options:
        double lr, beta1, beta2, eps, weight_decay
        int64_t step
        int decoupled, maximize
    rm_status rm_sgd_step(int format, long long n, void *p, const void *g, void *b, const rm_sgd_options *options) nogil
    rm_status rm_adam_step(int format, long long n, void *p, const void *g, void *m, void *v, void *w,
                           const rm_adam_options *options) nogil
    rm_status rm_formula(int formula, int format, int64_t n, double a, const void *x, const void *y, const void *z, void *out) nogil
    int RM_FORMULA_SCALED, RM_FORMULA_OVER, RM_FORMULA_UNDER, RM_FORMULA_ADDED, RM_FORMULA_PLUS, RM_FORMULA_BETWEEN
    int RM_FORMULA_PRODUCT, RM_FORMULA_QUOTIENT, RM_FORMULA_TANH, RM_FORMULA_SIGMOID
    int RM_FORMULA_AT_LEAST, RM_FORMULA_AT_MOST, RM_FORMULA_LARGER, RM_FORMULA_SMALLER, RM_FORMULA_GATE
    rm_status rm_clip_to_norm(int format, long long n, void *g, const rm_accumulator *squares, double max_norm) nogil
    rm_status rm_root_of_total(const rm_accumulator *squares, double *out) nogil
    int rm_status_code(rm_status status)
    int RM_ERR_INDEX, RM_ERR_MEMORY
    ctypedef struct rm_conv:
        int dims
        int64_t batch, channels_in, channels_out, groups
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilation[3]
        int64_t padding_low[3]
        int64_t padding_high[3]
        int64_t size "in"[3]
    rm_status rm_conv_forward(int format, const rm_conv *conv, const void *x, const ptrdiff_t *sx, const void *w,
                              const ptrdiff_t *sw, const void *bias, ptrdiff_t sb, void *y, const ptrdiff_t *sy) nogil
    rm_status rm_conv_grad_input(int format, const rm_conv *conv, const void *g, const ptrdiff_t *sg, const void *w,
                                 const ptrdiff_t *sw, const void *bias, ptrdiff_t sb, void *gx, const ptrdiff_t *sgx) nogil
    rm_status rm_conv_grad_weight(int format, const rm_conv *conv, const void *x, const ptrdiff_t *sx, const void *g,
                                  const ptrdiff_t *sg, void *gw, const ptrdiff_t *sgw) nogil
    rm_status rm_random_words32(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                ptrdiff_t so) nogil
    rm_status rm_random_words64(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                ptrdiff_t so) nogil
    rm_status rm_random_uniform(int format, unsigned long long seed, unsigned long long stream, long long first, long long n,
                                double low, double high, void *out, ptrdiff_t so) nogil
    rm_status rm_random_normal(int format, unsigned long long seed, unsigned long long stream, long long first, long long n,
                               double mean, double std, void *out, ptrdiff_t so) nogil
    rm_status rm_random_truncated_normal(int format, unsigned long long seed, unsigned long long stream, long long first,
                                         long long n, double mean, double std, double low, double high, void *out,
                                         ptrdiff_t so) nogil
    rm_status rm_random_bernoulli(unsigned long long seed, unsigned long long stream, long long first, long long n, double p,
                                  void *out, ptrdiff_t so) nogil
    rm_status rm_random_integers(unsigned long long seed, unsigned long long stream, long long first, long long n, long long low,
                                 long long last, void *out, ptrdiff_t so) nogil
    rm_status rm_random_permutation(unsigned long long seed, unsigned long long stream, long long first, long long n, void *out,
                                    ptrdiff_t so) nogil
    rm_status rm_dropout(int format, unsigned long long seed, unsigned long long stream, long long first, long long n, double p,
                         const void *x, ptrdiff_t sx, void *out, ptrdiff_t so) nogil
    const char *rm_status_message(rm_status status)
    rm_status rm_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                         ptrdiff_t row_y, ptrdiff_t stride_y) nogil
    rm_status rm_log_softmax(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                             ptrdiff_t row_y, ptrdiff_t stride_y) nogil
    rm_status rm_logsumexp(int format, int64_t rows, int64_t n, const void *x, ptrdiff_t row_x, ptrdiff_t stride_x, void *y,
                           ptrdiff_t stride_y) nogil
    rm_status rm_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                  const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                  ptrdiff_t stride_dx) nogil
    ctypedef struct rm_norm_sets:
        int centered
        int64_t sets[2]
        int64_t outer, inner
    rm_status rm_normalize(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w,
                           const ptrdiff_t *sw, const void *b, const ptrdiff_t *sb, const void *mean, const ptrdiff_t *sm,
                           const void *variance, const ptrdiff_t *sv, double eps, void *y, const ptrdiff_t *sy) nogil
    rm_status rm_normalize_with_statistics(int format, const rm_norm_sets *sets, const void *x, const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw,
                                           const void *b, const ptrdiff_t *sb, double eps, void *y, const ptrdiff_t *sy, void *mean, void *root) nogil
    rm_status rm_normalize_backward(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                    const ptrdiff_t *sx, const void *w, const ptrdiff_t *sw, const void *mean, const ptrdiff_t *sm,
                                    const void *variance, const ptrdiff_t *sv, double eps, void *dx, const ptrdiff_t *sdx) nogil
    rm_status rm_normalize_backward_weight(int format, const rm_norm_sets *sets, const void *g, const ptrdiff_t *sg, const void *x,
                                           const ptrdiff_t *sx, const void *mean, const ptrdiff_t *sm, const void *variance,
                                           const ptrdiff_t *sv, double eps, void *dw, const ptrdiff_t *sdw) nogil
    ctypedef struct rm_cross_entropy_problem:
        int64_t rows, n
        const void *x
        ptrdiff_t row_x, stride_x
        const int64_t *target
        ptrdiff_t stride_target
        const void *probability
        ptrdiff_t row_probability, stride_probability
        const void *weight
        ptrdiff_t stride_weight
        int64_t ignore_index
        double label_smoothing
        int reduction
    rm_status rm_cross_entropy(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss) nogil
    rm_status rm_cross_entropy_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                        void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) nogil
    rm_status rm_nll_loss(int format, const rm_cross_entropy_problem *problem, void *loss, ptrdiff_t stride_loss) nogil
    rm_status rm_nll_loss_backward(int format, const rm_cross_entropy_problem *problem, const void *g, ptrdiff_t stride_g,
                                   void *dx, ptrdiff_t row_dx, ptrdiff_t stride_dx) nogil
    rm_status rm_bce_with_logits(int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x, const void *y,
                                 ptrdiff_t stride_y, const void *weight, ptrdiff_t stride_weight, const void *pos_weight,
                                 ptrdiff_t stride_pos_weight, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_bce_with_logits_backward(int format, int reduction, int64_t n, const void *g, ptrdiff_t stride_g, const void *x,
                                          ptrdiff_t stride_x, const void *y, ptrdiff_t stride_y, const void *weight,
                                          ptrdiff_t stride_weight, const void *pos_weight, ptrdiff_t stride_pos_weight, void *dx,
                                          ptrdiff_t stride_dx) nogil
    rm_status rm_kl_div(int format, int reduction, int log_target, int64_t count, int64_t n, const void *x, ptrdiff_t stride_x,
                        const void *t, ptrdiff_t stride_t, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_kl_div_backward(int format, int reduction, int log_target, int64_t count, int64_t n, const void *g,
                                 ptrdiff_t stride_g, const void *t, ptrdiff_t stride_t, void *dx, ptrdiff_t stride_dx) nogil
    int RM_ROW_MAJOR, RM_NO_TRANS, RM_TRANS
    rm_status rm_gemm(int format, int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                      const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc) nogil
    rm_status rm_log_softmax_backward(int format, int64_t rows, int64_t n, const void *g, ptrdiff_t row_g, ptrdiff_t stride_g,
                                      const void *y, ptrdiff_t row_y, ptrdiff_t stride_y, void *dx, ptrdiff_t row_dx,
                                      ptrdiff_t stride_dx) nogil
    ctypedef struct rm_pool:
        int dims, adaptive
        int64_t batch, channels
        int64_t in_ "in"[3]
        int64_t out[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilation[3]
        int64_t padding[3]
    rm_status rm_max_pool(int format, const rm_pool *pool, const void *x, const ptrdiff_t *strides_x, void *y,
                          const ptrdiff_t *strides_y, int64_t *index, const ptrdiff_t *strides_index) nogil
    rm_status rm_avg_pool(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *x,
                          const ptrdiff_t *strides_x, void *y, const ptrdiff_t *strides_y) nogil
    rm_status rm_avg_pool_backward(int format, const rm_pool *pool, int include_pad, int64_t divisor, const void *g,
                                   const ptrdiff_t *strides_g, void *gx, const ptrdiff_t *strides_gx) nogil
    rm_status rm_regression_loss(int loss, double p, int format, int reduction, int64_t n, const void *x, ptrdiff_t stride_x,
                                 const void *y, ptrdiff_t stride_y, void *out, ptrdiff_t stride_out) nogil
    rm_status rm_regression_loss_backward(int loss, double p, int format, int reduction, int64_t n, const void *g,
                                          ptrdiff_t stride_g, const void *x, ptrdiff_t stride_x, const void *y,
                                          ptrdiff_t stride_y, void *dx, ptrdiff_t stride_dx) nogil
    int RM_ACCUMULATOR_BYTES
    rm_accumulator *rm_accumulator_new() nogil
    void rm_accumulator_free(rm_accumulator *acc) nogil
    rm_status rm_accumulator_add_f16(rm_accumulator *acc, long long n, const rm_f16 *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_bf16(rm_accumulator *acc, long long n, const rm_bf16 *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_f32(rm_accumulator *acc, long long n, const float *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_f64(rm_accumulator *acc, long long n, const double *x, ptrdiff_t sx) nogil
    rm_status rm_accumulator_add_products_f16(rm_accumulator *acc, long long n, const rm_f16 *x, ptrdiff_t sx,
                                              const rm_f16 *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_bf16(rm_accumulator *acc, long long n, const rm_bf16 *x, ptrdiff_t sx,
                                               const rm_bf16 *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_f32(rm_accumulator *acc, long long n, const float *x, ptrdiff_t sx,
                                              const float *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_add_products_f64(rm_accumulator *acc, long long n, const double *x, ptrdiff_t sx,
                                              const double *y, ptrdiff_t sy) nogil
    rm_status rm_accumulator_merge(rm_accumulator *into, const rm_accumulator *other) nogil
    rm_status rm_accumulator_subtract(rm_accumulator *into, const rm_accumulator *other) nogil
    rm_status rm_accumulator_rounded_f16(const rm_accumulator *acc, rm_f16 *out, int rounding) nogil
    rm_status rm_accumulator_rounded_bf16(const rm_accumulator *acc, rm_bf16 *out, int rounding) nogil
    rm_status rm_accumulator_rounded_f32(const rm_accumulator *acc, float *out, int rounding) nogil
    rm_status rm_accumulator_rounded_f64(const rm_accumulator *acc, double *out, int rounding) nogil
    rm_status rm_accumulator_write(const rm_accumulator *acc, unsigned char *bytes, size_t size) nogil
    rm_status rm_accumulator_read(rm_accumulator *acc, const unsigned char *bytes, size_t size) nogil

cdef extern from "ufuncs.h":
    const char *RM_PY_COMPILER

SPEC_VERSION = RM_SPEC_VERSION
COMPILER = RM_PY_COMPILER.decode()
# Every name that some build of the library has, best first; rm_isa_available knows which of them run here.
_ISA_NAMES = ("avx512", "avx2", "neon", "base")


def isa():
    """The name of the build in use."""
    return rm_isa().decode()


def available_isas():
    """The names of the builds that this CPU can run, best first."""
    return tuple(name for name in _ISA_NAMES if rm_isa_available(name.encode()))


def library_version():
    """The version of the C library."""
    return rm_version().decode()


def get_num_threads():
    """The number of threads that one call may use.

    Returns
    -------
    int
        At first REPMATH_NUM_THREADS, OMP_NUM_THREADS or the CPUs of this
        process. It never changes a result.
    """
    return rm_get_num_threads()


def set_num_threads(n):
    """Set the number of threads that one call may use.

    Parameters
    ----------
    n : int
        From 1 to 4096. It never changes a result.

    Raises
    ------
    ValueError
        `n` is out of range.
    TypeError
        `n` is not an integer.
    """
    # A bool or a float here is a slip, not a number of threads.
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"n must be an integer, not {type(n).__name__}")
    n = n.__index__()
    if not 1 <= n <= 4096 or rm_set_num_threads(n) != 0:
        raise ValueError(f"n must be from 1 to 4096, not {n}")


def _check_isa():
    if rm_isa_status() != 0:
        raise ImportError(
            f"REPMATH_ISA={os.environ.get('REPMATH_ISA')!r} names a build that does not exist or that this CPU "
            f"cannot run; available: {', '.join(available_isas())}"
        )


_check_isa()
rm_py_import_numpy()
ufuncs = rm_py_elementwise_ufuncs()
gufuncs = rm_py_reduction_gufuncs()
# rule -> name -> ufunc, for float32 and float64
rounded = {
    "nearest": rm_py_rounded_ufuncs(RM_ROUND_NEAREST),
    "toward_zero": rm_py_rounded_ufuncs(RM_ROUND_TOWARD_ZERO),
    "down": rm_py_rounded_ufuncs(RM_ROUND_DOWN),
    "up": rm_py_rounded_ufuncs(RM_ROUND_UP),
}
for _ufuncs in (ufuncs, *rounded.values()):
    rm_py_promote_to_double(_ufuncs)


def add_bfloat16(dtype_class):
    """Give every elementwise ufunc a loop for this DType class, whose elements are bfloat16."""
    rm_py_add_bfloat16(ufuncs, dtype_class)
    rm_py_add_bfloat16_reductions(gufuncs, dtype_class)


_FLOAT8 = {"float8_e4m3fn": RM_PY_E4M3FN, "float8_e5m2": RM_PY_E5M2}


def add_float8(name, dtype_class):
    """Give every elementwise ufunc of one argument a loop for this DType class, whose elements are of this 8-bit format."""
    rm_py_add_float8(ufuncs, dtype_class, _FLOAT8[name])


def round_float8(name, const double[::1] x, unsigned char[::1] codes):
    """Round float64 numbers to the codes of an 8-bit format."""
    cdef int format = _FLOAT8[name]
    cdef Py_ssize_t i
    with nogil:
        for i in range(x.shape[0]):
            codes[i] = rm_py_float8_round(x[i], format)


def same_float(a, b):
    """Whether both are ndarrays of one type, float32 or float64, so that nothing needs converting."""
    return rm_py_same_float(a, b)


_FORMATS = {
    "f16": (RM_FORMAT_F16, 2), "bf16": (RM_FORMAT_BF16, 2), "f32": (RM_FORMAT_F32, 4), "f64": (RM_FORMAT_F64, 8)
}


_STATISTICS = {"mean": 0, "norm": 1, "var": 2, "std": 3, "sum": 4}


def row_statistic(what, format_x, format_out, const unsigned char[:, ::1] x, unsigned char[:, ::1] out,
                  const unsigned char[:, ::1] mask=None, double ddof=0.0):
    """A statistic of each row of x, of its elements where mask is not 0; x and out as bytes, a row an element of out."""
    cdef int from_format, to_format, which = _STATISTICS[what]
    cdef Py_ssize_t size, i, k, n, rows = out.shape[0]
    from_format, size = _FORMATS[format_x]
    to_format, _ = _FORMATS[format_out]
    cdef Py_ssize_t length = x.shape[1] // size
    cdef unsigned char nothing = 0
    cdef const unsigned char *row
    cdef unsigned char[::1] chosen
    cdef rm_status status = 0
    cdef bint masked = mask is not None
    if masked:
        chosen = bytearray(max(1, length * size))
    with nogil:
        for i in range(rows):
            row = &x[i, 0] if length > 0 else &nothing
            n = length
            if masked:
                n = 0
                for k in range(length):  # each is copied, and stays where it counts
                    memcpy(&chosen[n * size], row + k * size, size)
                    n += mask[i, k] != 0
                row = &chosen[0]
            if which == 0:
                status |= rm_mean(from_format, n, row, size, to_format, &out[i, 0])
            elif which == 1:
                status |= rm_norm(from_format, n, row, size, to_format, &out[i, 0])
            elif which == 2:
                status |= rm_var(from_format, n, row, size, to_format, &out[i, 0], ddof)
            elif which == 4:
                status |= rm_sum(from_format, n, row, size, to_format, &out[i, 0])
            else:
                status |= rm_std(from_format, n, row, size, to_format, &out[i, 0], ddof)
    if status != 0:  # of the arguments that come from outside, only ddof may be at fault
        raise ValueError(f"ddof must be a finite number for which n - ddof has at most 62 bits, not {ddof}")


def cumsum_rows(format_x, format_out, const unsigned char[:, ::1] x, unsigned char[:, ::1] out):
    """The cumulative sums of each row of x; both as bytes."""
    cdef int from_format, to_format
    cdef Py_ssize_t size, size_out, i
    from_format, size = _FORMATS[format_x]
    to_format, size_out = _FORMATS[format_out]
    cdef Py_ssize_t n = x.shape[1] // size
    if n == 0:
        return
    with nogil:
        for i in range(x.shape[0]):
            rm_cumsum(from_format, n, &x[i, 0], size, to_format, &out[i, 0], size_out)


def stats():
    """Count how the elements of exact reductions were decided so far.

    Returns
    -------
    dict
        ``fast``: by the first evaluation and its bound; ``double_double``: by
        the second one; ``accumulator``: by exact integer arithmetic. A result's
        bits are the same whichever it was; its time is not. Counted for the
        whole process, all threads together, since it began or reset_stats.
    """
    cdef rm_reduction_stats counts
    rm_get_reduction_stats(&counts)
    return {"fast": counts.fast, "double_double": counts.double_double, "accumulator": counts.accumulator}


def reset_stats():
    """Set the counts of stats to zero.

    They are of the whole process, all threads together.
    """
    rm_reset_reduction_stats()


ERR_INDEX = RM_ERR_INDEX


cdef struct View:
    size_t base
    ptrdiff_t stride[5]


cdef View _view(array):
    """The address and the strides of an array; none for None."""
    cdef View v
    v.base = 0
    for i in range(5):
        v.stride[i] = 0
    if array is not None:
        v.base = array.__array_interface__["data"][0]
        for i in range(array.ndim):
            v.stride[i] = array.strides[i]
    return v


def convolve(what, format, sizes, first, second, bias, out):
    """A convolution or a gradient of it: sizes are those of rm_conv; arrays have their channels second, those of w too.

    Returns the kinds of floating-point errors, as numpy.errstate names them, that it has raised."""
    cdef rm_conv c
    cdef fenv_t before
    cdef int raised
    cdef View a = _view(first), b = _view(second), z = _view(bias), y = _view(out)
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    (c.batch, c.channels_in, c.channels_out, c.groups), size, kernel, stride, dilation, low, high = sizes
    c.dims = len(size)
    for j in range(c.dims):
        c.size[j], c.kernel[j], c.stride[j] = size[j], kernel[j], stride[j]
        c.dilation[j], c.padding_low[j], c.padding_high[j] = dilation[j], low[j], high[j]
    cdef int which = {"forward": 0, "grad_input": 1, "grad_weight": 2}[what]
    with nogil:
        fegetenv(&before)
        feclearexcept(FE_INVALID | FE_OVERFLOW)
        if which == 0:
            status = rm_conv_forward(f, &c, <void *>a.base, a.stride, <void *>b.base, b.stride, <void *>z.base, z.stride[0],
                                     <void *>y.base, y.stride)
        elif which == 1:
            status = rm_conv_grad_input(f, &c, <void *>a.base, a.stride, <void *>b.base, b.stride, <void *>z.base,
                                        z.stride[0], <void *>y.base, y.stride)
        else:
            status = rm_conv_grad_weight(f, &c, <void *>a.base, a.stride, <void *>b.base, b.stride, <void *>y.base, y.stride)
        raised = fetestexcept(FE_INVALID | FE_OVERFLOW)
        feupdateenv(&before)
    _raise(status)
    return [kind for kind, flag in (("over", FE_OVERFLOW), ("invalid", FE_INVALID)) if raised & flag]


def status_message(int status):
    """What a status of the C library says."""
    return rm_status_message(status).decode()


cdef _raise(rm_status status):
    """MemoryError or ValueError for a status that is not 0."""
    if status != 0:
        message = status_message(status)
        raise MemoryError(message) if rm_status_code(status) == RM_ERR_MEMORY else ValueError(message)


_SOFTMAX = {"softmax": 0, "log_softmax": 1, "logsumexp": 2, "softmax_backward": 3, "log_softmax_backward": 4}


def softmax(what, format, first, second, out):
    """rm_<what> over arrays of rows; second: y of a gradient, else None."""
    cdef View a = _view(first), b = _view(second), y = _view(out)
    cdef rm_status status = 0
    cdef int f, which = _SOFTMAX[what]
    cdef int64_t rows = first.shape[0], n = first.shape[1]
    f, _ = _FORMATS[format]
    with nogil:
        if which == 0:
            status = rm_softmax(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0], y.stride[1])
        elif which == 1:
            status = rm_log_softmax(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0],
                                    y.stride[1])
        elif which == 2:
            status = rm_logsumexp(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>y.base, y.stride[0])
        elif which == 3:
            status = rm_softmax_backward(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>b.base, b.stride[0],
                                         b.stride[1], <void *>y.base, y.stride[0], y.stride[1])
        else:
            status = rm_log_softmax_backward(f, rows, n, <void *>a.base, a.stride[0], a.stride[1], <void *>b.base, b.stride[0], b.stride[1],
                                             <void *>y.base, y.stride[0], y.stride[1])
    _raise(status)


def normalize(what, format, bint centered, x, g, w, b, mean, variance, double eps, out, weight_strides=None):
    """rm_normalize and its gradients: arrays of four axes, (sets, sets, blocks, elements); w, b, mean and variance may be None. To be "found",
    mean and variance are contiguous arrays of an element a set, of the mean and 1/sqrt(variance + eps)."""
    cdef View a = _view(x), h = _view(g), u = _view(w), v = _view(b), m = _view(mean), s = _view(variance), y = _view(out)
    cdef rm_norm_sets sets
    cdef rm_status status
    cdef int f, which = {"forward": 0, "input": 1, "weight": 2, "found": 3}[what]
    f, _ = _FORMATS[format]
    sets.centered = centered
    sets.sets[0], sets.sets[1], sets.outer, sets.inner = x.shape
    for i in range(4 if weight_strides is not None else 0):
        y.stride[i] = weight_strides[i]
    with nogil:
        if which == 0:
            status = rm_normalize(f, &sets, <void *>a.base, a.stride, <void *>u.base, u.stride, <void *>v.base, v.stride,
                                  <void *>m.base, m.stride, <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
        elif which == 3:
            status = rm_normalize_with_statistics(f, &sets, <void *>a.base, a.stride, <void *>u.base, u.stride, <void *>v.base, v.stride, eps,
                                                  <void *>y.base, y.stride, <void *>m.base, <void *>s.base)
        elif which == 1:
            status = rm_normalize_backward(f, &sets, <void *>h.base, h.stride, <void *>a.base, a.stride, <void *>u.base, u.stride,
                                           <void *>m.base, m.stride, <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
        else:
            status = rm_normalize_backward_weight(f, &sets, <void *>h.base, h.stride, <void *>a.base, a.stride, <void *>m.base, m.stride,
                                                  <void *>s.base, s.stride, eps, <void *>y.base, y.stride)
    _raise(status)


_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def cross_entropy(bint logits, format, x, target, probability, weight, int64_t ignore_index, double label_smoothing, reduction, g,
                  out):
    """rm_cross_entropy, or without logits rm_nll_loss, or with a gradient g their gradients, over rows. Returns the status."""
    cdef View a = _view(x), t = _view(target), p = _view(probability), w = _view(weight), h = _view(g), y = _view(out)
    cdef rm_cross_entropy_problem c
    cdef rm_status status
    cdef int f
    cdef bint backward = g is not None
    f, _ = _FORMATS[format]
    c.rows, c.n = x.shape
    c.x, c.row_x, c.stride_x = <void *>a.base, a.stride[0], a.stride[1]
    c.target, c.stride_target = <const int64_t *>t.base, t.stride[0]
    c.probability, c.row_probability, c.stride_probability = <void *>p.base, p.stride[0], p.stride[1]
    c.weight, c.stride_weight = <void *>w.base, w.stride[0]
    c.ignore_index, c.label_smoothing, c.reduction = ignore_index, label_smoothing, _REDUCTIONS[reduction]
    with nogil:
        if backward and not logits:
            status = rm_nll_loss_backward(f, &c, <void *>h.base, h.stride[0], <void *>y.base, y.stride[0], y.stride[1])
        elif not logits:
            status = rm_nll_loss(f, &c, <void *>y.base, y.stride[0])
        elif backward:
            status = rm_cross_entropy_backward(f, &c, <void *>h.base, h.stride[0], <void *>y.base, y.stride[0], y.stride[1])
        else:
            status = rm_cross_entropy(f, &c, <void *>y.base, y.stride[0])
    if rm_status_code(status) != RM_ERR_INDEX:
        _raise(status)
    return rm_status_code(status)


def gemm(format, bint trans_a, bint trans_b, double alpha, a, b, double beta, c):
    """c[i] = RN(alpha op(a[i]) op(b[i]) + beta c[i]) for C-contiguous arrays of matrices."""
    cdef View x = _view(a), y = _view(b), z = _view(c)
    cdef int f
    cdef Py_ssize_t i, count = c.shape[0]
    cdef int64_t m = c.shape[1], n = c.shape[2], k = a.shape[1] if trans_a else a.shape[2]
    cdef int64_t lda = a.shape[2], ldb = b.shape[2]
    cdef int ta = RM_TRANS if trans_a else RM_NO_TRANS, tb = RM_TRANS if trans_b else RM_NO_TRANS
    cdef rm_status status = 0
    f, _ = _FORMATS[format]
    with nogil:
        for i in range(count):
            status = rm_gemm(f, RM_ROW_MAJOR, ta, tb, m, n, k, alpha, <void *>(x.base + i * x.stride[0]), max(lda, 1),
                             <void *>(y.base + i * y.stride[0]), max(ldb, 1), beta, <void *>(z.base + i * z.stride[0]),
                             max(n, 1))
            if status != 0:
                break
    _raise(status)


_REGRESSION_LOSSES = {"mse": 0, "l1": 1, "smooth_l1": 2, "huber": 3}


def regression_loss(loss, double p, format, reduction, g, x, y, out):
    """rm_regression_loss, or with g its gradient; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vy = _view(y), to = _view(out)
    cdef int which = _REGRESSION_LOSSES[loss], how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = x.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_regression_loss_backward(which, p, f, how, n, <void *>vg.base, vg.stride[0], <void *>vx.base, vx.stride[0],
                                                 <void *>vy.base, vy.stride[0], <void *>to.base, to.stride[0])
        else:
            status = rm_regression_loss(which, p, f, how, n, <void *>vx.base, vx.stride[0], <void *>vy.base, vy.stride[0],
                                        <void *>to.base, to.stride[0])
    _raise(status)


def bce_with_logits(format, reduction, g, x, y, weight, pos_weight, out):
    """rm_bce_with_logits, or with g its gradient; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vy = _view(y), vw = _view(weight), vp = _view(pos_weight), to = _view(out)
    cdef int how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = x.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_bce_with_logits_backward(f, how, n, <void *>vg.base, vg.stride[0], <void *>vx.base, vx.stride[0],
                                                 <void *>vy.base, vy.stride[0], <void *>vw.base, vw.stride[0],
                                                 <void *>vp.base, vp.stride[0], <void *>to.base, to.stride[0])
        else:
            status = rm_bce_with_logits(f, how, n, <void *>vx.base, vx.stride[0], <void *>vy.base, vy.stride[0],
                                        <void *>vw.base, vw.stride[0], <void *>vp.base, vp.stride[0], <void *>to.base,
                                        to.stride[0])
    _raise(status)


def kl_div(format, reduction, bint log_target, int64_t count, g, x, t, out):
    """rm_kl_div, or with g its gradient, without x; arrays have one axis."""
    cdef View vg = _view(g), vx = _view(x), vt = _view(t), to = _view(out)
    cdef int how = _REDUCTIONS[reduction], f
    cdef bint backward = g is not None
    cdef int64_t n = t.shape[0]
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        if backward:
            status = rm_kl_div_backward(f, how, log_target, count, n, <void *>vg.base, vg.stride[0], <void *>vt.base, vt.stride[0],
                                        <void *>to.base, to.stride[0])
        else:
            status = rm_kl_div(f, how, log_target, count, n, <void *>vx.base, vx.stride[0], <void *>vt.base, vt.stride[0],
                               <void *>to.base, to.stride[0])
    _raise(status)


def pool(what, format, sizes, bint include_pad, int64_t divisor, first, out, index):
    """rm_max_pool, rm_avg_pool or rm_avg_pool_backward; sizes are those of rm_pool, windows None when they are adaptive."""
    cdef rm_pool p
    cdef View a = _view(first), y = _view(out), at = _view(index)
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    (p.batch, p.channels), size, result, windows = sizes
    p.dims = len(size)
    p.adaptive = windows is None
    for j in range(p.dims):
        p.in_[j], p.out[j] = size[j], result[j]
        if windows is not None:
            p.kernel[j], p.stride[j], p.dilation[j], p.padding[j] = (w[j] for w in windows)
    cdef int which = {"max_pool": 0, "avg_pool": 1, "avg_pool_backward": 2}[what]
    with nogil:
        if which == 0:
            status = rm_max_pool(f, &p, <void *>a.base, a.stride, <void *>y.base, y.stride, <int64_t *>at.base, at.stride)
        elif which == 1:
            status = rm_avg_pool(f, &p, include_pad, divisor, <void *>a.base, a.stride, <void *>y.base, y.stride)
        else:
            status = rm_avg_pool_backward(f, &p, include_pad, divisor, <void *>a.base, a.stride, <void *>y.base, y.stride)
    _raise(status)


def scatter(bint add, format, long long rows, long long cols, unsigned char[::1] out, const int64_t[::1] index,
            const unsigned char[::1] src):
    """rm_index_add or rm_segment_sum; out and src as bytes, row after row. Returns the code of the status."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    f, size = _FORMATS[format]
    cdef long long n = index.shape[0]
    cdef void *to = &out[0] if out.shape[0] else NULL
    cdef const void *source = &src[0] if src.shape[0] else NULL
    cdef const int64_t *at = &index[0] if n else NULL
    with nogil:
        if add:
            status = rm_index_add(f, rows, cols, to, cols * size, size, n, at, 8, source, cols * size, size)
        else:
            status = rm_segment_sum(f, rows, cols, to, cols * size, size, n, at, 8, source, cols * size, size)
    return rm_status_code(status)


_RANDOM = {
    "words32": 0, "words64": 1, "uniform": 2, "bernoulli": 3, "integers": 4, "permutation": 5, "dropout": 6, "normal": 7,
    "truncated_normal": 8
}


def random_fill(what, place, out, format="f64", a=0, b=0, x=None, ends=(0, 0)):
    """Fill out, contiguous, with elements of a stream: place is (seed, stream, first); a and b the parameters of the
    distribution, ends those of a truncated one; x, contiguous too, what a dropout reads."""
    cdef unsigned long long seed, stream
    cdef long long first, low = 0, last = 0, n = out.size
    cdef double p = 0, q = 0, least, most
    cdef int f, which = _RANDOM[what]
    cdef ptrdiff_t size = out.itemsize
    cdef View y = _view(out), v = _view(x)
    cdef rm_status status
    seed, stream, first = place
    f, _ = _FORMATS[format]
    least, most = ends
    if which == 4:
        low, last = a, b
    else:
        p, q = a, b
    with nogil:
        if which == 0:
            status = rm_random_words32(seed, stream, first, n, <void *>y.base, size)
        elif which == 1:
            status = rm_random_words64(seed, stream, first, n, <void *>y.base, size)
        elif which == 2:
            status = rm_random_uniform(f, seed, stream, first, n, p, q, <void *>y.base, size)
        elif which == 3:
            status = rm_random_bernoulli(seed, stream, first, n, p, <void *>y.base, size)
        elif which == 4:
            status = rm_random_integers(seed, stream, first, n, low, last, <void *>y.base, size)
        elif which == 5:
            status = rm_random_permutation(seed, stream, first, n, <void *>y.base, size)
        elif which == 8:
            status = rm_random_truncated_normal(f, seed, stream, first, n, p, q, least, most, <void *>y.base, size)
        elif which == 7:
            status = rm_random_normal(f, seed, stream, first, n, p, q, <void *>y.base, size)
        else:
            status = rm_dropout(f, seed, stream, first, n, p, <void *>v.base, size, <void *>y.base, size)
    _raise(status)  # what else could be at fault is checked before


def sgd_step(format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] b, double lr, double momentum,
             double dampening, double weight_decay, bint nesterov, bint maximize, bint first):
    """rm_sgd_step on arrays as bytes, of one size and not empty; b is None without momentum."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_sgd_options o = rm_sgd_options(lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *buffer = NULL if b is None else &b[0]
    with nogil:
        status = rm_sgd_step(f, n, &p[0], &g[0], buffer, &o)
    _raise(status)


def adam_step(format, unsigned char[::1] p, const unsigned char[::1] g, unsigned char[::1] m, unsigned char[::1] v,
              unsigned char[::1] w, double lr, double beta1, double beta2, double eps, double weight_decay, int64_t step,
              bint decoupled, bint maximize):
    """rm_adam_step on arrays as bytes, of one size and not empty; w is None without amsgrad."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    cdef rm_adam_options o = rm_adam_options(lr, beta1, beta2, eps, weight_decay, step, decoupled, maximize)
    f, size = _FORMATS[format]
    cdef long long n = p.shape[0] // size
    cdef void *largest = NULL if w is None else &w[0]
    with nogil:
        status = rm_adam_step(f, n, &p[0], &g[0], &m[0], &v[0], largest, &o)
    _raise(status)


_FORMULAS = {
    "scaled": RM_FORMULA_SCALED, "over": RM_FORMULA_OVER, "under": RM_FORMULA_UNDER, "added": RM_FORMULA_ADDED,
    "plus": RM_FORMULA_PLUS, "between": RM_FORMULA_BETWEEN, "product": RM_FORMULA_PRODUCT, "quotient": RM_FORMULA_QUOTIENT,
    "tanh": RM_FORMULA_TANH, "sigmoid": RM_FORMULA_SIGMOID, "at_least": RM_FORMULA_AT_LEAST, "at_most": RM_FORMULA_AT_MOST,
    "larger": RM_FORMULA_LARGER, "smaller": RM_FORMULA_SMALLER, "gate": RM_FORMULA_GATE
}


def formula(name, format, int64_t n, double a, size_t x, size_t y, size_t z, size_t out):
    """rm_formula on n elements of contiguous arrays, which are given by their addresses: 0 for one that it does not use."""
    cdef int which = _FORMULAS[name], f
    cdef rm_status status
    f, _ = _FORMATS[format]
    with nogil:
        status = rm_formula(which, f, n, a, <const void *>x, <const void *>y, <const void *>z, <void *>out)
    _raise(status)


def clip_to_norm(format, unsigned char[::1] g, ExactSum squares, double max_norm):
    """rm_clip_to_norm on an array as bytes, not empty."""
    cdef int f
    cdef Py_ssize_t size
    cdef rm_status status
    f, size = _FORMATS[format]
    cdef long long n = g.shape[0] // size
    with nogil:
        status = rm_clip_to_norm(f, n, &g[0], squares.acc, max_norm)
    _raise(status)


_RULES = {
    "nearest": RM_ROUND_NEAREST,
    "toward_zero": RM_ROUND_TOWARD_ZERO,
    "down": RM_ROUND_DOWN,
    "up": RM_ROUND_UP,
}


cdef class Environment:
    """Inside `with`, this thread has the default floating-point environment; then again its own."""

    cdef fenv_t saved

    def __enter__(self):
        fegetenv(&self.saved)
        fesetenv(FE_DFL_ENV)

    def __exit__(self, *error):
        fesetenv(&self.saved)


include "_exact_sum.pxi"
