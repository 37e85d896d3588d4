"""The operators for tensors, with the names and arguments of torch and torch.nn.functional and the bits of `repmath` and `repmath.nn`."""

from typing import TYPE_CHECKING, Any

from ._elementwise import FUNCTIONS as _FUNCTIONS
from ._losses import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    smooth_l1_loss,
)
from ._normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from ._others import (
    dropout,
    embedding,
    scaled_dot_product_attention,
)
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
from ._reductions import (
    cumsum,
    log_softmax,
    logsumexp,
    mean,
    norm,
    softmax,
    std,
    sum,
    var,
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
    "batch_norm",
    "binary_cross_entropy_with_logits",
    "bmm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "cumsum",
    "dropout",
    "embedding",
    "group_norm",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mean",
    "mse_loss",
    "nll_loss",
    "norm",
    "rms_norm",
    "scaled_dot_product_attention",
    "smooth_l1_loss",
    "softmax",
    "std",
    "sum",
    "var",
    *_FUNCTIONS,
]
