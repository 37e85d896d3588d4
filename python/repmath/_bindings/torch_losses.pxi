# Prepared calls of losses and their gradients.


cdef struct Classes:
    rm_cross_entropy_problem c
    int64_t inner  # elements behind the axis of classes
    int format


cdef object _classes_of(Classes *p, object x_of, object target, object weight, object reduction, object ignored, Operand *x):
    """Returns what must be kept alive of scores, targets and weights, and sets their problem; None if they are something else. Classes are the
    second axis of a matrix or of an array of more axes."""
    cdef Operand w
    cdef rm_py_strided t
    cdef rm_py_strided turned
    cdef int64_t n, inner = 1
    cdef int d, axis
    cdef Memory targets, lines
    if type(reduction) is not int or not 0 <= reduction <= 2 or type(ignored) is not int or not -(1 << 62) < ignored < 1 << 62:
        return None
    held = _read(x_of, x)
    if held is None or x.ndim < 1 or x.n > MANY or not _strided(target, &t, &n) or t.format != -8:
        return None
    axis = 0 if x.ndim == 1 else 1
    if t.ndim != x.ndim - 1:
        return None
    for d in range(t.ndim):
        if t.shape[d] != x.shape[d if d < axis else d + 1]:
            return None
        inner *= t.shape[d] if d >= axis else 1
    if not _weight(weight, x.format, 1, &x.shape[axis], &w):
        return None
    targets = Memory(8 * n)
    t.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
    rm_py_spread(&t, t.ndim, t.shape, targets.data)
    p.inner, p.format = inner, x.format
    p.c.rows, p.c.n, p.c.target, p.c.stride_target = n, x.shape[axis], <const int64_t *>targets.data, 8
    p.c.weight, p.c.stride_weight, p.c.ignore_index, p.c.reduction = w.data, _SIZES[x.format], ignored, reduction
    p.c.probability, p.c.row_probability, p.c.stride_probability, p.c.label_smoothing = NULL, 0, 0, 0.0
    p.c.x, p.c.stride_x, p.c.row_x = x.data, _SIZES[x.format], _SIZES[x.format] * p.c.n
    if inner != 1:
        lines = Memory(x.n * _SIZES[x.format])
        _lines(&turned, x.data, x.format, x.shape[0], p.c.n, inner)
        rm_py_spread(&turned, 3, turned.shape, lines.data)
        p.c.x = lines.data
        return held, targets, lines
    return held, targets


cdef class ClassLoss(Call):
    """nll_loss_forward and nll_loss2d_forward."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Classes p
        cdef Operand x, y, z
        cdef Memory weights
        cdef int64_t i, count = 0
        cdef double total
        cdef ptrdiff_t size
        cdef rm_status status
        if kwargs or len(args) != 5:
            return NotImplemented
        held = _classes_of(&p, args[0], args[1], args[2], args[3], args[4], &x)
        if held is None:
            return NotImplemented
        made = args[0].new_empty(args[1].shape if args[3] == 0 else ())
        weighed = args[0].new_empty(())
        if not _operand(made, &y) or not _operand(weighed, &z):
            return NotImplemented
        size = _SIZES[p.format]
        weights = Memory(p.c.rows * size)
        with nogil:
            status = rm_nll_loss(p.format, &p.c, y.data, size)
            if status == 0:
                for i in range(p.c.rows if p.c.reduction != 0 else 0):
                    if p.c.target[i] != p.c.ignore_index:
                        if p.c.weight is not NULL:
                            memcpy(weights.data + count * size, <const char *>p.c.weight + p.c.target[i] * size, size)
                        count += 1
                if p.c.weight is NULL or count == 0:
                    total = <double>count
                    status = rm_py_converted(RM_FORMAT_F64, p.format, 1, &total, z.data)
                else:
                    status = rm_sum(p.format, count, weights.data, size, p.format, z.data)
        return (made, weighed) if status == 0 else NotImplemented


cdef class ClassLossGradient(Call):
    """nll_loss_backward and nll_loss2d_backward."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Classes p
        cdef Operand x, g, y
        cdef rm_py_strided turned
        cdef Memory lines
        cdef char *to
        cdef ptrdiff_t size
        cdef rm_status status
        if kwargs or len(args) != 7:
            return NotImplemented
        held = _classes_of(&p, args[1], args[2], args[3], args[4], args[5], &x)
        held_g = _read(args[0], &g)
        if held is None or held_g is None or g.format != p.format or g.n != (p.c.rows if p.c.reduction == 0 else 1):
            return NotImplemented
        if p.c.reduction == 0 and args[0].shape != args[2].shape:
            return NotImplemented
        if args[6].dtype != args[1].dtype:  # PyTorch refuses it
            return NotImplemented
        made = _new(args[1], x.shape, x.ndim, &y)
        size, to = _SIZES[p.format], y.data
        if p.inner != 1:
            lines = Memory(x.n * size)
            to = lines.data
        with nogil:
            status = rm_nll_loss_backward(p.format, &p.c, g.data, size, to, p.c.n * size, size)
            if status == 0 and p.inner != 1:
                _lines(&turned, to, p.format, x.shape[0], p.inner, p.c.n)
                rm_py_spread(&turned, 3, turned.shape, y.data)
        return made if status == 0 else NotImplemented


cdef class CrossEntropy(Call):
    """repmath.cross_entropy, or its gradient, whose first argument is the gradient of the result, of classes."""

    cdef bint gradient

    def __init__(self, bint gradient=False):
        self.gradient = gradient

    cdef object run(self, tuple args, dict kwargs):
        cdef Classes p
        cdef Operand x, g, y
        cdef rm_py_strided turned
        cdef Memory lines
        cdef char *to
        cdef ptrdiff_t size
        cdef int first = self.gradient
        cdef rm_status status
        if _exchange is NULL or kwargs or len(args) != 6 + first or type(args[first + 5]) is not float or args[first + 4] not in _REDUCTIONS:
            return NotImplemented
        held = _classes_of(&p, args[first], args[first + 1], args[first + 2], _REDUCTIONS[args[first + 4]], args[first + 3], &x)
        if held is None or not 0 <= args[first + 5] <= 1:
            return NotImplemented
        p.c.label_smoothing = args[first + 5]
        size = _SIZES[p.format]
        if not self.gradient:
            made = args[0].new_empty(args[1].shape if p.c.reduction == 0 else ())
            if not _operand(made, &y):
                return NotImplemented
            with nogil:
                status = rm_cross_entropy(p.format, &p.c, y.data, size)
            return made if status == 0 else NotImplemented
        held_g = _read(args[0], &g)
        if held_g is None or g.format != p.format or args[0].shape != (args[2].shape if p.c.reduction == 0 else ()):
            return NotImplemented
        made = _new(args[1], x.shape, x.ndim, &y)
        to = y.data
        if p.inner != 1:
            lines = Memory(x.n * size)
            to = lines.data
        with nogil:
            status = rm_cross_entropy_backward(p.format, &p.c, g.data, size, to, p.c.n * size, size)
            if status == 0 and p.inner != 1:
                _lines(&turned, to, p.format, x.shape[0], p.inner, p.c.n)
                rm_py_spread(&turned, 3, turned.shape, y.data)
        return made if status == 0 else NotImplemented


cdef class PairLoss(Call):
    """mse_loss, smooth_l1_loss and huber_loss, and their gradients, whose first argument is the gradient of the result."""

    cdef int which
    cdef bint gradient

    def __init__(self, what, bint gradient=False):
        self.which, self.gradient = _REGRESSION_LOSSES[what], gradient

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, y, to
        cdef int first = self.gradient, given = <int>len(args) - self.gradient, how = 1
        cdef double p = 1
        cdef ptrdiff_t size
        cdef rm_status status
        if kwargs or not 2 <= given <= 4:
            return NotImplemented
        if given > 2:
            if type(args[first + 2]) is not int or not 0 <= args[first + 2] <= 2:
                return NotImplemented
            how = args[first + 2]
        if given > 3 and not _number(args[first + 3], &p):
            return NotImplemented
        if self.which == 2 and not 0 <= p < 1e300 or self.which == 3 and not 0 < p < 1e300:
            return NotImplemented
        held_x, held_y = _read(args[first], &x), _read(args[first + 1], &y)
        if held_x is None or held_y is None or x.format != y.format or not _same_shape(&x, &y):
            return NotImplemented
        if self.gradient:
            held_g = _read(args[0], &g)
            if held_g is None or g.format != x.format or (g.n != 1 if how else not _same_shape(&g, &x)):
                return NotImplemented
        made = args[first].new_empty(()) if how and not self.gradient else _new(args[first], x.shape, x.ndim, &to)
        if not _operand(made, &to):
            return NotImplemented
        size = _SIZES[x.format]
        with nogil:
            if self.gradient:
                status = rm_regression_loss_backward(self.which, p, x.format, how, x.n, g.data, size, x.data, size, y.data, size, to.data, size)
            else:
                status = rm_regression_loss(self.which, p, x.format, how, x.n, x.data, size, y.data, size, to.data, size)
        _raise(status)
        return made


cdef class LogitLoss(Call):
    """binary_cross_entropy_with_logits. Weights, and those of the positive class, are given for each element or for the last axis."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, to
        cdef rm_py_strided w
        cdef Memory held
        cdef int64_t m
        cdef int i, d, how = 1, given = <int>len(args)
        cdef ptrdiff_t size
        cdef rm_status status
        cdef char *data[2]
        if kwargs or not 2 <= given <= 5:
            return NotImplemented
        if given > 4:
            if type(args[4]) is not int or not 0 <= args[4] <= 2:
                return NotImplemented
            how = args[4]
        held_x, held_y = _read(args[0], &x), _read(args[1], &y)
        if held_x is None or held_y is None or x.format != y.format or not _same_shape(&x, &y) or x.n > MANY:
            return NotImplemented
        size, weights = _SIZES[x.format], []
        for i in range(2):
            data[i] = NULL
            t = args[2 + i] if given > 2 + i else None
            if t is None:
                continue
            if not _strided(t, &w, &m) or w.format != x.format or w.ndim > x.ndim:
                return NotImplemented
            for d in range(w.ndim):
                if w.shape[d] != 1 and w.shape[d] != x.shape[x.ndim - w.ndim + d]:
                    return NotImplemented
            held = Memory(x.n * size)
            weights.append(held)
            data[i] = held.data
            rm_py_spread(&w, x.ndim, x.shape, data[i])
        made = args[0].new_empty(()) if how else _new(args[0], x.shape, x.ndim, &to)
        if not _operand(made, &to):
            return NotImplemented
        with nogil:
            status = rm_bce_with_logits(x.format, how, x.n, x.data, size, y.data, size, data[0], size, data[1], size, to.data, size)
        _raise(status)
        return made


cdef class Collected(Call):
    """A loss whose terms are steps: the terms, their mean or their sum, by a reduction that is the last argument. Terms of binary64 are rounded to the
    format of the first tensor then.

    Parameters
    ----------
    terms : Call
        Steps, or several of which one knows the arguments.
    place : int
        Of the reduction.
    """

    cdef Call terms
    cdef int place

    def __init__(self, Call terms, int place):
        self.terms, self.place = terms, place

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, terms, to
        cdef int how = 1
        cdef rm_status status
        if kwargs or not args or len(args) > self.place + 1 or not _operand(args[0], &x):
            return NotImplemented
        if len(args) > self.place:
            if type(args[self.place]) is not int or not 0 <= args[self.place] <= 2:
                return NotImplemented
            how = args[self.place]
        made = self.terms.run(args[:self.place], None)
        if made is NotImplemented or not _operand(made, &terms) or (how == 0 and terms.format == x.format):
            return made
        out = _new(args[0], terms.shape, terms.ndim if how == 0 else 0, &to)
        with nogil:
            if how == 0:
                status = rm_py_converted(terms.format, to.format, terms.n, terms.data, to.data)
            elif how == 1:
                status = rm_mean(terms.format, terms.n, terms.data, _SIZES[terms.format], to.format, to.data)
            else:
                status = rm_sum(terms.format, terms.n, terms.data, _SIZES[terms.format], to.format, to.data)
        _raise(status)
        return out


cdef class GateGradient(Call):
    """glu_backward: steps that make the gradients of the two halves of an axis, from the gradient received and these halves."""

    cdef Steps first, second

    def __init__(self, Steps first, Steps second):
        self.first, self.second = first, second

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, made
        cdef Steps steps
        cdef const char *data[3]
        cdef const char *next_[3]
        cdef int formats[3]
        cdef rm_py_number none[1]
        cdef int dim = 0, d, k
        cdef int64_t outer, inner, part, i, half, done, some
        cdef Memory memory
        cdef char *to
        cdef bint good = True
        cdef rm_status status
        if kwargs or not 2 <= len(args) <= 3:
            return NotImplemented
        held_g, held_x = _read(args[0], &g), _read(args[1], &x)
        if held_g is None or held_x is None or g.format != x.format or g.ndim != x.ndim:
            return NotImplemented
        if not _axis_of(args[2] if len(args) > 2 else -1, &x, &dim, &outer, &inner) or x.shape[dim] % 2 != 0:
            return NotImplemented
        for d in range(x.ndim):
            if g.shape[d] != (x.shape[d] // 2 if d == dim else x.shape[d]):
                return NotImplemented
        out = _new(args[1], x.shape, x.ndim, &made)
        if x.format != RM_FORMAT_F64:
            with nogil:
                status = rm_glu_gradient(x.format, outer, x.shape[dim] // 2 * inner, g.data, x.data, made.data)
            _raise(status)
            return out
        half, part = x.n // 2, x.shape[dim] // 2 * inner * _SIZES[x.format]
        memory = Memory(2 * x.n * _SIZES[x.format])
        to = memory.data + x.n * _SIZES[x.format]
        data[0], data[1], data[2] = g.data, memory.data, memory.data + half * _SIZES[x.format]
        formats[0] = formats[1] = formats[2] = x.format
        for i in range(outer):
            memcpy(memory.data + i * part, x.data + 2 * i * part, part)
            memcpy(memory.data + half * _SIZES[x.format] + i * part, x.data + (2 * i + 1) * part, part)
        for k in range(2):
            steps = self.second if k else self.first
            done = 0
            while good and done < half:
                some = min(<int64_t>BLOCK_ELEMENTS, half - done)
                for d in range(3):
                    next_[d] = data[d] + done * _SIZES[x.format]
                with nogil:
                    good = rm_py_run_steps(steps.steps, steps.count, 3, next_, formats, none, x.format, some,
                                           to + done * _SIZES[x.format])
                done += some
            for i in range(outer):
                memcpy(made.data + (2 * i + k) * part, to + i * part, part)
        return out if good else NotImplemented
