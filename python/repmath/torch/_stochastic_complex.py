"""Operators of stochastic() of complex numbers, Fourier transforms, and what is made of no numbers with a point: integers, or none.

Complex numbers are composed of real ones (`_aten.complex_numbers`): each array of parts that is made on the way is rounded as one of a composed operator, real
parts before imaginary ones (specification section 1a). So a sum or a product has real parts with the words of elements 0, 1, ..., and imaginary parts with
those from 2^40 on. Transforms have the same words."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .. import _random_fourier, _random_modes
from ._aten.common import KERNELS, Uncovered, held
from ._aten.guards import tensors_in
from ._aten.table import OPERATORS
from ._stochastic_steps import Steps, _running
from ._stochastic_steps import tensors as floats
from ._tensors import FORMATS
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor

_TRANSFORMS = frozenset("fft_c2c fft_r2c fft_c2r".split())
_MAKE = _TRANSFORMS | {"polar"}
# Functions of the table whose steps are asked for one by one.
_FUNCTIONS = frozenset(
    "add subtract multiply divide reciprocal power allclose sum mean mm bmm mv dot vdot addmm baddbmm addmv exp log sqrt direction magnitude angle polar to_copy "
    "copy".split()
)


def results(value: Any) -> Iterator[torch.Tensor]:
    """Tensors of numbers that are rounded."""
    return (t for t in tensors_in([value]) if t.dtype in FORMATS or t.is_complex())


def may_take(func: Any) -> bool:
    """Whether an operator rounds complex numbers."""
    line = OPERATORS.get(func)
    return line is not None and line.way in ("rounds", "composes")


def makes(func: Any) -> bool:
    """Whether it makes complex numbers of real ones, or the reverse."""
    return OPERATORS[func].function in _MAKE


def parts_of(t: torch.Tensor) -> list[torch.Tensor]:
    """Of complex numbers the real and the imaginary parts, where they lie."""
    if not t.is_complex():
        return [t]
    with torch._C._DisableTorchDispatch():
        pairs = torch.view_as_real(t)
        return [pairs[..., 0], pairs[..., 1]]


def takes(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether a call has complex numbers, or makes some of real ones."""
    if not may_take(func) or OPERATORS[func].function == "index_copy":  # which puts numbers into places
        return False
    if makes(func) or getattr(kwargs.get("dtype"), "is_complex", False):
        return True
    return any(isinstance(v, complex) for v in args) or any(t.is_complex() for t in results((args, list(kwargs.values()))))


def rounded(at: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """The results of a call; raises Uncovered for one without these modes."""
    function = OPERATORS[func].function
    if not all(t.is_cpu for t in results(args)):
        raise Uncovered("tensors that are not on the CPU")
    if function in _TRANSFORMS:
        place = _random_modes.place(*(at.words[key] for key in ("mode", "seed", "stream")))
        with _random_fourier.rounding_by(place), _running(None):
            return KERNELS[function](*args, **kwargs)
    if function == "index_put" and not (args[3:4] or (kwargs.get("accumulate"),))[0]:  # has a number, and nothing to round
        return KERNELS[function](*args, **kwargs)
    if function not in _FUNCTIONS:
        raise Uncovered("complex numbers")
    with _running(Steps(at)):
        return KERNELS[function](*args, **kwargs)


def without_out(func: Any, kwargs: Any) -> Any:
    """The overload of an operator of the table that returns what this one writes into `out`; None for others."""
    line = OPERATORS.get(func) if isinstance(kwargs.get("out"), torch.Tensor) else None
    if line is None or line.way not in ("rounds", "composes"):
        return None
    packet, kind = line.name.split(".")
    return getattr(getattr(torch.ops.aten, packet), kind)


def written(out: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """What a call returns, put into its `out`; raises TypeError where that would round again."""
    with torch._C._DisableTorchDispatch():
        if made.dtype is not out.dtype and torch.promote_types(made.dtype, out.dtype) is not out.dtype:
            raise TypeError(f"a result of {made.dtype} into a tensor of {out.dtype}")
        if out.shape != made.shape:
            out.resize_(made.shape)
        return out.copy_(made)


def as_floats(made: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The arguments of a call of integers with a result in a format that holds them, in that format: they count as numbers. As they are, where it does not."""
    kinds = {t.dtype for t in floats(made)}
    dtype = next(iter(kinds))

    def converted(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return v.to(dtype)
        return type(v)(converted(u) for u in v) if isinstance(v, (list, tuple)) else v

    with torch._C._DisableTorchDispatch():
        if len(kinds) > 1 or not all(held(t, dtype) for t in tensors_in([*args, *kwargs.values()])):
            return args, kwargs
        return tuple(converted(v) for v in args), {k: converted(v) for k, v in kwargs.items()}


def _as_arrays(made: Any) -> Any:
    return tuple(None if v is None else as_array(v) for v in made) if isinstance(made, (list, tuple)) else as_array(made)


def _as_tensors(made: Any) -> Any:
    def tensor(v: Any) -> Any:
        return v if v is None or isinstance(v, torch.Tensor) else as_tensor(np.asarray(v))

    return tuple(tensor(v) for v in made) if isinstance(made, tuple) else tensor(made)
