# Elements of random streams.

_RANDOM = {
    "words32": 0, "words64": 1, "uniform": 2, "bernoulli": 3, "integers": 4, "permutation": 5, "dropout": 6, "normal": 7,
    "truncated_normal": 8
}


def random_fill(what, place, out, format="f64", a=0, b=0, x=None, ends=(0, 0)):
    """Fill out, contiguous, with elements of a stream: place is (seed, stream, first); a and b the parameters of the
    distribution, ends those of a truncated one; x, contiguous too, what a dropout reads."""
    cdef unsigned long long seed, stream
    cdef long long first, low = 0, last = 0, n = out.size
    cdef double p = 0, q = 0, lower, upper
    cdef int f, which = _RANDOM[what]
    cdef ptrdiff_t size = out.itemsize
    cdef View y = _view(out), v = _view(x)
    cdef rm_status status
    seed, stream, first = place
    f, _ = _FORMATS[format]
    lower, upper = ends
    if which == 4:
        low, last = a, b
    else:
        p, q = a, b
    with nogil:
        if which == 0:
            status = rm_random_words32(seed, stream, first, n, <void *>y.base, size)
        elif which == 1:
            status = rm_random_words64(seed, stream, first, n, <void *>y.base, size)
        elif which == 2:
            status = rm_random_uniform(f, seed, stream, first, n, p, q, <void *>y.base, size)
        elif which == 3:
            status = rm_random_bernoulli(seed, stream, first, n, p, <void *>y.base, size)
        elif which == 4:
            status = rm_random_integers(seed, stream, first, n, low, last, <void *>y.base, size)
        elif which == 5:
            status = rm_random_permutation(seed, stream, first, n, <void *>y.base, size)
        elif which == 8:
            status = rm_random_truncated_normal(f, seed, stream, first, n, p, q, lower, upper, <void *>y.base, size)
        elif which == 7:
            status = rm_random_normal(f, seed, stream, first, n, p, q, <void *>y.base, size)
        else:
            status = rm_dropout(f, seed, stream, first, n, p, <void *>v.base, size, <void *>y.base, size)
    _raise(status)  # what else could be at fault is checked before


def random_block(seed, stream, counter):
    """The generator's block at a counter: four words."""
    cdef unsigned int words[4]
    rm_random_block(seed, stream, counter, words)
    return words[0], words[1], words[2], words[3]


def random_fill_at(what, seed, stream, index, out):
    """Fill out, contiguous, with the elements of a stream that the index, contiguous int64 numbers, names: draws of 64 bits or normal binary64 numbers."""
    cdef unsigned long long key = seed, which = stream
    cdef bint normal = {"words64": False, "normal": True}[what]
    cdef long long i, n = out.size
    cdef View y = _view(out), at = _view(index)
    cdef long long *element = <long long *>at.base
    cdef char *to = <char *>y.base
    cdef unsigned long long *draw = <unsigned long long *>y.base
    cdef unsigned int words[4]
    cdef int half
    cdef rm_status status = 0
    with nogil:
        for i in range(n):
            if normal:
                status = rm_random_normal(RM_FORMAT_F64, key, which, element[i], 1, 0, 1, to + 8 * i, 8)
                if status:
                    break
            else:
                rm_random_block(key, which, element[i] // 2, words)
                half = 2 * (element[i] & 1)
                draw[i] = words[half] | <unsigned long long>words[half + 1] << 32
    _raise(status)
