"""Operators whose results depend on a sample's place in the whole batch, or on its other samples: draws and batch norm.

They are those of a mode that lies above the library's, which computes what they return from draws of the whole batch's places, and from the
samples of all ranks.
"""

from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode

from ... import random
from .._aten.common import Uncovered
from .._aten.random import seed
from .._errors import UncoveredOperatorError, call_site
from .._tensors import FORMATS, as_array, as_tensor
from .engine import of_block
from .exchange import gathered_arrays

_aten = torch.ops.aten

# The state of PyTorch's generator at the first pass of a step, at which every pass of the step begins; and the seed that it had.
_start: list[tuple[int, torch.Tensor]] = []
register_optimizer_step_post_hook(lambda optimizer, args, kwargs: _start.clear())


class GlobalBatch(TorchDispatchMode):
    """See repmath.torch.distributed.global_batch."""

    def __init__(self, first: int, count: int, total: int, group: Any) -> None:
        super().__init__()
        self.first, self.count, self.total, self.group = first, count, total, group
        self.batches: dict[int, Any] = {}  # by the storage of a batch norm's mean: inputs of all ranks

    def __enter__(self) -> "GlobalBatch":
        if _start and _start[0][0] == torch.initial_seed():
            torch.set_rng_state(_start[0][1])
        else:
            _start[:] = [(torch.initial_seed(), torch.get_rng_state())]
        return super().__enter__()  # type: ignore[no-any-return,unused-ignore]

    def __exit__(self, *exception: Any) -> None:
        self.batches = {}
        if exception[0] is not None:
            _start.clear()
        super().__exit__(*exception)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        function = _FUNCTIONS.get(func)
        if function is None:
            if torch.Tag.nondeterministic_seeded in func.tags and func not in _ALIKE:
                raise UncoveredOperatorError(str(func), call_site(), "it draws numbers, inside of global_batch")
            return func(*args, **(kwargs or {}))
        try:
            return function(self, *args, **(kwargs or {}))
        except Uncovered as error:
            raise UncoveredOperatorError(str(func), call_site(), str(error)) from None

    def offset(self, shape: torch.Size) -> int:
        """The place of a tensor's first element in the whole batch."""
        if not shape or shape[0] != self.count:
            raise Uncovered(
                f"a draw of shape {tuple(shape)} in a batch of {self.count} samples, whose first axis is not the batch"
            )
        return self.first * int(shape[1:].numel())

    def of_all(self, x: torch.Tensor) -> torch.Tensor:
        """The samples of all ranks, in the order of the whole batch."""
        if self.group is None:
            parts = [(self.first, as_array(x))]
        else:
            parts = sorted(gathered_arrays(self.group, self.first, as_array(x)), key=lambda part: part[0])
        ends = [0]
        for first, a in parts:
            ends += [first + len(a)] if first == ends[-1] else [-1]
        if ends[-1] != self.total:
            raise Uncovered(
                "a batch norm of samples that are not the whole batch, once each: every rank must pass its whole share at once"
            )
        return torch.cat([as_tensor(a.copy()) for _, a in parts])

    def own(self, t: torch.Tensor) -> torch.Tensor:
        return t[self.first : self.first + self.count].contiguous()


def _bernoulli(of: GlobalBatch, x: torch.Tensor, p: float = 0.5, *, generator: Any = None) -> torch.Tensor:
    drawn = random.bernoulli(seed(generator), tuple(x.shape), float(p), offset=of.offset(x.shape))
    return x.copy_(as_tensor(drawn))


def _dropout(of: GlobalBatch, x: torch.Tensor, p: float, train: bool | None) -> Any:
    if train is False or p == 0:
        return _aten.native_dropout(x, p, train)
    key, offset = seed(), of.offset(x.shape)
    made = as_tensor(random.dropout(as_array(x), p, key, offset=offset))
    kept = as_tensor(random.dropout(as_array(torch.ones_like(x)), 0.5 if p == 1 else p, key, offset=offset)) != 0
    return made, kept & (p != 1)


def _uniform(of: GlobalBatch, x: torch.Tensor, *, dtype: Any = None, generator: Any = None, **options: Any) -> torch.Tensor:
    formats = FORMATS[x.dtype if dtype is None else dtype]
    return as_tensor(random.uniform(seed(generator), tuple(x.shape), dtype=formats, offset=of.offset(x.shape)))


def _normal(of: GlobalBatch, x: torch.Tensor, *, dtype: Any = None, generator: Any = None, **options: Any) -> torch.Tensor:
    formats = FORMATS[x.dtype if dtype is None else dtype]
    return as_tensor(random.normal(seed(generator), tuple(x.shape), dtype=formats, offset=of.offset(x.shape)))


def _batch_norm(of: GlobalBatch, x: Any, weight: Any, bias: Any, mean: Any, variance: Any, training: bool, *rest: Any) -> Any:
    if not training:
        return _aten.native_batch_norm(x, weight, bias, mean, variance, training, *rest)
    whole = of.of_all(x)
    made, own_mean, root = _aten.native_batch_norm(whole, weight, bias, mean, variance, training, *rest)
    of.batches[int(own_mean.untyped_storage()._cdata)] = own_mean, whole
    return of.own(made), own_mean, root


def _batch_norm_backward(of: GlobalBatch, g: Any, x: Any, *rest: Any) -> Any:
    weight, *_, own_mean, root, training, eps, mask = rest
    if not training:
        return _aten.native_batch_norm_backward(g, x, *rest)
    known = of.batches.get(int(own_mean.untyped_storage()._cdata))
    if known is None:
        raise Uncovered("the gradient of a batch norm of another global_batch")
    whole, slopes = known[1], of.of_all(g)
    of_x, of_weight, of_bias = _aten.native_batch_norm_backward(slopes, whole, *rest[:-1], [mask[0], False, False])
    gradients = of_block()
    if gradients is None:
        of_weight, of_bias = _aten.native_batch_norm_backward(slopes, whole, *rest[:-1], [False, mask[1], mask[2]])[1:]
    elif any(mask[1:]):
        if of.first == 0:  # the sum over the batch is that of one rank
            of_weight, of_bias = _aten.native_batch_norm_backward(slopes, whole, *rest[:-1], [False, mask[1], mask[2]])[1:]
        else:
            of_weight, of_bias = (gradients.defer([], weight, weight.shape) if wanted else None for wanted in mask[1:])
    return None if of_x is None else of.own(of_x), of_weight, of_bias


_FUNCTIONS: dict[Any, Any] = {
    _aten.bernoulli_.float: _bernoulli,
    _aten.native_dropout.default: _dropout,
    _aten.rand_like.default: _uniform,
    _aten.randn_like.default: _normal,
    _aten.native_batch_norm.default: _batch_norm,
    _aten.native_batch_norm_backward.default: _batch_norm_backward,
}
# They draw nothing without a probability.
_ALIKE = frozenset(
    (
        _aten._scaled_dot_product_flash_attention_for_cpu.default,
        _aten.dropout.default,
        _aten.scaled_dot_product_attention.default,
        _aten._scaled_dot_product_attention_math.default,
    )
)
