"""Sums whose additions all round the same way, beside a boundary of the result's format.

A big term is followed by terms of half a last place of binary64 and a hair: in binary64 each addition of one to the running sum rounds up
(or, a hair less, down), so that the error of n additions is n half places, which is what a bound may count and no less. The remaining
terms bring the exact sum a hair to the other side of a tie of the result's format: whoever trusts the running sum further than its
error rounds to the wrong neighbour. Random data never comes near.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from convolution_library import dtype_of
from exact_oracle import FORMATS as LIMITS
from exact_oracle import rounded

PIECE = 8  # bits of a factor, which every format holds
# The big term, as two factors; log2 of the hair over half a place, and of what separates the exact sum from the tie, each relative to
# it. binary16 reaches from 2^-24 to 2^16 only.
SHAPES = {
    "f16": ((2.0**8, 2.0**7), -9, -63),
    "bf16": ((1.0, 1.0), -7, -80),
    "f32": ((1.0, 1.0), -20, -80),
}
PRECISION = {"f16": 11, "bf16": 8, "f32": 24}
# 2^15 + 2^4 as two factors: the great term of binary16 with the half place in it, where the other terms leave no room for one.
JOINED = (683 * 2.0**4, 3.0)


@dataclass(frozen=True)
class Boundary:
    """x[k] y[k] are the terms, all others are zero; `bits` is their exact sum rounded, `errors` the additions that err."""

    k: int
    fmt: str
    x: np.ndarray
    y: np.ndarray
    bits: int
    errors: int


def chain_places(k: int, chain: int, lanes: int) -> list[int]:
    """Places whose terms are added to the sum that holds term 0, where each of `lanes` lanes has chains of `chain` terms, chains are
    joined as they end, and then the lanes by halves."""
    first = [lanes * i for i in range(1, chain)]
    later = range(chain * lanes, k, chain * lanes)
    halves = [lanes >> i for i in range(1, lanes.bit_length())]
    return sorted(p for p in {*first, *later, *halves} if p < k)


def pieces(value: Fraction, fmt: str):
    """Pairs of numbers of the format whose products add up to the value, each of a few bits."""
    sign, value, out = (-1 if value < 0 else 1), abs(value), []
    least = -24 if fmt == "f16" else -60
    while value:
        e = value.numerator.bit_length() - value.denominator.bit_length() - PIECE
        e = max(e + (value >= Fraction(2) ** (e + PIECE)), 2 * least)
        n = int(value / Fraction(2) ** e)
        assert 0 < n < 2**PIECE, (value, fmt)
        value -= n * Fraction(2) ** e
        low = max(e // 2, least)
        if fmt == "f16":
            low = max(min(e + 14, 0), least)
        out.append((sign * n * 2.0 ** (e - low), 2.0**low))
    return out


@functools.cache
def products(
    fmt: str, k: int, places: tuple[int, ...], side: int, addend: bool = False, empty: frozenset[int] | None = None
) -> tuple[Boundary, float]:
    """Terms of k places, those of `places` half a place each; side +1: their additions round up and the exact sum is below the tie;
    -1: the other way. With `addend` the half place of the result is no product but the second value, else that is 0.

    With `empty`, of binary16: these places hold zeros, the half place is in the great term, and all other terms have the factor 2^-24."""
    big, hair, apart = SHAPES[fmt]
    dtype = dtype_of(fmt)
    size = Fraction(big[0]) * Fraction(big[1])
    unit, tie = size / 2**53, size / 2 ** PRECISION[fmt]
    small = (1 + side * Fraction(2) ** hair) * unit
    x, y = np.zeros(k, dtype), np.zeros(k, dtype)
    x[0], y[0] = big if empty is None else JOINED
    rest = tie - side * size * Fraction(2) ** apart  # beyond the big term
    at = list(places)
    taken = {*at, *(empty or ())}
    assert not empty or not empty & {0, *at}
    free = list(itertools.islice((p for p in range(k - 1, 0, -1) if p not in taken), 40))
    low = -24 if fmt == "f16" else -30
    x[at], y[at] = float(small / Fraction(2) ** low), 2.0**low
    assert Fraction(float(x[at[0]])) * Fraction(float(y[at[0]])) == small
    in_terms = not addend and empty is None  # the half place is a term of its own
    rest -= len(at) * small + (0 if in_terms else tie)
    extra = []
    # A multiple of a whole place is added exactly, so that only the last pieces can round another way.
    whole = rest // (2 * unit) * (2 * unit)
    for part in (tie if in_terms else Fraction(0), whole - (tie if in_terms else 0), rest - whole):
        extra += pieces(part, fmt)
    assert len(extra) <= len(free), (len(extra), len(free))
    for p, (u, v) in zip(free, extra, strict=False):
        x[p], y[p] = u, v
        assert float(x[p]) == u and float(y[p]) == v, (fmt, u, v)
    used = [0, *at, *free[: len(extra)]]
    total = sum((Fraction(float(x[p])) * Fraction(float(y[p])) for p in used), tie if addend else Fraction(0))
    assert total == size + tie - side * size * Fraction(2) ** apart
    return Boundary(k, fmt, x, y, rounded(total, dtype), len(at)), float(tie) if addend else 0.0


def factors(value: Fraction, fmt: str) -> tuple[Fraction, Fraction] | None:
    """Two numbers of the format, one of them a power of two, of which the product is this; None when there are none."""
    _, _, bits, least, infinity, _ = LIMITS[fmt]
    m, e = value.numerator, -(value.denominator.bit_length() - 1)
    low = (m & -m).bit_length() - 1
    m, e = m >> low, e + low
    size, most = abs(m).bit_length(), infinity + least + bits - 1  # numbers are below 2^most
    first, last = max(least, e - most + size), min(most - 1, e - least)
    if size > bits + 1 or first > last:
        return None
    b = min(max(e // 2, first), last)
    return m * Fraction(2) ** (e - b), Fraction(2) ** b


def split_squares(n: int, p: int) -> list[int]:
    """Integers of at most p bits, but for zeros below them, of which the squares add up to n."""
    out = []
    while n:
        root = math.isqrt(n)
        low = max(root.bit_length() - p, 0)
        out.append(root >> low << low)
        n -= out[-1] ** 2
    return out


# --------------------------------------------------------------------------------------------------------------- binary64


def erring(count: int, unit: float, side: int, low: float = 0.0) -> list[float]:
    """`count` terms of about `unit`: each is added to the sum of those before it, from `low` on, with an error of nearly half a place, up
    (side +1) or down."""
    terms, hair = [], 2 * math.ulp(unit)
    for _ in range(count):
        place = math.ulp(low + unit)
        terms.append(unit + (place / 2 + side * hair if place > 2 * hair else 0.0))
        low += terms[-1]
    return terms


def joining(terms: list[float], low: float, side: int) -> tuple[list[float], float]:
    """The terms, the last of them changed so that their sum, too, is added to `low` with such an error; and that sum."""
    block = 0.0
    for t in terms[:-1]:
        block += t
    place = math.ulp(low + block + terms[-1])
    if place > 16 * math.ulp(block + terms[-1]):
        off = Fraction(place) / 2 + side * 4 * Fraction(math.ulp(block + terms[-1])) - Fraction(block + terms[-1])
        terms = [*terms[:-1], terms[-1] + float(off % Fraction(place))]
    return terms, low + (block + terms[-1])


def scaled_room(k: int) -> int:
    """h of src/blas/gemm/exponent_scaling.h."""
    return next(h for h in range(1, 32) if h == 31 or 4**h >= 2 * k)


@functools.cache
def binary64(k: int, kind: str, side: int, addend: bool = False, lanes: int = 1) -> tuple[Boundary, float]:
    """The same for the engines of binary64, whose low parts err. Terms below half a place of the high part go to the low part unrounded;
    they are chosen so that each addition to it errs by half a place of its own.

    blocks: of the products' engine (src/blas/gemm/micro_dd.h): 128 terms a chain, beside the constant 3, and low parts joined; starts: one
    term a chain; lanes: of sums and dot products (src/reduce/chains.h), 32 terms in each of four chains of each lane, each with a big
    term; one: a single chain of low parts, as of prefixes and segments."""
    x, y, used = np.zeros(k), np.zeros(k), k - 6
    unit = 15 * 2.0 ** (2 * scaled_room(k) - 54) if kind in ("blocks", "starts") else 15 * 2.0**-57
    block, group = 128, 4 * lanes
    if kind == "lanes":
        block, terms = 32 * group, erring(31, unit, side)
        for start in range(0, used, block):
            x[start : min(start + group, used)] = 1.0
            for turn in range(31):
                x[min(start + (turn + 1) * group, used) : min(start + (turn + 2) * group, used)] = terms[turn]
    elif kind == "blocks":
        x[0], low = 1.0, 0.0
        for start in range(0, used, block):
            first = max(start, 1)
            terms, low = joining(erring(min(start + block, used) - first, unit, side), low, side)
            x[first : first + len(terms)] = terms
    else:
        at = slice(block, used, block) if kind == "starts" else slice(1, used)
        x[0] = 1.0
        x[at] = erring(len(x[at]), unit, side)
    big, errors = int((x == 1.0).sum()), int(((x != 0) & (x != 1.0)).sum())
    total = sum(n * Fraction(float(v)) for v, n in zip(*np.unique(x, return_counts=True), strict=True))
    place = Fraction(math.ulp(float(total)))
    tie = (total // place + 1) * place + place / 2
    target = tie - side * place / 2**100
    rest = target - total - (place / 2 if addend else 0)
    at = used
    while rest:
        piece = Fraction(float(rest))  # its leading 53 bits
        x[at], rest, at = float(piece), rest - piece, at + 1
    assert at <= k and abs(x).max() <= 1 and (not addend or place == Fraction(1, 2**52)), (at, k, big)
    powers = 2.0 ** -(np.arange(k) % 3)
    y[x != 0], x = powers[x != 0], np.where(x == 1.0, x, x / powers)
    y[abs(x) == 1.0] = 1.0
    assert (
        sum(n * Fraction(float(v)) for v, n in zip(*np.unique(x * y, return_counts=True), strict=True))
        + (place / 2 if addend else 0)
        == target
    )
    return Boundary(k, "f64", x, y, rounded(target, np.dtype("f8")), errors), float(place / 2) if addend else 0.0
