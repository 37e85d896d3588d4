"""Exact gradients of PyTorch's fully_shard: what stands in the place of its reduce-scatter.

After a group of parameters has its gradients, which are zeros here, fully_shard copies them into one buffer, reduces that by a function that
can be set, and calls a hook with this rank's part. Between a buffer and a hook nobody knows which parameters are meant; the hook knows its
group, and so takes their records, makes the sums over all ranks, and writes this rank's parts. The function that is set sends nothing. The
hook is called with one rank, too, where no function is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import _sharded
from .._aten.common import Uncovered
from .engine import of_block
from .exchange import part_of


class _Unsent:
    """A reduce-scatter that leaves the output as it is."""

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        return torch.zeros(tuple(size), dtype=dtype, device=device)

    def __call__(
        self, output_tensor: torch.Tensor, input_tensor: torch.Tensor, group: Any, op: Any, async_op: bool = False
    ) -> None:
        return None


def _padded(member: Any, ranks: int) -> int:
    """How many elements a parameter has in each rank's part of a buffer."""
    shape, axis = list(member._orig_size), member.fsdp_placement.dim
    shape[axis] = part_of(shape[axis], ranks, 0)[1]
    return int(torch.Size(shape).numel())


def _with_gradients(members: Sequence[Any], elements: int, ranks: int, uses: Callable[[Any], Any]) -> list[Any]:
    """Those parameters of a group whose gradients are in a buffer of so many elements."""

    known = [m for m in members if hasattr(m, "_unsharded_param")]
    for found in ([m for m in known if uses(m.unsharded_param)], [m for m in known if m.unsharded_param.requires_grad]):
        if sum(_padded(m, ranks) for m in found) == elements:
            return found
    raise Uncovered("gradients of fully_shard that are not exact sums: the parameters that have one are not known")


def _hook(group_of_parameters: Any) -> Callable[[torch.Tensor], None]:
    def complete(output: torch.Tensor) -> None:
        gradients = of_block()
        if gradients is None:
            raise RuntimeError(
                "a model of repmath.torch.distributed.fsdp has its backward passes inside of repmath.torch.reproducible(gradients='exact')"
            )
        ranks = group_of_parameters._reduce_scatter_process_group
        size = ranks.size()
        problem = ""
        members: list[Any] = []
        try:
            members = _with_gradients(group_of_parameters.fsdp_params, output.numel(), size, gradients.uses_of)
            if any(m.sharded_param.grad is not None for m in members):
                raise Uncovered(
                    "a pass that adds to gradients that are those of all ranks; use set_requires_gradient_sync(False) for all but the "
                    "last one, and zero_grad() after each step"
                )
        except Uncovered as error:
            problem = str(error)
        leaves = [m.unsharded_param for m in members]
        axes = [m.fsdp_placement.dim for m in members]
        made = gradients.reduce(ranks, leaves, axes, problem)
        first = 0
        with torch.no_grad():
            for m, mine in zip(members, made, strict=True):
                output[first : first + mine.numel()] = mine.reshape(-1)
                first += _padded(m, size)

    return complete


def shard(model: torch.nn.Module) -> None:
    """See repmath.torch.distributed.fsdp."""
    from torch.distributed.fsdp import FSDPModule

    _sharded.watch()
    found = [m for m in model.modules() if isinstance(m, FSDPModule)]
    if not found:
        raise ValueError("model must have been given to torch.distributed.fsdp.fully_shard")
    for module in found:
        for members in module._get_fsdp_state()._fsdp_param_groups:
            _check(members)
            members._all_reduce_hook = _hook(members)
            members._reduce_scatter_comm = _Unsent()
        module.set_gradient_divide_factor(1.0)
        module.set_force_sum_reduction_for_comms(True)


def _check(members: Any) -> None:
    """Raise for what would round gradients, or add rounded ones."""
    from torch.distributed.fsdp._fully_shard._fsdp_common import DDPMeshInfo

    policy = members.mp_policy
    if policy.param_dtype is not None or policy.reduce_dtype is not None:
        raise ValueError(
            "model must have no MixedPrecisionPolicy with param_dtype or reduce_dtype, which round parameters or gradients"
        )
    if any(m.is_dtensor for m in members.fsdp_params):
        raise ValueError("model must have no parameters that tensor parallel layers have divided before fully_shard")
    if isinstance(members.mesh_info, DDPMeshInfo):
        raise ValueError(
            "model must be sharded over all of its ranks; gradients of copies (a mesh of two axes) are not covered"
        )
    if members._all_reduce_hook is not None:
        raise ValueError("model has an all-reduce hook already")
