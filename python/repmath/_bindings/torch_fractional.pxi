# Prepared calls of maxima of windows whose places random numbers shift, and of counts with weights.

cdef extern from "<math.h>" nogil:
    double floor(double x)
    double fma(double x, double y, double z)


cdef bint _window_starts(double sample, int64_t size, int64_t window, int64_t made, int64_t *start) noexcept nogil:
    """Where the windows of an axis begin, as torch/_aten/fractional_pools.py derives it; whether the sample is one. The whole part of sample * (size
    - window) is that of the product rounded down: the rounded product, or 1 less where that is whole and above the exact one."""
    cdef double d = <double>(size - window)
    cdef double product = sample * d
    cdef int64_t shift, m = made - 1 if made > 1 else 1, i
    if not 0 <= sample < 1:
        return False
    shift = <int64_t>floor(product)
    if <double>shift == product and fma(sample, d, -product) < 0:
        shift -= 1
    for i in range(made):
        start[i] = (i * (size - window) + shift) // m - shift // m
    start[made - 1] = size - window
    return True


cdef class FractionalPool(Call):
    """fractional_max_pool2d and fractional_max_pool3d."""

    cdef int dims

    def __init__(self, int dims):
        self.dims = dims

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, samples, y, at
        cdef int64_t window[3]
        cdef int64_t made[3]
        cdef int64_t size[3]
        cdef int64_t shape[MAX_AXES]
        cdef int64_t planes, plane = 1, outputs = 1, most = 0, i
        cdef int d, dims = self.dims, ndim
        cdef Memory memory
        cdef bint good = True
        if kwargs or len(args) != 4 or not _each(args[1], dims, 1, window) or not _each(args[2], dims, 1, made):
            return NotImplemented
        if len(args[1]) != dims or len(args[2]) != dims:
            return NotImplemented
        held, held_samples = _read(args[0], &x), _read(args[3], &samples)
        if held is None or held_samples is None or samples.format != x.format or not dims + 1 <= x.ndim <= dims + 2 or samples.ndim != 3:
            return NotImplemented
        ndim = x.ndim
        for d in range(ndim):
            shape[d] = x.shape[d]
        for d in range(dims):
            size[d] = x.shape[ndim - dims + d]
            shape[ndim - dims + d] = made[d]
            plane *= size[d]
            outputs *= made[d]
            most = max(most, made[d])
            if made[d] + window[d] - 1 + (dims == 3) > size[d]:
                return NotImplemented
        planes = x.n // plane
        if samples.shape[0] != (x.shape[0] if ndim == dims + 2 else 1) or samples.shape[1] != x.shape[ndim - dims - 1] or samples.shape[2] != dims:
            return NotImplemented
        if x.n > MANY or planes * outputs > MANY:
            return NotImplemented
        memory = Memory(8 * (x.n + samples.n + 3 * most))
        made_y = _new(args[0], shape, ndim, &y)
        made_at = _empty([shape[d] for d in range(ndim)], dtype=_int64)
        if made_y is None or not _whole_operand(made_at, &at):
            return NotImplemented
        with nogil:
            rm_py_converted(x.format, RM_FORMAT_F64, x.n, x.data, memory.data)
            rm_py_converted(x.format, RM_FORMAT_F64, samples.n, samples.data, memory.data + 8 * x.n)
            for i in range(planes):
                good = good and _fractional_maxima(dims, size, window, made, most, <double *>memory.data + i * plane,
                                                   <double *>memory.data + x.n + i * dims, <int64_t *>memory.data + x.n + samples.n,
                                                   <int64_t *>at.data + i * outputs)
            if good:
                for i in range(planes * outputs):
                    memcpy(y.data + i * _SIZES[x.format], x.data + (i // outputs * plane + (<int64_t *>at.data)[i]) * _SIZES[x.format],
                           _SIZES[x.format])
        return (made_y, made_at) if good else NotImplemented


cdef bint _fractional_maxima(int dims, const int64_t *size, const int64_t *window, const int64_t *made, int64_t most, const double *x,
                             const double *sample, int64_t *start, int64_t *at) noexcept nogil:
    """The places of the maxima of a plane: the first ones, or of windows with a NaN that of the last NaN."""
    cdef int64_t i, j, k, a, b, c, place, best
    cdef int64_t n[3]
    cdef int64_t w[3]
    cdef int64_t from_[3]
    cdef int64_t line, slice_
    cdef int d, first = 3 - dims
    for d in range(3):
        n[d], w[d], from_[d] = 1, 1, 0
    for d in range(dims):
        n[first + d], w[first + d] = made[d], window[d]
        # Of two axes the last one has the first sample.
        if not _window_starts(sample[dims - 1 - d if dims == 2 else d], size[d], window[d], made[d], start + (first + d) * most):
            return False
    line = size[dims - 1]
    slice_ = line * size[dims - 2]
    for i in range(n[0]):
        for j in range(n[1]):
            for k in range(n[2]):
                from_[0] = start[i] if dims == 3 else 0
                from_[1], from_[2] = start[most + j], start[2 * most + k]
                best = from_[0] * slice_ + from_[1] * line + from_[2]
                for a in range(w[0]):
                    for b in range(w[1]):
                        for c in range(w[2]):
                            place = (from_[0] + a) * slice_ + (from_[1] + b) * line + from_[2] + c
                            if x[place] > x[best] or isnan(x[place]):
                                best = place
                at[(i * n[1] + j) * n[2] + k] = best
    return True


cdef class FractionalPoolGradient(Call):
    """Their gradients: exact sums of what the places receive, rounded once."""

    cdef int dims

    def __init__(self, int dims):
        self.dims = dims

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, x, to
        cdef rm_py_strided at
        cdef int64_t planes, plane = 1, outputs = 1, n, i
        cdef int64_t *ids
        cdef Memory memory
        cdef ptrdiff_t size
        cdef int d
        cdef bint good = True
        cdef rm_status status
        if kwargs or len(args) != 5:
            return NotImplemented
        held, held_x = _read(args[0], &g), _read(args[1], &x)
        if held is None or held_x is None or g.format != x.format or g.ndim != x.ndim or not self.dims + 1 <= x.ndim <= self.dims + 2:
            return NotImplemented
        if not _strided(args[4], &at, &n) or at.format != -8 or at.ndim != g.ndim or n != g.n or g.n > MANY or x.n > MANY:
            return NotImplemented
        for d in range(g.ndim):
            if at.shape[d] != g.shape[d] or (d < g.ndim - self.dims and g.shape[d] != x.shape[d]):
                return NotImplemented
        for d in range(g.ndim - self.dims, g.ndim):
            plane *= x.shape[d]
            outputs *= g.shape[d]
        memory = Memory(8 * g.n)
        ids = <int64_t *>memory.data
        at.format = RM_FORMAT_F64  # 8 bytes each, which are copied
        rm_py_spread(&at, at.ndim, at.shape, memory.data)
        for i in range(g.n):
            good = good and 0 <= ids[i] < plane
            ids[i] += i // outputs * plane
        out = _new(args[1], x.shape, x.ndim, &to)
        if not good or out is None:
            return NotImplemented
        size = _SIZES[x.format]
        memset(to.data, 0, x.n * size)
        with nogil:
            status = rm_index_add(x.format, x.n, 1, to.data, size, size, g.n, ids, 8, g.data, size, size)
        _raise(status)
        return out


cdef class WeightedCounts(Call):
    """bincount with weights of binary32 or binary64."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand w, to
        cdef Memory places
        cdef int64_t n, least = 0, most = -1, i
        cdef int64_t *at
        cdef ptrdiff_t size
        cdef rm_status status
        if not 2 <= len(args) <= 3 or (kwargs and (len(args) == 3 or kwargs.keys() != {"minlength"})):
            return NotImplemented
        fewest = args[2] if len(args) == 3 else kwargs["minlength"] if kwargs else 0
        held = _read(args[1], &w)
        if held is None or w.format < RM_FORMAT_F32 or type(fewest) is not int or not 0 <= fewest <= MANY:
            return NotImplemented
        places = _integers_of(args[0], &n)
        if places is None or w.ndim != 1 or w.n != n:
            return NotImplemented
        at = <int64_t *>places.data
        for i in range(n):
            least, most = min(least, at[i]), max(most, at[i])
        if least < 0 or most >= MANY:
            return NotImplemented
        out = args[1].new_empty(max(most + 1, <int64_t>fewest))
        if not _operand(out, &to):
            return NotImplemented
        size = _SIZES[w.format]
        memset(to.data, 0, to.n * size)
        with nogil:
            status = rm_index_add(w.format, to.n, 1, to.data, size, size, n, at, 8, w.data, size, size)
        _raise(status)
        return out
