"""Matrix products and convolutions: exact sums of products, rounded once. Each is linear in either operand, so that gradients and
tangents are operators of the same family, to any order."""

import functools
import math
from typing import Any, TypeAlias

import torch

from ... import _convolution
from ... import _reductions as _exact
from .._tensors import as_array, as_tensor
from .elementwise import OPERATORS
from .operator import Operator, check_formats
from .reductions import SUM, sum_to

_Tensor: TypeAlias = torch.Tensor
_Optional: TypeAlias = torch.Tensor | None


def _plus(*terms: _Optional) -> Any:
    """The sum of what is there."""
    total = None
    for t in terms:
        if t is not None:
            total = t if total is None else OPERATORS["add"](total, t)
    return total


def _rows(t: _Tensor) -> _Tensor:
    """The vectors along the last axis, as a matrix; also of no elements."""
    return t.reshape(math.prod(t.shape[:-1]), t.shape[-1])


# --- matmul


def _matmul_shape(input: _Tensor, other: _Tensor) -> Any:
    check_formats(("input", "other"), (input, other))
    for name, t in (("input", input), ("other", other)):
        if t.ndim == 0:
            raise RuntimeError(f"both arguments to matmul need to be at least 1D, but {name} is 0D")
    a, b = input.shape, other.shape
    if a[-1] != b[-2 if len(b) > 1 else -1]:
        raise RuntimeError(f"input and other cannot be multiplied: their shapes are {tuple(a)} and {tuple(b)}")
    return (*torch.broadcast_shapes(a[:-2], b[:-2]), *a[-2:-1], *(b[-1:] if len(b) > 1 else ()))


def _matmul(input: _Tensor, other: _Tensor) -> _Tensor:
    check_formats(("input", "other"), (input, other))
    try:
        return as_tensor(_exact.matmul(as_array(input), as_array(other)))
    except (TypeError, ValueError):
        _matmul_shape(input, other)  # says it in PyTorch's names
        raise


def _matmul_gradient(g: _Tensor, input: _Tensor, other: _Tensor, needs: Any) -> tuple[_Optional, _Optional]:
    a = input if input.ndim > 1 else input[None]
    b = other if other.ndim > 1 else other[:, None]
    g = g if other.ndim > 1 else g.unsqueeze(-1)
    g = g if input.ndim > 1 else g.unsqueeze(-2)
    da = sum_to(MATMUL(g, b.mT), a.shape).reshape(input.shape) if needs[0] else None
    db = None
    if needs[1]:
        if b.ndim == 2:  # one sum over the rows of all matrices
            db = MATMUL(_rows(a).mT, _rows(g))
        else:
            db = sum_to(MATMUL(a.mT, g), b.shape)
        db = db.reshape(other.shape)
    return da, db


def _matmul_tangent(ts: list[_Optional], input: _Tensor, other: _Tensor) -> Any:
    return _plus(*(MATMUL(a, b) for a, b in ((ts[0], other), (input, ts[1])) if a is not None and b is not None))


def _matmul_batch(op: Operator) -> Any:
    def rule(info: Any, in_dims: Any, input: _Tensor, other: _Tensor) -> tuple[_Tensor, int]:
        a, b = (t if d is None else t.movedim(d, 0) for t, d in zip((input, other), in_dims, strict=True))
        rank_a, rank_b = (t.ndim - (d is not None) for t, d in zip((a, b), in_dims, strict=True))
        if rank_a == 1:
            a = a.unsqueeze(-2)
        if rank_b == 1:
            b = b.unsqueeze(-1)
        rank = max(rank_a, rank_b, 2)
        a, b = (
            t if d is None else t.reshape(t.shape[0], *(1,) * (rank + 1 - t.ndim), *t.shape[1:])
            for t, d in zip((a, b), in_dims, strict=True)
        )
        y = op(a, b)
        if rank_b == 1:
            y = y.squeeze(-1)
        if rank_a == 1:
            y = y.squeeze(-1 if rank_b == 1 else -2)
        return y, 0

    return rule


MATMUL: Operator = Operator(
    "matmul(Tensor input, Tensor other) -> Tensor",
    _matmul,
    lambda input, other: input.new_empty(_matmul_shape(input, other)),
    gradient=_matmul_gradient,
    tangent=_matmul_tangent,
    batch=_matmul_batch,
)

# --- linear


def _linear_shape(input: _Tensor, weight: _Tensor, bias: _Optional) -> Any:
    check_formats(("input", "weight", "bias"), (input, weight, bias))
    if weight.ndim != 2:
        raise RuntimeError(f"weight must have two axes, (out_features, in_features), not shape {tuple(weight.shape)}")
    if input.ndim == 0 or input.shape[-1] != weight.shape[1]:
        raise RuntimeError(
            f"input and weight cannot be multiplied: their shapes are {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise RuntimeError(f"bias has shape {tuple(bias.shape)}, it must be ({weight.shape[0]},), one for each row of weight")
    return (*input.shape[:-1], weight.shape[0])


def _linear(input: _Tensor, weight: _Tensor, bias: _Optional) -> _Tensor:
    shape = _linear_shape(input, weight, bias)
    x, w = as_array(input), as_array(weight).T
    rows = x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    # Formats and shapes are checked: the loops themselves may be called.
    y = _exact._matmul(rows, w) if bias is None else _exact._matmul_bias(rows, w, as_array(bias))
    return as_tensor(y if x.ndim == 2 else y.reshape(shape))


def _linear_gradient(g: _Tensor, input: _Tensor, weight: _Tensor, needs: Any) -> tuple[_Optional, _Optional, _Optional]:
    rows = _rows(g)
    return (
        MATMUL(g, weight) if needs[0] else None,
        MATMUL(rows.mT, _rows(input)) if needs[1] else None,
        SUM(rows, [0], False) if needs[2] else None,
    )


def _linear_tangent(ts: list[_Optional], input: _Tensor, weight: _Tensor, output: _Tensor) -> Any:
    t = _plus(
        None if ts[0] is None else LINEAR(ts[0], weight, None),
        None if ts[1] is None else LINEAR(input, ts[1], None),
        ts[2],
    )
    return t.expand(output.shape).clone() if t.shape != output.shape else t


def _linear_batch(op: Operator) -> Any:
    def rule(info: Any, in_dims: Any, input: _Tensor, weight: _Tensor, bias: _Optional) -> tuple[_Tensor, int]:
        if in_dims[1] is None and in_dims[2] is None:
            return op(input.movedim(in_dims[0], 0), weight, bias), 0
        result = op._one_by_one(info, in_dims, input, weight, bias)
        return result[0], 0

    return rule


LINEAR: Operator = Operator(
    "linear(Tensor input, Tensor weight, Tensor? bias) -> Tensor",
    _linear,
    lambda input, weight, bias: input.new_empty(_linear_shape(input, weight, bias)),
    gradient=_linear_gradient,
    tangent=_linear_tangent,
    batch=_linear_batch,
)

# --- convolution
#
# Sizes come as lists with a value for each spatial axis; an empty `padding` is "same". The number of spatial axes is that of `stride`.


def _conv_shape(x: Any, w: Any, stride: list[int], padding: list[int], dilation: list[int], groups: int) -> list[Any]:
    """The result's shape of shapes x and w."""
    dims = len(stride)
    if len(w) != dims + 2:
        raise RuntimeError(
            f"weight must have {dims + 2} axes (output channels, input channels, kernel), not shape {tuple(w)}"
        )
    if len(x) != dims + 2:
        raise RuntimeError(f"input must have {dims + 2} axes, or {dims + 1} without a batch, not shape {tuple(x)}")
    if w[1] * groups != x[1] or w[0] % groups:
        raise RuntimeError(
            f"groups={groups} and weight of shape {tuple(w)} need {w[1] * groups} input channels and output channels divisible by groups; "
            f"input has shape {tuple(x)}"
        )
    shape = [x[0], w[0]]
    for i in range(dims):
        extent = dilation[i] * (w[2 + i] - 1) + 1
        n = x[2 + i] if not padding else (x[2 + i] + 2 * padding[i] - extent) // stride[i] + 1
        if n <= 0:
            raise RuntimeError(
                f"weight has a kernel of extent {extent} along an axis of input with {x[2 + i]} elements and its padding"
            )
        shape.append(n)
    return shape


def _conv_check(input: _Tensor, weight: _Tensor, bias: _Optional, channels: Any) -> None:
    check_formats(("input", "weight", "bias"), (input, weight, bias))
    if bias is not None and tuple(bias.shape) != (channels,):
        raise RuntimeError(f"bias has shape {tuple(bias.shape)}, it must be ({channels},), one for each output channel")


def _fake_conv(
    input: _Tensor, weight: _Tensor, bias: _Optional, stride: Any, padding: Any, dilation: Any, groups: int
) -> _Tensor:
    shape = _conv_shape(input.shape, weight.shape, stride, padding, dilation, groups)
    _conv_check(input, weight, bias, weight.shape[0])
    return input.new_empty(shape)


@functools.lru_cache(maxsize=1024)
def _geometry(
    x: tuple[int, ...],
    w: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> _convolution._Geometry:
    """Sizes as the C library takes them; a network asks for the same ones again and again."""
    _conv_shape(x, w, list(stride), list(padding), list(dilation), groups)
    return _convolution._Geometry(len(stride), x, w, stride, padding or "same", dilation, groups)


def _run(
    what: str, geometry: _convolution._Geometry, shape: Any, first: _Tensor, second: _Tensor, bias: _Optional
) -> _Tensor:
    out = torch.empty(shape, dtype=first.dtype)
    b = None if bias is None else as_array(bias)
    geometry.run(what, as_array(first), as_array(second), b, as_array(out))
    return out


def _conv(input: _Tensor, weight: _Tensor, bias: _Optional, stride: Any, padding: Any, dilation: Any, groups: int) -> _Tensor:
    g = _geometry(tuple(input.shape), tuple(weight.shape), tuple(stride), tuple(padding), tuple(dilation), groups)
    _conv_check(input, weight, bias, weight.shape[0])
    return _run("forward", g, g.y_shape, input, weight, bias)


def _bias_gradient(g: _Tensor) -> _Tensor:
    return SUM(g, [0, *range(2, g.ndim)], False)


def _conv_gradient(
    g: _Tensor, input: _Tensor, weight: _Tensor, stride: Any, padding: Any, dilation: Any, groups: int, needs: Any
) -> tuple[_Optional, _Optional, _Optional]:
    rest = stride, padding, dilation, groups
    return (
        CONV_GRAD_INPUT(input.shape, weight, g, *rest) if needs[0] else None,
        CONV_GRAD_WEIGHT(input, weight.shape, g, *rest) if needs[1] else None,
        _bias_gradient(g) if needs[2] else None,
    )


def _bias_term(bias: _Optional, like: _Tensor) -> _Optional:
    return None if bias is None else bias.reshape(-1, *(1,) * (like.ndim - 2)).expand(like.shape)


def _conv_tangent(
    ts: list[_Optional],
    input: _Tensor,
    weight: _Tensor,
    output: _Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    rest = None, stride, padding, dilation, groups
    return _plus(
        None if ts[0] is None else CONV(ts[0], weight, *rest),
        None if ts[1] is None else CONV(input, ts[1], *rest),
        _bias_term(ts[2], output),
    )


CONV: Operator = Operator(
    "conv(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor",
    _conv,
    _fake_conv,
    gradient=_conv_gradient,
    tangent=_conv_tangent,
)


def _check_gradient(grad_output: _Tensor, g: _convolution._Geometry) -> None:
    if tuple(grad_output.shape) != g.y_shape:
        raise RuntimeError(f"grad_output has shape {tuple(grad_output.shape)}; the convolution's result has {g.y_shape}")


def _conv_grad_input(
    shape: Any, weight: _Tensor, grad_output: _Tensor, stride: Any, padding: Any, dilation: Any, groups: int
) -> _Tensor:
    check_formats(("weight", "grad_output"), (weight, grad_output))
    g = _geometry(tuple(shape), tuple(weight.shape), tuple(stride), tuple(padding), tuple(dilation), groups)
    _check_gradient(grad_output, g)
    return _run("grad_input", g, shape, grad_output, weight, None)


def _grad_input_gradient(
    h: _Tensor, weight: _Tensor, grad_output: _Tensor, stride: Any, padding: Any, dilation: Any, groups: int, needs: Any
) -> tuple[_Optional, _Optional]:
    rest = stride, padding, dilation, groups
    return (
        CONV_GRAD_WEIGHT(h, weight.shape, grad_output, *rest) if needs[0] else None,
        CONV(h, weight, None, *rest) if needs[1] else None,
    )


def _grad_input_tangent(
    ts: list[_Optional],
    shape: Any,
    weight: _Tensor,
    grad_output: _Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    rest = stride, padding, dilation, groups
    return _plus(
        None if ts[0] is None else CONV_GRAD_INPUT(shape, ts[0], grad_output, *rest),
        None if ts[1] is None else CONV_GRAD_INPUT(shape, weight, ts[1], *rest),
    )


CONV_GRAD_INPUT: Operator = Operator(
    "conv_grad_input(SymInt[] shape, Tensor weight, Tensor grad_output, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "SymInt groups) -> Tensor",
    _conv_grad_input,
    lambda shape, weight, grad_output, *rest: weight.new_empty(shape),
    gradient=_grad_input_gradient,
    tangent=_grad_input_tangent,
)


def _conv_grad_weight(
    input: _Tensor, shape: Any, grad_output: _Tensor, stride: Any, padding: Any, dilation: Any, groups: int
) -> _Tensor:
    check_formats(("input", "grad_output"), (input, grad_output))
    g = _geometry(tuple(input.shape), tuple(shape), tuple(stride), tuple(padding), tuple(dilation), groups)
    _check_gradient(grad_output, g)
    return _run("grad_weight", g, shape, input, grad_output, None)


def _grad_weight_gradient(
    h: _Tensor, input: _Tensor, grad_output: _Tensor, stride: Any, padding: Any, dilation: Any, groups: int, needs: Any
) -> tuple[_Optional, _Optional]:
    rest = stride, padding, dilation, groups
    return (
        CONV_GRAD_INPUT(input.shape, h, grad_output, *rest) if needs[0] else None,
        CONV(input, h, None, *rest) if needs[1] else None,
    )


def _grad_weight_tangent(
    ts: list[_Optional],
    input: _Tensor,
    shape: Any,
    grad_output: _Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    rest = stride, padding, dilation, groups
    return _plus(
        None if ts[0] is None else CONV_GRAD_WEIGHT(ts[0], shape, grad_output, *rest),
        None if ts[1] is None else CONV_GRAD_WEIGHT(input, shape, ts[1], *rest),
    )


CONV_GRAD_WEIGHT: Operator = Operator(
    "conv_grad_weight(Tensor input, SymInt[] shape, Tensor grad_output, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "SymInt groups) -> Tensor",
    _conv_grad_weight,
    lambda input, shape, grad_output, *rest: input.new_empty(shape),
    gradient=_grad_weight_gradient,
    tangent=_grad_weight_tangent,
)

# --- transposed convolution: the gradient of a convolution with respect to its input, plus a bias


def _transpose_shape(x: Any, w: Any, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any) -> list[Any]:
    dims = len(stride)
    if len(w) != dims + 2:
        raise RuntimeError(f"weight must have {dims + 2} axes (channels, output channels, kernel), not shape {tuple(w)}")
    if len(x) != dims + 2 or x[1] != w[0]:
        raise RuntimeError(
            f"input of shape {tuple(x)} does not fit weight of shape {tuple(w)}: its channels are those of weight's first axis"
        )
    if w[0] % groups:
        raise RuntimeError(f"groups must divide the {w[0]} channels, not {groups}")
    shape = [x[0], w[1] * groups]
    for i in range(dims):
        if output_padding[i] >= max(stride[i], dilation[i]):
            raise RuntimeError(f"output_padding must be less than stride or dilation, not {output_padding[i]}")
        shape.append((x[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w[2 + i] - 1) + output_padding[i] + 1)
    if any(n < 0 for n in shape[2:]):
        raise RuntimeError(f"the result would have a negative size: {shape}")
    return shape


def _fake_transpose(input: _Tensor, weight: _Tensor, bias: _Optional, *sizes: Any) -> _Tensor:
    shape = _transpose_shape(input.shape, weight.shape, *sizes)
    _conv_check(input, weight, bias, shape[1])
    return input.new_empty(shape)


def _transpose(
    input: _Tensor,
    weight: _Tensor,
    bias: _Optional,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> _Tensor:
    shape = _transpose_shape(input.shape, weight.shape, stride, padding, output_padding, groups, dilation)
    _conv_check(input, weight, bias, shape[1])
    x, w, b = as_array(input), as_array(weight), None if bias is None else as_array(bias)
    return as_tensor(
        _convolution._conv_transpose(len(stride), x, w, b, stride, padding, output_padding, groups, dilation, False, None)
    )


def _cropped(t: _Tensor, shape: Any) -> _Tensor:
    """Without the positions beyond `shape`, which receive nothing: output_padding beyond the stride makes them."""
    for i in range(2, t.ndim):
        if t.shape[i] != shape[i]:
            t = t.narrow(i, 0, shape[i])
    return t


def _transpose_gradient(
    g: _Tensor,
    input: _Tensor,
    weight: _Tensor,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    needs: Any,
) -> tuple[_Optional, _Optional, _Optional]:
    rest = stride, padding, dilation, groups
    dx = dw = None
    if needs[0]:
        dx = _cropped(CONV(g, weight, None, *rest), input.shape)
    if needs[1]:
        back = _conv_shape(g.shape, weight.shape, *rest)
        missing = [n for i in reversed(range(2, input.ndim)) for n in (0, back[i] - input.shape[i])]
        x = torch.nn.functional.pad(input, missing) if any(missing) else input
        dw = CONV_GRAD_WEIGHT(g, weight.shape, x, *rest)
    return dx, dw, _bias_gradient(g) if needs[2] else None


def _transpose_tangent(
    ts: list[_Optional],
    input: _Tensor,
    weight: _Tensor,
    output: _Tensor,
    stride: Any,
    padding: Any,
    output_padding: Any,
    groups: int,
    dilation: Any,
) -> Any:
    rest = None, stride, padding, output_padding, groups, dilation
    return _plus(
        None if ts[0] is None else CONV_TRANSPOSE(ts[0], weight, *rest),
        None if ts[1] is None else CONV_TRANSPOSE(input, ts[1], *rest),
        _bias_term(ts[2], output),
    )


CONV_TRANSPOSE: Operator = Operator(
    "conv_transpose(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] output_padding, "
    "SymInt groups, SymInt[] dilation) -> Tensor",
    _transpose,
    _fake_transpose,
    gradient=_transpose_gradient,
    tangent=_transpose_tangent,
)
