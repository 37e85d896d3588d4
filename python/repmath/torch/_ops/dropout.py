"""Dropout by the counter-based generator: which elements are dropped is a function of seed, stream and position."""

from typing import Any, TypeAlias

import torch

from ...random import dropout as _exact_dropout
from .._random import unsigned
from .._tensors import as_array, as_tensor
from .operator import Operator, check_formats

_Tensor: TypeAlias = torch.Tensor


def _dropout(input: _Tensor, p: float, seed: int, stream: int, offset: int) -> _Tensor:
    check_formats(("input",), (input,))
    return as_tensor(_exact_dropout(as_array(input), p, unsigned(seed), stream=unsigned(stream), offset=offset))


def _batch(op: Operator) -> Any:
    """vmap: the same elements go in each element of the batch, if the caller says so."""

    def rule(info: Any, in_dims: Any, *args: Any) -> Any:
        if info.randomness != "same":
            raise RuntimeError(f"repmath::dropout under vmap needs randomness='same', not {info.randomness!r}")
        return op._one_by_one(info, in_dims, *args)

    return rule


DROPOUT: Operator = Operator(
    "dropout(Tensor input, float p, int seed, int stream, SymInt offset) -> Tensor",
    _dropout,
    lambda input, p, seed, stream, offset: input.new_empty(input.shape),
    gradient=lambda g, p, seed, stream, offset: (DROPOUT(g, p, seed, stream, offset),),
    tangent=lambda ts, p, seed, stream, offset: DROPOUT(ts[0], p, seed, stream, offset),
    batch=_batch,
)
