"""Operators of stochastic() of linear algebra whose steps are exact sums: factors by their recurrences, solutions and determinants (`_random_matrices`). Arrays are
numbered as those of any operator that is composed: the results first, and what a solution is made of before it."""

import copy
import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import torch

from .. import _ldl
from .. import _random_matrices as exact
from .._random_matrices import Refused, Rounder, all_rounded, exactly, stacked, turned
from ._aten.table import OPERATORS
from ._tensors import FORMATS
from ._tensors import array_inside as as_array
from ._tensors import tensor_inside as as_tensor

_Tensor: TypeAlias = torch.Tensor


def _matrices(t: _Tensor) -> Any:
    if t.dtype not in (torch.float32, torch.float64) or t.ndim < 2 or not t.is_cpu:
        raise Refused(f"of {t.dtype}, or of few axes,")
    return as_array(t)


def _made(rows: Any, shape: Any, t: _Tensor) -> _Tensor:
    """Matrices, one after the other, as a tensor."""
    flat = np.array([[[float(v) for v in row] for row in m] for m in rows], np.float64)
    return as_tensor(flat.astype(FORMATS[t.dtype]).reshape(shape))


def _cholesky(rounder: Rounder, nearest: Any, a: _Tensor, upper: bool = False, **options: Any) -> Any:
    x = _matrices(a)
    n = x.shape[-1]
    rounder.next(x.size)
    factors = []
    for k, m in enumerate(stacked(x)):
        made = exact.cholesky(rounder, exactly(np.tril(m.T if upper else m)), k * n * n, upper)
        factors.append(turned(made) if upper else made)
    made = _made(factors, x.shape, a)
    return (made, nearest[1]) if isinstance(nearest, (tuple, list)) else made


def _factors(rounder: Rounder, a: _Tensor, flip: bool = False) -> tuple[_Tensor, _Tensor]:
    """LU and the exchanged rows, counted from 1; of the transposed matrices for `flip`."""
    x = _matrices(a)
    x = np.swapaxes(x, -1, -2) if flip else x
    rounder.next(x.size)
    rows, columns = x.shape[-2:]
    found = [exact.lu(rounder, exactly(m), k * rows * columns) for k, m in enumerate(stacked(x))]
    pivots = np.array([p for _, p in found], np.int32).reshape(*x.shape[:-2], min(rows, columns)) + 1
    return _made([f for f, _ in found], x.shape, a), as_tensor(pivots.astype(np.int32))


def _lu_factor(rounder: Rounder, nearest: Any, a: _Tensor, *, pivot: bool = True, **options: Any) -> Any:
    return (*_factors(rounder, a), nearest[2])


def _lu(rounder: Rounder, nearest: Any, a: _Tensor, *, pivot: bool = True) -> Any:
    return torch.lu_unpack(*_factors(rounder, a))


def _pairs(a: Any, b: Any) -> Any:
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return batch, zip(*(stacked(np.broadcast_to(v, (*batch, *v.shape[-2:]))) for v in (a, b)), strict=True)


def _solved(rounder: Rounder, a: Any, b: Any, left: bool, t: _Tensor) -> Any:
    """Solutions of A X = B, or of X A = B; each element has the word of its place in X."""
    batch, pairs = _pairs(a, b)
    size = b.shape[-2] * b.shape[-1]
    rounder.next(int(np.prod(batch, dtype=np.int64)) * size)
    found = []
    for k, (m, right) in enumerate(pairs):
        p, q = exactly(m), exactly(right)
        x = exact.solve(p, q) if left else turned(exact.solve(turned(p), turned(q)))
        found.append(all_rounded(rounder, x, k * size))
    return _made(found, (*batch, *b.shape[-2:]), t)


def _solve(rounder: Rounder, nearest: Any, a: _Tensor, b: _Tensor, *, left: bool = True, check_errors: bool = False) -> Any:
    x = _matrices(a)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    right = as_array(b)[..., None] if vector else _matrices(b)
    made = _solved(rounder, x, right, left or vector, a)
    return made[..., 0].contiguous() if vector else made, *_factors(rounder, a), nearest[3]


def _two(rounder: Rounder, first: Any, second: Any, b: Any, t: _Tensor, order: Any = None, back: Any = None) -> Any:
    """Two triangular systems, one after the other, each (matrices, lower, unit); rows of b are taken in an order before, and rows of the solution brought back to one
    after."""
    batch, pairs = _pairs(first[0], b)
    others = stacked(np.broadcast_to(second[0], (*batch, *second[0].shape[-2:])))
    size = b.shape[-2] * b.shape[-1]
    systems, total = list(pairs), int(np.prod(batch, dtype=np.int64)) * size
    rounder.next(total)
    between = []
    for k, (m, right) in enumerate(systems):
        q = exactly(right)
        q = q if order is None else [q[i] for i in order[k]]
        between.append(all_rounded(rounder, exact.triangular(exactly(m), q, *first[1:]), k * size))
    rounder.next(total)
    found = []
    for k, (m, right) in enumerate(zip(others, between, strict=True)):
        x = all_rounded(rounder, exact.triangular(exactly(m), right, *second[1:]), k * size)
        if back is not None:
            placed = list(x)
            for i, row in zip(back[k], x, strict=True):
                placed[i] = row
            x = placed
        found.append(x)
    return _made(found, (*batch, *b.shape[-2:]), t)


def _turned(a: Any) -> Any:
    return np.swapaxes(a, -1, -2)


def _cholesky_solve(rounder: Rounder, nearest: Any, b: _Tensor, factor: _Tensor, upper: bool = False) -> Any:
    c = _matrices(factor)
    lower = _turned(c) if upper else c
    return _two(rounder, (lower, True, False), (_turned(lower), False, False), _matrices(b), b)


def _cholesky_inverse(rounder: Rounder, nearest: Any, factor: _Tensor, upper: bool = False) -> Any:
    c = _matrices(factor)
    lower = _turned(c) if upper else c
    one = np.broadcast_to(np.eye(c.shape[-1], dtype=c.dtype), c.shape)
    return _two(rounder, (lower, True, False), (_turned(lower), False, False), one, factor)


def _lu_solve(
    rounder: Rounder, nearest: Any, lu: _Tensor, pivots: _Tensor, b: _Tensor, *, left: bool = True, adjoint: bool = False
) -> Any:
    factors, right = _matrices(lu), _matrices(b)
    if not left:
        right, adjoint = _turned(right), not adjoint
    n = factors.shape[-1]
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    order = []
    for line in np.broadcast_to(as_array(pivots) - 1, (*batch, n)).reshape(-1, n).tolist():
        rows = list(range(n))
        for i, j in enumerate(line):
            rows[i], rows[j] = rows[j], rows[i]
        order.append(rows)
    if adjoint:
        other = _turned(factors)
        made = _two(rounder, (other, True, False), (other, False, True), right, lu, back=order)
    else:
        made = _two(rounder, (factors, True, True), (factors, False, False), right, lu, order=order)
    return made if left else made.mT.contiguous()


def _det(rounder: Rounder, nearest: Any, a: _Tensor) -> Any:
    x = _matrices(a)
    batch = x.shape[:-2]
    rounder.next(max(int(np.prod(batch, dtype=np.int64)), 1))
    values = [[[rounder(k, exact.determinant(exactly(m)))]] for k, m in enumerate(stacked(x))]
    return (_made(values, batch, a), *_factors(rounder, a, a.is_contiguous()))


def _slogdet(rounder: Rounder, nearest: Any, a: _Tensor) -> Any:
    x = _matrices(a)
    batch = x.shape[:-2]
    rounder.next(max(int(np.prod(batch, dtype=np.int64)), 1))
    values = []
    for k, m in enumerate(stacked(x)):
        size = abs(exact.determinant(exactly(m)))
        if not size:
            raise Refused("that are singular")
        values.append([[rounder.of(k, exact.logarithm(size))]])
    return (nearest[0], _made(values, batch, a), *_factors(rounder, a, a.is_contiguous()))


class _Factors(_ldl.Factors):
    """Entries of L D have the words of an array, those of L of the next: each that of its column and of the place that its row has in the matrix."""

    def __init__(self, a: Any, products: Rounder, quotients: Rounder, first: int) -> None:
        super().__init__(a)
        self.products, self.quotients, self.first = products, quotients, first

    def _rounded(self, by: Rounder, rows: Any, column: int, values: Any) -> Any:
        made = [float(by(self.first + int(row) * self.n + column, v)) for row, v in zip(rows, values, strict=True)]
        return np.array(made, np.float64).astype(self.a.dtype)

    def drawn(self, place: int, column: Any, which: int) -> Any:
        k, j = self.k, self.order[place]
        rows = self.order[k:]
        known = [Fraction(float(v)) for v in self.l[j, :k]]
        w = exactly(np.column_stack((self.a[rows, j], self.w[rows, :k])))
        values = [first - sum((p * q for p, q in zip(line, known, strict=True)), Fraction(0)) for first, *line in w]
        return self._rounded(self.products, rows, k + which, values)

    def divided(self, rest: Any, d: Any) -> Any:
        rows = self.order[self.k + 1 :]
        return self._rounded(self.quotients, rows, self.k, [Fraction(float(v)) / Fraction(float(d)) for v in rest])

    def entries(self, values: list[Fraction], which: int) -> Any:
        return self._rounded(self.quotients, self.order[self.k + 2 :], self.k + which, values)


def _ldl_factor(rounder: Rounder, nearest: Any, a: _Tensor, **options: Any) -> Any:
    x = _matrices(a)
    n = x.shape[-1]
    rounder.next(x.size)
    products = copy.copy(rounder)
    rounder.next(x.size)
    made, pivots = np.empty_like(x, order="C"), np.empty(x.shape[:-1], np.int32)
    for i, at in enumerate(np.ndindex(*x.shape[:-2])):
        exactly(np.tril(x[at]))  # all finite
        by = functools.partial(_Factors, products=products, quotients=rounder, first=i * n * n)
        try:
            made[at], pivots[at], info = _ldl.factor(x[at], by)
        except ZeroDivisionError:
            raise Refused("that are singular") from None
        if info:
            raise Refused("that are singular")
    return as_tensor(made), as_tensor(pivots), nearest[2]


def _ldl_solve(rounder: Rounder, nearest: Any, ld: _Tensor, pivots: _Tensor, b: _Tensor, **options: Any) -> Any:
    """Three systems, one after the other: of L, D and L'."""
    factors, right, given = _matrices(ld), _matrices(b), as_array(pivots)
    batch, pairs = _pairs(factors, right)
    given = stacked(np.broadcast_to(given[..., None], (*batch, *given.shape[-1:], 1)))[..., 0]
    size, systems = right.shape[-2] * right.shape[-1], list(pairs)
    parts = [_ldl.unpacked(m, p) for (m, _), p in zip(systems, given, strict=True)]
    found = [[q[i] for i in order] for (*_, order), q in zip(parts, (exactly(q) for _, q in systems), strict=True)]
    steps: tuple[Callable[[Any, Any], Any], ...] = (
        lambda part, x: exact.triangular(exactly(part[0]), x, True, True),
        lambda part, x: exact.solve(exactly(part[1]), x),
        lambda part, x: exact.triangular(exactly(part[0].T), x, False, True),
    )
    for r, step in enumerate(steps):
        rounder.next(len(systems) * size)
        for k, part in enumerate(parts):
            x = step(part, found[k])
            if r == 2:
                placed = list(x)
                for i, row in zip(part[2], x, strict=True):
                    placed[i] = row
                x = placed
            found[k] = all_rounded(rounder, x, k * size)
    return _made(found, (*batch, *right.shape[-2:]), b)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky_ex": _cholesky,
    "cholesky": _cholesky,
    "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse,
    "linalg_lu_factor_ex": _lu_factor,
    "linalg_lu": _lu,
    "linalg_lu_solve": _lu_solve,
    "linalg_solve_ex": _solve,
    "linalg_det": _det,
    "linalg_slogdet": _slogdet,
    "linalg_ldl_factor_ex": _ldl_factor,
    "linalg_ldl_solve": _ldl_solve,
}


def function_of(func: Any) -> Callable[..., Any] | None:
    line = OPERATORS.get(func)
    return None if line is None else FUNCTIONS.get(line.function)


def rounded(at: Any, function: Callable[..., Any], nearest: Any, args: Any, kwargs: Any) -> Any:
    """The results of a call; raises Refused for matrices that have none under a random mode."""
    tensors = [t for t in args if isinstance(t, torch.Tensor) and t.dtype in FORMATS]
    if not all(t.numel() for t in tensors):
        return nearest
    made = function(exact.part_of(at.words, FORMATS[tensors[0].dtype]), nearest, *args, **kwargs)
    if not isinstance(made, tuple):
        return _laid(made, nearest)
    return tuple(_laid(t, like) for t, like in zip(made, nearest, strict=True))


def _laid(made: _Tensor, like: _Tensor) -> _Tensor:
    """The tensor with the strides of another one of its shape."""
    if made.shape != like.shape:
        raise AssertionError(f"a result of shape {tuple(made.shape)} in place of {tuple(like.shape)}")
    return (
        made
        if made.stride() == like.stride()
        else torch.empty_strided(like.shape, like.stride(), dtype=like.dtype).copy_(made)
    )
