"""Composite operators of deep learning: each result is one real formula, rounded once.

Functions have the names and the argument order of torch.nn.functional, and take
NumPy arrays. The gradient of an operator is `<name>_backward`.
"""

from ._attention import scaled_dot_product_attention, scaled_dot_product_attention_backward
from ._cross_entropy import cross_entropy, cross_entropy_backward
from ._normalization import (
    batch_norm,
    batch_norm_backward,
    group_norm,
    group_norm_backward,
    instance_norm,
    instance_norm_backward,
    layer_norm,
    layer_norm_backward,
    rms_norm,
    rms_norm_backward,
)
from ._softmax import log_softmax, log_softmax_backward, logsumexp, softmax, softmax_backward

__all__ = [
    "batch_norm",
    "batch_norm_backward",
    "cross_entropy",
    "cross_entropy_backward",
    "group_norm",
    "group_norm_backward",
    "instance_norm",
    "instance_norm_backward",
    "layer_norm",
    "layer_norm_backward",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "rms_norm",
    "rms_norm_backward",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_backward",
    "softmax",
    "softmax_backward",
]
