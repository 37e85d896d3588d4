"""from_torch_module: converts a model of torch.nn's layers to repmath's."""

import copy
from collections.abc import Iterable

import torch

from . import nn
from ._parameters import known, mark
from ._tensors import FORMATS
from .nn._base import Module, UnsupportedModuleError

# Modules that call others one after the other or only hold them, and those that move numbers and round none, also backwards.
_CONTAINERS = (
    torch.nn.Sequential,
    torch.nn.ModuleList,
    torch.nn.ModuleDict,
    torch.nn.ParameterList,
    torch.nn.ParameterDict,
)
_EXACT = (
    torch.nn.Identity,
    torch.nn.Flatten,
    torch.nn.Unflatten,
    torch.nn.PixelShuffle,
    torch.nn.PixelUnshuffle,
    torch.nn.ChannelShuffle,
    *(getattr(torch.nn, f"{kind}Pad{d}d") for kind in ("Zero", "Constant") for d in (1, 2, 3)),
)

# PyTorch's class -> ours, of the same name.
COUNTERPARTS: dict[type[torch.nn.Module], type[torch.nn.Module]] = {
    getattr(torch.nn, name): getattr(nn, name)
    for name in nn.__all__
    if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), Module)
}

# The layer that attention keeps inside.
COUNTERPARTS[torch.nn.modules.linear.NonDynamicallyQuantizableLinear] = nn.Linear

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _problem(path: str, module: torch.nn.Module, trusted: tuple[type, ...]) -> str | None:
    """Why a module cannot be made reproducible, or None."""
    where = f"module {path!r} ({type(module).__name__})" if path else f"the model itself ({type(module).__name__})"
    for kind, named in (("parameter", module.named_parameters), ("buffer", module.named_buffers)):
        for name, t in named(recurse=False):
            what = f"{where}: {kind} {name!r}"
            if t.device.type not in ("cpu", "meta"):
                return f"{what} is on {t.device}; only the CPU is supported"
            if (t.is_floating_point() or t.is_complex()) and t.dtype not in FORMATS:
                return f"{what} has dtype {t.dtype}; it must be float16, bfloat16, float32 or float64"
            if t.layout != torch.strided:
                return f"{what} has layout {t.layout}; only dense tensors are supported"
    if isinstance(module, trusted):
        return None
    if any(getattr(module, hooks, None) for hooks in _HOOKS):
        return f"{where} has hooks, whose code cannot be checked"
    kind_of_module = type(module)
    if kind_of_module in COUNTERPARTS:
        refused = COUNTERPARTS[kind_of_module]._refuse(module)
        return None if refused is None else f"{where}: {refused}"
    if kind_of_module in _CONTAINERS or kind_of_module in _EXACT or isinstance(module, Module):
        return None
    own = [name for name, _ in module.named_parameters(recurse=False)]
    of = f" with parameters {', '.join(map(repr, own))}" if own else ""
    if any(True for _ in module.children()):
        return (
            f"{where} has a forward of its own{of}, which cannot be checked; give its class in `trust` if it calls only its modules, "
            "repmath.torch.functional and what rounds nothing, or run the model under repmath.torch.reproducible()"
        )
    return f"{where}{of} has no reproducible counterpart; run the model under repmath.torch.reproducible()"


def from_torch_module(model: torch.nn.Module, *, trust: Iterable[type[torch.nn.Module]] = ()) -> torch.nn.Module:
    """A copy of a model whose layers are those of `repmath.torch.nn`.

    Parameters
    ----------
    model : torch.nn.Module
        It is not changed.
    trust : iterable of module classes, optional
        Classes with a forward of their own, which cannot be checked. The caller vouches that it calls only its modules, functions of
        `repmath.torch.functional`, and operations that round nothing, forwards and backwards (views, concatenation, indexing with
        slices). Note that ``x + y`` of PyTorch is correctly rounded too, but the gradient of a broadcast is not.

    Returns
    -------
    torch.nn.Module
        A deep copy with equal parameters, buffers and state dict. Modules of torch.nn have become their subclasses in
        `repmath.torch.nn`.

    Raises
    ------
    UnsupportedModuleError
        A TypeError: a module is neither of a known class nor trusted, has hooks, or asks for an option that is not supported; or a
        parameter or buffer has a dtype, device or layout that is not. The message names the path of the module, and the parameter.
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
    trusted = tuple(trust)
    problems = [p for path, m in model.named_modules() if (p := _problem(path, m, trusted)) is not None]
    if problems:
        raise UnsupportedModuleError("; ".join(problems) + "; see docs/torch.md#which-modules-are-there")
    made = copy.deepcopy(model)
    for own, p in zip(model.parameters(), made.parameters(), strict=True):
        if known(own):
            mark(p)
    for module in made.modules():
        counterpart = COUNTERPARTS.get(type(module))
        if counterpart is not None:
            module.__class__ = counterpart
    return made
