"""Parameters that were created outside of every block: their values may differ on another machine.

What PyTorch draws outside depends on the CPU's vector instructions. The library cannot see this; it can see that an operator inside of a
block gets a parameter that was not made inside: one for which `Parameter` was not called there (copies and loaded files call it too), and
which was not overwritten there by random numbers or a state dict.
"""

import sys
import warnings
import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch.nn import Parameter

from . import _blocks

# So many operators of a block are looked at. A model's parameters enter in its first step; in the long run nothing is looked at.
LOOKS = 1 << 16

# By identity: comparing tensors compares their elements.
known_parameters: dict[int, Any] = {}

# They read no number of a parameter, or none of its first argument.
_READ_NOTHING = frozenset({"alias", "detach", "detach_", "is_pinned", "requires_grad_", "view_as_real"})
_OVERWRITING = frozenset(
    {"bernoulli_", "cauchy_", "copy_", "exponential_", "fill_", "geometric_", "log_normal_", "normal_", "random_", "set_"}
    | {"resize_", "uniform_", "zero_"}
)


class OutsideParameterWarning(UserWarning):
    """A parameter enters an operator of a block of `reproducible` and was not made in any block."""


def mark(p: torch.Tensor) -> None:
    """The parameter has the same numbers everywhere."""
    key = id(p)
    if key not in known_parameters:
        known_parameters[key] = weakref.ref(p, lambda _: known_parameters.pop(key, None))


def known(p: torch.Tensor) -> bool:
    return id(p) in known_parameters


def trust(*things: Any) -> None:
    """Say that parameters that were made outside of `reproducible` have the same numbers on every machine.

    Weights that were read from a file have; those that PyTorch drew outside of a block
    have not. No `OutsideParameterWarning` follows for them.

    Parameters
    ----------
    *things : Module, Parameter, or a collection of them
        Modules count with all of their parameters.

    Raises
    ------
    TypeError
        An argument is something else.
    """
    for thing in things:
        if isinstance(thing, torch.nn.Module):
            trust(*thing.parameters())
        elif isinstance(thing, torch.Tensor):
            mark(thing)
        elif isinstance(thing, Mapping):
            trust(*thing.values())
        elif isinstance(thing, Iterable) and not isinstance(thing, (str, bytes)):
            trust(*thing)
        else:
            raise TypeError(f"trust takes modules, parameters, or collections of them, not {type(thing).__name__}")


def look(func: Any, args: Any, site: Any) -> bool:
    """Warn where a parameter among the arguments was made outside; whether it did. `site` tells the caller's frame."""
    for a in args:
        p = a._base if type(a) is torch.Tensor else a  # views are made without the library
        if p.__class__ is Parameter and id(p) not in known_parameters and _is_outside(func, p, a, args):
            _warn(p, func, site())
            return True
    return False


def _is_outside(func: Any, p: torch.Tensor, a: torch.Tensor, args: Any) -> bool:
    """Whether an operator reads the numbers of a parameter, given as the argument a, that was made outside."""
    name = func.__name__.partition(".")[0]
    if name in _READ_NOTHING or not p.requires_grad or func.namespace == "repmath":
        return False
    if a is args[0] and name in _OVERWRITING:
        if a is p:
            mark(p)
        return False
    return True


def _warn(p: torch.Tensor, func: Any, frame: Any) -> None:
    text = (
        f"{func} got a parameter of shape {tuple(p.shape)} that was made outside of reproducible(). Numbers that PyTorch draws outside depend "
        "on the CPU, and so do all results. Call torch.manual_seed and make the model inside the block, or load its weights there. If the "
        "weights are the same on every machine, say so: repmath.torch.trust(model). "
        "See docs/reproducible.md#why-are-models-made-inside-the-block"
    )
    place = frame if frame is not None else sys._getframe()
    warnings.warn_explicit(
        text,
        OutsideParameterWarning,
        place.f_code.co_filename,
        place.f_lineno,
        place.f_globals.get("__name__"),
        place.f_globals.setdefault("__warningregistry__", {}),
    )


_PLAIN_NEW: Any = Parameter.__dict__["__new__"]


def _new(cls: Any, *arguments: Any, **keywords: Any) -> Any:
    made = _PLAIN_NEW(cls, *arguments, **keywords)
    if _blocks.inside():
        mark(made)
    return made


def _watch(on: bool) -> None:
    """Parameter() tells, while there is a block, who was made in one."""
    Parameter.__new__ = staticmethod(_new) if on else _PLAIN_NEW


_blocks.process.told.append(_watch)
