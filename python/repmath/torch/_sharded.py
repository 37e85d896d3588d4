"""DTensors, PyTorch's tensors whose parts lie on several ranks.

DTensor calls operators of the parts, which come to the library, before anything else is asked. A sum over elements of several parts is a sum of
sums that each rank has rounded, and depends on the number of parts. It is made when a DTensor is put together, by a method of its placement:
in a block that raises.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import _blocks
from ._errors import UncoveredOperatorError, call_site


def is_sharded(t: Any) -> bool:
    """Whether a tensor is a DTensor."""
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(t, module.DTensor)


def whole(t: torch.Tensor) -> torch.Tensor:
    """A DTensor's elements, of all ranks; other tensors as they are."""
    return t.full_tensor() if is_sharded(t) else t  # type: ignore[operator,unused-ignore]


def of_whole(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a function returns for the whole DTensors among its arguments, on every rank; NotImplemented if there are none, or if it returns that."""
    module: Any = sys.modules.get("torch.distributed.tensor")
    given = (*args, *kwargs.values())
    first: Any = next((a for a in given if is_sharded(a)), None)
    if first is None:
        return NotImplemented
    every = [module.Replicate()] * first.device_mesh.ndim

    def local(a: Any) -> Any:
        return a.redistribute(placements=every).to_local(grad_placements=every) if is_sharded(a) else a

    found = function(*map(local, args), **{k: local(a) for k, a in kwargs.items()})
    if found is NotImplemented:
        return found
    return module.DTensor.from_local(found, first.device_mesh, every, run_check=False)


def _refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def reduce(placement: Any, *args: Any, **kwargs: Any) -> Any:
        home = _blocks.own()
        entry = None if home is None else _blocks.current(home)
        if entry is not None and placement.reduce_op not in ("max", "min"):
            name, reason = f"the {placement} of a DTensor", "a sum over parts on several ranks, each of which is rounded"
            if entry.block.strict:
                raise UncoveredOperatorError(name, call_site(), reason)
            entry.block.uncovered[f"{name}: {reason}"] += 1
        return method(placement, *args, **kwargs)

    reduce._repmath = True  # type: ignore[attr-defined]
    return reduce


def _classes(of: Any) -> Iterator[Any]:
    yield of
    for c in of.__subclasses__():
        yield from _classes(c)


def watch(on: bool = True) -> None:
    """Let sums over parts of DTensors raise in blocks, where PyTorch has loaded them."""
    module: Any = sys.modules.get("torch.distributed.tensor")
    if module is None:
        return
    from ._sharding_rules import rules

    if on != rules.installed:
        (rules.install if on else rules.remove)()
    if not on:
        return
    for c in _classes(module.Partial):
        for name in ("_reduce_value", "_reduce_shard_value"):
            method = vars(c).get(name)
            if method is not None and not hasattr(method, "_repmath"):
                setattr(c, name, _refusing(method))


def _anew() -> None:
    """Forget what DTensor has chosen for this thread before it entered a block: each thread remembers choices of its own."""
    if "torch.distributed.tensor" in sys.modules:
        from ._sharding_rules import forget

        forget()


_blocks.process.told.append(watch)
_blocks.process.entered.append(_anew)
