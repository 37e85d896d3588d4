"""Losses and their gradients by the first argument. Second derivatives raise."""

from typing import Any

import torch

from .. import nn
from ._operators import Operator, check_formats, no_gradient
from ._tensors import as_array, as_tensor

_Tensor = torch.Tensor
_Optional = torch.Tensor | None


def _array(t: _Optional) -> Any:
    return None if t is None else as_array(t)


def _loss_of(input: _Tensor, shape: Any, reduction: str) -> _Tensor:
    return input.new_empty(shape if reduction == "none" else ())


def _check_classes(input: _Tensor, target: _Tensor, weight: _Optional) -> list[Any]:
    """Raise as PyTorch does; the shape of the losses."""
    check_formats(("input", "weight"), (input, weight))
    if input.ndim == 0:
        raise RuntimeError("input must have an axis of classes")
    axis = 0 if input.ndim == 1 else 1
    shape = [*input.shape[:axis], *input.shape[axis + 1 :]]
    wanted = input.shape if target.is_floating_point() else shape
    if list(target.shape) != list(wanted):
        raise ValueError(f"target has shape {tuple(target.shape)}; for input of shape {tuple(input.shape)} it must be {tuple(wanted)}")
    if weight is not None and list(weight.shape) != [input.shape[axis]]:
        raise RuntimeError(f"weight has shape {tuple(weight.shape)}, it must be ({input.shape[axis]},), one for each class")
    return shape


def _cross_entropy(input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str, label_smoothing: float) -> _Tensor:
    _check_classes(input, target, weight)
    return as_tensor(nn.cross_entropy(as_array(input), as_array(target), _array(weight), ignore_index, reduction, label_smoothing))


def _cross_entropy_backward(
    grad_output: _Tensor, input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str, label_smoothing: float
) -> _Tensor:
    g = as_array(grad_output)
    return as_tensor(
        nn.cross_entropy_backward(g, as_array(input), as_array(target), _array(weight), ignore_index, reduction, label_smoothing)
    )


def _cross_entropy_gradient(
    g: _Tensor,
    input: _Tensor,
    target: _Tensor,
    weight: _Optional,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
    needs: Any,
) -> tuple[_Tensor, None, None]:
    for name, need in zip(("target", "weight"), needs[1:], strict=True):
        if need:
            raise no_gradient("cross_entropy", name)
    return CROSS_ENTROPY_BACKWARD(g, input, target, weight, ignore_index, reduction, label_smoothing), None, None


_REST = "Tensor target, Tensor? weight, int ignore_index, str reduction, float label_smoothing"

CROSS_ENTROPY_BACKWARD = Operator(
    f"cross_entropy_backward(Tensor grad_output, Tensor input, {_REST}) -> Tensor",
    _cross_entropy_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

CROSS_ENTROPY = Operator(
    f"cross_entropy(Tensor input, {_REST}) -> Tensor",
    _cross_entropy,
    lambda input, target, weight, ignore_index, reduction, label_smoothing: _loss_of(
        input, _check_classes(input, target, weight), reduction
    ),
    gradient=_cross_entropy_gradient,
)
