"""Parts of exact sums of a C library by ctypes (repmath/partials.h): computed, joined in any order, rounded."""

import ctypes

import numpy as np
from exact_oracle import FORMATS
from reductions_library import I64, OK, pointer

NAMES = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...
WINDOW = 21


def view(x):
    return pointer(x), I64(x.strides[0]), I64(x.strides[1])


def strides(x):
    return (I64 * 5)(*x.strides)


class Product:
    """a b."""

    def __init__(self, lib, fmt, a, b):
        self.c, self.shape, self.keep = lib.c, (a.shape[0], b.shape[1]), (a, b)
        self.arguments = NAMES.index(fmt), I64(a.shape[0]), I64(b.shape[1]), I64(a.shape[1]), *view(a), *view(b)
        self.bounds = (a.shape[0],), (b.shape[1],)
        self.name = "matmul"


class Scatter:
    """Rows of src, added to those that index names."""

    def __init__(self, lib, fmt, rows, index, src):
        self.c, self.shape, self.keep = lib.c, (rows, src.shape[1]), (index, src)
        place = pointer(index), I64(index.strides[0])
        self.arguments = NAMES.index(fmt), I64(rows), I64(src.shape[1]), I64(len(index)), *place, *view(src)
        self.bounds = (rows,), (src.shape[1],)
        self.name = "scatter"


class Convolution:
    """The gradient with respect to the weight of a convolution."""

    def __init__(self, lib, fmt, geometry, x, g):
        self.c, self.shape, self.keep = lib.c, geometry.w_shape, (x, g)
        self.struct = geometry.struct()
        self.arguments = NAMES.index(fmt), ctypes.byref(self.struct), pointer(x), strides(x), pointer(g), strides(g)
        self.bounds = (geometry.channels_out,), (geometry.groups, int(np.prod(geometry.w_shape[1:])))
        self.name = "conv_grad_weight"


def partial(part, joins):
    """Sums and the two bounds."""
    made = [np.full(shape, 7.0) for shape in (part.shape, *part.bounds)]
    f = getattr(part.c, f"rm_{part.name}_partial")
    assert f(*part.arguments, I64(joins), *map(pointer, made)) == OK
    return made


def windows(part, element):
    made = np.full((len(element), WINDOW), 7, np.int64)
    f = getattr(part.c, f"rm_{part.name}_windows")
    assert f(*part.arguments, I64(len(element)), pointer(element), pointer(made)) == OK
    return made


def joined(rng, parts):
    """The sum of arrays, in a tree that the generator chooses."""
    parts = list(parts)
    with np.errstate(invalid="ignore"):
        while len(parts) > 1:
            i, j = sorted(rng.choice(len(parts), 2, replace=False))
            b, a = parts.pop(j), parts.pop(i)
            parts.append(a + b)
    return parts[0]


def rounded(lib, fmt, sums, rows, cols, limit=None):
    """The rounded sums, and the places of open ones."""
    out = np.full(sums.shape, 7, FORMATS[fmt][0])
    found = np.full(sums.size if limit is None else limit, -1, np.int64)
    count = np.zeros(1, np.int64)
    sizes = I64(len(rows)), I64(len(cols))
    f = lib.c.rm_round_partials
    arguments = *map(pointer, (sums, rows, cols, out)), I64(len(found)), pointer(found), pointer(count)
    assert f(NAMES.index(fmt), *sizes, *arguments) == OK
    return out, found[: count[0]], int(count[0])


def join(lib, fmt, parts, first=0, bounds=None):
    """Rows of sums joined and rounded by rm_join_partials, and the places of open ones; bounds are those of rows and columns."""
    out, found, count = (
        np.full(parts.shape[1], 7, FORMATS[fmt][0]),
        np.full(parts.shape[1], -1, np.int64),
        np.zeros(1, np.int64),
    )
    lines = (pointer(None), pointer(None)) if bounds is None else map(pointer, bounds)
    cols = I64(0 if bounds is None else len(bounds[1]))
    where = pointer(parts), I64(parts.strides[0]), I64(first), cols, *lines
    results = pointer(out), I64(len(found)), pointer(found), pointer(count)
    assert lib.c.rm_join_partials(NAMES.index(fmt), I64(len(parts)), I64(parts.shape[1]), *where, *results) == OK
    return out, found[: count[0]]


def decide(lib, fmt, out, element, total):
    f = lib.c.rm_round_windows
    assert f(NAMES.index(fmt), I64(len(element)), pointer(total), pointer(element), pointer(out)) == OK


def whole(lib, fmt, parts, rng, shrink=1.0, joins=None):
    """The rounded sum of all parts; how many elements were open. shrink: the bounds are divided by that."""
    made = [partial(p, len(parts) - 1 if joins is None else joins) for p in parts]
    sums, rows, cols = (joined(rng, arrays) for arrays in zip(*made, strict=True))
    shape, opened = sums.shape, 0
    groups = cols.shape[0] if cols.ndim > 1 else 1
    sums, rows, cols = sums.reshape(groups, -1), rows.reshape(groups, -1), cols.reshape(groups, -1)
    result = np.empty(sums.shape, FORMATS[fmt][0])
    for g in range(groups):
        matrix = np.ascontiguousarray(sums[g].reshape(rows.shape[1], -1))
        out, element, _ = rounded(lib, fmt, matrix, np.ascontiguousarray(rows[g]) / shrink**2, np.ascontiguousarray(cols[g]))
        if len(element):
            here = element + g * matrix.size
            total = sum(windows(p, here) for p in parts)
            decide(lib, fmt, out, element, np.ascontiguousarray(total))
        opened += len(element)
        result[g] = out.reshape(-1)
    return result.reshape(shape), opened
