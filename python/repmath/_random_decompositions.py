"""Orthogonal decompositions under the modes "stochastic" and "random": the steps of decompositions.c, each array of which is rounded with words of its own.

The functions are given an arithmetic, `Random` or `Nearest`; by the second one they are those of `_decompositions` in C, bit for bit, which asks for these in a block of
`_decompositions.arithmetic`. Arguments are stacks of float64 matrices,
(count, rows, columns), that are finite; matrices are taken one after the other. What an array is: the pairs of a round of rotations, of those that are turned, are rotated together; a reflection
makes the size of its column, beta - head and the like as arrays of one element, the reflector, its products with the columns to the right, these times tau, the products with
the reflector, and the differences. Powers of two, signs, orders and maxima round nothing."""

from typing import Any

import numpy as np

from . import _random_modes, _reductions, _statistics
from ._decompositions import _LEAST, _SWEEPS, _rounds
from ._narrow import convert_array
from ._random_balls import Last

_Array = np.ndarray[Any, Any]
_APART = 40


class Nearest:
    """Binary64, rounded to nearest."""

    def run(self, name: str, *arguments: Any) -> Any:
        """A function of this module by this arithmetic."""
        return globals()[name](self, *arguments)

    def op(self, name: str, *arrays: Any) -> _Array:
        with np.errstate(all="ignore"):
            return np.asarray(getattr(np, name)(*(np.asarray(a, np.float64) for a in arrays)))

    def products(self, x: _Array, y: _Array) -> _Array:
        return np.asarray(_reductions.matmul(np.ascontiguousarray(x), np.ascontiguousarray(y)))

    def sizes(self, rows: _Array) -> _Array:
        """The roots of the sums of squares of rows."""
        return np.asarray(_statistics.norm(rows, axis=1))

    def sums(self, rows: _Array, dtype: Any = None) -> _Array:
        return np.asarray(_reductions.sum(rows, axis=1, dtype=dtype))

    def convert(self, a: _Array, dtype: Any) -> _Array:
        return np.asarray(convert_array(np.ascontiguousarray(a), np.dtype(dtype)))


class Random(Nearest):
    """The same under a mode, one array after the other."""

    def __init__(self, mode: str, seed: int, stream: int) -> None:
        self.mode, self.seed, self.stream, self.arrays = mode, seed, int(stream), 0

    def _words(self) -> dict[str, Any]:
        if self.arrays >> (62 - _APART):
            raise RuntimeError(f"a call has at most 2**{62 - _APART} arrays that are rounded")
        self.arrays += 1
        return {"seed": self.seed, "stream": _random_modes.part(self.stream, (self.arrays - 1) << _APART)}

    def op(self, name: str, *arrays: Any) -> _Array:
        held = tuple(np.broadcast_arrays(*(np.asarray(a, np.float64) for a in arrays)))
        if not held[0].size:
            return np.empty(held[0].shape)
        return np.asarray(_random_modes.elementwise(name, held, self.mode, **self._words(), out=None, where=True))

    def products(self, x: _Array, y: _Array) -> _Array:
        return np.asarray(_random_modes.matmul(x, y, self.mode, **self._words()))

    def sizes(self, rows: _Array) -> _Array:
        words = self._words()
        made = np.asarray(_statistics.norm(rows, axis=1))
        if not rows.size:
            return made
        last = Last(made.dtype, _random_modes.place(self.mode, words["seed"], words["stream"]))
        return np.asarray(last.formula(lambda x: (x * x).total().sqrt(), rows, place=lambda r: r.reshape(-1)))

    def sums(self, rows: _Array, dtype: Any = None) -> _Array:
        return np.asarray(_random_modes.sum(rows, self.mode, 1, dtype=dtype, **self._words()))

    def convert(self, a: _Array, dtype: Any) -> _Array:
        a = np.ascontiguousarray(a)
        if np.dtype(dtype) == np.float64:
            return a
        nearest = super().convert(a, dtype)
        words = self._words()
        plain = np.isfinite(a) & (a != 0)
        made, _ = _random_modes.balls(
            np.where(plain, a, 0.0), None, np.dtype(dtype), _random_modes.place(self.mode, words["seed"], words["stream"])
        )
        return np.where(plain, made, nearest)


# --- reflections


def _reflect(by: Nearest, v: _Array, tau: Any, c: _Array) -> _Array:
    """c - v (tau (v' c))."""
    if not c.shape[1]:
        return c
    row = by.op("multiply", by.products(v[None], c), tau)
    return by.op("subtract", c, by.op("multiply", v[:, None], row))


def reflectors(by: Nearest, a: _Array) -> tuple[_Array, _Array]:
    a = np.array(a, np.float64, order="C")
    count, m, n = a.shape
    taus = np.zeros((count, min(m, n)))
    for i, x in enumerate(a):
        for k in range(min(m, n)):
            head, v = x[k, k], np.array(x[k:, k])
            beta = head
            if v[1:].any():
                beta = -np.copysign(by.sizes(v[None])[0], head)
                divisor = by.op("subtract", head, beta)
                taus[i, k] = by.op("divide", by.op("subtract", beta, head), beta)
                v[1:] = by.op("divide", v[1:], divisor)
            v[0] = 1.0
            x[k:, k + 1 :] = _reflect(by, v, taus[i, k], x[k:, k + 1 :])
            x[k, k], x[k + 1 :, k] = beta, v[1:]
    return a, taus


def reflected(by: Nearest, a: _Array, taus: _Array, c: _Array, transposed: bool) -> _Array:
    c = np.array(c, np.float64, order="C")
    for x, t, y in zip(a, taus, c, strict=True):
        count = len(t)
        for j in range(count) if transposed else reversed(range(count)):
            v = np.array(x[j:, j])
            v[0] = 1.0
            y[j:] = _reflect(by, v, t[j], y[j:])
    return c


# --- rotations


def _angles(by: Nearest, difference: _Array, off: _Array) -> tuple[_Array, _Array, _Array]:
    """Tangents, cosines and sines."""
    cot = by.op("divide", difference, 2.0 * off)
    root = by.op("sqrt", by.op("add", by.op("multiply", cot, cot), 1.0))
    t = by.op("divide", np.copysign(1.0, cot), by.op("add", np.abs(cot), root))
    c = by.op("divide", 1.0, by.op("sqrt", by.op("add", by.op("multiply", t, t), 1.0)))
    return t, c, by.op("multiply", t, c)


def _rotate(by: Nearest, x: _Array, y: _Array, c: _Array, s: _Array) -> tuple[_Array, _Array]:
    """Rows of x and y, a pair for each cosine."""
    c, s = c[:, None], s[:, None]
    first = by.op("subtract", by.op("multiply", c, x), by.op("multiply", s, y))
    return first, by.op("add", by.op("multiply", s, x), by.op("multiply", c, y))


def _orthogonal_rows(by: Nearest, columns: _Array, v: _Array | None) -> None:
    n, m = columns.shape
    limit = m * 2.0**-51
    for _ in range(_SWEEPS):
        moved = False
        for pairs in _rounds(n):
            p, q = pairs[:, 0], pairs[:, 1]
            x, y = columns[p], columns[q]
            xx, yy, xy = (by.products(a[:, None], b[..., None])[:, 0, 0] for a, b in ((x, x), (y, y), (x, y)))
            x_size, y_size = by.op("sqrt", xx), by.op("sqrt", yy)
            bound = by.op("multiply", limit, by.op("multiply", x_size, y_size))
            turned = (np.abs(xy) > bound) & (x_size > _LEAST) & (y_size > _LEAST)
            if not turned.any():
                continue
            moved = True
            p, q = p[turned], q[turned]
            _, c, s = _angles(by, by.op("subtract", yy[turned], xx[turned]), xy[turned])
            columns[p], columns[q] = _rotate(by, columns[p], columns[q], c, s)
            if v is not None:
                v[p], v[q] = _rotate(by, v[p], v[q], c, s)
        if not moved:
            return


def _diagonal(by: Nearest, a: _Array, v: _Array | None) -> None:
    n = len(a)
    limit = 2.0**-60 * np.abs(a).max()
    for _ in range(_SWEEPS):
        moved = False
        for pairs in _rounds(n):
            turned = np.abs(a[pairs[:, 0], pairs[:, 1]]) > limit
            if not turned.any():
                continue
            moved = True
            p, q = pairs[turned, 0], pairs[turned, 1]
            off, first, second = a[p, q], a[p, p], a[q, q]
            t, c, s = _angles(by, by.op("subtract", second, first), off)
            change = by.op("multiply", t, off)
            ends = by.op("subtract", first, change), by.op("add", second, change)
            a[p], a[q] = _rotate(by, a[p], a[q], c, s)
            left, right = _rotate(by, a[:, p].T, a[:, q].T, c, s)
            a[:, p], a[:, q] = left.T, right.T
            lower = np.tril(a, -1)
            a[...] = lower + lower.T + np.diag(np.diagonal(a))  # the triangle below the diagonal counts: sums with zeros
            a[p, p], a[q, q] = ends
            a[p, q] = a[q, p] = 0.0
            if v is not None:
                v[p], v[q] = _rotate(by, v[p], v[q], c, s)
        if not moved:
            return


def diagonal(by: Nearest, a: _Array, v: _Array | None) -> None:
    for i in range(len(a)):
        _diagonal(by, a[i], None if v is None else v[i])


def orthogonal_rows(by: Nearest, columns: _Array, v: _Array | None) -> None:
    for i in range(len(columns)):
        _orthogonal_rows(by, columns[i], None if v is None else v[i])


def words_of(words: dict[str, Any]) -> Random:
    """The arithmetic of a call with these words."""
    return Random(words["mode"], words["seed"], words["stream"])


__all__ = ["Nearest", "Random", "diagonal", "orthogonal_rows", "reflected", "reflectors", "words_of"]
