"""Conversions to numbers of 8 bits in blocks of stochastic(): k and f are those of their formats (specification section 1a)."""

from typing import Any

import numpy as np
import torch

from .. import _random_losses
from .._dtypes import FLOAT8 as KINDS
from .._random_functions import At
from ._aten.common import FLOAT8
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor


def is_one(dtype: torch.dtype) -> bool:
    """Whether the library converts to this format of 8 bits."""
    return dtype in FLOAT8


def _codes(t: torch.Tensor) -> Any:
    """The numbers as an array of ml_dtypes; for contiguous ones it is their memory."""
    with torch._C._DisableTorchDispatch():
        return np.asarray(as_array(t.contiguous().view(torch.uint8))).view(KINDS[FLOAT8[t.dtype]])


def rounded(at: Any, nearest: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The numbers of x, of any format, which were rounded to `nearest`, under the mode."""
    with torch._C._DisableTorchDispatch():
        wide = np.asarray(as_array(x.to(torch.float64)))  # integers beyond 2**53 are beyond the largest number
        words = At(*(at.words[key] for key in ("mode", "seed", "stream")))
        made = _random_losses._to_float8(words, _codes(nearest), {"x": wide})
        return as_tensor(made.view(np.uint8)).view(nearest.dtype)


def moved(at: Any, made: torch.Tensor) -> torch.Tensor:
    """The last step of up_down, in place."""
    with torch._C._DisableTorchDispatch():
        stepped = _random_losses.step8(_codes(made), at.words["seed"], at.words["stream"])
        made.view(torch.uint8).copy_(as_tensor(stepped.view(np.uint8)))
    return made
