# Prepared calls that draw random numbers for the elements of tensors. Whatever makes a call raise is looked for before a number is drawn.

ctypedef rm_status (*_Ternary)(int64_t n, const void *x, ptrdiff_t sx, const void *y, ptrdiff_t sy, const void *z, ptrdiff_t sz, void *out,
                               ptrdiff_t so) noexcept nogil

cdef rm_py_function *_fma[4]
cdef rm_py_function *_multiply[4]
cdef rm_py_function *_quotient[4]
cdef rm_py_function *_log1p[4]
rm_py_functions(b"fma", _fma)
rm_py_functions(b"multiply", _multiply)
rm_py_functions(b"divide", _quotient)
rm_py_functions(b"log1p", _log1p)


cdef bint _generator_alone(dict kwargs, list generator) except -1:
    """Whether there is no other keyword; the generator is put into the list."""
    for key, v in kwargs.items() if kwargs else ():
        if key != "generator":
            return False
        generator[0] = v
    return True


cdef class Chances(Call):
    """bernoulli of probabilities that are a tensor: 1 where a binary64 number is below."""

    cdef int into

    def __init__(self, into):
        self.into = _INTO[into]

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, p
        cdef Memory memory
        cdef double *drawn
        cdef double *chance
        cdef int64_t i
        cdef uint64_t key
        cdef bint good = True
        cdef rm_status status
        generator = [None]
        if len(args) != (2 if self.into == FIRST else 1) or not _generator_alone(kwargs, generator) or not _operand(args[0], &x) or x.n > MANY:
            return NotImplemented
        if self.into == FIRST:
            if not _operand(args[1], &p) or not _same_shape(&x, &p) or not _apart(&x, &p):
                return NotImplemented
            out = args[0]
        else:
            p = x
            out = args[0].new_empty(args[0].shape)
            if not _operand(out, &x):
                return NotImplemented
        memory = Memory(16 * p.n)
        drawn = <double *>memory.data
        chance = drawn + p.n
        with nogil:
            rm_py_converted(p.format, RM_FORMAT_F64, p.n, p.data, chance)
            for i in range(p.n):
                good = good and 0 <= chance[i] <= 1
        if not good:
            return NotImplemented
        key = _seed_of(generator[0])
        with nogil:
            status = rm_random_uniform(RM_FORMAT_F64, key, 0, 0, p.n, 0, 1, drawn, 8)
            for i in range(p.n):
                _put_one(x.data, x.format, i, drawn[i] < chance[i])
        _raise(status)
        return out


cdef class NormalOf(Call):
    """normal of means and standard deviations that are tensors of one format and shape."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand mean, std, to
        cdef Memory memory
        cdef double *wide
        cdef int64_t i
        cdef uint64_t key
        cdef ptrdiff_t size
        cdef bint good = True
        cdef rm_status status
        generator = [None]
        if len(args) != 2 or not _generator_alone(kwargs, generator) or not _operand(args[0], &mean) or not _operand(args[1], &std):
            return NotImplemented
        if mean.format != std.format or not _same_shape(&mean, &std) or mean.n > MANY:
            return NotImplemented
        memory = Memory(8 * mean.n)
        wide = <double *>memory.data
        with nogil:
            rm_py_converted(std.format, RM_FORMAT_F64, std.n, std.data, wide)
            for i in range(std.n):
                good = good and not wide[i] < 0
        if not good:
            return NotImplemented
        out = args[0].new_empty(args[0].shape)
        if not _operand(out, &to):
            return NotImplemented
        key = _seed_of(generator[0])
        size = _SIZES[mean.format]
        with nogil:
            status = rm_random_normal(mean.format, key, 0, 0, mean.n, 0, 1, memory.data, size)
            if status == 0:
                status = (<_Ternary>_fma[mean.format])(mean.n, memory.data, size, std.data, size, mean.data, size, to.data, size)
        _raise(status)
        return out


cdef class NoisySlopes(Call):
    """rrelu_with_noise where it is trained: the slope of each element that is not above 0 is drawn, and put into the second tensor."""

    cdef int into

    def __init__(self, into):
        self.into = _INTO[into]

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, noise, to
        cdef Memory memory
        cdef double *wide
        cdef double low, high
        cdef int64_t i
        cdef uint64_t key, one = 0
        cdef ptrdiff_t size
        cdef rm_status status
        generator = [args[5] if len(args) == 6 else None]
        if not 5 <= len(args) <= 6 or args[4] is not True or not _generator_alone(kwargs, generator):
            return NotImplemented
        if not _operand(args[0], &x) or not _operand(args[1], &noise) or not _number(args[2], &low) or not _number(args[3], &high):
            return NotImplemented
        if x.format != noise.format or not _same_shape(&x, &noise) or x.data == noise.data or not _apart(&x, &noise) or x.n > MANY:
            return NotImplemented
        if not -6e4 <= low <= high <= 6e4:
            return NotImplemented
        out, to = args[0], x
        if self.into == NEW:
            out = args[0].new_empty(args[0].shape)
            if not _operand(out, &to):
                return NotImplemented
        memory = Memory(8 * x.n)
        wide = <double *>memory.data
        _encode(1.0, x.format, &one)
        key = _seed_of(generator[0])
        size = _SIZES[x.format]
        with nogil:
            status = rm_random_uniform(x.format, key, 0, 0, x.n, low, high, noise.data, size)
            if status == 0:
                rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide)
                for i in range(x.n):
                    if not wide[i] <= 0:
                        memcpy(noise.data + i * size, &one, size)
                status = (<_Binary>_multiply[x.format])(x.n, x.data, size, noise.data, size, to.data, size)
        _raise(status)
        return out


cdef class Race(Call):
    """multinomial: of each row of probabilities the greatest of p/e, e exponential; with replacement of as many rows of e."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand p, to
        cdef Memory memory
        cdef double *wide
        cdef double v
        cdef int64_t rows, n, i, k, positive, samples, turns = 1, count
        cdef uint64_t key
        cdef ptrdiff_t size
        cdef char *e
        cdef bint good = True, replacement = False
        cdef rm_status status
        generator = [None]
        if not 2 <= len(args) <= 3 or type(args[1]) is not int or not 0 < args[1] <= MAX_ELEMENTS or not _generator_alone(kwargs, generator):
            return NotImplemented
        if len(args) == 3:
            if type(args[2]) is not bool:
                return NotImplemented
            replacement = args[2]
        if not _operand(args[0], &p) or not 1 <= p.ndim <= 2:
            return NotImplemented
        n = p.shape[p.ndim - 1]
        rows, samples = p.n // n, args[1]
        turns = samples if replacement else 1
        if p.n > MANY // turns:
            return NotImplemented
        count, size = p.n * turns, _SIZES[p.format]
        memory = Memory(8 * p.n + 8 * count)
        wide = <double *>memory.data
        e = memory.data + 8 * p.n
        with nogil:
            rm_py_converted(p.format, RM_FORMAT_F64, p.n, p.data, wide)
            for i in range(rows):
                positive = 0
                for k in range(n):
                    v = wide[i * n + k]
                    good = good and v >= 0 and not isinf(v)
                    positive += v > 0
                good = good and positive >= (1 if replacement else samples)
        if not good:
            return NotImplemented
        race = args[0].new_empty((rows, turns, n) if replacement else args[0].shape)
        if not _operand(race, &to):
            return NotImplemented
        key = _seed_of(generator[0])
        with nogil:
            status = rm_random_uniform(p.format, key, 0, 0, count, 0, 1, e, size)
            _negate(p.format, count, e)
            if status == 0:
                status = (<_Unary>_log1p[p.format])(count, e, size, e, size)
            _negate(p.format, count, e)
            for i in range(rows if status == 0 else 0):
                for k in range(turns):
                    status |= (<_Binary>_quotient[p.format])(n, p.data + i * n * size, size, e + (i * turns + k) * n * size, size,
                                                             to.data + (i * turns + k) * n * size, size)
            for i in range(rows):
                for k in range(turns * n):
                    if wide[i * n + k % n] == 0:  # 0/0 counts as 0, which is what other numbers make of it
                        memset(to.data + (i * turns * n + k) * size, 0, size)
        _raise(status)
        if replacement:
            found = race.argmax(-1)
            return found if p.ndim == 2 else found[0]
        return race.topk(samples, -1)[1]


cdef void _negate(int format, int64_t n, char *x) noexcept nogil:
    """Other signs."""
    cdef int64_t i
    for i in range(n):
        x[(i + 1) * _SIZES[format] - 1] ^= <char>0x80
