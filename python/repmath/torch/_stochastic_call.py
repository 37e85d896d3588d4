"""A call of an operator in a block of stochastic(): what has its words, and rounds by them."""

import math
from typing import Any

import numpy as np
import torch

from .. import _random_modes, rounding
from .._random_balls import Last
from . import _stochastic_formulas, _stochastic_rows
from ._tensors import FORMATS
from ._tensors import array_inside as as_array


class _Lacks(Exception):
    """An operator, or its arguments, without this rounding."""


def _products_added(*values: Any) -> Any:
    """The sum of products of pairs."""
    total = values[0] * values[1]
    for a, b in zip(values[2::2], values[3::2], strict=True):
        total = total + a * b
    return total


class _Place:
    """Mode, seed and stream of one call in a block of `stochastic`."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.words: dict[str, Any] = {}
        self.into: torch.Tensor | None = None  # what is changed in place
        self.by_words = block.mode in _random_modes.BY_WORDS
        self.next()

    def next(self) -> None:
        """The next array that is rounded."""
        block = self.block
        if block.calls >= 2**32:
            raise RuntimeError("a sample has at most 2**32 rounded arrays")
        self.words = {"mode": block.mode, "seed": block.seed, "stream": (block.sample << 32) + block.calls}
        block.calls += 1

    def elementwise(self, name: str, *values: Any) -> Any:
        into, self.into = self.into, None
        if into is None or not into.is_contiguous():
            return _random_modes.elementwise(name, values, out=None, where=True, **self.words)
        _random_modes.elementwise(name, values, out=as_array(into), where=True, **self.words)
        return into

    def products(self, a: Any, b: Any, dtype: Any, bias: Any = None) -> Any:
        if self.block.terms is not None and a.shape[-1] > self.block.terms:
            return _random_modes.running(a, b, terms=self.block.terms, bias=bias, dtype=dtype, **self.words)
        return self.product(a, b, dtype, bias)

    def product(self, a: Any, b: Any, dtype: Any, bias: Any = None) -> Any:
        """Of exact sums."""
        return rounding.matmul(
            a, b, self.words["mode"], bias=bias, dtype=dtype, seed=self.words["seed"], stream=self.words["stream"]
        )

    def formula(self, name: str, a: Any, *tensors: torch.Tensor) -> Any:
        """A formula of `repmath/formulas.h` of a number and tensors of one format; None where they are of another kind, many results are left open, or the mode
        asks no words."""
        words = self.words
        narrow = tensors[0].dtype in FORMATS and tensors[0].dtype is not torch.float64
        if not isinstance(a, (int, float)) or not narrow or not self.by_words:
            return None
        into = self.into if words["mode"] == "stochastic" else None
        place = _random_modes.place(words["mode"], words["seed"], words["stream"])
        arrays = [as_array(t) for t in tensors]
        if any(v.shape != arrays[0].shape for v in arrays):
            arrays = list(np.broadcast_arrays(*arrays))
        arrays = [np.ascontiguousarray(v).reshape(arrays[0].shape) for v in arrays]
        out = None if into is None else as_array(into)
        made, left = _random_modes.formula(name, float(a), arrays, place, out)
        if left.size > 256 and made is not out:
            return None
        if left.size:
            values = [v.reshape(-1)[left] for v in arrays]
            _stochastic_formulas.settle(name, float(a), values, made.reshape(-1), left, self.last(made))
        return into if out is not None and made is out else made

    def last(self, nearest: Any, skip: Any = False) -> Last:
        """What rounds the values of a formula in the place of the rounded array `nearest`, but where they are known."""
        words = self.words
        place = _random_modes.place(words["mode"], words["seed"], words["stream"])
        return Last(nearest.dtype, place, skip)

    def known(self, made: Any, nearest: Any, skip: Any) -> Any:
        return np.where(skip, nearest, made) if np.any(skip) else made

    def each(self, nearest: Any, functions: Any) -> tuple[Any, ...]:
        """The results that `nearest` has, each with words of its own."""
        found: list[Any] = [None] * len(nearest)
        first = True
        for i, function in enumerate(functions):
            if nearest[i] is not None:
                if not first:
                    self.next()
                first, found[i] = False, function()
        return tuple(found)

    def total(self, array: Any, axis: Any, keepdims: bool = False, dtype: Any = None) -> Any:
        axis, axes = axis if array.ndim else None, _axes(array, axis)
        n, terms = math.prod(array.shape[d] for d in axes), self.block.terms
        if terms is None or n <= terms:
            return _random_modes.sum(array, axis=axis, keepdims=keepdims, dtype=dtype, **self.words)
        kept = [d for d in range(array.ndim) if d not in axes]
        rows = array.transpose(*kept, *sorted(axes)).reshape(-1, n)
        shape = [1 if d in axes else m for d, m in enumerate(array.shape)] if keepdims else [array.shape[d] for d in kept]
        return np.asarray(self.products(rows, np.ones(n, rows.dtype), dtype)).reshape(shape)

    def lacks(self, reason: str) -> Exception:
        return _Lacks(reason)

    def combination(self, *terms: tuple[Any, Any], dtype: Any) -> Any:
        """The exact sum of products of pairs, elementwise, rounded once. Both of a pair are numbers that binary64 holds."""
        values = [np.asarray(v, np.float64) for pair in terms for v in pair]
        if np.dtype(dtype).itemsize < 8:
            with np.errstate(all="ignore"):  # of infinities and NaN
                plain = np.asarray(sum(a * b for a, b in zip(values[0::2], values[1::2], strict=True)))
                nearest = np.asarray(plain.astype(dtype))
            return _stochastic_rows.elementwise(self, nearest, _products_added, *values)
        columns = np.broadcast_arrays(*values)
        left = np.stack([c.reshape(-1) for c in columns[0::2]], 1)[:, None, :]
        right = np.stack([c.reshape(-1) for c in columns[1::2]], 1)[:, :, None]
        return self.product(left, right, dtype).reshape(columns[0].shape)


def _axes(array: Any, axis: Any) -> tuple[int, ...]:
    """Of an array, all by default."""
    if axis is None or not array.ndim:
        return tuple(range(array.ndim))
    return tuple(d % max(array.ndim, 1) for d in ([axis] if isinstance(axis, int) else axis))
