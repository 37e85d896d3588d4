# Prepared calls of equally spaced numbers and of histograms between them.

cdef enum:
    HISTOGRAM, EDGES, BOXES  # of all elements, and edges or counts of points, a row each

_HISTOGRAMS = {
    "histogram": (HISTOGRAM, False), "histogram_of_edges": (HISTOGRAM, True), "histogramdd_edges": (EDGES, False), "histogramdd": (BOXES, False),
    "histogramdd_of_edges": (BOXES, True)
}


cdef bint _spaced_numbers(double start, double end, int64_t steps, int format, char *out) noexcept nogil:
    """The numbers start + i (end - start)/n, n = steps - 1, each rounded once. Returns whether all roundings are decided, by the bound of _spaced.py: of both parts
    of the quotient, 2^-100 of the larger limit. Where the sum (n - i) start + i end is one number, the quotient has no error but its residual, which is a number
    too; the limits are so large that nothing underflows. A sum that is 0 is +0."""
    cdef int64_t i, n = max(steps - 1, 1)
    cdef double largest = max(fabs(start), fabs(end)), error = ldexp(1, -100) * largest, a, b, first, second, part, low, total, q, off
    cdef double ends[2]
    cdef char other[8]
    cdef ptrdiff_t size = _SIZES[format]
    if not ldexp(1, -900) < largest < ldexp(1, 900) or n >= <int64_t>1 << 31:
        return False
    for i in range(steps):
        a = _two_product(<double>(n - i), start, &first)
        b = _two_product(<double>i, end, &second)
        total = _two_sum(a, b, &part)
        low = first + second + part
        q = total / n
        off = 0 if first == 0 and second == 0 and part == 0 else error
        low = (fma(-q, <double>n, total) + low) / n
        if total == 0 and off == 0:
            ends[0] = ends[1] = 0
        elif format == RM_FORMAT_F64:
            ends[0], ends[1] = q + (low - off), q + (low + off)
        else:
            ends[0], ends[1] = _to_odd(q, low - off), _to_odd(q, low + off)
        if (rm_py_converted(RM_FORMAT_F64, format, 1, &ends[0], out + i * size) or rm_py_converted(RM_FORMAT_F64, format, 1, &ends[1], other)
                or memcmp(out + i * size, other, size) != 0):
            return False
    return True


cdef class Spaced(Call):
    """linspace."""

    cdef object run(self, tuple args, dict kwargs):
        cdef double start, end
        cdef int64_t steps
        cdef Operand to
        cdef bint decided
        known = {"dtype": None}
        if len(args) != 3 or not _number(args[0], &start) or not _number(args[1], &end) or type(args[2]) is not int or not 0 < args[2] <= MANY:
            return NotImplemented
        if not _plain_options(kwargs, known) or _pretended() is not None or _compiling() is not None:
            return NotImplemented
        dtype, steps = _default_dtype() if known["dtype"] is None else known["dtype"], args[2]
        if dtype not in _formats or isnan(start) or isnan(end):
            return NotImplemented
        made = _empty(steps, dtype=dtype)
        if not _operand(made, &to):
            return NotImplemented
        with nogil:
            decided = _spaced_numbers(start, end, steps, to.format, to.data)
        return made if decided else NotImplemented


cdef int64_t _bin_of(const double *edge, int64_t bins, double x) noexcept nogil:
    """The last bin whose first edge is not above a number between the first edge and the last."""
    cdef int64_t begin = 0, end = bins, k
    while end - begin > 1:
        k = (begin + end) // 2
        if edge[k] <= x:
            begin = k
        else:
            end = k
    return begin


cdef class Counts(Call):
    """histogram and _histogramdd: counts or exact sums of weights between edges that are given, or that are equally far apart."""

    cdef int what
    cdef bint given

    def __init__(self, name):
        self.what, self.given = _HISTOGRAMS[name]

    cdef object _edges(self, object like, const double *wide, int64_t rows, int64_t dims, object bins, object limits):
        """The edges of each axis, or None."""
        cdef double low, high, number
        cdef int64_t i, d
        cdef Operand to
        cdef bint decided
        made = []
        for d in range(dims):
            if type(bins[d]) is not int or not 0 < bins[d] < MANY:
                return None
            if limits is not None:
                if not _number(limits[2 * d], &low) or not _number(limits[2 * d + 1], &high):
                    return None
            else:
                low, high = wide[d], wide[d]
                for i in range(rows):
                    number = wide[i * dims + d]
                    if not fabs(number) < INFINITY:
                        return None
                    low, high = min(low, number), max(high, number)
            if not low <= high or low == high:
                return None
            edges = like.new_empty(bins[d] + 1)
            if not _operand(edges, &to):
                return None
            with nogil:
                decided = _spaced_numbers(low, high, to.n, to.format, to.data)
            if not decided:
                return None
            made.append(edges)
        return made

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, w, edge, to
        cdef int64_t dims, rows, d, i, at, total = 1, places = 0, m = 0
        cdef Memory memory, some
        cdef double *wide
        cdef double *edges
        cdef double *counts
        cdef int64_t *bins_of
        cdef int64_t *place
        cdef ptrdiff_t size
        cdef bint inside, weighed
        cdef rm_status status = 0
        weight, limits = None, None
        for key, value in kwargs.items() if kwargs else ():
            if key == "weight":
                weight = value
            elif key == "range" and not self.given:
                limits = value
            elif key != "density" or value is not False:
                return NotImplemented
        if not 1 <= len(args) <= 2 or (self.given and len(args) < 2):
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or x.format < RM_FORMAT_F32 or x.n > MANY or (self.what != HISTOGRAM and x.ndim < 2):
            return NotImplemented
        bins = args[1] if len(args) > 1 else 100
        if self.what == HISTOGRAM:
            bins = [bins]
        dims, size = 1 if self.what == HISTOGRAM else x.shape[x.ndim - 1], _SIZES[x.format]
        if (type(bins) is not list and type(bins) is not tuple) or len(bins) != dims or (limits is not None and len(limits) != 2 * dims):
            return NotImplemented
        rows = x.n // dims
        other, weighed = None, weight is not None
        if weight is not None:
            other = _read(weight, &w)
            if other is None or w.format != x.format or w.ndim != x.ndim - (self.what != HISTOGRAM) or w.n != rows:
                return NotImplemented
            for d in range(w.ndim):
                if w.shape[d] != x.shape[d]:
                    return NotImplemented
        memory = Memory(8 * x.n)
        wide = <double *>memory.data
        _raise(rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, wide))
        tensors = bins if self.given else self._edges(args[0], wide, rows, dims, bins, limits)
        if tensors is None or self.what == EDGES:
            return NotImplemented if tensors is None else tensors
        shape = []
        for t in tensors:
            if not _operand(t, &edge) or edge.format != x.format or edge.ndim != 1 or edge.n < 2 or edge.n > MANY or total * edge.n > 16 * MANY:
                return NotImplemented
            total *= edge.n - 1
            places += edge.n
            shape.append(edge.n - 1)
        made = args[0].new_empty(shape)
        if not _operand(made, &to):
            return NotImplemented
        some = Memory(8 * (dims + places + max(total, 2 * rows)))
        bins_of = <int64_t *>some.data
        edges = <double *>some.data + dims
        counts = edges + places  # or the places of the rows that are inside, and their weights
        place = <int64_t *>counts
        places = 0
        for d in range(dims):
            _operand(tensors[d], &edge)
            _raise(rm_py_converted(edge.format, RM_FORMAT_F64, edge.n, edge.data, edges + places))
            for i in range(edge.n - 1):
                if not edges[places + i] <= edges[places + i + 1]:
                    return NotImplemented
            bins_of[d] = edge.n - 1
            places += edge.n
        with nogil:
            if not weighed:
                memset(counts, 0, 8 * total)
            for i in range(rows):
                at, places, inside = 0, 0, True
                for d in range(dims):
                    inside = inside and edges[places] <= wide[i * dims + d] <= edges[places + bins_of[d]]
                    if inside:
                        at = at * bins_of[d] + _bin_of(edges + places, bins_of[d], wide[i * dims + d])
                    places += bins_of[d] + 1
                if inside and not weighed:
                    counts[at] += 1
                elif inside:
                    place[m] = at
                    memcpy(<char *>(place + rows) + m * size, w.data + i * size, size)
                    m += 1
            if not weighed:
                status = rm_py_converted(RM_FORMAT_F64, x.format, total, counts, to.data)
            else:
                memset(to.data, 0, total * size)
                status = rm_index_add(x.format, total, 1, to.data, size, size, m, place, 8, place + rows, size, size)
        _raise(status)
        if self.what == BOXES:
            return made
        return made, bins[0].clone() if self.given else tensors[0]
