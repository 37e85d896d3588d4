# Prepared calls of convolutions and pooling, for tensors of any strides.


cdef bint _convolved(rm_conv *c, object stride, object padding, object dilation, object groups, const rm_py_strided *x, const rm_py_strided *w,
                     int64_t *shape) except -1:
    """The sizes of a convolution of x with w, and the shape of its result, which has elements."""
    cdef int j, dims = w.ndim - 2
    cdef int64_t room
    if not 1 <= dims <= 3 or x.ndim != w.ndim or type(groups) is not int or not 0 < groups < 1 << 40:
        return False
    if not _each(stride, dims, 1, c.stride) or not _each(dilation, dims, 1, c.dilation) or not _each(padding, dims, 0, c.padding_low):
        return False
    c.dims, c.groups, c.batch, c.channels_in, c.channels_out = dims, groups, x.shape[0], x.shape[1], w.shape[0]
    if c.channels_in % c.groups != 0 or c.channels_out % c.groups != 0 or w.shape[1] * c.groups != c.channels_in:
        return False
    shape[0], shape[1] = c.batch, c.channels_out
    for j in range(dims):
        c.size[j], c.kernel[j], c.padding_high[j] = x.shape[2 + j], w.shape[2 + j], c.padding_low[j]
        room = c.size[j] + 2 * c.padding_low[j] - c.dilation[j] * (c.kernel[j] - 1) - 1
        if room < 0:
            return False
        shape[2 + j] = room // c.stride[j] + 1
    return True


cdef bint _transposed(rm_conv *c, object stride, object padding, object dilation, object extra, object groups, const rm_py_strided *x,
                      const rm_py_strided *w, int64_t *shape) except -1:
    """The sizes of the convolution of which a transposed one of x with w is the gradient, and the shape of its result, which has elements."""
    cdef int64_t more[3]
    cdef int j, dims = w.ndim - 2
    if not 1 <= dims <= 3 or x.ndim != w.ndim or type(groups) is not int or not 0 < groups < 1 << 40 or not _each(extra, dims, 0, more):
        return False
    if not _each(stride, dims, 1, c.stride) or not _each(dilation, dims, 1, c.dilation) or not _each(padding, dims, 0, c.padding_low):
        return False
    c.dims, c.groups, c.batch, c.channels_in, c.channels_out = dims, groups, x.shape[0], w.shape[1] * groups, w.shape[0]
    if x.shape[1] != w.shape[0] or c.channels_out % c.groups != 0:
        return False
    shape[0], shape[1] = c.batch, c.channels_in
    for j in range(dims):
        if more[j] >= max(c.stride[j], c.dilation[j]):
            return False
        c.kernel[j] = w.shape[2 + j]
        shape[2 + j] = (x.shape[2 + j] - 1) * c.stride[j] - 2 * c.padding_low[j] + c.dilation[j] * (c.kernel[j] - 1) + more[j] + 1
        if shape[2 + j] < 1:
            return False
        # If the padding at the end exceeds a stride, there are more positions than x has: the rest receives nothing.
        c.size[j], c.padding_high[j] = shape[2 + j], c.padding_low[j] - more[j]
    return True


cdef bint _channels_last(const rm_py_strided *x) noexcept:
    """Whether the channels of images are contiguous, and not the elements of a channel."""
    cdef int at[4]
    cdef ptrdiff_t step = _size_of(x.format)
    cdef int i, d
    if x.ndim != 4 or _is_dense(x):
        return False
    at[0], at[1], at[2], at[3] = 1, 3, 2, 0
    for i in range(4):
        d = at[i]
        if x.shape[d] != 1:
            if x.stride[d] != step:
                return False
            step *= x.shape[d]
    return True


cdef object _image(object like, const int64_t *shape, int ndim, bint last, Operand *o, ptrdiff_t *steps):
    """A new tensor for a result, with its strides. With `last` its channels are contiguous."""
    cdef rm_py_strided y
    cdef int i
    cdef int64_t n
    if last and shape[1] != 1 and (shape[2] != 1 or shape[3] != 1):
        made = like.new_empty_strided([shape[0], shape[1], shape[2], shape[3]],
                                      [shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]])
    else:
        made = like.new_empty([shape[i] for i in range(ndim)])
    if not _strided(made, &y, &n):
        return None
    o.data = <char *>y.data
    for i in range(ndim):
        steps[i] = y.stride[i]
    return made


cdef class Convolution(Call):
    """convolution, also a transposed one."""

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x, w
        cdef Operand bias, y
        cdef rm_conv c
        cdef int64_t shape[5]
        cdef int64_t n
        cdef ptrdiff_t steps[5]
        cdef bint turned
        cdef rm_status status
        if kwargs or len(args) != 9 or not _strided(args[0], &x, &n) or not _strided(args[1], &w, &n) or x.format < 0 or w.format != x.format:
            return NotImplemented
        turned = args[6]
        if turned:
            if not _transposed(&c, args[3], args[4], args[5], args[7], args[8], &x, &w, shape):
                return NotImplemented
        elif not _convolved(&c, args[3], args[4], args[5], args[8], &x, &w, shape):
            return NotImplemented
        if not _weight(args[2], x.format, 1, &shape[1], &bias):
            return NotImplemented
        out = _image(args[0], shape, x.ndim, _channels_last(&x), &y, steps)
        if out is None:
            return NotImplemented
        with nogil:
            if turned:
                status = rm_conv_grad_input(x.format, &c, x.data, x.stride, w.data, w.stride, bias.data, _SIZES[x.format], y.data, steps)
            else:
                status = rm_conv_forward(x.format, &c, x.data, x.stride, w.data, w.stride, bias.data, _SIZES[x.format], y.data, steps)
        _raise(status)
        return out


cdef class ConvolutionGradient(Call):
    """convolution_backward; of a transposed one if the gradient has no more elements than are read."""

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided g, x, w
        cdef Operand dx, dw, db
        cdef rm_conv c
        cdef int64_t shape[5]
        cdef int64_t n
        cdef int64_t sizes[4]
        cdef ptrdiff_t summed[4]
        cdef ptrdiff_t step_x[5]
        cdef ptrdiff_t step_w[5]
        cdef bint wanted[3]
        cdef bint turned
        cdef int i
        cdef uint64_t axes
        cdef rm_status status = 0
        if kwargs or len(args) != 11 or not _wanted(args[10], wanted):
            return NotImplemented
        if not _strided(args[0], &g, &n) or not _strided(args[1], &x, &n) or not _strided(args[2], &w, &n):
            return NotImplemented
        if g.format < 0 or x.format != g.format or w.format != g.format:
            return NotImplemented
        turned = args[7]
        # A transposed one reads its gradient as a convolution does its input.
        if not _convolved(&c, args[4], args[5], args[6], args[9], &g if turned else &x, &w, shape):
            return NotImplemented
        for i in range(x.ndim):
            if shape[i] != (x.shape[i] if turned else g.shape[i]):
                return NotImplemented
        axes = ((<uint64_t>1 << g.ndim) - 1) ^ 2
        if wanted[2] and not _merged(&g, axes, sizes, summed):
            return NotImplemented
        of_x = _image(args[1], x.shape, x.ndim, _channels_last(&x), &dx, step_x) if wanted[0] else None
        of_w = _image(args[1], w.shape, w.ndim, False, &dw, step_w) if wanted[1] else None
        of_b = args[1].new_empty(g.shape[1]) if wanted[2] else None
        if wanted[2] and not _operand(of_b, &db):
            return NotImplemented
        with nogil:
            if wanted[0] and turned:
                status = rm_conv_forward(g.format, &c, g.data, g.stride, w.data, w.stride, NULL, 0, dx.data, step_x)
            elif wanted[0]:
                status = rm_conv_grad_input(g.format, &c, g.data, g.stride, w.data, w.stride, NULL, 0, dx.data, step_x)
            if wanted[1] and status == 0:
                if turned:
                    status = rm_conv_grad_weight(g.format, &c, g.data, g.stride, x.data, x.stride, dw.data, step_w)
                else:
                    status = rm_conv_grad_weight(g.format, &c, x.data, x.stride, g.data, g.stride, dw.data, step_w)
            if wanted[2] and status == 0:
                status = rm_sum_axes(g.format, sizes, summed, g.data, g.format, db.data)
        _raise(status)
        return of_x, of_w, of_b


cdef bint _pool_of(rm_pool *p, int dims, const int64_t *shape, int ndim, object kernel, object stride, object padding, object dilation,
                   bint ceil_mode) except -1:
    """The windows over an input of this shape, which may have no batch axis."""
    cdef int j
    cdef int64_t room
    cdef int64_t *to
    if not _planes_of(p, dims, shape, ndim) or not _each(kernel, dims, 1, p.kernel):
        return False
    if type(stride) is not list and type(stride) is not tuple or not _each(stride if stride else kernel, dims, 1, p.stride):
        return False
    if not _each(padding, dims, 0, p.padding) or not _each(dilation, dims, 1, p.dilation):
        return False
    p.adaptive = 0
    for j in range(dims):
        if 2 * p.padding[j] > p.dilation[j] * (p.kernel[j] - 1) + 1:
            return False
        room = p.in_[j] + 2 * p.padding[j] - p.dilation[j] * (p.kernel[j] - 1) - 1
        if room < 0:
            return False
        to = &p.out[j]
        to[0] = (room + (p.stride[j] - 1 if ceil_mode else 0)) // p.stride[j] + 1
        if ceil_mode and (to[0] - 1) * p.stride[j] >= p.in_[j] + p.padding[j]:
            to[0] -= 1
    return True


cdef bint _planes_of(rm_pool *p, int dims, const int64_t *shape, int ndim) noexcept:
    """The batch, the channels and the sizes of an input of this shape."""
    cdef int j
    if ndim != dims + 2 and ndim != dims + 1:
        return False
    p.dims, p.batch, p.channels = dims, shape[0] if ndim == dims + 2 else 1, shape[ndim - dims - 1]
    for j in range(dims):
        p.in_[j] = shape[ndim - dims + j]
    return True


cdef void _steps_of(const rm_py_strided *x, int dims, ptrdiff_t *to) noexcept:
    """The strides of a tensor, which may have no batch axis."""
    cdef int i
    to[0] = 0
    for i in range(x.ndim):
        to[dims + 2 - x.ndim + i] = x.stride[i]


cdef void _dense_steps(const rm_pool *p, const int64_t *size, ptrdiff_t each, ptrdiff_t *to) noexcept:
    """The strides of a dense array of planes of these sizes."""
    cdef int j
    for j in range(p.dims - 1, -1, -1):
        to[2 + j] = each
        each *= size[j]
    to[1], to[0] = each, each * p.channels


cdef list _pooled(const rm_pool *p, int ndim, const int64_t *size):
    """The shape of a tensor of planes of these sizes."""
    cdef int j
    return ([p.batch] if ndim == p.dims + 2 else []) + [p.channels] + [size[j] for j in range(p.dims)]


cdef enum:
    MAX_POOL, AVG_POOL

_POOLS = {"max": MAX_POOL, "avg": AVG_POOL}


cdef bint _averaged(tuple args, int at, bint *padded, int64_t *divisor) except -1:
    """The last arguments of an average: whether positions in the padding count, and the divisor, or 0 for the number of positions."""
    padded[0], divisor[0] = True, 0
    if len(args) > at:
        if type(args[at]) is not bool:
            return False
        padded[0] = args[at]
    if len(args) > at + 1 and args[at + 1] is not None:
        if type(args[at + 1]) is not int or not 0 < args[at + 1] < 1 << 40:
            return False
        divisor[0] = args[at + 1]
    return len(args) <= at + 2


cdef class Pool(Call):
    """Maxima with their places, or averages, of windows or of parts of nearly equal size."""

    cdef int what, dims
    cdef bint adaptive

    def __init__(self, what, int dims, bint adaptive=False):
        self.what, self.dims, self.adaptive = _POOLS[what], dims, adaptive

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided x
        cdef rm_pool p
        cdef Operand y, at
        cdef int64_t n, divisor = 0
        cdef ptrdiff_t step_x[5]
        cdef ptrdiff_t step_y[5]
        cdef ptrdiff_t step_at[5]
        cdef int given = <int>len(args), dims = self.dims
        cdef bint padded = False, most = self.what == MAX_POOL
        cdef rm_status status
        if kwargs or given < 2 or not _strided(args[0], &x, &n) or x.format < 0:
            return NotImplemented
        if self.adaptive:
            if given != 2 or not _planes_of(&p, dims, x.shape, x.ndim) or not _each(args[1], dims, 1, p.out):
                return NotImplemented
            p.adaptive = 1
        else:
            ceil_at = 5 if most else 4
            ceil_mode = args[ceil_at] if given > ceil_at else False
            if given > 7 or (most and given > 6) or type(ceil_mode) is not bool or (not most and not _averaged(args, 5, &padded, &divisor)):
                return NotImplemented
            if not _pool_of(&p, dims, x.shape, x.ndim, args[1], args[2] if given > 2 else [], args[3] if given > 3 else (0,),
                            args[4] if most and given > 4 else (1,), ceil_mode):
                return NotImplemented
        shape = _pooled(&p, x.ndim, p.out)
        made = args[0].new_empty(shape)
        places = args[0].new_empty(shape, dtype=_int64) if most else None
        if not _operand(made, &y) or (most and not _whole_operand(places, &at)):
            return NotImplemented
        _steps_of(&x, dims, step_x)
        _dense_steps(&p, p.out, _SIZES[x.format], step_y)
        _dense_steps(&p, p.out, 8, step_at)
        with nogil:
            if most:
                status = rm_max_pool(x.format, &p, x.data, step_x, y.data, step_y, <int64_t *>at.data, step_at)
            else:
                status = rm_avg_pool(x.format, &p, padded, divisor, x.data, step_x, y.data, step_y)
        _raise(status)
        return (made, places) if most else made


cdef class PoolGradient(Call):
    """The gradients of averages."""

    cdef int dims
    cdef bint adaptive

    def __init__(self, int dims, bint adaptive=False):
        self.dims, self.adaptive = dims, adaptive

    cdef object run(self, tuple args, dict kwargs):
        cdef rm_py_strided g, x
        cdef rm_pool p
        cdef Operand dx
        cdef int64_t n, divisor = 0
        cdef ptrdiff_t step_g[5]
        cdef ptrdiff_t step_x[5]
        cdef int dims = self.dims, j
        cdef bint padded = False
        cdef rm_status status
        if kwargs or len(args) != (2 if self.adaptive else 8) or not _strided(args[0], &g, &n) or g.format < 0:
            return NotImplemented
        if not _strided(args[1], &x, &n) or x.format != g.format or x.ndim != g.ndim:
            return NotImplemented
        if self.adaptive:
            if not _planes_of(&p, dims, x.shape, x.ndim):
                return NotImplemented
            p.adaptive = 1
            for j in range(dims):
                p.out[j] = g.shape[g.ndim - dims + j]
        elif type(args[5]) is not bool or not _averaged(args, 6, &padded, &divisor) or not _pool_of(
                &p, dims, x.shape, x.ndim, args[2], args[3], args[4], (1,), args[5]):
            return NotImplemented
        for j in range(g.ndim):
            if g.shape[j] != (p.out[j - g.ndim + dims] if j >= g.ndim - dims else x.shape[j]):
                return NotImplemented
        made = args[0].new_empty(_pooled(&p, x.ndim, p.in_))
        if not _operand(made, &dx):
            return NotImplemented
        _steps_of(&g, dims, step_g)
        _dense_steps(&p, p.in_, _SIZES[g.format], step_x)
        with nogil:
            status = rm_avg_pool_backward(g.format, &p, padded, divisor, g.data, step_g, dx.data, step_x)
        _raise(status)
        return made


cdef class MaximaGradient(Call):
    """The gradients of maxima, by their places, which are the last argument."""

    cdef int dims

    def __init__(self, int dims):
        self.dims = dims

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, dx
        cdef rm_py_strided x, at
        cdef int64_t n, m, i, plane = 1, each = 1, k, count, begin, end, planes, batch
        cdef int dims = self.dims, j, at_of = <int>len(args) - 1
        cdef Memory memory, copied
        cdef int64_t *places
        cdef const int64_t *given
        cdef double *terms
        cdef double *sums
        cdef ptrdiff_t size
        cdef bint good = True, exact, rounds = False
        cdef int found
        cdef rm_status status = 0
        if kwargs or at_of < 2 or not _strided(args[1], &x, &n) or not _strided(args[at_of], &at, &m) or at.format != -8:
            return NotImplemented
        held = _read(args[0], &g)
        if held is None or x.format != g.format or x.ndim != g.ndim or at.ndim != g.ndim or not dims + 1 <= x.ndim <= dims + 2:
            return NotImplemented
        if n == 0 or m == 0:
            return NotImplemented
        for j in range(g.ndim):
            if at.shape[j] != g.shape[j] or (j < g.ndim - dims and x.shape[j] != g.shape[j]):
                return NotImplemented
            if j >= g.ndim - dims:
                plane *= x.shape[j]
                each *= g.shape[j]
        if _is_dense(&at):
            given = <const int64_t *>at.data
        else:
            if m > MANY:
                return NotImplemented
            copied = Memory(8 * m)
            at.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
            rm_py_spread(&at, at.ndim, at.shape, copied.data)
            given = <const int64_t *>copied.data
        made = _new(args[0], x.shape, x.ndim, &dx)
        if made is None:
            return NotImplemented
        size = _SIZES[g.format]
        # As many planes at a time as leave their sums in the first-level cache.
        planes = m // each
        batch = min(planes, max(1, 2048 // plane))
        memory = Memory(8 * batch * (2 * each + plane))
        places = <int64_t *>memory.data
        terms = <double *>(memory.data + 8 * batch * each)
        sums = terms + batch * each
        with nogil:
            begin = 0
            while begin < planes and good and status == 0:
                end = min(planes, begin + batch)
                # Few gradients meet in an element, and their sums are mostly exact in binary64.
                status = rm_py_converted(g.format, RM_FORMAT_F64, (end - begin) * each, g.data + begin * each * size, terms)
                memset(sums, 0, 8 * (end - begin) * plane)
                exact = g.format != RM_FORMAT_F64 or not rounds
                for j in range(end - begin):
                    if exact:
                        found = rm_py_added(g.format == RM_FORMAT_F64, each, &given[(begin + j) * each], plane, &terms[j * each], &sums[j * plane])
                        good, exact = good and found >= 0, found > 0
                if good and exact and status == 0:
                    status = rm_py_converted(RM_FORMAT_F64, g.format, (end - begin) * plane, sums, dx.data + begin * plane * size)
                elif good and status == 0:
                    rounds, count = True, 0
                    # Gathers the values of places; those of empty windows, at -1, are left out.
                    for j in range(end - begin):
                        for i in range((begin + j) * each, (begin + j + 1) * each):
                            k = given[i]
                            if k < -1 or k >= plane:
                                good = False
                            elif k >= 0:
                                memcpy(<char *>terms + count * size, g.data + i * size, size)
                                places[count] = j * plane + k
                                count += 1
                    if good:
                        status = rm_segment_sum(g.format, (end - begin) * plane, 1, dx.data + begin * plane * size, size, size, count, places, 8,
                                                <char *>terms, size, size)
                begin = end
        if not good:
            return NotImplemented
        _raise(status)
        return made
