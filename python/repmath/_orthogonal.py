"""QR, eigenvalues of symmetric matrices, singular values and what is made of them, for NumPy: the steps of `_decompositions` in binary64."""

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import ArrayLike

from . import _contractions, _reductions
from . import _decompositions as steps
from ._arguments import integer
from ._environment import guarded
from ._matrices import check_matrices, operands, stack_of

_Array = np.ndarray[Any, Any]


class QRResult(NamedTuple):
    """An orthogonal matrix and an upper triangle."""

    Q: Any
    R: Any


class EighResult(NamedTuple):
    """Eigenvalues, ascending, and vectors, a column each."""

    eigenvalues: Any
    eigenvectors: Any


class SVDResult(NamedTuple):
    """Singular vectors, a column each, values, descending, and the other vectors, a row each."""

    U: Any
    S: Any
    Vh: Any


def _stack(a: _Array) -> _Array:
    """As one stack of finite float64."""
    if not np.isfinite(a).all():
        raise LinAlgError("a has elements that are not finite")
    return np.ascontiguousarray(stack_of(a), np.float64)


def _matrices(a: ArrayLike, square: bool = False) -> _Array:
    (x,) = operands(a=a)
    check_matrices("a", x, square)
    return x


def _like(values: _Array, a: _Array) -> _Array:
    """In the format of the matrices and with their leading axes."""
    return steps.converted(values, a.dtype).reshape((*a.shape[:-2], *values.shape[1:]))


@guarded
def qr(a: ArrayLike, mode: str = "reduced") -> Any:
    """QR decomposition by reflections, as numpy.linalg.qr.

    The numbers are those of the steps of docs/spec.md, section 7a: sums of products are exact, every step is rounded to float64, the results to
    the format.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes, m x n, of float32, float64, integers or bool.
    mode : {"reduced", "complete", "r"}, optional
        Q has min(m, n) columns, or m; with "r" only R is returned.

    Returns
    -------
    QRResult (Q, R), or R
        Q has orthonormal columns, R is an upper triangle, and ``a`` is about ``Q @ R``.

    Raises
    ------
    LinAlgError
        `a` has fewer than two axes, or elements that are not finite.
    ValueError
        There is no such mode.
    TypeError
        `a` has a dtype that is not supported.
    """
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"mode must be 'reduced', 'complete' or 'r', not {mode!r}")
    x = _matrices(a)
    q, r = steps.qr(_stack(x), mode == "complete")
    return _like(r, x) if mode == "r" else QRResult(_like(q, x), _like(r, x))


def _symmetric(a: ArrayLike, upper: str, vectors: bool) -> tuple[_Array, _Array, _Array]:
    if upper not in ("L", "U", "l", "u"):
        raise ValueError(f"UPLO must be 'L' or 'U', not {upper!r}")
    x = _matrices(a, square=True)
    return x, *steps.eigh(_stack(np.swapaxes(x, -1, -2) if upper in "uU" else x), vectors)


@guarded
def eigh(a: ArrayLike, UPLO: str = "L") -> EighResult:  # noqa: N803
    """Eigenvalues and eigenvectors of symmetric matrices by rotations, as numpy.linalg.eigh.

    The numbers are those of the steps of docs/spec.md, section 7a, in float64, rounded to the format. In each vector the first of the numbers of
    the largest magnitude is positive. Which basis equal eigenvalues have is decided by the steps, and is the same everywhere.

    Parameters
    ----------
    a : array_like
        Square matrices in the last two axes, of float32, float64, integers or bool.
    UPLO : {"L", "U"}, optional
        The triangle that is read.

    Returns
    -------
    EighResult (eigenvalues, eigenvectors)
        Values ascend; ``eigenvectors[..., :, i]`` belongs to ``eigenvalues[..., i]``.

    Raises
    ------
    LinAlgError
        `a` is not square, or has elements that are not finite.
    ValueError
        `UPLO` is none of its values.
    TypeError
        `a` has a dtype that is not supported.
    """
    x, values, vectors = _symmetric(a, UPLO, True)
    return EighResult(_like(values, x), _like(vectors, x))


@guarded
def eigvalsh(a: ArrayLike, UPLO: str = "L") -> _Array:  # noqa: N803
    """Eigenvalues of symmetric matrices, ascending: those of `eigh`, with its arguments and errors."""
    x, values, _ = _symmetric(a, UPLO, False)
    return _like(values, x)


@guarded
def svd(a: ArrayLike, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """Singular value decomposition by rotations of columns, as numpy.linalg.svd.

    The numbers are those of the steps of docs/spec.md, section 7a, in float64, rounded to the format. In each row of ``Vh`` (for m < n, in each
    column of ``U``) the first of the numbers of the largest magnitude is positive.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes, m x n, of float32, float64, integers or bool.
    full_matrices : bool, optional
        U and Vh are square; otherwise they have min(m, n) columns and rows.
    compute_uv : bool, optional
        False returns S alone.

    Returns
    -------
    SVDResult (U, S, Vh), or S
        Values descend; ``a`` is about ``(U * S[..., None, :]) @ Vh`` where U and Vh are not square.

    Raises
    ------
    LinAlgError
        `a` has fewer than two axes, or elements that are not finite.
    TypeError
        `a` has a dtype that is not supported.
    """
    x = _matrices(a)
    u, values, v = steps.svd(_stack(x), compute_uv, full_matrices)
    if not compute_uv:
        return _like(values, x)
    return SVDResult(_like(u, x), _like(values, x), _like(np.swapaxes(v, 1, 2), x))


@guarded
def svdvals(x: ArrayLike, /) -> _Array:
    """Singular values of matrices, descending: those of `svd`, with its arguments and errors."""
    a = _matrices(x)
    return _like(steps.svd(_stack(a), False)[1], a)


def _limits(values: _Array, a: _Array, rtol: Any) -> _Array:
    """The largest singular value times rtol, for each matrix, in float64."""
    given = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else np.asarray(rtol, np.float64)
    return np.asarray(np.broadcast_to(given, a.shape[:-2]).reshape(-1) * values.max(axis=1, initial=0.0))


@guarded
def matrix_rank(a: ArrayLike, *, rtol: ArrayLike | None = None) -> Any:
    """How many singular values are above `rtol` times the largest.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes, m x n, as in `svd`.
    rtol : float or array_like, optional
        One, or one for each matrix; by default max(m, n) times the format's eps.

    Returns
    -------
    int or ndarray of int64
        Of the values in float64, before they are rounded to the format; their product by `rtol` is rounded once.

    Raises
    ------
    LinAlgError
        `a` has fewer than two axes, or elements that are not finite.
    TypeError
        `a` has a dtype that is not supported.
    """
    x = _matrices(a)
    values = steps.svd(_stack(x), False)[1]
    return (values > _limits(values, x, rtol)[:, None]).sum(axis=1, dtype=np.int64).reshape(x.shape[:-2])[()]


@guarded
def pinv(a: ArrayLike, *, rtol: ArrayLike | None = None) -> _Array:
    """Pseudoinverse of matrices by their singular values.

    Parameters
    ----------
    a : array_like
        Matrices in the last two axes, m x n, as in `svd`.
    rtol : float or array_like, optional
        Values at most `rtol` times the largest count as 0: one, or one for each matrix; by default max(m, n) times the format's eps.

    Returns
    -------
    ndarray
        n x m: the sums over singular values of (v (1/s)) u, exact but for their terms' roundings to float64, rounded to float64 and then to the
        format (docs/spec.md, section 7a).

    Raises
    ------
    LinAlgError
        `a` has fewer than two axes, or elements that are not finite.
    TypeError
        `a` has a dtype that is not supported.
    """
    x = _matrices(a)
    u, values, v = steps.svd(_stack(x), True)
    return _like(steps.pseudoinverse(u, values, v, _limits(values, x, rtol)), x)


@guarded
def spectral_norm(a: _Array, kind: Any) -> _Array:
    """The sum ("nuc"), the largest (2) or the smallest (-2) of the singular values in float64, rounded to the format."""
    values = steps.svd(_stack(a), False)[1]
    if kind == "nuc":
        total = (
            _reductions.sum(values, axis=1, dtype=a.dtype) if steps.HERE.by is None else steps.HERE.by.sums(values, a.dtype)
        )
        return np.asarray(total).reshape(a.shape[:-2])
    return _like(values.max(axis=1, initial=0.0) if kind > 0 else values.min(axis=1), a)


@guarded
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> _Array:
    """Cross product of vectors of three elements, as numpy.linalg.cross.

    Parameters
    ----------
    x1, x2 : array_like
        Of float32, float64, integers or bool; the axes other than `axis` broadcast.
    axis : int, optional
        The axis of the vectors, in each operand.

    Returns
    -------
    ndarray
        ``RN(x1[i+1] x2[i+2] - x1[i+2] x2[i+1])``, places counted modulo 3.

    Raises
    ------
    ValueError
        An axis has not three elements, or shapes do not broadcast.
    TypeError
        An operand has a dtype that is not supported, or `axis` is no integer.
    """
    axis = integer("axis", axis)
    a, b = (np.moveaxis(v, axis, -1) for v in operands(x1=x1, x2=x2))
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(f"axis {axis} of x1 and x2 must have 3 elements, not {a.shape[-1]} and {b.shape[-1]}")
    after, before = [1, 2, 0], [2, 0, 1]
    rows, columns = np.stack((a[..., after], -a[..., before]), -1), np.stack((b[..., before], b[..., after]), -1)
    return np.moveaxis(_contractions.vecdot(rows, columns), -1, axis)
