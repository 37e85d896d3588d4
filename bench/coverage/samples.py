"""PyTorch's samples of its operators (OpInfo), in float32, with their gradients."""

import functools
import itertools

from .cases import Absent, Case

SAMPLES = 24


@functools.cache
def database():
    from torch.testing._internal.common_methods_invocations import op_db

    return {op.name + (f"[{op.variant_test_name}]" if op.variant_test_name else ""): op for op in op_db}


def called(op, sample, gradients):
    import torch
    from torch.utils._pytree import tree_leaves, tree_map_only

    copy = functools.partial(tree_map_only, torch.Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad))
    arguments, keywords = copy((sample.input, *sample.args)), copy(sample.kwargs)
    made = op(*arguments, **keywords)
    results = [t for t in tree_leaves(made) if isinstance(t, torch.Tensor) and t.requires_grad]
    leaves = [t for t in tree_leaves((arguments, keywords)) if isinstance(t, torch.Tensor) and t.requires_grad]
    if gradients and results and leaves:
        torch.autograd.grad(
            results,
            leaves,
            [torch.ones_like(t) if t.layout is torch.strided else t.detach() for t in results],
            allow_unused=True,
        )


def run(key):
    import torch

    import repmath.torch

    op = database()[key]
    gradients = op.supports_autograd and torch.float32 in op.supported_backward_dtypes("cpu")
    if torch.float32 not in op.supported_dtypes("cpu"):
        raise Absent("not of float32 on the CPU")
    torch.manual_seed(0)
    taken = 0
    for sample in itertools.islice(op.sample_inputs(device="cpu", dtype=torch.float32, requires_grad=gradients), SAMPLES):
        try:
            called(op, sample, gradients)
        except Exception:
            continue  # PyTorch does not take it here
        with repmath.torch.reproducible(strict=True):
            called(op, sample, gradients)
        taken += 1
    if not taken:
        raise Absent("no sample that PyTorch takes")
    return f"{taken} samples"


def cases():
    for key in sorted(database()):
        yield Case("OpInfo", key, functools.partial(run, key))
