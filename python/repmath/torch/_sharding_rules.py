"""How operators of DTensors are divided among ranks in blocks: so that each element of a result is made by one rank, from all of its terms.

DTensor asks a table of rules which placements of operands an operator takes, and which placement its result has. Among them are sums of
which each rank makes a part. Those parts would be rounded before they are added: in a block they are no choice, and DTensor exchanges parts of the
operands instead. The elements of a result are then the same on any mesh, since every operator is right for whatever part it gets.

Draws are made for the whole tensor, on each rank, which keeps its part.
"""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch

from . import _blocks
from ._aten.layers import eps_of
from ._errors import UncoveredOperatorError, call_site

aten = torch.ops.aten

# The exact ones among reductions of parts: the result is one of the parts.
_EXACT_REDUCTIONS = ("max", "min", "band", "bor", "bxor")

# What draws for each element of its first argument: a tensor that is written to, or that the result is made like, or that the result depends on.
_WRITTEN = ("bernoulli_.float", "bernoulli_.Tensor", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_", "random_.from",
            "random_.to", "uniform_")  # fmt: skip
_LIKE = ("rand_like", "randn_like", "randint_like", "randint_like.low_dtype")
_OF = ("bernoulli", "bernoulli.p", "multinomial", "native_dropout", "normal.Tensor_float", "poisson", "rrelu_with_noise")


def _overloads(names: tuple[str, ...]) -> list[Any]:
    found = (name.partition(".") for name in names)
    return [getattr(getattr(aten, packet), overload or "default") for packet, _, overload in found]


def _specs(of: Any) -> list[Any]:
    """Specifications of one or several tensors, of which some may be missing."""
    return [s for s in (of if isinstance(of, (tuple, list)) else (of,)) if s is not None]


def _is_in_parts(spec: Any) -> bool:
    """Whether each rank has a part of a sum, or of another reduction that rounds."""
    return any(p.is_partial() and p.reduce_op not in _EXACT_REDUCTIONS for p in spec.placements)


def _whole_results(choices: Any) -> list[Any]:
    """The choices among which no operand and no result is a sum in parts."""
    return [c for c in choices if not any(map(_is_in_parts, _specs(c.output_specs) + _specs(c.input_specs)))]


def _on_every_rank(choice: Any) -> Any:
    """The choice with whole operands and whole results on every rank, which is right for any operator."""
    from torch.distributed.tensor import Replicate

    def whole(of: Any) -> Any:
        if isinstance(of, (tuple, list)):
            return tuple(map(whole, of))
        return None if of is None else type(of)(of.mesh, (Replicate(),) * of.mesh.ndim, tensor_meta=of.tensor_meta)

    return type(choice)(whole(choice.output_specs), whole(choice.input_specs))


def _choosing(select: Callable[..., Any]) -> Callable[..., Any]:
    """DTensor's choice of placements, without those that leave sums in parts: outside of blocks, too, while there is one, since a choice is remembered, and
    the thread, or one of its tasks, may enter a block later."""

    @functools.wraps(select)
    def choice(strategy: Any, schema: Any = None) -> Any:
        kept = _whole_results(strategy.strategies)
        if len(kept) < len(strategy.strategies):
            strategy = type(strategy)(kept or [_on_every_rank(strategy.strategies[0])])
        return select(strategy, schema)

    return choice


def _attention(q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
    return _per_batch_and_head(2, 3, len(args))


def _attention_backward(grad: Any, q: Any, k: Any, v: Any, out: Any, logsumexp: Any, *args: Any, **kwargs: Any) -> Any:
    return _per_batch_and_head(3, 6, len(args))


def _per_batch_and_head(results: int, operands: int, others: int) -> Any:
    """Attention of each sample and head by itself, for which DTensor has no rule on a CPU."""
    from torch.distributed.tensor import Replicate, Shard

    return [
        ([p] * results, [p] * operands + [None] * others)
        for p in (Replicate(), Shard(0), Shard(1))
    ]  # fmt: skip


_ADDED = {
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_backward,
}


def _as_without(dispatcher: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """What DTensor makes of a call without the handler that it has here."""
    handler = dispatcher._custom_op_handlers.pop(func)
    try:
        return func(*args, **kwargs)
    finally:
        dispatcher._custom_op_handlers[func] = handler


def _of_statistics(dispatcher: Any, func: Any, place: int) -> Callable[..., Any]:
    """A gradient of a norm: the eps that lies behind its statistics does not go with them when they are exchanged between ranks."""

    def gradient(op: Any, args: Any, kwargs: Any) -> Any:
        with eps_of(args[place]._local_tensor) if _blocks.inside() else contextlib.nullcontext():
            return _as_without(dispatcher, func, args, kwargs)

    return gradient


_STATISTICS = {aten.native_layer_norm_backward.default: 4, aten.native_group_norm_backward.default: 3}


def _drawing(dispatcher: Any, func: Any, result_like: bool) -> Callable[..., Any]:
    """A draw for a DTensor: that for the whole tensor, of which each rank keeps its part."""
    from torch.distributed.tensor import DTensor, Replicate

    def divided(whole: torch.Tensor, like: Any) -> Any:
        mesh = like.device_mesh
        every = DTensor.from_local(whole, mesh, [Replicate()] * mesh.ndim, run_check=False)
        return every.redistribute(placements=like.placements)

    def draw(op: Any, args: Any, kwargs: Any) -> Any:
        if not _blocks.inside():  # another thread's block
            return _as_without(dispatcher, func, args, kwargs)
        x, *rest = args
        if _is_in_parts(x):
            raise UncoveredOperatorError(str(op), call_site(), "a draw for a DTensor of which each rank has a part of a sum")
        with torch.no_grad():
            others = [a.full_tensor() if isinstance(a, DTensor) else a for a in rest]
            named = {k: a.full_tensor() if isinstance(a, DTensor) else a for k, a in kwargs.items()}
            if func in _OVERLOADS_WRITTEN:
                whole = torch.empty(x.shape, dtype=x.dtype, device=x._local_tensor.device)
                x._local_tensor.copy_(divided(op(whole, *others, **named), x)._local_tensor)
                return x
            if result_like:
                found = op(torch.empty(x.shape, dtype=x.dtype, device=x._local_tensor.device), *others, **named)
            else:
                found = op(x.full_tensor(), *others, **named)
            if isinstance(found, tuple):
                return tuple(divided(t, x) for t in found)
            return divided(found, x)

    return draw


_OVERLOADS_WRITTEN = frozenset(_overloads(_WRITTEN))


class _Rules:
    """What is changed of DTensor while there is a block, and what it was before."""

    def __init__(self) -> None:
        self.select: Any = None

    def install(self) -> None:
        from torch.distributed.tensor import DTensor, _sharding_prop
        from torch.distributed.tensor.experimental import register_sharding

        dispatcher = DTensor._op_dispatcher
        known = dispatcher.sharding_propagator.op_strategy_funcs
        self.select = _sharding_prop._select_min_cost_strategy
        _sharding_prop._select_min_cost_strategy = _choosing(self.select)
        self.added = [op for op in _ADDED if op not in known]
        for op in self.added:
            register_sharding(op)(_ADDED[op])
        draws = [(op, like) for names, like in ((_WRITTEN, False), (_LIKE, True), (_OF, False)) for op in _overloads(names)]
        self.handlers = {op: _drawing(dispatcher, op, like) for op, like in draws}
        self.handlers |= {op: _of_statistics(dispatcher, op, place) for op, place in _STATISTICS.items()}
        dispatcher._custom_op_handlers.update(self.handlers)
        forget()

    def remove(self) -> None:
        from torch.distributed.tensor import DTensor, _sharding_prop

        dispatcher = DTensor._op_dispatcher
        _sharding_prop._select_min_cost_strategy, self.select = self.select, None
        for op in self.added:
            del dispatcher.sharding_propagator.op_strategy_funcs[op]
        for op in self.handlers:
            del dispatcher._custom_op_handlers[op]
        forget()

    @property
    def installed(self) -> bool:
        return self.select is not None


def forget() -> None:
    """The choices that DTensor remembers are made anew."""
    from torch.distributed.tensor import DTensor

    DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache_clear()
    torch._C._clear_DTensor_sharding_propagator_cache()


rules = _Rules()
