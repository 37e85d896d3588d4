# Prepared calls that add or write elements to places that an index names, and that copy.

cdef enum:
    SCATTER_ADD, INDEX_ADD, INDEX_PUT, PUT, SCATTER_WITH, SCATTER_REDUCE, INDEX_REDUCE
    SUM_OF_PLACE, QUOTIENT_OF_PLACE, MEAN_OF_PLACE, PRODUCT_OF_PLACE  # a quotient is that of the rounded sum
    MANY = 1 << 16  # elements of a tensor, beyond which a call's own time counts for little

_SCATTERED = {
    "scatter_add": SCATTER_ADD, "index_add": INDEX_ADD, "index_put": INDEX_PUT, "put": PUT, "scatter_with": SCATTER_WITH,
    "scatter_reduce": SCATTER_REDUCE, "index_reduce": INDEX_REDUCE
}


cdef bint _apart_from(const Operand *to, const rm_py_strided *x) noexcept:
    """Whether x shares no memory with a dense tensor."""
    cdef const char *begin = x.data
    cdef const char *end = x.data + _size_of(x.format)
    cdef int d
    for d in range(x.ndim):
        if x.stride[d] < 0:
            begin += x.stride[d] * (x.shape[d] - 1)
        else:
            end += x.stride[d] * (x.shape[d] - 1)
    return end <= to.data or to.data + to.n * _SIZES[to.format] <= begin


cdef bint _places(const rm_py_strided *x, int dim, int ndim, const int64_t *shape, const int64_t *index, bint wraps, int64_t *place) noexcept nogil:
    """Computes the place in a dense tensor to which each element of an index points. Returns whether all are valid."""
    cdef int64_t at[MAX_AXES]
    cdef int64_t steps[MAX_AXES]
    cdef int64_t n = 1, i, k, base = 0
    cdef int d
    for d in range(ndim - 1, -1, -1):
        steps[d], at[d] = n, 0
        n *= x.shape[d]
    n = 1
    for d in range(ndim):
        n *= shape[d]
    for i in range(n):
        k = index[i]
        if wraps and k < 0:
            k += x.shape[dim]
        if not 0 <= k < x.shape[dim]:
            return False
        place[i] = base + k * steps[dim]
        for d in range(ndim - 1, -1, -1):
            at[d] += 1
            if d != dim:
                base += steps[d]
            if at[d] < shape[d]:
                break
            if d != dim:
                base -= steps[d] * shape[d]
            at[d] = 0
    return True


cdef bint _are_rows(const rm_py_strided *x, const rm_py_strided *index, const rm_py_strided *source) noexcept:
    """Whether the index repeats along all axes but the first, of which source has whole rows that are contiguous. PyTorch's tensors of
    places of single elements, with one column, are not taken for rows."""
    cdef int d
    cdef ptrdiff_t step = _SIZES[x.format]
    cdef int64_t cols = 1
    for d in range(x.ndim - 1, 0, -1):
        if index.shape[d] != x.shape[d] or (index.shape[d] != 1 and (index.stride[d] != 0 or source.stride[d] != step)):
            return False
        step *= x.shape[d]
        cols *= x.shape[d]
    return cols > 1


cdef void _means(int format, int64_t rows, int64_t cols, char *out, int64_t m, const int64_t *place, bint include_self, double *memory) noexcept nogil:
    """Divides each row of sums, in binary64, by the number of its terms, then rounds to the format."""
    cdef int64_t i
    cdef double *wide = &memory[rows]
    for i in range(rows):
        memory[i] = 1
    for i in range(m if not include_self else 0):
        memory[place[i]] = 0
    for i in range(m):
        memory[place[i]] += 1
    rm_py_converted(format, RM_FORMAT_F64, rows * cols, out, wide)
    rm_py_divided(rows, cols, wide, memory)
    rm_py_converted(RM_FORMAT_F64, format, rows * cols, wide, out)


cdef rm_status _means_of_places(int format, int64_t n, const char *x, int64_t m, const int64_t *place, const char *values, bint own, char *out,
                                char *memory) noexcept nogil:
    """The exact mean, rounded once, of what goes to each place of x, and of what is there if it is included. memory: 8 (5 n + 3 m + 1) bytes."""
    cdef rm_gather a
    cdef ptrdiff_t size = _SIZES[format]
    cdef ptrdiff_t steps[3]
    cdef int64_t *first = <int64_t *>memory
    cdef int64_t *next_ = first + n + 1
    cdef int64_t *at = next_ + n
    cdef char *terms = <char *>(at + n + m)
    cdef double *sorted_ = <double *>terms + n + m
    cdef int64_t i
    cdef rm_status status = 0
    memcpy(terms, x, n * size)
    memcpy(terms + n * size, values, m * size)
    for i in range(n + 1):
        first[i] = 0
    for i in range(m):
        first[place[i] + 1] += 1
    for i in range(n):
        first[i + 1] += first[i] + own
        next_[i] = first[i] + own
        if own:
            at[first[i]] = i
    for i in range(m):
        at[next_[place[i]]] = n + i
        next_[place[i]] += 1
    a.lines, a.elements, a.inner, a.points, a.taps, a.group = 1, n + m, 1, n, 0, 1
    a.first, a.at, a.weight, a.mean = first, at, NULL, True
    steps[0], steps[1], steps[2] = (n + m) * size, size, size
    if format < RM_FORMAT_F64:
        status = rm_gather_sum(format, format, &a, terms, steps, out)
    else:
        for i in range(n + m if own else m):
            sorted_[i] = (<double *>terms)[at[i]]
        for i in range(n):
            if first[i + 1] - first[i] > own:
                status |= rm_mean(format, first[i + 1] - first[i], sorted_ + first[i], size, format, out + i * size)
    for i in range(n):
        if first[i + 1] - first[i] == own:  # it receives nothing
            memcpy(out + i * size, terms + i * size, size)
    return status


cdef class Scattered(Call):
    """Exact sums into places, means and products, rounded once; index_put and put without accumulation leave the last value in a place."""

    cdef int what, into

    def __init__(self, what, into):
        self.what, self.into = _SCATTERED[what], _INTO[into]

    cdef bint _read(self, tuple args, dict kwargs, rm_py_strided *x, rm_py_strided *index, rm_py_strided *source, int *dim, bint *add,
                    int *made, bint *own, bint *negative) except -1:
        """Whether the arguments are understood. Sets the index and the source, in the shape of the latter."""
        cdef int64_t n, m, k, size
        cdef int d, what = self.what, given = <int>len(args)
        cdef double alpha = 1
        cdef bint rows = what == INDEX_PUT or what == PUT
        if given < 3 or not _strided(args[0], x, &n) or x.format < 0 or not _is_dense(x):
            return False
        if x.ndim == 0:
            x.ndim, x.shape[0], x.stride[0] = 1, 1, _SIZES[x.format]
        if rows:
            indices = args[1]
            if what == INDEX_PUT:
                if type(indices) is not list and type(indices) is not tuple or not indices:
                    return False
                for v in indices[1:]:
                    if v is not None:
                        return False
                indices = indices[0]
            for v in args[3:]:
                if type(v) is not bool:
                    return False
            if given > 5 or kwargs or (what == INDEX_PUT and given == 5 and args[4]):
                return False
            add[0] = given > 3 and args[3]
            if not _strided(indices, index, &k) or not _strided(args[2], source, &m) or index.format != -8 or not _is_dense(index):
                return False
            if source.format != x.format:
                return False
            if what == PUT:
                if m != k or not _is_dense(source):
                    return False
                x.ndim, x.shape[0], source.ndim, source.shape[0], source.stride[0] = 1, n, 1, m, _SIZES[x.format]
            else:
                # The values are broadcast to the shape of the index and of the axes behind the first one.
                if index.ndim + x.ndim - 1 > MAX_AXES or source.ndim > index.ndim + x.ndim - 1:
                    return False
                if index.ndim != 1:
                    if source.ndim > x.ndim - 1 and not (_is_dense(source) and m == k * (n // x.shape[0])):
                        return False
                    for d in range(index.ndim):
                        if source.ndim > x.ndim - 1 and source.shape[d] != index.shape[d]:
                            return False
                    if source.ndim > x.ndim - 1:  # the axes of the index become one
                        if source.ndim != index.ndim + x.ndim - 1:
                            return False
                        for d in range(1, x.ndim):
                            source.shape[d] = source.shape[d + index.ndim - 1]
                            source.stride[d] = source.stride[d + index.ndim - 1]
                        source.ndim, source.shape[0], source.stride[0] = x.ndim, k, n // x.shape[0] * _SIZES[x.format]
                for d in range(x.ndim - 1, -1, -1):
                    if d >= x.ndim - source.ndim:
                        size = source.shape[d - (x.ndim - source.ndim)]
                        if size != 1 and size != (k if d == 0 else x.shape[d]):
                            return False
                for d in range(x.ndim - 1, -1, -1):
                    if d >= x.ndim - source.ndim and source.shape[d - (x.ndim - source.ndim)] != 1:
                        source.stride[d] = source.stride[d - (x.ndim - source.ndim)]
                    else:
                        source.stride[d] = 0
                    source.shape[d] = k if d == 0 else x.shape[d]
                source.ndim = x.ndim
            index.ndim, index.shape[0], index.stride[0], dim[0] = 1, k, 8, 0
        else:
            if given < 4 or type(args[1]) is not int or not -x.ndim <= args[1] < x.ndim:
                return False
            dim[0] = args[1]
            dim[0] += x.ndim if dim[0] < 0 else 0
            if not _strided(args[2], index, &k) or not _strided(args[3], source, &m) or index.format != -8 or source.format != x.format:
                return False
            if source.ndim == 0:
                source.ndim, source.shape[0], source.stride[0] = 1, 1, _SIZES[x.format]
            if index.ndim == 0:
                index.ndim, index.shape[0], index.stride[0] = 1, 1, 8
            if source.ndim != x.ndim or (index.ndim != 1 if what == INDEX_ADD or what == INDEX_REDUCE else index.ndim != x.ndim):
                return False
        if what == INDEX_ADD:
            for key, v in kwargs.items() if kwargs else ():
                if key != "alpha" or not _number(v, &alpha) or (alpha != 1 and alpha != -1):
                    return False
            negative[0] = alpha == -1
            if given != 4:
                return False
        elif what == SCATTER_WITH:
            if given != 4 or kwargs is None or len(kwargs) != 1 or kwargs.get("reduce") != "add":
                return False
        elif what == SCATTER_REDUCE or what == INDEX_REDUCE:
            if given < 5 or given > 6 or args[4] not in ("sum", "mean", "prod"):
                return False
            made[0] = PRODUCT_OF_PLACE if args[4] == "prod" else SUM_OF_PLACE
            if args[4] == "mean":
                made[0] = QUOTIENT_OF_PLACE if what == SCATTER_REDUCE else MEAN_OF_PLACE
            elif what == INDEX_REDUCE and made[0] == SUM_OF_PLACE:
                return False
            if made[0] == PRODUCT_OF_PLACE and x.format == RM_FORMAT_F64:
                return False
            first = args[5] if given == 6 else True
            for key, v in kwargs.items() if kwargs else ():
                if key != "include_self":
                    return False
                first = v
            if type(first) is not bool:
                return False
            own[0] = first
        elif kwargs or (what == SCATTER_ADD and given != 4):
            return False
        if what == INDEX_ADD or what == INDEX_REDUCE or rows:
            # Along its axis the index, which all others repeat.
            k, size = index.shape[0], index.stride[0]
            index.ndim = source.ndim
            for d in range(source.ndim):
                if source.shape[d] != (k if d == dim[0] else x.shape[d]):
                    return False
                index.shape[d], index.stride[d] = source.shape[d], size if d == dim[0] else 0
        else:
            for d in range(x.ndim):
                if index.shape[d] > source.shape[d] or (d != dim[0] and index.shape[d] > x.shape[d]):
                    return False
                source.shape[d] = index.shape[d]
        return True

    cdef object _by_rows(self, tuple args, rm_py_strided *x, const rm_py_strided *index, const rm_py_strided *source, bint add, bint mean):
        """As run, of sums and their quotients, where an index names whole rows of the first axis: rows of the source are added, or copied, as they lie."""
        cdef Operand to
        cdef int64_t n = index.shape[0], rows = x.shape[0], cols = 1, k, i
        cdef int d
        cdef bint wraps = self.what == INDEX_PUT or self.what == PUT, good = True
        cdef ptrdiff_t size = _SIZES[x.format]
        cdef Memory memory
        cdef int64_t *place
        cdef rm_status status = 0
        for d in range(1, x.ndim):
            cols *= x.shape[d]
        out = args[0] if self.into == FIRST else args[0].new_empty(args[0].shape)
        if not _operand(out, &to) or to.format != x.format:
            return NotImplemented
        if self.into == FIRST and not (_apart_from(&to, index) and _apart_from(&to, source)):
            return NotImplemented
        memory = Memory(8 * (n + (rows + to.n if mean else 0)))
        place = <int64_t *>memory.data
        with nogil:
            for i in range(n):
                memcpy(&k, <const char *>index.data + i * index.stride[0], 8)
                if wraps and k < 0:
                    k += rows
                good = good and 0 <= k < rows
                place[i] = k
            if good:
                if self.into == NEW:
                    memcpy(to.data, x.data, to.n * size)
                if add:
                    status = rm_index_add(x.format, rows, cols, to.data, cols * size, size, n, place, 8, source.data, source.stride[0], size)
                    if mean and status == 0:
                        _means(x.format, rows, cols, to.data, n, place, True, <double *>(place + n))
                else:
                    for i in range(n):
                        memcpy(to.data + place[i] * cols * size, <const char *>source.data + i * source.stride[0], cols * size)
        if not good:
            return NotImplemented
        _raise(status)
        return out

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x, index, source
        cdef Operand to
        cdef int dim = 0, made = SUM_OF_PLACE
        cdef bint add = True, own = True, negative = False, good
        cdef int64_t m = 1, elements = 1, i, left = 0
        cdef int64_t *place
        cdef char *values
        cdef char *more
        cdef Memory memory
        cdef ptrdiff_t size
        cdef rm_status status = 0
        if not self._read(args, kwargs, &x, &index, &source, &dim, &add, &made, &own, &negative):
            return NotImplemented
        for i in range(source.ndim):
            m *= source.shape[i]
            elements *= x.shape[i]
        if dim == 0 and m > 0 and own and not negative and made <= QUOTIENT_OF_PLACE and _are_rows(&x, &index, &source):
            return self._by_rows(args, &x, &index, &source, add, made == QUOTIENT_OF_PLACE)
        if m > MANY or elements > MANY:
            return NotImplemented
        out = args[0] if self.into == FIRST else args[0].new_empty(args[0].shape)
        if not _operand(out, &to) or to.format != x.format:
            return NotImplemented
        if self.into == FIRST and not (_apart_from(&to, &index) and _apart_from(&to, &source)):
            return NotImplemented
        size = _SIZES[x.format]
        # Behind places and values a product has its results, and what it leaves open.
        memory = Memory(8 * (3 * m + 2 * to.n) + (
            0 if made <= QUOTIENT_OF_PLACE else 8 * (5 * to.n + 3 * m + 1) if made == MEAN_OF_PLACE else 69 * to.n + 4 * m
        ))
        place = <int64_t *>memory.data
        values = <char *>(place + 2 * m)
        more = <char *>(place + 3 * m + 2 * to.n)
        index.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
        with nogil:
            rm_py_spread(&index, index.ndim, index.shape, <char *>(place + m))
            good = _places(&x, dim, x.ndim, index.shape, place + m, self.what == INDEX_PUT or self.what == PUT, place)
            if good:
                rm_py_spread(&source, source.ndim, source.shape, values)
                if negative:
                    for i in range(m):
                        values[(i + 1) * size - 1] = values[(i + 1) * size - 1] ^ <char>0x80
                if made == PRODUCT_OF_PLACE:
                    left = _scattered_products(x.format, to.n, 1, x.data, m, place, values, own, more + 60 * to.n + 4 * m,
                                               <unsigned char *>more + 68 * to.n + 4 * m, more, &status)
                    if left == 0 and status == 0:
                        memcpy(to.data, more + 60 * to.n + 4 * m, to.n * size)
                elif made == MEAN_OF_PLACE:
                    status = _means_of_places(x.format, to.n, x.data, m, place, values, own, to.data, more)
                else:
                    if self.into == NEW:
                        memcpy(to.data, x.data, to.n * size)
                    if not own:
                        for i in range(m):
                            memset(to.data + place[i] * size, 0, size)
                    if add:
                        status = rm_index_add(x.format, to.n, 1, to.data, size, size, m, place, 8, values, size, size)
                        if made == QUOTIENT_OF_PLACE and status == 0:
                            _means(x.format, to.n, 1, to.data, m, place, own, <double *>(place + 3 * m))
                    else:
                        for i in range(m):
                            memcpy(to.data + place[i] * size, values + i * size, size)
        if not good or left != 0:
            return NotImplemented
        _raise(status)
        return out


cdef class EmbeddingGradient(Call):
    """embedding_dense_backward: sums of the rows of a gradient by the rows of the table that were looked up."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, to
        cdef rm_py_strided index
        cdef int64_t n
        cdef int64_t shape[2]
        cdef int d, last
        cdef ptrdiff_t row
        cdef rm_status status
        if kwargs or len(args) != 5 or type(args[2]) is not int or type(args[3]) is not int or args[4] is not False:
            return NotImplemented
        held = _read(args[0], &g)
        if held is None or not _strided(args[1], &index, &n) or index.format != -8 or not _is_dense(&index) or g.ndim != index.ndim + 1:
            return NotImplemented
        last = g.ndim - 1
        for d in range(last):
            if g.shape[d] != index.shape[d]:
                return NotImplemented
        shape[0], shape[1] = args[2], g.shape[last]
        if g.n == 0 or shape[0] <= 0 or args[3] >= shape[0]:
            return NotImplemented
        made = _new(args[0], shape, 2, &to)
        if made is None:
            return NotImplemented
        row = shape[1] * _SIZES[g.format]
        with nogil:
            status = rm_segment_sum(g.format, shape[0], shape[1], to.data, row, _SIZES[g.format], n, <const int64_t *>index.data, 8,
                                    g.data, row, _SIZES[g.format])
        if status != 0:  # an index is out of range, which the table's function says
            return NotImplemented
        if args[3] >= 0:
            memset(to.data + <int64_t>args[3] * row, 0, row)
        return made


cdef class Copied(Call):
    """copy_ of a tensor that shares no memory: of the same dtype PyTorch's own operator, of another format where elements lie alike."""

    cdef object overload

    def __init__(self, overload):
        self.overload = overload

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x, y
        cdef int64_t n, m
        cdef Operand to, other
        cdef rm_status status
        if kwargs or len(args) < 2 or len(args) > 3 or not _strided(args[0], &x, &n) or not _strided(args[1], &y, &m):
            return NotImplemented
        if args[0].dtype is not args[1].dtype:
            if not _lying(args[0], &to, &x) or not _lying(args[1], &other, &y) or not _same_layout(&x, &y):
                return NotImplemented
            if not _apart(&to, &other):
                return NotImplemented
            if other.format < RM_FORMAT_F32 and to.format == RM_FORMAT_F32:
                return self.overload(*args)  # as Cast
            with nogil:
                status = rm_convert(other.format, to.format, to.n, other.data, to.data)
            _raise(status)
            return args[0]
        if not _is_dense(&x):
            return NotImplemented
        to.data, to.n, to.format = <char *>x.data, (n * _size_of(x.format) + 1) // 2, RM_FORMAT_F16  # an array of as many bytes
        return self.overload(*args) if _apart_from(&to, &y) else NotImplemented
