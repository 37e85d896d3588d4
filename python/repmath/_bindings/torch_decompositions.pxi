# Prepared calls of orthogonal decompositions and what is made of them: the steps of _decompositions.py, matrix after matrix. What is not finite is left to the
# table's functions, as are matrices without elements, which have errors and shapes of their own.


cdef object _read_stack(object t, Operand *x, int64_t *batch, int64_t *m, int64_t *n):
    """Reads matrices of float32 or float64. Returns what must be kept alive, or None."""
    cdef int d
    held = _read(t, x)
    if held is None or x.ndim < 2 or x.format < RM_FORMAT_F32:
        return None
    batch[0], m[0], n[0] = 1, x.shape[x.ndim - 2], x.shape[x.ndim - 1]
    for d in range(x.ndim - 2):
        batch[0] *= x.shape[d]
    return held


cdef object _like_stack(object like, const Operand *x, int64_t rows, int64_t columns, Operand *to):
    """New matrices, or vectors if rows is 0, with the leading axes of x."""
    cdef int64_t shape[MAX_AXES]
    cdef int d, ndim = x.ndim - 2
    for d in range(ndim):
        shape[d] = x.shape[d]
    if rows:
        shape[ndim] = rows
        ndim += 1
    shape[ndim] = columns
    return _new(like, shape, ndim + 1, to)


cdef bint _widened(const Operand *x, int64_t i, int64_t size, double *a) noexcept nogil:
    """Matrix i, of so many elements, in binary64. Returns whether all are finite."""
    cdef int64_t j
    cdef bint finite = rm_py_converted(x.format, RM_FORMAT_F64, size, x.data + i * size * _SIZES[x.format], a) == 0
    for j in range(size):
        finite = finite and fabs(a[j]) < INFINITY
    return finite


cdef rm_status _keep(const Operand *to, int64_t i, int64_t size, const double *a) noexcept nogil:
    return rm_py_converted(RM_FORMAT_F64, to.format, size, a, to.data + i * size * _SIZES[to.format])


cdef rm_status _matrix_product(int64_t m, int64_t n, int64_t k, const double *a, int64_t row_a, int64_t step_a, const double *b, int64_t row_b,
                               int64_t step_b, double *out) noexcept nogil:
    """The product of m x k by k x n numbers, dense."""
    return rm_matmul_batched(RM_FORMAT_F64, RM_FORMAT_F64, 1, m, n, k, a, 0, 8 * row_a, 8 * step_a, b, 0, 8 * row_b, 8 * step_b, NULL, 0, 0, out, 0,
                             8 * n, 8)


cdef bint _flags(tuple args, int last, bint *values) except -1:
    """Whether arguments from place 1 on are booleans, which replace the values."""
    cdef int i
    for i in range(1, <int>len(args)):
        if i > last or type(args[i]) is not bool:
            return False
        values[i - 1] = args[i]
    return True


cdef class Eigh(Call):
    """_linalg_eigh; rounds(n) are the pairs of a sweep of rotations of n rows."""

    cdef object rounds

    def __init__(self, rounds):
        self.rounds = rounds

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, values, vectors
        cdef int64_t batch, m, n, i, j, k
        cdef bint lower, wanted, finite = True
        cdef rm_py_sweep sweep
        cdef Memory memory
        cdef double *a
        cdef double *found
        cdef double *v
        cdef double *work
        cdef rm_status status = 0
        cdef fenv_t saved
        if kwargs or not 1 <= len(args) <= 3 or (len(args) > 1 and args[1] not in ("L", "U")) or (len(args) > 2 and type(args[2]) is not bool):
            return NotImplemented
        held = _read_stack(args[0], &x, &batch, &m, &n)
        if held is None or m != n:
            return NotImplemented
        lower, wanted = len(args) < 2 or args[1] == "L", len(args) < 3 or args[2]
        made = _like_stack(args[0], &x, 0, n, &values)
        columns = _like_stack(args[0], &x, n, n, &vectors) if wanted else args[0].new_empty(0)
        if made is None or columns is None:
            return NotImplemented
        pairs = self.rounds(n)
        sweep = _sweep_of(pairs)
        memory = Memory(8 * (2 * n * n + n + rm_py_eigh_numbers(n)))
        a = <double *>memory.data
        v, found = a + n * n, a + 2 * n * n
        work = found + n
        with nogil:
            fegetenv(&saved)
            fesetenv(FE_DFL_ENV)
            for i in range(batch):
                finite = finite and _widened(&x, i, n * n, a)
                if not finite or status != 0:
                    break
                if not lower:
                    for j in range(n):
                        for k in range(j):
                            a[j * n + k] = a[k * n + j]
                rm_py_eigh(&sweep, n, a, found, v if wanted else NULL, work)
                status |= _keep(&values, i, n, found)
                if wanted:
                    status |= _keep(&vectors, i, n * n, v)
            fesetenv(&saved)
        _raise(status)
        return (made, columns) if finite else NotImplemented


cdef class Svd(Call):
    """_linalg_svd; rounds(n) are the pairs of a sweep of rotations of n rows."""

    cdef object rounds

    def __init__(self, rounds):
        self.rounds = rounds

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, values
        cdef Operand to[2]
        cdef int64_t batch, m, n, k, i, wanted = 0
        cdef int64_t side[2]  # the columns of U, and the rows of V'
        cdef rm_py_matrix u_of, v_of
        cdef bint flags[2]
        cdef bint finite = True
        cdef rm_py_sweep sweep
        cdef Memory memory
        cdef double *a
        cdef double *found
        cdef double *u
        cdef double *v
        cdef rm_status status = 0
        cdef fenv_t saved
        flags[0], flags[1] = False, True
        if not 1 <= len(args) or not _flags(args, 2, flags) or (kwargs and (len(kwargs) > 1 or kwargs.get("driver", 0) is not None)):
            return NotImplemented
        held = _read_stack(args[0], &x, &batch, &m, &n)
        if held is None:
            return NotImplemented
        k = min(m, n)
        side[0], side[1] = m if flags[0] else k, n if flags[0] else k
        made = _like_stack(args[0], &x, 0, k, &values)
        left, right = None, None
        if flags[1]:
            left, right, wanted = _like_stack(args[0], &x, m, side[0], &to[0]), _like_stack(args[0], &x, side[1], n, &to[1]), side[m < n]
            if left is None or right is None:
                return NotImplemented
        if made is None:
            return NotImplemented
        pairs = self.rounds(k)
        sweep = _sweep_of(pairs)
        memory = Memory(8 * (m * n + k + m * side[0] + n * side[1] + rm_py_svd_numbers(max(m, n), k, wanted)))
        a = <double *>memory.data
        found, u = a + m * n, a + m * n + k
        v = u + m * side[0]
        u_of.at, u_of.row, u_of.column, v_of.at, v_of.row, v_of.column = u, side[0], 1, v, 1, n  # V' is written
        with nogil:
            fegetenv(&saved)
            fesetenv(FE_DFL_ENV)
            for i in range(batch):
                finite = finite and _widened(&x, i, m * n, a)
                if not finite or status != 0:
                    break
                status |= _svd_of(&sweep, m, n, a, found, wanted, &u_of, &v_of, v + n * side[1])
                status |= _keep(&values, i, k, found)
                if wanted:
                    status |= _keep(&to[0], i, m * side[0], u) | _keep(&to[1], i, n * side[1], v)
            fesetenv(&saved)
        _raise(status)
        if not finite:
            return NotImplemented
        return (left, made, right) if wanted else (args[0].new_empty(0), made, args[0].new_empty(0))


cdef class Qr(Call):
    """linalg_qr."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, first, second
        cdef int64_t batch, m, n, i, columns
        cdef bint finite = True, wanted
        cdef Memory memory
        cdef double *a
        cdef double *q
        cdef double *r
        cdef double *taus
        cdef rm_status status = 0
        cdef fenv_t saved
        if kwargs or not 1 <= len(args) <= 2 or (len(args) > 1 and args[1] not in ("reduced", "complete", "r")):
            return NotImplemented
        held = _read_stack(args[0], &x, &batch, &m, &n)
        if held is None:
            return NotImplemented
        wanted, columns = len(args) < 2 or args[1] != "r", m if len(args) > 1 and args[1] == "complete" else min(m, n)
        left = _like_stack(args[0], &x, m, columns, &first) if wanted else args[0].new_empty(0)
        right = _like_stack(args[0], &x, columns, n, &second)
        if left is None or right is None:
            return NotImplemented
        memory = Memory(8 * (m * n + m * columns + columns * n + min(m, n) + m + max(n, columns)))
        a = <double *>memory.data
        q, r = a + m * n, a + m * n + m * columns
        taus = r + columns * n
        with nogil:
            fegetenv(&saved)
            fesetenv(FE_DFL_ENV)
            for i in range(batch):
                finite = finite and _widened(&x, i, m * n, a)
                if not finite or status != 0:
                    break
                status |= rm_py_qr(m, n, a, columns, q if wanted else NULL, r, taus, taus + min(m, n))
                if wanted:
                    status |= _keep(&first, i, m * columns, q)
                status |= _keep(&second, i, columns * n, r)
            fesetenv(&saved)
        _raise(status)
        return (left, right) if finite else NotImplemented


cdef class Inverted(Call):
    """linalg_pinv, or with `solves` linalg_lstsq by "gelsy" or "gels", with PyTorch's usual tolerances; rounds(n) are the pairs of a sweep of rotations of n rows."""

    cdef object rounds
    cdef bint solves

    def __init__(self, rounds, bint solves):
        self.rounds, self.solves = rounds, solves

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, right, to, counts
        cdef int64_t batch, m, n, k, i, j, r, kept, columns = 0
        cdef rm_py_matrix u_of, v_of
        cdef int d
        cdef bint finite = True, everything = False
        cdef double limit, inverse, eps
        cdef rm_py_sweep sweep
        cdef Memory memory
        cdef double *a
        cdef double *b
        cdef double *s
        cdef double *u
        cdef double *v
        cdef double *some
        cdef double *out
        cdef rm_status status = 0
        cdef fenv_t saved
        for key, value in kwargs.items() if kwargs else ():
            if key == "driver" and value == "gels":
                everything = True
            elif value is not None and not (key == "hermitian" and value is False) and not (key == "driver" and value == "gelsy"):
                return NotImplemented
        if not 1 + self.solves <= len(args) <= 1 + 2 * self.solves or (len(args) > 2 and args[2] is not None):
            return NotImplemented
        held, other, ranks = _read_stack(args[0], &x, &batch, &m, &n), None, None
        if held is None or (everything and m > n):  # which has residuals
            return NotImplemented
        if self.solves:
            other = _read(args[1], &right)
            if other is None or right.format != x.format or right.ndim != x.ndim:
                return NotImplemented
            for d in range(x.ndim - 1):
                if right.shape[d] != x.shape[d]:
                    return NotImplemented
            columns = right.shape[x.ndim - 1]
            ranks = args[0].new_empty([x.shape[d] for d in range(x.ndim - 2)], dtype=_int64)
            if not _whole_operand(ranks, &counts):
                return NotImplemented
        k, eps = min(m, n), 2.0**-23 if x.format == RM_FORMAT_F32 else 2.0**-52
        made = _like_stack(args[0], &x, n, columns if self.solves else m, &to)
        if made is None:
            return NotImplemented
        pairs = self.rounds(k)
        sweep = _sweep_of(pairs)
        memory = Memory(8 * (m * n + m * columns + k + m * k + n * k + k * columns + n * max(columns, m) + rm_py_svd_numbers(max(m, n), k, k)))
        a = <double *>memory.data
        b, s = a + m * n, a + m * n + m * columns
        u, v = s + k, s + k + m * k
        some = v + n * k
        out = some + k * columns
        u_of.at, u_of.row, u_of.column, v_of.at, v_of.row, v_of.column = u, k, 1, v, k, 1
        with nogil:
            fegetenv(&saved)
            fesetenv(FE_DFL_ENV)
            for i in range(batch):
                finite = finite and _widened(&x, i, m * n, a) and (columns == 0 or _widened(&right, i, m * columns, b))
                if not finite or status != 0:
                    break
                status |= _svd_of(&sweep, m, n, a, s, k, &u_of, &v_of, out + n * max(columns, m))
                limit, kept = 0 if everything else max(m, n) * eps * s[0], 0
                for j in range(k):
                    kept += s[j] > limit
                if columns:  # V (1/S (U' b))
                    status |= _matrix_product(k, columns, m, u, 1, k, b, columns, 1, some)
                    for j in range(k):
                        for r in range(columns):
                            some[j * columns + r] = some[j * columns + r] / s[j] if j < kept else 0.0
                    status |= _matrix_product(n, columns, k, v, k, 1, some, columns, 1, out)
                    (<int64_t *>counts.data)[i] = kept
                else:  # (V 1/S) U'
                    for j in range(k):
                        inverse = 1.0 / s[j] if j < kept else 0.0
                        for r in range(n):
                            v[r * k + j] *= inverse
                    status |= _matrix_product(n, m, k, v, k, 1, u, 1, k, out)
                status |= _keep(&to, i, n * (columns if columns else m), out)
            fesetenv(&saved)
        _raise(status)
        if not finite:
            return NotImplemented
        if everything:
            ranks = args[0].new_empty(0, dtype=_int64)
        return (made, args[0].new_empty(0), ranks, args[0].new_empty(0)) if self.solves else made
