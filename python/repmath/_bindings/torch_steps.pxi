# Prepared calls of operators that are composed of several elementwise steps, each rounded once (steps.h).

from libc.stdlib cimport calloc

cdef enum:
    MAX_TENSORS = 4
    MAX_NUMBERS = 12
    MAX_ELEMENTS = 4096  # beyond these a call's own time counts for little
    BLOCK_ELEMENTS = 2048  # at a time, where there are more: what the steps make stays in the cache

# How the steps use an argument of an operator.
cdef enum:
    TENSOR
    WHOLE  # a tensor that may have integers, which count as numbers of binary64
    NUMBER
    SAME  # must be this object, or equal to it
    ANY
    ALIKE  # a tensor of the first one's dtype, which is not read

_ROLES = {"tensor": TENSOR, "whole": WHOLE, "number": NUMBER, "same": SAME, "any": ANY, "alike": ALIKE}
# How the steps derive a number from an argument.
cdef enum:
    ITSELF, LESS, FROM_ONE, CONSTANT, COUNT

_MAPS = {"": ITSELF, "-": LESS, "1-": FROM_ONE, "constant": CONSTANT, "count": COUNT}
_STEP_KINDS = {
    "function": RM_PY_STEP_FUNCTION, "formula": RM_PY_STEP_FORMULA, "scaled": RM_PY_STEP_SCALED, "wide": RM_PY_STEP_WIDE,
    "own": RM_PY_STEP_OWN, "compare": RM_PY_STEP_COMPARE, "both": RM_PY_STEP_BOTH, "either": RM_PY_STEP_EITHER, "not": RM_PY_STEP_NOT,
    "choose": RM_PY_STEP_CHOOSE, "negated": RM_PY_STEP_NEGATED, "clamped": RM_PY_STEP_CLAMPED,
    "toward_zero": RM_PY_STEP_TOWARD_ZERO, "whole": RM_PY_STEP_WHOLE, "required": RM_PY_STEP_REQUIRED
}
_COMPARISONS = {
    "<": RM_PY_LESS, "<=": RM_PY_AT_MOST, ">": RM_PY_MORE, ">=": RM_PY_AT_LEAST, "==": RM_PY_EQUAL, "nan": RM_PY_IS_NAN,
    "infinite": RM_PY_IS_INFINITE
}
_WHOLES = {"nearest": RM_PY_WHOLE_NEAREST, "floor": RM_PY_WHOLE_FLOOR, "trunc": RM_PY_WHOLE_TRUNC}


cdef bint _strided(object t, rm_py_strided *o, int64_t *n) except -1:
    """Whether t is a plain tensor of the CPU with elements of one of the formats, or with integers (then format is -size, or 0 for uint8).
    Sets its address."""
    cdef Tensor v
    cdef int i
    cdef ptrdiff_t size
    if type(t) is not _tensor_class and type(t) is not _parameter_class:
        return False
    if _exchange.tensor_from_object(<void *>t, &v) != 0:
        PyErr_Clear()
        return False
    if v.device.type != 1 or v.ndim > MAX_AXES or v.data is NULL:
        return False
    o.format, size = _format(&v), v.type.bits // 8
    if o.format < 0:
        if v.type.lanes != 1 or (v.type.code != 0 and not ((v.type.code == 1 or v.type.code == 6) and size == 1)):
            return False
        o.format = -<int>size if v.type.code == 0 else -3
    o.data, o.ndim, n[0] = <const char *>v.data + v.byte_offset, v.ndim, 1
    for i in range(v.ndim - 1, -1, -1):
        o.shape[i] = v.shape[i]
        o.stride[i] = v.strides[i] * size if v.strides is not NULL else n[0] * size
        n[0] *= v.shape[i]
    return n[0] > 0


cdef ptrdiff_t _size_of(int format) noexcept:
    return _SIZES[format] if format >= 0 else 1 if format == -3 else -format


cdef bint _is_dense(const rm_py_strided *o) noexcept:
    """Whether the elements are contiguous."""
    cdef int i
    cdef ptrdiff_t step = _size_of(o.format)
    for i in range(o.ndim - 1, -1, -1):
        if o.shape[i] != 1:
            if o.stride[i] != step:
                return False
            step *= o.shape[i]
    return True


cdef bint _is_dense_in_an_order(const rm_py_strided *o) noexcept:
    """Whether the elements fill their memory, in any order of the axes."""
    cdef ptrdiff_t step = _size_of(o.format)
    cdef uint64_t left = 0
    cdef int i, found
    for i in range(o.ndim):
        left |= <uint64_t>(o.shape[i] != 1) << i
    while left:
        found = -1
        for i in range(o.ndim):
            if left >> i & 1 and o.stride[i] == step:
                found = i
        if found < 0:
            return False
        step *= o.shape[found]
        left &= ~(<uint64_t>1 << found)
    return True


cdef bint _same_layout(const rm_py_strided *a, const rm_py_strided *b) noexcept:
    """Whether the tensors have one shape, and their elements lie in the same order."""
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.shape[i] != b.shape[i] or (a.shape[i] != 1 and a.stride[i] * _size_of(b.format) != b.stride[i] * _size_of(a.format)):
            return False
    return True


cdef bint _fills_memory(const rm_py_strided *o) noexcept:
    """Whether the elements are those of a contiguous array whose axes are in another order."""
    cdef int i, j
    cdef ptrdiff_t step
    for i in range(o.ndim):
        step = _size_of(o.format)
        for j in range(o.ndim):
            if o.shape[j] != 1 and (o.stride[j] < o.stride[i] or (o.stride[j] == o.stride[i] and j > i)):
                step *= o.shape[j]
        if o.shape[i] != 1 and o.stride[i] != step:
            return False
    return True


cdef bint _flattened(rm_py_strided *tensor, const int64_t *sizes, int tensors, rm_py_strided *whole) noexcept:
    """Make one axis of all in tensors of one order of their axes, as of a transposed matrix, which `whole` has then; beside them there may be single elements."""
    cdef int i, first = -1
    for i in range(tensors):
        if sizes[i] != 1 and first < 0:
            first = i
        elif sizes[i] != 1 and not _same_layout(&tensor[i], &tensor[first]):
            return False
    if first < 0 or _is_dense(&tensor[first]) or not _fills_memory(&tensor[first]):
        return False
    for i in range(tensors):
        if tensor[i].format < 0 or tensor[i].format != tensor[first].format or tensor[i].ndim > tensor[first].ndim:
            return False
    whole[0] = tensor[first]
    for i in range(tensors):
        tensor[i].ndim, tensor[i].shape[0], tensor[i].stride[0] = sizes[i] != 1, sizes[i], _size_of(tensor[i].format)
    return True


cdef void _runs_of(const rm_py_strided *x, int ndim, const int64_t *shape, int64_t block, int64_t size, rm_py_runs *runs) noexcept nogil:
    """The runs of a dense array of `size` elements, broadcast to a shape: along the last axis, or of one element in a block."""
    cdef int d, axis
    runs.x, runs.size, runs.same, runs.outer = x.data, _SIZES[x.format], size == 1, 0
    runs.length, runs.step = block, 0
    if size == 1:
        return
    runs.length, runs.outer = shape[ndim - 1], ndim - 1
    for d in range(ndim):
        axis = d - (ndim - x.ndim)
        runs.at[d], runs.shape[d] = 0, shape[d]
        runs.stride[d] = x.stride[axis] if axis >= 0 and x.shape[axis] != 1 else 0
    runs.step = runs.stride[ndim - 1]


cdef object _of_integers(object t, object dtype):
    """A dense tensor of integers up to 2**53, or of booleans, converted to one of the formats, each rounded once."""
    cdef rm_py_strided x
    cdef Operand y
    cdef int64_t n
    cdef char *wide
    cdef bint good
    cdef rm_status status = 0
    if dtype not in _formats or not _strided(t, &x, &n) or x.format >= 0 or n > 1 << 16 or not _is_dense(&x):
        return NotImplemented
    made = _empty_like(t, dtype=dtype)
    if not _operand(made, &y):
        return NotImplemented
    wide = y.data if y.format == RM_FORMAT_F64 else <char *>malloc(8 * n)
    if wide is NULL:
        raise MemoryError("no memory for integers")
    with nogil:
        good = rm_py_spread(&x, x.ndim, x.shape, wide)
        if wide != y.data:
            status = rm_py_converted(RM_FORMAT_F64, y.format, n, wide, y.data) if good else 0
            free(wide)
    _raise(status)
    return made if good else NotImplemented


cdef class Either(Call):
    """Tries several calls: the first one that knows the arguments takes them."""

    cdef tuple calls

    def __init__(self, *calls):
        self.calls = calls

    cdef object run(self, tuple args, dict kwargs):
        for call in self.calls:
            made = (<Call>call).run(args, kwargs)
            if made is not NotImplemented:
                return made
        return NotImplemented


cdef class Steps(Call):
    """Steps, one after the other.

    Parameters
    ----------
    arguments : sequence of (role, name, default, wanted)
        By place, and those with a name of keywords behind them: "tensor", "whole" (integers too), "number" (None is none), "same" (what is wanted), "alike"
        (a tensor of the first one's dtype, which is not read) or "any".
    numbers : sequence of (map, value)
        The numbers of the steps: of the numbered argument itself (""), negated ("-") or subtracted from 1 ("1-"), a "constant", or the "count" of
        elements of the numbered tensor.
    steps : sequence of (kind, which, operands, number, wide)
    into : str
    halves : bool
        The one tensor is taken as two: its halves along the axis that is argument 1.
    more : bool
        There is a second result, an empty tensor.
    wide : bool
        The result is of binary64, in which all steps are.
    large : bool
        Tensors of more than MAX_ELEMENTS elements are taken, too: for some steps another function is faster there.
    doubles : bool
        Tensors of binary64 alone are taken.
    """

    cdef rm_py_step *steps
    cdef int count, places, given, tensors, numbers, into
    cdef int roles[10]
    cdef tuple names, defaults, wanted
    cdef int maps[MAX_NUMBERS]
    cdef double of[MAX_NUMBERS]  # the place of an argument, or the constant
    cdef bint halves, more, wide, large, doubles

    def __init__(self, arguments, numbers, steps, into, bint halves=False, bint more=False, bint wide=False, bint large=False,
                 bint doubles=False):
        cdef rm_py_step *s
        cdef rm_py_function *found[4]
        self.into, self.halves, self.more, self.wide, self.large, self.doubles = _INTO[into], halves, more, wide, large, doubles
        self.places = <int>len(arguments)
        _, self.names, self.defaults, self.wanted = zip(*arguments)
        self.given = sum(name is None for name in self.names)
        self.tensors = 0
        for i, (role, _, _, _) in enumerate(arguments):
            self.roles[i] = _ROLES[role]
            self.tensors += self.roles[i] <= WHOLE
        self.numbers = <int>len(numbers)
        if self.tensors + halves > MAX_TENSORS or self.numbers > MAX_NUMBERS or len(steps) > 56 or self.places > 10:
            raise ValueError("too many steps")
        for i, (how, value) in enumerate(numbers):
            self.maps[i], self.of[i] = _MAPS[how], value
        self.count = <int>len(steps)
        self.steps = <rm_py_step *>calloc(max(self.count, 1), sizeof(rm_py_step))
        if self.steps is NULL:
            raise MemoryError("no memory for steps")
        for i, (kind, which, operands, number, wide) in enumerate(steps):
            s = &self.steps[i]
            s.kind, s.wide, s.number = _STEP_KINDS[kind], wide, RM_PY_NO_OPERAND if number is None else number
            for k in range(3):
                s.operand[k] = operands[k] if k < len(operands) else RM_PY_NO_OPERAND
            if kind == "function":
                s.arity = rm_py_functions(which.encode(), found)
                if s.arity != len(operands):
                    raise ValueError(f"there is no function {which} of {len(operands)} arguments")
                for k in range(4):
                    s.function[k] = <rm_py_step_function *>found[k]
            elif kind == "own":
                s.which = which is not None
            elif kind in ("formula", "compare", "whole"):
                s.which = {"formula": _FORMULAS, "compare": _COMPARISONS, "whole": _WHOLES}[kind][which]

    def __dealloc__(self):
        free(self.steps)

    cdef object _gated(self, object x, const rm_py_strided *half, int64_t n, int dim):
        """The halves of a contiguous tensor of n elements, of which `half` has the shape, in a format below binary64."""
        cdef Operand made
        cdef rm_status status
        cdef int64_t part = 1
        cdef int d
        for d in range(dim, half.ndim):
            part *= half.shape[d]
        out = _new(x, half.shape, half.ndim, &made)
        with nogil:
            status = rm_glu(half.format, n // (2 * part), part, half.data, made.data)
        _raise(status)
        return out

    cdef bint _read(self, tuple args, dict kwargs, rm_py_strided *tensor, int64_t *sizes, double *number) except -1:
        """Whether the arguments are those of the steps. Sets the tensors and numbers."""
        cdef int i, k = 0, given = <int>len(args), left = <int>len(kwargs) if kwargs else 0
        if given > self.given:
            return False
        for i in range(self.places):
            name = self.names[i]
            if i < given:
                v = args[i]
            elif name is not None and left and name in kwargs:
                v = kwargs[name]
                left -= 1
            else:
                v = self.defaults[i]
            if self.roles[i] <= WHOLE:
                if i >= given or not _strided(v, &tensor[k], &sizes[k]) or (self.roles[i] == TENSOR and tensor[k].format < 0):
                    return False
                k += 1
            elif self.roles[i] == NUMBER:
                if not _number(v, &number[i]):
                    return False
            elif self.roles[i] == SAME:
                wanted = self.wanted[i]
                if v is not wanted and not (type(v) is type(wanted) and v == wanted) and not (
                        type(wanted) is float and type(v) is int and v == wanted):
                    return False
            elif self.roles[i] == ALIKE and (type(v) is not _tensor_class or v.dtype is not args[0].dtype):
                return False
        return left == (self.into == OUT)

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided tensor[MAX_TENSORS]
        cdef rm_py_number number[MAX_NUMBERS]
        cdef double given[10]
        cdef int64_t sizes[MAX_TENSORS]
        cdef int64_t shape[MAX_AXES]
        cdef const char *data[MAX_TENSORS]
        cdef const char *from_data[MAX_TENSORS]
        cdef int formats[MAX_TENSORS]
        cdef char *spread
        cdef char *made
        cdef char *at
        cdef int i, d, axis, own = -1, ndim = 0, tensors = self.tensors, like = -1, dim
        cdef int64_t n = 1, elements = 0, size, block, done, some
        cdef bint good = True, turned
        cdef rm_py_strided whole, place
        cdef rm_py_runs runs[MAX_TENSORS]
        cdef bint repeated[MAX_TENSORS]
        cdef Operand to
        cdef char local[2048]
        if self.into == OUT and (kwargs is None or "out" not in kwargs):
            return NotImplemented
        if not self._read(args, kwargs, tensor, sizes, given):
            return NotImplemented
        if self.halves:
            if args[1:] and type(args[1]) is not int:
                return NotImplemented
            dim = args[1] if args[1:] else -1
            dim += tensor[0].ndim if dim < 0 else 0
            if not 0 <= dim < tensor[0].ndim or tensor[0].shape[dim] % 2 != 0 or not _is_dense(&tensor[0]):
                return NotImplemented
            tensor[0].shape[dim] //= 2
            if tensor[0].format != RM_FORMAT_F64 and sizes[0] > 0:
                return self._gated(args[0], &tensor[0], sizes[0], dim)
            tensor[1] = tensor[0]
            tensor[1].data += tensor[1].stride[dim] * tensor[1].shape[dim]
            sizes[0] //= 2
            sizes[1], tensors = sizes[0], 2
        turned = not self.halves and not self.wide and _flattened(tensor, sizes, tensors, &whole)
        # The first format, which all but integers have, and the shape.
        for i in range(tensors):
            if tensor[i].format >= 0:
                if own < 0:
                    own = tensor[i].format
                elif own != tensor[i].format:
                    return NotImplemented
            if not self.halves and not _is_dense(&tensor[i]):
                return NotImplemented
            ndim = max(ndim, tensor[i].ndim)
        if own < 0 or (self.doubles and own != RM_FORMAT_F64):
            return NotImplemented
        for d in range(ndim):
            shape[d] = 1
            for i in range(tensors):
                axis = d - (ndim - tensor[i].ndim)
                if axis >= 0 and tensor[i].shape[axis] != 1:
                    if shape[d] != 1 and shape[d] != tensor[i].shape[axis]:
                        return NotImplemented
                    shape[d] = tensor[i].shape[axis]
            n *= shape[d]
        if n > MAX_ELEMENTS:
            if not self.large:
                return NotImplemented
            # What is repeated is laid out for a block at a time, of whole runs along the last axis.
            block = BLOCK_ELEMENTS
            for i in range(tensors):
                if self.halves or tensor[i].format < 0 or (sizes[i] != n and sizes[i] != 1 and shape[ndim - 1] > 4 * BLOCK_ELEMENTS):
                    return NotImplemented
                if sizes[i] != n and sizes[i] != 1:
                    block = max(BLOCK_ELEMENTS // shape[ndim - 1], 1) * shape[ndim - 1]
        else:
            block = n
        own = RM_FORMAT_F64 if self.wide else own
        for i in range(self.numbers):
            if self.maps[i] == CONSTANT:
                number[i].value = self.of[i]
            else:
                number[i].value = <double>sizes[<int>self.of[i]] if self.maps[i] == COUNT else given[<int>self.of[i]]
            if self.maps[i] == LESS:
                number[i].value = -number[i].value
            elif self.maps[i] == FROM_ONE:
                number[i].value = 1 - number[i].value
            number[i].held = _encode_any(number[i].value, own, &number[i].bits)
        for i in range(tensors):
            formats[i] = tensor[i].format if tensor[i].format >= 0 else RM_FORMAT_F64
            if tensor[i].format >= 0 and tensor[i].ndim == ndim and sizes[i] == n:
                like = i if like < 0 else like
            if self.halves or tensor[i].format < 0 or sizes[i] != n:
                elements += 1
            data[i] = tensor[i].data
        if self.into == NEW:
            if self.wide:
                out = args[0].new_empty([shape[i] for i in range(ndim)], dtype=_float64)
            elif like >= 0 and not self.halves:
                k = -1
                for i in range(self.places):
                    if self.roles[i] <= WHOLE:
                        k += 1
                        if k == like:
                            break
                out = _empty_like(args[i])
            else:
                out = args[0].new_empty([shape[i] for i in range(ndim)])
        else:
            out = args[0] if self.into == FIRST else kwargs["out"]
        if turned:
            if not _lying(out, &to, &place) or to.format != own or not _same_layout(&place, &whole):
                return NotImplemented
        elif not _operand(out, &to) or to.format != own or to.ndim != ndim:
            return NotImplemented
        else:
            for d in range(ndim):
                if to.shape[d] != shape[d]:
                    return NotImplemented
        if self.into != NEW:
            size = to.n * _SIZES[own]
            for i in range(tensors):
                if tensor[i].data == to.data and tensor[i].format == own and sizes[i] == to.n:
                    continue
                if to.data < tensor[i].data + sizes[i] * _size_of(tensor[i].format) and tensor[i].data < to.data + size:
                    return NotImplemented
        spread = local
        if elements * block * 8 > <int64_t>sizeof(local):
            spread = <char *>malloc(elements * block * 8)
            if spread is NULL:
                raise MemoryError("no memory for operands")
        with nogil:
            at = spread
            for i in range(tensors):
                repeated[i] = self.halves or tensor[i].format < 0 or sizes[i] != n
                if repeated[i]:
                    data[i] = at
                    if block == n:
                        good = good and rm_py_spread(&tensor[i], ndim, shape, at)
                    else:
                        _runs_of(&tensor[i], ndim, shape, block, sizes[i], &runs[i])
                    at += block * 8
            # Nothing is written before all steps are known to be taken.
            made = to.data
            if self.into != NEW and block < n:
                made = <char *>malloc(n * _SIZES[own])
                good = made is not NULL
            done = 0
            while good and done < n:
                some = min(block, n - done)
                for i in range(tensors):
                    from_data[i] = data[i] if repeated[i] else data[i] + done * _SIZES[formats[i]]
                    if repeated[i] and block < n and (done == 0 or not runs[i].same):
                        rm_py_copy_runs(&runs[i], some // runs[i].length, <char *>data[i])
                good = rm_py_run_steps(self.steps, self.count, tensors, from_data, formats, number, own, some, made + done * _SIZES[own])
                done += some
            if made != to.data:
                if good:
                    memcpy(to.data, made, n * _SIZES[own])
                free(made)
            if spread != local:
                free(spread)
        if not good:
            return NotImplemented
        return (out, args[0].new_empty(0)) if self.more else out


cdef bint _encode_any(double a, int format, uint64_t *to) noexcept:
    """Whether the format holds the number, or the number is a NaN. Sets its bits."""
    to[0] = 0
    if not isnan(a):
        return _encode(a, format, to)
    to[0] = 0x7E00 if format == RM_FORMAT_F16 else 0x7FC0 if format == RM_FORMAT_BF16 else 0x7FC00000
    if format == RM_FORMAT_F64:
        to[0] = (<uint64_t>0x7FF8) << 48
    return True
