"""Pooling in one, two and three dimensions. Inputs have a batch and channels; sizes are lists with a value for each spatial axis.

Each operator is linear in its first argument once the positions of the maxima are known, and so is its gradient: the two have each other
for gradients.
"""

from typing import Any, TypeAlias

import torch

from ...nn import _pooling
from .._tensors import as_array, as_tensor
from .operator import Operator, check_formats, folded

_Tensor: TypeAlias = torch.Tensor


def _check(input: _Tensor, dims: int, name: str = "input") -> None:
    check_formats((name,), (input,))
    if input.ndim != dims + 2:
        raise RuntimeError(f"{name} must have {dims + 2} axes, or {dims + 1} without a batch, not shape {tuple(input.shape)}")


def _empty(input: _Tensor, windows: _pooling.Windows) -> _Tensor:
    return input.new_empty([input.shape[0], input.shape[1], *windows.out])


def _pair(input: _Tensor, windows: _pooling.Windows) -> tuple[_Tensor, _Tensor]:
    out = _empty(input, windows)
    return out, out.new_empty(out.shape, dtype=torch.int64)


# --- maxima


def _max_pool(input: _Tensor, *sizes: Any) -> tuple[_Tensor, _Tensor]:
    _check(input, len(sizes[0]))
    values, indices = _pooling._max_pool(len(sizes[0]), as_array(input), *(*sizes, True))
    return as_tensor(values), as_tensor(indices)


def _fake_max_pool(input: _Tensor, kernel: Any, *rest: Any) -> tuple[_Tensor, _Tensor]:
    _check(input, len(kernel))
    return _pair(input, _pooling.Windows(len(kernel), tuple(input.shape), kernel, *rest))


def _adaptive_max_pool(input: _Tensor, output_size: Any) -> tuple[_Tensor, _Tensor]:
    _check(input, len(output_size))
    values, indices = _pooling._adaptive_max_pool(len(output_size), as_array(input), output_size, True)
    return as_tensor(values), as_tensor(indices)


def _fake_adaptive_max_pool(input: _Tensor, output_size: Any) -> tuple[_Tensor, _Tensor]:
    _check(input, len(output_size))
    return _pair(input, _pooling.Adaptive(len(output_size), tuple(input.shape), output_size))


def _max_pool_backward(grad_output: _Tensor, input_size: Any, indices: _Tensor) -> _Tensor:
    _check(grad_output, len(input_size) - 2, "grad_output")
    return as_tensor(_pooling._max_pool_backward(len(input_size) - 2, as_array(grad_output), input_size, as_array(indices)))


def _pick(input: _Tensor, indices: _Tensor) -> _Tensor:
    """input at the places of the maxima; 0 for windows without elements."""
    flat, at = input.detach().flatten(2), indices.flatten(2)
    return torch.where(at < 0, torch.zeros((), dtype=input.dtype), flat.gather(2, at.clamp(min=0))).reshape(indices.shape)


PICK: Operator = Operator(
    "max_pool_pick(Tensor input, Tensor indices) -> Tensor",
    lambda input, indices: _pick(input, indices).clone(),
    lambda input, indices: input.new_empty(indices.shape),
    gradient=lambda g, indices, shapes: (MAX_POOL_BACKWARD(g, shapes[0], indices), None),
    tangent=lambda ts, indices: PICK(ts[0], indices),
)

MAX_POOL_BACKWARD: Operator = Operator(
    "max_pool_backward(Tensor grad_output, SymInt[] input_size, Tensor indices) -> Tensor",
    _max_pool_backward,
    lambda grad_output, input_size, indices: grad_output.new_empty(input_size),
    gradient=lambda g, indices: (PICK(g, indices), None),
    tangent=lambda ts, input_size, indices: MAX_POOL_BACKWARD(ts[0], input_size, indices),
)

MAX_POOL: Operator = Operator(
    "max_pool(Tensor input, int[] kernel, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> (Tensor, Tensor)",
    _max_pool,
    _fake_max_pool,
    gradient=lambda g, shapes, output1: (MAX_POOL_BACKWARD(g, shapes[0], output1),),
    tangent=lambda ts, output1: PICK(ts[0], output1),
    batch=folded,
)

ADAPTIVE_MAX_POOL: Operator = Operator(
    "adaptive_max_pool(Tensor input, SymInt[] output_size) -> (Tensor, Tensor)",
    _adaptive_max_pool,
    _fake_adaptive_max_pool,
    gradient=lambda g, shapes, output1: (MAX_POOL_BACKWARD(g, shapes[0], output1),),
    tangent=lambda ts, output1: PICK(ts[0], output1),
    batch=folded,
)

# --- averages; a divisor of 0 stands for the number of elements


def _avg_pool(
    input: _Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include_pad: bool, divisor: int
) -> _Tensor:
    _check(input, len(kernel))
    x = as_array(input)
    return as_tensor(_pooling._avg_pool(len(kernel), x, kernel, stride, padding, ceil_mode, include_pad, divisor or None))


def _fake_avg_pool(input: _Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, *rest: Any) -> _Tensor:
    _check(input, len(kernel))
    return _empty(input, _pooling.Windows(len(kernel), tuple(input.shape), kernel, stride, padding, 1, ceil_mode))


def _avg_pool_backward(
    grad_output: _Tensor,
    input_size: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    include_pad: bool,
    divisor: int,
) -> _Tensor:
    _check(grad_output, len(kernel), "grad_output")
    return as_tensor(
        _pooling._avg_pool_backward(
            len(kernel), as_array(grad_output), input_size, kernel, stride, padding, ceil_mode, include_pad, divisor or None
        )
    )


_SIZES = "int[] kernel, int[] stride, int[] padding, bool ceil_mode, bool include_pad, int divisor"

AVG_POOL: Operator = Operator(
    f"avg_pool(Tensor input, {_SIZES}) -> Tensor",
    _avg_pool,
    _fake_avg_pool,
    gradient=lambda g, shapes, kernel, stride, padding, ceil_mode, include_pad, divisor: (
        AVG_POOL_BACKWARD(g, shapes[0], kernel, stride, padding, ceil_mode, include_pad, divisor),
    ),
    tangent=lambda ts, kernel, stride, padding, ceil_mode, include_pad, divisor: AVG_POOL(
        ts[0], kernel, stride, padding, ceil_mode, include_pad, divisor
    ),
    batch=folded,
)

AVG_POOL_BACKWARD: Operator = Operator(
    f"avg_pool_backward(Tensor grad_output, SymInt[] input_size, {_SIZES}) -> Tensor",
    _avg_pool_backward,
    lambda grad_output, input_size, *sizes: grad_output.new_empty(input_size),
    gradient=lambda g, kernel, stride, padding, ceil_mode, include_pad, divisor: (
        AVG_POOL(g, kernel, stride, padding, ceil_mode, include_pad, divisor),
    ),
    tangent=lambda ts, input_size, kernel, stride, padding, ceil_mode, include_pad, divisor: AVG_POOL_BACKWARD(
        ts[0], input_size, kernel, stride, padding, ceil_mode, include_pad, divisor
    ),
)


def _adaptive_avg_pool(input: _Tensor, output_size: Any) -> _Tensor:
    _check(input, len(output_size))
    return as_tensor(_pooling._adaptive_avg_pool(len(output_size), as_array(input), output_size))


def _fake_adaptive_avg_pool(input: _Tensor, output_size: Any) -> _Tensor:
    _check(input, len(output_size))
    return _empty(input, _pooling.Adaptive(len(output_size), tuple(input.shape), output_size))


def _adaptive_avg_pool_backward(grad_output: _Tensor, input_size: Any) -> _Tensor:
    _check(grad_output, len(input_size) - 2, "grad_output")
    return as_tensor(_pooling._adaptive_avg_pool_backward(len(input_size) - 2, as_array(grad_output), input_size))


ADAPTIVE_AVG_POOL: Operator = Operator(
    "adaptive_avg_pool(Tensor input, SymInt[] output_size) -> Tensor",
    _adaptive_avg_pool,
    _fake_adaptive_avg_pool,
    gradient=lambda g, shapes: (ADAPTIVE_AVG_POOL_BACKWARD(g, shapes[0]),),
    tangent=lambda ts, output_size: ADAPTIVE_AVG_POOL(ts[0], output_size),
    batch=folded,
)

ADAPTIVE_AVG_POOL_BACKWARD: Operator = Operator(
    "adaptive_avg_pool_backward(Tensor grad_output, SymInt[] input_size) -> Tensor",
    _adaptive_avg_pool_backward,
    lambda grad_output, input_size: grad_output.new_empty(input_size),
    gradient=lambda g, shapes: (ADAPTIVE_AVG_POOL(g, list(shapes[0][2:])),),
    tangent=lambda ts, input_size: ADAPTIVE_AVG_POOL_BACKWARD(ts[0], input_size),
)
