"""Orthogonal decompositions of matrices by written steps of binary64: reflections of Householder, rotations of Jacobi, Taylor's series.

Sums are exact and rounded once; each product, quotient, root and difference beside them is rounded once too. So the numbers are those
of docs/spec.md on every machine. Arguments are stacks of float64 matrices, (count, rows, columns), that are finite.
"""

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _core, _reductions, _statistics
from ._narrow import convert_array

_Array = np.ndarray[Any, Any]


class _Here(threading.local):
    """The arithmetic of the steps, where it is not this one: that of `_random_decompositions`."""

    by: Any = None


HERE = _Here()


@contextlib.contextmanager
def arithmetic(by: Any) -> Iterator[None]:
    """A block whose steps are those of an arithmetic of `_random_decompositions`."""
    HERE.by = by
    try:
        yield
    finally:
        HERE.by = None


def _by_arithmetic(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if HERE.by is None:
            return function(*arguments)
        return HERE.by.run(function.__name__, *arguments)

    return call


def converted(a: _Array, dtype: Any) -> _Array:
    """Numbers of binary64 in a format."""
    if HERE.by is not None:
        return np.asarray(HERE.by.convert(a, dtype))
    return np.asarray(convert_array(np.ascontiguousarray(a), dtype))


def step(name: str, *arrays: Any) -> _Array:
    """An operation of binary64, by its name in NumPy."""
    if HERE.by is not None:
        return np.asarray(HERE.by.op(name, *arrays))
    return np.asarray(getattr(np, name)(*arrays))


def _sizes(rows: _Array) -> _Array:
    """The roots of the sums of squares of rows."""
    if HERE.by is not None:
        return np.asarray(HERE.by.sizes(rows))
    return _statistics._apply("norm", rows, rows.dtype) if rows.size else np.zeros(len(rows))


def sums(a: _Array) -> _Array:
    """Over the second axis."""
    if HERE.by is not None:
        return np.asarray(HERE.by.sums(a))
    return np.asarray(_reductions.sum(a, axis=1))


_SWEEPS, _LEAST = _core.MOST_SWEEPS, _core.LEAST


def products(x: _Array, y: _Array) -> _Array:
    if HERE.by is not None:
        return np.asarray(HERE.by.products(x, y))
    return np.asarray(_reductions.matmul(np.ascontiguousarray(x), np.ascontiguousarray(y)))


def _turned(x: _Array) -> _Array:
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


# --- reflections


@_by_arithmetic
def reflectors(a: _Array) -> tuple[_Array, _Array]:
    """R above and on the diagonal, the reflectors below it, and their factors, as LAPACK's geqrf lays them out.

    With beta = -size of the column, its sign that of the first element, v is (1, the others / (that one - beta)) and tau = (beta - that one) /
    beta: a - v (tau (v' a)) is an exact sum, then three roundings.
    """
    a = np.array(a, np.float64, order="C")
    count, m, n = a.shape
    taus = np.zeros((count, min(m, n)))
    _core.reflectors(a, taus)
    return a, taus


@_by_arithmetic
def reflected(a: _Array, taus: _Array, c: _Array, transposed: bool) -> _Array:
    """The product of the reflections, or its transpose, times c."""
    c = np.array(c, np.float64, order="C")
    _core.reflected(np.ascontiguousarray(a), np.ascontiguousarray(taus), transposed, c)
    return c


def qr(a: _Array, complete: bool) -> tuple[_Array, _Array]:
    """Q and R; `complete` for a square Q."""
    count, m, n = a.shape
    factors, taus = reflectors(a)
    columns = m if complete else min(m, n)
    unit = np.broadcast_to(np.eye(m, columns), (count, m, columns))
    return reflected(factors, taus, unit, False), np.triu(factors[:, :columns, :])


# --- rotations


@functools.lru_cache(maxsize=64)
def _rounds(n: int) -> _Array:
    """Pairs of a sweep, (rounds, pairs, 2): every two of n once, in rounds whose pairs are disjoint, as a tournament has them. Where n is odd, one
    rests."""
    players = list(range(n + n % 2))
    made = []
    for _ in range(len(players) - 1):
        half = len(players) // 2
        made.append([sorted(p) for p in zip(players[:half], reversed(players[half:]), strict=True) if max(p) < n])
        players[1:] = [players[-1], *players[1:-1]]
    return np.array(made, np.int64).reshape(len(made), n // 2, 2)


def _scales(a: _Array) -> _Array:
    """Exponents of powers of two that bring the largest element of each matrix to [1/2, 1)."""
    return np.asarray(np.frexp(np.abs(a).max(axis=(1, 2), initial=0.0))[1])


def _units(count: int, n: int) -> _Array:
    """Unit matrices."""
    made = np.zeros((count, n * n))
    made[:, :: n + 1] = 1.0
    return made.reshape(count, n, n)


def _rows(a: _Array, order: _Array) -> _Array:
    """The rows of each matrix, or the elements of each line, in this order."""
    return np.asarray(a[np.arange(len(a))[:, None], order])


def eigh(a: _Array, vectors: bool) -> tuple[_Array, _Array]:
    """Eigenvalues, ascending, and vectors of the symmetric matrices whose lower triangles are given."""
    count, n, _ = a.shape
    if HERE.by is None and n:  # the steps below, each matrix at a time
        values, v = np.empty((count, n)), np.empty((count, n, n)) if vectors else None
        _core.eigh(_rounds(n), np.ascontiguousarray(a), values, v)
        return values, a if v is None else v
    lower = np.tri(n, dtype=bool)
    a = np.where(lower, a, np.swapaxes(a, 1, 2))
    scale = _scales(a)
    a = np.ascontiguousarray(np.ldexp(a, -scale[:, None, None]))
    v = _units(count, n)  # a row each
    if n > 1:
        HERE.by.run("diagonal", a, v if vectors else None)
    index = np.arange(n)
    values = a[:, index, index]
    order = np.argsort(values, axis=1, kind="stable")
    values = np.ldexp(_rows(values, order), scale[:, None])
    if not vectors:
        return values, v
    return values, _signed(np.swapaxes(_rows(v, order), 1, 2))[0]


def _signed(v: _Array, *others: _Array) -> tuple[_Array, ...]:
    """Columns with the sign that makes the first of their largest elements positive; the others' columns change theirs too."""
    if not v.shape[1]:
        return (v, *(w[..., : v.shape[2]] for w in others))
    largest = v[np.arange(len(v))[:, None], np.abs(v).argmax(axis=1), np.arange(v.shape[2])]
    sign = np.where(largest < 0, -1.0, 1.0)[:, None, :]
    return (v * sign, *(w[..., : sign.shape[-1]] * sign for w in others))


def svd(a: _Array, vectors: bool, full: bool = False) -> tuple[_Array, _Array, _Array]:
    """U, the singular values, descending, and V of matrices, by rotations of columns until these are orthogonal."""
    count, m, n = a.shape
    if HERE.by is None and m and n:  # the steps below, each matrix at a time
        k = min(m, n)
        values = np.empty((count, k))
        if not vectors:
            _core.svd(_rounds(k), np.ascontiguousarray(a), values, None, None)
            return a, values, a
        u, v = (np.empty((count, side, side if full else k)) for side in (m, n))
        _core.svd(_rounds(k), np.ascontiguousarray(a), values, u, v)
        return u, values, v
    if m < n:
        v, values, u = svd(_turned(a), vectors, full)
        return u, values, v
    scale = _scales(a)
    columns = _turned(np.ldexp(a, -scale[:, None, None]))  # a row each
    v = _units(count, n)
    if n > 1:
        HERE.by.run("orthogonal_rows", columns, v if vectors else None)
    sizes = _sizes(columns.reshape(count * n, m)).reshape(count, n) if m and n else np.zeros((count, n))
    order = np.argsort(-sizes, axis=1, kind="stable")
    sizes = _rows(sizes, order)
    values = np.ldexp(sizes, scale[:, None])
    if not vectors:
        return columns, values, v
    columns, v = _rows(columns, order), _rows(v, order)
    u = np.swapaxes(step("divide", columns, np.where(sizes > 0, sizes, 1.0)[..., None]), 1, 2)
    u = _completed(u, sizes > _LEAST, m if full else n)
    v = np.swapaxes(v, 1, 2)
    v, left = _signed(v, u)
    return np.concatenate((left, u[..., n:]), 2), values, v


def _completed(u: _Array, known: _Array, wanted: int) -> _Array:
    """The known columns, which come first, followed by those of Q of their decomposition."""
    count, m, n = u.shape
    if wanted == n and known.all():
        return u
    made = np.empty((count, m, wanted))
    for i in range(count):
        k = int(known[i].sum())
        made[i, :, :k] = u[i, :, :k]
        if wanted > k:
            made[i, :, k:] = qr(u[i : i + 1, :, :k], True)[0][0, :, k:wanted]
    return made


def pseudoinverse(u: _Array, values: _Array, v: _Array, limit: _Array) -> _Array:
    """V (1/S) U' of the singular values above the limit: quotients, then exact sums of products."""
    kept = values > limit[:, None]
    inverse = np.where(kept, step("divide", 1.0, np.where(kept, values, 1.0)), 0.0)
    return products(step("multiply", v, inverse[:, None, :]), np.swapaxes(u, 1, 2))


# --- series


_TERMS = 18


def exponential(a: _Array) -> _Array:
    """exp(A): Taylor's series of A/2**s, whose largest sum of magnitudes of a column is at most 1/2, squared s times.

    What the series leaves out is below (1/2)**19/19! times e, less than 2**-75. Under every arithmetic the sums that choose s are to nearest.
    """
    count, n, _ = a.shape
    if not n:
        return a.copy()
    sums = np.asarray(_reductions.sum(np.abs(a), axis=1)).max(axis=1)
    squarings = np.maximum(np.frexp(sums)[1] + 1, 0)
    a = np.ldexp(a, -squarings[:, None, None])
    unit = np.eye(n)
    made = np.array(np.broadcast_to(unit, a.shape))
    for k in range(_TERMS, 0, -1):
        made = step("add", step("divide", products(a, made), float(k)), unit)
    for i in range(int(squarings.max(initial=0))):
        at = squarings > i
        made[at] = products(made[at], made[at])
    return made
