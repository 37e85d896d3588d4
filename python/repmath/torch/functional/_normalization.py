"""Norms, under the names of torch.nn.functional."""

from typing import Any

import torch

from .._ops import normalization
from ._arguments import Tensor, tensor


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """``RN((x - mean) / sqrt(variance + eps) * w + b)`` over the last axes, mean and variance exact; see `repmath.nn.layer_norm`.

    Parameters
    ----------
    input : Tensor
        All arguments have one format.
    normalized_shape : sequence of ints
        The last axes of `input`.
    weight, bias : Tensor, optional
        Of this shape.
    eps : float
        At least 0.

    Returns
    -------
    Tensor
        Of the shape of `input`. Gradients are formulas with one rounding each; they have no derivatives.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    RuntimeError, ValueError
        A shape or `eps` does not fit.
    """
    shape = list(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    return normalization.LAYER_NORM.overload(tensor("input", input), shape, weight, bias, eps)


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """``RN(x / sqrt(mean(x**2) + eps) * w)`` over the last axes; `eps` is by default, as in PyTorch, the machine epsilon of the format, and
    that of float32 for formats of 16 bits."""
    shape = list(normalized_shape) if isinstance(normalized_shape, (tuple, list)) else [normalized_shape]
    tensor("input", input)
    if eps is None:
        eps = torch.finfo(torch.promote_types(input.dtype, torch.float32)).eps if input.is_floating_point() else 0.0
    return normalization.RMS_NORM.overload(input, shape, weight, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """`layer_norm` of each sample's channels in groups; `weight` and `bias` have one value for each channel."""
    return normalization.GROUP_NORM.overload(tensor("input", input), num_groups, weight, bias, eps)


def _update(input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float) -> None:
    """New running statistics, in place."""
    with torch.no_grad():
        mean, variance = normalization.BATCH_NORM_STATISTICS(input.detach(), running_mean, running_var, momentum)
        running_mean.copy_(mean)
        running_var.copy_(variance)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """``RN((x - mean) / sqrt(variance + eps) * w + b)`` for each channel of (N, C, ...); see `repmath.nn.batch_norm`.

    Training, the statistics are the exact ones of the batch, and the running ones become ``RN((1 - momentum) * old + momentum * new)``,
    in place. Otherwise they are the running ones. Arguments and errors are those of torch.nn.functional.batch_norm.
    """
    x = tensor("input", input)
    if training and x.ndim > 1 and x.numel() // max(x.shape[1], 1) < 2 and x.numel():
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
    if (running_mean is None) != (running_var is None):
        raise RuntimeError("running_mean and running_var must be given together")
    given = (None, None) if training else (running_mean, running_var)
    y = normalization.BATCH_NORM.overload(x, *given, weight, bias, training, eps)
    if training and running_mean is not None and running_var is not None and x.numel():
        _update(x, running_mean, running_var, momentum)
    return y


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample by its own mean and variance; see `repmath.nn.instance_norm`.

    ValueError for running statistics, which are not supported.
    """
    if running_mean is not None or running_var is not None or not use_input_stats:
        raise ValueError(
            "running_mean, running_var and use_input_stats=False are not supported (docs/torch.md#which-functions-are-there)"
        )
    return normalization.INSTANCE_NORM.overload(tensor("input", input), weight, bias, eps)
