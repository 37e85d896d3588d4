"""Products of sparse matrices: of coordinates (COO), and of compressed rows or columns (CSR, CSC).

An element is the exact sum of products, rounded once. Elements that are not there count as 0: so in products with a dense matrix, and of two sparse
ones, all numbers must be finite, since beside a 0 that is there an infinity gives NaN. A product of two sparse matrices has elements where one term is,
also if its terms cancel.
"""

import functools
import math
from typing import TypeAlias

import torch

from .._stepwise import HERE
from .._tensors import FORMATS, as_array, as_tensor
from .common import KERNELS, Uncovered, convert, products, widened
from .embedding_bag import _collected, _weighted
from .reductions import alike
from .sparse import _coalesced, _function, _is_coo, _is_sparse, _of_pattern, _one_format, to_dense

aten = torch.ops.aten
_Tensor: TypeAlias = torch.Tensor


def _finite(*operands: _Tensor) -> None:
    if any(not bool((t._values() if _is_coo(t) else t.values() if _is_sparse(t) else t).isfinite().all()) for t in operands):
        raise Uncovered("an infinity or a NaN in a product of a sparse matrix")


def _dense(*operands: _Tensor) -> list[_Tensor]:
    """Operands of a product: the elements of a sparse one; beside it the others must be finite."""
    _finite(*operands)
    made = [to_dense(t) if _is_sparse(t) else t for t in operands]
    _one_format(*made)
    return made


def _sums(weights: _Tensor, lines: _Tensor, bags: _Tensor, size: int, dtype: torch.dtype) -> _Tensor:
    """The exact sum of the weighted lines of each bag, rounded once."""
    if HERE.steps is not None:
        drawn: _Tensor = HERE.steps.weighted(weights, lines, bags, size, dtype)
        return drawn
    return _collected(lines, bags, size, lines.shape[1], dtype, _weighted(weights, dtype))


def _coordinates(t: _Tensor) -> tuple[_Tensor, _Tensor, _Tensor]:
    """Rows, columns and values of a matrix, in the order of its rows, one value a place."""
    if t.layout not in (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc) or t.dense_dim() or t.ndim != 2:
        raise Uncovered(f"a product of two sparse matrices, one of which is {t.layout} with {t.ndim} axes")
    if _is_coo(t):
        t = _coalesced(t)
        return *t._indices(), t._values()
    by_row = t.layout is torch.sparse_csr
    first, inner = (t.crow_indices(), t.col_indices()) if by_row else (t.ccol_indices(), t.row_indices())
    outer = torch.repeat_interleave(torch.arange(len(first) - 1), first.diff())
    if by_row:
        return outer, inner, t.values()
    order = inner.argsort(stable=True)
    return inner[order], outer[order], t.values()[order]


def _of_two_sparse(a: _Tensor, b: _Tensor) -> _Tensor:
    """Of coordinates if both are, or of compressed rows."""
    if _is_coo(a) is not _is_coo(b):
        raise Uncovered(f"a product of {a.layout} and {b.layout}")
    if a.shape[1] != b.shape[0]:
        raise Uncovered(f"shapes {tuple(a.shape)} and {tuple(b.shape)} of a product of two sparse matrices")
    _one_format(a, b)
    _finite(a, b)
    rows, inner, x = _coordinates(a)
    others, columns, y = _coordinates(b)
    # A term for each value of a and each value in the row of b that it meets.
    counts = torch.bincount(others, minlength=b.shape[0])
    met, first = counts[inner], (counts.cumsum(0) - counts)[inner]
    left = torch.repeat_interleave(met)
    right = first[left] + torch.arange(len(left)) - (met.cumsum(0) - met)[left]
    width = b.shape[1]
    found, at = torch.unique(rows[left] * width + columns[right], return_inverse=True)
    values = _sums(x[left], y[right, None], at, len(found), a.dtype)[:, 0]
    places = torch.stack((found // width, found % width)) if width else found.new_empty(2, 0)
    shape = (a.shape[0], width)
    if _is_coo(a):
        return torch.sparse_coo_tensor(places, values, shape, is_coalesced=True, check_invariants=False)
    ends = torch.bincount(places[0], minlength=shape[0]).cumsum(0)
    starts = torch.cat((ends.new_zeros(1), ends)).to(torch.int64)
    return torch.sparse_compressed_tensor(starts, places[1], values, shape, layout=torch.sparse_csr, check_invariants=False)


@_function(aten.mm.default, aten._sparse_mm.default, aten._sparse_sparse_matmul.default)
def mm(a: _Tensor, b: _Tensor) -> _Tensor:
    """RN(sum of products), dense where one of them is."""
    if _is_sparse(a) and _is_sparse(b):
        return _of_two_sparse(a, b)
    return _product("mm", *_dense(a, b))


@_function(aten.mv.default)
def mv(a: _Tensor, x: _Tensor) -> _Tensor:
    return _product("mv", *_dense(a, x))


def _product(name: str, a: _Tensor, b: _Tensor) -> _Tensor:
    if HERE.steps is not None:
        return as_tensor(products(as_array(a), as_array(b)))
    made: _Tensor = KERNELS[name](a, b)
    return made


def _product_and_sum(name: str, operands: tuple[_Tensor, _Tensor, _Tensor], beta: float, alpha: float) -> _Tensor:
    function = KERNELS[name] if HERE.steps is None else functools.partial(HERE.steps.product_and_sum, name)
    made: _Tensor = function(*operands, beta=beta, alpha=alpha)
    return made


@_function(aten.addmm.default, aten._sparse_addmm.default)
def addmm(c: _Tensor, a: _Tensor, b: _Tensor, *, beta: float = 1, alpha: float = 1) -> _Tensor:
    """RN(alpha * sum of products + beta*c), dense. Of sparse matrices alone c must have no elements: what torch.sparse.mm adds to."""
    if _is_sparse(a) and _is_sparse(b):
        if _is_sparse(c) and c._nnz() == 0 and alpha == 1:
            return _of_two_sparse(a, b)
        raise Uncovered("a product of two sparse matrices with alpha, or one to which something is added")
    if _is_sparse(c):
        raise Uncovered("a sparse matrix to which a product is added")
    return _product_and_sum("addmm", (c, *_dense(a, b)), beta, alpha)


@_function(aten.sparse_sampled_addmm.default)
def sampled_addmm(c: _Tensor, a: _Tensor, b: _Tensor, *, beta: float = 1, alpha: float = 1) -> _Tensor:
    """RN(alpha * sum of products + beta*c) at the places of c alone, whose rows are compressed."""
    batch = tuple(c.shape[:-2])
    inner = a.shape[-1]
    if c.layout is not torch.sparse_csr or _is_sparse(a) or _is_sparse(b) or c.dense_dim():
        raise Uncovered(f"a product of these layouts at the places of {c.layout}")
    if tuple(a.shape) != (*batch, c.shape[-2], inner) or tuple(b.shape) != (*batch, inner, c.shape[-1]):
        raise Uncovered(f"shapes {tuple(c.shape)}, {tuple(a.shape)} and {tuple(b.shape)} of a product at given places")
    _one_format(c, a, b)
    values, (n, m) = c.values(), c.shape[-2:]
    size = math.prod(batch)
    matrix, step = torch.arange(size)[:, None], c.crow_indices().reshape(size, n + 1).diff(dim=1).reshape(-1)
    rows = torch.repeat_interleave(torch.arange(size * n), step)
    columns = (c.col_indices().reshape(size, -1) + matrix * m if size else c.col_indices()).reshape(-1)
    left = a.reshape(size * n, inner)[rows, None, :]
    right = b.mT.reshape(size * m, inner)[columns, :, None]
    made = _product_and_sum("baddbmm", (values.reshape(-1, 1, 1), left, right), beta, alpha)
    return _of_pattern(c, made.reshape(values.shape))


# Rows of products, brought together by a sum, a mean, or the greatest or least: those of the elements that are there. Of equal ones the first is taken.


def _rows_of(a: _Tensor, b: _Tensor, reduce: str) -> tuple[_Tensor, _Tensor, _Tensor]:
    """The rows of the elements, their columns, and how many there are in each row."""
    if a.layout is not torch.sparse_csr or _is_sparse(b) or a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise Uncovered(f"reduce={reduce!r} of {a.layout} and {b.layout}")
    _one_format(a, b)
    counts = a.crow_indices().diff()
    return torch.repeat_interleave(torch.arange(len(counts)), counts), a.col_indices(), counts


def _divided(x: _Tensor, counts: _Tensor) -> _Tensor:
    """By the number of elements of the row, in binary64."""
    made: _Tensor = KERNELS["divide"](widened(x), counts.clamp(min=1).to(torch.float64)[:, None])
    return made


@_function(aten._sparse_mm_reduce_impl.default)
def mm_reduce(a: _Tensor, b: _Tensor, reduce: str) -> tuple[_Tensor, _Tensor]:
    """sum: RN(sum of products); mean: this sum, rounded to binary64, divided by the number of terms; amax, amin: of the rounded products."""
    rows, columns, counts = _rows_of(a, b, reduce)
    size, width, values = a.shape[0], b.shape[1], a.values()
    nowhere = torch.empty(0, dtype=torch.int64)
    if reduce == "sum":
        return _sums(values, b[columns], rows, size, a.dtype), nowhere
    if reduce == "mean":
        total = _sums(values, b[columns], rows, size, torch.float64)
        return convert(_divided(total, counts), a.dtype), nowhere
    if reduce not in ("amax", "amin"):
        raise Uncovered(f"reduce={reduce!r}")
    rounded = KERNELS["multiply"](values[:, None], b[columns])
    chosen = torch.full((size, width), len(values), dtype=torch.int64)
    made = torch.zeros(size, width, dtype=a.dtype)
    for found, places in alike(rows):
        of_rows = rounded[places]
        at = (of_rows.argmax if reduce == "amax" else of_rows.argmin)(1, keepdim=True)  # a NaN before all numbers
        chosen[found], made[found] = places[:, :1] + at[:, 0], of_rows.gather(1, at)[:, 0]
    return made, chosen


@_function(aten._sparse_mm_reduce_impl_backward.default)
def mm_reduce_backward(
    a: _Tensor, g: _Tensor, b: _Tensor, reduce: str, chosen: _Tensor, output_mask: list[bool]
) -> tuple[_Tensor | None, _Tensor | None]:
    """Exact sums of products, rounded once; of a mean's gradient the quotients are rounded to binary64 before."""
    rows, columns, counts = _rows_of(a, b, reduce)
    _one_format(a, g)
    values, width = a.values(), b.shape[1]
    if reduce in ("sum", "mean"):
        lines = (g if reduce == "sum" else _divided(g, counts))[rows]
        of_a = of_b = None
        if output_mask[0]:
            made = products(as_array(b[columns][:, None]), as_array(lines[:, :, None]), dtype=FORMATS[a.dtype])
            of_a = as_tensor(made.reshape(-1))
        if output_mask[1]:
            of_b = _sums(values, lines, columns, b.shape[0], b.dtype)
    else:
        at, place = chosen.reshape(-1), torch.arange(chosen.numel())
        kept = at < len(values)
        at, place = at[kept], place[kept] % max(width, 1)
        column, factor = columns[at], g.reshape(-1)[kept]
        of_a = _sums(b[column, place], factor[:, None], at, len(values), a.dtype)[:, 0] if output_mask[0] else None
        of_b = None
        if output_mask[1]:
            of_b = _sums(values[at], factor[:, None], column * width + place, b.numel(), b.dtype).reshape(b.shape)
    return None if of_a is None else _of_pattern(a, of_a), of_b
