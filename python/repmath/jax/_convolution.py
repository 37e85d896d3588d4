"""conv_general_dilated: one bilinear primitive in the three kinds of the C library, which are each other's transposes."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad

from ._primitive import bind, by_handler, define, expand, is_linear, is_zero, stacked
from ._rows import add_all
from ._types import together

# What a convolution y = x * w computes: y of (x, w), x of (y, w), w of (x, y). Geometry is the same in all three.
_FORWARD, _INPUT, _WEIGHT = range(3)
_RESULT = {_FORWARD: "y", _INPUT: "x", _WEIGHT: "w"}
_OPERANDS = {_FORWARD: "xw", _INPUT: "yw", _WEIGHT: "xy"}


def _out(n: int, k: int, s: int, d: int, low: int, high: int) -> int:
    room = n + low + high - d * (k - 1) - 1
    return 0 if room < 0 else room // s + 1


def _logical(which: str, g: dict[str, Any]) -> tuple[int, ...]:
    """The shape of x, w or y with its axes as the C library counts them: batch or outputs, channels, spatial."""
    batch, channels_in, channels_out, groups = g["sizes"]
    if which == "x":
        return (batch, channels_in, *g["in"])
    if which == "w":
        return (channels_out, channels_in // groups, *g["kernel"])
    spatial = zip(g["in"], g["kernel"], g["stride"], g["dilation"], g["padding_low"], g["padding_high"], strict=True)
    return (batch, channels_out, *(_out(*numbers) for numbers in spatial))


def _in_memory(which: str, g: dict[str, Any]) -> tuple[int, ...]:
    logical, order = _logical(which, g), g[f"order_{which}"]
    shape = [0] * len(logical)
    for size, place in zip(logical, order, strict=True):
        shape[place] = size
    return tuple(shape)


def _geometry(params: Any) -> dict[str, Any]:
    return dict(params)


def _shapes(first: Any, second: Any, bias: Any = None, *, kind: int, geometry: Any) -> Any:
    g = _geometry(geometry)
    wanted = _in_memory(_RESULT[kind], g)
    return (*first.shape[: first.ndim - len(wanted)], *wanted), first.dtype


def _with(*operands: Any, kind: int, geometry: Any) -> Any:
    return bind(convolution_p, *operands, kind=kind, geometry=geometry)


def _jvp(primals: Any, tangents: Any, *, kind: int, geometry: Any) -> Any:
    y = _with(*primals, kind=kind, geometry=geometry)
    (a, b), (ta, tb) = primals[:2], tangents[:2]
    parts = [] if is_zero(ta) else [_with(ta, b, kind=kind, geometry=geometry)]
    if not is_zero(tb):
        parts.append(_with(a, tb, kind=kind, geometry=geometry))
    if len(tangents) > 2 and not is_zero(tangents[2]):
        t = tangents[2]
        channel = _geometry(geometry)[f"order_{_RESULT[kind]}"][1]
        axes = len(_geometry(geometry)["in"]) + 2
        spread = t.reshape(*t.shape[:-1], *(t.shape[-1] if i == channel else 1 for i in range(axes)))
        parts.append(expand(spread, y.shape))
    return y, add_all(parts, y)


def _transpose(ct: Any, first: Any, second: Any, *, kind: int, geometry: Any) -> Any:
    if is_zero(ct):
        return [ad.Zero(x.aval) if is_linear(x) else None for x in (first, second)]
    given = dict(zip(_OPERANDS[kind], (first, second), strict=True)) | {_RESULT[kind]: ct}
    wanted = _OPERANDS[kind][0 if is_linear(first) else 1]
    other = next(k for k, result in _RESULT.items() if result == wanted)
    d = _with(*(given[name] for name in _OPERANDS[other]), kind=other, geometry=geometry)
    return [d, None] if is_linear(first) else [None, d]


def _batch(args: Any, axes: Any, *, kind: int, geometry: Any) -> Any:
    g = _geometry(geometry)
    first, *rest = args
    dims = len(g["in"]) + 2
    firsts, results = g[f"order_{_OPERANDS[kind][0]}"], g[f"order_{_RESULT[kind]}"]
    if kind != _WEIGHT and axes[0] is not None and all(d is None for d in axes[1:]) and first.ndim == dims + 1:
        if firsts[0] == results[0] == 0:  # more images
            images = jnp.moveaxis(first, axes[0], 0)
            count = images.shape[0] * images.shape[1]
            more = tuple((g | {"sizes": (count, *g["sizes"][1:])}).items())
            y = _with(images.reshape(count, *images.shape[2:]), *rest, kind=kind, geometry=more)
            return y.reshape(*images.shape[:2], *y.shape[1:]), 0
    return stacked(convolution_p, False)(args, axes, kind=kind, geometry=geometry)


def _axes(count: int, *, kind: int, geometry: Any) -> Any:
    """Images are divided, and channels where there is one group, or one for each of them."""
    g = _geometry(geometry)
    _, channels_in, channels_out, groups = g["sizes"]
    channels = "cckk" if groups == 1 else "cDcc" if groups == channels_in == channels_out else "CDKK"
    names = {"x": f"n{channels[0]}XYZ", "w": f"{channels[3]}{channels[1]}PQR", "y": f"n{channels[2]}UVW"}

    def of(which: str) -> str:
        placed = [""] * len(g[f"order_{which}"])
        for name, place in zip(names[which], g[f"order_{which}"], strict=False):
            placed[place] = name
        return "".join(placed)

    bias = names[_RESULT[kind]][1]
    return [*(of(which) for which in _OPERANDS[kind]), bias][:count], [of(_RESULT[kind])]


def _of_part(first: Any, second: Any, *bias: Any, kind: int, geometry: Any) -> dict[str, Any]:
    """The geometry of a device's parts."""
    g = _geometry(geometry)
    shapes = {}
    for which, operand in zip(_OPERANDS[kind], (first, second), strict=True):
        order = g[f"order_{which}"]
        shapes[which] = [operand.shape[operand.ndim - len(order) + place] for place in order]
    _, channels_in, channels_out, groups = g["sizes"]
    if groups == channels_in == channels_out:
        groups = shapes["y" if kind == _INPUT else "x"][1]
    channels_in = shapes["x"][1] if "x" in shapes else shapes["w"][1] * groups
    channels_out = shapes["y"][1] if "y" in shapes else shapes["w"][0]
    batch = shapes["y" if kind == _INPUT else "x"][0]
    return {"kind": kind, "geometry": tuple((g | {"sizes": (batch, channels_in, channels_out, groups)}).items())}


convolution_p: Any = define(
    "conv_general_dilated",
    _shapes,
    by_handler("convolution", lambda kind, geometry: {"kind": kind} | _geometry(geometry)),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    axes=_axes,
    of_part=_of_part,
)


def _pairs(
    padding: Any, shape: Sequence[int], kernel: Sequence[int], strides: Sequence[int], transposed: bool
) -> list[tuple[int, int]]:
    if isinstance(padding, str):
        if transposed:
            raise ValueError(f"padding must be pairs of integers with lhs_dilation, not {padding!r}")
        return [(int(a), int(b)) for a, b in lax.padtype_to_pads(shape, kernel, strides, padding)]
    pairs = [(int(a), int(b)) for a, b in padding]
    if len(pairs) != len(shape):
        raise ValueError(f"padding must have {len(shape)} pairs, not {len(pairs)}")
    return pairs


def _each(name: str, values: Any, dims: int) -> tuple[int, ...]:
    given = (1,) * dims if values is None else tuple(int(v) for v in values)
    if len(given) != dims or min(given, default=1) < 1:
        raise ValueError(f"{name} must be {dims} integers of at least 1, not {values}")
    return given


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Any,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    *,
    bias: Any = None,
) -> Any:
    """Convolution in one to three dimensions: every element the exact sum over the taps inside the input, rounded once.

    Parameters
    ----------
    lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count
        As for jax.lax.conv_general_dilated; any layout, without a copy. With `lhs_dilation`, a transposed convolution, strides
        must be 1.
    bias : array_like, optional
        A value for each output feature: one more exact term of its sums.

    Returns
    -------
    jax.Array
        Padding adds no terms: an infinite weight does not meet a zero there. Both gradients are exact sums, rounded once.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError
        Shapes do not match, or an option is out of range.
    """
    x, w, b = together(lhs=lhs, rhs=rhs, bias=bias)
    dims = x.ndim - 2
    if not 1 <= dims <= 3:
        raise ValueError(f"lhs must have one to three spatial axes, not shape {x.shape}")
    numbers = lax.conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    order_x, order_w, order_y = (tuple(spec) for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec))
    strides, kernel = _each("window_strides", window_strides, dims), [w.shape[i] for i in order_w[2:]]
    dilation, spread = _each("rhs_dilation", rhs_dilation, dims), _each("lhs_dilation", lhs_dilation, dims)
    size = [x.shape[i] for i in order_x[2:]]
    pads = _pairs(padding, size, [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)], strides, max(spread) > 1)
    # What jax.lax says of these shapes: its error, or the shape of the result.
    shape = jax.eval_shape(
        lambda p, q: lax.conv_general_dilated(p, q, strides, pads, spread, dilation, numbers, feature_group_count), x, w
    ).shape
    if b is not None and b.shape != (w.shape[order_w[0]],):
        raise ValueError(f"bias has shape {b.shape}; it must have one value for each of the {w.shape[order_w[0]]} features")
    operands = (x, w) if b is None else (x, w, b)
    if any(s != 1 for s in spread):
        return _transposed(operands, pads, strides, spread, dilation, (order_x, order_w, order_y), feature_group_count, shape)
    # The C library takes no negative padding at the front: what it leaves out is cut off.
    if any(low < 0 for low, _ in pads):
        starts = [0] * x.ndim
        for axis, (low, _) in zip(order_x[2:], pads, strict=True):
            starts[axis] = min(max(-low, 0), x.shape[axis])
        operands = (lax.slice(x, starts, x.shape), *operands[1:])
        pads = [(max(low, 0), high) for low, high in pads]
    geometry = {
        "sizes": (x.shape[order_x[0]], x.shape[order_x[1]], w.shape[order_w[0]], feature_group_count),
        "in": tuple(operands[0].shape[i] for i in order_x[2:]),
        "kernel": tuple(kernel),
        "stride": strides,
        "dilation": dilation,
        "padding_low": tuple(low for low, _ in pads),
        "padding_high": tuple(high for _, high in pads),
        "order_x": order_x,
        "order_w": order_w,
        "order_y": order_y,
    }
    return _with(*operands, kind=_FORWARD, geometry=tuple(geometry.items()))


def _transposed(
    operands: Any, pads: Any, strides: Any, spread: Any, dilation: Any, orders: Any, groups: int, shape: tuple[int, ...]
) -> Any:
    """lhs_dilation s: the gradient, with respect to its input, of a convolution of stride s, with the kernel reversed.

    y[p] = sum over p + t d - low = i s of x[i] w[t]; with t' = k - 1 - t that is p = i s + t' d - ((k - 1) d - low).
    """
    if any(s != 1 for s in strides):
        raise ValueError(f"window_strides must be 1 where lhs_dilation is not, {spread}; they are {strides}")
    x, w, *bias = operands
    order_x, order_w, order_y = orders
    kernel = [w.shape[i] for i in order_w[2:]]
    lows = [(k - 1) * d - low for k, d, (low, _) in zip(kernel, dilation, pads, strict=True)]
    if min(lows) < 0:
        raise ValueError(f"padding before the input must be at most (kernel - 1)*rhs_dilation with lhs_dilation, not {pads}")
    # (O, I/G, k) -> (I, O/G, k), turned round.
    plain = jnp.flip(jnp.transpose(w, order_w), tuple(range(2, w.ndim)))
    features_out, each = plain.shape[:2]
    plain = plain.reshape(groups, features_out // groups, each, *kernel)
    plain = jnp.swapaxes(plain, 1, 2).reshape(groups * each, features_out // groups, *kernel)
    size_y = [shape[i] for i in order_y[2:]]
    highs = [
        (x.shape[i] - 1) * s + d * (k - 1) + 1 - n - low
        for i, s, d, k, n, low in zip(order_x[2:], spread, dilation, kernel, size_y, lows, strict=True)
    ]
    geometry = {
        "sizes": (x.shape[order_x[0]], features_out, x.shape[order_x[1]], groups),
        "in": tuple(size_y),
        "kernel": tuple(kernel),
        "stride": spread,
        "dilation": dilation,
        "padding_low": tuple(lows),
        "padding_high": tuple(highs),
        "order_x": order_y,
        "order_w": tuple(range(w.ndim)),
        "order_y": order_x,
    }
    return _with(x, plain, *bias, kind=_INPUT, geometry=tuple(geometry.items()))
