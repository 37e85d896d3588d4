# Prepared calls that sample images at the places of a grid, and that copy rows to places.


cdef bint _is_boundary(double v, int format) noexcept nogil:
    """Whether a rounded number of binary64 may lie on a boundary of rounding of the format, so that the side of its value is unknown."""
    cdef int dropped = 52 - (23 if format == RM_FORMAT_F32 else 10 if format == RM_FORMAT_F16 else 7)
    cdef double least = ldexp(1.0, -14 if format == RM_FORMAT_F16 else -126)
    cdef uint64_t bits, half = <uint64_t>1 << (dropped - 1)
    if format == RM_FORMAT_F64 or v == 0 or isnan(v) or isinf(v):
        return False
    memcpy(&bits, &v, 8)
    if -least < v < least:
        return bits & (half - 1) == 0
    return bits & (half + half - 1) == half


cdef class GridSample(Call):
    """grid_sampler_2d and grid_sampler_3d, and their gradients."""

    cdef bint gradient

    def __init__(self, bint gradient=False):
        self.gradient = gradient

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, grid, y, dx, dgrid
        cdef rm_grid_sample s
        cdef rm_gather a
        cdef rm_py_sample own
        cdef int first = self.gradient, d, f, open_
        cdef int64_t room = 0
        cdef int64_t shape[MAX_AXES]
        cdef int64_t taps = 1, size = 1, channels, terms, count, i
        cdef ptrdiff_t steps[3]
        cdef Memory memory
        cdef int64_t *at
        cdef double *weight
        cdef bint wanted[2]
        cdef bint sure = True, small
        cdef rm_status status = 0
        if kwargs or len(args) != (7 if self.gradient else 5) or type(args[first + 2]) is not int or type(args[first + 3]) is not int:
            return NotImplemented
        held_x, held_grid = _read(args[first], &x), _read(args[first + 1], &grid)
        if held_x is None or held_grid is None or x.format != grid.format or (not self.gradient and x.format == RM_FORMAT_F64):
            return NotImplemented
        s.dims, s.mode, s.padding, s.align_corners = grid.shape[grid.ndim - 1] if grid.ndim else 0, args[first + 2], args[first + 3], args[first + 4]
        if not 2 <= s.dims <= 3 or x.ndim != s.dims + 2 or grid.ndim != x.ndim or grid.shape[0] != x.shape[0] or not 0 <= s.padding <= 2:
            return NotImplemented
        if not 0 <= s.mode <= 2 or (s.mode == 2 and s.dims != 2):
            return NotImplemented
        f, channels, s.samples, s.points = x.format, x.shape[1], x.shape[0], 1
        shape[0], shape[1] = s.samples, channels
        for d in range(s.dims):
            s.size[d] = x.shape[x.ndim - 1 - d]
            size *= s.size[d]
            shape[2 + d] = grid.shape[1 + d]
            s.points *= grid.shape[1 + d]
            taps *= 4 if s.mode == 2 else 1 if s.mode == 1 else 2
        count = s.samples
        terms = (1 if self.gradient else count) * taps * s.points  # gradients take one sample after the other
        small = terms * channels <= MANY
        if terms > MANY or not small and self.gradient and f == RM_FORMAT_F64:
            return NotImplemented
        if self.gradient:
            held_g = _read(args[0], &g)
            if held_g is None or g.format != f or g.ndim != x.ndim or len(args[6]) != 2:
                return NotImplemented
            for d in range(x.ndim):
                if g.shape[d] != shape[d]:
                    return NotImplemented
            wanted[0], wanted[1] = args[6][0], args[6][1]
            of_x = _new(args[1], x.shape, x.ndim, &dx) if wanted[0] else None
            of_grid = _new(args[2], grid.shape, grid.ndim, &dgrid) if wanted[1] else None
        else:
            out = _new(args[0], shape, x.ndim, &y)
        if self.gradient:
            own.format, own.dims, own.channels, own.size, own.points, own.taps = f, s.dims, channels, size, s.points, taps
            room = terms * (3 + 2 * s.dims + 2 * channels) + (g.n + 3 * x.n + grid.n) // max(count, 1) if small else 0
            room = max(room, terms * (2 + s.dims) + rm_py_sample_workspace(&own))
        memory = Memory(8 * (room if self.gradient else 2 * terms))
        at = <int64_t *>memory.data
        weight = <double *>(memory.data + 8 * terms)
        own.at, own.weight, own.slope = at, weight, weight + terms
        with nogil:
            if not self.gradient:
                status = rm_grid_terms(f, &s, grid.data, at, weight, NULL)
            if status == 0 and not self.gradient:
                a.lines, a.elements, a.inner, a.points, a.taps, a.group = s.samples * channels, size, 1, s.points, taps, channels
                a.first, a.at, a.weight, a.mean = NULL, at, weight, 0
                steps[0], steps[1], steps[2] = size * _SIZES[f], _SIZES[f], _SIZES[f]
                status = rm_gather_sum(f, f, &a, x.data, steps, y.data)
            if self.gradient:
                s.samples = 1
                for i in range(count):
                    if status == 0 and sure:
                        status = rm_grid_terms(f, &s, grid.data + i * (grid.n // count) * _SIZES[f], at, weight, weight + terms if wanted[1] else NULL)
                    open_ = 3
                    if status == 0 and sure and f != RM_FORMAT_F64:
                        open_ = rm_py_sample_gradients(&own, g.data + i * (g.n // count) * _SIZES[f], x.data + i * (x.n // count) * _SIZES[f],
                                                       dx.data + i * (x.n // count) * _SIZES[f] if wanted[0] else NULL,
                                                       dgrid.data + i * (grid.n // count) * _SIZES[f] if wanted[1] else NULL,
                                                       weight + terms * (1 + s.dims))
                    sure = sure and (small or not open_)
                    if status == 0 and sure and open_:
                        status = _sampled_gradients(&s, f, channels, size, taps, g.n // count, x.n // count, g.data + i * (g.n // count) * _SIZES[f],
                                                    x.data + i * (x.n // count) * _SIZES[f], at, weight,
                                                    dx.data + i * (x.n // count) * _SIZES[f] if wanted[0] and open_ & 1 else NULL,
                                                    dgrid.data + i * (grid.n // count) * _SIZES[f] if wanted[1] and open_ & 2 else NULL, &sure)
        _raise(status)
        if not sure:
            return NotImplemented
        return (of_x, of_grid) if self.gradient else out


cdef rm_status _sampled_gradients(const rm_grid_sample *s, int f, int64_t channels, int64_t size, int64_t taps, int64_t of_g, int64_t of_x, const char *g,
                                  const char *x, const int64_t *at, double *weight, char *dx, char *dgrid, bint *sure) noexcept nogil:
    """The gradient with respect to the image, whose terms and sums are rounded to binary64, and that with respect to the grid: sums over the
    channels for each tap, then over the taps, rounded once, unless that is undecided. Slopes and workspace lie behind the weights."""
    cdef int64_t points = s.points, terms = s.samples * taps * s.points, i, c, t, p, k, count = 0
    cdef double *slope = weight + terms
    cdef double *received = slope + terms * s.dims
    cdef double *image = received + of_g
    cdef double *products = image + of_x
    cdef double *turned = products + terms * channels
    cdef int64_t *ids
    cdef double *sums
    cdef rm_status status = 0
    rm_py_converted(f, RM_FORMAT_F64, of_g, g, received)
    if dgrid is not NULL:
        rm_py_converted(f, RM_FORMAT_F64, of_x, x, image)
        # For each place and tap: the values of the channels, and the gradient that the place receives.
        for i in range(s.samples):
            for p in range(points):
                for t in range(taps):
                    k = at[(i * taps + t) * points + p]
                    for c in range(channels):
                        products[((i * points + p) * taps + t) * channels + c] = 0.0 if k < 0 else image[(i * channels + c) * size + k]
        for i in range(s.samples):
            status |= rm_matmul_batched(RM_FORMAT_F64, RM_FORMAT_F64, points, taps, 1, channels, &products[i * points * taps * channels],
                                        8 * taps * channels, 8 * channels, 8, &received[i * channels * points], 8, 8 * points, 8, NULL, 0, 0,
                                        &turned[i * points * taps], 8 * taps, 8, 8)
        sums = turned + terms
        for i in range(s.samples):
            status |= rm_matmul_batched(RM_FORMAT_F64, RM_FORMAT_F64, points, s.dims, 1, taps, &slope[i * s.dims * taps * points], 8,
                                        8 * taps * points, 8 * points, &turned[i * points * taps], 8 * taps, 8, 8, NULL, 0, 0,
                                        &sums[i * points * s.dims], 8 * s.dims, 8, 8)
        for i in range(s.samples * points * s.dims):
            sure[0] = sure[0] and not _is_boundary(sums[i], f)
        status |= rm_py_converted(RM_FORMAT_F64, f, s.samples * points * s.dims, sums, dgrid)
    if dx is not NULL and status == 0:
        ids, sums = <int64_t *>turned, turned + terms
        for i in range(s.samples):
            for t in range(taps):
                for p in range(points):
                    k = at[(i * taps + t) * points + p]
                    if k >= 0:
                        ids[count] = i * size + k
                        for c in range(channels):
                            products[count * channels + c] = weight[(i * taps + t) * points + p] * received[(i * channels + c) * points + p]
                        count += 1
        memset(sums, 0, 8 * of_x)
        status = rm_index_add(RM_FORMAT_F64, s.samples * size, channels, sums, 8 * channels, 8, count, ids, 8, products, 8 * channels, 8)
        for i in range(s.samples):
            for k in range(size):
                for c in range(channels):
                    image[(i * channels + c) * size + k] = sums[(i * size + k) * channels + c]
        status |= rm_py_converted(RM_FORMAT_F64, f, of_x, image, dx)
    return status


cdef class LineCopy(Call):
    """index_copy: the last of several rows for one place stays there."""

    cdef int into

    def __init__(self, into):
        self.into = _INTO[into]

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, y, source
        cdef rm_py_strided at, given
        cdef int dim = 0, d
        cdef int64_t outer, inner, i, k, m, n
        cdef Memory places
        cdef bint good = True
        cdef ptrdiff_t line
        if kwargs or len(args) != 4 or not _operand(args[0], &x) or not _strided(args[2], &at, &m) or at.format != -8 or at.ndim > 1:
            return NotImplemented
        held = _read(args[3], &source)
        if held is not None and x.ndim == 0 and source.ndim == 0:
            x.ndim = source.ndim = 1
            x.shape[0] = source.shape[0] = 1
        if held is None or source.format != x.format or source.ndim != x.ndim or m > MANY or not _axis_of(args[1], &x, &dim, &outer, &inner):
            return NotImplemented
        for d in range(x.ndim):
            if source.shape[d] != (m if d == dim else x.shape[d]):
                return NotImplemented
        if self.into == FIRST:
            if not _strided(args[3], &given, &n) or not _apart_from(&x, &given) or not _apart_from(&x, &at):
                return NotImplemented
        places = Memory(8 * m)
        at.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
        rm_py_spread(&at, at.ndim, at.shape, places.data)
        for i in range(m):
            k = (<int64_t *>places.data)[i]
            good = good and 0 <= k < x.shape[dim]
        if not good:
            return NotImplemented
        out, y = args[0], x
        if self.into == NEW:
            out = args[0].new_empty(args[0].shape)
            if not _operand(out, &y):
                return NotImplemented
            memcpy(y.data, x.data, x.n * _SIZES[x.format])
        line, n = inner * _SIZES[x.format], x.shape[dim]
        with nogil:
            for i in range(outer):
                for k in range(m):
                    memcpy(y.data + (i * n + (<int64_t *>places.data)[k]) * line, source.data + (i * m + k) * line, line)
        return out


cdef class Given(Call):
    """A call that makes a new tensor, for a given result: a contiguous tensor of its format and shape that shares no memory with the
    arguments. In place, it is the first argument."""

    cdef Call made
    cdef bint first

    def __init__(self, Call made, bint first=False):
        self.made, self.first = made, first

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand from_, to
        cdef rm_py_strided x
        cdef int64_t n
        rest = dict(kwargs) if kwargs else {}
        if not self.first and "out" not in rest:
            return NotImplemented
        out = args[0] if self.first else rest.pop("out")
        if not _operand(out, &to):
            return NotImplemented
        for t in args[self.first:]:
            if isinstance(t, _tensor_class) and (not _strided(t, &x, &n) or not _apart_from(&to, &x)):
                return NotImplemented
        found = self.made.run(args, rest)
        if found is NotImplemented or type(found) is tuple:
            return NotImplemented
        if not _operand(found, &from_) or from_.format != to.format or not _same_shape(&from_, &to):
            return NotImplemented
        memcpy(to.data, from_.data, to.n * _SIZES[to.format])
        return out
