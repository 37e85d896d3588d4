"""The rounding modes of specification section 1a by rationals and Philox, sharing nothing with the library."""

from fractions import Fraction

import definitions
import exact_oracle
import gmpy2
import numpy as np
import oracle
import random_oracle

MODES = ("stochastic", "random", "up_down")
DIRECTED = ("toward_zero", "down", "up")
OF_VALUES = ("stochastic", "random", *DIRECTED)  # which ask for the exact value, and not for what is nearest to it
DIGITS = 320  # binary digits of values that are not rational; thresholds have 86
CLOSEST, FEW = (
    5000,
    170,
)  # more digits where a value has so few that it may be a number of the format, or at a threshold, or beside it


def split(value, fmt):
    """Of |value| = (k + f) q > 0: k with its exponent as the bits of the format, which may be those of an infinity or beyond, and f."""
    _, _, fraction, least, _, _ = exact_oracle.FORMATS[fmt]
    n, d = abs(int(value.numerator)), int(value.denominator)
    exponent = n.bit_length() - d.bit_length()
    exponent -= (n << max(-exponent, 0)) < (d << max(exponent, 0))
    quantum = max(exponent - fraction, least)
    unit = d << max(quantum, 0)
    k, rest = divmod(n << max(-quantum, 0), unit)
    return ((quantum - least) << fraction) + k, Fraction(rest, unit)


def rounded(value, fmt, mode, word):
    """The bits of an exact value, a rational number other than 0, under a mode with this word."""
    _, _, fraction, _, field, sign_shift = exact_oracle.FORMATS[fmt]
    sign, infinity = (value < 0) << sign_shift, field << fraction
    if mode == "up_down":
        bits = exact_oracle.round_rational(abs(value), fmt)
        return sign | (bits if bits in (0, infinity) else min(bits + (1 if word >> 31 else -1), infinity - 1))
    k, f = split(value, fmt)
    if mode in DIRECTED:  # IEEE 754: beyond the largest number it is the result, unless the direction is that of the infinity
        outwards = mode != "toward_zero" and (mode == "up") == (value > 0)
        return sign | min(k + (outwards and f != 0), infinity if outwards else infinity - 1)
    if mode == "stochastic":
        away = f > Fraction(2 * word + 1, 2**33)
    else:
        away = f != 0 and word >> 31
    return sign | min(k + away, infinity)


def near_words(value, fmt):
    """The words whose thresholds are next to f, on both sides."""
    _, f = split(value, fmt)
    at = (f * 2**33 - 1) // 2
    return [int(min(max(at + i, 0), 2**32 - 1)) for i in (0, 1)]


def words(seed, stream, first, n):
    """Words of elements first, first + 1, ... of a stream."""
    return random_oracle.words(seed, stream, 2**64 + first, n)


def exact_value(function, row, digits=DIGITS):
    """The value of an elementwise function at numbers: a rational, to DIGITS digits where it is not one. None where it is not finite
    or zero, or an argument is NaN. A function of MPFR rounds toward zero, and says whether it has cut anything off: a hair then stands
    for that. Definitions say themselves what is nearer to a number than 2^-CLOSEST of it; nearer than these digits show, it takes more of them."""
    with gmpy2.context(definitions.wide(digits), round=gmpy2.RoundToZero) as context:
        context.clear_flags()
        try:
            value = definitions.value(function, *[gmpy2.mpfr(v, 53) for v in row])
        except definitions.Exact as e:
            value = e.value
            context.clear_flags()
            digits = CLOSEST
        cut = bool(context.inexact) and function not in definitions.DEFINITIONS
        if value == 0 and context.underflow and cut:  # below the least power that MPFR has
            return gmpy2.mpq(-1 if gmpy2.is_signed(value) else 1, 2**20000)
    if not gmpy2.is_finite(value) or value == 0 or gmpy2.get_exp(value) > 5000:
        return None  # beyond all formats
    if gmpy2.get_exp(value) < -20000:
        return gmpy2.mpq(gmpy2.sign(value), 2**20000)
    if function in definitions.DEFINITIONS and digits < CLOSEST:
        m = abs(int(value.as_mantissa_exp()[0]))
        known = digits - definitions.LOST - 10
        few = min(FEW, known - 30)  # nearness to a number of so few digits is no chance
        unit = 1 << max(m.bit_length() - few, 0)
        if min(m % unit, unit - m % unit) << known <= m:
            return exact_value(function, row, CLOSEST)
    return gmpy2.mpq(value) * (1 + gmpy2.mpq(cut, 2 ** (2 * DIGITS)))


def array_of(function, rows, fmt, mode, each):
    """The bits of a function over rows of arguments, each with its word; what is not finite, or 0, is that of rounding to nearest."""
    out = oracle.values(function, tuple(np.array(v) for v in zip(*rows, strict=True)), fmt)
    for i, (row, word) in enumerate(zip(rows, each, strict=True)):
        value = exact_value(function, row)
        if value is not None:
            out[i] = rounded(value, fmt, mode, int(word))
    return out
