# Prepared calls of distances, of weights that are given by direction and length, and of cross products, for few elements. They compute in
# binary64, with one operation of C for each rounding.

cimport cython

cdef rm_py_function *_subtract[4]
cdef rm_py_function *_times[4]
cdef rm_py_function *_over[4]
rm_py_functions(b"subtract", _subtract)
rm_py_functions(b"multiply", _times)
rm_py_functions(b"divide", _over)


cdef bint _axis_of(object value, const Operand *x, int *dim, int64_t *outer, int64_t *inner) except -1:
    """Whether this is an axis of x. Sets the numbers of elements before and behind it."""
    cdef int d
    if type(value) is not int or not -x.ndim <= value < x.ndim:
        return False
    dim[0] = value
    dim[0] += x.ndim if dim[0] < 0 else 0
    outer[0] = inner[0] = 1
    for d in range(x.ndim):
        if d < dim[0]:
            outer[0] *= x.shape[d]
        elif d > dim[0]:
            inner[0] *= x.shape[d]
    return True


cdef void _by_lines(int64_t outer, int64_t n, int64_t inner, const double *x, double *to, bint back) noexcept nogil:
    """Makes the elements of each index of an axis contiguous, or puts them back."""
    cdef int64_t i, k, j, at
    for i in range(outer):
        for k in range(n):
            for j in range(inner):
                at = (k * outer + i) * inner + j
                if back:
                    to[(i * n + k) * inner + j] = x[at]
                else:
                    to[at] = x[(i * n + k) * inner + j]


cdef rm_status _lengths(int64_t lines, int64_t n, const double *x, double *to) noexcept nogil:
    """The Euclidean norms of contiguous rows."""
    cdef int64_t k
    cdef rm_status status = 0
    for k in range(lines):
        status |= rm_norm(RM_FORMAT_F64, n, &x[k * n], 8, RM_FORMAT_F64, &to[k])
    return status


@cython.cdivision(True)  # a quotient by 0 is a number of binary64
cdef void _scaled_line(int64_t n, double *x, double *factor, double *divisor) noexcept nogil:
    """x times a factor, then by a divisor, in binary64, one rounding each; by vectors where that pays."""
    cdef int64_t i
    if n < 32:
        for i in range(n):
            x[i] = x[i] * factor[0] / divisor[0]
    else:
        (<_Binary>_times[RM_FORMAT_F64])(n, x, 8, factor, 0, x, 8)
        (<_Binary>_over[RM_FORMAT_F64])(n, x, 8, divisor, 0, x, 8)


cdef bint _one_each(const Operand *g, const Operand *v, int dim) noexcept:
    """Whether g has a number for each index of an axis of v, and one element along the other axes."""
    cdef int d
    if g.ndim != v.ndim or g.format != v.format:
        return False
    for d in range(v.ndim):
        if g.shape[d] != (v.shape[d] if d == dim else 1):
            return False
    return True


cdef class WeightNorm(Call):
    """_weight_norm_interface, or its gradient."""

    cdef bint gradient

    def __init__(self, bint gradient=False):
        self.gradient = gradient

    @cython.cdivision(True)  # a quotient by 0 is a number of binary64
    cdef object run(self, tuple args, dict kwargs):
        cdef Operand r, v, g, made, other
        cdef int first = self.gradient, dim = 0, f
        cdef int64_t outer, inner, lines, some, n, k, i, begin
        cdef ptrdiff_t at, size
        cdef Memory memory
        cdef double *wide
        cdef double *received
        cdef double *made_of
        cdef double *sizes
        cdef double *factors
        cdef double *sums
        cdef double by
        cdef rm_status status = 0
        if kwargs or (len(args) != 5 if self.gradient else not 2 <= len(args) <= 3):
            return NotImplemented
        if not _operand(args[first], &v) or not _operand(args[first + 1], &g) or v.ndim < 2 or v.n == 0:
            return NotImplemented
        if not _axis_of(args[4] if self.gradient else args[2] if len(args) > 2 else 0, &v, &dim, &outer, &inner) or not _one_each(&g, &v, dim):
            return NotImplemented
        r = v
        if self.gradient:
            if not _operand(args[0], &r) or r.format != v.format or not _same_shape(&r, &v):
                return NotImplemented
        if outer > 1 and v.n > MANY:
            return NotImplemented
        out, lengths = _new(args[first], v.shape, v.ndim, &made), _new(args[first], g.shape, g.ndim, &other)
        f, lines, size = v.format, v.shape[dim], _SIZES[v.format]
        n = v.n // lines
        if outer == 1 and f == RM_FORMAT_F32:
            with nogil:
                if self.gradient:
                    status = rm_weight_norm_backward_f32(lines, n, <const float *>r.data, <const float *>v.data, <const float *>g.data,
                                                         <float *>made.data, <float *>other.data)
                else:
                    status = rm_weight_norm_f32(lines, n, <const float *>v.data, <const float *>g.data, <float *>made.data, <float *>other.data)
            _raise(status)
            return out, lengths
        # Lines that are contiguous are computed a few at a time, which stay in the cache.
        some = lines if outer > 1 else max(1, min(lines, FEW // n))
        memory = Memory(8 * (3 * some * n + 3 * some))
        wide = <double *>memory.data
        received, sizes = &wide[some * n], &wide[3 * some * n]
        factors, sums = &sizes[some], &sizes[2 * some]
        with nogil:
            begin = 0
            while begin < lines:
                some, at = min(some, lines - begin), begin * n * size
                rm_py_converted(f, RM_FORMAT_F64, some, g.data + begin * size, factors)
                if outer == 1:  # lines lie as they are needed
                    rm_py_converted(f, RM_FORMAT_F64, some * n, v.data + at, wide)
                    for k in range(some):
                        status |= rm_norm(f, n, v.data + at + k * n * size, size, RM_FORMAT_F64, &sizes[k])
                else:
                    rm_py_converted(f, RM_FORMAT_F64, some * n, v.data + at, &wide[2 * some * n])
                    _by_lines(outer, some, inner, &wide[2 * some * n], wide, False)
                    status |= _lengths(some, n, wide, sizes)
                if self.gradient:
                    rm_py_converted(f, RM_FORMAT_F64, some * n, r.data + at, received if outer == 1 else &wide[2 * some * n])
                    if outer != 1:
                        _by_lines(outer, some, inner, &wide[2 * some * n], received, False)
                    for k in range(some):  # a matrix product wastes all but one column of its tiles
                        status |= rm_dot_f64(n, &received[k * n], 8, &wide[k * n], 8, &sums[k])
                for k in range(some):
                    if self.gradient:
                        sums[k] /= sizes[k]
                        by = sums[k] / sizes[k]
                        for i in range(k * n, (k + 1) * n):
                            wide[i] = received[i] - wide[i] * by
                    else:
                        sums[k] = sizes[k]
                    _scaled_line(n, &wide[k * n], &factors[k], &sizes[k])
                made_of = wide
                if outer != 1:
                    made_of = received
                    _by_lines(outer, some, inner, wide, received, True)
                status |= rm_py_converted(RM_FORMAT_F64, f, some * n, made_of, made.data + at)
                status |= rm_py_converted(RM_FORMAT_F64, f, some, sums, other.data + begin * size)
                begin += some
        _raise(status)
        return out, lengths


cdef class Renorm(Call):
    """renorm by Euclidean norms, and embedding_renorm_ of the rows that an index names."""

    cdef int into
    cdef bint named

    def __init__(self, into, bint named=False):
        self.into, self.named = _INTO[into], named

    @cython.cdivision(True)  # a quotient by 0 is a number of binary64
    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y
        cdef rm_py_strided at
        cdef int dim = 0
        cdef int64_t outer, inner, lines, n, k, i, j, m = 0, place
        cdef double p, limit, by
        cdef Memory memory
        cdef Memory chosen = None
        cdef double *wide
        cdef double *turned
        cdef double *sizes
        cdef ptrdiff_t size
        cdef bint good = True
        cdef rm_status status
        if kwargs or len(args) != 4 or not _operand(args[0], &x) or x.ndim < 2 or x.n > MANY:
            return NotImplemented
        if not _number(args[3 if self.named else 1], &p) or p != 2 or not _number(args[2 if self.named else 3], &limit) or not 0 <= limit < 1e300:
            return NotImplemented
        if not _axis_of(0 if self.named else args[2], &x, &dim, &outer, &inner) or (self.named and x.ndim != 2):
            return NotImplemented
        lines, size = x.shape[dim], _SIZES[x.format]
        if self.named:
            if not _strided(args[1], &at, &m) or at.format != -8 or m > MANY:
                return NotImplemented
            chosen = Memory(8 * m)
            at.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
            rm_py_spread(&at, at.ndim, at.shape, chosen.data)
        out = args[0] if self.into == FIRST else _new(args[0], x.shape, x.ndim, &y)
        if self.into == FIRST:
            y = x
        n = x.n // lines
        memory = Memory(8 * (2 * x.n + 2 * lines))
        wide = <double *>memory.data
        turned, sizes = &wide[x.n], &wide[2 * x.n]
        with nogil:
            rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, turned)
            _by_lines(outer, lines, inner, turned, wide, False)
            status = _lengths(lines, n, wide, sizes)
            for k in range(m):
                place = (<int64_t *>chosen.data)[k]
                good = good and 0 <= place < lines
            for k in range(lines):
                sizes[lines + k] = 0 if self.named else 1
            for k in range(m if good else 0):
                sizes[lines + (<int64_t *>chosen.data)[k]] = 1
            if good and status == 0:
                if self.into != FIRST:
                    memcpy(y.data, x.data, x.n * size)
                for k in range(lines):
                    if sizes[k] > limit and sizes[lines + k] != 0:
                        by = limit / (sizes[k] + 1e-7)
                        for i in range(outer):
                            for j in range(inner):
                                place = (i * lines + k) * inner + j
                                turned[place] *= by
                                rm_py_converted(RM_FORMAT_F64, x.format, 1, &turned[place], y.data + place * size)
        if not good:
            return NotImplemented
        _raise(status)
        return out


cdef class Distances(Call):
    """Euclidean distances between rows: _cdist_forward of two stacks, _pdist_forward of all pairs of rows of a matrix, and their gradients."""

    cdef bint pairs, gradient

    def __init__(self, bint pairs, bint gradient=False):
        self.pairs, self.gradient = pairs, gradient

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, z, far, made
        cdef int first = self.gradient, given = <int>len(args) - self.gradient, d, f
        cdef int64_t shape[MAX_AXES]
        cdef int64_t stack = 1, rows, others, width, pairs
        cdef double p = 2
        cdef Memory memory
        cdef double *a
        cdef double *b
        cdef rm_status status
        if kwargs or not (1 if self.pairs else 2) <= given - self.gradient <= (2 if self.pairs else 4):
            return NotImplemented
        held_x = _read(args[first], &x)
        held_z = _read(args[first if self.pairs else first + 1], &z)
        if held_x is None or held_z is None or x.format != z.format or x.ndim < 2 or x.ndim != z.ndim or (self.pairs and x.ndim != 2):
            return NotImplemented
        d = first + (1 if self.pairs else 2)
        if len(args) > d and (not _number(args[d], &p) or p != 2):
            return NotImplemented
        if self.gradient and len(args) != d + 2:
            return NotImplemented
        for d in range(x.ndim - 2):
            if x.shape[d] != z.shape[d]:
                return NotImplemented
            stack *= x.shape[d]
            shape[d] = x.shape[d]
        f, rows, others, width = x.format, x.shape[x.ndim - 2], z.shape[z.ndim - 2], x.shape[x.ndim - 1]
        pairs = rows * (rows - 1) // 2 if self.pairs else stack * rows * others
        if self.pairs and rows == 1:  # there is no pair
            if not self.gradient:
                return args[0].new_empty_strided([0], [0])  # the strides of an empty array
            if args[0].dtype != args[1].dtype or args[3].dtype != args[1].dtype:  # PyTorch refuses them
                return NotImplemented
            out = _new(args[1], x.shape, 2, &made)
            memset(made.data, 0, made.n * _SIZES[f])
            return out if args[0].shape == args[3].shape == (0,) else NotImplemented
        if z.shape[z.ndim - 1] != width or (others * width if self.gradient and not self.pairs else pairs * width) > MANY:
            return NotImplemented
        shape[x.ndim - 2], shape[x.ndim - 1] = rows, others
        if self.pairs:
            shape[0] = pairs
        if self.gradient:
            held_g, held_far = _read(args[0], &g), _read(args[len(args) - 1], &far)
            if held_g is None or held_far is None or g.format != f or far.format != f or g.n != pairs or far.n != pairs:
                return NotImplemented
            for d in range(1 if self.pairs else x.ndim):
                if g.shape[d] != shape[d] or far.shape[d] != shape[d]:
                    return NotImplemented
            out = _new(args[1], x.shape, x.ndim, &made)
        else:
            out = _new(args[0], shape, 1 if self.pairs else x.ndim, &made)
        if self.gradient and not self.pairs:
            memory = Memory(8 * (x.n + z.n + others * width + 2 * pairs))
        else:
            memory = Memory(8 * (2 * x.n + z.n + 2 * pairs * width + 4 * pairs))
        a = <double *>memory.data
        b = &a[x.n]
        with nogil:
            rm_py_converted(f, RM_FORMAT_F64, x.n, x.data, a)
            rm_py_converted(f, RM_FORMAT_F64, z.n, z.data, b)
            if self.gradient and not self.pairs:
                status = _of_rows(f, stack, rows, others, width, g.data, far.data, a, b, &b[z.n], made.data)
            elif self.gradient:
                status = _of_pairs(f, rows, width, pairs, g.data, far.data, a, &b[z.n], made.data)
            else:
                _differences(self.pairs, stack, rows, others, width, a, b, &b[z.n])
                status = 0
                for d in range(pairs):
                    status |= rm_norm(RM_FORMAT_F64, width, &b[z.n + d * width], 8, f, made.data + d * _SIZES[f])
        _raise(status)
        return out


cdef void _differences(bint pairs, int64_t stack, int64_t rows, int64_t others, int64_t width, const double *a, const double *b, double *to) noexcept nogil:
    """The differences of each row and each of the others, or, of pairs, each of the later ones."""
    cdef int64_t s, i, j, k, at = 0
    for s in range(stack):
        for i in range(rows):
            for j in range(i + 1 if pairs else 0, others):
                for k in range(width):
                    to[at] = a[(s * rows + i) * width + k] - b[(s * others + j) * width + k]
                    at += 1


cdef void _slopes_of_pair(int64_t n, const double *x, const double *y, double *g, double *size, double *to) noexcept nogil:
    """g (x - y)/size, one rounding per step; 0, of either sign, where there is no derivative."""
    cdef int64_t k
    if size[0] == 0:
        memset(to, 0, 8 * n)
        return
    (<_Binary>_subtract[RM_FORMAT_F64])(n, x, 8, y, 8, to, 8)
    _scaled_line(n, to, g, size)
    if g[0] - g[0] == 0 and size[0] - size[0] == 0:
        return
    for k in range(n):  # 0 times such a number is not 0
        if x[k] - y[k] == 0:
            to[k] = 0


cdef rm_status _of_rows(int f, int64_t stack, int64_t rows, int64_t others, int64_t width, const char *g, const char *far, const double *a,
                        const double *b, double *d, char *out) noexcept nogil:
    """The gradient with respect to the first rows a, a sum over the others b for each. The memory from d on is workspace."""
    cdef double *gradient = d + others * width
    cdef double *sizes = gradient + stack * rows * others
    cdef int64_t i, j
    cdef int64_t *size = [1, width, others, 1]
    cdef ptrdiff_t *stride = [0, 8, 8 * width, 0]
    cdef const double *x
    cdef const double *y
    cdef rm_status status = 0
    rm_py_converted(f, RM_FORMAT_F64, stack * rows * others, g, gradient)
    rm_py_converted(f, RM_FORMAT_F64, stack * rows * others, far, sizes)
    for i in range(stack * rows):
        x = a + i * width
        for j in range(others):
            y = b + (i // rows * others + j) * width
            _slopes_of_pair(width, x, y, &gradient[i * others + j], &sizes[i * others + j], d + j * width)
        status |= rm_sum_axes(RM_FORMAT_F64, size, stride, d, f, out + i * width * _SIZES[f])
    return status


cdef rm_status _of_pairs(int f, int64_t rows, int64_t width, int64_t count, const char *g, const char *far, const double *a, double *d,
                         char *out) noexcept nogil:
    """The gradient with respect to the rows a of pairs. The memory from d on is workspace."""
    cdef double *slopes = d + count * width
    cdef double *gradient = slopes + count * width
    cdef double *sizes = gradient + count
    cdef double *total = sizes + count
    cdef int64_t *index = <int64_t *>total
    cdef int64_t i, j, k, at = 0
    cdef rm_status status = 0
    rm_py_converted(f, RM_FORMAT_F64, count, g, gradient)
    rm_py_converted(f, RM_FORMAT_F64, count, far, sizes)
    for i in range(rows):
        for j in range(i + 1, rows):
            index[at], index[count + at] = i, j
            _slopes_of_pair(width, a + i * width, a + j * width, &gradient[at], &sizes[at], d + at * width)
            at += 1
    for k in range(count * width):
        slopes[k] = -d[k]
    total += 2 * count
    memset(total, 0, 8 * rows * width)
    status = rm_index_add(RM_FORMAT_F64, rows, width, total, 8 * width, 8, 2 * count, index, 8, d, 8 * width, 8)
    return status | rm_py_converted(RM_FORMAT_F64, f, rows * width, total, out)


cdef class Distance(Call):
    """dist, the Euclidean norm of rounded differences."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, made
        cdef double p = 2
        cdef ptrdiff_t size
        cdef Memory memory
        cdef rm_status status
        if kwargs or not 2 <= len(args) <= 3 or (len(args) > 2 and (not _number(args[2], &p) or p != 2)):
            return NotImplemented
        held_x, held_y = _read(args[0], &x), _read(args[1], &y)
        if held_x is None or held_y is None or x.format != y.format or not _same_shape(&x, &y) or x.n > MANY:
            return NotImplemented
        out = args[0].new_empty(())
        if not _operand(out, &made):
            return NotImplemented
        size = _SIZES[x.format]
        memory = Memory(x.n * size)
        with nogil:
            status = (<_Binary>_subtract[x.format])(x.n, x.data, size, y.data, size, memory.data, size)
            status |= rm_norm(x.format, x.n, memory.data, size, x.format, made.data)
        _raise(status)
        return out


cdef class Cross(Call):
    """linalg_cross: each number is a sum of two products."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, made
        cdef int dim = 0, c
        cdef int64_t outer, inner, i, j, at, n
        cdef ptrdiff_t size
        cdef Memory memory
        cdef char *rows
        cdef char *columns
        cdef rm_status status
        place = -1
        for key, v in kwargs.items() if kwargs else ():
            if key != "dim":
                return NotImplemented
            place = v
        if len(args) != 2:
            return NotImplemented
        held_x, held_y = _read(args[0], &x), _read(args[1], &y)
        if held_x is None or held_y is None or x.format != y.format or not _same_shape(&x, &y) or x.n > MANY:
            return NotImplemented
        if not _axis_of(place, &x, &dim, &outer, &inner) or x.shape[dim] != 3:
            return NotImplemented
        out = _new(args[0], x.shape, x.ndim, &made)
        size, n = _SIZES[x.format], x.n
        memory = Memory(4 * n * size)
        rows, columns = memory.data, memory.data + 2 * n * size
        with nogil:
            for i in range(outer):
                for c in range(3):
                    for j in range(inner):
                        at = (i * 3 + c) * inner + j
                        memcpy(rows + 2 * at * size, x.data + ((i * 3 + (c + 1) % 3) * inner + j) * size, size)
                        memcpy(rows + (2 * at + 1) * size, x.data + ((i * 3 + (c + 2) % 3) * inner + j) * size, size)
                        rows[(2 * at + 2) * size - 1] = rows[(2 * at + 2) * size - 1] ^ <char>0x80
                        memcpy(columns + 2 * at * size, y.data + ((i * 3 + (c + 2) % 3) * inner + j) * size, size)
                        memcpy(columns + (2 * at + 1) * size, y.data + ((i * 3 + (c + 1) % 3) * inner + j) * size, size)
            status = rm_matmul_batched(x.format, x.format, n, 1, 1, 2, rows, 2 * size, 2 * size, size, columns, 2 * size, size, size, NULL, 0, 0,
                                       made.data, size, size, size)
        _raise(status)
        return out
