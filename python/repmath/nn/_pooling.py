"""Pooling in one, two and three dimensions, and gradients. Arguments are normalised here; the C library computes."""

import math
from typing import Any

import numpy as np

from .._arguments import integers
from .._convolution import _each
from .._dtypes import NAMES
from .._environment import guarded
from .._memory import asarray, calls, empty
from .._scatter import index_add
from ._arrays import Array, operand


class Windows:
    """The sizes that the C library takes; of an input's shape (n, channels, spatial...)."""

    def __init__(
        self,
        dims: int,
        shape: tuple[int, ...],
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        ceil_mode: bool,
    ) -> None:
        kernel = _each("kernel_size", kernel_size, dims, 1)
        steps = kernel if stride is None or stride == [] or stride == () else _each("stride", stride, dims, 1)
        dilations, pads = _each("dilation", dilation, dims, 1), _each("padding", padding, dims, 0)
        for p, k, d in zip(pads, kernel, dilations, strict=True):
            if 2 * p > d * (k - 1) + 1:
                raise ValueError(f"padding must be at most half of the extent of the kernel, {d * (k - 1) + 1}, not {p}")
        self.windows: Any = (kernel, steps, dilations, pads)
        self.batch, self.size = shape[:2], shape[2:]
        self.out = tuple(
            self._count(n, k, s, d, p, ceil_mode)
            for n, k, s, d, p in zip(self.size, kernel, steps, dilations, pads, strict=True)
        )

    @staticmethod
    def _count(n: int, k: int, s: int, d: int, p: int, ceil_mode: bool) -> int:
        """How many windows. One more with ceil_mode where the last begins inside the input or the padding before it."""
        room = n + 2 * p - d * (k - 1) - 1
        count = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        if count < 1:
            raise ValueError(f"kernel_size {k} with dilation {d} is longer than an axis of {n} with padding {p}")
        return count

    def run(self, what: str, include_pad: bool, divisor: int, first: Array, out: Array, index: Array | None = None) -> None:
        sizes = (self.batch, self.size, self.out, self.windows)
        calls(first).pool(what, NAMES[first.dtype], sizes, include_pad, divisor, first, out, index)


class Adaptive(Windows):
    """Windows as equal as can be: from floor(p in/out) up to ceil((p + 1) in/out)."""

    def __init__(self, dims: int, shape: tuple[int, ...], output_size: Any) -> None:
        sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * dims
        if len(sizes) != dims:
            raise ValueError(f"output_size must have {dims} values, not {len(sizes)}")
        given = tuple(n if s is None else s for n, s in zip(shape[2:], sizes, strict=True))
        self.out = _each("output_size", given, dims, 0)
        self.windows = None
        self.batch, self.size = shape[:2], shape[2:]
        if 0 in self.size and 0 not in self.out:
            raise ValueError(f"input has no elements along an axis: its shape is {shape}")


def _batched(name: str, x: Array, dims: int) -> Array:
    if x.ndim not in (dims + 1, dims + 2):
        raise ValueError(f"{name} must have {dims + 2} axes (batch, channels, {dims} more), or no batch, not shape {x.shape}")
    return x if x.ndim == dims + 2 else x[None]


def _like(result: Array, x: Array, dims: int) -> Array:
    return result if x.ndim == dims + 2 else result[0]


def _maximum(dims: int, x: Array, given: Array, w: Windows, return_indices: bool) -> Any:
    out = empty((*w.batch, *w.out), x.dtype, x)
    index = empty(out.shape, np.int64, x) if return_indices else None
    w.run("max_pool", False, 0, x, out, index)
    values = _like(out, given, dims)
    return values if index is None else (values, _like(index, given, dims))


@guarded
def _max_pool(
    dims: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    given = operand("input", input)
    x = _batched("input", given, dims)
    w = Windows(dims, x.shape, kernel_size, stride, padding, dilation, ceil_mode)
    return _maximum(dims, x, given, w, return_indices)


@guarded
def _adaptive_max_pool(dims: int, input: Any, output_size: Any, return_indices: bool) -> Any:
    given = operand("input", input)
    x = _batched("input", given, dims)
    return _maximum(dims, x, given, Adaptive(dims, x.shape, output_size), return_indices)


def _divisor(divisor_override: int | None) -> int:
    if divisor_override is None:
        return 0
    return _each("divisor_override", divisor_override, 1, 1)[0]


@guarded
def _avg_pool(
    dims: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    given = operand("input", input)
    x = _batched("input", given, dims)
    w = Windows(dims, x.shape, kernel_size, stride, padding, 1, ceil_mode)
    out = empty((*w.batch, *w.out), x.dtype, x)
    w.run("avg_pool", count_include_pad, _divisor(divisor_override), x, out)
    return _like(out, given, dims)


@guarded
def _adaptive_avg_pool(dims: int, input: Any, output_size: Any) -> Array:
    given = operand("input", input)
    x = _batched("input", given, dims)
    w = Adaptive(dims, x.shape, output_size)
    out = empty((*w.batch, *w.out), x.dtype, x)
    w.run("avg_pool", False, 0, x, out)
    return _like(out, given, dims)


def _shapes(dims: int, grad_output: Any, input_size: Any) -> tuple[Array, Array, tuple[int, ...]]:
    """g as given, and with a batch; the shape of the input with a batch."""
    given = operand("grad_output", grad_output)
    sizes = integers("input_size", input_size)
    shape = _each("input_size", sizes, len(sizes), 0)
    if len(shape) != given.ndim:
        raise ValueError(f"input_size has {len(shape)} values, grad_output has shape {given.shape}")
    g = _batched("grad_output", given, dims)
    return given, g, shape if given.ndim == dims + 2 else (1, *shape)


def _average_gradient(dims: int, g: Array, given: Array, w: Windows, include_pad: bool, divisor: int) -> Array:
    if g.shape != (*w.batch, *w.out):
        raise ValueError(f"grad_output has shape {given.shape}; the windows make {(*w.batch, *w.out)} (with a batch)")
    out = empty((*w.batch, *w.size), g.dtype, g)
    w.run("avg_pool_backward", include_pad, divisor, g, out)
    return _like(out, given, dims)


@guarded
def _avg_pool_backward(
    dims: int,
    grad_output: Any,
    input_size: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    given, g, shape = _shapes(dims, grad_output, input_size)
    w = Windows(dims, shape, kernel_size, stride, padding, 1, ceil_mode)
    return _average_gradient(dims, g, given, w, count_include_pad, _divisor(divisor_override))


@guarded
def _adaptive_avg_pool_backward(dims: int, grad_output: Any, input_size: Any) -> Array:
    given, g, shape = _shapes(dims, grad_output, input_size)
    output_size = g.shape[2:]
    return _average_gradient(dims, g, given, Adaptive(dims, shape, output_size), False, 0)


@guarded
def _max_pool_backward(dims: int, grad_output: Any, input_size: Any, indices: Any) -> Array:
    given, g, shape = _shapes(dims, grad_output, input_size)
    where = asarray(indices)
    if where.dtype.kind not in "iu":
        raise TypeError(f"indices must have integers, not {where.dtype}")
    if where.shape != given.shape:
        raise ValueError(f"indices has shape {where.shape}, grad_output has {given.shape}; they must be equal")
    if g.shape[:2] != shape[:2]:
        raise ValueError(f"grad_output has shape {given.shape}, which does not fit input_size {tuple(input_size)}")
    plane = math.prod(shape[2:])
    minimum = int(where.min()) if where.size else 0
    if where.size and not (-1 <= minimum and where.max() < plane):
        raise IndexError(f"indices has values from {where.min()} to {where.max()}; a plane has {plane} elements")
    first = np.arange(math.prod(g.shape[:2])) * plane
    at = where.astype(np.int64, copy=False).reshape(g.shape) + first.reshape(*g.shape[:2], *(1,) * dims)
    values = g
    if minimum < 0:  # -1: of an empty window
        some = where.reshape(g.shape) >= 0
        at, values = at[some], g[some]
    total = _summed(plane * first.size, at.reshape(-1), np.ascontiguousarray(values).reshape(-1))
    return _like(total.reshape(shape), given, dims)


def _summed(size: int, at: Array, values: Array) -> Array:
    """The exact sum of the values at each place, rounded once. Where no two meet, as in windows that do not overlap, it is the value."""
    met = np.zeros(size, bool)
    met[at] = True
    if np.count_nonzero(met) < at.size:
        return index_add(np.zeros(size, values.dtype), at, values)
    out = np.zeros(size, values.dtype)
    out[at] = values + values.dtype.type(0)  # a zero is +0
    nan = np.isnan(out)
    if nan.any():
        out[nan] = np.nan
    return out
