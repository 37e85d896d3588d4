"""Activations with a parameter, which crlibm/functions.def does not have: values and gradients are those of the table of ATen's operators,
so that a module has one definition, under `reproducible` and here."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from ... import _core
from .._aten.compositions import below_elu, elu_slope, mish
from .._aten.elementwise import hardsigmoid, hardsigmoid_backward, hardswish, hardswish_backward
from .._aten.multistep import mish_backward
from .._formula import formula
from .elementwise import OPERATORS, scalar
from .operator import Operator, check_formats
from .selections import RELU_BACKWARD

_Tensor: TypeAlias = torch.Tensor
_add, _mul = OPERATORS["add"], OPERATORS["multiply"]


def above(x: _Tensor) -> _Tensor:
    """Whether x is above 0, or NaN, also where PyTorch's comparisons take subnormal numbers for 0."""
    gate: _Tensor = RELU_BACKWARD(torch.ones_like(x), x.detach())
    return gate != 0


def _batch(op: Operator) -> Any:
    """vmap: one call; the tensors have one shape, and what follows them are numbers."""

    def rule(info: Any, in_dims: Any, *args: Any) -> tuple[_Tensor, int]:
        aligned = [
            a if not isinstance(a, torch.Tensor) else a.expand(info.batch_size, *a.shape) if d is None else a.movedim(d, 0)
            for a, d in zip(args, in_dims, strict=True)
        ]
        return op(*aligned), 0

    return rule


def _define(
    name: str, parameter: str, value: Callable[..., Any], slope: Callable[..., Any], second: Callable[..., Any] | None = None
) -> tuple[Operator, Operator]:
    """The function and its gradient: ``value(x, ...)`` and ``slope(g, x, ...)``. ``second(h, x, ...)`` is h times the second derivative, in
    operators; None where this is 0."""
    more = f", float {parameter}" if parameter else ""

    def kernel(input: _Tensor, *numbers: float) -> _Tensor:
        check_formats(("input",), (input,))
        with torch.no_grad(), _core.Environment():
            made: _Tensor = value(input.detach(), *numbers)
        return made

    def backward_kernel(grad_output: _Tensor, input: _Tensor, *numbers: float) -> _Tensor:
        check_formats(("grad_output", "input"), (grad_output, input))
        with torch.no_grad(), _core.Environment():
            made: _Tensor = slope(grad_output.detach(), input.detach(), *numbers)
        return made

    function: Operator = Operator(
        f"{name}(Tensor input{more}) -> Tensor", kernel, lambda input, *numbers: torch.empty_like(input), batch=_batch
    )
    back: Operator = Operator(
        f"{name}_backward(Tensor grad_output, Tensor input{more}) -> Tensor",
        backward_kernel,
        lambda grad_output, input, *numbers: torch.empty_like(input),
        batch=_batch,
    )
    own = (parameter,) if parameter else ()
    function.set_gradient(lambda g, x, *numbers: (back(g, x, *numbers),), ("input", *own))
    function.set_tangent(lambda ts, x, *numbers: back(ts[0], x, *numbers), ("input", *own))

    def bend(h: _Tensor, g: _Tensor, x: _Tensor, *numbers: float) -> Any:
        return None if second is None else second(_mul(h, g), x, *numbers)

    def gradient(h: _Tensor, needs: Any, g: _Tensor, x: _Tensor, *numbers: float) -> tuple[Any, Any]:
        return back(h, x, *numbers), bend(h, g, x, *numbers) if needs[1] else None

    def tangent(ts: Any, g: _Tensor, x: _Tensor, *numbers: float) -> Any:
        parts = [None if ts[0] is None else back(ts[0], x, *numbers), None if ts[1] is None else bend(ts[1], g, x, *numbers)]
        there = [p for p in parts if p is not None]
        return _add(*there) if len(there) == 2 else there[0] if there else torch.zeros_like(g)

    back.set_gradient(gradient, ("needs", "grad_output", "input", *own))
    back.set_tangent(tangent, ("grad_output", "input", *own))
    return function, back


def _bend_elu(h: _Tensor, x: _Tensor, alpha: float) -> _Tensor:
    return torch.where(above(x), scalar(0.0, x.dtype), ELU_BACKWARD(h, x, alpha))


ELU, ELU_BACKWARD = _define(
    "elu",
    "alpha",
    lambda x, alpha: torch.where(above(x), x, below_elu(x, alpha)),
    lambda g, x, alpha: torch.where(above(x), g, elu_slope(g, x, alpha)),
    _bend_elu,
)
LEAKY_RELU, LEAKY_RELU_BACKWARD = _define(
    "leaky_relu",
    "negative_slope",
    lambda x, slope: torch.where(above(x), x, formula("scaled", slope, x)),
    lambda g, x, slope: torch.where(above(x), g, formula("scaled", slope, g)),
)
HARDSIGMOID, HARDSIGMOID_BACKWARD = _define("hardsigmoid", "", hardsigmoid, hardsigmoid_backward)


def _bend_hardswish(h: _Tensor, x: _Tensor) -> _Tensor:
    third = _mul(h, scalar(1 / 3, h.dtype))
    return torch.where((x > -3) & (x < 3), third, torch.zeros_like(third))


HARDSWISH, HARDSWISH_BACKWARD = _define("hardswish", "", hardswish, hardswish_backward, _bend_hardswish)


def _bend_mish(h: _Tensor, x: _Tensor) -> _Tensor:
    """s (1 - t**2) (2 + x (1 - s - 2 s t)): s the sigmoid of x, t the hyperbolic tangent of log(1 + exp(x)), of which 1 - t**2 is the
    derivative of tanh."""
    s, inner = OPERATORS["sigmoid"](x), OPERATORS["softplus"](x)
    t = OPERATORS["tanh"](inner)
    turn = OPERATORS["subtract"](OPERATORS["sigmoid"](torch.neg(x)), _mul(_add(s, s), t))
    return OPERATORS["tanh_backward"](_mul(_mul(h, s), OPERATORS["fma"](x, turn, scalar(2.0, x.dtype))), inner)


MISH, MISH_BACKWARD = _define("mish", "", mish, mish_backward, _bend_mish)
