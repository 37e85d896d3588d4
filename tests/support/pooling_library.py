"""The arguments of the C library's pooling, and the windows that they stand for."""

import ctypes
import itertools

import numpy as np

THREE = ctypes.c_int64 * 3


class Pool(ctypes.Structure):
    _fields_ = [
        ("dims", ctypes.c_int),
        ("adaptive", ctypes.c_int),
        ("batch", ctypes.c_int64),
        ("channels", ctypes.c_int64),
        ("size", THREE),
        ("out", THREE),
        ("kernel", THREE),
        ("stride", THREE),
        ("dilation", THREE),
        ("padding", THREE),
    ]


def strides(a):
    return (ctypes.c_ssize_t * 5)(*a.strides)


def pool_of(shape, out, kernel=None, stride=None, dilation=None, padding=None):
    """The arguments, and the windows of each axis: coordinates with padding, inside, and how many count as padded."""
    dims = len(shape) - 2
    p = Pool(dims, kernel is None, shape[0], shape[1], THREE(*shape[2:]), THREE(*out))
    axes = []
    for k in range(dims):
        n, windows = shape[2 + k], []
        if kernel is not None:
            p.kernel[k], p.stride[k], p.dilation[k], p.padding[k] = kernel[k], stride[k], dilation[k], padding[k]
        for o in range(out[k]):
            if kernel is None:
                inside = list(range(o * n // out[k], -(-(o + 1) * n // out[k])))
                windows.append((inside, len(inside)))
            else:
                taps = [o * stride[k] - padding[k] + t * dilation[k] for t in range(kernel[k])]
                windows.append(([t for t in taps if 0 <= t < n], sum(t < n + padding[k] for t in taps)))
        axes.append(windows)
    return p, axes


CASES = [
    # shape, out, kernel, stride, dilation, padding
    ((2, 3, 17), (8,), (3,), (2,), (1,), (0,)),
    ((1, 2, 6, 9), (3, 4), (2, 2), (2, 2), (1, 1), (0, 0)),
    ((2, 1, 7, 8), (4, 5), (3, 2), (2, 2), (1, 1), (1, 1)),
    ((1, 1, 5, 7), (6, 6), (3, 4), (1, 1), (1, 1), (1, 1)),  # as with ceil_mode: some windows are beyond the padding
    ((1, 1, 4, 5, 6), (2, 3, 3), (2, 2, 3), (2, 2, 2), (1, 1, 1), (0, 1, 1)),
    ((1, 2, 9, 11), (3, 3), (2, 3), (3, 4), (1, 1), (0, 0)),  # gaps
    ((2, 2, 10, 7), (3, 5), None, None, None, None),
    ((1, 1, 3, 4), (5, 6), None, None, None, None),
    ((1, 2, 5, 3, 4), (2, 2, 3), None, None, None, None),
]


def outputs(shape, axes):
    for at in itertools.product(range(shape[0]), range(shape[1]), *(range(len(a)) for a in axes)):
        windows = [a[o] for a, o in zip(axes, at[2:], strict=True)]
        yield at, list(itertools.product(*(w[0] for w in windows))), int(np.prod([w[1] for w in windows]))
