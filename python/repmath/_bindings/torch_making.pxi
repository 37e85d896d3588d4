# Prepared calls that draw random numbers, and that make tensors of given numbers.

cdef enum:
    UNIFORM, NORMAL, BERNOULLI, RAND, RANDN, NORMAL_OF, RANDINT, RANDPERM, SPACED

_DRAWS = {
    "uniform": UNIFORM, "normal": NORMAL, "bernoulli": BERNOULLI, "rand": RAND, "randn": RANDN, "normal_of": NORMAL_OF, "randint": RANDINT,
    "randperm": RANDPERM
}
cdef object _empty = None, _default_dtype = None, _pretended = None, _strided_layout = None, _int64 = None, _float64 = None


def prepare_making(torch):
    """What the calls use of PyTorch."""
    global _empty, _default_dtype, _pretended, _strided_layout, _int64, _float64
    mode, key = torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey.FAKE
    _empty, _default_dtype, _pretended = torch.empty, torch.get_default_dtype, lambda: mode(key)
    _strided_layout, _int64, _float64 = torch.strided, torch.int64, torch.float64


cdef bint _plain_options(dict kwargs, dict known) except -1:
    """Whether the keywords are those of a dense tensor of the CPU. Those in `known` are put there."""
    for key, v in kwargs.items() if kwargs else ():
        if key in known:
            known[key] = v
        elif v is not None and not (key == "layout" and v is _strided_layout) and not (key == "device" and v.type == "cpu") and not (
                key == "pin_memory" and v is False):
            return False
    return True


cdef bint _sizes_of(object values, int64_t *n) except -1:
    """A sequence of lengths whose product is at least 1."""
    n[0] = 1
    if type(values) is not list and type(values) is not tuple:
        return False
    for v in values:
        if type(v) is not int or not 0 < v < 1 << 40:
            return False
        n[0] *= v
    return len(values) <= MAX_AXES and n[0] < <int64_t>1 << 40


cdef uint64_t _seed_of(object generator) except? 0:
    """The seed of a call: 64 bits that its generator gives."""
    cdef Tensor v
    drawn = _empty((), dtype=_int64)
    drawn.random_(generator=generator)
    if _exchange.tensor_from_object(<void *>drawn, &v) != 0:
        raise ValueError("a number without memory")
    return (<uint64_t *>(<char *>v.data + v.byte_offset))[0]


cdef class Drawn(Call):
    """Random numbers under a key that the call's generator gives, or what `steps` make of each of them with the numbers of the call. With `wide`
    the numbers that are drawn for the steps are of binary64."""

    cdef int what, into
    cdef bint like, wide
    cdef Steps steps
    cdef tuple defaults

    def __init__(self, what, into, defaults=(), bint like=False, Steps steps=None, bint wide=False):
        self.what, self.into, self.like, self.steps, self.wide, self.defaults = _DRAWS[what], _INTO[into], like, steps, wide, defaults

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand to
        cdef double a = 0, b = 1
        cdef double number[2]
        cdef rm_py_number held[MAX_NUMBERS]
        cdef int64_t n, low = 0, high = 0, i, most
        cdef int what = self.what, format, given, other, inputs
        cdef uint64_t key
        cdef rm_status status = 0
        cdef char *drawn = NULL
        cdef const char *data
        cdef ptrdiff_t size
        cdef bint good = True
        known = {"generator": None, "dtype": None}
        if not _plain_options(kwargs, known):
            return NotImplemented
        dtype = known["dtype"]
        if self.into == NEW and not self.like:
            if _pretended() is not None or _compiling() is not None:
                return NotImplemented
            if what == RANDPERM:
                args = ((args[0],),) if len(args) == 1 else ()
            if not args or not _sizes_of(args[len(args) - 1], &n):
                return NotImplemented
            shape, args = args[len(args) - 1], args[:len(args) - 1]
            dtype = (_default_dtype() if what < RANDINT else _int64) if dtype is None else dtype
        else:
            if not args or not _operand(args[0], &to):
                return NotImplemented
            n, shape = to.n, None if self.into == FIRST else args[0].shape
            if dtype is None:
                dtype = args[0].dtype
            elif self.into == FIRST:
                return NotImplemented
            first, args = args[0], args[1:]
        format = _format_of_dtype(dtype)
        given = <int>len(args)
        if what == RANDINT:
            if not 1 <= given <= 2 or type(args[0]) is not int or type(args[given - 1]) is not int:
                return NotImplemented
            most = <int64_t>1 << (24 if format == RM_FORMAT_F32 else 53)
            if not -most <= args[0] <= most or not -most <= args[given - 1] <= most:
                return NotImplemented
            low, high = args[0] if given == 2 else 0, args[given - 1]
            if high <= low or (dtype is not _int64 and format != RM_FORMAT_F32 and format != RM_FORMAT_F64):
                return NotImplemented
        elif what == RANDPERM:
            if dtype is not _int64 or given:
                return NotImplemented
        else:
            number[0], number[1] = self.defaults if self.defaults else (0.0, 1.0)
            if format < 0 or given > (2 if what != BERNOULLI else 1) or ((what == RAND or what == RANDN) and given):
                return NotImplemented
            for i in range(given):
                if not _number(args[i], &number[i]):
                    return NotImplemented
            a, b = number[0], number[1]
            if what == BERNOULLI:
                if not 0 <= a <= 1:
                    return NotImplemented
            elif what == NORMAL or what == NORMAL_OF:
                if not (-1e300 < a < 1e300 and 0 <= b < 1e300):
                    return NotImplemented
            elif what == UNIFORM and self.steps is None and not -6e4 <= a <= b <= 6e4:
                return NotImplemented
        if self.steps is not None:
            if n > MAX_ELEMENTS or not 0 < number[self.steps.places - 1] < 1e300 or not -1e300 < a < 1e300:
                return NotImplemented
            if self.wide and self.steps.places == 1 and not a < 1:  # a probability
                return NotImplemented
            for i in range(self.steps.numbers):
                held[i].value = self.steps.of[i] if self.steps.maps[i] == CONSTANT else number[<int>self.steps.of[i]]
                if self.steps.maps[i] == LESS:
                    held[i].value = -held[i].value
                held[i].held = _encode_any(held[i].value, format, &held[i].bits)
        if self.into == FIRST:
            out = first
        else:
            out = _empty(shape, dtype=dtype)
            if dtype is not _int64 and not _operand(out, &to):
                return NotImplemented
        if dtype is _int64 and not _whole_operand(out, &to):
            return NotImplemented
        key = _seed_of(known["generator"])
        other = RM_FORMAT_F64 if self.wide else format
        size = _SIZES[other] if format >= 0 else 8
        if what == BERNOULLI or (what == RANDINT and format >= 0) or self.steps is not None:
            drawn = <char *>malloc(n * 8)
            if drawn is NULL:
                raise MemoryError("no memory for random numbers")
        data = drawn if drawn is not NULL else to.data
        with nogil:
            if what == BERNOULLI:
                status = rm_random_bernoulli(key, 0, 0, n, a, drawn, 1)
                for i in range(n):
                    _put_one(to.data, format, i, drawn[i] != 0)
            elif what == RANDINT:
                status = rm_random_integers(key, 0, 0, n, low, high - 1, <void *>data, 8)
                for i in range(n if format >= 0 else 0):
                    if format == RM_FORMAT_F32:
                        (<float *>to.data)[i] = <float>(<int64_t *>drawn)[i]
                    else:
                        (<double *>to.data)[i] = <double>(<int64_t *>drawn)[i]
            elif what == RANDPERM:
                status = rm_random_permutation(key, 0, 0, n, to.data, 8)
            elif what == UNIFORM and self.steps is None:
                status = rm_random_uniform(other, key, 0, 0, n, a, b, <void *>data, size)
            elif what == UNIFORM or what == RAND:
                status = rm_random_uniform(other, key, 0, 0, n, 0, 1, <void *>data, size)
            elif what == RANDN:
                status = rm_random_normal(other, key, 0, 0, n, 0, 1, <void *>data, size)
            else:
                status = rm_random_normal(other, key, 0, 0, n, a, b, <void *>data, size)
            if self.steps is not None and status == 0:
                good = rm_py_run_steps(self.steps.steps, self.steps.count, 1, &data, &other, held, format, n, to.data)
            free(drawn)
        _raise(status)
        if not good:
            raise ValueError("steps that do not know their numbers")
        return out


cdef bint _whole_operand(object t, Operand *o) except -1:
    """A dense tensor of 64-bit integers."""
    cdef Tensor v
    if _exchange.tensor_from_object(<void *>t, &v) != 0:
        PyErr_Clear()
        return False
    o.data, o.format = <char *>v.data + v.byte_offset, -1
    return v.data is not NULL


cdef void _put_one(char *to, int format, int64_t i, bint one) noexcept nogil:
    """1 or 0."""
    if format == RM_FORMAT_F64:
        (<double *>to)[i] = 1 if one else 0
    elif format == RM_FORMAT_F32:
        (<float *>to)[i] = 1 if one else 0
    else:
        (<uint16_t *>to)[i] = (0x3C00 if format == RM_FORMAT_F16 else 0x3F80) if one else 0


cdef class Filled(Call):
    """PyTorch's own operator that makes a tensor of numbers, where every format that it may have holds these: booleans, integers of 8 bits, also as
    floating-point numbers, and infinities; or, for `counts`, a range of integers."""

    cdef object overload
    cdef bint counts

    def __init__(self, overload, bint counts=False):
        self.overload, self.counts = overload, counts

    cdef object run(self, tuple args, dict kwargs):
        known = {"dtype": None}
        if not _plain_options(kwargs, known) or _pretended() is not None or _compiling() is not None:
            return NotImplemented
        dtype = known["dtype"]
        if dtype is not None and dtype is not _int64 and dtype is not _bool and (self.counts or dtype not in _formats):
            return NotImplemented
        for v in args:
            if type(v) is list or type(v) is tuple:
                continue
            if self.counts:
                if type(v) is not int or dtype is _bool:
                    return NotImplemented
            elif type(v) is float:
                if not isinf(v) and not (-256 <= v <= 256 and v == <int>v):
                    return NotImplemented
            elif type(v) is not bool and (type(v) is not int or not -256 <= v <= 256):
                return NotImplemented
        return self.overload(*args, **kwargs) if kwargs else self.overload(*args)
