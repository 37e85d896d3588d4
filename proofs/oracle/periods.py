"""Blocks for periods.h. Half-turns: pi x is reduced in integers without an error, so that zeros and poles are seen. Reflected: f(x), x < 0, is a
smooth function of x and a function of the fraction of -x alone, by the reflection formula. Polynomials about numbers beside poles would be short, and as many
as numbers; a table of all fractions, of at most 16 bits from 128 on, is not.

This stands apart from blocks.py, whose version the certificates of evaluations in binary32 (b32.py) name."""

import ctypes
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from flint import arb, ctx, fmpq

from . import blocks
from .blocks import Block
from .functions import SIGN, Function, Piece, bits, number

HALF_TURNS, REFLECTED = range(blocks.IDENTITY + 1, blocks.IDENTITY + 3)
FRACTION = 16
KINDS = ("half_turns", "reflected")
FROM = 2.0 ** (23 - FRACTION)  # numbers from here on have at most 16 bits behind the point
QUARTERS = {"sin": (0.0, 1.0, 0.0, -1.0), "cos": (1.0, 0.0, -1.0, 0.0), "tan": (0.0, float("inf"), -0.0, float("-inf"))}


class Fractions(ctypes.Structure):
    _fields_ = [
        ("v", ctypes.c_int64 * (1 << FRACTION)),
        ("error", ctypes.c_int64),
        ("scale", ctypes.c_int32),
        ("near", ctypes.c_int32),
        ("near_scale", ctypes.c_int32),
    ]

    def scale_of(self, j: int) -> int:
        """That of an entry: those beside whole numbers have one of their own."""
        return self.near_scale if min(j, (1 << FRACTION) - j) < self.near else self.scale


@dataclass(frozen=True)
class Reflected:
    """f(x) = smooth(x) + TABLES[table] of the fraction of -x; `pole`: the result at whole numbers."""

    smooth: Callable
    table: int
    pole: float


def log_of_sine(f: arb) -> arb:
    return (arb.pi() / (arb.pi() * f).sin()).log()


def cotangent(f: arb) -> arb:
    return arb.pi() * (arb.pi() * f).cot()


def cosecant(f: arb) -> arb:
    return (arb.pi() / (arb.pi() * f).sin()) ** 2


# The function, its sign at 1 - f, the scale; below how many places there is another one, and which: values are below 2^61.
TABLES = ((log_of_sine, 1, 56, 0, 56), (cotangent, -1, 44, 0, 44), (cosecant, 1, 40, 64, 28))
LOG_OF_SINE, COTANGENT, COSECANT = range(3)


@functools.cache
def fractions() -> ctypes.Array:
    ctx.prec = blocks.PRECISION
    tables, whole = (Fractions * len(TABLES))(), 1 << FRACTION
    for table, (f, sign, scale, near, near_scale) in zip(tables, TABLES, strict=True):
        table.error, table.scale, table.near, table.near_scale = 1, scale, near, near_scale
        for j in range(1, whole // 2 + 1):
            value = f(arb(fmpq(j, whole))) * blocks.power(table.scale_of(j))
            table.v[j] = blocks.nearest(value)
            assert abs(value - table.v[j]) < 1 and abs(table.v[j]) < 1 << 61
            if j < whole // 2:
                table.v[whole - j] = sign * table.v[j]
    return tables


def half_turns(first: int, count: int, twin: int, shape: str) -> Block:
    """m 2^place 2 quarters modulo 4, in units of 2^-126."""
    place = (first >> 23) - 150
    assert place >= -63, "rm_turn cuts the quarter's fraction to 64 bits"
    step = (1 << (place + 127)) % (1 << 128)
    block = Block(first, count, HALF_TURNS, twin, 0, 0, 0, blocks.SHAPES[shape])
    words = [ctypes.c_int64(step >> shift & (1 << 64) - 1).value for shift in (0, 64)]
    block.c[:6] = [*words, *(bits(result) for result in QUARTERS[shape])]
    return block


def reflected(what: Reflected, first: int, count: int) -> Iterator[Block]:
    assert number(first) >= FROM and number(first + count - 1) < 2.0**23
    table, half = fractions()[what.table], (1 << FRACTION) // 2
    for block in blocks.runs(what.smooth, first, count, SIGN, 0, blocks.FINE):
        assert block.degree < blocks.DEGREE and block.below == block.above
        polynomial = sum(map(abs, block.c[: block.degree + 1])) + block.below
        for j in {1, max(table.near, 1), half}:  # they fall between
            common = min(block.scale, table.scale_of(j))
            entry = abs(table.v[j])
            assert (polynomial >> block.scale - common) + (entry >> table.scale_of(j) - common) < (1 << 62) - 8
        block.kind, block.turns = REFLECTED, what.table
        block.c[blocks.DEGREE] = bits(what.pole)
        yield block


def of_kinds(pieces: tuple[Piece, ...], wanted: bool) -> tuple[Piece, ...]:
    return tuple(p for p in pieces if (p.kind in KINDS) is wanted)


def of_segment(function: Function, segment: int) -> Iterator[Block]:
    """The blocks of a segment of bits, sign included, of every kind."""
    plain = replace(function, positive=of_kinds(function.positive, False), negative=of_kinds(function.negative, False))
    yield from blocks.blocks(plain, segment)
    begin = segment * blocks.SEGMENT
    negative = begin >> 31
    begin &= SIGN - 1
    for piece in of_kinds(function.negative if negative else function.positive, True):
        first, last = max(begin, piece.first), min(begin + blocks.SEGMENT - 1, piece.last)
        if first > last:
            continue
        assert (first, last) == (begin, begin + blocks.SEGMENT - 1), "these pieces begin and end with segments"
        if piece.kind == "half_turns":
            yield half_turns(first, blocks.SEGMENT, function.twin, piece.what)
        else:
            yield from reflected(piece.what, first, blocks.SEGMENT)
