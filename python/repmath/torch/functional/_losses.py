"""Losses, under the names of torch.nn.functional."""

from .. import _losses
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
    overload = _losses.CROSS_ENTROPY.overload
    result: Tensor = overload(
        tensor("input", input), tensor("target", target), weight, ignore_index, check_reduction(reduction), label_smoothing
    )
    return result
