"""The base of all modules: where initial weights come from, and which modules of PyTorch can be converted."""

import math
from typing import Any, TypeAlias

import torch

from ... import init
from .._parameters import mark
from .._random import current_stream, drawing_from
from .._tensors import FORMATS, as_tensor

Tensor: TypeAlias = torch.Tensor


class UnsupportedModuleError(TypeError):
    """A module, or an option of it, has no reproducible counterpart. The message names it."""


class Module:
    """Mixed in before a class of torch.nn: `generator` of the constructor is where initial weights are drawn from.

    `_refuse` names what the module asks for and what is not supported, or None.
    """

    def __init__(self, *args: Any, generator: Any = None, **keywords: Any) -> None:
        with drawing_from(generator):
            super().__init__(*args, **keywords)
        reason = self._refuse()
        if reason is not None:
            raise ValueError(f"{type(self).__name__}: {reason}")

    def _refuse(self) -> str | None:
        return None


def _fill(t: Tensor | None, function: Any, per_block: int, *args: Any, **keywords: Any) -> None:
    """Numbers of the current stream, into a tensor."""
    if t is None or t.is_meta:
        return
    if t.dtype not in FORMATS:
        raise TypeError(f"dtype must be float16, bfloat16, float32 or float64, not {t.dtype}")
    stream, shape = current_stream(), tuple(t.shape)
    made = stream._take(function, t.numel(), per_block, stream.seed, shape, *args, dtype=FORMATS[t.dtype], **keywords)
    with torch.no_grad():
        t.copy_(as_tensor(made))
    mark(t)


def _per_block(t: Tensor) -> int:
    """How many uniform numbers a block of the generator makes."""
    return 2 if t.dtype == torch.float64 else 4


def draw_uniform(t: Tensor | None, bound: float) -> None:
    """Uniform between -bound and bound."""
    from ... import random

    if t is not None:
        _fill(t, random.uniform, _per_block(t), -bound, bound)


def draw_normal(t: Tensor | None, std: float = 1.0) -> None:
    """Normal around 0."""
    from ... import random

    _fill(t, random.normal, 2, 0.0, std)


def draw_weight_and_bias(weight: Tensor, bias: Tensor | None) -> None:
    """As torch.nn.Linear and the convolutions begin: both uniform within 1/sqrt(fan_in), about."""
    fan_in = init.fans(tuple(weight.shape))[0]
    if fan_in:
        _fill(weight, init.kaiming_uniform, _per_block(weight), a=math.sqrt(5))
        draw_uniform(bias, 1 / math.sqrt(fan_in))


def draw_xavier(t: Tensor | None) -> None:
    """Uniform, by Glorot and Bengio."""
    if t is not None:
        _fill(t, init.xavier_uniform, _per_block(t))
