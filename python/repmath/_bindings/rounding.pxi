# Random rounding modes (specification section 1a).

_RANDOM_MODES = {"stochastic": RM_ROUND_STOCHASTIC, "random": RM_ROUND_RANDOM, "up_down": RM_ROUND_UP_DOWN,
                 "toward_zero": RM_ROUND_TOWARD_ZERO, "down": RM_ROUND_DOWN, "up": RM_ROUND_UP}


cdef rm_random_rounding _random_rounding(place):
    """(mode, seed, stream, first) as the library has it."""
    cdef rm_random_rounding r
    mode, r.seed, r.stream, r.first = place
    r.mode = _RANDOM_MODES[mode]
    return r


def random_elementwise(name, format, arguments, out, place):
    """A function over vectors, whose elements may all be one (a stride of 0); out is a vector too. Sets the flags of IEEE 754."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef const void *x[3]
    cdef ptrdiff_t stride[3]
    cdef int k, f = _FORMATS[format][0]
    cdef long long n = out.size
    cdef View v, y = _view(out)
    cdef bytes function = name.encode()
    cdef const char *which = function
    cdef rm_status status
    for k in range(len(arguments)):
        v = _view(arguments[k])
        x[k] = <const void *>v.base
        stride[k] = v.stride[0]
    with nogil:
        status = rm_random_elementwise(which, f, n, x, stride, <void *>y.base, y.stride[0], &r)
    if rm_status_code(status) == RM_ERR_ENUM:
        raise ValueError(f"{name} has no stochastic rounding in float64 yet")
    _raise(status)


def random_formula(formula, format, a, arrays, out, left, place):
    """A formula of rm_formula, by its name, over contiguous arrays of one format; out may be one of them. Returns how many elements are left open: their
    indices are in left, int64 numbers of which there are as many as elements, and in out they stay as they were."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef void *x[3]
    cdef int k, which = _FORMULAS[formula], f = _FORMATS[format][0]
    cdef double number = a
    cdef long long n = out.size
    cdef int64_t open = 0
    cdef View y = _view(out), places = _view(left)
    cdef rm_status status
    for k in range(3):
        x[k] = <void *>_view(arrays[k]).base if k < len(arrays) else NULL
    with nogil:
        status = rm_random_formula(which, f, n, number, x[0], x[1], x[2], <void *>y.base, &open, <int64_t *>places.base, &r)
    _raise(status)
    return open


def random_sums(format, format_out, x, out, place):
    """Exact sums of the rows of a matrix; out is contiguous."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef int f = _FORMATS[format][0], g = _FORMATS[format_out][0]
    cdef long long rows = x.shape[0], n = x.shape[1]
    cdef View v = _view(x), y = _view(out)
    cdef rm_status status
    with nogil:
        status = rm_random_sums(f, g, rows, n, <void *>v.base, v.stride[0], v.stride[1], <void *>y.base, &r)
    _raise(status)


def random_matmul(format, format_out, a, b, bias, out, place):
    """A matrix product of exact sums, with a bias of the product's shape or None; out is contiguous."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef int f = _FORMATS[format][0], g = _FORMATS[format_out][0]
    cdef long long m = a.shape[0], k = a.shape[1], n = b.shape[1]
    cdef View va = _view(a), vb = _view(b), vc = _view(bias), y = _view(out)
    cdef rm_random_operand left, right, add
    cdef rm_status status
    left.base, left.row, left.column = <void *>va.base, va.stride[0], va.stride[1]
    right.base, right.row, right.column = <void *>vb.base, vb.stride[0], vb.stride[1]
    add.base, add.row, add.column = <void *>vc.base, vc.stride[0], vc.stride[1]
    with nogil:
        status = rm_random_matmul(f, g, m, n, k, &left, &right, &add, <void *>y.base, &r)
    _raise(status)


def random_products(format, format_out, a, b, bias, out, place):
    """Matrix products, (batch, m, k) by (batch, k, n), with a bias of their shape or None; out is contiguous, and no format is f64."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef int f = _FORMATS[format][0], g = _FORMATS[format_out][0]
    cdef long long batch = a.shape[0], m = a.shape[1], k = a.shape[2], n = b.shape[2]
    cdef View va = _view(a), vb = _view(b), vc = _view(bias), y = _view(out)
    cdef rm_random_operand left, right, add
    cdef rm_status status
    left.base, left.row, left.column = <void *>va.base, va.stride[1], va.stride[2]
    right.base, right.row, right.column = <void *>vb.base, vb.stride[1], vb.stride[2]
    add.base, add.row, add.column = <void *>vc.base, vc.stride[1], vc.stride[2]
    with nogil:
        status = rm_random_matmul_batched(f, g, batch, m, n, k, &left, va.stride[0], &right, vb.stride[0], &add, vc.stride[0],
                                          <void *>y.base, &r)
    _raise(status)


def random_balls(format, middle, radius, out, undecided, place):
    """Contiguous binary64 numbers with their radii, rounded; undecided, of uint8, becomes 1 where a radius leaves that open."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef int f = _FORMATS[format][0]
    cdef long long n = middle.size
    cdef View vm = _view(middle), vr = _view(radius), vo = _view(out), vu = _view(undecided)
    cdef rm_status status
    with nogil:
        status = rm_random_balls(f, n, <double *>vm.base, <double *>vr.base, <void *>vo.base, <unsigned char *>vu.base, &r)
    _raise(status)


def sums_in_parts(x, y, out):
    """Sums of the rows of a binary64 matrix, or of its products with another or None; of (3, rows) numbers out has high and low parts and radii."""
    cdef View a = _view(x), b = _view(y), z = _view(out)
    cdef int64_t rows = x.shape[0], n = x.shape[1]
    cdef rm_status status
    with nogil:
        status = rm_sums_in_parts(rows, n, <double *>a.base, a.stride[0] // 8, <double *>b.base, b.stride[0] // 8, <double *>z.base,
                                  <double *>z.base + rows, <double *>z.base + 2 * rows)
    _raise(status)


def random_steps(format, x, place):
    """Moves contiguous numbers by one step each, up or down."""
    cdef rm_random_rounding r = _random_rounding(place)
    cdef int f = _FORMATS[format][0]
    cdef long long n = x.size
    cdef View v = _view(x)
    cdef rm_status status
    with nogil:
        status = rm_random_steps(f, n, <void *>v.base, &r)
    _raise(status)


def tensor_steps(t, seed, stream):
    """The same for a tensor: whether it is a plain one of the CPU, of one of the formats, that is contiguous and not empty; others stay."""
    cdef Operand o
    cdef rm_random_rounding r
    cdef rm_status status
    if not _operand(t, &o):
        return False
    r.mode, r.seed, r.stream, r.first = RM_ROUND_UP_DOWN, seed, stream, 0
    with nogil:
        status = rm_random_steps(o.format, o.n, <void *>o.data, &r)
    _raise(status)
    return True


def rounding_words(seed, stream, first, out):
    """The words of elements first, first + 1, ... of a stream, into a contiguous array of uint32."""
    cdef unsigned long long s = seed, t = stream
    cdef long long i = first, n = out.size
    cdef View y = _view(out)
    _raise(rm_random_rounding_words(s, t, i, n, <unsigned int *>y.base))
