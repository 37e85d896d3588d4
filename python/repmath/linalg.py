"""Linear algebra with one answer, for float32 and float64.

The factorizations (`cholesky`, `lu_factor`) are defined by recurrences in which
each entry is one exact sum, divided or its root taken, and rounded once. Every
element of `solve`, `inv`, `solve_triangular`, `det` and `slogdet` is that of the exact
solution or determinant, rounded once. So no blocking, thread count or
instruction set changes a bit. QR, `eigh` and `svd`, and what is made of them, are
written steps in float64. docs/spec.md has the definitions.
"""

import math
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from . import _core, _reductions
from ._dtypes import NAMES
from ._environment import guarded
from ._matrices import check_matrices, operands, stack_of
from ._orthogonal import cross, eigh, eigvalsh, matrix_rank, pinv, qr, svd, svdvals

__all__ = [
    "LinAlgError",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cross",
    "det",
    "eigh",
    "eigvalsh",
    "inv",
    "lu_factor",
    "lu_solve",
    "matrix_power",
    "matrix_rank",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
]

_Array = np.ndarray[Any, Any]


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its magnitude."""

    sign: Any
    logabsdet: Any


def _where(name: str, info: _Array, batch: tuple[int, ...]) -> tuple[str, int]:
    """The first matrix of a stack that failed, by name, and where it failed."""
    first = int(np.flatnonzero(info)[0])
    at = "".join(f"[{i}]" for i in np.unravel_index(first, batch)) if batch else ""
    return name + at, int(info.reshape(-1)[first])


def factor_cholesky(a: _Array) -> tuple[_Array, _Array]:
    """L and LAPACK's info of matrices in a format, from their lower triangles."""
    stack, info = stack_of(a), np.empty(a.shape[:-2], np.int32)
    out = np.empty(stack.shape, a.dtype)
    _core.cholesky(NAMES[a.dtype], stack, out, info.reshape(-1))
    return out.reshape(a.shape), info


def factor_lu(a: _Array) -> tuple[_Array, _Array, _Array]:
    """L and U in one, the exchanged rows counted from 1, and LAPACK's info."""
    stack, info = stack_of(a), np.empty(a.shape[:-2], np.int32)
    out, pivots = np.empty(stack.shape, a.dtype), np.empty((len(stack), min(a.shape[-2:])), np.int32)
    _core.lu_factor(NAMES[a.dtype], stack, out, pivots, info.reshape(-1))
    return out.reshape(a.shape), pivots.reshape(*a.shape[:-2], pivots.shape[1]), info


def solve_exactly(a: _Array, b: _Array | None, triangle: str | None = None, unit: bool = False) -> tuple[_Array, _Array]:
    """The solution for stacks of matrices of one format, which are broadcast, and info; the inverse for a b of None."""
    if b is not None and a.shape[:-2] != b.shape[:-2]:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
    batch, n, k = a.shape[:-2], a.shape[-1], a.shape[-1] if b is None else b.shape[-1]
    info = np.empty(batch, np.int32)
    stack = stack_of(a)
    out = np.empty((len(stack), n, k), a.dtype)
    _core.solve(NAMES[a.dtype], triangle, unit, stack, None if b is None else stack_of(b), out, info.reshape(-1))
    return out.reshape(*batch, n, k), info


def determinants(a: _Array, logarithm: bool) -> tuple[_Array, _Array | None]:
    """Determinants, or their signs and the logarithms of their magnitudes."""
    stack = stack_of(a)
    det = np.empty(len(stack), a.dtype)
    log = np.empty(len(stack), a.dtype) if logarithm else None
    _core.determinant(NAMES[a.dtype], stack, det, log)
    return det.reshape(a.shape[:-2]), None if log is None else log.reshape(a.shape[:-2])


def _right_side(b: _Array, a: _Array) -> tuple[_Array, bool]:
    """b as matrices, and whether it was a vector, as numpy.linalg.solve has it."""
    vector = b.ndim == 1
    if b.ndim == 0:
        raise LinAlgError("b has no axes; it must have at least one")
    b = b[:, None] if vector else b
    if b.shape[-2] != a.shape[-1]:
        raise ValueError(f"b has {b.shape[-2]} rows; for a of shape {a.shape} it must have {a.shape[-1]}")
    return b, vector


def _singular(name: str, info: _Array, batch: tuple[int, ...]) -> None:
    if info.any():
        which, column = _where(name, info, batch)
        raise LinAlgError(f"Singular matrix: column {column - 1} of {which} depends on those before it")


@guarded
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> _Array:
    """Cholesky factor of positive definite matrices.

    As numpy.linalg.cholesky. In the order of rows, ``l[i, j] = RN((a[i, j] - sum
    over k < j of l[i, k] l[j, k])/l[j, j])`` and ``l[i, i] = RN(sqrt(a[i, i] - sum
    over k < i of l[i, k]**2))``: sums are exact, each entry is rounded once.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.
        The lower triangle is read (the upper one for `upper`), the other is not.
    upper : bool, optional
        Return the transpose of the factor.

    Returns
    -------
    ndarray
        Of the shape of `a`; the other triangle is +0.

    Raises
    ------
    LinAlgError
        A matrix is not positive definite: a number under a root is not positive,
        or NaN; or `a` is not square.
    TypeError
        `a` has a dtype that is not supported.
    """
    (x,) = operands(a=a)
    check_matrices("a", x)
    factor, info = factor_cholesky(np.swapaxes(x, -1, -2) if upper else x)
    if info.any():
        which, row = _where("a", info, x.shape[:-2])
        raise LinAlgError(f"{which} is not positive definite: row {row - 1} of its Cholesky factor has no positive diagonal")
    return np.swapaxes(factor, -1, -2) if upper else factor


@guarded
def cho_factor(a: ArrayLike, lower: bool = False) -> tuple[_Array, bool]:
    """Cholesky factor and whether it is the lower one, for `cho_solve`.

    As scipy.linalg.cho_factor, of one matrix or several; the other triangle is +0.
    """
    return cholesky(a, upper=not lower), bool(lower)


@guarded
def lu_factor(a: ArrayLike) -> tuple[_Array, _Array]:
    """LU factors with partial pivoting.

    As scipy.linalg.lu_factor. Every entry of both factors is one exact sum, those
    of L divided by the pivot, and rounded once. The pivot of a column is the first
    element of the largest magnitude, once rounded; a NaN is larger than all others.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes, of float32, float64, integers or bool.

    Returns
    -------
    lu : ndarray
        Of the shape of `a`: U on and above the diagonal, L below; L has a unit
        diagonal.
    piv : ndarray of int32
        Row i was exchanged with row ``piv[i]``, for i from 0 on.

    Raises
    ------
    LinAlgError
        `a` has fewer than two axes.
    TypeError
        `a` has a dtype that is not supported.
    """
    (x,) = operands(a=a)
    check_matrices("a", x, square=False)
    lu, pivots, _ = factor_lu(x)
    return lu, pivots - 1


def _rows_in_order(pivots: _Array, n: int) -> _Array:
    """Which row of A is row i of the factors, from exchanges that count from 0."""
    if pivots.ndim == 1:
        rows = list(range(n))
        for i, j in enumerate(pivots.tolist()):
            rows[i], rows[j] = rows[j], rows[i]
        return np.array(rows, np.int64)
    flat = pivots.reshape(math.prod(pivots.shape[:-1]), n)
    order = np.tile(np.arange(n), (len(flat), 1))
    every = np.arange(len(flat))
    for i in range(flat.shape[1]):
        j = flat[:, i]
        order[every, i], order[every, j] = order[every, j], order[every, i].copy()
    return order.reshape(*pivots.shape[:-1], n)


def solve_by_lu(lu: _Array, pivots: _Array, b: _Array, transposed: bool = False) -> tuple[_Array, _Array]:
    """Two triangular systems, one after the other, each solution rounded once; pivots count from 0."""
    n = lu.shape[-1]
    order = _rows_in_order(pivots, n)
    if not transposed and lu.ndim == b.ndim == 2:
        y, _ = solve_exactly(lu, b[order], "lower", True)
        return solve_exactly(lu, y, "upper")
    order = order[..., None]
    batch = np.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    b, order = np.broadcast_to(b, (*batch, *b.shape[-2:])), np.broadcast_to(order, (*batch, n, 1))
    if not transposed:
        y, _ = solve_exactly(lu, np.take_along_axis(b, order, -2), "lower", True)
        return solve_exactly(lu, y, "upper")
    other = np.swapaxes(lu, -1, -2)
    y, info = solve_exactly(other, b, "lower")
    z, _ = solve_exactly(other, y, "upper", True)
    x = np.empty_like(z)
    np.put_along_axis(x, np.broadcast_to(order, z.shape), z, -2)
    return x, info


@guarded
def lu_solve(lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0) -> _Array:
    """Solution of systems whose matrix `lu_factor` has factored.

    As scipy.linalg.lu_solve: two triangular systems, one after the other. The
    solution of each is exact and rounded once. `solve` rounds only once in all.

    Parameters
    ----------
    lu_and_piv : (lu, piv)
        What `lu_factor` returns, for square matrices.
    b : array_like
        Right sides, as in `solve`.
    trans : {0, 1, 2}, optional
        0 solves ``a x = b``, 1 and 2 ``a.T x = b``.

    Returns
    -------
    ndarray
        The solution, of the shape of `b`, broadcast with the matrices.

    Raises
    ------
    LinAlgError
        A factor is singular, or not square.
    ValueError
        Shapes do not match; `trans` is none of its values.
    TypeError
        `lu` or `b` has a dtype that is not supported.
    """
    lu, right = operands(lu=lu_and_piv[0], b=b)
    pivots = np.asarray(lu_and_piv[1])
    check_matrices("lu", lu)
    if pivots.dtype.kind not in "iu":
        raise TypeError(f"piv has dtype {pivots.dtype}; it must have integers")
    if pivots.shape != lu.shape[:-1] or (pivots.size and not (0 <= pivots.min() and pivots.max() < lu.shape[-1])):
        raise ValueError(f"piv must have shape {lu.shape[:-1]} and values from 0 to {lu.shape[-1] - 1}")
    if trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, not {trans!r}")
    right, vector = _right_side(right, lu)
    x, info = solve_by_lu(lu, pivots, right, trans != 0)
    _singular("lu", info, info.shape)
    return x[..., 0] if vector else x


@guarded
def cho_solve(c_and_lower: tuple[Any, bool], b: ArrayLike) -> _Array:
    """Solution of systems whose matrix `cho_factor` has factored.

    As scipy.linalg.cho_solve: two triangular systems, one after the other. The
    solution of each is exact and rounded once. `solve` rounds only once in all.

    Parameters
    ----------
    c_and_lower : (c, lower)
        A Cholesky factor, of which one triangle is read, and whether it is the
        lower one.
    b : array_like
        Right sides, as in `solve`.

    Returns
    -------
    ndarray
        The solution, of the shape of `b`, broadcast with the matrices.

    Raises
    ------
    LinAlgError
        The factor is singular, or not square.
    ValueError
        Shapes do not match.
    TypeError
        `c` or `b` has a dtype that is not supported.
    """
    c, right = operands(c=c_and_lower[0], b=b)
    check_matrices("c", c)
    right, vector = _right_side(right, c)
    x, info = solve_by_cholesky(c if c_and_lower[1] else np.swapaxes(c, -1, -2), right)
    _singular("c", info, info.shape)
    return x[..., 0] if vector else x


def solve_by_cholesky(lower: _Array, b: _Array) -> tuple[_Array, _Array]:
    """Two triangular systems, one after the other, each solution rounded once."""
    y, _ = solve_exactly(lower, b, "lower")
    return solve_exactly(np.swapaxes(lower, -1, -2), y, "upper")


@guarded
def solve_triangular(a: ArrayLike, b: ArrayLike, trans: int = 0, lower: bool = False, unit_diagonal: bool = False) -> _Array:
    """Solution of triangular systems: the exact one, each element rounded once.

    As scipy.linalg.solve_triangular, for stacks too.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool,
        of which one triangle is read.
    b : array_like
        Right sides, as in `solve`.
    trans : {0, 1, 2}, optional
        0 solves ``a x = b``, 1 and 2 ``a.T x = b``.
    lower : bool, optional
        The lower triangle of `a` is read, not the upper one.
    unit_diagonal : bool, optional
        The diagonal counts as 1 and is not read.

    Returns
    -------
    ndarray
        Of the shape of `b`, broadcast with the matrices. A matrix with an infinity or
        a NaN gives NaN, and so does a column of `b` in its column.

    Raises
    ------
    LinAlgError
        A diagonal has a zero; `a` is not square.
    ValueError
        Shapes do not match; `trans` is none of its values.
    TypeError
        `a` or `b` has a dtype that is not supported.
    """
    x, right = operands(a=a, b=b)
    check_matrices("a", x)
    if trans not in (0, 1, 2):
        raise ValueError(f"trans must be 0, 1 or 2, not {trans!r}")
    right, vector = _right_side(right, x)
    if trans:
        x, lower = np.swapaxes(x, -1, -2), not lower
    y, info = solve_exactly(x, right, "lower" if lower else "upper", bool(unit_diagonal))
    if info.any():
        which, place = _where("a", info, info.shape)
        raise LinAlgError(f"Singular matrix: element {place - 1} of the diagonal of {which} is 0")
    return y[..., 0] if vector else y


@guarded
def solve(a: ArrayLike, b: ArrayLike) -> _Array:
    """Solution of linear systems: the exact one, each element rounded once.

    As numpy.linalg.solve.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.
    b : array_like
        Right sides: a vector, or matrices in the last two axes, broadcast with `a`.

    Returns
    -------
    ndarray
        ``x`` with ``a @ x == b`` in real numbers, each element rounded once. A matrix
        with an infinity or a NaN gives NaN, and so does a column of `b` in its column.

    Raises
    ------
    LinAlgError
        A matrix is singular (which is decided exactly), or not square.
    ValueError
        Shapes do not match; or a result stays undecided (docs/spec.md).
    TypeError
        `a` or `b` has a dtype that is not supported.
    """
    x, right = operands(a=a, b=b)
    check_matrices("a", x)
    right, vector = _right_side(right, x)
    y, info = solve_exactly(x, right)
    _singular("a", info, info.shape)
    return y[..., 0] if vector else y


@guarded
def inv(a: ArrayLike) -> _Array:
    """Inverse of matrices: the exact one, each element rounded once.

    As numpy.linalg.inv.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.

    Returns
    -------
    ndarray
        Of the shape of `a`. A matrix with an infinity or a NaN gives NaN.

    Raises
    ------
    LinAlgError
        A matrix is singular (which is decided exactly), or not square.
    ValueError
        A result stays undecided (docs/spec.md).
    TypeError
        `a` has a dtype that is not supported.
    """
    (x,) = operands(a=a)
    check_matrices("a", x)
    y, info = solve_exactly(x, None)
    _singular("a", info, info.shape)
    return y


@guarded
def det(a: ArrayLike) -> Any:
    """Determinant of matrices: the exact one, rounded once.

    As numpy.linalg.det.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.

    Returns
    -------
    scalar or ndarray
        One for each matrix; NaN for one with an infinity or a NaN, 1 for one without
        elements.

    Raises
    ------
    LinAlgError
        `a` is not square.
    ValueError
        A result stays undecided (docs/spec.md).
    TypeError
        `a` has a dtype that is not supported.
    """
    (x,) = operands(a=a)
    check_matrices("a", x)
    return determinants(x, False)[0][()]


@guarded
def slogdet(a: ArrayLike) -> SlogdetResult:
    """Sign of the determinant and logarithm of its magnitude, the exact one, rounded once.

    As numpy.linalg.slogdet.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.

    Returns
    -------
    sign : scalar or ndarray
        -1, 0 or 1; NaN for a matrix with an infinity or a NaN.
    logabsdet : scalar or ndarray
        ``RN(log |det a|)``, -inf for a singular matrix.

    Raises
    ------
    LinAlgError
        `a` is not square.
    ValueError
        A result stays undecided (docs/spec.md).
    TypeError
        `a` has a dtype that is not supported.
    """
    (x,) = operands(a=a)
    check_matrices("a", x)
    sign, log = determinants(x, True)
    return SlogdetResult(sign[()], log[()] if log is not None else log)


@guarded
def matrix_power(a: ArrayLike, n: int) -> _Array:
    """A whole power of square matrices, as numpy.linalg.matrix_power.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.
    n : int
        Below 0 the inverse is multiplied.

    Returns
    -------
    ndarray
        Products by repeated squaring, from the lowest bit of `n` on; each element of each product, and of the inverse, is rounded once.

    Raises
    ------
    LinAlgError
        `a` is not square, or `n` is below 0 and a matrix singular.
    TypeError
        `n` is no integer, or `a` has a dtype that is not supported.
    """
    bits = operator.index(n)
    (x,) = operands(a=a)
    check_matrices("a", x)
    if bits < 0:
        x, bits = inv(x), -bits
    made: Any = None
    while bits:
        if bits & 1:
            made = x if made is None else _reductions.matmul(made, x)
        bits >>= 1
        x = _reductions.matmul(x, x) if bits else x
    if made is None:
        return np.array(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape))
    return np.array(made)
