# Prepared calls of PyTorch's operators on plain tensors: no arrays and no Python code stand between the dispatcher and the C library.
#
# An operator's prepared call gets the arguments that ATen's dispatcher hands to a mode (`run`). If it needs more than addresses and sizes
# (tensors have gaps and many elements, several formats or shared memory; they are subclasses; the format does not hold a number), it returns NotImplemented
# before anything is written, and the table's function takes the call. Results have the bits of that function.

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_Clear
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN, fabs, fma, frexp, isinf, isnan, ldexp
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from ._dlpack cimport ExchangeAPI, Tensor

ctypedef rm_status (*_Unary)(int64_t n, const void *x, ptrdiff_t sx, void *out, ptrdiff_t so) noexcept nogil
ctypedef rm_status (*_Binary)(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, void *out, ptrdiff_t so) noexcept nogil

cdef enum:
    MAX_OPERANDS = 3
    MAX_AXES = 8
    GATHERED = 4096  # elements up to which operands with gaps are copied
    SHORT_RUN = 128  # elements of one step that are copied where operands are broadcast, into blocks of these many
    SHORT_BLOCK = 2048

cdef struct Operand:
    char *data
    int64_t n  # elements
    int ndim, format
    int64_t shape[MAX_AXES]

cdef ExchangeAPI *_exchange = NULL
cdef object _tensor_class = None, _parameter_class = None, _empty_like = None, _entered = None
cdef dict _known = None
cdef object _compiling = None, _formats = frozenset(), _silence = None, _dtype_class = None
cdef dict _calls = {}  # id of an operator's overload -> its call
cdef dict _table = {}  # an operator's overload -> the table's function, which takes what the call does not


def prepare_torch(torch, entered, dict known):
    """What the calls use of PyTorch: its classes and allocation; the variable of entered blocks, and the parameters that were made in one."""
    global _exchange, _tensor_class, _parameter_class, _empty_like, _entered, _known, _compiling, _formats, _silence, _dtype_class
    import numpy
    _silence, _dtype_class = numpy.errstate, torch.dtype
    _formats = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
    _dtype_formats.update({
        torch.float16: RM_FORMAT_F16, torch.bfloat16: RM_FORMAT_BF16, torch.float32: RM_FORMAT_F32, torch.float64: RM_FORMAT_F64
    })
    _compiling = torch._C._dynamo.eval_frame.get_eval_frame_callback
    _exchange = <ExchangeAPI *>PyCapsule_GetPointer(torch.Tensor.__dlpack_c_exchange_api__, "dlpack_exchange_api")
    _tensor_class, _parameter_class, _empty_like, _entered, _known = torch.Tensor, torch.nn.Parameter, torch.empty_like, entered.get, known


def prepare_call(overload, Call call):
    """Sets the call that is tried first for an operator, or None; returns the one before."""
    before = _calls.pop(id(overload), None)
    if call is not None:
        call.quiet = _is_quiet(call)
        _calls[id(overload)] = call
    return before


cdef bint _is_quiet(Call call) except -1:
    if isinstance(call, Either):
        return all([_is_quiet(part) for part in (<Either>call).calls])
    return _is_quiet((<Given>call).made) if isinstance(call, Given) else isinstance(call, _QUIET)


def prepare_functions(dict functions):
    """Sets the table's functions, which are called at once for plain tensors; returns those before."""
    global _table
    before, _table = _table, functions
    return before


cdef int _format(const Tensor *v) noexcept:
    """RM_FORMAT_... of a tensor's elements, -1 for other types."""
    if v.type.lanes == 1 and v.type.code == 2:
        return RM_FORMAT_F32 if v.type.bits == 32 else RM_FORMAT_F64 if v.type.bits == 64 else RM_FORMAT_F16 if v.type.bits == 16 else -1
    return RM_FORMAT_BF16 if v.type.lanes == 1 and v.type.code == 4 and v.type.bits == 16 else -1


cdef bint _operand(object t, Operand *o) except -1:
    """Whether t is a plain tensor of the CPU, of one of the formats, whose elements are contiguous. Sets its address and shape."""
    cdef Tensor v
    cdef int i
    kind = type(t)
    if kind is not _tensor_class and kind is not _parameter_class:
        return False
    if _exchange.tensor_from_object(<void *>t, &v) != 0:
        PyErr_Clear()  # of a layout or dtype that DLPack lacks
        return False
    if v.device.type != 1 or v.ndim > MAX_AXES:
        return False
    o.format = _format(&v)
    if o.format < 0:
        return False
    o.ndim = v.ndim
    o.n = 1
    for i in range(v.ndim - 1, -1, -1):
        if v.shape[i] != 1 and v.strides is not NULL:
            if v.strides[i] != o.n:
                return False
        o.shape[i] = v.shape[i]
        o.n *= v.shape[i]
    o.data = <char *>v.data + v.byte_offset
    return o.n > 0 and v.data is not NULL


cdef bint _gathered(object t, Operand *o, list held) except -1:
    """The same of a tensor of few elements whose strides descend, with gaps between them: of a copy, which is put into held. A new tensor like
    it has no gaps."""
    cdef rm_py_strided x
    cdef int64_t last = 0
    cdef int i
    if not _strided(t, &x, &o.n) or x.format < 0 or o.n > GATHERED:
        return False
    for i in range(x.ndim - 1, -1, -1):
        if x.shape[i] != 1:
            if x.stride[i] <= last:
                return False
            last = x.stride[i]
        o.shape[i] = x.shape[i]
    o.format, o.ndim = x.format, x.ndim
    memory = PyBytes_FromStringAndSize(NULL, o.n * _SIZES[x.format])
    held.append(memory)
    o.data = PyBytes_AsString(memory)
    rm_py_spread(&x, x.ndim, x.shape, o.data)
    return True


cdef bint _expanded(object t, Operand *o, const Operand *like) except -1:
    """The same of a tensor of another one's shape that is expanded along some axes, and contiguous along the others: of what is expanded."""
    cdef rm_py_strided x
    cdef int i
    if not _strided(t, &x, &o.n) or x.format != like.format or x.ndim != like.ndim:
        return False
    o.n = 1
    for i in range(x.ndim - 1, -1, -1):
        if x.shape[i] != like.shape[i] or (x.shape[i] != 1 and x.stride[i] != 0 and x.stride[i] != o.n * _SIZES[x.format]):
            return False
        o.shape[i] = 1 if x.stride[i] == 0 else x.shape[i]
        o.n *= o.shape[i]
    o.format, o.ndim, o.data = x.format, x.ndim, <char *>x.data
    return True


cdef bint _same_shape(const Operand *a, const Operand *b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i]:
            return False
    return True


cdef bint _apart(const Operand *a, const Operand *b) noexcept:
    """Whether the tensors share no memory, or lie element on element."""
    cdef ptrdiff_t size = _SIZES[a.format], other = _SIZES[b.format]
    if a.data == b.data and a.format == b.format and _same_shape(a, b):
        return True
    return a.data + a.n * size <= b.data or b.data + b.n * other <= a.data


cdef bint _number(object value, double *a) except -1:
    """Whether value is a Python number that binary64 holds."""
    cdef long long i
    kind = type(value)
    if kind is float:
        a[0] = value
        return True
    if kind is int and -(1 << 53) <= value <= (1 << 53):
        i = value
        a[0] = <double>i
        return True
    return False


cdef bint _encode(double a, int format, void *to) noexcept:
    """Whether the format holds the number. Sets its bits."""
    cdef float single = <float>a
    cdef uint32_t bits
    cdef int e
    cdef double m
    cdef uint16_t sign
    if format == RM_FORMAT_F64:
        (<double *>to)[0] = a
        return True
    if isnan(a):
        return False
    if format == RM_FORMAT_F32:
        (<float *>to)[0] = single
        return <double>single == a
    memcpy(&bits, &single, 4)
    if format == RM_FORMAT_BF16:
        (<uint16_t *>to)[0] = bits >> 16
        return <double>single == a and bits & 0xFFFF == 0
    sign = (bits >> 16) & 0x8000
    if isinf(a) or a == 0:
        (<uint16_t *>to)[0] = sign | (0x7C00 if a != 0 else 0)
        return True
    m = frexp(a if a > 0 else -a, &e)
    if e > 16 or e < -23:
        return False
    # Normal numbers have the exponents from -13 of a significand in [1/2, 1); below, elements are multiples of 2**-24.
    m = ldexp(m, 11 if e >= -13 else e + 24)
    if m != <double><int>m:
        return False
    (<uint16_t *>to)[0] = sign | (((e + 14) << 10) + <int>m - 1024 if e >= -13 else <int>m)
    return True


cdef class Call:
    """A prepared call; `quiet` if it asks PyTorch for nothing but memory and views."""

    cdef bint quiet

    cdef object run(self, tuple args, dict kwargs):
        return NotImplemented

    def __call__(self, *args, **kwargs):
        """Returns the result, or NotImplemented for arguments that the call does not know."""
        return self.run(args, kwargs) if _serves_table else NotImplemented


cdef bint _serves_table = True


def serve_table(bint on):
    """Sets whether the table's functions get prepared calls for their steps, as they do until a test compares these with NumPy's. Returns
    whether they got them before."""
    global _serves_table
    before, _serves_table = _serves_table, on
    return before


cdef class Passed(Call):
    """PyTorch's own operator, for arguments of any kind."""


# Where the result goes.
cdef enum:
    NEW, FIRST, OUT

# What the arguments are.
cdef enum:
    OPERANDS  # tensors; of two the second one may be a number
    SUM  # x + alpha y
    BEFORE  # a tensor, and a number that counts as the operand before it, 1 by default
    POWER
    GELU  # tensors, and a form, which must be "none"
    FORMULA  # tensors, and a number
    CLAMP  # a tensor and two limits

_INTO = {"new": NEW, "first": FIRST, "out": OUT}
_RULES = {"operands": OPERANDS, "sum": SUM, "before": BEFORE, "power": POWER, "gelu": GELU, "formula": FORMULA, "clamp": CLAMP}

# A call whose arguments have been understood: a function of functions.def or a formula, and its operands.
cdef struct Problem:
    Operand operand[MAX_OPERANDS]
    int count
    int number  # the index of the operand that is a number, or -1
    uint64_t held  # its bits
    rm_py_function *function  # NULL for a formula
    int formula, second  # the second one, unless it is -1, is a formula of the first one's result
    double a, b  # their numbers
    int like  # the tensor among the arguments whose shape the result has; -1 for the broadcast one
    int ndim
    int64_t shape[MAX_AXES]


cdef class Elementwise(Call):
    """A function of functions.def or a formula, of tensors that are broadcast, and a number.

    Parameters
    ----------
    rule, into : str
        What the arguments are, and where the result goes.
    tensors : int
        How many there are.
    function, other : str
        The function; that for a number of the rules "sum" and "power".
    formula : str
        The formula, which takes a function's place for a number that the format does not have.
    number : int or str
        The argument that is a formula's number, by place or name.
    default : float
        The number where it is not given.
    sign : int
        What alpha is multiplied by.
    """

    cdef int rule, into, tensors, formula, place, sign
    cdef object number
    cdef double default
    cdef rm_py_function *functions[4]
    cdef rm_py_function *others[4]
    cdef bytes name, other

    def __init__(self, rule, into, tensors, function=None, other=None, formula=None, number=None, default=0.0, sign=1):
        self.rule, self.into, self.tensors, self.sign, self.default = _RULES[rule], _INTO[into], tensors, sign, default
        self.formula = -1 if formula is None else _FORMULAS[formula]
        self.number, self.place = number, number if isinstance(number, int) else -1
        for i in range(4):
            self.functions[i] = self.others[i] = NULL
        self.name, self.other = (function or "").encode(), (other or "").encode()
        if function is not None and not rm_py_functions(function.encode(), self.functions):
            raise ValueError(f"there is no function {function}")
        if other is not None and not rm_py_functions(other.encode(), self.others):
            raise ValueError(f"there is no function {other}")

    cdef bint _numbered(self, Problem *p, rm_py_function **functions) except -1:
        """A problem of the first operand and a number, p.a."""
        cdef int format = p.operand[0].format
        p.count, p.number = 2, 1
        if _encode(p.a, format, &p.held):
            p.function = functions[format]
            return True
        p.count, p.number, p.formula = 1, -1, self.formula
        return self.formula >= 0 and not isnan(p.a)

    cdef bint _understood(self, tuple args, dict kwargs, Problem *p, list held) except -1:
        """Whether the call can be taken. Sets its problem. Copies of operands with gaps are put into held; None: these are not taken."""
        cdef bint known
        cdef int i, given = <int>len(args), rule = self.rule, tensors = self.tensors
        cdef double alpha = 1.0
        p.number, p.formula, p.second, p.like, p.function, p.count = -1, -1, -1, 0, NULL, tensors
        p.a = self.default
        if given < tensors or (self.into == OUT and (kwargs is None or "out" not in kwargs)):
            return False
        for key, v in kwargs.items() if kwargs else ():
            if rule == SUM and key == "alpha":
                if not _number(v, &alpha):
                    return False
            elif rule == FORMULA and key == self.number:
                if not _number(v, &p.a):
                    return False
            elif rule == GELU and key == "approximate":
                if v != "none":
                    return False
            elif key != "out" or self.into != OUT:
                return False
        if given > tensors + (rule == FORMULA and self.place == tensors) + (rule == BEFORE) + 2 * (rule == CLAMP):
            return False
        for i in range(tensors):
            known = _operand(args[i], &p.operand[i])
            if not known and i == 1 and rule in (OPERANDS, SUM) and tensors == 2 and self.into != OUT:
                known = _expanded(args[1], &p.operand[1], &p.operand[0])
            if not known and held is not None:
                known = _gathered(args[i], &p.operand[i], held)
            if not known:
                if i != 1 or rule not in (OPERANDS, SUM, POWER) or not _number(args[1], &p.a):
                    return False
                p.count = 1
            elif p.operand[i].format != p.operand[0].format:
                return False
        cdef int format = p.operand[0].format
        if rule == FORMULA:
            p.formula = self.formula
            if format == RM_FORMAT_F64 and p.formula >= RM_FORMULA_HARDSIGMOID:
                return False
            return given == tensors or _number(args[tensors], &p.a)
        if rule == CLAMP:
            return self._clamped(args, p)
        if rule == BEFORE:
            p.a = self.default
            if given == 2 and not _number(args[1], &p.a):
                return False
            p.operand[1], p.number, p.like, p.count, p.function = p.operand[0], 0, 0, 2, self.functions[format]
            return _encode(p.a, format, &p.held)
        if p.count < tensors:  # a number is the second operand
            if rule == POWER and p.a == 2:
                p.operand[1], p.count, p.function = p.operand[0], 2, self.others[format]
                return True
            if rule == POWER and p.a == 1:
                return False
            if rule == SUM:
                alpha *= self.sign
                if alpha != 1 and alpha != -1:
                    return False
                p.a *= alpha
                return self._numbered(p, self.others)
            return self._numbered(p, self.functions)
        p.function = self.functions[format]
        if rule == SUM and alpha != 1:
            alpha *= self.sign
            p.function = self.others[format] if alpha == 1 else NULL
            p.formula, p.a = RM_FORMULA_PLUS, alpha
        return p.function is not NULL or p.formula >= 0

    cdef bint _clamped(self, tuple args, Problem *p) except -1:
        """The maximum of x and the first limit, and the minimum of that and the second one."""
        cdef int given = <int>len(args)
        lower = args[1] if given > 1 else None
        upper = args[2] if given > 2 else None
        if self.formula == RM_FORMULA_MIN_SCALAR:  # of one limit
            lower, upper = None, lower
        p.formula = RM_FORMULA_MAX_SCALAR
        if lower is not None and not _number(lower, &p.a):
            return False
        if upper is not None:
            if not _number(upper, &p.b):
                return False
            if lower is None:
                p.formula, p.a = RM_FORMULA_MIN_SCALAR, p.b
            else:
                p.second = RM_FORMULA_MIN_SCALAR
        return lower is not None or upper is not None

    cdef object run(self, tuple args, dict kwargs):
        cdef Problem p
        cdef Operand to
        cdef int i
        cdef rm_status status
        cdef list held = [] if self.into == NEW else None
        if not self._understood(args, kwargs, &p, held) or not _shaped(&p):
            return NotImplemented
        if self.into == NEW:
            if p.like >= 0:
                out = _empty_like(args[p.like])
            else:
                out = args[0].new_empty([p.shape[i] for i in range(p.ndim)])
            if not _operand(out, &to):
                return NotImplemented
        else:
            out = args[0] if self.into == FIRST else kwargs["out"]
            if not _operand(out, &to):
                return NotImplemented
            for i in range(p.count):
                if i != p.number and not _apart(&to, &p.operand[i]):
                    return NotImplemented
        if to.ndim != p.ndim or to.format != p.operand[p.number == 0].format:
            return NotImplemented
        for i in range(p.ndim):
            if to.shape[i] != p.shape[i]:
                return NotImplemented
        with nogil:
            status = _solved(&p, &to)
        if status != 0:
            _raise(status)
        return out

    def at_random(self, tuple args, dict kwargs, seed, stream, make):
        """The result under the mode stochastic, of tensors of one shape; NotImplemented for arguments that the call does not know, and for binary64. Where
        a formula leaves elements open, which are not written: the result, the bytes of their places, the formula and its number. make(tensor) is for a new result
        of megabytes like that tensor."""
        cdef Problem p
        cdef Operand to
        cdef Operand *x
        cdef rm_random_rounding r
        cdef const void *data[MAX_OPERANDS]
        cdef ptrdiff_t step[MAX_OPERANDS]
        cdef ptrdiff_t size
        cdef const char *which
        cdef int64_t *left = NULL
        cdef int64_t open = 0
        cdef int k
        cdef rm_status status
        if not self._understood(args, kwargs, &p, None) or p.second >= 0 or p.formula > RM_FORMULA_SIGMOID:
            return NotImplemented
        x, which = &p.operand[p.number == 0], self.name
        if x.format == RM_FORMAT_F64:
            return NotImplemented
        if p.function is NULL or p.function is not self.functions[x.format]:
            which = self.other
        out = args[0]
        if self.into == NEW:
            out = make(out) if x.n >= 1 << 20 and x.format == RM_FORMAT_F32 else _empty_like(out)
        if not _operand(out, &to) or to.format != x.format:
            return NotImplemented
        size = _SIZES[to.format]
        for k in range(MAX_OPERANDS):
            data[k], step[k] = NULL, 0
            if k < p.count:
                if k != p.number and not (_same_shape(&to, &p.operand[k]) and _apart(&to, &p.operand[k])):
                    return NotImplemented
                data[k], step[k] = <const void *>&p.held if k == p.number else p.operand[k].data, 0 if k == p.number else size
        r.mode, r.seed, r.stream, r.first = RM_ROUND_STOCHASTIC, seed, stream, 0
        if p.function is NULL:
            left = <int64_t *>malloc((to.n + 1) * sizeof(int64_t))  # of no elements, too, not NULL; memory that is not touched costs nothing
            if left is NULL:
                raise MemoryError
        with nogil:
            if p.function is not NULL:
                status = rm_random_elementwise(which, to.format, to.n, data, step, <void *>to.data, size, &r)
            else:
                status = rm_random_formula(p.formula, to.format, to.n, p.a, <void *>data[0], <void *>data[1], <void *>data[2],
                                           <void *>to.data, &open, left, &r)
        places = (<char *>left)[:open * sizeof(int64_t)] if open else None
        free(left)
        if status != 0:
            _raise(status)
        return out if places is None else (out, places, p.formula, p.a)


cdef bint _shaped(Problem *p) noexcept:
    """Whether the operands have a common shape, that of the result. Operands that are broadcast get strides."""
    cdef Operand *x = &p.operand[p.number == 0]
    cdef Operand *y
    cdef int i, k, axis
    cdef int64_t n
    p.ndim = x.ndim
    for i in range(x.ndim):
        p.shape[i] = x.shape[i]
    for k in range(p.count):
        y = &p.operand[k]
        if k == p.number or _same_shape(x, y):
            continue
        if p.function is NULL or p.count != 2:
            return False
        if y.ndim > x.ndim:
            x, y = y, x
            p.like = k
        p.ndim = x.ndim
        for i in range(x.ndim):
            axis = i - (x.ndim - y.ndim)
            n = y.shape[axis] if axis >= 0 else 1
            if n != x.shape[i] and n != 1 and x.shape[i] != 1:
                return False
            p.shape[i] = n if x.shape[i] == 1 else x.shape[i]
            if p.shape[i] != x.shape[i]:
                p.like = -1
    return True


cdef rm_status _applied(const Problem *p, int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, void *out, ptrdiff_t so) noexcept nogil:
    if p.count == 1:
        return (<_Unary>p.function)(n, x, sx, out, so)
    return (<_Binary>p.function)(n, x, sx, y, sy, out, so)


cdef rm_status _solved(Problem *p, Operand *to) noexcept nogil:
    """The result of a problem whose shape is known, in dense memory."""
    cdef ptrdiff_t size = _SIZES[to.format]
    cdef const void *data[MAX_OPERANDS]
    cdef ptrdiff_t step[MAX_OPERANDS]
    cdef int k
    cdef bint alike = True
    cdef rm_status status
    for k in range(MAX_OPERANDS):
        data[k], step[k] = NULL, 0
        if k < p.count:
            data[k] = <const void *>&p.held if k == p.number else p.operand[k].data
            step[k] = 0 if k == p.number or p.operand[k].n == 1 else size
            alike = alike and (step[k] == 0 or p.operand[k].n == to.n)
    if p.function is NULL:
        status = rm_formula(p.formula, to.format, to.n, p.a, data[0], data[1], data[2], to.data)
        if p.second >= 0 and status == 0:
            status = rm_formula(p.second, to.format, to.n, p.b, to.data, NULL, NULL, to.data)
        return status
    if alike:
        return _applied(p, to.n, data[0], step[0], data[1], step[1], to.data, size)
    return _broadcast(p, to)


cdef rm_status _broadcast(Problem *p, Operand *to) noexcept nogil:
    """A function of two tensors of different shapes, over the longest run of last axes along which each of them advances or repeats."""
    cdef ptrdiff_t size = _SIZES[to.format]
    cdef ptrdiff_t stride[2][MAX_AXES]
    cdef int64_t at[MAX_AXES]
    cdef int64_t n = 1, place, i
    cdef ptrdiff_t step[2]
    cdef ptrdiff_t offset[2]
    cdef int k, d, axis, inner
    cdef Operand *x
    cdef rm_status status = 0
    cdef rm_py_runs runs[2]
    cdef const char *data[2]
    cdef char repeated[2][SHORT_BLOCK * 8]
    for k in range(2):
        x = &p.operand[k]
        place = 1
        for d in range(to.ndim - 1, -1, -1):
            axis = d - (to.ndim - x.ndim)
            stride[k][d] = 0
            if axis >= 0:
                if x.shape[axis] != 1:
                    stride[k][d] = place * size
                place *= x.shape[axis]
    # The inner axes: those over which both have one step.
    inner = to.ndim
    step[0] = step[1] = 0
    while inner > 0:
        d = inner - 1
        if to.shape[d] != 1:
            if n == 1:
                step[0], step[1] = stride[0][d], stride[1][d]
            elif stride[0][d] != step[0] * n or stride[1][d] != step[1] * n:
                break
            n *= to.shape[d]
        at[d] = 0
        inner -= 1
    if n < SHORT_RUN and n < to.n:
        # Short runs are copied next to each other, since a call for each of them takes longer than its elements.
        for k in range(2):
            runs[k].length, runs[k].size, runs[k].step, runs[k].outer, runs[k].same = n, size, step[k], inner, True
            runs[k].x = p.operand[k].data
            for d in range(inner):
                runs[k].at[d], runs[k].shape[d], runs[k].stride[d] = 0, to.shape[d], stride[k][d]
                runs[k].same = runs[k].same and (stride[k][d] == 0 or to.shape[d] == 1)
        i = 0
        while i < to.n and status == 0:
            place = min(SHORT_BLOCK // n * n, to.n - i)
            for k in range(2):
                data[k] = p.operand[k].data + i * size if p.operand[k].n == to.n else repeated[k]
                if data[k] == repeated[k] and (i == 0 or not runs[k].same):
                    rm_py_copy_runs(&runs[k], place // n, repeated[k])
            status = (<_Binary>p.function)(place, data[0], size, data[1], size, to.data + i * size, size)
            i += place
        return status
    for d in range(inner):
        at[d] = 0
    for i in range(to.n // n):
        for k in range(2):
            offset[k] = 0
            for d in range(inner):
                offset[k] += at[d] * stride[k][d]
        status = (<_Binary>p.function)(n, p.operand[0].data + offset[0], step[0], p.operand[1].data + offset[1], step[1],
                                       to.data + i * n * size, size)
        if status != 0:
            break
        for d in range(inner - 1, -1, -1):
            at[d] += 1
            if at[d] < to.shape[d]:
                break
            at[d] = 0
    return status


cdef class Moved(Call):
    """PyTorch's own operator, if all tensors but masks have one format above 16 bits: then it converts nothing on the way.

    With `compares`, a number is one of the format, or an integer beside integers; with `real` the format is none of complex numbers.
    """

    cdef object overload
    cdef bint compares, real

    def __init__(self, overload, bint compares=False, bint real=False):
        self.overload, self.compares, self.real = overload, compares, real

    cdef bint _alike(self, object values, int *kind) except -1:
        """Whether the tensors among the values have the format that was met first, which is put into kind."""
        cdef Tensor v
        cdef int met
        for t in values:
            if type(t) is list or type(t) is tuple:
                if not self._alike(t, kind):
                    return False
            elif type(t) is _tensor_class or type(t) is _parameter_class:
                if _exchange.tensor_from_object(<void *>t, &v) != 0:
                    PyErr_Clear()
                    return False
                if v.device.type != 1 or v.type.bits == 16:
                    return False
                if v.type.code != 6:  # not a mask
                    met = v.type.code << 8 | v.type.bits
                    if kind[0] < 0:
                        kind[0] = met
                    elif kind[0] != met:
                        return False
            elif isinstance(t, _tensor_class):
                return False
        return True

    cdef object run(self, tuple args, dict kwargs):
        cdef int kind = -1
        cdef double a
        cdef uint64_t held
        if kwargs or not self._alike(args, &kind) or kind < 0 or (self.real and kind >> 8 > 2):
            return NotImplemented
        if self.compares and type(args[1]) is not _tensor_class and type(args[1]) is not _parameter_class:
            if kind >> 8 != 2:
                if kind >> 8 > 1 or type(args[1]) is not int:
                    return NotImplemented
            elif not _number(args[1], &a) or not _encode(a, RM_FORMAT_F32 if kind & 0xFF == 32 else RM_FORMAT_F64, &held):
                return NotImplemented
        return self.overload(*args)


cdef bint _shape_of(object values, int64_t *shape, int *ndim) except -1:
    """A sequence of integers."""
    if (type(values) is not list and type(values) is not tuple) or len(values) > MAX_AXES:
        return False
    ndim[0] = <int>len(values)
    for i in range(ndim[0]):
        if type(values[i]) is not int:
            return False
        shape[i] = values[i]
    return True


cdef void _one_nan(const Operand *o) noexcept nogil:
    """Makes every NaN the canonical one: the maximum with -infinity leaves all others as they are."""
    rm_formula(RM_FORMULA_MAX_SCALAR, o.format, o.n, -INFINITY, o.data, NULL, NULL, o.data)


cdef bint _lying(object t, Operand *o, rm_py_strided *x) except -1:
    """As _operand, of a tensor whose elements are dense in any order of its axes, which x has."""
    cdef int i
    if not _strided(t, x, &o.n) or x.format < 0 or not _fills_memory(x):
        return False
    o.data, o.format, o.ndim = <char *>x.data, x.format, x.ndim
    for i in range(x.ndim):
        o.shape[i] = x.shape[i]
    return True


cdef class Cast(Call):
    """_to_copy of dense elements, or of a few integers, to another format."""

    cdef object overload

    def __init__(self, overload):
        self.overload = overload

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y
        cdef rm_py_strided place, other
        cdef rm_status status
        if kwargs is None or len(kwargs) != 1 or len(args) != 1:
            return NotImplemented
        to = kwargs.get("dtype")
        if not _lying(args[0], &x, &place):
            return _of_integers(args[0], to)
        if to not in _formats or to is args[0].dtype:
            return NotImplemented
        if x.format < RM_FORMAT_F32 and _dtype_formats[to] == RM_FORMAT_F32:
            return self.overload(args[0], dtype=to)  # numbers of 16 bits keep their NaN in binary32
        made = _empty_like(args[0], dtype=to)
        if not _lying(made, &y, &other) or not _same_layout(&place, &other):
            return NotImplemented
        with nogil:
            status = rm_convert(x.format, y.format, x.n, x.data, y.data)
        _raise(status)
        return made


cdef class Cleaned(Call):
    """PyTorch's own operator of tensors of one format, whose result gets canonical NaNs."""

    cdef object overload
    cdef int tensors

    def __init__(self, overload, int tensors):
        self.overload, self.tensors = overload, tensors

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y
        cdef rm_py_strided place
        cdef int i
        if kwargs or len(args) != self.tensors or not _lying(args[0], &x, &place):
            return NotImplemented
        for i in range(1, self.tensors):
            if not _lying(args[i], &y, &place) or y.format != x.format or not _same_shape(&x, &y):
                return NotImplemented
        made = self.overload(*args)
        if _lying(made, &y, &place):
            with nogil:
                _one_nan(&y)
        else:
            made.masked_fill_(made.isnan(), NAN)
        return made
