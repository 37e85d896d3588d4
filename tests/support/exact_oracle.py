"""Exact sums by integers, rounded once: an oracle that shares nothing with the library.

Terms are turned into Python integers in units of 2^-2148 (the lowest bit of a product of binary64 numbers), added, and the
total is rounded by integer arithmetic.
"""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np

UNIT = 2148
FORMATS = {  # name: (numpy type, unsigned type, fraction bits, least exponent, infinity field, sign shift)
    "f16": (np.float16, np.uint16, 10, -24, 0x1F, 15),
    "bf16": (ml_dtypes.bfloat16, np.uint16, 7, -133, 0xFF, 15),
    "f32": (np.float32, np.uint32, 23, -149, 0xFF, 31),
    "f64": (np.float64, np.uint64, 52, -1074, 0x7FF, 63),
}
CANONICAL_NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}


def to_units(x: float) -> int:
    """The integer x * 2^2148."""
    n, d = float(x).as_integer_ratio()
    return (n << UNIT) // d


def round_units(total: int, fmt: str) -> int:
    """The bits of RN(total * 2^-2148)."""
    _, _, fraction, least, infinity, sign_shift = FORMATS[fmt]
    if total == 0:
        return 0
    sign = (1 << sign_shift) if total < 0 else 0
    m = abs(total)
    exponent = m.bit_length() - 1 - UNIT
    quantum = max(exponent - fraction, least)
    drop = quantum + UNIT
    kept, rest = divmod(m, 1 << drop)
    half = 1 << (drop - 1)
    if rest > half or (rest == half and kept & 1):
        kept += 1
    bits = ((quantum - least) << fraction) + kept
    return sign | min(bits, infinity << fraction)


def round_rational(value, fmt: str, rule: str = "nearest") -> int:
    """The bits of a rational number (Fraction, gmpy2.mpq) rounded under a rule (the names of oracle.RULES); zero becomes +0."""
    _, _, fraction, least, infinity, sign_shift = FORMATS[fmt]
    n, d = abs(int(value.numerator)), int(value.denominator)
    if n == 0:
        return 0
    negative = value < 0
    exponent = n.bit_length() - d.bit_length()
    exponent -= (n << max(-exponent, 0)) < (d << max(exponent, 0))
    quantum = max(exponent - fraction, least)
    kept, rest = divmod(n << max(-quantum, 0), d << max(quantum, 0))
    twice, unit = 2 * rest, d << max(quantum, 0)
    if rule == "nearest":
        kept += twice > unit or (twice == unit and kept & 1)
    else:
        kept += rest > 0 and rule == ("down" if negative else "up")
    bits = ((quantum - least) << fraction) + kept
    if bits >= infinity << fraction:
        away = rule in {"nearest", "down" if negative else "up"}
        bits = (infinity << fraction) - (not away)
    return negative << sign_shift | bits


def rational_of(bits: int, fmt: str) -> Fraction:
    """The value of bits of a format; of an infinity, that of the next exponent."""
    _, _, fraction, least, _, sign_shift = FORMATS[fmt]
    size = bits & ((1 << sign_shift) - 1)
    field, m = size >> fraction, size & ((1 << fraction) - 1)
    value = (Fraction(2) ** (max(field, 1) - 1 + least)) * (m + ((field > 0) << fraction))
    return -value if bits >> sign_shift else value


def exact_bits(terms, fmt: str) -> int:
    """terms: numbers, or pairs whose product is the term. The bits that the specification asks for."""
    total, plus, minus, nan = 0, False, False, False
    for term in terms:
        x, y = term if isinstance(term, tuple) else (term, 1.0)
        x, y = float(x), float(y)
        if math.isfinite(x) and math.isfinite(y):
            (nx, dx), (ny, dy) = x.as_integer_ratio(), y.as_integer_ratio()
            total += (nx * ny << UNIT) // (dx * dy)
            continue
        with np.errstate(all="ignore"):
            p = math.nan if (x == 0 or y == 0) else x * y
        nan |= math.isnan(p)
        plus |= p == math.inf
        minus |= p == -math.inf
    infinity = FORMATS[fmt][4] << FORMATS[fmt][2]
    if nan or (plus and minus):
        return CANONICAL_NAN[fmt]
    if plus or minus:
        return infinity | (int(minus) << FORMATS[fmt][5])
    return round_units(total, fmt)


def bits_of(value, fmt: str) -> int:
    return int(np.asarray(value, FORMATS[fmt][0]).view(FORMATS[fmt][1]))


def matmul_bits(a: np.ndarray, b: np.ndarray, fmt: str, bias: np.ndarray | None = None) -> np.ndarray:
    """The bits of the exact product of two finite matrices, by scaled integers in object arrays."""
    kind, unsigned = FORMATS[fmt][:2]

    def scaled(x):  # an object array of integers and the power of two they are in units of
        x = np.asarray(x, np.float64)
        fraction, exponent = np.frexp(x)
        low = int(exponent[x != 0].min()) - 53 if (x != 0).any() else 0
        m = (fraction * 2.0**53).astype(np.int64).astype(object)
        shift = np.where(x != 0, exponent - 53 - low, 0).astype(object)
        return m << shift if x.size else m, low

    with np.errstate(all="ignore"):
        ia, la = scaled(a)
        ib, lb = scaled(b)
        total = ia.dot(ib) if a.shape[1] else np.zeros((a.shape[0], b.shape[1]), object)
        shift = UNIT + la + lb
        out = np.empty(total.shape, unsigned)
        extra = [to_units(v) for v in bias] if bias is not None else [0] * total.shape[1]
        for i in range(total.shape[0]):
            for j in range(total.shape[1]):
                t = int(total[i, j])
                t = t << shift if shift >= 0 else t >> -shift  # below 2^-2148 there is nothing to lose
                out[i, j] = round_units(t + extra[j], fmt)
    return out


def bits(x):
    """The bits of a number or of an array, as unsigned integers."""
    return np.asarray(x).view(f"u{np.asarray(x).itemsize}")[()]


def number(code: int, dtype: np.dtype):
    return np.array(code, f"u{dtype.itemsize}").view(dtype)[()]


def rounded(value: Fraction, dtype: np.dtype, rule: str = "nearest") -> int:
    """The bits of a Fraction under a rule, by bisection over the format's numbers, which are in the order of their codes."""
    if value == 0:
        return 0
    infinity, sign = int(bits(np.array(np.inf, dtype))), 1 << (8 * dtype.itemsize - 1)
    negative, size = value < 0, abs(value)
    low, high = 0, infinity  # low <= size < high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if Fraction(float(number(middle, dtype))) <= size else (low, middle)
    below = Fraction(float(number(low, dtype)))
    if below == size:
        code = low
    elif rule == "nearest":
        # Beyond the largest number as if the exponent went on.
        above = (
            Fraction(float(number(high, dtype))) if high < infinity else 2 * below - Fraction(float(number(low - 1, dtype)))
        )
        code = high if 2 * size > below + above or (2 * size == below + above and high % 2 == 0) else low
    else:
        code = high if rule == ("down" if negative else "up") else low
    return code | (sign if negative else 0)


def exact(x, y=None) -> Fraction:
    """The sum of an array, or of the products of two."""
    y = np.ones(np.shape(x)) if y is None else y
    return sum((Fraction(float(a)) * Fraction(float(b)) for a, b in zip(np.ravel(x), np.ravel(y), strict=True)), Fraction(0))


def exact_variance(x, ddof=0) -> Fraction:
    """The sum of squared differences from the exact mean, divided by n - ddof, as the definition has it."""
    terms = [Fraction(float(v)) for v in np.ravel(x)]
    mean = sum(terms, Fraction(0)) / len(terms)
    return sum(((v - mean) ** 2 for v in terms), Fraction(0)) / (len(terms) - ddof)


def rounded_root(square: Fraction, dtype: np.dtype) -> int:
    """The bits of the square root, rounded to nearest: enough digits of the root, and one more when it goes on."""
    if square == 0:
        return 0
    shift = 2 * max(0, 200 - square.numerator.bit_length() + square.denominator.bit_length())
    n = (square.numerator << shift) // square.denominator
    r = math.isqrt(n)
    inexact = r * r * square.denominator != square.numerator << shift
    return rounded(Fraction(2 * r + inexact, 2 << (shift // 2)), dtype)
