"""Symmetric matrices that need not be definite as L D L', D of blocks of one or two rows, by the recurrence of docs/spec.md, 7.

Every entry is one exact sum, rounded once, or a quotient of such entries, rounded once; what is a pivot is decided by exact comparisons.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from . import _reductions
from ._fractions import rounded

_Array = np.ndarray[Any, Any]
_ALPHA = Fraction(float.fromhex("0x1.47e0f66afed07p-1"))  # (1 + sqrt(17))/8 in binary64, of Bunch and Kaufman


class _Stop(Exception):
    """An entry is not finite."""


class Factors:
    """Rows of W = L D and of L by the number that they have in the matrix, and the order in which these come."""

    def __init__(self, a: _Array) -> None:
        n = len(a)
        self.a, self.n, self.k = np.where(np.tri(n, dtype=bool), a, a.T), n, 0
        self.w, self.l = np.zeros_like(self.a), np.zeros_like(self.a)
        self.order = np.arange(n)
        self.made = np.zeros_like(self.a)

    def column(self, place: int) -> _Array:
        """What is left of the column at a place, from row k on."""
        rows, j, k = self.order[self.k :], self.order[place], self.k
        terms = np.column_stack((self.a[rows, j], self.w[rows, :k]))
        factors = np.concatenate((np.ones(1, self.a.dtype), -self.l[j, :k]))
        return self._finite(np.asarray(_reductions.matmul(terms, factors)))

    @staticmethod
    def _finite(x: _Array) -> _Array:
        if not np.isfinite(x).all():
            raise _Stop
        return x

    def swap(self, i: int, j: int) -> None:
        self.order[[i, j]] = self.order[[j, i]]

    def keep(self, w: _Array, entries: _Array, size: int) -> None:
        """The columns of a block: w and entries of the rows behind it."""
        k = self.k
        rows = self.order[k + size :]
        self.w[rows, k : k + size], self.l[rows, k : k + size] = w, entries
        self.made[k + size :, k : k + size] = entries
        self.k += size

    def drawn(self, place: int, column: _Array, which: int) -> _Array:
        """The column of a pivot, which was chosen by what it is rounded to nearest."""
        return column

    def divided(self, rest: _Array, d: Any) -> _Array:
        return np.asarray(rest / d)

    def entries(self, values: list[Fraction], which: int) -> _Array:
        """Entries of L behind a pivot of two rows."""
        return rounded(values, self.a.dtype)

    def single(self, place: int, column: _Array) -> int:
        """A pivot of one row; what is left of its column."""
        k = self.k
        self.swap(k, place)
        column = column.copy()
        column[[0, place - k]] = column[[place - k, 0]]
        d, rest = column[0], column[1:]
        self.made[k, k] = d
        entries = np.where(rest == 0, rest.dtype.type(0), self.divided(rest, d)) if d != 0 else rest
        self.keep(rest[:, None], self._finite(entries)[:, None], 1)
        return place + 1

    def double(self, place: int, first: _Array, second: _Array) -> int:
        """Of two rows, the second of which comes from a place."""
        k = self.k
        self.swap(k + 1, place)
        pair = np.stack((first, second))
        pair[:, [1, place - k]] = pair[:, [place - k, 1]]
        (d, c), e = (Fraction(float(v)) for v in pair[0, :2]), Fraction(float(pair[1, 1]))
        det = d * e - c * c
        self.made[k, k], self.made[k + 1, k], self.made[k + 1, k + 1] = pair[0, 0], pair[0, 1], pair[1, 1]
        numbers = [(Fraction(x), Fraction(y)) for x, y in zip(*pair[:, 2:].astype(np.float64).tolist(), strict=True)]
        entries = np.column_stack(
            [
                self.entries([(x * e - y * c) / det for x, y in numbers], 0),
                self.entries([(y * d - x * c) / det for x, y in numbers], 1),
            ]
        )
        self.keep(pair[:, 2:].T, self._finite(entries), 2)
        return -(place + 1)

    def step(self, pivots: _Array) -> bool:
        """The next block. Whether it is singular."""
        k, first = self.k, self.column(self.k)
        below = np.abs(first[1:])
        most = Fraction(float(below.max(initial=0)))
        own = Fraction(float(abs(first[0])))
        if own >= _ALPHA * most:
            pivots[k] = self.single(k, self.drawn(k, first, 0))
            return own == 0
        place = k + 1 + int(below.argmax())
        second = self.column(place)
        others = np.abs(np.delete(second, place - k))
        widest = max(most, Fraction(float(others.max())))
        if own * widest >= _ALPHA * most * most:
            pivots[k] = self.single(k, self.drawn(k, first, 0))
        elif Fraction(float(abs(second[place - k]))) >= _ALPHA * widest:
            pivots[k] = self.single(place, self.drawn(place, second, 0))
        else:
            pivots[k : k + 2] = self.double(place, self.drawn(k, first, 0), self.drawn(place, second, 1))
        return False


def factor(a: _Array, factors: Any = Factors) -> tuple[_Array, _Array, int]:
    """L and D as LAPACK's sytrf lays them out for the lower triangle, its pivots and info; from a column that is not finite on, NaN."""
    f, info = factors(a), 0
    pivots = np.arange(1, len(a) + 1, dtype=np.int32)
    try:
        while f.k < f.n:
            k = f.k
            if f.step(pivots) and not info:
                info = k + 1
    except _Stop:
        info = info or f.k + 1
        f.made[f.k :, f.k :] = np.where(np.tri(f.n - f.k, dtype=bool), np.nan, 0)
        pivots[f.k :] = np.arange(f.k + 1, f.n + 1)
    return f.made, pivots, info


def unpacked(made: _Array, pivots: _Array) -> tuple[_Array, _Array, _Array]:
    """L, D and the order of rows and columns of what `factor` returns. ValueError for pivots that it does not return."""
    n, k = len(made), 0
    lower, blocks, order = np.eye(n, dtype=made.dtype), np.zeros_like(made), np.arange(n)
    while k < n:
        p, size = int(pivots[k]), 1 if pivots[k] > 0 else 2
        if not k + size <= abs(p) <= n or k + size > n or (size == 2 and pivots[k + 1] != p):
            raise ValueError(f"pivots[{k}] is {p}, which no factorization has there")
        at, to = k + size - 1, abs(p) - 1
        order[[at, to]] = order[[to, at]]
        lower[[at, to], :k] = lower[[to, at], :k]
        lower[k + size :, k : k + size] = made[k + size :, k : k + size]
        block = np.tril(made[k : k + size, k : k + size])
        blocks[k : k + size, k : k + size] = block + np.tril(block, -1).T
        k += size
    return lower, blocks, order
