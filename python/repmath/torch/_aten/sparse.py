"""Sparse tensors: of coordinates (COO), and compressed ones (CSR and its like) in products with dense tensors.

An element of a tensor of coordinates is the exact sum of the values at its place, rounded once, where they are brought together (`coalesce`); added
to a dense tensor, each value is a term of the element's sum. Products are those of sparse_products.py.
"""

import math
from collections.abc import Callable
from typing import Any

import torch

from .._stepwise import HERE
from .._tensors import FORMATS
from .common import KERNELS, Uncovered, convert

aten = torch.ops.aten
# Operators of sparse tensors, and of what they are made of: those that move elements are PyTorch's own.
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(getattr(aten, name), overload): getattr(getattr(aten, name), overload)
    for name, overload in (
        line.split(".")
        for line in """
        _sparse_coo_tensor_with_dims_and_tensors.default _sparse_coo_tensor_with_dims.default _indices.default _values.default
        indices.default values.default crow_indices.default col_indices.default ccol_indices.default row_indices.default
        sparse_coo_tensor.size is_coalesced.default _coalesced_.default sparse_dim.default dense_dim.default _nnz.default
        sparse_compressed_tensor.comp_plain_value sparse_compressed_tensor.comp_plain_value_size
        """.split()
    )
}


def _function(*overloads: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(overloads, function))
        return function

    return enter


def _is_coo(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.layout is torch.sparse_coo


def _is_sparse(t: Any) -> bool:
    return isinstance(t, torch.Tensor) and t.layout is not torch.strided


def _of_pattern(t: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Other values at the places of a matrix of compressed rows or columns."""
    if t.layout is torch.sparse_csr:
        first, places = t.crow_indices(), t.col_indices()
    else:
        first, places = t.ccol_indices(), t.row_indices()
    return torch.sparse_compressed_tensor(first, places, values, t.shape, layout=t.layout, check_invariants=False)


def _places(indices: torch.Tensor, sizes: tuple[int, ...]) -> torch.Tensor:
    """Places as numbers in row-major order."""
    place = torch.zeros(indices.shape[1], dtype=torch.int64)
    for line, size in zip(indices, sizes, strict=True):
        place = place * size + line
    return place


def _one_format(*tensors: torch.Tensor) -> None:
    if any(t.dtype not in FORMATS or t.dtype is not tensors[0].dtype or not t.is_cpu for t in tensors):
        raise Uncovered(f"sparse tensors of {', '.join(str(t.dtype) for t in tensors)}")


def _index_added(x: torch.Tensor, index: torch.Tensor, values: torch.Tensor, alpha: Any = 1) -> torch.Tensor:
    """Along the first axis."""
    if HERE.steps is not None:
        drawn: torch.Tensor = HERE.steps.index_add(x, index, values, alpha)
        return drawn
    made: torch.Tensor = KERNELS["index_add"](x, 0, index, values, alpha=alpha)
    return made


def _together(indices: torch.Tensor, values: torch.Tensor, shape: Any, sparse_dim: int) -> torch.Tensor:
    """A coalesced tensor, of places of which some may be the same."""
    sizes = tuple(shape[:sparse_dim])
    found, inverse = torch.unique(_places(indices, sizes), return_inverse=True)
    total = _index_added(values.new_zeros(len(found), *values.shape[1:]), inverse, values)
    lines: list[torch.Tensor] = []
    for size in reversed(sizes):
        lines.insert(0, found % size)
        found = found // size
    return torch.sparse_coo_tensor(torch.stack(lines), total, shape, is_coalesced=True, check_invariants=False)


@_function(aten._coalesce.default)
def coalesce(t: torch.Tensor) -> torch.Tensor:
    """Each element the exact sum of the values at its place, rounded once; places in row-major order."""
    if t.dtype not in FORMATS and not t.is_floating_point() and not t.is_complex():
        return torch._coalesce(t)  # integers
    _one_format(t)
    if t.sparse_dim() == 0:
        raise Uncovered("a sparse tensor without sparse axes")
    return _together(t._indices(), t._values(), t.shape, t.sparse_dim())


def _coalesced(t: torch.Tensor) -> torch.Tensor:
    return coalesce(t) if _is_coo(t) and not t.is_coalesced() else t


@_function(aten._to_dense.default)
def to_dense(t: torch.Tensor, dtype: torch.dtype | None = None, masked_grad: bool | None = None) -> torch.Tensor:
    if dtype not in (None, t.dtype):
        raise Uncovered(f"dtype={dtype} of {t.dtype}")
    made: torch.Tensor = aten._to_dense.default(_coalesced(t))
    return made


@_function(aten._to_sparse.default, aten._to_sparse.sparse_dim)
def to_sparse(t: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    made: torch.Tensor = aten._to_sparse(_coalesced(t), *args, **kwargs)
    return made


@_function(aten._to_sparse_csr.default)
def to_sparse_csr(t: torch.Tensor, dense_dim: int | None = None) -> torch.Tensor:
    made: torch.Tensor = aten._to_sparse_csr.default(_coalesced(t), dense_dim)
    return made


@_function(aten._to_sparse_csc.default)
def to_sparse_csc(t: torch.Tensor, dense_dim: int | None = None) -> torch.Tensor:
    made: torch.Tensor = aten._to_sparse_csc.default(_coalesced(t), dense_dim)
    return made


@_function(aten.sparse_mask.default)
def sparse_mask(t: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The elements at the places of the mask."""
    made: torch.Tensor = aten.sparse_mask.default(_coalesced(t), mask)
    return made


def _held(t: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Integers beside floating-point numbers, in the format of these, which must hold them."""
    if t.is_floating_point() or t.is_complex() or not other.is_floating_point() or not (_is_coo(t) and _is_coo(other)):
        return t
    values = t._values()
    if values.numel() and int(values.to(torch.int64).abs().max()) > 2 / torch.finfo(other.dtype).eps:
        raise Uncovered(f"integers of a sparse tensor that {other.dtype} does not hold")
    held = convert(values, other.dtype)
    return torch.sparse_coo_tensor(t._indices(), held, t.shape, is_coalesced=t.is_coalesced(), check_invariants=False)


def _added(x: torch.Tensor, y: torch.Tensor, alpha: Any) -> torch.Tensor:
    x, y = _held(x, y), _held(y, x)
    _one_format(x, y)
    if x.shape != y.shape:
        raise Uncovered(f"shapes {tuple(x.shape)} and {tuple(y.shape)} of a sum with a sparse tensor")
    if _is_coo(x) and _is_coo(y):
        if alpha != 1 or x.sparse_dim() != y.sparse_dim():
            raise Uncovered("a sum of sparse tensors with alpha, or of other sparse axes")
        indices, values = torch.cat((x._indices(), y._indices()), 1), torch.cat((x._values(), y._values()))
        return _together(indices, values, x.shape, x.sparse_dim())
    if not _is_coo(y) or _is_sparse(x):
        raise Uncovered("a sum of these layouts")
    sizes, inner = tuple(y.shape[: y.sparse_dim()]), y.shape[y.sparse_dim() :]
    flat = x.reshape(math.prod(sizes), *inner)
    return _index_added(flat, _places(y._indices(), sizes), y._values(), alpha).reshape(x.shape)


@_function(aten.add.Tensor)
def add(x: torch.Tensor, y: torch.Tensor, *, alpha: Any = 1) -> torch.Tensor:
    """RN(x + alpha * the sum of y's values) at each place of a dense x; of two sparse tensors the exact sums of all their values."""
    return _added(x, y, alpha)


@_function(aten.sub.Tensor)
def sub(x: torch.Tensor, y: torch.Tensor, *, alpha: Any = 1) -> torch.Tensor:
    """Of two sparse tensors: the exact sums of the values of x and of those of y with the other sign."""
    if not (_is_coo(x) and _is_coo(y)):
        raise Uncovered("a difference of these layouts")
    y = _held(y, x)
    return _added(x, torch.sparse_coo_tensor(y._indices(), -y._values(), y.shape, check_invariants=False), alpha)


@_function(aten.add_.Tensor)
def add_(x: torch.Tensor, y: torch.Tensor, *, alpha: Any = 1) -> torch.Tensor:
    return x.copy_(_added(x, y, alpha))


def _met(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    _one_format(
        *(t for t in (x, y) if t.is_floating_point() or t.is_complex())
    )  # integers beside them are as in a dense product
    first, second = (_places(t._indices(), t.shape) for t in (x, y))
    here, there = torch.isin(first, second), torch.isin(second, first)
    values = KERNELS["multiply"](x._values()[here], y._values()[there])
    return torch.sparse_coo_tensor(x._indices()[:, here], values, x.shape, is_coalesced=True, check_invariants=False)


@_function(aten.mul.Tensor, aten.mul.Scalar)
def mul(x: torch.Tensor, y: Any) -> torch.Tensor:
    """A sparse tensor times a finite number, or times another one, at the places that both have."""
    if _is_coo(x) and _is_coo(y) and x.shape == y.shape and x.sparse_dim() == y.sparse_dim() == x.ndim:
        return _met(_coalesced(x), _coalesced(y))
    compressed = x.layout in (torch.sparse_csr, torch.sparse_csc)
    if not (_is_coo(x) or compressed) or _is_sparse(y) or (isinstance(y, torch.Tensor) and y.ndim):
        raise Uncovered("a product of sparse tensors element by element")
    if not torch.as_tensor(y).isfinite():
        raise Uncovered("an infinity or a NaN times a sparse tensor")
    x = _coalesced(x)
    _one_format(x)
    values = KERNELS["multiply"](x.values() if compressed else x._values(), y)
    if values.dtype is not x.dtype:
        raise Uncovered(f"a product of {x.dtype} that is of {values.dtype}")
    if compressed:
        return _of_pattern(x, values)
    return torch.sparse_coo_tensor(x._indices(), values, x.shape, is_coalesced=True, check_invariants=False)
