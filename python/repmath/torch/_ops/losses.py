"""Losses and their gradients with respect to the first argument. Second derivatives raise."""

from typing import Any, TypeAlias

import torch

from ... import _core, nn
from ...nn import _losses
from .._tensors import as_array, as_tensor
from .elementwise import OPERATORS, scalar
from .operator import Operator, check_formats, no_gradient

_Tensor: TypeAlias = torch.Tensor
_Optional: TypeAlias = torch.Tensor | None


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
        raise ValueError(
            f"target has shape {tuple(target.shape)}; for input of shape {tuple(input.shape)} it must be {tuple(wanted)}"
        )
    if weight is not None and list(weight.shape) != [input.shape[axis]]:
        raise RuntimeError(f"weight has shape {tuple(weight.shape)}, it must be ({input.shape[axis]},), one for each class")
    return shape


def _only_input(loss: str, needs: Any, *others: str) -> None:
    """Raise where a gradient with respect to another argument than `input` is asked for."""
    for name, need in zip(others, needs[1:], strict=True):
        if need:
            raise no_gradient(loss, name)


# --- losses of classes

# Prepared calls, of few elements.
_SMALL, _SMALL_GRADIENT = _core.CrossEntropy(), _core.CrossEntropy(True)


def _cross_entropy(
    input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str, label_smoothing: float
) -> _Tensor:
    made: Any = _SMALL(input, target, weight, ignore_index, reduction, label_smoothing)
    if made is not NotImplemented:
        return made
    _check_classes(input, target, weight)
    return as_tensor(
        nn.cross_entropy(as_array(input), as_array(target), _array(weight), ignore_index, reduction, label_smoothing)
    )


def _cross_entropy_backward(
    grad_output: _Tensor,
    input: _Tensor,
    target: _Tensor,
    weight: _Optional,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> _Tensor:
    made: Any = _SMALL_GRADIENT(grad_output, input, target, weight, ignore_index, reduction, label_smoothing)
    if made is not NotImplemented:
        return made
    g = as_array(grad_output)
    return as_tensor(
        nn.cross_entropy_backward(
            g, as_array(input), as_array(target), _array(weight), ignore_index, reduction, label_smoothing
        )
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
    _only_input("cross_entropy", needs, "target", "weight")
    return CROSS_ENTROPY_BACKWARD(g, input, target, weight, ignore_index, reduction, label_smoothing), None, None


_REST = "Tensor target, Tensor? weight, int ignore_index, str reduction, float label_smoothing"

CROSS_ENTROPY_BACKWARD: Operator = Operator(
    f"cross_entropy_backward(Tensor grad_output, Tensor input, {_REST}) -> Tensor",
    _cross_entropy_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

CROSS_ENTROPY: Operator = Operator(
    f"cross_entropy(Tensor input, {_REST}) -> Tensor",
    _cross_entropy,
    lambda input, target, weight, ignore_index, reduction, label_smoothing: _loss_of(
        input, _check_classes(input, target, weight), reduction
    ),
    gradient=_cross_entropy_gradient,
)


def _nll_loss(input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str) -> _Tensor:
    _check_classes(input, target, weight)
    arrays = as_array(input), as_array(target), _array(weight)
    return as_tensor(nn.nll_loss(*arrays, ignore_index=ignore_index, reduction=reduction))


def _nll_loss_backward(
    grad_output: _Tensor, input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str
) -> _Tensor:
    arrays = as_array(grad_output), as_array(input), as_array(target), _array(weight)
    return as_tensor(nn.nll_loss_backward(*arrays, ignore_index=ignore_index, reduction=reduction))


def _nll_loss_gradient(
    g: _Tensor, input: _Tensor, target: _Tensor, weight: _Optional, ignore_index: int, reduction: str, needs: Any
) -> tuple[_Tensor, None, None]:
    _only_input("nll_loss", needs, "target", "weight")
    return NLL_LOSS_BACKWARD(g, input, target, weight, ignore_index, reduction), None, None


NLL_LOSS_BACKWARD: Operator = Operator(
    "nll_loss_backward(Tensor grad_output, Tensor input, Tensor target, Tensor? weight, int ignore_index, str reduction) -> Tensor",
    _nll_loss_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

NLL_LOSS: Operator = Operator(
    "nll_loss(Tensor input, Tensor target, Tensor? weight, int ignore_index, str reduction) -> Tensor",
    _nll_loss,
    lambda input, target, weight, ignore_index, reduction: _loss_of(input, _check_classes(input, target, weight), reduction),
    gradient=_nll_loss_gradient,
)

# --- losses of pairs


def _check_pair(input: _Tensor, target: _Tensor) -> None:
    check_formats(("input", "target"), (input, target))
    if input.shape != target.shape:
        raise ValueError(f"target has shape {tuple(target.shape)}, input has {tuple(input.shape)}; they must be equal")


def _pair_loss(input: _Tensor, target: _Tensor, loss: str, parameter: float, reduction: str) -> _Tensor:
    _check_pair(input, target)
    return as_tensor(_losses._loss(loss, parameter, reduction, as_array(input), as_array(target)))


def _fake_pair_loss(input: _Tensor, target: _Tensor, loss: str, parameter: float, reduction: str) -> _Tensor:
    _check_pair(input, target)
    return _loss_of(input, input.shape, reduction)


def _pair_loss_backward(
    grad_output: _Tensor, input: _Tensor, target: _Tensor, loss: str, parameter: float, reduction: str
) -> _Tensor:
    arrays = as_array(grad_output), as_array(input), as_array(target)
    return as_tensor(_losses._gradient(loss, parameter, reduction, *arrays))


def _pair_loss_gradient(
    g: _Tensor, input: _Tensor, target: _Tensor, loss: str, parameter: float, reduction: str, needs: Any
) -> tuple[_Tensor, _Optional]:
    """With respect to the target it is the negative of that with respect to the input."""
    dx = PAIR_LOSS_BACKWARD(g, input, target, loss, parameter, reduction)
    return dx, OPERATORS["multiply"](dx, scalar(-1.0, dx.dtype)) if needs[1] else None


PAIR_LOSS_BACKWARD: Operator = Operator(
    "pair_loss_backward(Tensor grad_output, Tensor input, Tensor target, str loss, float parameter, str reduction) -> Tensor",
    _pair_loss_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

# mse, l1, smooth_l1 and huber; the parameter is beta or delta.
PAIR_LOSS: Operator = Operator(
    "pair_loss(Tensor input, Tensor target, str loss, float parameter, str reduction) -> Tensor",
    _pair_loss,
    _fake_pair_loss,
    gradient=_pair_loss_gradient,
)


def _kl_div(input: _Tensor, target: _Tensor, reduction: str, log_target: bool) -> _Tensor:
    _check_pair(input, target)
    return as_tensor(nn.kl_div(as_array(input), as_array(target), reduction=reduction, log_target=log_target))


def _fake_kl_div(input: _Tensor, target: _Tensor, reduction: str, log_target: bool) -> _Tensor:
    _check_pair(input, target)
    return _loss_of(input, input.shape, reduction)


def _kl_div_backward(grad_output: _Tensor, input: _Tensor, target: _Tensor, reduction: str, log_target: bool) -> _Tensor:
    arrays = as_array(grad_output), as_array(input), as_array(target)
    return as_tensor(nn.kl_div_backward(*arrays, reduction=reduction, log_target=log_target))


def _kl_div_gradient(
    g: _Tensor, input: _Tensor, target: _Tensor, reduction: str, log_target: bool, needs: Any
) -> tuple[_Tensor, None]:
    _only_input("kl_div", needs, "target")
    return KL_DIV_BACKWARD(g, input, target, reduction, log_target), None


KL_DIV_BACKWARD: Operator = Operator(
    "kl_div_backward(Tensor grad_output, Tensor input, Tensor target, str reduction, bool log_target) -> Tensor",
    _kl_div_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

KL_DIV: Operator = Operator(
    "kl_div(Tensor input, Tensor target, str reduction, bool log_target) -> Tensor",
    _kl_div,
    _fake_kl_div,
    gradient=_kl_div_gradient,
)

# --- binary cross entropy of logits


_REDUCTIONS, _LOGITS = ("none", "mean", "sum"), _core.LogitLoss()


def _check_bce(input: _Tensor, target: _Tensor, weight: _Optional, pos_weight: _Optional) -> None:
    _check_pair(input, target)
    check_formats(("input", "weight", "pos_weight"), (input, weight, pos_weight))


def _bce(input: _Tensor, target: _Tensor, weight: _Optional, reduction: str, pos_weight: _Optional) -> _Tensor:
    _check_bce(input, target, weight, pos_weight)
    made = _LOGITS(input, target, weight, pos_weight, _REDUCTIONS.index(reduction) if reduction in _REDUCTIONS else None)
    if made is not NotImplemented:
        return made
    arrays = as_array(input), as_array(target), _array(weight)
    return as_tensor(nn.binary_cross_entropy_with_logits(*arrays, reduction=reduction, pos_weight=_array(pos_weight)))


def _fake_bce(input: _Tensor, target: _Tensor, weight: _Optional, reduction: str, pos_weight: _Optional) -> _Tensor:
    _check_bce(input, target, weight, pos_weight)
    return _loss_of(input, input.shape, reduction)


def _bce_backward(
    grad_output: _Tensor, input: _Tensor, target: _Tensor, weight: _Optional, reduction: str, pos_weight: _Optional
) -> _Tensor:
    arrays = as_array(grad_output), as_array(input), as_array(target), _array(weight)
    return as_tensor(
        nn.binary_cross_entropy_with_logits_backward(*arrays, reduction=reduction, pos_weight=_array(pos_weight))
    )


def _bce_gradient(
    g: _Tensor, input: _Tensor, target: _Tensor, weight: _Optional, reduction: str, pos_weight: _Optional, needs: Any
) -> tuple[_Tensor, None, None, None]:
    _only_input("binary_cross_entropy_with_logits", needs, "target", "weight", "pos_weight")
    return BCE_BACKWARD(g, input, target, weight, reduction, pos_weight), None, None, None


BCE_BACKWARD: Operator = Operator(
    "binary_cross_entropy_with_logits_backward(Tensor grad_output, Tensor input, Tensor target, Tensor? weight, str reduction, "
    "Tensor? pos_weight) -> Tensor",
    _bce_backward,
    lambda grad_output, input, *rest: input.new_empty(input.shape),
)

BCE: Operator = Operator(
    "binary_cross_entropy_with_logits(Tensor input, Tensor target, Tensor? weight, str reduction, Tensor? pos_weight) -> Tensor",
    _bce,
    _fake_bce,
    gradient=_bce_gradient,
)
