"""Convolution and its gradients: exact sums over the taps, rounded once. Arguments are normalised here; the C library computes."""

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._arguments import integers
from ._dtypes import NAMES, check_held, common
from ._environment import guarded, report
from ._memory import asarray, calls, empty
from ._reductions import _check_out, _deliver

_Array = np.ndarray[Any, Any]
_Sizes = int | tuple[int, ...]


# As NumPy names functions in its warnings.
_WARNED = {"forward": "convolution", "grad_input": "convolution gradient", "grad_weight": "convolution gradient"}


def _each(name: str, value: Any, dims: int, minimum: int) -> tuple[int, ...]:
    """An integer, or one for each dimension, as a tuple."""
    values = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,) * dims
    if len(values) == 1:
        values *= dims
    if len(values) != dims:
        raise ValueError(f"{name} must have {dims} values, not {len(values)}")
    try:
        result = tuple(operator.index(v) for v in values)
    except TypeError:
        raise TypeError(f"{name} must be an integer or {dims} of them, not {value!r}") from None
    if max(result, default=0) >= 2**63:
        raise ValueError(f"{name} must be integers of 64 bits, not {value!r}")
    if min(result) < minimum:
        raise ValueError(f"{name} must be at least {minimum}, not {value!r}")
    return result


def _paddings(padding: Any, dims: int, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]) -> Any:
    """The padding before and after each dimension."""
    if not isinstance(padding, str):
        low = _each("padding", padding, dims, 0)
        return low, low
    if padding == "valid":
        return (0,) * dims, (0,) * dims
    if padding != "same":
        raise ValueError(f"padding must be 'same', 'valid' or integers, not {padding!r}")
    if any(s != 1 for s in stride):
        raise ValueError("padding='same' needs stride 1")
    total = [d * (k - 1) for k, d in zip(kernel, dilation, strict=True)]
    low = tuple(t // 2 for t in total)
    return low, tuple(t - a for t, a in zip(total, low, strict=True))


def _operands(**arrays: ArrayLike | None) -> tuple[list[_Array | None], np.dtype[Any]]:
    """The arrays in their common format."""
    given = {name: asarray(a) for name, a in arrays.items() if a is not None}
    for name, a in given.items():
        check_held(name, a)
    result = common(*(a.dtype for a in given.values()))
    return [given[name].astype(result, copy=False) if name in given else None for name in arrays], result


class _Geometry:
    """The sizes that the C library takes, and the resulting shapes. The channels of x and w are their second axis."""

    def __init__(
        self,
        dims: int,
        x_shape: tuple[int, ...],
        w_shape: tuple[int, ...],
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: Any,
    ) -> None:
        if len(w_shape) != dims + 2:
            raise ValueError(f"w must have {dims + 2} axes (output channels, input channels, kernel), not shape {w_shape}")
        self.groups = _each("groups", groups, 1, 1)[0]
        self.kernel = w_shape[2:]
        if 0 in self.kernel:
            raise ValueError(f"w has a kernel without elements, of shape {self.kernel}")
        self.stride = _each("stride", stride, dims, 1)
        self.dilation = _each("dilation", dilation, dims, 1)
        self.low, self.high = _paddings(padding, dims, self.kernel, self.stride, self.dilation)
        self.batch, self.channels_in, *size = x_shape
        self.size = tuple(size)
        self.channels_out = w_shape[0]
        self.x_shape, self.w_shape = x_shape, w_shape
        if self.channels_in % self.groups or self.channels_out % self.groups:
            raise ValueError(
                f"groups is {self.groups}; it must divide the {self.channels_in} input and {self.channels_out} output channels"
            )
        if w_shape[1] * self.groups != self.channels_in:
            raise ValueError(
                f"w has {w_shape[1]} input channels a group for {self.groups} groups; x has {self.channels_in} channels in all"
            )
        room = (
            n + a + b - d * (k - 1) - 1
            for n, a, b, d, k in zip(self.size, self.low, self.high, self.dilation, self.kernel, strict=True)
        )
        self.y_shape = (
            self.batch,
            self.channels_out,
            *(0 if r < 0 else r // s + 1 for r, s in zip(room, self.stride, strict=True)),
        )

    def run(self, what: str, first: _Array, second: _Array, bias: _Array | None, out: _Array) -> Any:
        """The kinds of floating-point errors met (numpy.errstate); None on a device, which does not say."""
        sizes = (self.batch, self.channels_in, self.channels_out, self.groups)
        return calls(out).convolve(
            what,
            NAMES[out.dtype],
            (sizes, self.size, self.kernel, self.stride, self.dilation, self.low, self.high),
            first,
            second,
            bias,
            out,
        )


def _channels_second(a: _Array, channels_last: bool) -> _Array:
    return np.moveaxis(a, -1, 1) if channels_last else a


def _compute(
    geometry: _Geometry,
    what: str,
    shape: tuple[int, ...],
    operands: list[_Array | None],
    result: np.dtype[Any],
    out: _Array | None,
    channels_last: bool,
    batched: bool,
) -> Any:
    """Computes, and returns the result with the caller's order of axes."""
    first, second, bias = operands
    moved = (shape[0], *shape[2:], shape[1]) if channels_last else shape
    made = moved if batched else moved[1:]
    if out is not None:
        _check_out(out, made, result)
    fits = (
        out is not None and out.dtype == result and not any(a is not None and np.may_share_memory(out, a) for a in operands)
    )
    target = out if fits and out is not None else empty(made, result, first)
    assert first is not None and second is not None
    met = geometry.run(what, first, second, bias, _channels_second(target if batched else target[None], channels_last))
    report(_WARNED[what], met or ())
    return target if target is out else _deliver(target, out)


def _check_bias(bias: _Array | None, channels: int) -> None:
    if bias is not None and bias.shape != (channels,):
        raise ValueError(f"bias has shape {bias.shape}; it must have one value for each of the {channels} output channels")


def _batch(name: str, a: _Array, dims: int, channels_last: bool) -> tuple[_Array, bool]:
    """a with a batch axis and its channels second; whether it had the axis."""
    if a.ndim not in (dims + 1, dims + 2):
        raise ValueError(f"{name} must have {dims + 2} axes (batch, channels, {dims} more), or no batch, not shape {a.shape}")
    batched = a.ndim == dims + 2
    return _channels_second(a if batched else a[None], channels_last), batched


@guarded
def _conv(
    dims: int,
    x: ArrayLike,
    w: ArrayLike,
    bias: ArrayLike | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    channels_last: bool,
    out: _Array | None,
) -> Any:
    operands, result = _operands(x=x, w=w, bias=bias)
    assert operands[0] is not None and operands[1] is not None
    operands[0], batched = _batch("x", operands[0], dims, channels_last)
    g = _Geometry(dims, operands[0].shape, operands[1].shape, stride, padding, dilation, groups)
    _check_bias(operands[2], g.channels_out)
    return _compute(g, "forward", g.y_shape, operands, result, out, channels_last, batched)


@guarded
def _conv_transpose(
    dims: int,
    x: ArrayLike,
    w: ArrayLike,
    bias: ArrayLike | None,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
    channels_last: bool,
    out: _Array | None,
) -> Any:
    operands, result = _operands(x=x, w=w, bias=bias)
    assert operands[0] is not None and operands[1] is not None
    operands[0], batched = _batch("x", operands[0], dims, channels_last)
    given = operands[0].shape
    if operands[1].ndim != dims + 2:
        raise ValueError(
            f"w must have {dims + 2} axes (input channels, output channels, kernel), not shape {operands[1].shape}"
        )
    if isinstance(padding, str):
        raise TypeError("padding of a transposed convolution must be integers")
    w_shape = operands[1].shape
    strides, dilations = _each("stride", stride, dims, 1), _each("dilation", dilation, dims, 1)
    pads, extra = _each("padding", padding, dims, 0), _each("output_padding", output_padding, dims, 0)
    for e, s, d in zip(extra, strides, dilations, strict=True):
        if e >= max(s, d):
            raise ValueError(f"output_padding must be less than stride or dilation, not {output_padding!r}")
    if given[1] != w_shape[0]:
        raise ValueError(f"x has {given[1]} channels but w has {w_shape[0]} to multiply them with")
    size = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, s, p, d, k, e in zip(given[2:], strides, pads, dilations, w_shape[2:], extra, strict=True)
    )
    if min(size, default=0) < 0:
        raise ValueError(f"the result would have a negative size: {size}")
    channels = w_shape[1] * _each("groups", groups, 1, 1)[0]
    g = _Geometry(dims, (given[0], channels, *size), w_shape, strides, pads, dilations, groups)
    # With output_padding beyond the stride the convolution back has more positions than x: the rest receives nothing.
    g.high = tuple(
        (n - 1) * s + d * (k - 1) + 1 - m - p
        for n, s, d, k, m, p in zip(given[2:], strides, dilations, w_shape[2:], size, pads, strict=True)
    )
    _check_bias(operands[2], channels)
    return _compute(g, "grad_input", (given[0], channels, *size), operands, result, out, channels_last, batched)


def _shape(name: str, shape: Any, dims: int) -> tuple[int, ...]:
    shape = integers(name, shape)
    sizes = _each(name, tuple(shape), dims + 2, 0) if len(tuple(shape)) == dims + 2 else None
    if sizes is None:
        raise ValueError(f"{name} must have {dims + 2} values, not {tuple(shape)}")
    return sizes


@guarded
def _grad_input(
    dims: int,
    shape: Any,
    w: ArrayLike,
    g: ArrayLike,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    channels_last: bool,
) -> Any:
    operands, result = _operands(g=g, w=w, bias=None)
    assert operands[0] is not None and operands[1] is not None
    sizes = _shape("shape", shape, dims)
    sizes = (sizes[0], sizes[-1], *sizes[1:-1]) if channels_last else sizes
    operands[0] = _channels_second(operands[0], channels_last)
    geometry = _Geometry(dims, sizes, operands[1].shape, stride, padding, dilation, groups)
    if operands[0].shape != geometry.y_shape:
        raise ValueError(f"g has shape {operands[0].shape}; the convolution's result has {geometry.y_shape}")
    return _compute(geometry, "grad_input", sizes, operands, result, None, channels_last, True)


@guarded
def _grad_weight(
    dims: int,
    x: ArrayLike,
    shape: Any,
    g: ArrayLike,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    channels_last: bool,
) -> Any:
    operands, result = _operands(x=x, g=g, bias=None)
    assert operands[0] is not None and operands[1] is not None
    if operands[0].ndim != dims + 2:
        raise ValueError(f"x must have {dims + 2} axes, not shape {operands[0].shape}")
    operands = [_channels_second(operands[0], channels_last), _channels_second(operands[1], channels_last), None]
    assert operands[0] is not None and operands[1] is not None
    geometry = _Geometry(dims, operands[0].shape, _shape("shape", shape, dims), stride, padding, dilation, groups)
    if operands[1].shape != geometry.y_shape:
        raise ValueError(f"g has shape {operands[1].shape}; the convolution's result has {geometry.y_shape}")
    return _compute(geometry, "grad_weight", geometry.w_shape, operands, result, None, False, True)


_COMMON = """    stride, dilation : int or tuple of {d} ints, optional
        Steps between positions, and between the taps of the kernel.
    groups : int, optional
        The channels are cut into so many groups that do not mix.
    channels_last : bool, optional
        Images are (batch, spatial..., channels) instead of (batch, channels,
        spatial...), arguments and result; `w` stays as it is.
"""

_RAISES = """
    Raises
    ------
    TypeError
        An argument has a dtype that is not supported, or is no integer where
        one is asked for.
    ValueError
        Shapes do not match, or a size is out of range; the message names the
        argument.
"""

_CONV = (
    """Convolution over {d} spatial axes: exact sums over the taps, rounded once.

    As torch.nn.functional.conv{d}d (no flip of the kernel), for any strides in memory.

    Parameters
    ----------
    x : array_like
        Of shape (batch, channels, {s}), or without the batch; of float16, bfloat16,
        float32, float64, integers or bool.
    w : array_like
        Of shape (output channels, channels/groups, {k}).
    bias : array_like, optional
        A value for each output channel: one more exact term of its sums.
    padding : int, tuple of {d} ints, "same" or "valid", optional
        Rows of nothing around `x`, on both sides. They add no terms: an infinite
        weight does not meet a zero there. "same" keeps the size, with stride 1.
"""
    + _COMMON
    + """    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.

    Returns
    -------
    ndarray
        ``RN(bias[o] + sum over c and t of x[n, c, stride*p + dilation*t - padding] w[o, c, t])``,
        of shape (batch, output channels, positions...), in the arguments' common
        format (float64 for integers and bool). An exact zero is +0.
"""
    + _RAISES
    + "    "
)

_TRANSPOSE = (
    """Transposed convolution over {d} spatial axes: exact sums, rounded once.

    As torch.nn.functional.conv_transpose{d}d: the gradient of conv{d}d's `x`, plus a bias.

    Parameters
    ----------
    x : array_like
        Of shape (batch, channels, {s}), or without the batch; dtypes as in conv{d}d.
    w : array_like
        Of shape (channels, output channels/groups, {k}).
    bias : array_like, optional
        A value for each output channel: one more exact term of its sums.
    padding : int or tuple of {d} ints, optional
        So many rows of the full result are left out on both sides.
    output_padding : int or tuple of {d} ints, optional
        So many rows more on the far side; less than the stride or the dilation.
"""
    + _COMMON
    + """    out : ndarray, optional
        Where to put the result: of its shape, and of a dtype that holds it.

    Returns
    -------
    ndarray
        ``RN(bias[o] + sum of x[n, c, p] w[c, o, t] where stride*p + dilation*t - padding = i)``,
        of shape (batch, output channels, sizes...): each
        (size - 1)*stride - 2*padding + dilation*(kernel - 1) + output_padding + 1.
"""
    + _RAISES
    + "    "
)

_INPUT = (
    """The gradient of conv{d}d with respect to its `x`: exact sums, rounded once.

    Parameters
    ----------
    shape : tuple of ints
        The shape of `x`.
    w : array_like
        The weights of the convolution.
    g : array_like
        The gradient of its result, of the result's shape.
    padding : int, tuple of {d} ints, "same" or "valid", optional
        As in conv{d}d.
"""
    + _COMMON
    + """
    Returns
    -------
    ndarray
        ``RN(sum of g[n, o, p] w[o, c, t] where stride*p + dilation*t - padding = i)``.
"""
    + _RAISES
    + "    "
)

_WEIGHT = (
    """The gradient of conv{d}d with respect to its `w`: exact sums, rounded once.

    That of the bias is ``repmath.sum`` of `g` over all axes but the channels.

    Parameters
    ----------
    x : array_like
        The input of the convolution, with its batch axis.
    shape : tuple of ints
        The shape of `w`.
    g : array_like
        The gradient of the result, of the result's shape.
    padding : int, tuple of {d} ints, "same" or "valid", optional
        As in conv{d}d.
"""
    + _COMMON
    + """
    Returns
    -------
    ndarray
        ``RN(sum over n and p of g[n, o, p] x[n, c, stride*p + dilation*t - padding])``.
"""
    + _RAISES
    + "    "
)


def _define(dims: int) -> dict[str, Any]:
    def conv(
        x: ArrayLike,
        w: ArrayLike,
        bias: ArrayLike | None = None,
        stride: _Sizes = 1,
        padding: _Sizes | str = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
        *,
        channels_last: bool = False,
        out: _Array | None = None,
    ) -> Any:
        return _conv(dims, x, w, bias, stride, padding, dilation, groups, channels_last, out)

    def transpose(
        x: ArrayLike,
        w: ArrayLike,
        bias: ArrayLike | None = None,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        output_padding: _Sizes = 0,
        groups: int = 1,
        dilation: _Sizes = 1,
        *,
        channels_last: bool = False,
        out: _Array | None = None,
    ) -> Any:
        return _conv_transpose(dims, x, w, bias, stride, padding, output_padding, groups, dilation, channels_last, out)

    def grad_input(
        shape: tuple[int, ...],
        w: ArrayLike,
        g: ArrayLike,
        stride: _Sizes = 1,
        padding: _Sizes | str = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
        *,
        channels_last: bool = False,
    ) -> Any:
        return _grad_input(dims, shape, w, g, stride, padding, dilation, groups, channels_last)

    def grad_weight(
        x: ArrayLike,
        shape: tuple[int, ...],
        g: ArrayLike,
        stride: _Sizes = 1,
        padding: _Sizes | str = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
        *,
        channels_last: bool = False,
    ) -> Any:
        return _grad_weight(dims, x, shape, g, stride, padding, dilation, groups, channels_last)

    named = {
        f"conv{dims}d": (conv, _CONV),
        f"conv_transpose{dims}d": (transpose, _TRANSPOSE),
        f"conv{dims}d_grad_input": (grad_input, _INPUT),
        f"conv{dims}d_grad_weight": (grad_weight, _WEIGHT),
    }
    spatial, kernel = (", ".join(f"{name}{j}" for j in range(dims)) for name in ("n", "k"))
    for name, (function, text) in named.items():
        function.__name__ = function.__qualname__ = name
        function.__module__ = "repmath"
        function.__doc__ = text.format(d=dims, s=spatial, k=kernel)
    return {name: function for name, (function, _) in named.items()}


conv1d, conv_transpose1d, conv1d_grad_input, conv1d_grad_weight = _define(1).values()
conv2d, conv_transpose2d, conv2d_grad_input, conv2d_grad_weight = _define(2).values()
conv3d, conv_transpose3d, conv3d_grad_input, conv3d_grad_weight = _define(3).values()
