# Special functions by recurrences and series (repmath/special.h): prepared calls, and the same of arrays.

cdef enum:
    RECURRENCE = 0
    SERIES = 1
    DERIVATIVE = 2
    DEGREES = 4096
    TERMS = 2 * 21  # numbers of a table of derivatives


cdef class Special(Call):
    """
    Parameters
    ----------
    kind : int
        0: orthogonal polynomials of a tensor and degrees; 1: Bessel functions;
        2: the derivatives of digamma of the orders from 2 to 7.
    numbers : sequence of int
        The members of rm_recurrence; or order, sign and scaled of rm_even_series.
    table : sequence of float
        The coefficients, each in two parts: of all six orders one after the other.
    """

    cdef int kind
    cdef rm_recurrence recurrence
    cdef rm_even_series series
    cdef Memory table

    def __init__(self, int kind, numbers, table):
        cdef int i
        self.kind = kind
        self.table = Memory(8 * len(table))
        for i in range(len(table)):
            (<double *>self.table.data)[i] = table[i]
        if kind == RECURRENCE:
            for i in range(2):
                self.recurrence.first[i], self.recurrence.a[i] = numbers[i], numbers[2 + i]
                self.recurrence.b[i], self.recurrence.c[i] = numbers[4 + i], numbers[6 + i]
            self.recurrence.divided = numbers[8]
        elif kind == SERIES:
            self.series.order, self.series.sign, self.series.scaled = numbers
            self.series.terms, self.series.c = <int>len(table) // 2, <double *>self.table.data

    cdef rm_status evaluate(self, int order, int format_x, int format, int64_t n, const void *x, double *degree, int64_t step,
                            void *out, void *undecided, int64_t *left) noexcept nogil:
        cdef rm_digamma_derivative derivative
        if self.kind == RECURRENCE:
            return rm_recurrence_values(&self.recurrence, format_x, format, n, x, degree, step, out, <unsigned char *>undecided, left)
        if self.kind == SERIES:
            return rm_even_series_values(&self.series, format_x, format, n, x, out, <unsigned char *>undecided, left)
        derivative.order, derivative.c = order, <double *>self.table.data + TERMS * (order - 2)
        return rm_digamma_derivatives(&derivative, format_x, format, n, x, out, <unsigned char *>undecided, left)

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, degrees
        cdef Memory memory
        cdef double number = 0.0
        cdef int64_t left, i, step = 0
        cdef int order = 0
        cdef rm_status status
        if kwargs or len(args) != (1 if self.kind == SERIES else 2):
            return NotImplemented
        if self.kind == DERIVATIVE:
            if type(args[0]) is not int or not 2 <= args[0] <= 7:
                return NotImplemented
            order = args[0]
        held = _read(args[self.kind == DERIVATIVE], &x)
        if held is None or x.n > MANY:
            return NotImplemented
        memory = Memory(9 * x.n)
        if self.kind == RECURRENCE and not _number(args[1], &number):
            if _read(args[1], &degrees) is not args[1] or degrees.format != x.format or not _same_shape(&x, &degrees):
                return NotImplemented
            step = 1
            if rm_py_converted(x.format, RM_FORMAT_F64, x.n, degrees.data, memory.data):
                return NotImplemented
        else:
            (<double *>memory.data)[0] = number
        for i in range(x.n if step else 1):
            number = (<double *>memory.data)[i]
            if not -DEGREES <= number < DEGREES + 1:
                return NotImplemented
            (<double *>memory.data)[i] = <double><int>number
        made = _new(args[self.kind == DERIVATIVE], x.shape, x.ndim, &y)
        if made is None:
            return NotImplemented
        with nogil:
            status = self.evaluate(order, x.format, x.format, x.n, x.data, <double *>memory.data, step, y.data, memory.data + 8 * x.n, &left)
        _raise(status)
        return NotImplemented if left else made

    def values(self, format_x, format, x, out, undecided, degree=None, int order=0):
        """Of contiguous arrays; undecided has uint8, degree float64. Returns how many elements are undecided."""
        cdef View v = _view(x), y = _view(out), u = _view(undecided), d = _view(degree)
        cdef int64_t left = 0, n = x.size
        cdef rm_status status
        cdef int f, to
        f, _ = _FORMATS[format_x]
        to, _ = _FORMATS[format]
        with nogil:
            status = self.evaluate(order, f, to, n, <void *>v.base, <double *>d.base, 1, <void *>y.base, <void *>u.base, &left)
        _raise(status)
        return left


cdef class Pointwise(Call):
    """A function of repmath/special.h of one tensor or two alike; what it leaves undecided is the table's."""

    cdef int function, tensors, into

    def __init__(self, int function, int tensors, into):
        self.function, self.tensors, self.into = function, tensors, _INTO[into]

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, a, y
        cdef Memory memory
        cdef double *wide
        cdef double *first = NULL
        cdef int64_t left = 0
        cdef rm_status status
        if kwargs or len(args) != self.tensors:
            return NotImplemented
        held, other = _read(args[self.tensors - 1], &x), None
        if held is None or x.n > MANY:
            return NotImplemented
        if self.tensors == 2:
            other = _read(args[0], &a)
            if other is None or a.format != x.format or not _same_shape(&a, &x):
                return NotImplemented
        memory = Memory(25 * x.n)  # arguments, results, and whether these are undecided
        wide = <double *>memory.data
        if self.tensors == 2:
            first = wide + x.n
        made = args[0] if self.into == FIRST else args[0].new_empty(args[0].shape)
        if not _operand(made, &y):
            return NotImplemented
        with nogil:
            status = rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide)
            if first is not NULL:
                status |= rm_py_converted(x.format, RM_FORMAT_F64, x.n, a.data, first)
            if status == 0:
                status = rm_special_values(self.function, x.format, x.n, first, wide, wide + 2 * x.n, <unsigned char *>(wide + 3 * x.n), &left)
            if status == 0 and left == 0:
                memcpy(y.data, wide + 2 * x.n, x.n * _SIZES[x.format])
        _raise(status)
        return NotImplemented if left else made


def special_values(int function, format, a, x, out, undecided):
    """
    A function of repmath/special.h of contiguous arrays of float64, a None of one
    argument; undecided has uint8. Returns how many elements are undecided.
    """
    cdef View va = _view(a), vx = _view(x), y = _view(out), u = _view(undecided)
    cdef int64_t left = 0, n = x.size
    cdef rm_status status
    cdef int to
    to, _ = _FORMATS[format]
    with nogil:
        status = rm_special_values(function, to, n, <double *>va.base, <double *>vx.base, <void *>y.base, <unsigned char *>u.base, &left)
    _raise(status)
    return left
