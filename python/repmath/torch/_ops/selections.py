"""Operators that select numbers without rounding, but whose gradient adds, or whose zeros and NaNs depend on the CPU in PyTorch."""

from typing import Any, TypeAlias

import torch

from ... import _scatter, nn
from .._formula import formula
from .._tensors import as_array, as_tensor
from .operator import Operator, check_formats

_Tensor: TypeAlias = torch.Tensor


def _relu(input: _Tensor) -> _Tensor:
    """Every number not above 0 becomes +0, also where PyTorch flushes subnormal numbers. Which zero its maximum of -0 and +0 is
    depends on the CPU."""
    check_formats(("input",), (input,))
    return formula("max_scalar", 0.0, input.detach())


def _relu_backward(grad_output: _Tensor, output: _Tensor) -> _Tensor:
    check_formats(("grad_output", "output"), (grad_output, output))
    return formula("gate", 0.0, grad_output.detach(), output.detach())


def _elementwise(op: Operator) -> Any:
    def rule(info: Any, in_dims: Any, *args: _Tensor) -> tuple[_Tensor, int]:
        return op(
            *(
                a.expand(info.batch_size, *a.shape) if d is None else a.movedim(d, 0)
                for a, d in zip(args, in_dims, strict=True)
            )
        ), 0

    return rule


RELU: Operator = Operator(
    "relu(Tensor input) -> Tensor",
    _relu,
    lambda input: torch.empty_like(input),
    gradient=lambda g, output: (RELU_BACKWARD(g, output),),
    tangent=lambda ts, output: RELU_BACKWARD(ts[0], output),
    batch=_elementwise,
)

# g where the result is above 0, else 0.
RELU_BACKWARD: Operator = Operator(
    "relu_backward(Tensor grad_output, Tensor output) -> Tensor",
    _relu_backward,
    lambda grad_output, output: torch.empty_like(grad_output),
    gradient=lambda g, output: (RELU_BACKWARD(g, output), None),
    tangent=lambda ts, output: None if ts[0] is None else RELU_BACKWARD(ts[0], output),
    batch=_elementwise,
)


def _embedding(input: _Tensor, weight: _Tensor, padding_idx: int) -> _Tensor:
    check_formats(("weight",), (weight,))
    return as_tensor(nn.embedding(as_array(input), as_array(weight)))


def _embedding_grad(grad_output: _Tensor, input: _Tensor, rows: int, padding_idx: int) -> _Tensor:
    check_formats(("grad_output",), (grad_output,))
    padding = padding_idx if padding_idx >= 0 else None
    return as_tensor(_scatter.embedding_grad(as_array(grad_output), as_array(input), rows, padding_idx=padding))


def _rows_but_padding(table: _Tensor, input: _Tensor, padding_idx: int) -> _Tensor:
    return EMBEDDING(input, table, -1).masked_fill((input == padding_idx).unsqueeze(-1), 0.0)


EMBEDDING: Operator = Operator(
    "embedding(Tensor input, Tensor weight, int padding_idx) -> Tensor",
    _embedding,
    lambda input, weight, padding_idx: weight.new_empty([*input.shape, weight.shape[1]]),
    gradient=lambda g, input, shapes, padding_idx: (None, EMBEDDING_GRAD(g, input, shapes[1][0], padding_idx)),
    tangent=lambda ts, input, padding_idx: EMBEDDING(input, ts[1], padding_idx),
)

EMBEDDING_GRAD: Operator = Operator(
    "embedding_grad(Tensor grad_output, Tensor input, SymInt rows, int padding_idx) -> Tensor",
    _embedding_grad,
    lambda grad_output, input, rows, padding_idx: grad_output.new_empty([rows, grad_output.shape[-1]]),
    gradient=lambda g, input, padding_idx: (_rows_but_padding(g, input, padding_idx), None),
    tangent=lambda ts, input, rows, padding_idx: EMBEDDING_GRAD(ts[0], input, rows, padding_idx),
)
