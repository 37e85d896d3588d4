# Functions that prepared calls of layers share: operands, which are copied if they have gaps, weights, new tensors, lists of sizes.

cdef enum:
    SMALL = 1 << 14  # elements of a layer that is computed in memory of its own
    MOST = 1 << 21  # elements of an operand with gaps that is copied


cdef class Memory:
    """Bytes that are freed with the object."""

    cdef char *data

    def __cinit__(self, size_t size):
        self.data = <char *>malloc(max(size, 1))
        if self.data is NULL:
            raise MemoryError("no memory for operands")

    def __dealloc__(self):
        free(self.data)


cdef object _read(object t, Operand *o):
    """Reads a tensor of one of the formats that has elements, and copies them unless they are contiguous. Returns what must be kept alive while
    they are read, None for another tensor."""
    cdef rm_py_strided x
    cdef Memory copy
    cdef int i
    if not _strided(t, &x, &o.n) or x.format < 0:
        return None
    o.ndim, o.format, o.data = x.ndim, x.format, <char *>x.data
    for i in range(x.ndim):
        o.shape[i] = x.shape[i]
    if _is_dense(&x):
        return t
    if o.n > MOST:
        return None
    copy = Memory(o.n * _SIZES[x.format])
    rm_py_spread(&x, x.ndim, x.shape, copy.data)
    o.data = copy.data
    return copy


cdef object _new(object like, const int64_t *shape, int ndim, Operand *o):
    """A new tensor of this shape and of the format of another one, or None if it has no elements."""
    made = like.new_empty([shape[i] for i in range(ndim)])
    return made if _operand(made, o) else None


cdef bint _weight(object t, int format, int ndim, const int64_t *shape, Operand *o) except -1:
    """Whether t is None, whose address is NULL, or a contiguous tensor of this format and shape."""
    cdef int i
    o.data = NULL
    if t is None:
        return True
    if not _operand(t, o) or o.format != format or o.ndim != ndim:
        return False
    for i in range(ndim):
        if o.shape[i] != shape[i]:
            return False
    return True


cdef bint _wanted(object mask, bint *to) except -1:
    """Whether this is a list of three booleans, which say what gradients are wanted."""
    cdef int i
    if type(mask) is not list and type(mask) is not tuple or len(mask) != 3:
        return False
    for i in range(3):
        to[i] = mask[i]
    return True


cdef bint _each(object values, int dims, int64_t least, int64_t *to) except -1:
    """Whether the values are an integer for each dimension, or one for all, and none is below the minimum."""
    cdef int i
    if type(values) is not list and type(values) is not tuple or (len(values) != dims and len(values) != 1):
        return False
    for i in range(dims):
        v = values[i if len(values) == dims else 0]
        if type(v) is not int or not least <= v < 1 << 40:
            return False
        to[i] = v
    return True
