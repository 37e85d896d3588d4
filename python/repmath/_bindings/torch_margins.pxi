# Prepared calls of losses with margins, in binary64, and of counts by bins.


cdef struct Margin:
    int64_t rows, classes, terms
    int reduction, format
    double *x  # in binary64
    const int64_t *target
    double *weight  # NULL for none
    double *g  # one, or one a row
    double *made


cdef bint _is_class(const int64_t *target, int64_t n, int64_t classes, bint ends) noexcept:
    """Whether all are classes. With `ends` a negative number ends a row of them."""
    cdef int64_t i
    for i in range(n):
        if target[i] >= classes or (target[i] < 0 and not ends):
            return False
    return True


cdef enum:
    MANY_MARGINS = 1 << 22  # as many take some 64 MiB


cdef class Margins(Call):
    """multi_margin_loss, or with `labels` multilabel_margin_loss_forward, and their gradients."""

    cdef bint labels, gradient

    def __init__(self, bint labels, bint gradient=False):
        self.labels, self.gradient = labels, gradient

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, w, to, among
        cdef rm_py_strided t
        cdef Margin m
        cdef int first = self.gradient, given = <int>len(args) - self.gradient
        cdef int64_t n, i
        cdef double p = 1, margin = 1
        cdef Memory memory, targets
        cdef rm_status status
        w.data = NULL
        if kwargs or (not 3 <= given <= 4 if self.labels else not 2 <= given <= 6):
            return NotImplemented
        if not _operand(args[first], &x) or not 1 <= x.ndim <= 2 or x.n > (MAX_ELEMENTS if self.labels else MANY_MARGINS) or not _strided(args[first + 1], &t, &n) or t.format != -8:
            return NotImplemented
        m.format, m.classes = x.format, x.shape[x.ndim - 1]
        m.rows, m.reduction = x.n // m.classes, 1
        if self.labels:
            if n != x.n or t.ndim != x.ndim or t.shape[t.ndim - 1] != m.classes or given != 3 + self.gradient:
                return NotImplemented
        elif n != m.rows or t.ndim > 1:
            return NotImplemented
        if not self.labels:
            if (given > 2 and not _number(args[first + 2], &p)) or (given > 3 and not _number(args[first + 3], &margin)) or (p != 1 and p != 2):
                return NotImplemented
            if given > 4 and not _weight(args[first + 4], x.format, 1, &m.classes, &w):
                return NotImplemented
        how = args[first + 2] if self.labels else args[first + 5] if given > 5 else 1
        if type(how) is not int or not 0 <= how <= 2:
            return NotImplemented
        m.reduction = how
        targets = Memory(8 * n)
        t.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
        rm_py_spread(&t, t.ndim, t.shape, targets.data)
        m.target = <const int64_t *>targets.data
        if not _is_class(m.target, n, m.classes, self.labels):
            return NotImplemented
        i = (3 if self.labels else 2) * x.n
        memory = Memory(8 * (i + m.rows + 1 + m.classes))
        m.x = <double *>memory.data
        m.made = &m.x[x.n]
        m.g = &m.x[i]
        m.weight = &m.x[i + m.rows + 1] if w.data is not NULL else NULL
        if self.gradient:
            held_g = _read(args[0], &g)
            if held_g is None or g.format != x.format or g.n != (m.rows if how == 0 else 1):
                return NotImplemented
            rm_py_converted(x.format, RM_FORMAT_F64, g.n, g.data, m.g)
            out = _new(args[1], x.shape, x.ndim, &to)
        else:
            out = args[0].new_empty(() if how else args[0].shape[:x.ndim - 1] if self.labels else args[1].shape)
            if not _operand(out, &to):
                return NotImplemented
            marks = args[0].new_empty(args[1].shape) if self.labels else None
            if self.labels and not _operand(marks, &among):
                return NotImplemented
        rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, m.x)
        if m.weight is not NULL:
            rm_py_converted(x.format, RM_FORMAT_F64, m.classes, w.data, m.weight)
        with nogil:
            if self.labels:
                status = _of_labels(&m, self.gradient, &m.x[2 * x.n], to.data)
                if not self.gradient:
                    status |= rm_py_converted(RM_FORMAT_F64, x.format, x.n, &m.x[2 * x.n], among.data)
            else:
                status = _of_classes(&m, p == 2, margin, self.gradient, to.data)
        _raise(status)
        return (out, marks) if self.labels and not self.gradient else out


@cython.cdivision(True)
cdef void _equal_slopes(Margin *m, double margin) noexcept nogil:
    """The gradient where each margin above 0 has the slope 1: one number in a row, whose exact sum is the product with how many there are."""
    cdef int64_t i, j, t, count
    cdef double terms = <double>(m.rows * m.classes if m.reduction == 1 else m.classes), by
    cdef double[2] choice
    cdef const double *x
    cdef double *made
    choice[0] = 0.0
    for i in range(m.rows):
        t, x, made, count = m.target[i], &m.x[i * m.classes], &m.made[i * m.classes], 0
        by = m.weight[t] * m.g[0 if m.reduction else i] if m.weight is not NULL else m.g[0 if m.reduction else i]
        choice[1] = by / terms
        for j in range(m.classes):  # without a branch, which data of both signs would mislead
            made[j] = choice[margin - x[t] + x[j] > 0]
            count += margin - x[t] + x[j] > 0
        count -= margin - x[t] + x[t] > 0
        made[t] = -(<double>count * by if count and by != 0 else 0.0) / terms


@cython.cdivision(True)
cdef rm_status _of_classes(Margin *m, bint squared, double margin, bint gradient, char *out) noexcept nogil:
    """The loss of one class in each row, or its gradient."""
    cdef int64_t i, j, t, n = m.rows * m.classes, at
    cdef double room, total, by
    cdef rm_status status = 0
    if gradient and not squared:
        _equal_slopes(m, margin)
        return rm_py_converted(RM_FORMAT_F64, m.format, n, m.made, out)
    for i in range(m.rows):
        t = m.target[i]
        for j in range(m.classes):
            at = i * m.classes + j
            room = 0.0 if j == t else margin - m.x[i * m.classes + t] + m.x[at]
            room = 0.0 if 0.0 > room else room  # a maximum, without a branch; NaN stays
            if gradient:
                by = room + room
                by = by * m.weight[t] if m.weight is not NULL else by
                # A margin that is NaN counts for nothing here.
                m.made[at] = by * m.g[0 if m.reduction else i] if room > 0 else 0.0
            else:
                room = room * room if squared else room
                m.made[at] = room * m.weight[t] if m.weight is not NULL else room
        if gradient:
            status |= rm_sum(RM_FORMAT_F64, m.classes, &m.made[i * m.classes], 8, RM_FORMAT_F64, &total)
            m.made[i * m.classes + t] = -total
        elif m.reduction == 0:
            status |= rm_mean(RM_FORMAT_F64, m.classes, &m.made[i * m.classes], 8, m.format, out + i * _SIZES[m.format])
    if gradient:
        for i in range(n):
            m.made[i] /= <double>(n if m.reduction == 1 else m.classes)
        return status | rm_py_converted(RM_FORMAT_F64, m.format, n, m.made, out)
    if m.reduction == 1:
        status |= rm_mean(RM_FORMAT_F64, n, m.made, 8, m.format, out)
    elif m.reduction == 2:
        status |= rm_sum(RM_FORMAT_F64, n, m.made, 8, RM_FORMAT_F64, &total)
        total /= <double>m.classes
        status |= rm_py_converted(RM_FORMAT_F64, m.format, 1, &total, out)
    return status


@cython.cdivision(True)
cdef rm_status _of_labels(Margin *m, bint gradient, double *among, char *out) noexcept nogil:
    """The loss of several classes in each row, up to the first that is negative, or its gradient. Marks each of these classes by 1."""
    cdef int64_t i, j, k, t, n = m.rows * m.classes, count
    cdef double room, total
    cdef double *rooms = NULL
    cdef double *line
    cdef rm_status status = 0
    cdef const int64_t *target
    rooms = <double *>malloc(8 * m.classes * m.classes)
    if rooms is NULL:
        return RM_ERR_MEMORY
    for i in range(n):
        among[i] = m.made[i] = 0.0
    for i in range(m.rows):
        target, line, count = &m.target[i * m.classes], &m.x[i * m.classes], 0
        for k in range(m.classes):
            if target[k] < 0:
                break
            among[i * m.classes + target[k]] = 1.0
        for k in range(m.classes):
            t = target[k]
            if t < 0:
                break
            for j in range(m.classes):
                room = 1.0 - line[t] + line[j]
                if room <= 0 or among[i * m.classes + j] != 0:
                    room = 0.0
                rooms[count] = room
                count += 1
                if room > 0:
                    m.made[i * m.classes + j] += 1.0
                    m.made[i * m.classes + t] -= 1.0
        if not gradient:
            status |= rm_sum(RM_FORMAT_F64, count, rooms, 8, RM_FORMAT_F64, &m.g[i])
    free(rooms)
    if gradient:
        for i in range(n):
            m.made[i] = m.made[i] * m.g[0 if m.reduction else i // m.classes] / <double>(n if m.reduction == 1 else m.classes)
        return status | rm_py_converted(RM_FORMAT_F64, m.format, n, m.made, out)
    count = 1 if m.reduction else m.rows
    if m.reduction == 1:
        status |= rm_mean(RM_FORMAT_F64, m.rows, m.g, 8, RM_FORMAT_F64, &total)
    elif m.reduction == 2:
        status |= rm_sum(RM_FORMAT_F64, m.rows, m.g, 8, RM_FORMAT_F64, &total)
    if m.reduction:
        m.g[0] = total
    for i in range(count):
        m.g[i] /= <double>m.classes
    return status | rm_py_converted(RM_FORMAT_F64, m.format, count, m.g, out)


cdef class Histogram(Call):
    """histc with a given range.

    Parameters
    ----------
    edges : callable
        The least number of each bin and the greatest one of the last, of two limits and the number of bins.
    """

    cdef object edges
    cdef dict kept  # edges as an array, by limits and bins

    def __init__(self, edges):
        self.edges, self.kept = edges, {}

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, to
        cdef double low = 0, high = 0
        cdef int64_t bins = 100, i, k, begin, end
        cdef Memory memory, edges
        cdef double *wide
        cdef double *edge
        cdef rm_status status
        if kwargs or not 1 <= len(args) <= 4 or (len(args) > 1 and type(args[1]) is not int):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or (len(args) > 2 and not _number(args[2], &low)) or (len(args) > 3 and not _number(args[3], &high)):
            return NotImplemented
        bins = args[1] if len(args) > 1 else 100
        if not 0 < bins <= MAX_ELEMENTS or not -1e300 < low < high < 1e300 or x.n > MANY:
            return NotImplemented
        edges = self.kept.get((low, high, bins))
        if edges is None:
            if len(self.kept) > 64:
                self.kept.clear()
            edges = Memory(8 * (bins + 1))
            for k, v in enumerate(self.edges(low, high, bins)):
                (<double *>edges.data)[k] = v
            self.kept[low, high, bins] = edges
        out = args[0].new_empty(bins)
        if not _operand(out, &to):
            return NotImplemented
        memory = Memory(8 * (x.n + bins))
        wide, edge = <double *>memory.data, <double *>edges.data
        with nogil:
            rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide)
            memset(&wide[x.n], 0, 8 * bins)
            for i in range(x.n):
                if not edge[0] <= wide[i] <= edge[bins]:
                    continue
                begin, end = 0, bins  # finds the last edge that is not above
                while end - begin > 1:
                    k = (begin + end) // 2
                    if edge[k] <= wide[i]:
                        begin = k
                    else:
                        end = k
                wide[x.n + begin] += 1
            status = rm_py_converted(RM_FORMAT_F64, x.format, bins, &wide[x.n], to.data)
        _raise(status)
        return out
