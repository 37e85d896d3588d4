"""Windows of signals. The place i of d (the length, or one less without periodic) counts from the nearer end, so that windows are symmetric: j = min(i, d - i)."""

from collections.abc import Callable
from typing import Any

import torch

from ..._special.bessel import kaiser
from .._stepwise import HERE
from .._tensors import FORMATS
from .common import Uncovered, apply, convert, kernel


def _window(
    operator: Any,
    arguments: tuple[Any, ...],
    dtype: torch.dtype | None,
    options: dict[str, Any],
    of: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """`of` makes the numbers from j and d; PyTorch's own are those of one element, and what has no numbers."""
    own: torch.Tensor = operator(*arguments, dtype=dtype, **options)
    if own.dtype not in FORMATS:
        raise Uncovered(f"dtype={own.dtype}")
    if own.device.type not in ("cpu", "meta"):
        raise Uncovered(f"device={own.device}")
    length, periodic = arguments[:2]
    if own.device.type == "meta" or length < 2:
        return own
    width = length if periodic else length - 1
    i = torch.arange(length)
    j = torch.minimum(i, width - i).double()
    return convert(of(j, torch.full_like(j, width)), own.dtype)


def _times(x: torch.Tensor, number: float) -> torch.Tensor:
    return apply("multiply", x, torch.full_like(x, number))


@kernel
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        s = apply("sinpi", apply("divide", j, width))
        return apply("multiply", s, s)

    return _window(torch.ops.aten.hann_window.periodic, (window_length, periodic), dtype, options, of)


@kernel
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: torch.dtype | None = None,
    **options: Any,
) -> torch.Tensor:
    def of(j: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        turned = apply("cospi", apply("divide", 2 * j, width))
        return apply("subtract", torch.full_like(j, alpha), _times(turned, beta))

    arguments = window_length, periodic, alpha, beta
    return _window(torch.ops.aten.hamming_window.periodic_alpha_beta, arguments, dtype, options, of)


@kernel
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        once, twice = (apply("cospi", apply("divide", k * j, width)) for k in (2, 4))
        return apply("add", apply("subtract", torch.full_like(j, 0.42), _times(once, 0.5)), _times(twice, 0.08))

    return _window(torch.ops.aten.blackman_window.periodic, (window_length, periodic), dtype, options, of)


@kernel
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    def of(j: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        return apply("divide", 2 * j, width)

    return _window(torch.ops.aten.bartlett_window.periodic, (window_length, periodic), dtype, options, of)


_STEEPEST = 4096.0  # beyond, series of more terms than that


@kernel
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: torch.dtype | None = None, **options: Any
) -> torch.Tensor:
    """RN of the quotient of Bessel functions, which has one rounding, and so no steps that another rounding could take."""
    if HERE.steps is not None:
        raise Uncovered("a Kaiser window with random rounding")
    if not abs(beta) <= _STEEPEST:
        raise Uncovered(f"beta={beta}, which is not from -4096 to 4096")
    wanted = dtype or torch.get_default_dtype()

    def of(j: torch.Tensor, width: torch.Tensor) -> torch.Tensor:
        """The numbers of the first half, which are rounded to odd where the format is narrower."""
        d, half = int(width[0]), int(j.max()) + 1
        made = torch.tensor(kaiser(list(range(half)), d, float(beta), FORMATS[wanted]), dtype=torch.float64)
        return made[j.long()]

    return _window(torch.ops.aten.kaiser_window.beta, (window_length, periodic, beta), dtype, options, of)
