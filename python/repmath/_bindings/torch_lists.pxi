# Prepared calls of operators on lists of tensors, and of fused steps of optimisers. One call takes all tensors, and writes nothing before it
# has understood all of them.

from libc.stdlib cimport free, malloc, qsort

# One tensor of a list, or of each list.
cdef struct Part:
    Problem problem
    Operand to

cdef struct Span:
    char *begin
    char *end


cdef int _order(const void *a, const void *b) noexcept nogil:
    cdef char *x = (<const Span *>a).begin
    cdef char *y = (<const Span *>b).begin
    return (x > y) - (x < y)


cdef Span _span(const Operand *o) noexcept nogil:
    cdef Span s
    s.begin, s.end = o.data, o.data + o.n * _SIZES[o.format]
    return s


cdef bint _meets(const Span *written, Py_ssize_t n, Span s) noexcept nogil:
    """Whether one of the spans, which are sorted and disjoint, meets s."""
    cdef Py_ssize_t low = 0, high = n, middle
    while low < high:  # finds the first that ends behind the beginning of s
        middle = (low + high) // 2
        if written[middle].end <= s.begin:
            low = middle + 1
        else:
            high = middle
    return low < n and written[low].begin < s.end


cdef bint _settled(Part *parts, Py_ssize_t n) except -1:
    """Whether the order in which tensors are computed does not matter: what is written for one is no operand of another, and shares no
    memory with a part of its own operands."""
    cdef Py_ssize_t i
    cdef int k
    cdef Operand *x
    cdef bint found = True
    cdef Span *written = <Span *>malloc(n * sizeof(Span))
    if written is NULL:
        raise MemoryError("no memory for a list of tensors")
    for i in range(n):
        written[i] = _span(&parts[i].to)
    qsort(written, n, sizeof(Span), _order)
    for i in range(n - 1):
        found = found and written[i].end <= written[i + 1].begin
    for i in range(n):
        for k in range(parts[i].problem.count):
            x = &parts[i].problem.operand[k]
            # An operand that is the tensor itself.
            if found and k != parts[i].problem.number and not (x.data == parts[i].to.data and _same_shape(x, &parts[i].to)):
                found = not _meets(written, n, _span(x))
    free(written)
    return found


cdef class Foreach(Call):
    """A function or a formula for each tensor of a list. The call for one tensor, or one of each of `lists` lists, is `each`. Further
    arguments are numbers for all, or lists of them."""

    cdef Elementwise each
    cdef int lists
    cdef bint in_place

    def __init__(self, Elementwise each, int lists, bint in_place):
        self.each, self.lists, self.in_place = each, lists, in_place

    cdef object run(self, tuple args, dict kwargs):
        cdef Py_ssize_t n
        cdef int k, given = <int>len(args)
        cdef Part *parts
        if given < self.lists or type(args[0]) is not list or not args[0]:
            return NotImplemented
        n = len(args[0])
        for k in range(given):
            if type(args[k]) is list:
                if len(args[k]) != n:
                    return NotImplemented
            elif k < self.lists:
                return NotImplemented
        parts = <Part *>malloc(n * sizeof(Part))
        if parts is NULL:
            raise MemoryError("no memory for a list of tensors")
        try:
            return self._solve(args, kwargs, parts, n)
        finally:
            free(parts)

    cdef object _solve(self, tuple args, dict kwargs, Part *parts, Py_ssize_t n):
        cdef Py_ssize_t i
        cdef int k
        cdef Problem *p
        cdef Operand *to
        cdef rm_status status = 0
        cdef list first = args[0]
        cdef list made
        for i in range(n):
            p, to = &parts[i].problem, &parts[i].to
            if not self.each._understood(tuple([v[i] if type(v) is list else v for v in args]), kwargs, p, None) or not _shaped(p):
                return NotImplemented
            # Results have the shape of the first operand.
            if p.like != 0 or not _same_shape(&p.operand[0], &p.operand[p.number == 0]):
                return NotImplemented
            to[0] = p.operand[0]
        if self.in_place:
            if not _settled(parts, n):
                return NotImplemented
            made = None
        else:
            made = [_empty_like(t) for t in first]
            for i in range(n):
                if not _operand(made[i], &parts[i].to):
                    return NotImplemented
        with nogil:
            for i in range(n):
                status = _solved(&parts[i].problem, &parts[i].to)
                if status != 0:
                    break
        _raise(status)
        return made


cdef class Norms(Call):
    """The norms, of order 2, of the tensors of a list."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y
        cdef double order = 2
        cdef Py_ssize_t i
        cdef rm_status status
        if kwargs or not 1 <= len(args) <= 2 or type(args[0]) is not list or not args[0]:
            return NotImplemented
        if len(args) == 2 and (not _number(args[1], &order) or order != 2):
            return NotImplemented
        for t in args[0]:
            if not _operand(t, &x):
                return NotImplemented
        made = [t.new_empty(()) for t in args[0]]
        for i in range(len(made)):
            if not _operand(args[0][i], &x) or not _operand(made[i], &y):
                return NotImplemented
            with nogil:
                status = rm_norm(x.format, x.n, x.data, _SIZES[x.format], x.format, y.data)
            _raise(status)
        return made


# One parameter with its gradient and states.
cdef struct Update:
    Operand tensor[5]
    int64_t step


cdef bint _hyperparameter(dict kwargs, name, double *to) except -1:
    """A keyword that is a number, or a tensor with one number."""
    v = kwargs.get(name)
    if type(v) is _tensor_class:
        v = float(v)
    return _number(v, to)


cdef class Fused(Call):
    """A step of SGD, Adam or AdamW of all parameters."""

    cdef int kind

    def __init__(self, name):
        self.kind = ("sgd", "adam", "adamw").index(name)

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_sgd_options sgd
        cdef rm_adam_options adam
        cdef int count = 2 if self.kind == 0 else 4, k, j
        cdef int64_t t
        cdef double step
        cdef Py_ssize_t n, i
        cdef Update *updates
        cdef Update *u
        cdef Operand o
        cdef rm_status status = 0
        cdef bint first
        if len(args) != (3 if self.kind == 0 else 6) or kwargs is None or type(args[0]) is not list or not args[0]:
            return NotImplemented
        if kwargs.get("grad_scale") is not None or kwargs.get("found_inf") is not None:
            return NotImplemented
        if self.kind == 0:
            if not (_hyperparameter(kwargs, "lr", &sgd.lr) and _hyperparameter(kwargs, "momentum", &sgd.momentum)
                    and _hyperparameter(kwargs, "dampening", &sgd.dampening) and _hyperparameter(kwargs, "weight_decay", &sgd.weight_decay)):
                return NotImplemented
            sgd.nesterov, sgd.maximize, sgd.first = kwargs["nesterov"], kwargs["maximize"], kwargs["is_first_step"]
            count += sgd.momentum != 0
        else:
            if not (_hyperparameter(kwargs, "lr", &adam.lr) and _hyperparameter(kwargs, "beta1", &adam.beta1)
                    and _hyperparameter(kwargs, "beta2", &adam.beta2) and _hyperparameter(kwargs, "eps", &adam.eps)
                    and _hyperparameter(kwargs, "weight_decay", &adam.weight_decay)):
                return NotImplemented
            adam.maximize, adam.decoupled, adam.step = kwargs["maximize"], self.kind == 2, 1
            count += kwargs["amsgrad"]
        n = len(args[0])
        for k in range(count):
            if type(args[k]) is not list or len(args[k]) != n:
                return NotImplemented
        if self.kind != 0 and (type(args[5]) is not list or len(args[5]) != n):
            return NotImplemented
        updates = <Update *>malloc(n * sizeof(Update))
        if updates is NULL:
            raise MemoryError("no memory for a list of tensors")
        try:
            for i in range(n):
                u = &updates[i]
                for k in range(5):
                    u.tensor[k].data = NULL
                for k in range(count):
                    if not _operand(args[k][i], &u.tensor[k]) or u.tensor[k].format != u.tensor[0].format:
                        return NotImplemented
                    for j in range(k):
                        if not _same_shape(&u.tensor[k], &u.tensor[j]) or u.tensor[k].data == u.tensor[j].data:
                            return NotImplemented
                        if not _apart(&u.tensor[k], &u.tensor[j]):
                            return NotImplemented
                if self.kind != 0:
                    if not _operand(args[5][i], &o) or o.n != 1 or (o.format != RM_FORMAT_F32 and o.format != RM_FORMAT_F64):
                        return NotImplemented
                    step = (<double *>o.data)[0] if o.format == RM_FORMAT_F64 else (<float *>o.data)[0]
                    if not 1 <= step < 9e18:
                        return NotImplemented
                    u.step = <int64_t>step
            with nogil:
                # A step of no elements first tells whether the numbers are in their ranges.
                for i in range(-1, n):
                    u = &updates[i if i >= 0 else 0]
                    t = u.tensor[0].n if i >= 0 else 0
                    if self.kind == 0:
                        status = rm_sgd_step(u.tensor[0].format, t, u.tensor[0].data, u.tensor[1].data, u.tensor[2].data, &sgd)
                    else:
                        adam.step = u.step
                        status = rm_adam_step(u.tensor[0].format, t, u.tensor[0].data, u.tensor[1].data, u.tensor[2].data, u.tensor[3].data,
                                              u.tensor[4].data, &adam)
                    if status != 0:
                        break
            if status != 0 and i < 0:
                return NotImplemented
            _raise(status)
            return None
        finally:
            free(updates)
