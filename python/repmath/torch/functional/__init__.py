"""The operators for tensors: names and arguments of torch and torch.nn.functional, bits of `repmath` and `repmath.nn`."""

from typing import TYPE_CHECKING, Any

from ._elementwise import FUNCTIONS as _FUNCTIONS
from ._losses import cross_entropy
from ._pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from ._products import (
    bmm,
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    linear,
    matmul,
)

# One function for each line of crlibm/functions.def, and a few more.
globals().update(_FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "linear",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    *_FUNCTIONS,
]
