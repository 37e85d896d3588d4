"""Composite operators of deep learning: each result is one real formula, rounded once.

Functions have the names and the argument order of torch.nn.functional, and take
NumPy arrays. The gradient of an operator is `<name>_backward`.
"""

from ._softmax import (
    log_softmax,
    log_softmax_backward,
    logsumexp,
    softmax,
    softmax_backward,
)

__all__ = ["log_softmax", "log_softmax_backward", "logsumexp", "softmax", "softmax_backward"]
