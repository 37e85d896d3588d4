"""Training on several ranks with the bits of one process: `import repmath.torch.distributed as rd`."""

from typing import Any

import torch

from ._digest import digest
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


__all__ = ["State", "ddp_hook", "digest", "global_batch"]
