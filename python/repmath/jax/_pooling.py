"""Max and average pooling in one to three dimensions; windows are those of `repmath.nn`."""

from typing import Any

import jax.numpy as jnp
from jax.interpreters import ad

from ..nn._pooling import Adaptive, Windows, _divisor
from ._primitive import bind, by_handler, define, is_zero, size_of, zero_of
from ._take import take
from ._types import together

_MAX, _AVERAGE, _AVERAGE_BACKWARD = range(3)


def _lower(kind: int) -> Any:
    return by_handler("pool", lambda geometry: {"kind": kind} | dict(geometry))


def _like(x: Any, geometry: Any, which: str) -> Any:
    sizes = dict(geometry)[which]
    return (*x.shape[: x.ndim - len(sizes)], *sizes), x.dtype


def _axes(count: int, *, geometry: Any) -> Any:
    """Images and channels are divided, windows are not."""
    dims = len(dict(geometry)["in"])
    return ["XYZ"[:dims]], ["UVW"[:dims]]


def _average_jvp(p: Any) -> Any:
    def jvp(primals: Any, tangents: Any, *, geometry: Any) -> Any:
        y = bind(p(), *primals, geometry=geometry)
        (t,) = tangents
        return y, zero_of(y) if is_zero(t) else bind(p(), t, geometry=geometry)

    return jvp


def _average_transpose(p: Any) -> Any:
    def transpose(ct: Any, x: Any, *, geometry: Any) -> Any:
        return [ad.Zero(x.aval) if is_zero(ct) else bind(p(), ct, geometry=geometry)]

    return transpose


average_p: Any = define(
    "avg_pool",
    lambda x, *, geometry: _like(x, geometry, "out"),
    _lower(_AVERAGE),
    jvp=_average_jvp(lambda: average_p),
    transpose=_average_transpose(lambda: average_backward_p),
    axes=_axes,
)
average_backward_p: Any = define(
    "avg_pool_backward",
    lambda g, *, geometry: _like(g, geometry, "in"),
    _lower(_AVERAGE_BACKWARD),
    jvp=_average_jvp(lambda: average_backward_p),
    transpose=_average_transpose(lambda: average_p),
    axes=_axes,
)


def _max_jvp(primals: Any, tangents: Any, *, geometry: Any) -> Any:
    """The tangent at the maximum; its transpose sums exactly what meets there."""
    (x,), (t,) = primals, tangents
    y, index = bind(max_p, x, geometry=geometry)
    no = zero_of(index)
    if is_zero(t):
        return [y, index], [zero_of(y), no]
    lead = x.shape[: x.ndim - len(dict(geometry)["in"])]
    flat = take(t.reshape(*lead, size_of(dict(geometry)["in"]), 1), index.reshape(*lead, size_of(dict(geometry)["out"])))
    return [y, index], [flat.reshape(y.shape), no]


max_p: Any = define(
    "max_pool",
    lambda x, *, geometry: [_like(x, geometry, "out"), (_like(x, geometry, "out")[0], jnp.result_type(jnp.int64))],
    _lower(_MAX),
    jvp=_max_jvp,
    multiple=True,
    axes=lambda count, *, geometry: (_axes(count, geometry=geometry)[0], _axes(count, geometry=geometry)[1] * 2),
)


def _planes(x: Any, dims: int) -> tuple[int, ...]:
    """The shape of the input with a batch."""
    if x.ndim not in (dims + 1, dims + 2):
        raise ValueError(f"x must have {dims + 2} axes (batch, channels, {dims} more), or no batch, not shape {x.shape}")
    return tuple(x.shape if x.ndim == dims + 2 else (1, *x.shape))


def _geometry(w: Windows, include_pad: bool = False, divisor: int = 0) -> Any:
    kernel, stride, dilation, padding = ((),) * 4 if w.windows is None else w.windows
    return (
        ("in", tuple(w.size)),
        ("out", tuple(w.out)),
        ("kernel", tuple(kernel)),
        ("stride", tuple(stride)),
        ("dilation", tuple(dilation)),
        ("padding", tuple(padding)),
        ("include_pad", int(include_pad)),
        ("divisor", int(divisor)),
    )


def _max_pool(dims: int) -> Any:
    def max_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        (a,) = together(x=x)
        w = Windows(dims, _planes(a, dims), kernel_size, stride, padding, dilation, ceil_mode)
        y, index = bind(max_p, a, geometry=_geometry(w))
        return (y, index) if return_indices else y

    max_pool.__name__ = max_pool.__qualname__ = f"max_pool{dims}d"
    max_pool.__doc__ = f"""The greatest element of each window, as `repmath.nn.max_pool{dims}d`; of ties the first, which gets the gradient.

    x is (batch, channels, {dims} spatial axes), or has no batch. The gradient of an element is the exact sum of what meets there; a
    gradient of windows without elements raises an error when the program runs.
    """
    return max_pool


def _avg_pool(dims: int) -> Any:
    def avg_pool(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        (a,) = together(x=x)
        w = Windows(dims, _planes(a, dims), kernel_size, stride, padding, 1, ceil_mode)
        return bind(average_p, a, geometry=_geometry(w, count_include_pad, _divisor(divisor_override)))

    avg_pool.__name__ = avg_pool.__qualname__ = f"avg_pool{dims}d"
    avg_pool.__doc__ = (
        f"""RN((exact sum)/divisor) of each window, as `repmath.nn.avg_pool{dims}d`; the gradient is an exact sum too."""
    )
    return avg_pool


def _adaptive(dims: int, greatest: bool) -> Any:
    def pool(x: Any, output_size: Any) -> Any:
        (a,) = together(x=x)
        geometry = _geometry(Adaptive(dims, _planes(a, dims), output_size))
        return bind(max_p, a, geometry=geometry)[0] if greatest else bind(average_p, a, geometry=geometry)

    name = f"adaptive_{'max' if greatest else 'avg'}_pool{dims}d"
    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""Pooling to `output_size` windows as equal as can be, as `repmath.nn.{name}`."""
    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(dims) for dims in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_avg_pool(dims) for dims in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_adaptive(dims, True) for dims in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_adaptive(dims, False) for dims in (1, 2, 3))
