"""Variances, standard deviations, norms and cumulative sums."""

import math
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _statistics
from .._tensors import as_array, as_tensor
from .elementwise import OPERATORS, scalar
from .operator import Operator, check_formats
from .reductions import MEAN, _kept, _reduced

_Tensor: TypeAlias = torch.Tensor
_sub, _mul, _div = (OPERATORS[name] for name in ("subtract", "multiply", "divide"))


def _along(function: Any, input: _Tensor, dim: list[int], keepdim: bool, **options: Any) -> _Tensor:
    check_formats(("input",), (input,))
    with np.errstate(all="ignore"):
        return as_tensor(function(as_array(input), axis=tuple(dim), keepdims=keepdim, **options))


def _wide(t: _Tensor, shape: Any, dim: list[int]) -> _Tensor:
    """A reduction's result, or its gradient, with the axes that were summed."""
    return t.reshape(_kept(shape, dim, True))


def _deviations(input: _Tensor, dim: list[int], correction: float) -> tuple[_Tensor, float]:
    """x - mean, and what the variance is divided by."""
    n = math.prod(input.shape[d] for d in dim)
    return _sub(input, MEAN(input, dim, True)), max(n - correction, 0.0)


def _var_gradient(g: _Tensor, input: _Tensor, dim: list[int], correction: float) -> tuple[_Tensor]:
    d, n = _deviations(input, dim, correction)
    return (_div(_mul(_wide(g, input.shape, dim), d), scalar(n / 2, d.dtype)),)


def _std_gradient(g: _Tensor, input: _Tensor, output: _Tensor, dim: list[int], correction: float) -> tuple[_Tensor]:
    d, n = _deviations(input, dim, correction)
    below = _mul(_wide(output, input.shape, dim), scalar(n, d.dtype))
    return (_div(_mul(_wide(g, input.shape, dim), d), below),)


def _norm_gradient(g: _Tensor, input: _Tensor, output: _Tensor, dim: list[int]) -> tuple[_Tensor]:
    return (_mul(_wide(g, input.shape, dim), _div(input, _wide(output, input.shape, dim))),)


VAR: Operator = Operator(
    "var(Tensor input, int[] dim, bool keepdim, float correction) -> Tensor",
    lambda input, dim, keepdim, correction: _along(_statistics.var, input, dim, keepdim, ddof=correction),
    lambda input, dim, keepdim, correction: _reduced(input, dim, keepdim),
    gradient=_var_gradient,
)

STD: Operator = Operator(
    "std(Tensor input, int[] dim, bool keepdim, float correction) -> Tensor",
    lambda input, dim, keepdim, correction: _along(_statistics.std, input, dim, keepdim, ddof=correction),
    lambda input, dim, keepdim, correction: _reduced(input, dim, keepdim),
    gradient=_std_gradient,
)

NORM: Operator = Operator(
    "norm(Tensor input, int[] dim, bool keepdim) -> Tensor",
    lambda input, dim, keepdim: _along(_statistics.norm, input, dim, keepdim),
    _reduced,
    gradient=_norm_gradient,
)


def _cumsum(input: _Tensor, dim: int) -> _Tensor:
    check_formats(("input",), (input,))
    return as_tensor(np.ascontiguousarray(_statistics.cumsum(as_array(input), axis=dim)))


def _cumsum_empty(input: _Tensor, dim: int) -> _Tensor:
    check_formats(("input",), (input,))
    return input.new_empty(input.shape)


CUMSUM: Operator = Operator(
    "cumsum(Tensor input, int dim) -> Tensor",
    _cumsum,
    _cumsum_empty,
    gradient=lambda g, dim: (CUMSUM(g.flip(dim), dim).flip(dim),),
    tangent=lambda ts, dim: CUMSUM(ts[0], dim),
)
