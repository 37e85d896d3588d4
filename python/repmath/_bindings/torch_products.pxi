# Prepared calls of matrix products.


cdef bint _matrices(object t, int ndim, Operand *o, ptrdiff_t *steps) except -1:
    """Whether t is a plain tensor of ndim axes, in one of the formats, with elements. Sets its shape and its strides in bytes, for three
    axes."""
    cdef rm_py_strided x
    cdef int i
    if not _strided(t, &x, &o.n) or x.format < 0 or x.ndim != ndim:
        return False
    o.data, o.format, o.ndim = <char *>x.data, x.format, 3
    for i in range(3 - ndim):
        o.shape[i], steps[i] = 1, 0
    for i in range(ndim):
        o.shape[3 - ndim + i], steps[3 - ndim + i] = x.shape[i], x.stride[i]
    return True


cdef class Product(Call):
    """mm, bmm, and addmm of a row that is added to each row."""

    cdef int ndim
    cdef bint biased

    def __init__(self, int ndim, bint biased=False):
        self.ndim, self.biased = ndim, biased

    cdef object run(self, tuple args, dict kwargs):
        return self._made(args, kwargs, NULL, None)

    def at_random(self, tuple args, dict kwargs, seed, stream, make):
        """The same under the mode stochastic, below binary64. make(shape) is for a new result of megabytes."""
        cdef rm_random_rounding r
        r.mode, r.seed, r.stream, r.first = RM_ROUND_STOCHASTIC, seed, stream, 0
        return self._made(args, kwargs, &r, make)

    cdef object _made(self, tuple args, dict kwargs, const rm_random_rounding *r, make):
        cdef Operand a, b, c, bias
        cdef rm_random_operand left, right, add
        cdef ptrdiff_t sa[3]
        cdef ptrdiff_t sb[3]
        cdef int first = self.biased
        cdef ptrdiff_t size
        cdef int64_t m, n
        cdef rm_status status
        bias.data = NULL
        if kwargs or len(args) != 2 + first or not _matrices(args[first], self.ndim, &a, sa):
            return NotImplemented
        if not _matrices(args[first + 1], self.ndim, &b, sb) or a.format != b.format:
            return NotImplemented
        if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
            return NotImplemented
        m, n, size = a.shape[1], b.shape[2], _SIZES[a.format]
        if self.biased and (not _operand(args[0], &bias) or bias.format != a.format or bias.n != n or bias.ndim < 1 or bias.ndim > 2
                            or bias.shape[bias.ndim - 1] != n):
            return NotImplemented
        if r is not NULL and a.format == RM_FORMAT_F64:
            return NotImplemented
        shape = [m, n] if self.ndim == 2 else [a.shape[0], m, n]
        out = make(shape) if r is not NULL and a.format == RM_FORMAT_F32 and a.shape[0] * m * n >= 1 << 20 else args[first].new_empty(shape)
        if not _operand(out, &c):
            return NotImplemented
        left.base, left.row, left.column = <void *>a.data, sa[1], sa[2]
        right.base, right.row, right.column = <void *>b.data, sb[1], sb[2]
        add.base, add.row, add.column = <void *>bias.data, 0, size
        with nogil:
            if r is not NULL:
                status = rm_random_matmul_batched(a.format, a.format, a.shape[0], m, n, a.shape[2], &left, sa[0], &right, sb[0], &add, 0,
                                                  <void *>c.data, r)
            else:
                status = rm_matmul_batched(a.format, a.format, a.shape[0], m, n, a.shape[2], a.data, sa[0], sa[1], sa[2], b.data, sb[0], sb[1],
                                           sb[2], bias.data, 0, size, c.data, m * n * size, n * size, size)
        _raise(status)
        return out


cdef class Vectors(Call):
    """dot and vdot, mv."""

    cdef int ndim

    def __init__(self, int ndim):
        self.ndim = ndim

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand a, b, c
        cdef ptrdiff_t sa[3]
        cdef ptrdiff_t sb[3]
        cdef ptrdiff_t size
        cdef int64_t m
        cdef rm_status status
        if kwargs or len(args) != 2 or not _matrices(args[0], self.ndim, &a, sa) or not _matrices(args[1], 1, &b, sb):
            return NotImplemented
        if a.format != b.format or a.shape[2] != b.shape[2]:
            return NotImplemented
        m, size = a.shape[1], _SIZES[a.format]
        out = args[0].new_empty([m] if self.ndim == 2 else [])
        if not _operand(out, &c):
            return NotImplemented
        with nogil:
            status = rm_matmul_batched(a.format, a.format, 1, m, 1, a.shape[2], a.data, 0, sa[1], sa[2], b.data, 0, sb[2], 0, NULL, 0, 0,
                                       c.data, 0, size, size)
        _raise(status)
        return out


cdef class Linear(Call):
    """linear, with or without a bias."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, w, bias, c
        cdef ptrdiff_t step[3]
        cdef int64_t shape[MAX_AXES]
        cdef int64_t k
        cdef int i
        cdef ptrdiff_t size
        cdef rm_status status
        if kwargs or not 2 <= len(args) <= 3 or not _matrices(args[1], 2, &w, step):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or x.ndim < 1 or x.format != w.format or x.shape[x.ndim - 1] != w.shape[2]:
            return NotImplemented
        if not _weight(args[2] if len(args) > 2 else None, x.format, 1, &w.shape[1], &bias):
            return NotImplemented
        for i in range(x.ndim):
            shape[i] = x.shape[i]
        shape[x.ndim - 1] = w.shape[1]
        k, size = w.shape[2], _SIZES[x.format]
        out = _new(args[0], shape, x.ndim, &c)
        with nogil:
            status = rm_matmul_batched(x.format, x.format, 1, x.n // k, w.shape[1], k, x.data, 0, k * size, size, w.data, 0, step[2], step[1],
                                       bias.data, 0, size, c.data, 0, w.shape[1] * size, size)
        _raise(status)
        return out


# How the operands of a general product are matrices.
cdef enum:
    ADDMM, BADDBMM, ADDMV, ADDR, ADDBMM

_GENERAL = {"addmm": ADDMM, "baddbmm": BADDBMM, "addmv": ADDMV, "addr": ADDR, "addbmm": ADDBMM}


cdef class General(Call):
    """alpha a b + beta c: addmm, baddbmm, addmv, addr and addbmm."""

    cdef int what, into

    def __init__(self, what, into):
        self.what, self.into = _GENERAL[what], _INTO[into]

    cdef bint _shaped(self, rm_py_strided *a, rm_py_strided *b, int64_t *shape, int *ndim) except -1:
        """Whether the operands fit. Makes stacks of matrices of them, and sets the shape of the result."""
        cdef int what = self.what, rank = 3 if what == BADDBMM or what == ADDBMM else 2
        if a.ndim != (1 if what == ADDR else rank) or b.ndim != (1 if what == ADDR or what == ADDMV else rank):
            return False
        ndim[0] = 2
        if what == ADDMM:
            shape[0], shape[1] = a.shape[0], b.shape[1]
            _axes_are(a, 1, a.shape[0], a.shape[1], 0, a.stride[0], a.stride[1])
            _axes_are(b, 1, b.shape[0], b.shape[1], 0, b.stride[0], b.stride[1])
        elif what == ADDMV:
            ndim[0], shape[0] = 1, a.shape[0]
            _axes_are(a, 1, a.shape[0], a.shape[1], 0, a.stride[0], a.stride[1])
            _axes_are(b, 1, b.shape[0], 1, 0, b.stride[0], 0)
        elif what == ADDR:
            shape[0], shape[1] = a.shape[0], b.shape[0]
            _axes_are(a, 1, a.shape[0], 1, 0, a.stride[0], 0)
            _axes_are(b, 1, 1, b.shape[0], 0, 0, b.stride[0])
        elif what == BADDBMM:
            ndim[0], shape[0], shape[1], shape[2] = 3, a.shape[0], a.shape[1], b.shape[2]
        else:  # one sum over the pairs of matrices: those of a are put side by side, those of b one below the other
            if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
                return False
            shape[0], shape[1] = a.shape[1], b.shape[2]
            _axes_are(a, a.shape[1], a.shape[0], a.shape[2], a.stride[1], a.stride[0], a.stride[2])
            return True
        return a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1]

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided a, b, c
        cdef Operand to
        cdef Memory first, second
        cdef int64_t shape[MAX_AXES]
        cdef int64_t i, m, n, k, batch, of_a, of_b, of_c
        cdef int ndim = 0, f, d, axis
        cdef double alpha = 1, beta = 1
        cdef ptrdiff_t size
        cdef rm_status status = 0
        if len(args) != 3:
            return NotImplemented
        for key, v in kwargs.items() if kwargs else ():
            if not _number(v, &alpha if key == "alpha" else &beta) or (key != "alpha" and key != "beta"):
                return NotImplemented
        if not _strided(args[0], &c, &of_c) or not _strided(args[1], &a, &of_a) or not _strided(args[2], &b, &of_b):
            return NotImplemented
        f = c.format
        if f < 0 or a.format != f or b.format != f or of_a > MANY or of_b > MANY or not self._shaped(&a, &b, shape, &ndim):
            return NotImplemented
        if c.ndim > ndim or (self.what == ADDR and alpha == 0):
            return NotImplemented
        for d in range(c.ndim):
            axis = ndim - c.ndim + d
            if c.shape[d] != shape[axis] and (c.shape[d] != 1 or self.into == FIRST):
                return NotImplemented
        size = _SIZES[f]
        if self.into == FIRST:
            out = args[0]
            if c.ndim != ndim or not _operand(out, &to) or not _apart_from(&to, &a) or not _apart_from(&to, &b):
                return NotImplemented
        else:
            out = _new(args[0], shape, ndim, &to)
            if out is None:
                return NotImplemented
        batch, m, k, n = a.shape[0], a.shape[1], a.shape[2], b.shape[2]
        if self.what == ADDBMM:
            batch, m, k = 1, shape[0], a.shape[1] * a.shape[2]
        first, second = Memory(of_a * size), Memory(of_b * size)
        with nogil:
            rm_py_spread(&a, 3, a.shape, first.data)
            rm_py_spread(&b, 3, b.shape, second.data)
            if self.into == NEW:
                rm_py_spread(&c, ndim, shape, to.data)
            for i in range(batch):
                status = rm_gemm(f, RM_ROW_MAJOR, RM_NO_TRANS, RM_NO_TRANS, m, n, k, alpha, first.data + i * m * k * size, k,
                                 second.data + i * k * n * size, n, beta, to.data + i * m * n * size, n)
                if status != 0:
                    break
        _raise(status)
        return out


cdef void _axes_are(rm_py_strided *x, int64_t i, int64_t j, int64_t k, ptrdiff_t di, ptrdiff_t dj, ptrdiff_t dk) noexcept:
    """The same elements as an array of three axes."""
    x.ndim, x.shape[0], x.shape[1], x.shape[2], x.stride[0], x.stride[1], x.stride[2] = 3, i, j, k, di, dj, dk


cdef class Trilinear(Call):
    """_trilinear of few terms: exact sums of products of three, of which the product of the first two is one of binary64, exact but for that format."""

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x[3]
        cdef rm_py_strided turned[3]
        cdef int64_t shape[MAX_AXES]
        cdef int64_t whole[MAX_AXES]
        cdef int64_t n, count = 1, rows = 1, terms, i
        cdef uint64_t axes
        cdef int rank = 0, d, k, at, dims, f
        cdef Operand to
        cdef Memory memory
        cdef double *product
        cdef double *other
        cdef double *sums
        cdef bint sure = True
        cdef rm_status status = 0
        if kwargs or not 7 <= len(args) <= 8:
            return NotImplemented
        for k in range(3):
            if not _strided(args[k], &x[k], &n) or x[k].format < 0 or x[k].format != x[0].format:
                return NotImplemented
            added = args[3 + k]
            dims = x[k].ndim + <int>len(added)
            if dims > MAX_AXES or (k and dims != rank):
                return NotImplemented
            rank, axes = dims, 0
            if added and not _axes_of(added, rank, &axes):
                return NotImplemented
            turned[k].data, turned[k].format, turned[k].ndim, at = x[k].data, x[k].format, rank, 0
            for d in range(rank):
                if axes >> d & 1:
                    turned[k].shape[d], turned[k].stride[d] = 1, 0
                else:
                    turned[k].shape[d], turned[k].stride[d] = x[k].shape[at], x[k].stride[at]
                    at += 1
        axes = 0
        if args[6] and not _axes_of(args[6], rank, &axes):
            return NotImplemented
        for d in range(rank):
            whole[d] = max(turned[0].shape[d], turned[1].shape[d], turned[2].shape[d])
            for k in range(3):
                if turned[k].shape[d] != whole[d] and turned[k].shape[d] != 1:
                    return NotImplemented
            count *= whole[d]
            rows *= 1 if axes >> d & 1 else whole[d]
        f, terms = x[0].format, count // rows
        if count > FEW or terms == 1:
            return NotImplemented
        memory = Memory(8 * 3 * count)
        product = <double *>memory.data
        other = product + count
        sums = other + count  # where the operands were
        dims = 0
        for d in range(rank):
            if not axes >> d & 1:
                shape[dims] = whole[d]
                dims += 1
        out = _new(args[0], shape, dims, &to)
        if out is None:
            return NotImplemented
        for d in range(rank):
            if axes >> d & 1:
                shape[dims] = whole[d]
                dims += 1
        with nogil:
            for k in range(3):  # with the axes that are summed over at the end
                _turned(&turned[k], axes, &x[k])
                rm_py_spread(&x[k], rank, shape, <char *>(product + 2 * count))
                rm_py_converted(f, RM_FORMAT_F64, count, product + 2 * count, other if k else product)
                if k == 1:
                    for i in range(count):
                        product[i] *= other[i]
            for i in range(rows):
                status |= rm_dot_f64(terms, product + i * terms, 8, other + i * terms, 8, &sums[i])
                sure = sure and not _is_boundary(sums[i], f)
            rm_py_converted(RM_FORMAT_F64, f, rows, sums, to.data)
        _raise(status)
        return out if sure else NotImplemented
