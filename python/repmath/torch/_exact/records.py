"""Sums that are not made yet: operands by reference. Those of one leaf are made at once, in one rounding.

Products of matrices are one product along a longer summed axis, sums and scattered sums one sum of more terms, gradients of convolutions and
norms those of a longer batch. A scattered sum beside products is more columns and rows of the operands, of zeros and ones.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ... import _convolution, _reductions, _scatter, nn
from .._aten.common import Array, Uncovered
from .._tensors import FORMATS, as_array, as_tensor

Layout = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides and first place of a view in the memory of a sum


class Operand:
    """A tensor that a sum needs later, as it is now."""

    __slots__ = ("_tensor", "_version")

    def __init__(self, t: torch.Tensor) -> None:
        self._tensor = t.detach() if t.requires_grad else t
        self._version = self._tensor._version

    def check(self) -> None:
        """Raise if it is not what it was any more."""
        if self._tensor._version != self._version:
            raise RuntimeError(
                "a tensor that an exact gradient still needs was modified in place: its sum is made at the end of the backward pass, of "
                "gradients that accumulate at the end of the last one (docs/distributed.md)"
            )

    def array(self) -> Array:
        self.check()
        return as_array(self._tensor)

    @property
    def nbytes(self) -> int:
        return int(self._tensor.numel() * self._tensor.itemsize)

    @property
    def itemsize(self) -> int:
        return int(self._tensor.itemsize)

    @property
    def format(self) -> str:
        return str(self._tensor.dtype).removeprefix("torch.")

    @property
    def floats(self) -> bool:
        """Whether it has no integers, as an index has."""
        return bool(self._tensor.dtype.is_floating_point)

    def __reduce__(self) -> Any:
        return Received, (np.ascontiguousarray(self.array()),)


class Received(Operand):
    """An array that another rank has sent."""

    __slots__ = ("_array",)

    def __init__(self, a: Array) -> None:
        self._array = a

    def check(self) -> None:
        return None

    def array(self) -> Array:
        return self._array

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    @property
    def itemsize(self) -> int:
        return self._array.itemsize

    @property
    def format(self) -> str:
        return str(self._array.dtype.name)

    @property
    def floats(self) -> bool:
        return self._array.dtype.kind not in "biu"


class Record:
    """A sum of the shape `shape`, whose elements lie as in a contiguous array."""

    shape: tuple[int, ...]
    name: str  # the operator that made it

    def turned(self) -> "Record | None":
        """The sum of a matrix, transposed; None where there is none."""
        return None


@dataclass
class Product(Record):
    """a b, of matrices."""

    a: Operand
    b: Operand
    shape: tuple[int, ...]
    transposed: bool = False  # then it is that of b' a'
    name: str = "mm"

    def turned(self) -> "Record | None":
        return Product(self.a, self.b, self.shape[::-1], not self.transposed)

    def operands(self) -> tuple[Array, Array]:
        a, b = self.a.array(), self.b.array()
        return (b.T, a.T) if self.transposed else (a, b)


@dataclass
class Terms(Record):
    """A sum over some axes."""

    values: Operand
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    order: Any = None  # places of a flat term that are its elements, in order
    name: str = "sum"

    def rows(self) -> Array:
        """Its terms, one a row."""
        a: Array = self.values.array()
        kept = [i for i in range(a.ndim) if i not in self.axes]
        made: Array = a.transpose([*self.axes, *kept]).reshape(-1, int(np.prod([a.shape[i] for i in kept], dtype=np.int64)))
        return made if self.order is None else made[:, self.order]


@dataclass
class Scattered(Record):
    """Rows of a matrix that are sums of the rows that an index sends there."""

    source: Terms
    index: Operand
    padding: int
    shape: tuple[int, ...]
    name: str = "embedding_dense_backward"

    def rows(self) -> tuple[Array, Array]:
        """Rows, and the places to which they are added."""
        index = self.index.array().reshape(-1)
        values: Array = self.source.rows().reshape(-1, self.shape[-1])
        index = np.tile(index, len(values) // max(index.size, 1))
        if self.padding >= 0:
            kept = index != self.padding
            index, values = index[kept], values[kept]
        return index, values


@dataclass
class Convolved(Record):
    """The gradient of a convolution's weight."""

    g: Operand
    x: Operand
    shape: tuple[int, ...]
    options: tuple[tuple[str, Any], ...]
    transposed: bool
    name: str = "convolution_backward"


@dataclass
class Normed(Record):
    """The gradient of a norm's weight."""

    norm: str
    g: Operand
    x: Operand
    shape: tuple[int, ...]
    options: tuple[Any, ...]
    name: str = field(default="native_layer_norm_backward")


@dataclass
class Placed(Record):
    """A sum at consecutive rows of a larger one; of its other rows it says nothing."""

    record: Record
    first: int
    count: int
    shape: tuple[int, ...]
    name: str


@dataclass
class Use:
    """A record and how the gradient of the leaf lies in its memory."""

    record: Record
    layout: Layout | None = None


def layout_of(t: torch.Tensor) -> Layout | None:
    """How a view lies in memory; None if its elements are in order from the first one on."""
    if t.is_contiguous() and t.storage_offset() == 0:
        return None
    return tuple(t.shape), t.stride(), t.storage_offset()


def arranged(use: Use) -> Record:
    """The record of a use, with its elements in the order of the leaf's."""
    if use.layout is None:
        return use.record
    shape, strides, offset = use.layout
    record = use.record
    if len(record.shape) == 2 and shape == record.shape[::-1] and strides == (1, record.shape[1]) and not offset:
        made = record.turned()
        if made is not None:
            return made
    if isinstance(record, Terms) and np.prod(shape) == np.prod(record.shape):
        return Terms(record.values, record.axes, shape, _places(record.order, use.layout))
    raise Uncovered(f"a gradient of {record.name} in another layout than others of the same parameter")


def _places(order: Any, layout: Layout) -> Array:
    shape, strides, offset = layout
    size = 1 + offset + sum(s * (n - 1) for s, n in zip(strides, shape, strict=True))
    flat = np.arange(size)[offset:] if order is None else order[offset:]
    step = flat.itemsize
    return np.ascontiguousarray(np.lib.stride_tricks.as_strided(flat, shape, [s * step for s in strides])).reshape(-1)


def settle(uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """The exact sum of all of them, rounded once."""
    if dtype not in FORMATS:
        raise Uncovered(f"gradients of {dtype}")
    if not uses:
        return torch.zeros(tuple(shape), dtype=dtype)
    with np.errstate(all="ignore"):
        return _settle(uses, shape, dtype)


def _settle(uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    layouts = [u.layout for u in uses]
    if layouts[0] is not None and all(v == layouts[0] for v in layouts):
        made = as_tensor(_sum([u.record for u in uses], FORMATS[dtype]))
        return made.reshape(-1).as_strided(*layouts[0]).contiguous().view(shape)
    return as_tensor(np.ascontiguousarray(_sum([arranged(u) for u in uses], FORMATS[dtype]))).view(shape)


def _sum(records: Sequence[Record], dtype: Any) -> Array:
    kinds = {type(r) for r in records}
    if Placed in kinds:
        return _in_pieces(records, dtype)
    if kinds == {Terms}:
        rows = [r.rows() for r in records if isinstance(r, Terms)]
        return np.asarray(_reductions.sum(_joined(rows, 0), axis=0, dtype=dtype))
    if kinds == {Product}:
        pairs = [r.operands() for r in records if isinstance(r, Product)]
        return np.asarray(_reductions.matmul(_joined([a for a, _ in pairs], 1), _joined([b for _, b in pairs], 0)))
    if kinds == {Convolved}:
        return _convolved([r for r in records if isinstance(r, Convolved)])
    if kinds == {Normed}:
        return _normed([r for r in records if isinstance(r, Normed)])
    if kinds <= {Product, Terms, Scattered}:
        return _mixed(records, dtype)
    raise Uncovered(f"a parameter whose gradient is that of {' and '.join(sorted({r.name for r in records}))}")


def _joined(arrays: list[Array], axis: int) -> Array:
    if len({a.shape[:axis] + a.shape[axis + 1 :] for a in arrays}) > 1:
        raise Uncovered("gradients of one parameter whose sums differ in shape")
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis)


def _mixed(records: Sequence[Record], dtype: Any) -> Array:
    """A matrix of products and of rows that are added to some of its rows."""
    m, n = next(r.shape for r in records if not isinstance(r, Terms))
    pairs, index, values = [], [], []
    for r in records:
        if isinstance(r, Product):
            pairs.append(r.operands())
        elif isinstance(r, Scattered):
            at, rows = r.rows()
            index.append(at)
            values.append(rows)
        elif isinstance(r, Terms):
            rows = r.rows().reshape(-1, n)
            index.append(np.tile(np.arange(m), len(rows) // m))
            values.append(rows)
    at, rows = np.concatenate(index).astype(np.int64), np.concatenate(values)
    if not pairs:
        return np.asarray(_scatter.segment_sum(rows, at, m))
    return _products_and_rows(_joined([a for a, _ in pairs], 1), _joined([b for _, b in pairs], 0), at, rows)


def _products_and_rows(a: Array, b: Array, at: Array, rows: Array) -> Array:
    """RN(a b + rows at their places)."""
    finite = np.isfinite(rows)
    kept = rows if finite.all() else np.where(finite, rows, np.zeros((), rows.dtype))
    touched = np.unique(at)
    made = np.asarray(_reductions.matmul(a, b))
    if touched.size:
        ones = (touched[:, None] == at).astype(a.dtype)
        made[touched] = _reductions.matmul(np.concatenate([a[touched], ones], 1), np.concatenate([b, kept], 0))
    for k, j in np.argwhere(~finite):
        i = at[k]
        others = ~(np.isfinite(a[i]) & np.isfinite(b[:, j]))
        with np.errstate(all="ignore"):
            infinite = a[i][others].astype(np.float64) * b[:, j][others].astype(np.float64)
            beside = rows[at == i, j].astype(np.float64)
            made[i, j] = infinite.sum() + beside[~np.isfinite(beside)].sum()
        if np.isnan(made[i, j]):
            made[i, j] = np.nan
    return made


def _in_pieces(records: Sequence[Record], dtype: Any) -> Array:
    """Sums of which some are of a part of the rows: between the first and last rows of these each piece is by itself."""
    placed = [r for r in records if isinstance(r, Placed)]
    if any(r.shape != placed[0].shape for r in placed):
        raise Uncovered("gradients of one parameter whose sums differ in shape")
    shape = placed[0].shape
    edges = sorted({0, shape[0], *(e for r in placed for e in (r.first, r.first + r.count))})
    made = np.zeros(shape, dtype)
    for begin, end in itertools.pairwise(edges):
        found = [_piece(r, begin, end, shape) for r in records]
        inside = [r for r in found if r is not None]
        if inside:
            made[begin:end] = _sum(inside, dtype).reshape(made[begin:end].shape)
    return made


def _piece(r: Record, begin: int, end: int, shape: tuple[int, ...]) -> Record | None:
    """The rows of a sum from `begin` to `end`; None where it has none there."""
    rows, width = end - begin, int(np.prod(shape[1:], dtype=np.int64))
    if isinstance(r, Placed):
        if not r.first <= begin < r.first + r.count:
            return None
        return r.record if rows == r.count else _piece(r.record, begin - r.first, end - r.first, (r.count, *shape[1:]))
    if isinstance(r, Product):
        a, b = r.operands()
        return Product(Received(a[begin:end]), Received(b), (rows, b.shape[1]), name=r.name)
    if isinstance(r, Terms):
        columns = r.rows()[:, begin * width : end * width]
        return Terms(Received(columns), (0,), (rows, width), name=r.name)
    if isinstance(r, Scattered):
        index, values = r.rows()
        kept = (begin <= index) & (index < end)
        if rows == 1:
            return Terms(Received(values[kept]), (0,), (1, width), name=r.name) if kept.any() else None
        source = Terms(Received(values[kept][None]), (0,), (int(kept.sum()), width))
        return Scattered(source, Received(index[kept] - begin), -1, (rows, width), r.name) if kept.any() else None
    raise Uncovered(f"a part of a parameter beside {r.name}, as an exact sum")


_GRAD_WEIGHT = (None, _convolution.conv1d_grad_weight, _convolution.conv2d_grad_weight, _convolution.conv3d_grad_weight)


def _convolved(records: Sequence[Convolved]) -> Array:
    first = records[0]
    if any((r.options, r.transposed, r.shape) != (first.options, first.transposed, first.shape) for r in records):
        raise Uncovered("a weight of several convolutions of other strides, paddings or dilations")
    g, x = (_joined([getattr(r, name).array() for r in records], 0) for name in ("g", "x"))
    call: Any = _GRAD_WEIGHT[len(first.shape) - 2]
    inputs, outputs = (g, x) if first.transposed else (x, g)
    return np.asarray(call(inputs, first.shape, outputs, **dict(first.options)))


def _rows_of(r: Normed, shape: tuple[int, ...]) -> tuple[Array, Array]:
    return r.g.array().reshape(-1, *shape), r.x.array().reshape(-1, *shape)


def _normed(records: Sequence[Normed]) -> Array:
    first = records[0]
    if any((r.norm, r.options, r.shape) != (first.norm, first.options, first.shape) for r in records):
        raise Uncovered("a weight of several norms")
    ones = np.ones(first.shape, first.x.array().dtype)
    if first.norm in ("layer_norm", "rms_norm"):
        pairs = [_rows_of(r, first.shape) for r in records]
        g, x = (_joined([p[i] for p in pairs], 0) for i in (0, 1))
        call: Callable[..., Any] = getattr(nn, f"{first.norm}_backward")
        return np.asarray(call(g, x, first.shape, ones, *first.options)[1])
    if first.norm == "group_norm":
        g, x = (_joined([getattr(r, name).array() for r in records], 0) for name in ("g", "x"))
        return np.asarray(nn.group_norm_backward(g, x, first.options[0], ones, first.options[1])[1])
    if len(records) > 1:
        raise Uncovered("a batch norm of several batches, since its set is the whole batch")
    mean, variance, training, eps = first.options
    known = [None if v is None else v.array() for v in (mean, variance)]
    return np.asarray(nn.batch_norm_backward(first.g.array(), first.x.array(), known[0], known[1], ones, training, eps)[1])
