"""rm_formula on tensors."""

from typing import Any

import torch

from .. import _core
from .._cuda import _calls
from .._dtypes import NAMES
from ._device_tensors import as_device_array
from ._stepwise import HERE
from ._tensors import FORMATS, fills_memory

# By the formula and the number of tensors: the call that takes most of them.
_plain: dict[tuple[str, int], Any] = {}


def formula(name: str, a: float, *tensors: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    """A formula of include/repmath/formulas.h of a number and tensors of one format, which are broadcast; `out` may be one of them.

    Raises TypeError for a format that is not of FORMATS, ValueError for tensors of several.
    """
    if HERE.steps is not None:
        rounded: torch.Tensor = HERE.steps.formula(name, a, tensors, out)
        return rounded
    first = tensors[0]
    if out is None:
        key = name, len(tensors)
        call = _plain.get(key)
        if call is None:
            call = _plain[key] = _core.Elementwise("formula", "new", len(tensors), formula=name, number=len(tensors))
        found = call(*tensors, a)
        if found is not NotImplemented:
            return found
    if first.dtype not in FORMATS:
        raise TypeError(f"tensors of {first.dtype}")
    if any(t.dtype is not first.dtype for t in tensors):
        raise ValueError(f"tensors of several formats: {', '.join(str(t.dtype) for t in tensors)}")
    if len(tensors) > 1 and any(t.shape != first.shape for t in tensors):
        tensors = tuple(torch.broadcast_tensors(*tensors))
        first = tensors[0]
    # The result lies as PyTorch's: as the operands do, of which repeated single elements have no order.
    main = next((t for t in tensors if any(t.stride())), first)
    order = main.stride()
    if not (main.is_contiguous() or fills_memory(main)) or not all(
        t.stride() == order or not any(t.stride()) for t in tensors
    ):
        tensors = tuple(t.contiguous() for t in tensors)
    else:
        tensors = tuple(t if t.stride() == order else torch.empty_like(main).copy_(t) for t in tensors)
    made = out
    # Into `out` when its elements lie as those of the arguments do; it may be an argument, but not overlap one otherwise.
    if made is None or made.stride() != tensors[0].stride() or made.shape != first.shape or made.dtype is not first.dtype:
        made = torch.empty_like(tensors[0])
    elif any(
        t.data_ptr() != made.data_ptr() and t.untyped_storage().data_ptr() == made.untyped_storage().data_ptr()
        for t in tensors
    ):
        made = torch.empty_like(tensors[0])
    if not made.is_cpu:
        _launch(name, made, a, *tensors)
        return made if out is None or made is out else out.copy_(made)
    x, y, z = [t.data_ptr() for t in tensors] + [0] * (3 - len(tensors))
    _core.formula(name, NAMES[FORMATS[first.dtype]], made.numel(), a, x, y, z, made.data_ptr())
    return made if out is None or made is out else out.copy_(made)


def _launch(name: str, made: torch.Tensor, a: float, *tensors: torch.Tensor) -> None:
    """The same on a device, of tensors whose elements lie alike."""
    flat = [as_device_array(t.as_strided((t.numel(),), (1,))) for t in (made, *tensors)]
    _calls.formula(name, NAMES[FORMATS[made.dtype]], a, flat[1:], flat[0])
