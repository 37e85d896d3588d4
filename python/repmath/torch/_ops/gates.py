"""tanh and the sigmoid of recurrent layers. The value is rounded once, and the gradient is a formula of the value.

PyTorch keeps what a cell's gates returned and not what they were given, so that under `reproducible` tanh_backward and sigmoid_backward
are functions of the result. elementwise.py has the exact derivative at the argument instead.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from .._formula import formula
from .elementwise import OPERATORS, differentiate, elementwise_batch
from .operator import Operator, check_formats

_Tensor: TypeAlias = torch.Tensor
_add, _mul = OPERATORS["add"], OPERATORS["multiply"]


def _twice(t: _Tensor) -> _Tensor:
    return _add(t, t)


def _gate(name: str, slope: Callable[[_Tensor], _Tensor]) -> tuple[Operator, Operator]:
    """The function and its gradient. `slope` is the derivative of the gradient's factor, 1 - y**2 or
    y (1 - y), with respect to the result y."""

    def kernel(grad_output: _Tensor, result: _Tensor) -> _Tensor:
        check_formats(("grad_output", "result"), (grad_output, result))
        return formula(name, 0.0, grad_output.detach(), result.detach())

    gate: Operator = Operator(
        f"{name}_gate(Tensor input) -> Tensor",
        OPERATORS[name].kernel,
        lambda input: torch.empty_like(input),
        batch=elementwise_batch,
    )
    back: Operator = Operator(
        f"{name}_gate_backward(Tensor grad_output, Tensor result) -> Tensor",
        kernel,
        lambda grad_output, result: grad_output.new_empty(torch.broadcast_shapes(grad_output.shape, result.shape)),
        batch=elementwise_batch,
    )
    differentiate(gate, (lambda g, out: back(g, out),))
    differentiate(back, (lambda g, y: back(g, y), lambda g, x, y: _mul(_mul(g, x), slope(y))))
    return gate, back


def _sigmoid_slope(y: _Tensor) -> Any:
    return OPERATORS["subtract"](torch.ones_like(y), _twice(y))


TANH_GATE, TANH_GATE_BACKWARD = _gate("tanh", lambda y: _twice(torch.neg(y)))
SIGMOID_GATE, SIGMOID_GATE_BACKWARD = _gate("sigmoid", _sigmoid_slope)
