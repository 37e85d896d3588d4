"""Factors, solutions and determinants of matrices under the modes "stochastic" and "random", by rational numbers: what is exact in their definitions is a Fraction here.

Every entry of a factor is an exact sum of products of entries that were rounded before, divided or its root taken, and rounded by the word of its place; solutions and determinants
are those of the exact systems. Pivots are chosen by candidates that are rounded to nearest: a choice rounds nothing. An entry of LU has the word of the place that its
row has in the matrix, before rows are exchanged.

Each array that is rounded has the words from element r * 2^40 on of one stream, r its number, from 0."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from . import _core, _random_modes
from ._narrow import convert_array, nearest_odd
from ._random_balls import Interval, rounded

_Array = np.ndarray[Any, Any]
_Matrix = list[list[Fraction]]
APART = 40


class Refused(Exception):
    """Matrices without these modes; the text says which."""


class Rounder:
    """Rounds the elements of arrays, one array after the other."""

    def __init__(self, dtype: Any, mode: str, seed: int, stream: int) -> None:
        self.kind, self.mode, self.seed, self.stream = np.dtype(dtype).name, mode, seed, int(stream)
        self.dtype, self.arrays = np.dtype(dtype), 0
        self.words: list[int] = []

    def next(self, size: int) -> None:
        """The next array, of so many elements."""
        words = np.empty(size, np.uint32)
        if size:
            _core.rounding_words(self.seed, self.stream, self.arrays << APART, words)
        self.words = words.tolist()
        self.arrays += 1

    def __call__(self, place: int, value: Fraction) -> Fraction:
        made = rounded(value, self.kind, self.mode, self.words[place])
        if made in (float("inf"), float("-inf")):
            raise Refused("whose results are beyond the largest number")
        return Fraction(made)

    def of(self, place: int, value: Callable[[int], Interval]) -> Fraction:
        """Of a value that is enclosed to any number of bits."""
        for bits in (128, 512, 2048, 8192, 32768):
            v = value(bits)
            ends = [rounded(e, self.kind, self.mode, self.words[place]) for e in (v.low, v.high)]
            if ends[0] == ends[1] and (v.low == v.high or v.low * v.high > 0):
                return Fraction(ends[0])
        raise ValueError("a result is nearer to a threshold of its rounding than 2**-32000 of it")


def exactly(a: _Array) -> _Matrix:
    """The numbers of a matrix."""
    if not np.isfinite(a).all():
        raise Refused("of infinities and NaN")
    return [[Fraction(v) for v in row] for row in a.astype(np.float64).tolist()]


def stacked(a: _Array) -> _Array:
    return a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:])


def array(rows: Any, dtype: Any) -> _Array:
    """Numbers of the format as an array."""
    return np.array([[float(v) for v in row] for row in rows], np.float64).astype(dtype)


def _nearest(value: Fraction, dtype: Any) -> float:
    return float(convert_array(np.asarray(nearest_odd(value)), dtype)) if dtype != np.float64 else float(value)


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def cholesky(rounder: Rounder, a: _Matrix, first: int, upper: bool) -> _Matrix:
    """L, row by row, of the lower triangle. The result begins at the place `first`, and is the transpose for `upper`."""
    n = len(a)
    made = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = a[i][j] - _dot(made[i][:j], made[j][:j])
            place = first + (j * n + i if upper else i * n + j)
            if i > j:
                made[i][j] = rounder(place, rest / made[j][j])
                continue
            if rest <= 0:
                raise Refused("that are not positive definite")
            made[i][i] = rounder.of(place, _root(rest))
            if not made[i][i]:
                raise Refused("that are not positive definite")
    return made


def lu(rounder: Rounder, a: _Matrix, first: int) -> tuple[_Matrix, list[int]]:
    """L and U in one, and the row with which each was exchanged."""
    rows, columns = len(a), len(a[0]) if a else 0
    a, origin, pivots = [list(row) for row in a], list(range(rows)), []
    for j in range(columns):
        for i in range(min(j, rows)):
            a[i][j] = rounder(first + origin[i] * columns + j, a[i][j] - _dot(a[i][:i], [a[k][j] for k in range(i)]))
        if j >= rows:
            continue
        column = [a[k][j] for k in range(j)]
        rest = [a[i][j] - _dot(a[i][:j], column) for i in range(j, rows)]
        sizes = [abs(_nearest(v, rounder.dtype)) for v in rest]
        p = sizes.index(max(sizes))
        pivots.append(j + p)
        a[j], a[j + p] = a[j + p], a[j]
        origin[j], origin[j + p] = origin[j + p], origin[j]
        rest[0], rest[p] = rest[p], rest[0]
        a[j][j] = rounder(first + origin[j] * columns + j, rest[0])
        if not a[j][j]:
            raise Refused("that are singular")
        for i in range(j + 1, rows):
            a[i][j] = rounder(first + origin[i] * columns + j, rest[i - j] / a[j][j])
    return a, pivots


def triangular(a: _Matrix, b: _Matrix, lower: bool, unit: bool) -> _Matrix:
    """The exact solution of a system."""
    n = len(a)
    made: _Matrix = [[] for _ in range(n)]
    for i in range(n) if lower else reversed(range(n)):
        known = range(i) if lower else range(i + 1, n)
        if not unit and not a[i][i]:
            raise Refused("that are singular")
        for c in range(len(b[i])):
            rest = b[i][c] - sum((a[i][k] * made[k][c] for k in known), Fraction(0))
            made[i].append(rest if unit else rest / a[i][i])
    return made


def turned(a: _Matrix) -> _Matrix:
    return [list(row) for row in zip(*a, strict=True)]


def solve(a: _Matrix, b: _Matrix) -> _Matrix:
    """The exact solution of a system."""
    n = len(a)
    rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
    for k in range(n):
        p = next((i for i in range(k, n) if rows[i][k]), None)
        if p is None:
            raise Refused("that are singular")
        rows[k], rows[p] = rows[p], rows[k]
        rows[k] = [v / rows[k][k] for v in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [v - factor * u for v, u in zip(rows[i], rows[k], strict=True)]
    return [row[n:] for row in rows]


def unit(n: int) -> _Matrix:
    return [[Fraction(int(i == j)) for j in range(n)] for i in range(n)]


def determinant(a: _Matrix) -> Fraction:
    a, made = [list(row) for row in a], Fraction(1)
    for k in range(len(a)):
        p = next((i for i in range(k, len(a)) if a[i][k]), None)
        if p is None:
            return Fraction(0)
        if p != k:
            a[k], a[p], made = a[p], a[k], -made
        made *= a[k][k]
        for i in range(k + 1, len(a)):
            factor = a[i][k] / a[k][k]
            if factor:
                a[i] = [v - factor * u for v, u in zip(a[i], a[k], strict=True)]
    return made


def all_rounded(rounder: Rounder, values: _Matrix, first: int, upside: bool = False) -> _Matrix:
    """Each element by the word of its place, or of that in the transpose."""
    rows, columns = len(values), len(values[0]) if values else 0
    return [
        [rounder(first + (c * rows + r if upside else r * columns + c), v) for c, v in enumerate(row)]
        for r, row in enumerate(values)
    ]


def _root(value: Fraction) -> Callable[[int], Interval]:
    return lambda bits: Interval(value, value, bits).sqrt()


def logarithm(value: Fraction) -> Callable[[int], Interval]:
    return lambda bits: Interval(value, value, bits).log()


def part_of(words: dict[str, Any], dtype: Any) -> Rounder:
    """The rounder of a call with these words."""
    _random_modes.place(words["mode"], words["seed"], words["stream"])
    return Rounder(dtype, words["mode"], words["seed"], words["stream"])
