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


def orthogonal_rows(const int64_t[:, :, ::1] pairs, int sweeps, double least, double[:, :, ::1] columns, v):
    """Rotates the rows of each matrix until they are orthogonal, and those of v, which may be None."""
    cdef rm_py_sweep sweep
    cdef double[:, :, ::1] turned = columns if v is None else v
    cdef bint vectors = v is not None
    cdef int64_t i
    cdef fenv_t saved
    cdef rm_status status = 0
    if pairs.shape[0] == 0 or columns.shape[2] == 0:
        return
    sweep.rounds, sweep.half, sweep.pair = pairs.shape[0], pairs.shape[1], &pairs[0, 0, 0]
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(columns.shape[0]):
            status |= rm_py_orthogonal_rows(&sweep, sweeps, least, columns.shape[1], columns.shape[2], &columns[i, 0, 0],
                                            &turned[i, 0, 0] if vectors else NULL)
        fesetenv(&saved)
    _raise(status)


def diagonal(const int64_t[:, :, ::1] pairs, int sweeps, double[:, :, ::1] a, v):
    """Rotates each symmetric matrix until it is diagonal, and the rows of v, which may be None."""
    cdef rm_py_sweep sweep
    cdef double[:, :, ::1] turned = a if v is None else v
    cdef bint vectors = v is not None
    cdef int64_t i
    cdef fenv_t saved
    cdef Memory work
    if pairs.shape[0] == 0:
        return
    sweep.rounds, sweep.half, sweep.pair = pairs.shape[0], pairs.shape[1], &pairs[0, 0, 0]
    work = Memory(8 * 5 * sweep.half)
    with nogil:
        fegetenv(&saved)
        fesetenv(FE_DFL_ENV)
        for i in range(a.shape[0]):
            rm_py_diagonal(&sweep, sweeps, a.shape[1], &a[i, 0, 0], &turned[i, 0, 0] if vectors else NULL, <double *>work.data)
        fesetenv(&saved)


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
