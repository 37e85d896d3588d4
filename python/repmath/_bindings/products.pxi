# Matrix products and convolutions.

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


def convolve(what, format, sizes, first, second, bias, out, place=None):
    """A convolution or a gradient of it: sizes are those of rm_conv; arrays have their channels second, those of w too. With a place out is
    contiguous, and rounded at random.

    Returns the kinds of floating-point errors, as numpy.errstate names them, that it has raised."""
    cdef rm_conv c
    cdef fenv_t before
    cdef int raised
    cdef View a = _view(first), b = _view(second), z = _view(bias), y = _view(out)
    cdef rm_random_rounding r
    cdef bint at_random = place is not None
    cdef rm_status status
    cdef int f
    f, _ = _FORMATS[format]
    if at_random:
        r = _random_rounding(place)
    (c.batch, c.channels_in, c.channels_out, c.groups), size, kernel, stride, dilation, low, high = sizes
    c.dims = len(size)
    for j in range(c.dims):
        c.size[j], c.kernel[j], c.stride[j] = size[j], kernel[j], stride[j]
        c.dilation[j], c.padding_low[j], c.padding_high[j] = dilation[j], low[j], high[j]
    cdef int which = {"forward": 0, "grad_input": 1, "grad_weight": 2}[what]
    with nogil:
        fegetenv(&before)
        feclearexcept(FE_INVALID | FE_OVERFLOW)
        if at_random:
            status = rm_random_conv(f, &c, <void *>a.base, a.stride, <void *>b.base, b.stride, <void *>z.base, z.stride[0],
                                    <void *>y.base, which, &r)
        elif which == 0:
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


def row_dots(format, x, y, out):
    """The dot product of each row of x with that of y, of float32 or float64; all are contiguous."""
    cdef View a = _view(x), b = _view(y), to = _view(out)
    cdef int64_t rows = x.shape[0], n = x.shape[1], i
    cdef ptrdiff_t row
    cdef int f
    cdef rm_status status = 0
    f, size = _FORMATS[format]
    row = n * size
    with nogil:
        for i in range(rows):
            if f == RM_FORMAT_F32:
                status |= rm_dot_f32(n, <const float *>(<char *>a.base + i * row), 4, <const float *>(<char *>b.base + i * row), 4, <float *>to.base + i)
            else:
                status |= rm_dot_f64(n, <const double *>(<char *>a.base + i * row), 8, <const double *>(<char *>b.base + i * row), 8, <double *>to.base + i)
    _raise(status)
