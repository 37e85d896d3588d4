# Statistics of rows, cumulative sums, scattered sums, and how their elements were decided.

cdef enum:
    SUMMED, MEAN, NORM, VAR, STD

_STATISTICS = {"sum": SUMMED, "mean": MEAN, "norm": NORM, "var": VAR, "std": STD}


cdef rm_status _statistic(int what, int from_format, int64_t n, const void *x, int to_format, void *out, double ddof) noexcept nogil:
    """Of n neighbours."""
    cdef ptrdiff_t size = _SIZES[from_format]
    if what == SUMMED:
        return rm_sum(from_format, n, x, size, to_format, out)
    if what == MEAN:
        return rm_mean(from_format, n, x, size, to_format, out)
    if what == NORM:
        return rm_norm(from_format, n, x, size, to_format, out)
    if what == VAR:
        return rm_var(from_format, n, x, size, to_format, out, ddof)
    return rm_std(from_format, n, x, size, to_format, out, ddof)


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
            status |= _statistic(which, from_format, n, row, to_format, &out[i, 0], ddof)
    if status != 0:  # of the arguments that come from outside, only ddof may be at fault
        raise ValueError(f"ddof must be a finite number for which n - ddof has at most 62 bits, not {ddof}")


def over_axes(bint mean, format_x, format_out, x, axes, out):
    """The sums or means of x over the axes, which are not negative, to the C-contiguous out. Returns whether that was invalid and
    whether it overflowed; None, and nothing is written, where the axes do not merge to two that are kept and two that are not."""
    cdef int64_t size[4]
    cdef ptrdiff_t stride[4]
    cdef Py_ssize_t n, step
    cdef int side, at, begin, i
    cdef size_t source, target
    cdef int from_format = _FORMATS[format_x][0], to_format = _FORMATS[format_out][0]
    cdef fenv_t saved
    cdef int raised
    cdef rm_status status
    shape, steps = x.shape, x.strides
    reduced = sorted(axes, key=lambda i: -abs(steps[i])) if len(axes) > 1 else axes  # the order of terms does not matter
    for side in range(2):
        begin, at = 2 * side, 2 * side + 1
        size[begin] = size[at] = 1
        stride[begin] = stride[at] = 0
        for i in reversed(reduced if side else [k for k in range(len(shape)) if k not in axes]):
            n, step = shape[i], steps[i]
            if n == 1:
                continue
            if size[at] == 1:
                size[at], stride[at] = n, step
            elif size[at] * stride[at] == step:
                size[at] *= n
            elif at == begin:
                return None
            else:
                at = begin
                size[at], stride[at] = n, step
    rm_py_layout(x, 0, &source, NULL)
    rm_py_layout(out, 0, &target, NULL)
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        if mean:
            status = rm_mean_axes(from_format, size, stride, <const void *>source, to_format, <void *>target)
        else:
            status = rm_sum_axes(from_format, size, stride, <const void *>source, to_format, <void *>target)
        raised = fetestexcept(FE_INVALID | FE_OVERFLOW)
        fesetenv(&saved)
    _raise(status)
    return (raised & FE_INVALID) != 0, (raised & FE_OVERFLOW) != 0


cdef rm_status _prefixes(int f, int to, int64_t outer, int64_t n, int64_t inner, const void *x, void *out) noexcept nogil:
    """The cumulative sums along the middle axis of a C-contiguous array of three."""
    cdef ptrdiff_t size = _SIZES[f], size_out = _SIZES[to]
    cdef int64_t i
    cdef rm_status status = 0
    if inner == 1:
        return rm_cumsum_rows(f, outer, n, x, n * size, size, to, out, n * size_out, size_out)
    for i in range(outer):
        status = rm_cumsum_rows(
            f, inner, n, <const char *>x + i * n * inner * size, size, inner * size,
            to, <char *>out + i * n * inner * size_out, size_out, inner * size_out,
        )
        if status != 0:
            break
    return status


def cumsum_axis(format_x, format_out, Py_ssize_t inner, const unsigned char[:, ::1] x, unsigned char[:, ::1] out):
    """The cumulative sums along the middle axis of x, which is a matrix of bytes: its rows hold lines of `inner` numbers each."""
    cdef int from_format, to_format
    cdef Py_ssize_t size, size_out, n, outer = x.shape[0]
    cdef rm_status status
    from_format, size = _FORMATS[format_x]
    to_format, size_out = _FORMATS[format_out]
    n = x.shape[1] // (size * inner)
    if n == 0 or outer == 0:
        return
    with nogil:
        status = _prefixes(from_format, to_format, outer, n, inner, &x[0, 0], &out[0, 0])
    _raise(status)


cdef int64_t _products_between(int format, int64_t n, const int64_t *count, int digits, const double *m, const int64_t *e, double *ends,
                               char *out, unsigned char *left, rm_status *status) noexcept nogil:
    """Rounds both ends of the intervals around products; where they differ, `left` is 1. ends: 3 n numbers. Returns how many differ."""
    cdef ptrdiff_t size = _SIZES[format]
    cdef char *other = <char *>&ends[2 * n]
    cdef int64_t i, open_ = 0
    rm_py_product_ends(n, count, digits, m, e, ends, &ends[n])
    status[0] = rm_py_converted(RM_FORMAT_F64, format, n, ends, out)
    if status[0] == 0:
        status[0] = rm_py_converted(RM_FORMAT_F64, format, n, &ends[n], other)
    for i in range(n):
        left[i] = memcmp(out + i * size, other + i * size, size) != 0
        open_ += left[i]
    return open_


def products(format, format_out, x, bint partial, out, unsigned char[:, ::1] undecided):
    """The product of each contiguous row of numbers, or of its first 1, 2, ... ones, rounded to format_out: out has one number for a row, or as
    many as x. Where double-double leaves it open, `undecided` is 1. Returns whether it is 1 somewhere."""
    cdef View a = _view(x), y = _view(out)
    cdef int f, to
    cdef rm_status status
    cdef int64_t rows, n
    rows, n = x.shape
    f, _ = _FORMATS[format]
    to, _ = _FORMATS[format_out]
    if undecided.shape[0] == 0 or undecided.shape[1] == 0:
        return False
    with nogil:
        status = rm_products(f, rows, n, <const void *>a.base, partial, to, <void *>y.base, &undecided[0, 0])
    _raise(status)
    return memchr(&undecided[0, 0], 1, undecided.shape[0] * undecided.shape[1]) is not NULL


cdef int64_t _scattered_products(int format, int64_t rows, int64_t cols, const char *x, int64_t m, const int64_t *index, const char *source, bint own,
                                 char *out, unsigned char *left, char *memory, rm_status *status) noexcept nogil:
    """The products of each row of x, unless it is not included, and those of the m rows of the source that the index names it for; rows that it does not
    name are as they were. Where the bound of factors.h leaves a product open, `left` is 1. memory: 60 bytes for each number of x, and 4 for each of
    the source. Returns how many are open."""
    cdef int64_t n = rows * cols, i, j, k, open_
    cdef int digits = 11 if format == RM_FORMAT_F16 else 8 if format == RM_FORMAT_BF16 else 24
    cdef ptrdiff_t size = _SIZES[format]
    cdef int64_t *count = <int64_t *>memory
    cdef double *m_ = <double *>memory + n
    cdef int64_t *e = count + 2 * n
    cdef double *exceptional = m_ + 2 * n
    cdef float *own_factors = <float *>(memory + 56 * n)
    cdef float *factors = own_factors + n
    status[0] = rm_py_converted(format, RM_FORMAT_F32, n, x, own_factors)
    status[0] |= rm_py_converted(format, RM_FORMAT_F32, m * cols, source, factors)
    if status[0] != 0:
        return 0
    for i in range(n):
        count[i], m_[i], e[i], exceptional[i] = own, 1.0, 0, 1.0
    if own:
        rm_py_multiply(n, own_factors, m_, e, exceptional)
    for k in range(m):
        i = index[k] * cols
        rm_py_multiply(cols, factors + k * cols, m_ + i, e + i, exceptional + i)
        for j in range(cols):
            count[i + j] += 1
    for i in range(n):
        if exceptional[i] != 1.0 and exceptional[i] != -1.0:
            m_[i], e[i] = exceptional[i], 0
    open_ = _products_between(format, n, count, digits, m_, e, <double *>memory + 4 * n, out, left, status)
    for i in range(n):
        if count[i] == own:
            memcpy(out + i * size, x + i * size, size)
            open_ -= left[i]
            left[i] = 0
    return open_


def scattered_products(format, x, const int64_t[::1] index, source, bint own, out, unsigned char[:, ::1] left):
    """_scattered_products of contiguous arrays of two axes, of a format below binary64."""
    cdef View from_ = _view(x), factors = _view(source), y = _view(out)
    cdef int64_t rows = x.shape[0], cols = x.shape[1], m = index.shape[0], open_ = 0
    cdef int f
    cdef Memory memory
    cdef fenv_t saved
    cdef rm_status status = 0
    f, _ = _FORMATS[format]
    if rows * cols == 0 or m == 0:
        return 0
    memory = Memory(60 * rows * cols + 4 * m * cols)
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        open_ = _scattered_products(f, rows, cols, <char *>from_.base, m, &index[0], <char *>factors.base, own, <char *>y.base, &left[0, 0],
                                    memory.data, &status)
        fesetenv(&saved)
    _raise(status)
    return open_


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
