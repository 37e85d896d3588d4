"""Correctly rounded operators for JAX: under `jit`, `grad`, `jvp`, `vmap`, `scan` and `shard_map`, with the bits of `repmath`.

Names and arguments are those of jax.numpy, jax.nn and jax.lax where these have the function, else those of torch.nn.functional.
Needs JAX, which `pip install repmath[jax]` brings. docs/jax.md says what each gradient is and where JAX itself rounds.
"""

# ruff: noqa: E402, F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._version import check as _check

_check()

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any: ...  # the functions of the manifest


from . import _derivatives as _derivatives  # registers the derivatives of the elementwise functions
from . import _elementwise, _powers, optim, random, special
from ._attention import scaled_dot_product_attention
from ._collectives import pmean, psum
from ._convolution import conv_general_dilated
from ._elementwise import *
from ._library import export_checks
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
from ._norms import batch_norm, batch_norm_statistics, group_norm, instance_norm, layer_norm, rms_norm
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
from ._powers import *
from ._products import dot_general, matmul
from ._rows import log_softmax, logsumexp, mean, softmax, sum
from ._take import embedding, segment_sum
from .optim import adam, adamw, apply_updates, multi_steps, sgd
from .random import dropout

__all__ = [
    *_elementwise.__all__,
    *_powers.__all__,
    "adam",
    "adamw",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "apply_updates",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "batch_norm_statistics",
    "binary_cross_entropy_with_logits",
    "conv_general_dilated",
    "cross_entropy",
    "dot_general",
    "dropout",
    "embedding",
    "export_checks",
    "group_norm",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mean",
    "mse_loss",
    "multi_steps",
    "nll_loss",
    "optim",
    "pmean",
    "psum",
    "random",
    "rms_norm",
    "scaled_dot_product_attention",
    "segment_sum",
    "sgd",
    "smooth_l1_loss",
    "softmax",
    "special",
    "sum",
]
