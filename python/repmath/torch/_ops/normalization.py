"""Norms with exact statistics, and their gradients with respect to input, weight and bias. Second derivatives raise."""

from typing import Any, TypeAlias

import torch

from ... import nn
from ...nn import _normalization as _exact
from .._tensors import as_array, as_tensor
from .operator import Operator, check_formats, no_gradient
from .reductions import SUM

_Tensor: TypeAlias = torch.Tensor
_Optional: TypeAlias = torch.Tensor | None


def _array(t: _Optional) -> Any:
    return None if t is None else as_array(t)


def _tensors(arrays: tuple[Any, ...], like: _Tensor) -> tuple[_Tensor, ...]:
    """Three tensors; one without elements for None."""
    padded = (*arrays, *(None,) * (3 - len(arrays)))
    return tuple(like.new_empty(0) if a is None else as_tensor(a) for a in padded)


def _check(input: _Tensor, weight: _Optional, bias: _Optional, shape: Any) -> None:
    check_formats(("input", "weight", "bias"), (input, weight, bias))
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and list(t.shape) != list(shape):
            raise RuntimeError(f"{name} has shape {tuple(t.shape)}, it must be {tuple(shape)}")


def _own_axes(input: _Tensor, shape: Any) -> None:
    if not shape or list(input.shape[max(0, input.ndim - len(shape)) :]) != list(shape):
        raise RuntimeError(f"normalized_shape is {tuple(shape)}; input of shape {tuple(input.shape)} must end in it")


def _channels(input: _Tensor) -> list[Any]:
    if input.ndim < 2:
        raise RuntimeError(f"input must have at least two axes, (batch, channels, ...), not shape {tuple(input.shape)}")
    return [input.shape[1]]


def _family(name: str, option: str, forward: Any, backward: Any, weight_shape: Any, has_bias: bool, axes: Any) -> Operator:
    """A norm whose statistics are the input's own.

    `option` is its argument before the weight, in the schema's words, or "". `weight_shape` makes the weight's shape of the input and
    that option, after checking them; `axes` the axes that the bias' gradient is summed over.
    """
    own = [option.split()[-1]] if option else []
    middle = f"{option}, " if option else ""
    bias_schema = ", Tensor? bias" if has_bias else ""

    def split(args: tuple[Any, ...]) -> tuple[Any, Any, Any, float]:
        """The option, if there is one, as a tuple; weight; bias; eps."""
        k = len(own)
        return args[:k], args[k], args[k + 1] if has_bias else None, args[-1]

    def kernel(input: _Tensor, *args: Any) -> _Tensor:
        o, w, b, eps = split(args)
        _check(input, w, b, weight_shape(input, *o))
        biases = (_array(b),) if has_bias else ()
        return as_tensor(forward(as_array(input), *o, _array(w), *biases, eps))

    def fake(input: _Tensor, *args: Any) -> _Tensor:
        o, w, b, _ = split(args)
        _check(input, w, b, weight_shape(input, *o))
        return input.new_empty(input.shape)

    def backward_kernel(grad_output: _Tensor, input: _Tensor, *args: Any) -> tuple[_Tensor, ...]:
        *o, w, eps = args
        check_formats(("grad_output", "input"), (grad_output, input))
        return _tensors(backward(as_array(grad_output), as_array(input), *o, _array(w), eps), input)

    def fake_backward(grad_output: _Tensor, input: _Tensor, *args: Any) -> tuple[_Tensor, ...]:
        w = args[-2]
        shapes = [input.shape, (0,) if w is None else w.shape, (0,) if w is None or not has_bias else w.shape]
        return tuple(input.new_empty(s) for s in shapes)

    gradient_op = Operator(
        f"{name}_backward(Tensor grad_output, Tensor input, {middle}Tensor? weight, float eps) -> (Tensor, Tensor, Tensor)",
        backward_kernel,
        fake_backward,
    )

    def gradient(g: _Tensor, needs: Any, input: _Tensor, *args: Any) -> tuple[Any, ...]:
        *o, w, eps = args
        dx, dw, db = gradient_op(g, input, *o, w, eps)
        if has_bias and needs[2] and w is None:
            db = SUM(g, axes(input, *o), False)
        return (dx, dw, db) if has_bias else (dx, dw)

    op = Operator(f"{name}(Tensor input, {middle}Tensor? weight{bias_schema}, float eps) -> Tensor", kernel, fake)
    op.set_gradient(gradient, ("needs", "input", *own, "weight", "eps"))
    return op


def _layer_weight(input: _Tensor, shape: Any) -> Any:
    _own_axes(input, shape)
    return shape


def _group_weight(input: _Tensor, num_groups: int) -> Any:
    channels = _channels(input)
    if num_groups < 1 or channels[0] % num_groups:
        raise ValueError(f"num_groups must divide the {channels[0]} channels, not {num_groups}")
    return channels


def _channel_axes(input: _Tensor, *option: Any) -> list[int]:
    return [0, *range(2, input.ndim)]


LAYER_NORM: Operator = _family(
    "layer_norm",
    "SymInt[] normalized_shape",
    nn.layer_norm,
    nn.layer_norm_backward,
    _layer_weight,
    True,
    lambda input, shape: list(range(input.ndim - len(shape))),
)
RMS_NORM: Operator = _family(
    "rms_norm", "SymInt[] normalized_shape", nn.rms_norm, nn.rms_norm_backward, _layer_weight, False, None
)
GROUP_NORM: Operator = _family(
    "group_norm", "SymInt num_groups", nn.group_norm, nn.group_norm_backward, _group_weight, True, _channel_axes
)
INSTANCE_NORM: Operator = _family(
    "instance_norm", "", nn.instance_norm, nn.instance_norm_backward, _channels, True, _channel_axes
)

# --- batch_norm: statistics of the batch, or given ones


def _check_batch(
    input: _Tensor, running_mean: _Optional, running_var: _Optional, weight: _Optional, bias: _Optional, training: bool
) -> None:
    shape = _channels(input)
    _check(input, weight, bias, shape)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var are needed unless training")
        check_formats(("input", "running_mean", "running_var"), (input, running_mean, running_var))


def _batch_norm(
    input: _Tensor,
    running_mean: _Optional,
    running_var: _Optional,
    weight: _Optional,
    bias: _Optional,
    training: bool,
    eps: float,
) -> _Tensor:
    _check_batch(input, running_mean, running_var, weight, bias, training)
    mean, variance = (None, None) if training else (_array(running_mean), _array(running_var))
    return as_tensor(nn.batch_norm(as_array(input), mean, variance, _array(weight), _array(bias), training, 0.0, eps))


def _fake_batch_norm(
    input: _Tensor,
    running_mean: _Optional,
    running_var: _Optional,
    weight: _Optional,
    bias: _Optional,
    training: bool,
    eps: float,
) -> _Tensor:
    _check_batch(input, running_mean, running_var, weight, bias, training)
    return input.new_empty(input.shape)


def _batch_norm_backward(
    grad_output: _Tensor,
    input: _Tensor,
    running_mean: _Optional,
    running_var: _Optional,
    weight: _Optional,
    training: bool,
    eps: float,
) -> tuple[_Tensor, ...]:
    given = _array(running_mean), _array(running_var), _array(weight)
    return _tensors(nn.batch_norm_backward(as_array(grad_output), as_array(input), *given, training, eps), input)


def _fake_batch_norm_backward(
    grad_output: _Tensor, input: _Tensor, running_mean: _Optional, running_var: _Optional, weight: _Optional, *rest: Any
) -> tuple[_Tensor, ...]:
    shape = (0,) if weight is None else weight.shape
    return input.new_empty(input.shape), input.new_empty(shape), input.new_empty(shape)


def _batch_norm_gradient(
    g: _Tensor,
    input: _Tensor,
    running_mean: _Optional,
    running_var: _Optional,
    weight: _Optional,
    training: bool,
    eps: float,
    needs: Any,
) -> tuple[Any, ...]:
    for name, need in (("running_mean", needs[1]), ("running_var", needs[2])):
        if need:
            raise no_gradient("batch_norm", name)
    dx, dw, db = BATCH_NORM_BACKWARD(g, input, running_mean, running_var, weight, training, eps)
    if needs[4] and weight is None:
        db = SUM(g, _channel_axes(g), False)
    return dx, None, None, dw, db


BATCH_NORM_BACKWARD: Operator = Operator(
    "batch_norm_backward(Tensor grad_output, Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, bool training, "
    "float eps) -> (Tensor, Tensor, Tensor)",
    _batch_norm_backward,
    _fake_batch_norm_backward,
)

BATCH_NORM: Operator = Operator(
    "batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight, Tensor? bias, bool training, float eps) -> Tensor",
    _batch_norm,
    _fake_batch_norm,
    gradient=_batch_norm_gradient,
)


def _statistics(input: _Tensor, running_mean: _Tensor, running_var: _Tensor, momentum: float) -> tuple[_Tensor, _Tensor]:
    mean, variance = running_mean.detach().clone(), running_var.detach().clone()
    _exact._update(as_array(mean), as_array(variance), as_array(input), momentum)
    return mean, variance


# New running statistics of old ones and a batch.
BATCH_NORM_STATISTICS: Operator = Operator(
    "batch_norm_statistics(Tensor input, Tensor running_mean, Tensor running_var, float momentum) -> (Tensor, Tensor)",
    _statistics,
    lambda input, running_mean, running_var, momentum: (torch.empty_like(running_mean), torch.empty_like(running_var)),
)
