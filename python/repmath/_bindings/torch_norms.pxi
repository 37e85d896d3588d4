# Prepared calls of norms and their gradients.


cdef struct Normed:
    rm_norm_sets sets
    ptrdiff_t step[4]  # of the tensors, which are dense
    ptrdiff_t weight[4]  # of the weights
    int64_t kept, before, behind  # of a gradient of weights: their number, and the sizes before and behind their axis


cdef void _by_rows(Normed *s, int64_t rows, int64_t n, ptrdiff_t size) noexcept:
    """Sets of n contiguous elements."""
    s.sets.centered, s.sets.sets[0], s.sets.sets[1], s.sets.outer, s.sets.inner = 1, rows, 1, 1, n
    s.step[0] = s.step[1] = s.step[2] = n * size
    s.weight[0] = s.weight[1] = s.weight[2] = 0
    s.step[3] = s.weight[3] = size
    s.kept, s.before, s.behind = n, rows, 1


cdef void _by_groups(Normed *s, int64_t batch, int64_t groups, int64_t channels, int64_t inner, ptrdiff_t size) noexcept:
    """Each set is the channels of a group."""
    cdef int64_t each = channels // groups
    s.sets.centered, s.sets.sets[0], s.sets.sets[1], s.sets.outer, s.sets.inner = 1, batch, groups, each, inner
    s.step[0], s.step[1], s.step[2], s.step[3] = channels * inner * size, each * inner * size, inner * size, size
    s.weight[0], s.weight[1], s.weight[2], s.weight[3] = 0, each * size, size, 0
    s.kept, s.before, s.behind = channels, batch, inner


cdef void _by_channels(Normed *s, int64_t batch, int64_t channels, int64_t inner, ptrdiff_t size) noexcept:
    """Each set is a channel of the whole batch."""
    s.sets.centered, s.sets.sets[0], s.sets.sets[1], s.sets.outer, s.sets.inner = 1, 1, channels, batch, inner
    s.step[0], s.step[1], s.step[2], s.step[3] = 0, inner * size, channels * inner * size, size
    s.weight[0], s.weight[1], s.weight[2], s.weight[3] = 0, size, 0, 0
    s.kept, s.before, s.behind = channels, batch, inner


cdef bint _channels_of(const Operand *x, Normed *s) noexcept:
    """The sets of a tensor of (batch, channels, ...)."""
    cdef int64_t inner = 1
    cdef int i
    if x.ndim < 2:
        return False
    for i in range(2, x.ndim):
        inner *= x.shape[i]
    _by_channels(s, x.shape[0], x.shape[1], inner, _SIZES[x.format])
    return True


cdef rm_status _bias_gradient(const Normed *s, int format, const void *g, void *out) noexcept nogil:
    """The sums of g over all elements that share a weight."""
    cdef ptrdiff_t size = _SIZES[format]
    cdef int64_t sizes[4]
    cdef ptrdiff_t steps[4]
    sizes[0], sizes[1], sizes[2], sizes[3] = 1, s.kept, s.before, s.behind
    steps[0], steps[1], steps[2], steps[3] = 0, s.behind * size, s.kept * s.behind * size, size
    return rm_sum_axes(format, sizes, steps, g, format, out)


cdef object _norm_gradients(const Normed *s, object x_of, object w_of, const Operand *g, const Operand *x, const Operand *w, const void *mean,
                            const void *variance, double eps, const bint *wanted, object bias_like):
    """The gradients that are wanted, with respect to the input, to the weight if there is one, and to the bias if a tensor of its shape is
    given."""
    cdef Operand dx, dw, db
    cdef ptrdiff_t given[4]
    cdef rm_status status = 0
    dx.data = dw.data = db.data = NULL
    of_x = of_w = of_b = None
    if wanted[0]:
        of_x = _new(x_of, x.shape, x.ndim, &dx)
    if wanted[1] and w_of is not None:
        of_w = _new(x_of, w.shape, w.ndim, &dw)
    if wanted[2] and bias_like is not None:
        of_b = x_of.new_empty(bias_like.shape)
        if not _operand(of_b, &db):
            return NotImplemented
    given[0], given[1], given[2], given[3] = 0, _SIZES[x.format], 0, 0
    with nogil:
        if dx.data is not NULL:
            status = rm_normalize_backward(x.format, &s.sets, g.data, s.step, x.data, s.step, w.data, s.weight, mean, given, variance, given,
                                           eps, dx.data, s.step)
        if dw.data is not NULL and status == 0:
            status = rm_normalize_backward_weight(x.format, &s.sets, g.data, s.step, x.data, s.step, mean, given, variance, given, eps,
                                                  dw.data, s.weight)
        if db.data is not NULL and status == 0:
            status = _bias_gradient(s, x.format, g.data, db.data)
    _raise(status)
    return of_x, of_w, of_b


cdef object _deviations(object x, list sizes, int64_t n, int format, int64_t mark, double eps, char **data):
    """A tensor for the deviations of n sets. In its storage a mark and eps precede them, for the gradient."""
    cdef Operand root
    cdef int64_t before = 16 // _SIZES[format], step = 1
    # No view of another tensor: an operator must not return one.
    made = x.new_empty(before + n)
    if not _operand(made, &root):
        return None
    (<int64_t *>root.data)[0] = mark
    (<double *>root.data)[1] = eps
    data[0] = root.data + 16
    steps = []
    for k in reversed(sizes):
        steps.insert(0, step)
        step *= k
    made.as_strided_(sizes, steps, before)
    return made


cdef bint _eps_of(object root, int format, int64_t mark, double *eps) except -1:
    """Whether these are deviations behind the mark. Sets eps."""
    cdef Operand o
    cdef ptrdiff_t at
    if not _operand(root, &o) or o.format != format:
        return False
    at = root.storage_offset() * _SIZES[format]
    if at < 16 or (<int64_t *>(o.data - at))[0] != mark:
        return False
    eps[0] = (<double *>(o.data - at))[1]
    return True


cdef class Cloned(Call):
    """PyTorch's own copy, but of deviations behind eps."""

    cdef int64_t mark
    cdef object overload

    def __init__(self, int64_t mark, overload):
        self.mark, self.overload = mark, overload

    cdef bint _is_marked(self, x) except -1:
        storage = x.untyped_storage()
        return storage.nbytes() >= 16 and (<const int64_t *><size_t>storage.data_ptr())[0] == self.mark

    cdef object run(self, tuple args, dict kwargs):
        kind = type(args[0]) if args else None
        if (kind is not _tensor_class and kind is not _parameter_class) or not args[0].is_cpu:
            return NotImplemented
        if args[0].storage_offset() * args[0].itemsize == 16 and self._is_marked(args[0]):
            return NotImplemented
        return self.overload(*args, **kwargs) if kwargs else self.overload(*args)


cdef class LayerNorm(Call):
    """native_layer_norm."""

    cdef int64_t mark

    def __init__(self, int64_t mark):
        self.mark = mark

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, mean
        cdef Operand weight[2]
        cdef int64_t shape[MAX_AXES]
        cdef Normed s
        cdef int own = 0, i
        cdef int64_t n = 1
        cdef double eps
        cdef char *root
        cdef rm_status status
        if kwargs or len(args) != 5 or not _shape_of(args[1], shape, &own) or not _number(args[4], &eps):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or own == 0 or own > x.ndim or not 0 <= eps < 1e300:
            return NotImplemented
        for i in range(own):
            if shape[i] != x.shape[x.ndim - own + i]:
                return NotImplemented
            n *= shape[i]
        for i in range(2):
            if not _weight(args[2 + i], x.format, own, shape, &weight[i]):
                return NotImplemented
        _by_rows(&s, x.n // n, n, _SIZES[x.format])
        sizes = [x.shape[i] if i < x.ndim - own else 1 for i in range(x.ndim)]
        made, found = _new(args[0], x.shape, x.ndim, &y), args[0].new_empty(sizes)
        deviation = _deviations(args[0], sizes, x.n // n, x.format, self.mark, eps, &root)
        if deviation is None or not _operand(found, &mean):
            return NotImplemented
        with nogil:
            status = rm_normalize_with_statistics(x.format, &s.sets, x.data, s.step, weight[0].data, s.weight, weight[1].data, s.weight, eps,
                                                  y.data, s.step, mean.data, root)
        _raise(status)
        return made, found, deviation


cdef class RmsNorm(Call):
    """rms_norm of plain tensors, without a gradient: the input, the shape, the weight and eps."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, w, y
        cdef int64_t shape[MAX_AXES]
        cdef Normed s
        cdef int own = 0, i
        cdef int64_t n = 1
        cdef double eps = 0.0
        cdef rm_status status
        if not _shape_of(args[1], shape, &own) or (args[3] is not None and not _number(args[3], &eps)):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or own == 0 or own > x.ndim or x.n == 0 or not 0 <= eps < INFINITY:
            return NotImplemented
        for i in range(own):
            if shape[i] != x.shape[x.ndim - own + i]:
                return NotImplemented
            n *= shape[i]
        if not _weight(args[2], x.format, own, shape, &w):
            return NotImplemented
        if args[3] is None:  # the machine epsilon, of binary32 for 16 bits
            eps = ldexp(1.0, -52 if x.format == RM_FORMAT_F64 else -23)
        _by_rows(&s, x.n // n, n, _SIZES[x.format])
        s.sets.centered = 0
        made = _new(args[0], x.shape, x.ndim, &y)
        with nogil:
            status = rm_normalize(x.format, &s.sets, x.data, s.step, w.data, s.weight, NULL, s.weight, NULL, s.weight, NULL, s.weight, eps,
                                  y.data, s.step)
        _raise(status)
        return made


cdef class LayerNormGradient(Call):
    """native_layer_norm_backward."""

    cdef int64_t mark

    def __init__(self, int64_t mark):
        self.mark = mark

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, w, b
        cdef int64_t shape[MAX_AXES]
        cdef Normed s
        cdef int own = 0, i
        cdef int64_t n = 1
        cdef double eps
        cdef bint wanted[3]
        if kwargs or len(args) != 8 or not _shape_of(args[2], shape, &own) or not _wanted(args[7], wanted):
            return NotImplemented
        held_g, held_x = _read(args[0], &g), _read(args[1], &x)
        if held_g is None or held_x is None or g.format != x.format or not _same_shape(&g, &x) or own == 0 or own > x.ndim:
            return NotImplemented
        for i in range(own):
            if shape[i] != x.shape[x.ndim - own + i]:
                return NotImplemented
            n *= shape[i]
        if not _weight(args[5], x.format, own, shape, &w) or not _weight(args[6], x.format, own, shape, &b):
            return NotImplemented
        if not _eps_of(args[4], x.format, self.mark, &eps):
            return NotImplemented
        _by_rows(&s, x.n // n, n, _SIZES[x.format])
        return _norm_gradients(&s, args[1], args[5], &g, &x, &w, NULL, NULL, eps, wanted, args[6] if args[5] is None else args[5])


cdef class GroupNorm(Call):
    """native_group_norm."""

    cdef int64_t mark

    def __init__(self, int64_t mark):
        self.mark = mark

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, mean
        cdef Operand weight[2]
        cdef int64_t sizes[4]
        cdef Normed s
        cdef int i
        cdef double eps
        cdef char *root
        cdef rm_status status
        if kwargs or len(args) != 8 or not _each(args[3:7], 4, 1, sizes) or not _number(args[7], &eps):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or not _grouped(&x, sizes, &s) or not 0 <= eps < 1e300:
            return NotImplemented
        for i in range(2):
            if not _weight(args[1 + i], x.format, 1, &sizes[1], &weight[i]):
                return NotImplemented
        made, found = _new(args[0], x.shape, x.ndim, &y), args[0].new_empty([sizes[0], sizes[3]])
        deviation = _deviations(args[0], [sizes[0], sizes[3]], sizes[0] * sizes[3], x.format, self.mark, eps, &root)
        if deviation is None or not _operand(found, &mean):
            return NotImplemented
        with nogil:
            status = rm_normalize_with_statistics(x.format, &s.sets, x.data, s.step, weight[0].data, s.weight, weight[1].data, s.weight, eps,
                                                  y.data, s.step, mean.data, root)
        _raise(status)
        return made, found, deviation


cdef bint _grouped(const Operand *x, const int64_t *sizes, Normed *s) noexcept:
    """The sets of x from its batch, channels, elements of a channel, and groups."""
    if x.n != sizes[0] * sizes[1] * sizes[2] or sizes[1] % sizes[3] != 0:
        return False
    _by_groups(s, sizes[0], sizes[3], sizes[1], sizes[2], _SIZES[x.format])
    return True


cdef class GroupNormGradient(Call):
    """native_group_norm_backward."""

    cdef int64_t mark

    def __init__(self, int64_t mark):
        self.mark = mark

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, w
        cdef int64_t sizes[4]
        cdef Normed s
        cdef double eps
        cdef bint wanted[3]
        if kwargs or len(args) != 10 or not _each(args[5:9], 4, 1, sizes) or not _wanted(args[9], wanted):
            return NotImplemented
        held_g, held_x = _read(args[0], &g), _read(args[1], &x)
        if held_g is None or held_x is None or g.format != x.format or g.n != x.n or not _grouped(&x, sizes, &s):
            return NotImplemented
        if not _weight(args[4], x.format, 1, &sizes[1], &w) or not _eps_of(args[3], x.format, self.mark, &eps):
            return NotImplemented
        return _norm_gradients(&s, args[1], args[4], &g, &x, &w, NULL, NULL, eps, wanted, args[4])


cdef object _beside(object t, int format, int64_t n, Operand *o):
    """Reads a weight of n elements: of this format, or of float32 beside 16 bits, which is rounded to them. Returns what must be kept alive;
    NotImplemented for another one."""
    cdef Memory rounded
    o.data = NULL
    if t is None:
        return None
    if not _operand(t, o) or o.ndim != 1 or o.n != n or (o.format != format and (o.format != RM_FORMAT_F32 or _SIZES[format] != 2)):
        return NotImplemented
    if o.format == format:
        return None
    rounded = Memory(n * _SIZES[format])
    _raise(rm_py_converted(RM_FORMAT_F32, format, n, o.data, rounded.data))
    o.data, o.format = rounded.data, format
    return rounded


cdef enum:
    FEW_OF_CHANNEL = 1024  # elements of a channel, whose statistics plain sums tell closely enough


cdef void _few_statistics(int64_t n, const double *x, double *found, double *errors) noexcept nogil:
    """The mean and the variance of n elements, 2 <= n <= FEW_OF_CHANNEL, in binary64, with bounds of their errors. u = 2^-53; elements are of at most 24
    bits, so that no square overflows.

    The sum of n terms errs by at most 1.01 (n - 1) u times that of their magnitudes, and its quotient by u more: the mean m by
    d = 1.01 n u a, a the mean of the magnitudes. The squares (x - m)^2 err by at most 3.01 u relatively, their sum by (n - 1) u more, and
    the quotient by n - 1 by u. About m that sum is n (m - mean)^2 more than about the exact mean. Where all x - m are 0, all elements are
    equal and the variance is 0. a and the bounds err by less than 1.02 to 1.01. The smallest terms: the smallest elements are multiples of
    2^-149, differences at least 2^-212 or 0, and squares do not underflow."""
    cdef double total = 0, magnitude = 0, squares = 0, mean, off
    cdef int64_t i
    for i in range(n):
        total += x[i]
        magnitude += fabs(x[i])
    mean = total / n
    for i in range(n):
        squares += (x[i] - mean) * (x[i] - mean)
    off = 1.02 * n * 1.1102230246251565e-16 * (magnitude / n)
    found[0], errors[0] = mean, off if magnitude != 0 else 0
    found[1] = squares / (n - 1)
    errors[1] = 1.02 * (n + 4) * 1.1102230246251565e-16 * found[1] + 1.02 * off * off * n / (n - 1) if squares != 0 else 0


cdef const double *_few_elements(const Operand *x, const Normed *s, int64_t c, char *row) noexcept nogil:
    """Lays the elements of a channel in a row, and returns them in binary64 behind it, where they are few; else NULL. A row has room for
    16 bytes an element."""
    cdef ptrdiff_t part = s.behind * _SIZES[x.format]
    cdef int64_t i, n = s.before * s.behind
    for i in range(s.before):
        memcpy(row + i * part, x.data + (i * s.kept + c) * part, part)
    if n > FEW_OF_CHANNEL or rm_py_converted(x.format, RM_FORMAT_F64, n, row, row + 8 * n) != 0:
        return NULL
    return <const double *>(row + 8 * n)


cdef double _two_sum(double a, double b, double *error) noexcept nogil:
    cdef double s = a + b
    cdef double z = s - a
    error[0] = (a - (s - z)) + (b - z)
    return s


cdef double _two_product(double a, double b, double *error) noexcept nogil:
    cdef double p = a * b
    error[0] = fma(a, b, -p)
    return p


cdef double _to_odd(double a, double b) noexcept nogil:
    """a + b rounded to odd: rounded again to fewer bits, it is as if rounded once."""
    cdef double error, s = _two_sum(a, b, &error)
    cdef uint64_t bits
    memcpy(&bits, &s, 8)
    if error != 0 and not bits & 1:
        bits += 1 if (error > 0) == (s > 0) else -1
        memcpy(&s, &bits, 8)
    return s


cdef bint _mixed_again(int64_t n, const double *x, int which, double momentum, double before, int kept, char *to) noexcept nogil:
    """A running statistic, the mean (which is 0) or the variance of few elements, from double-double. Returns whether its rounding is decided.

    u = 2^-53, a the mean of the magnitudes, m the mean. In the sum of the elements the errors of two-sums are exact, each at most u n a, and
    their sum errs by n u of theirs: n^2 u^2 n a, and the quotient by less than 8 u^2 a more. A difference d has its error, two-sum's lesser part
    less that of m: it errs by u^2 (|d| + |m|) and by that of m. In its square d^2 + 2 d e the rest e^2 < 4 u^2 (|d| + |m|)^2 is left out, and what is added
    to the errors of the sum has three roundings of u^2 (|d| + |m|)^2 each at most 4 times. All of it is less than 32 (n + 4)^2 u^2 times the mean
    of a, or of (|d| + |m| + a)^2. Products with factors, exact or in two parts, and their sum add 2^-100 of their magnitudes. What is
    below the normal numbers errs by 2^-1074 an operation, of which there are fewer than 2^14, and momentum is below 2^30: 2^-1000 is more. Where something
    overflows, nothing is decided."""
    cdef double error, high = 0, low = 0, m, m_low, d, p, e, magnitude = 0, size = 0, factor, factor_low, a, a_low, b, b_low
    cdef double ends[2]
    cdef char other[8]
    cdef int64_t i
    for i in range(n):
        high = _two_sum(high, x[i], &e)
        low += e
        magnitude += fabs(x[i])
    magnitude /= n
    m = (high + low) / n
    p = _two_product(m, n, &e)
    m_low = (((high - p) - e) + low) / n
    if which == 0:
        size = magnitude
    else:
        high = low = 0
        for i in range(n):
            d = _two_sum(x[i], -m, &e)
            e -= m_low
            size += (fabs(d) + fabs(m) + magnitude) * (fabs(d) + fabs(m) + magnitude)
            p = _two_product(d, d, &error)
            low += error + 2 * d * e
            high = _two_sum(high, p, &error)
            low += error
        size /= n - 1
        m = (high + low) / (n - 1)
        p = _two_product(m, n - 1, &e)
        m_low = (((high - p) - e) + low) / (n - 1)
    factor = _two_sum(1, -momentum, &factor_low)
    a = _two_product(factor, before, &a_low)
    a_low += factor_low * before
    b = _two_product(momentum, m, &b_low)
    b_low += momentum * m_low
    high = _two_sum(a, b, &low)
    low += a_low + b_low
    error = 33.0 * (n + 4) * (n + 4) * ldexp(1, -106) * size * fabs(momentum) + ldexp(1, -100) * (fabs(a) + fabs(b)) + ldexp(1, -1000)
    if not fabs(high) + fabs(low) + error < INFINITY:
        return False
    if kept == RM_FORMAT_F64:
        ends[0], ends[1] = high + (low - error), high + (low + error)
    else:
        ends[0], ends[1] = _to_odd(high, low - error), _to_odd(high, low + error)
    return (rm_py_converted(RM_FORMAT_F64, kept, 1, &ends[0], to) == 0 and rm_py_converted(RM_FORMAT_F64, kept, 1, &ends[1], other) == 0
            and memcmp(to, other, _SIZES[kept]) == 0)


cdef bint _mixture(const Operand *x, const Normed *s, int which, const double *new, const double *errors, double momentum,
                   const Operand *kept, char *to, double *some) noexcept nogil:
    """Computes running statistics, means (which is 0) or variances, from old ones and new ones within these errors, each rounded once to its
    format. Returns whether all roundings are decided. `some` is memory for four numbers a channel and a row (_few_elements)."""
    cdef ptrdiff_t size = _SIZES[kept.format]
    cdef int64_t c, channels = s.kept
    cdef double *before = some
    cdef double *low = some + channels
    cdef double *high = some + 2 * channels
    cdef char *other = <char *>(some + 3 * channels)
    cdef const double *few
    cdef double a, b, error
    if rm_py_converted(kept.format, RM_FORMAT_F64, channels, kept.data, before) != 0:
        return False
    for c in range(channels):
        a, b = (1 - momentum) * before[c], momentum * new[c]
        # The errors of three operations in binary64, of momentum times the new statistic's, and of the sum of both.
        error = 4.440892098500626e-16 * (fabs(a) + fabs(b)) + 1.001 * fabs(momentum) * errors[c] + ldexp(1, -1070)
        low[c], high[c] = a + b - error, a + b + error
        if isnan(new[c]) or isinf(new[c]):
            low[c] = high[c] = new[c] - new[c]  # NaN
        elif isnan(before[c]) or isinf(before[c]):
            low[c] = high[c] = 0  # what is kept is the old one
        elif (before[c] == 0 or momentum == 1) and ((new[c] == 0 and errors[c] == 0) or momentum == 0):
            low[c] = high[c] = 0
        elif not fabs(a) + fabs(b) + error < INFINITY:
            return False
    if rm_py_converted(RM_FORMAT_F64, kept.format, channels, low, to) or rm_py_converted(RM_FORMAT_F64, kept.format, channels, high, other):
        return False
    for c in range(channels):
        if (isnan(before[c]) or isinf(before[c])) and not (isnan(new[c]) or isinf(new[c])):
            memcpy(to + c * size, kept.data + c * size, size)
        elif memcmp(to + c * size, other + c * size, size) != 0:
            few = _few_elements(x, s, c, <char *>(some + 4 * channels))
            if few is NULL or not _mixed_again(s.before * s.behind, few, which, momentum, before[c], kept.format, to + c * size):
                return False
    return True


cdef rm_status _channel_statistics(const Operand *x, const Normed *s, char *row, double *found, double *errors) noexcept nogil:
    """The mean of each channel, and then the variance of each, divided by the number of its elements less 1, in binary64, with bounds of
    their errors. A row has room for 16 bytes an element.

    Statistics of binary64 may leave its range: one beyond it, of finite elements, has an infinite error, and one below it is 0. It is 0 exactly where no element
    is below 2^-400, as those are multiples of 2^-452, and so are sums; squares are multiples of 2^-904."""
    cdef int64_t c, i, n = s.before * s.behind
    cdef const double *few
    cdef bint wide = x.format == RM_FORMAT_F64, finite, tiny
    cdef double two[2]
    cdef double off[2]
    cdef rm_status status = 0
    for c in range(s.kept):
        few = _few_elements(x, s, c, row)
        if few is not NULL and not wide:
            _few_statistics(n, few, two, off)
        else:
            status |= rm_mean(x.format, n, row, _SIZES[x.format], RM_FORMAT_F64, &two[0])
            status |= rm_var(x.format, n, row, _SIZES[x.format], RM_FORMAT_F64, &two[1], 1.0)
            for i in range(2):
                off[i] = 1.1102230246251565e-16 * fabs(two[i]) if two[i] != 0 else 0
            if wide and (two[0] == 0 or two[1] == 0 or isinf(two[1])):
                finite, tiny = True, False
                for i in range(n):
                    finite = finite and fabs((<double *>row)[i]) < INFINITY
                    tiny = tiny or 0 < fabs((<double *>row)[i]) < ldexp(1, -400)
                for i in range(2):
                    if tiny and two[i] == 0:
                        off[i] = ldexp(1, -1000)
                if isinf(two[1]) and finite:
                    two[1], off[1] = 0, INFINITY
        for i in range(2):
            found[i * s.kept + c], errors[i * s.kept + c] = two[i], off[i]
    return status


cdef class BatchNorm(Call):
    """native_batch_norm. `running` and `training` say which arguments there are: running statistics, and whether it is training."""

    cdef bint running, training

    def __init__(self, bint running, bint training):
        self.running, self.training = running, training

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, mean, root
        cdef Operand weight[2]
        cdef Operand kept[2]
        cdef Normed s
        cdef int i, place = 3
        cdef bint training = False, sure = True
        cdef double eps, momentum
        cdef ptrdiff_t given[4]
        cdef Memory memory
        cdef double *new
        cdef double *errors
        cdef char *mixed
        cdef rm_status status = 0
        if kwargs or len(args) != 5 + 2 * self.running + self.training:
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or not _channels_of(&x, &s):
            return NotImplemented
        kept[0].data = kept[1].data = NULL
        first, second = _beside(args[1], x.format, x.shape[1], &weight[0]), _beside(args[2], x.format, x.shape[1], &weight[1])
        if first is NotImplemented or second is NotImplemented:
            return NotImplemented
        if self.running:
            for i in range(2):
                if args[3 + i] is not None and (not _operand(args[3 + i], &kept[i]) or kept[i].ndim != 1 or kept[i].n != x.shape[1]):
                    return NotImplemented
            place = 5
        if self.training:
            if type(args[place]) is not bool:
                return NotImplemented
            training = args[place]
            place += 1
        if not _number(args[place], &momentum) or not _number(args[place + 1], &eps) or not 0 <= eps < 1e300 or not -1e9 < momentum < 1e9:
            return NotImplemented
        given[0], given[1], given[2], given[3] = 0, _SIZES[x.format], 0, 0
        if not training:
            for i in range(2):
                if kept[i].data is NULL or kept[i].format != x.format:
                    return NotImplemented
            made = _new(args[0], x.shape, x.ndim, &y)
            with nogil:
                status = rm_normalize(x.format, &s.sets, x.data, s.step, weight[0].data, s.weight, weight[1].data, s.weight, kept[0].data, given,
                                      kept[1].data, given, eps, y.data, s.step)
            _raise(status)
            return made, args[0].new_empty(0), args[0].new_empty(0)
        if s.before * s.behind < 2:
            return NotImplemented
        for i in range(2):  # of binary64, plain sums alone tell the rounding of statistics
            if kept[i].data is not NULL and (x.n > MANY or (x.format == RM_FORMAT_F64 and s.before * s.behind > FEW_OF_CHANNEL) or (
                    kept[i].format != x.format and (_SIZES[x.format] != 2 or kept[i].format != RM_FORMAT_F32))):
                return NotImplemented
        made, found, deviation = _new(args[0], x.shape, x.ndim, &y), args[0].new_empty(s.kept), args[0].new_empty(s.kept)
        if not _operand(found, &mean) or not _operand(deviation, &root):
            return NotImplemented
        memory = Memory(s.kept * 80 + s.before * s.behind * 16)
        new, errors, mixed = <double *>memory.data, <double *>(memory.data + 16 * s.kept), memory.data + 32 * s.kept
        with nogil:
            status = rm_normalize_with_statistics(x.format, &s.sets, x.data, s.step, weight[0].data, s.weight, weight[1].data, s.weight, eps,
                                                  y.data, s.step, mean.data, root.data)
            if kept[0].data is not NULL or kept[1].data is not NULL:
                status |= _channel_statistics(&x, &s, memory.data + 80 * s.kept, new, errors)
                for i in range(2):
                    if kept[i].data is not NULL:
                        sure = sure and _mixture(&x, &s, i, new + i * s.kept, errors + i * s.kept, momentum, &kept[i],
                                                 mixed + 8 * i * s.kept, <double *>(memory.data + 48 * s.kept))
                for i in range(2):  # writes nothing before all is known
                    if kept[i].data is not NULL and sure and status == 0:
                        memcpy(kept[i].data, mixed + 8 * i * s.kept, s.kept * _SIZES[kept[i].format])
        if not sure:
            return NotImplemented
        _raise(status)
        return made, found, deviation


cdef class BatchNormGradient(Call):
    """native_batch_norm_backward."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, w
        cdef Operand kept[2]
        cdef Normed s
        cdef int i
        cdef double eps
        cdef bint wanted[3]
        if kwargs or len(args) != 10 or type(args[7]) is not bool or not _number(args[8], &eps) or not 0 <= eps < 1e300:
            return NotImplemented
        held_g, held_x = _read(args[0], &g), _read(args[1], &x)
        if held_g is None or held_x is None or g.format != x.format or not _same_shape(&g, &x) or not _channels_of(&x, &s):
            return NotImplemented
        if not _wanted(args[9], wanted):
            return NotImplemented
        held_w = _beside(args[2], x.format, x.shape[1], &w)
        if held_w is NotImplemented:
            return NotImplemented
        kept[0].data = kept[1].data = NULL
        if args[7]:  # running statistics have no part
            for i in range(2):
                if args[3 + i] is not None and (not _operand(args[3 + i], &kept[i]) or (
                        kept[i].format != x.format and (kept[i].format != RM_FORMAT_F32 or _SIZES[x.format] != 2))):
                    return NotImplemented
                kept[i].data = NULL
        else:
            for i in range(2):
                if not _weight(args[3 + i], x.format, 1, &x.shape[1], &kept[i]) or kept[i].data is NULL:
                    return NotImplemented
        return _norm_gradients(&s, args[1], args[2], &g, &x, &w, kept[0].data, kept[1].data, eps, wanted, args[2])
