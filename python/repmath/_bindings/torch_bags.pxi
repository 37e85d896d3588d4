# Prepared calls of bags of embeddings, and of resized images: gathered sums.


cdef Memory _integers_of(object t, int64_t *n):
    """The 64-bit integers of a tensor of one axis, None for another tensor."""
    cdef rm_py_strided x
    cdef Memory made
    if not _strided(t, &x, n) or x.format != -8 or x.ndim != 1 or n[0] > MANY:
        return None
    made = Memory(8 * n[0])
    x.format = RM_FORMAT_F64  # any format of 8 bytes, to copy them
    rm_py_spread(&x, 1, x.shape, made.data)
    return made


cdef bint _bags_of(const int64_t *offsets, int64_t bags, int64_t n, int64_t *bag) noexcept nogil:
    """Sets the bag of each place. Returns whether the offsets ascend from 0 to at most the number of places."""
    cdef int64_t b, i
    if offsets[0] != 0 or offsets[bags - 1] > n:
        return False
    for b in range(1, bags):
        if offsets[b] < offsets[b - 1]:
            return False
    b = 0
    for i in range(n):
        while b + 1 < bags and offsets[b + 1] <= i:
            b += 1
        bag[i] = b
    return True


cdef class Bags(Call):
    """_embedding_bag and _embedding_bag_forward_only: PyTorch's own says which bag has which places, and these sums and means go into its
    result."""

    cdef object overload

    def __init__(self, overload):
        self.overload = overload

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand table, factors, to
        cdef rm_gather a
        cdef int64_t n, bags, i, count = 0, padding = -1
        cdef Memory indices, offsets, memory
        cdef int64_t *first
        cdef int64_t *at
        cdef double *weight
        cdef ptrdiff_t steps[3]
        cdef ptrdiff_t size
        cdef int given = <int>len(args), mode
        cdef rm_status status
        if kwargs or not 3 <= given <= 9 or not _operand(args[0], &table) or table.format == RM_FORMAT_F64 or table.ndim != 2:
            return NotImplemented
        mode_of = args[4] if given > 4 else 0
        if type(mode_of) is not int or not 0 <= mode_of <= 1 or (given > 5 and args[5]) or (given > 7 and args[7]):
            return NotImplemented
        mode = mode_of
        if given > 8:
            if type(args[8]) is not int:
                return NotImplemented
            padding = args[8]
        indices, offsets = _integers_of(args[1], &n), _integers_of(args[2], &bags)
        if indices is None or offsets is None:
            return NotImplemented
        weights = args[6] if given > 6 else None
        size, factors.data = _SIZES[table.format], NULL
        if weights is not None and (mode != 0 or not _operand(weights, &factors) or factors.format != table.format or factors.n != n):
            return NotImplemented
        memory = Memory(8 * (3 * n + bags + 1))
        first = <int64_t *>memory.data
        at, weight = first + bags + 1, <double *>(first + bags + 1 + n)
        if not _bags_of(<int64_t *>offsets.data, bags, n, at):
            return NotImplemented
        for i in range(n):
            if not 0 <= (<int64_t *>indices.data)[i] < table.shape[0]:
                return NotImplemented
        made = self.overload(*args)
        if not _operand(made[0], &to) or to.format != table.format or to.ndim != 2 or to.shape[0] != bags or to.shape[1] != table.shape[1]:
            return NotImplemented
        a.lines, a.elements, a.inner, a.points, a.taps, a.group = 1, table.shape[0], table.shape[1], bags, 0, 1
        a.first, a.at, a.weight, a.mean = first, at, weight if factors.data is not NULL else NULL, mode == 1
        steps[0], steps[1], steps[2] = table.n * size, table.shape[1] * size, size
        with nogil:
            if factors.data is not NULL:
                rm_py_converted(table.format, RM_FORMAT_F64, n, factors.data, &weight[n])
            bags = 0
            for i in range(n):
                while bags < a.points and (<int64_t *>offsets.data)[bags] <= i:
                    first[bags] = count
                    bags += 1
                if (<int64_t *>indices.data)[i] != padding:
                    if factors.data is not NULL:
                        weight[count] = weight[n + i]
                    at[count] = (<int64_t *>indices.data)[i]
                    count += 1
            while bags <= a.points:
                first[bags] = count
                bags += 1
            status = rm_gather_sum(table.format, table.format, &a, table.data, steps, to.data)
        _raise(status)
        return made


cdef class BagGradient(Call):
    """_embedding_bag_backward of sums, with weights or without, and of means, whose quotients are rounded to binary64."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, factors, to
        cdef rm_gather a
        cdef int64_t n, bags, i, k, padding = -1, rows
        cdef Memory indices, offsets, memory
        cdef int64_t *first
        cdef int64_t *at
        cdef int64_t *bag
        cdef const int64_t *row
        cdef double *weight
        cdef double *wide = NULL
        cdef ptrdiff_t steps[3]
        cdef ptrdiff_t size
        cdef rm_status status
        cdef bint mean
        if kwargs or not 11 <= len(args) <= 12 or type(args[6]) is not int or args[7] or args[9] or (args[8] != 0 and args[8] != 1):
            return NotImplemented
        held = _read(args[0], &g)
        indices, offsets = _integers_of(args[1], &n), _integers_of(args[2], &bags)
        if held is None or g.format == RM_FORMAT_F64 or g.ndim != 2 or indices is None or offsets is None or g.shape[0] != bags:
            return NotImplemented
        if len(args) > 11:
            if type(args[11]) is not int:
                return NotImplemented
            padding = args[11]
        rows, size, factors.data, row = args[6], _SIZES[g.format], NULL, <const int64_t *>indices.data
        mean = args[8] == 1
        if args[10] is not None and (mean or not _operand(args[10], &factors) or factors.format != g.format or factors.n != n):
            return NotImplemented
        if not 0 < rows or rows * g.shape[1] > MANY:
            return NotImplemented
        for i in range(n):
            if not 0 <= row[i] < rows:
                return NotImplemented
        memory = Memory(8 * (4 * n + rows + 2 + (bags + g.n if mean else 0)))
        first = <int64_t *>memory.data
        at, bag, weight = first + rows + 2, first + rows + 2 + n, <double *>(first + rows + 2 + 2 * n)
        if not _bags_of(<int64_t *>offsets.data, bags, n, bag):
            return NotImplemented
        out = args[0].new_empty([rows, g.shape[1]])
        if not _operand(out, &to):
            return NotImplemented
        a.lines, a.elements, a.inner, a.points, a.taps, a.group = 1, bags, g.shape[1], rows, 0, 1
        a.first, a.at, a.weight, a.mean = first, at, weight if factors.data is not NULL else NULL, 0
        steps[0], steps[1], steps[2] = g.n * size, g.shape[1] * size, size
        with nogil:
            if factors.data is not NULL:
                rm_py_converted(g.format, RM_FORMAT_F64, n, factors.data, &weight[n])
            memset(first, 0, 8 * (rows + 2))
            for i in range(n):  # sorts the places by row: first counts them, then places them
                if row[i] != padding:
                    first[row[i] + 2] += 1
            for k in range(rows):
                first[k + 2] += first[k + 1]
            for i in range(n):
                if row[i] != padding:
                    k = first[row[i] + 1]
                    first[row[i] + 1] += 1
                    at[k] = bag[i]
                    if factors.data is not NULL:
                        weight[k] = weight[n + i]
            if mean:
                wide = weight + 2 * n
                for k in range(bags):
                    wide[k] = 0
                for i in range(n):
                    if row[i] != padding:
                        wide[bag[i]] += 1
                for k in range(bags):
                    wide[k] = max(wide[k], <double>1)
                rm_py_converted(g.format, RM_FORMAT_F64, g.n, g.data, wide + bags)
                rm_py_divided(bags, g.shape[1], wide + bags, wide)
                steps[0], steps[1], steps[2] = g.n * 8, g.shape[1] * 8, 8
                status = rm_gather_sum(RM_FORMAT_F64, g.format, &a, wide + bags, steps, to.data)
            else:
                status = rm_gather_sum(g.format, g.format, &a, g.data, steps, to.data)
        _raise(status)
        return out


cdef class BagWeightGradient(Call):
    """_embedding_bag_per_sample_weights_backward: products of what a bag receives and a row."""

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand g, table, to
        cdef int64_t n, bags, i, padding = -1, width
        cdef Memory indices, offsets, bag
        cdef const int64_t *row
        cdef ptrdiff_t size
        cdef rm_status status = 0
        if kwargs or not 6 <= len(args) <= 7:
            return NotImplemented
        if len(args) > 6:
            if type(args[6]) is not int:
                return NotImplemented
            padding = args[6]
        held_g, held = _read(args[0], &g), _read(args[1], &table)
        indices, offsets = _integers_of(args[2], &n), _integers_of(args[3], &bags)
        if held_g is None or held is None or g.format != table.format or g.ndim != 2 or table.ndim != 2 or indices is None or offsets is None:
            return NotImplemented
        width, size, row = g.shape[1], _SIZES[g.format], <const int64_t *>indices.data
        if table.shape[1] != width or g.shape[0] != bags:
            return NotImplemented
        bag = Memory(8 * n)
        if not _bags_of(<int64_t *>offsets.data, bags, n, <int64_t *>bag.data):
            return NotImplemented
        for i in range(n):
            if not 0 <= row[i] < table.shape[0]:
                return NotImplemented
        out = args[0].new_empty(n)
        if not _operand(out, &to):
            return NotImplemented
        with nogil:
            for i in range(n):
                if row[i] == padding:
                    memset(to.data + i * size, 0, size)
                else:
                    status |= rm_matmul_batched(g.format, g.format, 1, 1, 1, width, g.data + (<int64_t *>bag.data)[i] * width * size, 0, 0, size,
                                                table.data + row[i] * width * size, 0, size, 0, NULL, 0, 0, to.data + i * size, 0, 0, 0)
        _raise(status)
        return out


cdef class Resized(Call):
    """Images resized along each of their last axes, by terms that are cached for some sizes, or the gradients of that.

    Parameters
    ----------
    terms : callable
        Of the numbers of elements before and after, whether corners are aligned, and a scale or None: two contiguous arrays (taps, elements), of
        indices, -1 for none, and of weights that the format, which is the last argument, has.
    dims : int
    gradient : bool
    """

    cdef object terms
    cdef int dims
    cdef bint gradient
    cdef dict kept

    def __init__(self, terms, int dims, bint gradient=False):
        self.terms, self.dims, self.gradient, self.kept = terms, dims, gradient, {}

    cdef tuple _terms_of(self, int64_t size, int64_t made, object align_corners, object scale, object dtype):
        key = size, made, align_corners, scale, dtype
        found = self.kept.get(key)
        if found is None:
            if len(self.kept) > 64:
                self.kept.clear()
            at, weights = self.terms(size, made, align_corners, scale, dtype)
            found = at, weights, at.__array_interface__["data"][0], weights.__array_interface__["data"][0], len(at)
            self.kept[key] = found
        return <tuple>found

    cdef object run(self, tuple args, dict kwargs):
        cdef Operand x, to
        cdef rm_gather a
        cdef int dims = self.dims, d, k, i, sizes = 1 + self.gradient, given = <int>len(args)
        cdef int64_t size[3]
        cdef int64_t made[3]
        cdef int64_t whole[5]
        cdef int64_t shape[5]
        cdef int64_t n
        cdef size_t places, weights
        cdef ptrdiff_t steps[3]
        cdef Memory memory
        cdef char *from_
        cdef char *next_
        cdef rm_status status = 0
        cdef int64_t planes, turned
        if kwargs or not sizes + 2 <= given <= sizes + 2 + dims or not _each(args[1], dims, 1, made) or type(args[sizes + 1]) is not bool:
            return NotImplemented
        held = _read(args[0], &x)
        if held is None or x.ndim != dims + 2 or x.format == RM_FORMAT_F64:
            return NotImplemented
        if self.gradient and (not _each(args[2], dims + 2, 1, whole) or len(args[2]) != dims + 2 or whole[0] != x.shape[0] or whole[1] != x.shape[1]):
            return NotImplemented
        n = x.shape[0] * x.shape[1]
        for d in range(dims):
            size[d] = whole[2 + d] if self.gradient else x.shape[2 + d]
            if self.gradient and x.shape[2 + d] != made[d]:
                return NotImplemented
            n *= max(size[d], made[d])
        if n > MANY:
            return NotImplemented
        for d in range(dims + 2):
            shape[d] = x.shape[d]
            whole[d] = x.shape[d] if d < 2 else size[d - 2] if self.gradient else made[d - 2]
        out = _new(args[0], whole, dims + 2, &to)
        memory = Memory(16 * n)
        from_ = x.data
        # Of many planes with short lines the numbers at each place lie beside each other: lines of all planes.
        planes = x.shape[0] * x.shape[1]
        turned = planes if planes >= 32 and max(size[dims - 1], made[dims - 1]) < 16 else 1
        if turned > 1:
            from_ = memory.data + 8 * n
            rm_py_turn(planes, x.n // planes, _SIZES[x.format], x.data, from_)
            shape[0] = shape[1] = 1
        for k in range(dims):
            d = k if self.gradient else dims - 1 - k
            scale = args[sizes + 2 + d] if given > sizes + 2 + d else None
            if scale is not None and type(scale) is not float:
                return NotImplemented
            found = self._terms_of(size[d], made[d], args[sizes + 1], scale, args[0].dtype)
            places, weights, a.taps = found[2], found[3], found[4]
            a.lines, a.inner = 1, turned
            for i in range(dims + 2):
                if i < 2 + d:
                    a.lines *= shape[i]
                elif i > 2 + d:
                    a.inner *= shape[i]
            a.elements, a.points, a.group = shape[2 + d], whole[2 + d], a.lines
            a.first, a.at, a.weight, a.mean = NULL, <const int64_t *>places, <const double *>weights, 0
            steps[2] = _SIZES[x.format]
            steps[1] = a.inner * steps[2]
            steps[0] = a.elements * steps[1]
            next_ = to.data if k == dims - 1 and turned == 1 else memory.data + 4 * n * (k % 2)
            with nogil:
                status = rm_gather_sum(x.format, x.format, &a, from_, steps, next_)
            _raise(status)
            shape[2 + d], from_ = whole[2 + d], next_
        if turned > 1:
            rm_py_turn(to.n // planes, planes, _SIZES[x.format], from_, to.data)
        return out
