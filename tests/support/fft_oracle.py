"""Correctly rounded Fourier transforms: Arb's transforms (python-flint), and cyclotomic integers for what no precision decides.

Nothing here looks at the library, which decides such cases modulo primes."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from exact_oracle import FORMATS, round_rational
from flint import acb, arb, ctx, fmpz_poly

PRECISIONS = (160, 700, 2600)
COMPLEX, FROM_REAL, TO_REAL = range(3)
ONE, ROOT, BY_N = range(3)


def full(x: np.ndarray, kind: int, sizes: tuple[int, ...]) -> list[tuple[Fraction, Fraction]]:
    """The terms of the sum, in C order, for x with the axes of one transform."""
    terms = {}
    last = sizes[-1]
    for index in np.ndindex(*x.shape):
        value = complex(x[index])
        weight = 2 if kind == TO_REAL and 0 < index[-1] and 2 * index[-1] != last else 1
        terms[index] = weight * Fraction(value.real), weight * Fraction(value.imag)
    none = Fraction(0), Fraction(0)
    return [terms.get(index, none) for index in np.ndindex(*sizes)]


@functools.cache
def exact(value: Fraction) -> arb:
    shift = value.denominator.bit_length() - 1
    return arb((value.numerator, -shift)) if value else arb(0)


def transformed(terms, sizes: tuple[int, ...], sign: int) -> list[acb]:
    """All sums as balls."""
    values = [acb(exact(a), exact(b if sign < 0 else -b)) for a, b in terms]
    inner = len(values)
    for n in sizes:
        block, inner = inner, inner // n
        for begin in range(0, len(values), block):
            for i in range(inner):
                line = slice(begin + i, begin + block, inner)
                values[line] = acb.dft(values[line]) if n > 1 else values[line]
    return values if sign < 0 else [v.conjugate() for v in values]


def end(value: arb) -> Fraction:
    man, exp = value.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def factor(scale: int, n: int) -> tuple[Fraction, bool]:
    """The factor of the sum, or its square where it is irrational."""
    root = math.isqrt(n)
    if scale == ROOT:
        return (Fraction(1, root), False) if root * root == n else (Fraction(1, n), True)
    return (Fraction(1), False) if scale == ONE else (Fraction(1, n), False)


def polynomial(terms, sizes, sign: int, k, imaginary: bool) -> tuple[fmpz_poly, Fraction, int]:
    """Twice a part of result k as unit times a polynomial in e^(2 pi i/M), and M."""
    order = math.lcm(*sizes)
    whole = math.lcm(order, 4)
    unit = Fraction(1, max(f.denominator for pair in terms for f in pair))
    coefficients = [0] * whole
    for index, (a, b) in zip(np.ndindex(*sizes), terms, strict=True):
        t = sign * sum(j * q * (whole // n) for j, q, n in zip(index, k, sizes, strict=True))
        quarter = whole // 4
        for value, turn in ((a, 0), (b, quarter)):  # X + conj X, or (X - conj X)/i
            m = int(value / unit)
            coefficients[(t + turn - quarter * imaginary) % whole] += m
            coefficients[(-(t + turn) - quarter * imaginary) % whole] += -m if imaginary else m
    return fmpz_poly(coefficients), unit, whole


def rational(poly: fmpz_poly, whole: int) -> int | None:
    """The integer that a polynomial is at a primitive root of unity; None where it is irrational."""
    rest = poly % fmpz_poly.cyclotomic(whole)
    return None if rest.degree() > 0 else int(rest[0])


def rounded(terms, sizes, sign: int, scale: int, fmt: str, wanted, real: bool) -> dict[tuple, tuple[int, ...]]:
    """The bits of the parts of the results `wanted` (indices)."""
    n = len(terms)
    by, squared = factor(scale, n)
    todo = [(k, part) for k in wanted for part in ((False,) if real else (False, True))]
    bits = {}
    for precision in PRECISIONS:
        if not todo:
            break
        with_precision = ctx.prec
        ctx.prec = precision
        try:
            values = transformed(terms, sizes, sign)
            divisor = arb(by.denominator).sqrt() if squared else arb(by.denominator)
            left = []
            for k, part in todo:
                v = values[np.ravel_multi_index(k, sizes)]
                v = (v.imag if part else v.real) / divisor
                low, high = end(v.lower()), end(v.upper())
                a, b = round_rational(low, fmt), round_rational(high, fmt)
                if a == b and (low > 0 or high < 0):
                    bits[k, part] = a
                elif low > 0 and a == b - 1 or low < 0 and a == b + 1 or low <= 0 <= high or precision < PRECISIONS[-1]:
                    left.append((k, part))
                else:
                    raise AssertionError("the oracle has too few digits")
            todo = left
        finally:
            ctx.prec = with_precision
        if precision == PRECISIONS[0]:
            todo = [item for item in todo if not decided_exactly(bits, item, terms, sizes, sign, by, squared, fmt)]
    assert not todo, todo
    return {k: tuple(bits[k, part] for part in ((False,) if real else (False, True))) for k in wanted}


def decided_exactly(bits, item, terms, sizes, sign, by, squared, fmt) -> bool:
    """Puts a rational part's bits."""
    k, part = item
    poly, unit, whole = polynomial(terms, sizes, sign, k, part)
    value = rational(poly, whole)
    if value is not None and (value == 0 or not squared):
        bits[item] = round_rational(value * unit / 2 * by, fmt)
        return True
    if squared and (square := rational(poly * poly, whole)) is not None:
        bits[item] = round_root(square * unit * unit / 4 * by, sign_of(terms, sizes, sign, k, part), fmt)
        return True
    return False


def sign_of(terms, sizes, sign, k, part) -> int:
    before, ctx.prec = ctx.prec, PRECISIONS[-1]
    v = transformed(terms, sizes, sign)[np.ravel_multi_index(k, sizes)]
    ctx.prec = before
    v = v.imag if part else v.real
    assert v > 0 or v < 0
    return 1 if v > 0 else -1


def round_root(square: Fraction, sign: int, fmt: str) -> int:
    """The square root of a rational number, rounded: by its square's order among the squares of boundaries."""
    shift = 1400 if square > Fraction(1, 2**400) else 2800
    scaled = square * 4**shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    low = Fraction(root, 2**shift)
    return round_rational(sign * (low if low * low == square else low + Fraction(1, 2 ** (shift + 1))), fmt)


def transform(x: np.ndarray, fmt: str, kind: int = COMPLEX, sign: int = -1, scale: int = ONE, sizes=None, wanted=None):
    """The transform of all axes of x: bits, or those of the indices `wanted` as a dict."""
    sizes = tuple(x.shape if sizes is None else sizes)
    out = (*sizes[:-1], sizes[-1] // 2 + 1) if kind == FROM_REAL else sizes
    indices = list(np.ndindex(*out)) if wanted is None else wanted
    found = rounded(full(x, kind, sizes), sizes, sign, scale, fmt, indices, kind == TO_REAL)
    if wanted is not None:
        return found
    unsigned = FORMATS[fmt][1]
    parts = 1 if kind == TO_REAL else 2
    return np.array([found[k] for k in indices], unsigned).reshape(*out, *([parts] if parts == 2 else []))
