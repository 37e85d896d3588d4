"""One SHA-256 for the numbers of a model, an optimiser or tensors."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from .._digest import digest as digest_of_arrays
from . import _sharded
from ._tensors import as_array


def _state(value: Any) -> Iterator[Any]:
    """The tensors and numbers of an optimiser's state, mappings in the order of their keys."""
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _state(value[key])
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from _state(v)
    elif isinstance(value, (bool, int, float, torch.Tensor)):
        yield value


def _contents(thing: Any) -> Iterator[Any]:
    if isinstance(thing, torch.nn.Module):
        for _, p in thing.named_parameters(remove_duplicate=False):
            yield p
        for _, b in thing.named_buffers(remove_duplicate=False):
            yield b
    elif isinstance(thing, torch.optim.Optimizer):
        state = thing.state_dict()["state"]
        for key in sorted(state):
            yield from _state(state[key])
    elif isinstance(thing, torch.Tensor):
        yield thing
    elif isinstance(thing, Mapping):
        yield from (v for key in sorted(thing, key=str) for v in _contents(thing[key]))
    elif isinstance(thing, Iterable) and not isinstance(thing, (str, bytes)):
        yield from (v for part in thing for v in _contents(part))
    else:
        raise TypeError(f"digest takes modules, optimisers and tensors, or collections of them, not {type(thing).__name__}")


def digest(*things: Any) -> str:
    """SHA-256 of all numbers of models, optimisers and tensors, in hexadecimal.

    Parameters
    ----------
    *things : Module, Optimizer, Tensor, or a collection of them
        A module counts with its parameters, then its buffers, in the order in which it
        names them; an optimiser with its state, parameter by parameter, entries in the
        order of their names. A mapping, such as a state_dict, counts with its values in the
        order of their names, as in the files that `repmath digest` reads. Of a DTensor
        count the elements of all ranks, each of which must call this function.

    Returns
    -------
    str
        `repmath.digest` of these as arrays: of equal numbers in NumPy and JAX it is the
        same.

    Raises
    ------
    TypeError
        An argument is something else, or a tensor has a dtype without portable bytes.
    """
    arrays = []
    with _disable_current_modes():
        for v in _contents(things):
            arrays.append(as_array(_sharded.whole(v.detach()).cpu()) if isinstance(v, torch.Tensor) else np.asarray(v))
        return digest_of_arrays(*arrays)
