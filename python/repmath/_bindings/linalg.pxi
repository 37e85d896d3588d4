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
