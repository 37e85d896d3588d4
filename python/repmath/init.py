"""Initial weights as torch.nn.init defines them, from `repmath.random`: `repmath.init.kaiming_uniform(seed, shape, ...)`.

A weight has shape ``(outputs, inputs, *kernel)``: fan_in is inputs times the elements of the kernel, fan_out is outputs times these.
Bounds and standard deviations are real formulas of the fans and the gain, rounded once to float64; the numbers are then those of
`repmath.random.uniform` with these bounds, or `normal` with this standard deviation.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from . import random
from ._random_arguments import _real, _Shape, _shape

# The squares of the gains that torch.nn.init.calculate_gain gives.
_GAINS_SQUARED = {
    **dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "sigmoid"), Fraction(1)),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), Fraction(1)),
    "tanh": Fraction(25, 9),
    "relu": Fraction(2),
    "selu": Fraction(9, 16),
}


def _root(square: Fraction) -> float:
    """RN(sqrt(square)): the integer root of enough digits, and one more digit that tells whether it goes on; the division of two
    integers rounds once. With 56 bits or more that digit decides no rounding wrongly."""
    if square == 0:
        return 0.0
    shift = max(0, 64 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    n, rest = divmod(square.numerator << (2 * shift), square.denominator)
    r = math.isqrt(n)
    return (2 * r + (rest != 0 or r * r != n)) / (2 << shift)


def _gain_squared(nonlinearity: str, a: float | None) -> Fraction:
    if nonlinearity == "leaky_relu":
        slope = 0.01 if a is None else _real("a", a)
        if not math.isfinite(slope):
            raise ValueError(f"a must be finite, not {slope}")
        return 2 / (1 + Fraction(slope) ** 2)
    if nonlinearity not in _GAINS_SQUARED:
        raise ValueError(f"nonlinearity must be leaky_relu, {', '.join(_GAINS_SQUARED)}, not {nonlinearity!r}")
    return _GAINS_SQUARED[nonlinearity]


def calculate_gain(nonlinearity: str, a: float | None = None) -> float:
    """The recommended gain for a nonlinearity, rounded once.

    Parameters
    ----------
    nonlinearity : str
        linear, conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d,
        conv_transpose3d, sigmoid (1), tanh (5/3), relu (sqrt(2)), leaky_relu
        (sqrt(2/(1 + a**2))) or selu (3/4).
    a : float, optional
        The negative slope of leaky_relu, 0.01 by default; others ignore it.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        `nonlinearity` is none of these, or `a` is not finite.
    """
    return _root(_gain_squared(nonlinearity, a))


def fans(shape: _Shape) -> tuple[int, int]:
    """The fan_in and the fan_out of a weight of this shape.

    Parameters
    ----------
    shape : tuple of ints
        ``(outputs, inputs, *kernel)``.

    Returns
    -------
    fan_in, fan_out : int

    Raises
    ------
    ValueError
        `shape` has fewer than two axes.
    """
    sizes = _shape(shape)
    if len(sizes) < 2:
        raise ValueError(f"shape must have at least two axes, not {len(sizes)}")
    kernel = math.prod(sizes[2:])
    return sizes[1] * kernel, sizes[0] * kernel


def _xavier(shape: _Shape, gain: float) -> Fraction:
    """2 gain^2/(fan_in + fan_out); 0 for a weight without elements."""
    g, total = _real("gain", gain), sum(fans(shape))
    if not (math.isfinite(g) and g >= 0):
        raise ValueError(f"gain must be finite and not negative, not {g}")
    return 2 * Fraction(g) ** 2 / total if total else Fraction(0)


def _kaiming(shape: _Shape, a: float, mode: str, nonlinearity: str) -> Fraction:
    """gain^2/fan; 0 for a weight without elements."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', not {mode!r}")
    square, fan = _gain_squared(nonlinearity, a), fans(shape)[mode == "fan_out"]
    return square / fan if fan else Fraction(0)


def _uniform(seed: int, shape: _Shape, square: Fraction, **where: Any) -> Any:
    bound = _root(3 * square)
    return random.uniform(seed, shape, -bound, bound, **where)


def xavier_uniform(
    seed: int, shape: _Shape, gain: float = 1.0, *, dtype: DTypeLike = np.float32, stream: int = 0, offset: int = 0
) -> Any:
    """Uniform between plus and minus ``RN(gain * sqrt(6/(fan_in + fan_out)))`` (Glorot, Bengio 2010).

    Parameters
    ----------
    seed, stream, offset
        As for `repmath.random.uniform`.
    shape : tuple of ints
        ``(outputs, inputs, *kernel)``.
    gain : float, optional
        Taken exactly; see `calculate_gain`.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        `shape` has fewer than two axes; `gain` is negative or not finite; `seed`,
        `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    return _uniform(seed, shape, _xavier(shape, gain), dtype=dtype, stream=stream, offset=offset)


def xavier_normal(
    seed: int, shape: _Shape, gain: float = 1.0, *, dtype: DTypeLike = np.float32, stream: int = 0, offset: int = 0
) -> Any:
    """Normal with the standard deviation ``RN(gain * sqrt(2/(fan_in + fan_out)))`` (Glorot, Bengio 2010).

    Parameters
    ----------
    seed, shape, gain, dtype, stream, offset
        As for `xavier_uniform`.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError, TypeError
        As `xavier_uniform`.
    """
    std = _root(_xavier(shape, gain))
    return random.normal(seed, shape, 0.0, std, dtype=dtype, stream=stream, offset=offset)


def kaiming_uniform(
    seed: int,
    shape: _Shape,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike = np.float32,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Uniform between plus and minus ``RN(gain * sqrt(3/fan))`` (He et al. 2015), the gain not rounded before.

    Parameters
    ----------
    seed, stream, offset
        As for `repmath.random.uniform`.
    shape : tuple of ints
        ``(outputs, inputs, *kernel)``.
    a : float, optional
        The negative slope of leaky_relu, taken exactly.
    mode : {"fan_in", "fan_out"}, optional
        Which fan.
    nonlinearity : str, optional
        Whose gain; see `calculate_gain`.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError
        `shape` has fewer than two axes; `mode` or `nonlinearity` is unknown; `a` is not
        finite; `seed`, `stream` or `offset` is out of range.
    TypeError
        An argument is of another type.
    """
    return _uniform(seed, shape, _kaiming(shape, a, mode, nonlinearity), dtype=dtype, stream=stream, offset=offset)


def kaiming_normal(
    seed: int,
    shape: _Shape,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    *,
    dtype: DTypeLike = np.float32,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Normal with the standard deviation ``RN(gain/sqrt(fan))`` (He et al. 2015), the gain not rounded before.

    Parameters
    ----------
    seed, shape, a, mode, nonlinearity, dtype, stream, offset
        As for `kaiming_uniform`.

    Returns
    -------
    ndarray

    Raises
    ------
    ValueError, TypeError
        As `kaiming_uniform`.
    """
    std = _root(_kaiming(shape, a, mode, nonlinearity))
    return random.normal(seed, shape, 0.0, std, dtype=dtype, stream=stream, offset=offset)


def trunc_normal(
    seed: int,
    shape: _Shape,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    *,
    dtype: DTypeLike = np.float32,
    stream: int = 0,
    offset: int = 0,
) -> Any:
    """Normal between two ends; as ``torch.nn.init.trunc_normal_``.

    Parameters
    ----------
    seed, stream, offset
        As for `repmath.random.truncated_normal`.
    shape : int or tuple of ints
        Any shape.
    mean, std, a, b : float, optional
        The `mean`, `std`, `low` and `high` of `repmath.random.truncated_normal`.
    dtype : dtype, optional
        float16, bfloat16, float32 or float64.

    Returns
    -------
    ndarray or scalar

    Raises
    ------
    ValueError, TypeError
        As `repmath.random.truncated_normal`.
    """
    return random.truncated_normal(seed, shape, mean, std, a, b, dtype=dtype, stream=stream, offset=offset)


__all__ = [
    "calculate_gain",
    "fans",
    "kaiming_normal",
    "kaiming_uniform",
    "trunc_normal",
    "xavier_normal",
    "xavier_uniform",
]
