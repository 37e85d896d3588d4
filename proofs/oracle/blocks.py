"""Blocks for oracle.h: integer polynomials with proved errors for runs of consecutive binary32 numbers.

By Taylor's theorem in ball arithmetic: the polynomial about the middle of the run, Lagrange's remainder from the series over the
ball of the whole run. What rounding the coefficients to integers and each product of Horner's scheme downwards costs is added in units."""

import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flint import arb, arb_series, ctx, fmpq

from .functions import SIGN, Function, Piece, number

PRECISION = 160
POLYNOMIAL, TURNS, CONSTANT, IDENTITY = range(4)
SHAPES = {"sin": 0, "cos": 1, "tan": 2}
PARTS, TURNS_DEGREE, DEGREE = 128, 9, 15
SEGMENT = 1 << 16  # numbers whose bits agree but for the last 16: a power of two of them, beginning at a multiple
LEAST = 1 << 52  # units of a value: where it is smaller, or the error larger than the precision asked for, a run is halved


@dataclass(frozen=True)
class Precision:
    """The degree of the polynomials and the largest error in units: the values are below 2^61."""

    order: int
    units: int


FINE, COARSE = Precision(11, 64), Precision(8, 1 << 12)


class Block(ctypes.Structure):
    _fields_ = [
        ("first", ctypes.c_uint32),
        ("count", ctypes.c_uint32),
        *[(name, ctypes.c_int32) for name in ("kind", "twin", "scale", "degree", "power", "turns")],
        ("below", ctypes.c_int64),
        ("above", ctypes.c_int64),
        ("c", ctypes.c_int64 * (DEGREE + 1)),
    ]


class Turns(ctypes.Structure):
    _fields_ = [("c", ctypes.c_int64 * (TURNS_DEGREE + 1) * PARTS), ("error", ctypes.c_int64)]


@functools.cache
def power(k: int) -> arb:
    return arb(2) ** k


def up(a: arb) -> arb:
    return abs(a).upper()


def nearest(a: arb) -> int:
    """An integer near a ball's middle."""
    m, e = a.mid().man_exp()
    m, e = int(m), int(e)
    return m << e if e >= 0 else (m + (1 << (-e - 1))) >> -e


def ceiling(a: arb) -> int:
    return math.ceil(float(a.upper())) + 1


def polynomial(f: Callable, centre: arb, width: arb, order: int) -> tuple[list[int], int, int] | None:
    """(coefficients, error in units, scale) of f(centre + width s), |s| <= 1; None if there is no bound."""
    ctx.prec, ctx.cap = PRECISION, order + 2
    if width == 0:
        order, terms, rest = 0, f(arb_series([centre], prec=1)).coeffs()[:1], arb(0)
    else:
        terms = f(arb_series([centre, width], prec=order + 1)).coeffs()[: order + 1]
        wide = f(arb_series([centre + arb(0, width), width], prec=order + 2)).coeffs()
        rest = up(wide[order + 1]) if len(wide) > order + 1 else arb(0)
        if not all(c.is_finite() for c in wide):
            return None
    total = sum((up(c) for c in terms), rest)
    if not (total.is_finite() and total > 0):
        return None
    man, e = total.upper().man_exp()
    scale = 61 - (int(man).bit_length() + int(e))  # total 2^scale < 2^61
    unit = power(scale)
    integers, error = [], rest * unit
    for c in terms:
        c *= unit
        integers.append(nearest(c))
        error += up(c - integers[-1])
    while len(integers) > 1 and integers[-1] == 0:
        integers.pop()
    units = ceiling(error) + len(integers)
    assert sum(map(abs, integers)) + units < 1 << 62
    return integers, units, scale


def exact(x: float) -> arb:
    n, d = x.as_integer_ratio()
    return arb(fmpq(n, d))


def runs(f: Callable, first: int, count: int, sign: int, twin: int, precision: Precision) -> Iterator[Block]:
    """Blocks of `count` numbers, a power of two, from the one with the magnitude `first`: halved until there is a good polynomial."""
    stack = [(first, count)]
    while stack:
        start, n = stack.pop()
        low = number(start)
        step = exact(number(start + 1)) - exact(low) if start + 1 < 0x7F800000 else exact(low) - exact(number(start - 1))
        centre = exact(low) + step * (n // 2)
        width = step * (n // 2)
        found = polynomial(f, -centre if sign else centre, -width if sign else width, precision.order)
        good = found is not None and found[1] <= precision.units and (abs(found[0][0]) >= LEAST or n <= 4)
        if not good and n > 1:
            stack += [(start + n // 2, n // 2), (start, n // 2)]
            continue
        if found is None:  # one number, where the value is 0 or not finite: neither is shown
            found = [0], 1, 0
        integers, units, scale = found
        block = Block(
            start | (SIGN if sign else 0), n, POLYNOMIAL, twin, scale, len(integers) - 1, n.bit_length() - 1, 0, units, units
        )
        block.c[: len(integers)] = integers
        yield block


def half(first: int, count: int, sign: int) -> Block:
    """x/2 + h, 0 < h < x^2/2, for |x| < 2^-60: with units of 2^-5 of the last place of x, h is less than one. Products are exact."""
    assert number(first + count - 1) < 2.0**-60
    place = max(first >> 23, 1) - 150
    middle = (first & 0x7FFFFF | (0x800000 if first >> 23 else 0)) + count // 2
    block = Block(
        first | (SIGN if sign else 0), count, POLYNOMIAL, 0, 5 - place, int(count > 1), count.bit_length() - 1, 0, 0, 1
    )
    block.c[:2] = [16 * (-v if sign else v) for v in (middle, count // 2)]
    return block


def turn(first: int, count: int, twin: int, shape: str) -> Block:
    """m 2^(place) 2/pi modulo 4, in units of 2^-126: cut by less than one unit, which m < 2^24 makes 2^-102."""
    place = (first >> 23) - 150
    ctx.prec = 600
    whole = (power(place + 127) / arb.pi()).floor().unique_fmpz()
    ctx.prec = PRECISION
    assert whole is not None
    step = int(whole) % (1 << 128)
    block = Block(first, count, TURNS, twin, 0, 0, 0, SHAPES[shape])
    block.c[0], block.c[1] = (ctypes.c_int64(step >> shift & (1 << 64) - 1).value for shift in (0, 64))
    return block


def blocks(function: Function, segment: int, precision: Precision = FINE) -> Iterator[Block]:
    """The blocks of a segment of bits, sign included."""
    begin = segment * SEGMENT
    sign = begin >> 31
    if sign and function.twin:
        return
    begin &= SIGN - 1
    end = begin + SEGMENT
    for piece in function.negative if sign else function.positive:
        first, last = max(begin, piece.first), min(end - 1, piece.last)
        while first <= last:  # by powers of two, aligned
            count = 1 << ((last - first + 1).bit_length() - 1)
            count = min(count, first & -first or SEGMENT)
            yield from some(function, piece, first, count, sign, precision)
            first += count


def some(function: Function, piece: Piece, first: int, count: int, sign: int, precision: Precision) -> Iterator[Block]:
    if piece.kind == "series":
        yield from runs(piece.what, first, count, sign, function.twin, precision)
    elif piece.kind == "half":
        yield half(first, count, sign)
    elif piece.kind == "turns":
        yield turn(first, count, function.twin, piece.what)
    else:
        # A NaN has no sign: both kinds of it are given here.
        nan = piece.kind == "result" and piece.what == 0x7FC00000
        twins = [(0, 0), (SIGN, 0)] if nan and function.twin else [(SIGN if sign else 0, function.twin)]
        for bits, twin in twins:
            block = Block(first | bits, count, IDENTITY if piece.kind == "same" else CONSTANT, twin)
            if piece.kind != "same":
                block.c[0] = piece.what
            yield block


@functools.cache
def turns_tables() -> ctypes.Array:
    """Sine, and tangent up to half of a quarter."""
    tables = (Turns * 2)()
    for table, f, parts in ((tables[0], lambda x: x.sin(), PARTS), (tables[1], lambda x: x.tan(), PARTS // 2)):
        worst = 0
        for j in range(parts):
            terms = turns_part(f, j)
            integers, error = terms
            table.c[j][: len(integers)] = integers
            worst = max(worst, error)
        table.error = worst
    return tables


def turns_part(f: Callable, j: int) -> tuple[list[int], int]:
    ctx.prec, ctx.cap = PRECISION, TURNS_DEGREE + 2
    quarter = arb.pi() / 2
    centre, width = quarter * (2 * j + 1) / (2 * PARTS), quarter / (2 * PARTS)
    terms = f(arb_series([centre, width], prec=TURNS_DEGREE + 1)).coeffs()
    rest = f(arb_series([centre + arb(0, width.upper()), width], prec=TURNS_DEGREE + 2)).coeffs()[TURNS_DEGREE + 1]
    integers, error = [], up(rest) * power(61)
    for c in terms:
        integers.append(nearest(c * power(61)))
        error += up(c * power(61) - integers[-1])
    assert sum(map(abs, integers)) < 1 << 62
    return integers, ceiling(error) + TURNS_DEGREE
