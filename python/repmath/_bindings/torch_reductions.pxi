# Prepared calls of reductions over any axes of tensors of any strides.

cdef enum:
    NANSUM = 5
    VAR_MEAN
    STD_MEAN
    LOGSUMEXP
    PRODUCT
    FEW = 4096  # elements that are copied into rows

_TOTALS = dict(_STATISTICS, nansum=NANSUM, var_mean=VAR_MEAN, std_mean=STD_MEAN, logsumexp=LOGSUMEXP, prod=PRODUCT)


cdef int _format_of_dtype(object dtype) except -2:
    """RM_FORMAT_... of a dtype of PyTorch, -1 for others."""
    if dtype not in _formats:
        return -1
    return _dtype_formats[dtype]


cdef dict _dtype_formats = {}


cdef bint _axes_of(object dims, int ndim, uint64_t *axes) except -1:
    """The axes that are named, as bits; all axes if none is named."""
    cdef int d
    axes[0] = 0
    if dims is not None:
        if type(dims) is int:
            dims = (dims,)
        elif type(dims) is not list and type(dims) is not tuple:
            return False
        for v in dims:
            if type(v) is not int or not -ndim <= v < ndim:
                return False
            d = v
            d += ndim if d < 0 else 0
            if axes[0] >> d & 1:
                return False
            axes[0] |= (<uint64_t>1) << d
    if axes[0] == 0:
        axes[0] = ((<uint64_t>1) << ndim) - 1
    return True


cdef bint _merged(const rm_py_strided *x, uint64_t axes, int64_t *size, ptrdiff_t *stride) noexcept:
    """Sets the axes of rm_sum_axes. Returns whether they merge into two that are kept and two that are summed."""
    cdef int order[MAX_AXES]
    cdef int count, side, i, k, d, begin, at
    for side in range(2):
        begin, at, count = 2 * side, 2 * side + 1, 0
        size[begin] = size[at] = 1
        stride[begin] = stride[at] = 0
        for d in range(x.ndim):
            if <int>(axes >> d & 1) == side and x.shape[d] != 1:
                i = count
                if side:  # the order of terms does not matter, so the largest stride comes first
                    while i > 0 and _size(x.stride[order[i - 1]]) < _size(x.stride[d]):
                        order[i] = order[i - 1]
                        i -= 1
                order[i] = d
                count += 1
        for k in range(count - 1, -1, -1):
            d = order[k]
            if size[at] == 1:
                size[at], stride[at] = x.shape[d], x.stride[d]
            elif size[at] * stride[at] == x.stride[d]:
                size[at] *= x.shape[d]
            elif at == begin:
                return False
            else:
                at = begin
                size[at], stride[at] = x.shape[d], x.stride[d]
    return True


cdef bint _in_order(rm_py_strided *x, uint64_t *axes) noexcept:
    """Puts the axes of a tensor that fills its memory in another order into that order. False where it does not, or where axes that are kept
    would change theirs."""
    cdef rm_py_strided given = x[0]
    cdef uint64_t from_ = axes[0], left = ((<uint64_t>1) << x.ndim) - 1
    cdef int i, k, d, last = -1
    if not _is_dense_in_an_order(x):
        return False
    axes[0] = 0
    for k in range(x.ndim):
        d = -1
        for i in range(x.ndim):  # the largest stride first; axes of one element lie anywhere
            if left >> i & 1 and (d < 0 or given.shape[d] == 1 or (given.shape[i] != 1 and given.stride[i] > given.stride[d])):
                d = i
        left &= ~((<uint64_t>1) << d)
        x.shape[k], x.stride[k] = given.shape[d], given.stride[d]
        axes[0] |= (from_ >> d & 1) << k
        if not from_ >> d & 1 and given.shape[d] != 1:
            if d < last:
                x[0], axes[0] = given, from_
                return False
            last = d
    return True


cdef ptrdiff_t _size(ptrdiff_t step) noexcept:
    return step if step >= 0 else -step


cdef void _turned(const rm_py_strided *x, uint64_t axes, rm_py_strided *to) noexcept nogil:
    """The same elements with the axes that are summed over at the end."""
    cdef int d, side, k = 0
    to.data, to.format, to.ndim = x.data, x.format, x.ndim
    for side in range(2):
        for d in range(x.ndim):
            if <int>(axes >> d & 1) == side:
                to.shape[k], to.stride[k] = x.shape[d], x.stride[d]
                k += 1


cdef bint _holds_nan(const Operand *o) noexcept nogil:
    cdef int64_t i
    cdef uint64_t one = 1
    cdef uint16_t infinite = 0x7C00 if o.format == RM_FORMAT_F16 else 0x7F80
    for i in range(o.n):
        if o.format == RM_FORMAT_F64:
            if (<uint64_t *>o.data)[i] << 1 > (one << 53) * 0x7FF:
                return True
        elif o.format == RM_FORMAT_F32:
            if (<uint32_t *>o.data)[i] & 0x7FFFFFFF > 0x7F800000:
                return True
        elif (<uint16_t *>o.data)[i] & 0x7FFF > infinite:
            return True
    return False


cdef bint _products(int format, int to, int64_t rows, int64_t n, bint partly, const char *x, char *memory, void *out) noexcept nogil:
    """Computes the products of rows of n contiguous numbers, or those of their first 1, 2, ... numbers. Returns whether all roundings are
    decided. memory has a byte for each."""
    return rm_products(format, rows, n, x, partly, to, out, <unsigned char *>memory) == 0 and memchr(memory, 1, rows * (n if partly else 1)) is NULL


cdef bint _short_products(const rm_py_strided *x, uint64_t axes, int64_t elements, Operand *y) noexcept nogil:
    """Products over one axis, or all, of a dense tensor below binary64. False where partial products leave the range, or many are undecided."""
    cdef int64_t outer = 1, n = 1, inner = 1, left, i, k
    cdef char *open_
    cdef int d, size = _SIZES[x.format]
    cdef bint good = True
    for d in range(x.ndim):
        if axes >> d & 1:
            n *= x.shape[d]
        elif n == 1 and (axes >> d) != 0:
            outer *= x.shape[d]
        else:
            inner *= x.shape[d]
    if outer * n * inner != elements or outer * inner == 0:
        return False
    if inner == 1 and n >= 64 and x.format == RM_FORMAT_F32:
        open_ = <char *>malloc(outer)
        good = open_ is not NULL and _products(x.format, x.format, outer, n, False, x.data, open_, y.data)
        free(open_)
        return good
    open_ = <char *>malloc(outer * inner + 9 * n)
    if open_ is NULL:
        return False
    left = rm_py_short_products(x.format, outer, n, inner, x.data, y.data, <unsigned char *>open_)
    good = 0 <= left <= (outer * inner) // 16 + 1
    for i in range(outer * inner if good and left else 0):
        if open_[i]:  # its factors one after the other
            for k in range(n):
                memcpy(open_ + outer * inner + k * size, x.data + ((i // inner * n + k) * inner + i % inner) * size, size)
            good = good and _products(x.format, x.format, 1, n, False, open_ + outer * inner, open_ + outer * inner + n * size, y.data + i * size)
    free(open_)
    return good


cdef class Total(Call):
    """sum, mean, nansum, norm (of order 2), var, std, these with the mean, prod and logsumexp, over any axes. Functions of contiguous rows are
    computed here if rows are contiguous, or if there are few elements, which are copied."""

    cdef int what

    def __init__(self, what):
        self.what = _TOTALS[what]

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x, rows_of
        cdef Operand y, z
        cdef int given, i, k, what = self.what, to, kind
        cdef int64_t n = 1, rows, elements
        cdef int64_t size[4]
        cdef ptrdiff_t stride[4]
        cdef bint keep = False, summed = what == SUMMED or what == MEAN or what == NANSUM, spread, dense = True, sure = True
        cdef bint both = what == VAR_MEAN or what == STD_MEAN, solid
        cdef double ddof = 1.0
        cdef uint64_t axes = 0
        cdef rm_status status = 0
        cdef char *memory = NULL
        cdef bint good
        cdef const char *data
        dims = None
        if what == NORM and len(args) > 1:
            if args[1] is not None and (not _number(args[1], &ddof) or ddof != 2):
                return NotImplemented
            args = args[:1] + args[2:]
        given = <int>len(args)
        if given < 1 or not _strided(args[0], &x, &elements) or x.format < 0 or x.ndim == 0:
            return NotImplemented
        to = x.format
        for key, v in kwargs.items() if kwargs else ():
            if key == "keepdim" and type(v) is bool and given < 3:
                keep = v
            elif key == "dtype" and not both and what != VAR and what != STD and what != LOGSUMEXP:
                if v is not None:
                    to = _format_of_dtype(v)
            elif key != "correction" or (what != VAR and what != STD and not both) or (
                    v is not None and not (_number(v, &ddof) and -1e300 < ddof < 1e300)):
                return NotImplemented
        if what == NORM and given == 4:
            if args[3] is not None:
                to = _format_of_dtype(args[3])
            given = 3
        if given > 3 or to < 0 or (to != x.format and what == NORM) or (given == 1 and what == LOGSUMEXP):
            return NotImplemented
        if given == 3:
            if type(args[2]) is not bool:
                return NotImplemented
            keep = args[2]
        if not _axes_of(args[1] if given > 1 else None, x.ndim, &axes):
            return NotImplemented
        if what == PRODUCT and given > 1 and type(args[1]) is not int:
            return NotImplemented
        shape = [1 if axes >> i & 1 else x.shape[i] for i in range(x.ndim) if keep or not axes >> i & 1]
        if not summed and not _is_dense(&x) and axes == (<uint64_t>1 << x.ndim) - 1 and _is_dense_in_an_order(&x):
            x.ndim, x.shape[0], x.stride[0], axes = 1, elements, _SIZES[x.format], 1  # the order of the terms does not matter
        if what == PRODUCT and not _is_dense(&x):
            _in_order(&x, &axes)
        if what == PRODUCT and x.format == to and to != RM_FORMAT_F64 and elements > 0 and _is_dense(&x):
            out = args[0].new_empty(shape)
            if _operand(out, &y) and _short_products(&x, axes, elements, &y):
                return out
        if what == PRODUCT and elements > FEW:
            return NotImplemented
        for i in range(x.ndim):
            if axes >> i & 1:
                n *= x.shape[i]
        rows = elements // n
        spread, solid = not summed, _is_dense(&x)
        if summed and rows == 1 and elements > 64 and not _is_dense_in_an_order(&x):  # copies take less than steps from number to number
            memory = <char *>malloc(elements * _SIZES[x.format])
            if memory is NULL:
                raise MemoryError("no memory for rows")
            rm_py_spread(&x, x.ndim, x.shape, memory)
            x.data, size[0], size[1], size[2], size[3], solid = memory, 1, 1, 1, elements, True
            stride[0] = stride[1] = stride[2] = stride[3] = _SIZES[x.format]
        elif summed:
            if not _merged(&x, axes, size, stride):
                return NotImplemented
        else:
            _turned(&x, axes, &rows_of)
            dense = _is_dense(&rows_of)
            if elements > FEW and not dense:
                return NotImplemented
        if to != x.format:
            out = args[0].new_empty(shape, dtype=kwargs["dtype"])
        else:
            out = args[0].new_empty(shape)
        good = _operand(out, &y)
        if both:
            means = args[0].new_empty(shape)
            good = good and _operand(means, &z)
        if not good:
            free(memory)
            return NotImplemented
        if what == PRODUCT or not dense:
            memory = <char *>malloc(elements * 9)
            if memory is NULL:
                raise MemoryError("no memory for rows")
        kind = SUMMED if what == NANSUM else VAR if what == VAR_MEAN else STD if what == STD_MEAN else what
        with nogil:
            if summed:
                if kind == SUMMED:
                    status = rm_sum_axes(x.format, size, stride, x.data, to, y.data)
                else:
                    status = rm_mean_axes(x.format, size, stride, x.data, to, y.data)
                sure = what != NANSUM or not _holds_nan(&y)
                if not sure and solid:  # a term was NaN, or the sum is: again without such terms
                    if memory is NULL:
                        memory = <char *>malloc(elements * _SIZES[x.format])
                    sure = memory is not NULL
                    if sure:
                        rm_py_without_nan(x.format, elements, x.data, memory)
                        status = rm_sum_axes(x.format, size, stride, memory, to, y.data)
            else:
                data = x.data
                if not dense:
                    rm_py_spread(&rows_of, rows_of.ndim, rows_of.shape, memory)
                    data = memory
                if what == PRODUCT:
                    sure = _products(x.format, to, rows, n, False, data, memory + (0 if dense else 8 * elements), y.data)
                elif what == LOGSUMEXP:
                    status = rm_logsumexp(to, rows, n, data, n * _SIZES[to], _SIZES[to], y.data, _SIZES[to])
                elif kind == NORM and not both and x.format == RM_FORMAT_F32 and to == RM_FORMAT_F32:
                    status = rm_norm_rows_f32(rows, n, <const float *>data, <float *>y.data)
                else:
                    for k in range(rows):
                        if what == NORM and to == RM_FORMAT_F32 and n <= 64 and rm_py_short_norm(n, <const float *>(data + k * n * 4), <float *>(y.data + 4 * k)):
                            continue
                        status |= _statistic(kind, x.format, n, data + k * n * _SIZES[x.format], to, y.data + k * _SIZES[to], ddof)
                        if both:
                            status |= _statistic(MEAN, x.format, n, data + k * n * _SIZES[x.format], to, z.data + k * _SIZES[to], 0.0)
            free(memory)
        if status != 0 or not sure:
            return NotImplemented
        return (out, means) if both else out


cdef class Trace(Call):
    """trace of a matrix."""

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x
        cdef Operand y
        cdef int64_t n
        cdef rm_status status
        if kwargs or len(args) != 1 or not _strided(args[0], &x, &n) or x.format < 0 or x.ndim != 2:
            return NotImplemented
        out = args[0].new_empty(())
        if not _operand(out, &y):
            return NotImplemented
        with nogil:
            status = rm_sum(x.format, min(x.shape[0], x.shape[1]), x.data, x.stride[0] + x.stride[1], x.format, y.data)
        _raise(status)
        return out


cdef void _plain_zeros(const Operand *o) noexcept nogil:
    """Makes every zero +0, and every NaN the canonical one."""
    cdef int64_t i
    cdef uint64_t one = 1
    for i in range(o.n):
        if o.format == RM_FORMAT_F64:
            if (<uint64_t *>o.data)[i] << 1 == 0:
                (<uint64_t *>o.data)[i] = 0
        elif o.format == RM_FORMAT_F32:
            if (<uint32_t *>o.data)[i] << 1 == 0:
                (<uint32_t *>o.data)[i] = 0
        elif (<uint16_t *>o.data)[i] == 0x8000:
            (<uint16_t *>o.data)[i] = 0
    _one_nan(o)


cdef class Extreme(Call):
    """The maximum or minimum: PyTorch's own operator, whose zeros become +0. For integers it is that operator."""

    cdef object overload

    def __init__(self, overload):
        self.overload = overload

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x
        cdef Operand y
        cdef int64_t n
        if not args or not _strided(args[0], &x, &n):
            return NotImplemented
        made = self.overload(*args, **kwargs) if kwargs else self.overload(*args)
        if x.format >= 0:
            for t in made if type(made) is tuple else (made,):
                if not _operand(t, &y) or y.format != x.format:
                    return NotImplemented
                _plain_zeros(&y)
        return made


cdef class Prefixes(Call):
    """cumsum, cumprod and logcumsumexp, in the format of the tensor."""

    cdef int what, into
    cdef rm_py_function *logaddexp[4]

    def __init__(self, what, into):
        self.what, self.into = ("cumsum", "cumprod", "logcumsumexp").index(what), _INTO[into]
        rm_py_functions(b"logaddexp", self.logaddexp)

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y
        cdef rm_py_strided strided, turned
        cdef int64_t outer = 1, inner = 1, n, k, room
        cdef int dim, i, what = self.what
        cdef bint sure = True
        cdef char *memory = NULL
        cdef char *to
        cdef rm_status status = 0
        if kwargs or len(args) != 2 or type(args[1]) is not int or not _operand(args[0], &x) or not -x.ndim <= args[1] < x.ndim:
            return NotImplemented
        if (what == 1 and x.n > FEW) or (what == 2 and x.n > FEW << 8):
            return NotImplemented
        dim = args[1]
        dim += x.ndim if dim < 0 else 0
        out = args[0] if self.into == FIRST else _empty_like(args[0])
        if not _operand(out, &y):
            return NotImplemented
        for i in range(dim):
            outer *= x.shape[i]
        for i in range(dim + 1, x.ndim):
            inner *= x.shape[i]
        n = x.shape[dim]
        room = 0 if what == 0 and self.into == NEW else x.n * (8, 16, 16)[what]
        if room:
            memory = <char *>malloc(room)
            if memory is NULL:
                raise MemoryError("no memory for lines")
        to = memory if self.into == FIRST else y.data
        with nogil:
            if what == 0:
                status = _prefixes(x.format, x.format, outer, n, inner, x.data, to)
            elif what == 1:
                # Makes rows contiguous, and puts them back.
                _lines(&strided, x.data, x.format, outer, n, inner)
                rm_py_spread(&strided, 3, strided.shape, memory)
                sure = _products(x.format, x.format, outer * inner, n, True, memory, memory + 8 * x.n, memory)
                _lines(&turned, memory, x.format, outer, inner, n)
                if sure:
                    rm_py_spread(&turned, 3, turned.shape, memory + 8 * x.n)
                to = memory + 8 * x.n
            else:
                status = rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, memory)
                for k in range(1, n if inner == 1 else 0):  # a step of all rows at a time
                    to = memory + k * 8
                    status |= (<_Binary>self.logaddexp[RM_FORMAT_F64])(outer, to - 8, n * 8, to, n * 8, to, n * 8)
                for k in range(outer * (n - 1) if inner != 1 else 0):
                    to = memory + (k // (n - 1) * n + k % (n - 1)) * inner * 8
                    status |= (<_Binary>self.logaddexp[RM_FORMAT_F64])(inner, to, 8, to + inner * 8, 8, to + inner * 8, 8)
                to = memory + 8 * x.n
                status |= rm_py_converted(RM_FORMAT_F64, x.format, x.n, memory, to)
            if status == 0 and sure and to != y.data:
                memcpy(y.data, to, x.n * _SIZES[x.format])
            free(memory)
        return out if status == 0 and sure else NotImplemented


cdef void _lines(rm_py_strided *to, const char *data, int format, int64_t outer, int64_t n, int64_t inner) noexcept nogil:
    """A dense array of three axes, the last two exchanged."""
    cdef ptrdiff_t size = _SIZES[format]
    to.data, to.format, to.ndim = data, format, 3
    to.shape[0], to.shape[1], to.shape[2] = outer, inner, n
    to.stride[0], to.stride[1], to.stride[2] = n * inner * size, size, inner * size
