"""Orthogonal decompositions of matrices in float32 and float64, by the steps of repmath/_decompositions.py in binary64."""

import math
from typing import Any, TypeAlias

import numpy as np
import torch

from ... import _decompositions as steps
from .._tensors import FORMATS, as_array, as_tensor
from .common import Array, Uncovered, kernel
from .linear_algebra import _arrays, _square

_Tensor: TypeAlias = torch.Tensor


def _stack(x: Array, name: str) -> Array:
    """As one stack of float64."""
    wide = np.ascontiguousarray(x, np.float64).reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    if np.count_nonzero(np.isfinite(wide)) < wide.size:
        raise torch.linalg.LinAlgError(f"{name}: the matrix has elements that are not finite")
    return wide


def _delivered(a: Array, batch: tuple[int, ...], dtype: torch.dtype) -> _Tensor:
    """In the format and with the batch axes."""
    made = steps.converted(a, FORMATS[dtype])
    return as_tensor(np.ascontiguousarray(made.reshape(*batch, *a.shape[1:])))


@kernel
def linalg_qr(a: _Tensor, mode: str = "reduced") -> tuple[_Tensor, _Tensor]:
    (x,) = _arrays(a)
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(f"qr received unrecognized mode {mode!r} but expected one of 'reduced', 'r', or 'complete'")
    batch = x.shape[:-2]
    q, r = steps.qr(_stack(x, "linalg.qr"), mode == "complete")
    return a.new_empty(0) if mode == "r" else _delivered(q, batch, a.dtype), _delivered(r, batch, a.dtype)


@kernel
def geqrf(a: _Tensor) -> tuple[_Tensor, _Tensor]:
    (x,) = _arrays(a)
    factors, taus = steps.reflectors(_stack(x, "geqrf"))
    return _delivered(factors, x.shape[:-2], a.dtype), _delivered(taus, x.shape[:-2], a.dtype)


def _reflectors(a: _Tensor, tau: _Tensor) -> tuple[Array, Array]:
    (x,) = _arrays(a)
    if tau.dtype is not a.dtype:
        raise ValueError("tensors of several formats")
    return _stack(x, "reflections"), _stack(as_array(tau)[..., None, :], "reflections")[:, 0]


@kernel
def linalg_householder_product(a: _Tensor, tau: _Tensor) -> _Tensor:
    m, n = a.shape[-2:]
    if n > m or tau.shape[-1] > n:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1], and "
            "input.shape[-1] must be greater than or equal to tau.shape[-1]"
        )
    factors, taus = _reflectors(a, tau)
    unit = np.broadcast_to(np.eye(m, n), (len(factors), m, n))
    return _delivered(steps.reflected(factors, taus, unit, False), a.shape[:-2], a.dtype)


@kernel
def ormqr(a: _Tensor, tau: _Tensor, c: _Tensor, left: bool = True, transpose: bool = False) -> _Tensor:
    factors, taus = _reflectors(a, tau)
    (x,) = _arrays(c)
    other = _stack(x, "ormqr")
    if not left:
        other, transpose = np.swapaxes(other, 1, 2), not transpose
    made = steps.reflected(factors, taus, other, transpose)
    return _delivered(made if left else np.swapaxes(made, 1, 2), c.shape[:-2], c.dtype)


def _with_vectors(asked: bool) -> bool:
    """Rounded at random, values have the words that they have beside vectors: PyTorch asks for these wherever a mode is at work."""
    return asked or steps.HERE.by is not None


@kernel
def linalg_eigh(a: _Tensor, uplo: str = "L", compute_v: bool = True) -> tuple[_Tensor, _Tensor]:
    (x,) = _arrays(a)
    _square(x)
    if uplo.upper() == "U":
        x = np.swapaxes(x, -1, -2)
    values, vectors = steps.eigh(_stack(x, "linalg.eigh"), _with_vectors(compute_v))
    batch = x.shape[:-2]
    return _delivered(values, batch, a.dtype), _delivered(vectors, batch, a.dtype) if compute_v else a.new_empty(0)


@kernel
def linalg_svd(
    a: _Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[_Tensor, _Tensor, _Tensor]:
    (x,) = _arrays(a)
    if driver is not None:
        raise Uncovered(f"driver={driver!r}, which PyTorch has on a GPU")
    batch = x.shape[:-2]
    u, values, v = steps.svd(_stack(x, "linalg.svd"), _with_vectors(compute_uv), full_matrices)
    s = _delivered(values, batch, a.dtype)
    if not compute_uv:
        return a.new_empty(0), s, a.new_empty(0)
    return _delivered(u, batch, a.dtype), s, _delivered(np.swapaxes(v, 1, 2), batch, a.dtype)


def _number(value: Any, batch: tuple[int, ...], otherwise: float) -> Array:
    """A tolerance for each matrix."""
    if value is None:
        return np.full(math.prod(batch), otherwise)
    given = value.detach().to(torch.float64).numpy() if isinstance(value, torch.Tensor) else np.float64(value)
    return np.array(np.broadcast_to(given, batch), np.float64).reshape(-1)


@kernel
def linalg_pinv(a: _Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> _Tensor:
    (x,) = _arrays(a)
    batch, (m, n) = x.shape[:-2], x.shape[-2:]
    if not m or not n:
        return a.new_empty((*batch, n, m))
    wide = _stack(x, "linalg.pinv")
    if hermitian:
        _square(x)
        signed, u = steps.eigh(wide, True)
        values, v = np.abs(signed), u * np.where(signed < 0, -1.0, 1.0)[:, None, :]
    else:
        u, values, v = steps.svd(wide, True)
    absolute = _number(atol, batch, 0.0)
    usual = np.where(absolute > 0, 0.0, max(m, n) * torch.finfo(a.dtype).eps)
    relative = usual if rtol is None else _number(rtol, batch, 0.0)
    limit = np.maximum(absolute, relative * values.max(axis=1))
    return _delivered(steps.pseudoinverse(u, values, v, limit), batch, a.dtype)


@kernel
def linalg_lstsq(
    a: _Tensor, b: _Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[_Tensor, _Tensor, _Tensor, _Tensor]:
    (x,) = _arrays(a)
    vector = a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape
    (right,) = _arrays(b[..., None] if vector else b)
    if b.dtype is not a.dtype:
        raise ValueError("tensors of several formats")
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    batch, (m, n) = np.broadcast_shapes(x.shape[:-2], right.shape[:-2]), x.shape[-2:]
    wide = _stack(np.broadcast_to(x, (*batch, m, n)), "linalg.lstsq")
    other = _stack(np.broadcast_to(right, (*batch, m, right.shape[-1])), "linalg.lstsq")
    u, values, v = steps.svd(wide, True)
    relative = max(m, n) * torch.finfo(a.dtype).eps if rcond is None or rcond < 0 else float(rcond)
    limit = (0.0 if driver == "gels" else relative) * values.max(axis=1, initial=0.0)
    inner = steps.products(np.swapaxes(u, 1, 2), other)
    kept = values > limit[:, None]
    inner = np.where(kept[..., None], steps.step("divide", inner, np.where(kept, values, 1.0)[..., None]), 0.0)
    solution = steps.products(v, inner)
    ranks = kept.sum(axis=1)
    rank = torch.empty(0, dtype=torch.int64) if driver == "gels" else as_tensor(ranks.reshape(batch)).to(torch.int64)
    residuals = a.new_empty(0)
    if m > n and driver != "gelsy" and bool((ranks == n).all()):
        rest = steps.step("subtract", other, steps.products(wide, solution))
        residuals = _delivered(steps.sums(steps.step("multiply", rest, rest)), batch, a.dtype)
    singular = _delivered(values, batch, a.dtype) if driver in ("gelsd", "gelss") else a.new_empty(0)
    made = _delivered(solution, batch, a.dtype)
    return made[..., 0] if vector else made, residuals, rank, singular


@kernel
def matrix_exp(a: _Tensor) -> _Tensor:
    """Of any format."""
    if a.dtype not in FORMATS:
        raise Uncovered(f"matrices of {a.dtype}")
    x = as_array(a)
    _square(x)
    return _delivered(steps.exponential(_stack(x, "matrix_exp")), x.shape[:-2], a.dtype)
