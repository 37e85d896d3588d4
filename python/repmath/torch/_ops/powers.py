"""Powers with an integer as operators: pown, rootn and compound of a tensor and a tensor of integers, and their derivatives by the first."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _core
from .._tensors import as_array
from .elementwise import OPERATORS, elementwise_batch, scalar
from .operator import Operator, check_formats
from .reductions import sum_to

_Tensor: TypeAlias = torch.Tensor
_MIN = -(1 << 63)
INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def _like(x: _Tensor, n: _Tensor) -> _Tensor:
    check_formats(("input",), (x,))
    if n.dtype not in INTEGERS:
        raise TypeError(f"n has dtype {n.dtype}; it must have integers that int64 holds")
    return torch.empty_like(x) if x.shape == n.shape else x.new_empty(torch.broadcast_shapes(x.shape, n.shape))


def _kernel(ufunc: Any) -> Callable[..., _Tensor]:
    def kernel(x: _Tensor, n: _Tensor) -> _Tensor:
        out = _like(x, n)
        with np.errstate(all="ignore"):
            ufunc(as_array(x), as_array(n), out=as_array(out))
        return out

    return kernel


POWERS: dict[str, Operator] = {
    name: Operator(f"{name}(Tensor input, Tensor n) -> Tensor", _kernel(ufunc), _like, batch=elementwise_batch)
    for name, ufunc in _core.powers.items()
}


def _less(n: _Tensor) -> _Tensor:
    """n - 1; of the least integer, which has none, n + 1: the power changes no more than by two factors."""
    wide = n.to(torch.int64)
    return torch.where(wide == _MIN, wide + 1, wide - 1)


def _slope(name: str, x: _Tensor, n: _Tensor, out: _Tensor) -> _Tensor:
    """The derivative by x, with a rounding for each step. n itself is rounded to the format."""
    mul, div = OPERATORS["multiply"], OPERATORS["divide"]
    factor = n.to(x.dtype)
    if name == "rootn":  # out/(n x); at 0 the limit, out^(1 - n)/n
        end = div(POWERS["pown"](out, -_less(n)), factor)
        return torch.where(x == 0, end, div(out, mul(factor, x)))
    slope = mul(factor, POWERS[name](x, _less(n)))
    return torch.where(n == 0, scalar(0.0, x.dtype), slope)


def _differentiate(name: str, op: Operator) -> None:
    def product(g: _Tensor, x: _Tensor, n: _Tensor, out: _Tensor) -> _Tensor:
        return OPERATORS["multiply"](g, _slope(name, x, n, out))

    def gradient(g: _Tensor, needs: Any, shapes: Any, input: _Tensor, n: _Tensor, output: _Tensor) -> list[_Tensor | None]:
        return [sum_to(product(g, input, n, output), shapes[0]) if needs[0] else None, None]

    def tangent(ts: list[_Tensor | None], input: _Tensor, n: _Tensor, output: _Tensor) -> _Tensor:
        assert ts[0] is not None
        return product(ts[0].expand(output.shape), input, n, output)

    op.set_gradient(gradient, ("needs", "shapes", "input", "n", "output"))
    op.set_tangent(tangent, ("input", "n", "output"))


for _name, _op in POWERS.items():
    _differentiate(_name, _op)
