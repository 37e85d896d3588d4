# Prepared calls of reductions of consecutive elements along an axis, of few elements: a call of the library for each segment of a column.

cdef enum:
    SEGMENT_SUM, SEGMENT_MEAN, SEGMENT_MAX, SEGMENT_MIN, SEGMENT_PROD
    LONG_SEGMENT = 64  # lines of one whose gradient of a product is taken by the table's function

_SEGMENTS = {"sum": SEGMENT_SUM, "mean": SEGMENT_MEAN, "max": SEGMENT_MAX, "min": SEGMENT_MIN, "prod": SEGMENT_PROD}


cdef class Segments(Call):
    """segment_reduce, or its gradient; means of a number and a segment are the table's."""

    cdef bint backward

    def __init__(self, bint backward):
        self.backward = backward

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, to, g, found
        cdef rm_py_strided given
        cdef int64_t n, lines = 1, count, inner = 1, i, j, first, last, at
        cdef int axis = 0, d, what
        cdef bint offsets = False, good = True
        cdef int64_t *segment
        cdef Memory memory
        cdef int64_t shape[MAX_AXES]
        cdef rm_status status = 0
        if len(args) != (4 if self.backward else 2):
            return NotImplemented
        cdef double start = 0
        cdef uint64_t bits = 0
        cdef const char *before = NULL
        lengths, initial = None, None
        for key, value in kwargs.items() if kwargs else ():
            if key == "axis":
                if type(value) is not int or not 0 <= value < MAX_AXES:
                    return NotImplemented
                axis = value
            elif key == "lengths" or key == "offsets":
                if value is not None and lengths is not None:
                    return NotImplemented
                if value is not None:
                    lengths, offsets = value, key == "offsets"
            elif key == "initial":
                initial = value
            elif value is not None and key != "unsafe":
                return NotImplemented
        reduce = _SEGMENTS.get(args[len(args) - 1])
        held = _read(args[len(args) - 2], &x)
        if reduce is None or held is None or x.n > GATHERED or axis >= x.ndim or not _strided(lengths, &given, &n):
            return NotImplemented
        if given.format != -8 or given.ndim != axis + 1 or not _is_dense(&given):
            return NotImplemented
        for d in range(axis):
            if given.shape[d] != x.shape[d]:
                return NotImplemented
            lines *= x.shape[d]
        for d in range(axis + 1, x.ndim):
            inner *= x.shape[d]
        what, count = reduce, given.shape[axis] - offsets
        if initial is not None:
            if not _number(initial, &start) or not _encode(start, x.format, &bits) or (what == SEGMENT_MEAN and not self.backward):
                return NotImplemented
            before = <const char *>&bits
        if count < 1:
            return NotImplemented
        for d in range(x.ndim):
            shape[d] = count if d == axis else x.shape[d]
        kept = []
        if self.backward:
            for i in range(2):
                kept.append(_read(args[i], &found if i else &g))
                if kept[i] is None:
                    return NotImplemented
            if g.format != x.format or found.format != x.format or g.ndim != x.ndim or not _same_shape(&g, &found):
                return NotImplemented
            for d in range(x.ndim):
                if g.shape[d] != shape[d]:
                    return NotImplemented
            made = _new(args[2], x.shape, x.ndim, &to)
        else:
            made = _new(args[0], shape, x.ndim, &to)
        if made is None:
            return NotImplemented
        # Segments of all lines, from a row to another one of the lines joined; then numbers of binary64, and room for what is gathered.
        n = x.shape[axis]
        memory = Memory(8 * (2 * lines * count + 2 * x.n + 4 * lines * count * inner + LONG_SEGMENT * (LONG_SEGMENT + 4)))
        segment = <int64_t *>memory.data
        for i in range(lines):
            last = 0
            for j in range(count):
                at = (<const int64_t *>given.data)[i * given.shape[axis] + j]
                first = at if offsets else last
                last = (<const int64_t *>given.data)[i * given.shape[axis] + j + 1] if offsets else last + at
                if first < 0 or first > last or last > n or (not offsets and not 0 <= at <= n):
                    return NotImplemented
                segment[2 * (i * count + j)], segment[2 * (i * count + j) + 1] = i * n + first, i * n + last
        with nogil:
            if self.backward:
                good = _segment_slopes(&x, &g, &found, what, lines * count, inner, segment, before, &to, <double *>(segment + 2 * lines * count), &status)
            else:
                good = _segment_values(&x, what, lines * count, inner, segment, before, &to, <double *>(segment + 2 * lines * count), &status)
        _raise(status)
        return made if good else NotImplemented


cdef bint _segment_values(const Operand *x, int what, int64_t segments, int64_t inner, const int64_t *segment, const char *before, const Operand *to,
                          double *memory, rm_status *status) noexcept nogil:
    """The value of each column of each segment, and of the number before it, unless this is NULL. memory: 2 numbers for each of x, and 4 for each of the
    result. Returns whether all are decided."""
    cdef ptrdiff_t size = _SIZES[x.format], step = inner * size
    cdef double *wide = memory
    cdef double *made = wide + x.n
    cdef char *row = <char *>(made + segments * inner)
    cdef unsigned char undecided
    cdef double value, other, start = 0
    cdef int64_t i, j, k, n, own = before is not NULL
    cdef const char *at
    cdef char *out
    if what == SEGMENT_MAX or what == SEGMENT_MIN:
        status[0] |= rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide)
    if own:
        status[0] |= rm_py_converted(x.format, RM_FORMAT_F64, 1, before, &start)
        memcpy(row, before, size)
    for i in range(segments):
        n = segment[2 * i + 1] - segment[2 * i]
        for j in range(inner):
            at, out = x.data + segment[2 * i] * step + j * size, to.data + (i * inner + j) * size
            made[i * inner + j] = 1
            if what == SEGMENT_SUM and not own:
                status[0] |= rm_sum(x.format, n, at, step, x.format, out)
            elif what == SEGMENT_MEAN:
                status[0] |= rm_mean(x.format, n, at, step, x.format, out)
            elif what == SEGMENT_SUM or (what == SEGMENT_PROD and n + own > 0):
                for k in range(n):
                    memcpy(row + (own + k) * size, at + k * step, size)
                undecided = 0
                if what == SEGMENT_SUM:
                    status[0] |= rm_sum(x.format, n + own, row, size, x.format, out)
                else:
                    status[0] |= rm_products(x.format, 1, n + own, row, 0, x.format, out, &undecided)
                if undecided:
                    return False
            elif what != SEGMENT_PROD:
                value = start if own else -INFINITY if what == SEGMENT_MAX else INFINITY
                for k in range(segment[2 * i], segment[2 * i + 1]):
                    other = wide[k * inner + j]
                    if isnan(other) or (other > value if what == SEGMENT_MAX else other < value):
                        value = other
                    if isnan(value):
                        break
                made[i * inner + j] = value + 0.0  # no zero has a sign
            if what == SEGMENT_PROD and n + own == 0:
                status[0] |= rm_py_converted(RM_FORMAT_F64, x.format, 1, &made[i * inner + j], out)
    if what == SEGMENT_MAX or what == SEGMENT_MIN:
        status[0] |= rm_py_converted(RM_FORMAT_F64, x.format, segments * inner, made, to.data)
    return True


cdef bint _segment_slopes(const Operand *x, const Operand *g, const Operand *found, int what, int64_t segments, int64_t inner,
                          const int64_t *segment, const char *before, const Operand *to, double *memory, rm_status *status) noexcept nogil:
    """The gradient of each element; outside of segments it is 0. memory: a number for each of x and 4 for each of the results, and
    LONG_SEGMENT times four more. A quotient of a gradient of 24 bits by a number of elements, of at most 13, is as if rounded once: it is farther from boundaries than binary64
    rounds."""
    cdef ptrdiff_t size = _SIZES[x.format], step = inner * size
    cdef double *wide = memory
    cdef double *received = wide + x.n
    cdef double *best = received + segments * inner
    cdef double *quotient = best + segments * inner
    cdef char *rounded = <char *>(quotient + segments * inner)
    cdef char *row = rounded + 8 * segments * inner
    cdef unsigned char *undecided
    cdef int64_t i, j, k, r, n, chosen, own = before is not NULL
    cdef char *out
    memset(to.data, 0, x.n * size)
    status[0] |= rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide)
    status[0] |= rm_py_converted(x.format, RM_FORMAT_F64, g.n, g.data, received)
    status[0] |= rm_py_converted(x.format, RM_FORMAT_F64, g.n, found.data, best)
    for i in range(segments):
        n = segment[2 * i + 1] - segment[2 * i]
        for j in range(inner):
            chosen = n
            if what == SEGMENT_MAX or what == SEGMENT_MIN:
                chosen = 0
                for k in range(segment[2 * i], segment[2 * i + 1]):
                    chosen += wide[k * inner + j] == best[i * inner + j] or isnan(wide[k * inner + j])
            quotient[i * inner + j] = received[i * inner + j] / max(chosen, 1)
    status[0] |= rm_py_converted(RM_FORMAT_F64, x.format, segments * inner, quotient, rounded)
    for i in range(segments):
        n = segment[2 * i + 1] - segment[2 * i]
        if what == SEGMENT_PROD and n > LONG_SEGMENT:
            return False
        for j in range(inner):
            out = to.data + (segment[2 * i] * inner + j) * size
            if what == SEGMENT_PROD and n > 0:
                undecided = <unsigned char *>row + 8 * n * (n + 2)
                for k in range(n):
                    if own:
                        memcpy(row + k * (n + 1) * size, before, size)
                    for r in range(n):
                        memcpy(row + (k * (n + own) + own + r) * size, g.data + (i * inner + j) * size if r == k else
                               x.data + ((segment[2 * i] + r) * inner + j) * size, size)
                    undecided[k] = 0
                status[0] |= rm_products(x.format, n, n + own, row, 0, x.format, row + 8 * n * (n + 1), undecided)
                for k in range(n):
                    memcpy(out + k * step, row + 8 * n * (n + 1) + k * size, size)
                    if undecided[k]:
                        return False
                continue
            for k in range(segment[2 * i], segment[2 * i + 1]):
                if what == SEGMENT_SUM:
                    memcpy(out, g.data + (i * inner + j) * size, size)
                elif what == SEGMENT_MEAN or wide[k * inner + j] == best[i * inner + j] or isnan(wide[k * inner + j]):
                    memcpy(out, rounded + (i * inner + j) * size, size)
                out += step
    return True
