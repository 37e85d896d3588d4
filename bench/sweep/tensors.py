"""A PyTorch function under reproducible(), beside itself outside."""

import contextlib

import torch
from torch.utils._pytree import tree_flatten

import repmath.torch

from . import values
from .cases import Calls, Skip

TORCH = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16}
WITHIN = {"repmath": repmath.torch.reproducible, "PyTorch": contextlib.nullcontext}
LAYOUTS = ("contiguous", "transposed", "sliced", "broadcast")


def tensor(data, shape, dtype, seed=0):
    return torch.from_numpy(values.make(data, tuple(shape), dtype, seed)).to(TORCH[dtype])


def laid(layout, data, shape, dtype, seed=0):
    """A tensor of the shape whose memory lies so."""
    shape = tuple(shape)
    if layout == "contiguous" or len(shape) < 2:
        return tensor(data, shape, dtype, seed)
    if layout == "transposed":
        return tensor(data, (*shape[:-2], shape[-1], shape[-2]), dtype, seed).mT
    if layout == "sliced":
        return tensor(data, (*shape[:-1], 2 * shape[-1]), dtype, seed)[..., ::2]
    if layout == "channels_last":
        return tensor(data, shape, dtype, seed).contiguous(memory_format=torch.channels_last)
    return tensor(data, (1, *shape[1:]), dtype, seed).expand(shape)


def floats(value):
    return [t for t in tree_flatten(value)[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]


def attempt(call):
    """What it returns; where PyTorch refuses it, the case does not exist."""
    try:
        return call()
    except (RuntimeError, TypeError, ValueError, NotImplementedError, AssertionError, IndexError) as error:
        raise Skip(f"PyTorch: {str(error).splitlines()[0][:100] if str(error) else type(error).__name__}") from None


def gradients(graph):
    """The gradients of what graph() returns: results, and the leaves with respect to which they are."""
    results, leaves = attempt(graph)
    if not results or not leaves:
        raise Skip("no gradient")
    seeds = [tensor("gaussian", t.shape, "f32", 9).to(t.dtype) for t in results]
    attempt(lambda: torch.autograd.grad(results, leaves, seeds, retain_graph=True, allow_unused=True))
    calls = {}
    for name, within in WITHIN.items():
        with within():
            results, leaves = graph()
        calls[name] = lambda results=results, leaves=leaves: torch.autograd.grad(
            results, leaves, seeds, retain_graph=True, allow_unused=True
        )
    return Calls(calls, WITHIN)


def pair(call, tensors, direction):
    """The call on these tensors, or its gradients with respect to those that are numbers."""
    if direction == "forward":
        with torch.no_grad():
            attempt(lambda: call(*tensors))

        def forward():
            with torch.no_grad():
                call(*tensors)

        return Calls(dict.fromkeys(WITHIN, forward), WITHIN)

    def graph():
        leaves = [t.detach().requires_grad_(t.is_floating_point()) for t in tensors]
        results = [t for t in floats(call(*leaves)) if t.requires_grad]
        return results, [t for t in leaves if t.requires_grad]

    return gradients(graph)
