# Linear algebra. Arrays of matrices have three axes; results are C-contiguous.

def cholesky(format, a, out, info):
    """rm_cholesky: a is a stack of square matrices; info has one int32 for each."""
    cdef View x = _view(a), y = _view(out), i = _view(info)
    cdef int64_t batch = a.shape[0], n = a.shape[1]
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    with nogil:
        status = rm_cholesky(f, batch, n, <void *>x.base, x.stride[0], x.stride[1], x.stride[2], <void *>y.base,
                             <int32_t *>i.base)
    _raise(status)


def lu_factor(format, a, out, pivots, info):
    """rm_lu_factor: a is a stack of matrices; pivots and info are int32."""
    cdef View x = _view(a), y = _view(out), p = _view(pivots), i = _view(info)
    cdef int64_t batch = a.shape[0], m = a.shape[1], n = a.shape[2]
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    with nogil:
        status = rm_lu_factor(f, batch, m, n, <void *>x.base, x.stride[0], x.stride[1], x.stride[2], <void *>y.base,
                              <int32_t *>p.base, <int32_t *>i.base)
    _raise(status)


def solve(format, triangle, bint unit, a, b, out, info):
    """rm_solve for a triangle of None, else rm_solve_triangular of "lower" or "upper"; b None is the identity."""
    cdef View x = _view(a), y = _view(b), z = _view(out), i = _view(info)
    cdef int64_t batch = a.shape[0], n = a.shape[1], k = out.shape[2]
    cdef rm_status status
    cdef int f
    cdef int which = {None: 0, "lower": 1, "upper": 2}[triangle]
    f, _ = _FORMATS[format]
    with nogil:
        if which == 0:
            status = rm_solve(f, batch, n, k, <void *>x.base, x.stride[0], x.stride[1], x.stride[2], <void *>y.base,
                              y.stride[0], y.stride[1], y.stride[2], <void *>z.base, <int32_t *>i.base)
        else:
            status = rm_solve_triangular(f, which == 2, unit, batch, n, k, <void *>x.base, x.stride[0], x.stride[1],
                                         x.stride[2], <void *>y.base, y.stride[0], y.stride[1], y.stride[2],
                                         <void *>z.base, <int32_t *>i.base)
    _raise(status)


def determinant(format, a, det, log):
    """rm_det for a log of None, else rm_slogdet, whose sign goes to det; one element for each matrix."""
    cdef View x = _view(a), y = _view(det), z = _view(log)
    cdef int64_t batch = a.shape[0], n = a.shape[1]
    cdef rm_status status
    cdef int f
    cdef bint logarithm = log is not None
    f, _ = _FORMATS[format]
    with nogil:
        if logarithm:
            status = rm_slogdet(f, batch, n, <void *>x.base, x.stride[0], x.stride[1], x.stride[2], <void *>y.base,
                                <void *>z.base)
        else:
            status = rm_det(f, batch, n, <void *>x.base, x.stride[0], x.stride[1], x.stride[2], <void *>y.base)
    _raise(status)


cdef enum:
    SWEEPS = 64  # of rotations, after which they end

# Columns of a matrix whose largest element is about 1 that are as short count as rounding errors: no rotation makes them orthogonal.
cdef double _SHORTEST = 2.0**-80
LEAST, MOST_SWEEPS = _SHORTEST, SWEEPS


cdef rm_py_sweep _sweep_of(const int64_t[:, :, ::1] pairs) noexcept:
    """A sweep of rounds of pairs."""
    cdef rm_py_sweep sweep
    sweep.rounds, sweep.half, sweep.pair, sweep.most, sweep.least = pairs.shape[0], pairs.shape[1], NULL, SWEEPS, _SHORTEST
    if pairs.shape[0] and pairs.shape[1]:
        sweep.pair = &pairs[0, 0, 0]
    return sweep


cdef rm_status _svd_of(const rm_py_sweep *sweep, int64_t m, int64_t n, double *a, double *s, int64_t wanted, const rm_py_matrix *u,
                       const rm_py_matrix *v, double *work) noexcept nogil:
    """rm_py_svd of a dense matrix of any shape: `wanted` are the columns of the factor with more rows, and work is as if these came first."""
    cdef rm_py_matrix x
    x.at, x.row, x.column = a, n, 1
    if m >= n:
        return rm_py_svd(sweep, m, n, &x, s, wanted, u, v, work)
    x.row, x.column = 1, n
    return rm_py_svd(sweep, n, m, &x, s, wanted, v, u, work)


def eigh(const int64_t[:, :, ::1] pairs, const double[:, :, ::1] a, double[:, ::1] values, vectors):
    """Eigenvalues, and vectors unless they are None, of symmetric matrices whose lower triangles are given."""
    cdef rm_py_sweep sweep = _sweep_of(pairs)
    cdef int64_t i, n = a.shape[1]
    cdef View to = _view(vectors)
    cdef bint wanted = vectors is not None
    cdef Memory work = Memory(8 * rm_py_eigh_numbers(n))
    cdef fenv_t saved
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(a.shape[0]):
            rm_py_eigh(&sweep, n, &a[i, 0, 0], &values[i, 0], <double *>to.base + i * n * n if wanted else NULL, <double *>work.data)
        fesetenv(&saved)


def svd(const int64_t[:, :, ::1] pairs, const double[:, :, ::1] a, double[:, ::1] s, u, v):
    """Singular values, and contiguous factors U and V unless they are None, of matrices."""
    cdef rm_py_sweep sweep = _sweep_of(pairs)
    cdef int64_t m = a.shape[1], n = a.shape[2], i, wanted = 0
    cdef rm_py_matrix left, right
    cdef View of_u = _view(u), of_v = _view(v)
    cdef Memory work
    cdef fenv_t saved
    cdef rm_status status = 0
    if u is not None:
        wanted = u.shape[2] if m >= n else v.shape[2]
        left.row, left.column, right.row, right.column = u.shape[2], 1, v.shape[2], 1
    work = Memory(8 * rm_py_svd_numbers(max(m, n), min(m, n), wanted))
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(a.shape[0]):
            if wanted:
                left.at, right.at = <double *>of_u.base + i * m * left.row, <double *>of_v.base + i * n * right.row
            status |= _svd_of(&sweep, m, n, <double *>&a[i, 0, 0], &s[i, 0], wanted, &left, &right, <double *>work.data)
        fesetenv(&saved)
    _raise(status)


def reflectors(double[:, :, ::1] a, double[:, ::1] taus):
    """Makes each matrix R and its reflectors, and taus their factors."""
    cdef int64_t i
    cdef fenv_t saved
    cdef Memory work
    cdef rm_status status = 0
    if taus.shape[1] == 0:
        return
    work = Memory(8 * (a.shape[1] + a.shape[2]))
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(a.shape[0]):
            status |= rm_py_reflectors(a.shape[1], a.shape[2], &a[i, 0, 0], &taus[i, 0], <double *>work.data)
        fesetenv(&saved)
    _raise(status)


def reflected(const double[:, :, ::1] a, const double[:, ::1] taus, bint transposed, double[:, :, ::1] c):
    """Makes each c the product of the reflections, or its transpose, times c."""
    cdef int64_t i
    cdef fenv_t saved
    cdef Memory work
    cdef rm_status status = 0
    if taus.shape[1] == 0 or c.shape[2] == 0:
        return
    work = Memory(8 * (c.shape[1] + c.shape[2]))
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(a.shape[0]):
            status |= rm_py_reflected(a.shape[1], a.shape[2], &a[i, 0, 0], taus.shape[1], &taus[i, 0], transposed, c.shape[2], &c[i, 0, 0],
                                      <double *>work.data)
        fesetenv(&saved)
    _raise(status)
