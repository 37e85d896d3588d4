"""Losses, under the names of torch.nn.functional."""

from typing import Any

from .._ops import losses
from ._arguments import Tensor, tensor


def check_reduction(reduction: str) -> str:
    """The reduction; ValueError as PyTorch raises it unless it is one of the three."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction!r} is not a valid value for reduction; it must be 'none', 'mean' or 'sum'")
    return reduction


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits, summed or averaged before its one rounding; see `repmath.nn.cross_entropy`.

    Parameters
    ----------
    input : Tensor
        Of shape (C,), (N, C) or (N, C, ...), C classes.
    target : Tensor
        Of integers: classes, of the shape of `input` without C. Otherwise probabilities, of the shape of `input`. It has no
        gradient.
    weight : Tensor, optional
        Of shape (C,); it has no gradient.
    ignore_index : int
    reduction : {'mean', 'sum', 'none'}
    label_smoothing : float
        Between 0 and 1, taken exactly.

    Returns
    -------
    Tensor
        Of no axes, or with 'none' of the shape of `input` without C.

    Raises
    ------
    TypeError
        A dtype is not supported.
    ValueError, RuntimeError
        A shape or an option does not fit.
    IndexError
        A target is not a class.
    """
    overload = losses.CROSS_ENTROPY.overload
    result: Tensor = overload(
        tensor("input", input), tensor("target", target), weight, ignore_index, check_reduction(reduction), label_smoothing
    )
    return result


def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Negative log likelihood, summed or averaged before its one rounding; see `repmath.nn.nll_loss`.

    Arguments and errors are those of `cross_entropy`; targets are classes.
    """
    overload = losses.NLL_LOSS.overload
    result: Tensor = overload(
        tensor("input", input), tensor("target", target), weight, ignore_index, check_reduction(reduction)
    )
    return result


def _pair(loss: str, parameter: float, input: Tensor, target: Tensor, reduction: str) -> Tensor:
    overload = losses.PAIR_LOSS.overload
    result: Tensor = overload(
        tensor("input", input), tensor("target", target), loss, float(parameter), check_reduction(reduction)
    )
    return result


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Squared error, or the mean or sum of the exact squares, rounded once; see `repmath.nn.mse_loss`.

    Parameters
    ----------
    input, target : Tensor
        Of one shape and one format.
    reduction : {'mean', 'sum', 'none'}

    Returns
    -------
    Tensor
        Of no axes, or with 'none' of the shape of `input`.

    Raises
    ------
    TypeError
        A dtype is not supported, or they differ.
    ValueError
        The shapes differ, or an option is unknown.
    """
    return _pair("mse", 0.0, input, target, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute error; see `repmath.nn.l1_loss`. The rest is as in `mse_loss`."""
    return _pair("l1", 0.0, input, target, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Smooth absolute error; see `repmath.nn.smooth_l1_loss`. ValueError for a negative `beta`; the rest is as in `mse_loss`."""
    if not 0 <= beta < float("inf"):
        raise ValueError(f"beta must be finite and at least 0, not {beta!r}")
    return _pair("smooth_l1", beta, input, target, reduction)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Huber's loss; see `repmath.nn.huber_loss`. ValueError unless `delta` is above 0; the rest is as in `mse_loss`."""
    if not 0 < delta < float("inf"):
        raise ValueError(f"delta must be finite and above 0, not {delta!r}")
    return _pair("huber", delta, input, target, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence; see `repmath.nn.kl_div`. `reduction` may be 'batchmean'; the rest is as in `mse_loss`."""
    if reduction != "batchmean":
        check_reduction(reduction)
    result: Tensor = losses.KL_DIV.overload(tensor("input", input), tensor("target", target), reduction, log_target)
    return result


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Binary cross entropy of logits; see `repmath.nn.binary_cross_entropy_with_logits`. The rest is as in `mse_loss`.

    Only `input` has a gradient.
    """
    pair: tuple[Any, Any] = tensor("input", input), tensor("target", target)
    result: Tensor = losses.BCE.overload(*pair, weight, check_reduction(reduction), pos_weight)
    return result
