"""rm_conv_* of a C library by ctypes, and what they must return: sums over the taps, term by term."""

from __future__ import annotations

import ctypes
import itertools

import numpy as np
from exact_oracle import CANONICAL_NAN, exact, exact_bits, rounded
from reductions_library import pointer

I64 = ctypes.c_int64
FORMATS = ["f16", "bf16", "f32", "f64"]  # the order of RM_FORMAT_...


def dtype_of(fmt: str) -> np.dtype:
    import ml_dtypes

    return np.dtype({"f16": "f2", "f32": "f4", "f64": "f8"}.get(fmt) or ml_dtypes.bfloat16)


class Conv(ctypes.Structure):
    _fields_ = [("dims", ctypes.c_int)] + [(name, I64) for name in ("batch", "channels_in", "channels_out", "groups")]
    _fields_ += [(name, I64 * 3) for name in ("in_", "kernel", "stride", "dilation", "padding_low", "padding_high")]


class Geometry:
    """A convolution: sizes by dimension as tuples."""

    def __init__(self, batch, channels_in, channels_out, size, kernel, stride=1, dilation=1, low=0, high=None, groups=1):
        d = len(size)
        every = lambda v: tuple(v) if isinstance(v, tuple) else (v,) * d  # noqa: E731
        self.dims, self.batch, self.channels_in, self.channels_out, self.groups = d, batch, channels_in, channels_out, groups
        self.size, self.kernel, self.stride, self.dilation = size, every(kernel), every(stride), every(dilation)
        self.low = every(low)
        self.high = self.low if high is None else every(high)
        room = [
            n + a + b - e * (k - 1) - 1
            for n, a, b, e, k in zip(size, self.low, self.high, self.dilation, self.kernel, strict=True)
        ]
        self.out = tuple(0 if r < 0 else r // s + 1 for r, s in zip(room, self.stride, strict=True))
        self.x_shape = (batch, channels_in, *size)
        self.w_shape = (channels_out, channels_in // groups, *self.kernel)
        self.y_shape = (batch, channels_out, *self.out)

    def struct(self) -> Conv:
        c = Conv(self.dims, self.batch, self.channels_in, self.channels_out, self.groups)
        fields = ("in_", self.size), ("kernel", self.kernel), ("stride", self.stride), ("dilation", self.dilation)
        for name, values in (*fields, ("padding_low", self.low), ("padding_high", self.high)):
            for j, v in enumerate(values):
                getattr(c, name)[j] = v
        return c

    def taps(self):
        """(n, o, p, c, t, i): y[n, o, p] has the term x[n, c, i] w[o, c in its group, t]."""
        per_in, per_out = self.channels_in // self.groups, self.channels_out // self.groups
        for p in itertools.product(*map(range, self.out)):
            for t in itertools.product(*map(range, self.kernel)):
                geometry = zip(p, t, self.stride, self.dilation, self.low, strict=True)
                i = tuple(a * s + b * d - low for a, b, s, d, low in geometry)
                if not all(0 <= a < n for a, n in zip(i, self.size, strict=True)):
                    continue
                for n, o, c in itertools.product(range(self.batch), range(self.channels_out), range(per_in)):
                    yield n, o, p, o // per_out * per_in + c, c, t, i


def sums(g: Geometry, what: str, x, w, y):
    """The terms of each element of the result, as {index: [(a, b), ...]}."""
    shape = {"forward": g.y_shape, "grad_input": g.x_shape, "grad_weight": g.w_shape}[what]
    terms = {index: [] for index in np.ndindex(shape)}
    for n, o, p, c, cg, t, i in g.taps():
        if what == "forward":
            terms[(n, o, *p)].append((x[(n, c, *i)], w[(o, cg, *t)]))
        elif what == "grad_input":
            terms[(n, c, *i)].append((y[(n, o, *p)], w[(o, cg, *t)]))
        else:
            terms[(o, cg, *t)].append((y[(n, o, *p)], x[(n, c, *i)]))
    return shape, terms


def expected(g: Geometry, what: str, fmt: str, x, w, y, bias=None) -> np.ndarray:
    """The bits of the result."""
    dtype = dtype_of(fmt)
    shape, terms = sums(g, what, x, w, y)
    out = np.zeros(shape, f"u{dtype.itemsize}")
    for index, pairs in terms.items():
        pairs = pairs + ([(bias[index[1]], dtype.type(1))] if bias is not None else [])
        if fmt in CANONICAL_NAN:
            out[index] = exact_bits([(float(a), float(b)) for a, b in pairs], fmt)
        else:
            out[index] = rounded(exact([a for a, _ in pairs], [b for _, b in pairs]), dtype)
    return out


def strides(a) -> object:
    return (ctypes.c_ssize_t * a.ndim)(*a.strides)


class Convolution:
    def __init__(self, library: ctypes.CDLL):
        self.c = library

    def __call__(self, g: Geometry, what: str, fmt: str, first, second, out, bias=None) -> int:
        arguments = [pointer(first), strides(first), pointer(second), strides(second)]
        if what != "grad_weight":
            arguments += [pointer(bias), I64(0 if bias is None else bias.strides[0])]
        function = getattr(self.c, f"rm_conv_{what}")
        return function(FORMATS.index(fmt), ctypes.byref(g.struct()), *arguments, pointer(out), strides(out))
