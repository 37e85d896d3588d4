"""Training on several ranks with the bits of one process: `import repmath.torch.distributed as rd`."""

import contextlib
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import torch

from . import _sharded
from ._digest import digest
from ._exact import shards
from ._exact.batch import GlobalBatch
from ._exact.engine import of_block


class State:
    """What `ddp_hook` needs to know.

    Parameters
    ----------
    keep : {"operands"}, optional
        What is kept of a gradient until it is complete: the operands of its sums.
    group : ProcessGroup, optional
        The ranks over which gradients are summed; all by default.
    """

    def __init__(self, keep: str = "operands", group: Any = None) -> None:
        if keep != "operands":
            raise ValueError(f"keep must be 'operands', not {keep!r}")
        self.keep = keep
        self.group = torch.distributed.group.WORLD if group is None else group


def ddp_hook(state: State, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A communication hook of DistributedDataParallel: gradients are one exact sum over all ranks, rounded once.

    ``ddp.register_comm_hook(rd.State(), rd.ddp_hook)``. The forward and the backward pass must
    be inside of ``reproducible(gradients="exact")``. Gradients are summed and not averaged: the
    objective is the sum of those of the ranks. Passes inside of ``ddp.no_sync()`` add to the same
    exact sum.

    Parameters
    ----------
    state : State
        As above.
    bucket : torch.distributed.GradBucket
        What DistributedDataParallel passes.

    Returns
    -------
    Future
        It is finished.

    Raises
    ------
    UncoveredOperatorError
        The same on every rank, if one of them has a gradient that is not an exact sum.
    RuntimeError
        The backward pass is not inside of such a block.
    """
    gradients = of_block()
    if gradients is None:
        raise RuntimeError("ddp_hook works in backward passes inside of repmath.torch.reproducible(gradients='exact')")
    made = gradients.reduce(state.group, bucket.parameters())
    buffer: torch.Tensor = bucket.buffer()
    with torch.no_grad():
        for view, t in zip(bucket.gradients(), made, strict=True):
            view.copy_(t)
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(buffer)
    return future


@contextlib.contextmanager
def no_sync(ddp: torch.nn.Module | None = None) -> Iterator[None]:
    """Say that further passes of a step come: ``with rd.no_sync(ddp): ...`` around all backward passes but the last one.

    Passes inside keep the operands of their sums, and no gradient is computed, which saves its time
    and memory. The pass after them, outside, gives the gradients of all of them, with the same bits as
    without this block. Until then gradients are NaN, and a step of an optimiser raises. To be
    entered inside of ``reproducible(gradients="exact")``.

    Parameters
    ----------
    ddp : DistributedDataParallel, optional
        Its ``no_sync()`` is entered, too. None in one process, and for `fsdp`, whose
        ``model.set_requires_gradient_sync(False)`` stays necessary.

    Raises
    ------
    TypeError
        ddp is another module.
    RuntimeError
        It is not inside of such a block.
    """
    if not isinstance(ddp, torch.nn.parallel.DistributedDataParallel | None):
        raise TypeError(f"ddp must be a DistributedDataParallel or None, not {type(ddp).__name__}")
    gradients = of_block()
    if gradients is None:
        raise RuntimeError("rd.no_sync() must be inside of repmath.torch.reproducible(gradients='exact')")
    inner: Any = contextlib.nullcontext() if ddp is None else ddp.no_sync()
    with inner:
        gradients.more += 1
        try:
            yield
        finally:
            gradients.more -= 1


def global_batch(first: int, count: int, total: int, group: Any = None) -> GlobalBatch:
    """Say which samples of the whole batch a pass has: ``with rd.global_batch(first, count, total): ...``.

    Inside, forward and backward, dropout and other draws are those of the samples' places in
    the whole batch, and the set of a batch norm in training is the whole batch, of all ranks.
    Every pass of a step, on every rank, draws from the state that PyTorch's generator had at the
    first pass of the step; a step ends with that of an optimiser.

    Parameters
    ----------
    first : int
        The place of the pass's first sample.
    count : int
        How many samples the pass has. The first axis of all that is drawn must be that of the samples.
    total : int
        How many samples the whole batch has.
    group : ProcessGroup, optional
        The ranks that share the batch; all by default, this process alone where there is no group.

    Returns
    -------
    context manager
        To be entered inside of a block of `reproducible`.

    Raises
    ------
    ValueError
        The samples are not among those of the batch.
    UncoveredOperatorError
        Inside, for a draw that is of no sample, and for a batch norm if the passes of all ranks are not the whole batch.
    """
    if not 0 <= first <= first + count <= total:
        raise ValueError(f"samples {first} to {first + count} are not among {total}")
    if group is None and torch.distributed.is_available() and torch.distributed.is_initialized():
        group = torch.distributed.group.WORLD
    return GlobalBatch(first, count, total, group)


def fsdp(model: torch.nn.Module) -> None:
    """Let a model of ``torch.distributed.fsdp.fully_shard`` have exact gradients: one sum over all ranks, rounded once.

    To be called once, after `fully_shard` has been called for its last module::

        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        rd.fsdp(model)

    Gradients are summed and not averaged, as by `ddp_hook`. Passes after
    ``model.set_requires_gradient_sync(False)`` add to the same exact sum.

    Parameters
    ----------
    model : Module
        Sharded over all ranks of a mesh of one axis, without tensor parallel layers and without a
        MixedPrecisionPolicy that has `param_dtype` or `reduce_dtype`.

    Raises
    ------
    ValueError
        `model` is none of these.
    """
    shards.shard(model)


def clip_grad_norm_(
    parameters: torch.Tensor | Iterable[torch.Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
) -> torch.Tensor:
    """``torch.nn.utils.clip_grad_norm_`` with gradients that may be divided among ranks: each rank must call it.

    The norm of each gradient is that of the whole one, which is gathered for it, one at a time.
    So the bits are those of PyTorch's function in one process.

    Parameters
    ----------
    parameters : iterable of Tensors, or a Tensor
        Their gradients are scaled in place.
    max_norm, norm_type, error_if_nonfinite
        As PyTorch has them.

    Returns
    -------
    Tensor
        The norm of the norms of all gradients.

    Raises
    ------
    RuntimeError
        With `error_if_nonfinite`, of a norm that is not finite.
    """
    given = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    gradients = [p.grad for p in given if p.grad is not None]
    norms = [torch.nn.utils.get_total_norm([_sharded.whole(g)], norm_type) for g in gradients]
    total = torch.nn.utils.get_total_norm(norms, norm_type, error_if_nonfinite)
    parts = [g.to_local() if _sharded.is_sharded(g) else g for g in gradients]  # type: ignore[operator,unused-ignore]
    holders: Any = [SimpleNamespace(grad=g) for g in parts]
    torch.nn.utils.clip_grads_with_norm_(holders, max_norm, total)
    return total


__all__ = ["State", "clip_grad_norm_", "ddp_hook", "digest", "fsdp", "global_batch", "no_sync"]
