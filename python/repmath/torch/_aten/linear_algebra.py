"""Factorizations, solutions and determinants of matrices in float32 and float64."""

import numpy as np
import torch

from ... import _ldl, linalg
from .._tensors import as_array, as_tensor
from .common import Array, Uncovered, kernel


def _arrays(*tensors: torch.Tensor) -> list[Array]:
    """Matrices of one format."""
    for t in tensors:
        if t.dtype not in (torch.float32, torch.float64):
            raise Uncovered(f"matrices of {t.dtype}")
        if t.dtype is not tensors[0].dtype:
            raise ValueError("matrices of several formats")
        if t.ndim < 2:
            raise ValueError("a tensor of fewer than two axes")
    return [as_array(t) for t in tensors]


def _square(*arrays: Array) -> None:
    if any(a.shape[-1] != a.shape[-2] for a in arrays):
        raise ValueError("matrices that are not square")


def _checked(info: Array, name: str, matrix: torch.Tensor, check_errors: bool = True) -> torch.Tensor:
    """info as a tensor; PyTorch's error where it is not 0."""
    made = as_tensor(info)
    if check_errors:
        torch.ops.aten._linalg_check_errors(made, name, is_matrix=matrix.ndim == 2)
    return made


def _transposed(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


def _solve_sided(a: Array, b: Array, left: bool, triangle: str | None = None, unit: bool = False) -> tuple[Array, Array]:
    """Of A X = B, or with left = False of X A = B."""
    if left:
        return linalg.solve_exactly(a, b, triangle, unit)
    other = {"lower": "upper", "upper": "lower", None: None}[triangle]
    x, info = linalg.solve_exactly(_transposed(a), _transposed(b), other, unit)
    return _transposed(x), info


@kernel
def cholesky_ex(a: torch.Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    _square(x)
    factor, info = linalg.factor_cholesky(_transposed(x) if upper else x)
    found = _checked(info, "linalg.cholesky_ex", a, check_errors)
    return as_tensor(_transposed(factor) if upper else factor), found


@kernel
def cholesky(a: torch.Tensor, upper: bool = False) -> torch.Tensor:
    (x,) = _arrays(a)
    _square(x)
    factor, info = linalg.factor_cholesky(_transposed(x) if upper else x)
    _checked(info, "cholesky", a)
    return as_tensor(_transposed(factor) if upper else factor)


@kernel
def cholesky_solve(b: torch.Tensor, factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    right, c = _arrays(b, factor)
    _square(c)
    return as_tensor(linalg.solve_by_cholesky(_transposed(c) if upper else c, right)[0])


@kernel
def cholesky_inverse(factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    (c,) = _arrays(factor)
    _square(c)
    lower = _transposed(c) if upper else c
    inverse, _ = linalg.solve_exactly(lower, None, "lower")
    return as_tensor(linalg.solve_exactly(_transposed(lower), inverse, "upper")[0])


@kernel
def linalg_solve_triangular(
    a: torch.Tensor, b: torch.Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> torch.Tensor:
    x, right = _arrays(a, b)
    _square(x)
    return as_tensor(_solve_sided(x, right, left, "upper" if upper else "lower", unitriangular)[0])


@kernel
def triangular_solve(
    b: torch.Tensor, a: torch.Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    right, x = _arrays(b, a)
    _square(x)
    batch = np.broadcast_shapes(x.shape[:-2], right.shape[:-2])
    copy = np.array(np.broadcast_to(x, (*batch, *x.shape[-2:])))
    if transpose:
        x, upper = _transposed(x), not upper
    solution, _ = linalg.solve_exactly(x, right, "upper" if upper else "lower", unitriangular)
    return as_tensor(solution), as_tensor(copy)


@kernel
def linalg_lu_factor_ex(
    a: torch.Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    if not pivot:
        raise Uncovered("pivot=False")
    lu, pivots, info = linalg.factor_lu(x)
    return as_tensor(lu), as_tensor(pivots), _checked(info, "torch.linalg.lu_factor_ex", a, check_errors)


@kernel
def linalg_lu(a: torch.Tensor, *, pivot: bool = True) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    if not pivot:
        raise Uncovered("pivot=False")
    lu, pivots, _ = linalg.factor_lu(x)
    made: tuple[torch.Tensor, torch.Tensor, torch.Tensor] = torch.lu_unpack(as_tensor(lu), as_tensor(pivots))
    return made


@kernel
def linalg_lu_solve(
    lu: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor, *, left: bool = True, adjoint: bool = False
) -> torch.Tensor:
    factors, right = _arrays(lu, b)
    _square(factors)
    exchanged = as_array(pivots) - 1
    if left:
        return as_tensor(linalg.solve_by_lu(factors, exchanged, right, adjoint)[0])
    return as_tensor(_transposed(linalg.solve_by_lu(factors, exchanged, _transposed(right), not adjoint)[0]))


@kernel
def linalg_ldl_factor_ex(
    a: torch.Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    _square(x)
    batch, n = x.shape[:-2], x.shape[-1]
    made, pivots, info = np.empty_like(x, order="C"), np.empty((*batch, n), np.int32), np.empty(batch, np.int32)
    for at in np.ndindex(*batch):
        made[at], pivots[at], info[at] = _ldl.factor(x[at])
    return as_tensor(made), as_tensor(pivots), _checked(info, "torch.linalg.ldl_factor_ex", a, check_errors)


@kernel
def linalg_ldl_solve(ld: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor, *, hermitian: bool = False) -> torch.Tensor:
    factors, right = _arrays(ld, b)
    _square(factors)
    given, n = as_array(pivots), factors.shape[-1]
    if given.shape != factors.shape[:-1] or right.shape[-2] != n:
        raise ValueError("shapes that do not fit")
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    lower, blocks = np.empty_like(factors, order="C"), np.empty_like(factors, order="C")
    order = np.empty(factors.shape[:-1], np.int64)
    for at in np.ndindex(*factors.shape[:-2]):
        lower[at], blocks[at], order[at] = _ldl.unpacked(factors[at], given[at])
    places = np.broadcast_to(order[..., None], (*batch, n, right.shape[-1]))
    x = np.take_along_axis(np.broadcast_to(right, places.shape), places, -2)
    for matrix, triangle in ((lower, "lower"), (blocks, None), (_transposed(lower), "upper")):
        x = linalg.solve_exactly(matrix, x, triangle, triangle is not None)[0]
    solution = np.empty_like(x)
    np.put_along_axis(solution, places, x, -2)
    return as_tensor(solution)


@kernel
def linalg_solve_ex(
    a: torch.Tensor, b: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    x, right = _arrays(a, b if b.ndim > 1 else b[:, None])
    _square(x)
    # As NumPy had it: a batch of vectors where b has the shape of a without its last axis.
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    if vector and b.ndim > 1:
        right = right[..., None]
    solution, info = _solve_sided(x, right, left or vector)
    if vector and not left:
        raise ValueError("vectors on the left side")
    lu, pivots, _ = linalg.factor_lu(x)
    batch = solution.shape[:-2]
    if info.shape != x.shape[:-2]:  # of the matrices, before they are broadcast
        info = linalg.solve_exactly(x, np.empty((*x.shape[:-1], 0), x.dtype))[1]
    found = _checked(info, "torch.linalg.solve_ex", a, check_errors)
    made = solution[..., 0] if vector else solution
    assert made.shape[: len(batch)] == batch
    return as_tensor(np.ascontiguousarray(made)), as_tensor(lu), as_tensor(pivots), found


@kernel
def linalg_inv_ex(a: torch.Tensor, *, check_errors: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    _square(x)
    inverse, info = linalg.solve_exactly(x, None)
    return as_tensor(inverse), _checked(info, "linalg.inv_ex", a, check_errors)


def _factors_for_gradient(a: torch.Tensor, x: Array) -> tuple[torch.Tensor, torch.Tensor]:
    """Those of the transposed matrix where the tensor is contiguous: PyTorch's gradient of a determinant expects them."""
    lu, pivots, _ = linalg.factor_lu(_transposed(x) if a.is_contiguous() else x)
    return as_tensor(lu), as_tensor(pivots)


@kernel
def linalg_det(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    _square(x)
    return as_tensor(linalg.determinants(x, False)[0]), *_factors_for_gradient(a, x)


@kernel
def linalg_slogdet(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    (x,) = _arrays(a)
    _square(x)
    sign, log = linalg.determinants(x, True)
    return as_tensor(sign), as_tensor(log), *_factors_for_gradient(a, x)
