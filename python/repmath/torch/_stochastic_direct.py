"""Elementwise operators under the mode stochastic whose arguments C understands: nothing of Python stands between the dispatcher and their loops."""

from typing import Any

import numpy as np
import torch

from .. import _core
from . import _stochastic_formulas
from ._aten.prepared import RECIPES
from ._aten.table import OPERATORS
from ._stochastic_call import _Place
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor

_FUNCTIONS = set(
    "exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc sqrt rsqrt sigmoid silu gelu "
    "add subtract multiply divide power gelu_backward silu_backward tanh_backward sigmoid_backward addcmul addcdiv lerp".split()
)
_PRODUCTS = {"mm": _core.Product(2), "bmm": _core.Product(3), "addmm": _core.Product(2, True)}
_NAMES = {number: name for name, number in _core._FORMULAS.items()}  # type: ignore[attr-defined]
_MANY = 256  # elements that are left open; more are computed anew


def call_of(func: Any) -> Any:
    """What understands the calls of an operator, or None."""
    line = OPERATORS.get(func)
    if (
        line is None
        or line.function not in (_FUNCTIONS | set(_PRODUCTS))
        or any(a.name == "out" for a in func._schema.arguments)
    ):
        return None
    if line.function in _PRODUCTS:
        return None if func._schema.name.endswith("_") else _PRODUCTS[line.function]
    into = "first" if func._schema.name.endswith("_") else "new"
    return _core.Elementwise(into=into, **RECIPES[line.function])


def _room(like: Any) -> torch.Tensor:
    """For a result of this shape, or that of this tensor: NumPy asks the system for large pages, which takes it a fraction of the time."""
    return as_tensor(np.empty(getattr(like, "shape", like), np.float32))


def made(about: Any, block: Any, args: Any, kwargs: Any) -> Any:
    """The result of a call of an operator that has one here, which has the next number, or NotImplemented."""
    found = about.direct.at_random(args, kwargs, block.seed, (block.sample << 32) + block.calls, _room)
    if type(found) is not tuple:
        return found
    out, places, formula, a = found
    left = np.sort(np.frombuffer(places, np.int64))
    if left.size > _MANY and not any(v is out for v in args):
        return NotImplemented
    before = block.calls
    place, array = _Place(block), as_array(out)
    block.calls = before
    values = [as_array(v).reshape(-1)[left] for v in args if isinstance(v, torch.Tensor)]
    _stochastic_formulas.settle(_NAMES[formula], a, values, array.reshape(-1), left, place.last(array))
    return out
