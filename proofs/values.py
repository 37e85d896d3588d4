"""What the analysis of a graph (engine.py) knows of a value, and rounding to nearest."""

import math
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from .graph import PRECISION
from .taylor import ZERO, around, exponent, pow2, up

BITS, MIN_EXPONENT = 53, -1074


class Choice(Exception):
    """The computation may branch here: a list of (value, low, high), value being taken at most between low and high."""

    def __init__(self, node, options: list):
        super().__init__("branches")
        self.node, self.options = node, options


class EmptyBox(Exception):
    """A branch that no number of the box takes."""


def half_place(m: arb) -> arb:
    """The largest rounding error of a result whose exact value is at most m in size."""
    if m == 0:
        return ZERO
    e = exponent(m)
    half = pow2(max(e - 1 - BITS, MIN_EXPONENT - 1))
    # Just above a power of two that power is near, and below it places are half as large.
    below, over = pow2(max(e - 2 - BITS, MIN_EXPONENT - 1)), up(m - pow2(e - 1))
    other = max(below, over)
    return min(half, other)


def nearest(q: Fraction) -> float:
    return float(q)  # of rationals, Python's conversion rounds to nearest even


def downwards(q: Fraction) -> float:
    f = float(q)
    return math.nextafter(f, -math.inf) if Fraction(f) > q else f


def upwards(q: Fraction) -> float:
    f = float(q)
    return math.nextafter(f, math.inf) if Fraction(f) < q else f


def neighbour(x: Fraction, fmt: str, direction: int) -> Fraction:
    """The next number of the format."""
    if fmt == "f64":
        return Fraction(math.nextafter(float(x), direction * math.inf))
    bits, lowest = PRECISION[fmt]
    towards_zero = (x > 0) != (direction > 0)
    _, e = math.frexp(float(x))
    if towards_zero and abs(x) == Fraction(2) ** (e - 1):
        e -= 1
    return x + direction * Fraction(2) ** max(e - bits, lowest)


def grid_of(q: Fraction) -> int:
    """The largest g with q a multiple of 2^g; q is a binary fraction."""
    if q == 0:
        return 10**6
    n = abs(q.numerator)
    return (n & -n).bit_length() - 1 if q.denominator == 1 else 1 - q.denominator.bit_length()


class Bits:
    """The bits of a number, plus an offset, its sign changed if `flip`."""

    def __init__(self, node: int, offset: int = 0, flip: bool = False):
        self.node, self.offset, self.flip = node, offset, flip


class Node:
    __slots__ = (
        "E",
        "const",
        "enclosure",
        "ends",
        "exact",
        "grid",
        "integer",
        "smallest",
        "model",
        "parts",
        "per_k",
        "origin",
        "rho",
        "scaled",
        "size",
    )

    def __init__(self):
        self.model = self.E = self.grid = self.const = self.integer = self.ends = self.exact = None
        self.rho, self.parts, self.scaled, self.per_k, self.origin = ZERO, (), False, None, None


class Residue:
    """An integer of which only its last four bits are known."""

    def __init__(self, value: int):
        self.value = value


class OctaveBits:
    """The bits of 2^k m, plus an offset; m is the argument's node."""

    def __init__(self, node: int, offset: int = 0):
        self.node, self.offset = node, offset


class Exponent:
    """k, shifted left."""

    def __init__(self, shift: int):
        self.shift = shift


@dataclass(frozen=True)
class Multiples:
    """The analysis of many k at once, first <= k <= last, where a kernel takes k from its argument: the argument is x + step k, with k =
    residue modulo 16, or with step 0 it is 2^k x, of which only the bits are used. Values that are linear in k are kept so
    (Node.per_k). That a number of the domain is of this form with x in one of the boxes, k being what the kernel finds, is for
    the caller to show (prove.py)."""

    step: Fraction
    first: int
    last: int
    residue: int = 0

    def range(self) -> arb:
        return arb((self.first + self.last) / 2) + around(arb((self.last - self.first) / 2))

    def size(self) -> int:
        return max(abs(self.first), abs(self.last))
