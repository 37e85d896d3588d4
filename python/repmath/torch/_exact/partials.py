"""A rank's part of a sum over ranks: a binary64 number for each element, with what bounds its error.

Of sums, scattered sums and convolutions of at most binary32 numbers the part is the exact sum of the rank's own terms, rounded once to binary64:
c with |c - S| <= u |c|, u = 2^-53. (All terms are multiples of 2^-298, so that no c is subnormal.) Of matrix products it is a sum in binary64 with bounds for rows and
columns (repmath/partials.h), and of weights of layer and RMS norms one with the bound that `_norm_weight` derives. Parts of W ranks are added in binary64 in any order: the sum s of the numbers has an error of at most
(W - 1) u sum|c|, to which the bounds of the parts are added. An element is decided if s minus and s plus all this round to the same number, since rounding
is monotone. What is not decided, for instance a tie, is summed by one rank from the operands of all.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ... import _partials, _reductions
from .._aten.common import Array, Uncovered
from .._tensors import FORMATS
from .records import Convolved, Normed, Operand, Placed, Product, Received, Record, Scattered, Terms, Use, arranged, settle

UNIT = 2.0**-53
# Bounds are computed in binary64 themselves, from at most 2^20 terms with errors of 2^-53 each.
_SLACK = 1 + 2.0**-30
# Below, a binary32 number may be subnormal, which a processor that flushes such numbers would not give.
_SMALL = 2.0**-125

# What a rank can say of a sum without the operands: nothing, numbers that are rounded once, numbers with a bound for each, a matrix with bounds for rows and
# columns. Or it has no terms.
OPERANDS, ROUNDED, BOUNDED, FACTORED, EMPTY = range(5)


def operands_of(record: Any) -> list[Operand]:
    """The tensors that a record needs."""
    found = []
    for f in dataclasses.fields(record):
        value = getattr(record, f.name)
        if isinstance(value, Operand):
            found.append(value)
        elif isinstance(value, Record):
            found += operands_of(value)
    return found


def nbytes(uses: Sequence[Use]) -> int:
    """How much memory the operands of sums have."""
    return sum(o.nbytes for use in uses for o in operands_of(use.record))


def _rounds_to_nearest() -> bool:
    """Whether this thread's additions do, as the bounds assume."""
    one = np.ones(2) + np.array([2.0**-54, -(2.0**-55)])
    return bool((one == 1).all())


def kind(uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> int:
    """What can be said of the sum of all of them, of this shape."""
    records = [u.record for u in uses]
    if dtype not in FORMATS or dtype is torch.float64 or not _rounds_to_nearest():
        return OPERANDS
    if any(o.itemsize > 4 for r in records for o in operands_of(r) if o.floats):
        return OPERANDS
    if not uses:
        return EMPTY
    if _products(uses, shape) is not None:
        return FACTORED
    inner = [r.record if isinstance(r, Placed) else r for r in records]
    if all(isinstance(r, (Product, Terms, Scattered, Convolved)) for r in inner):
        return ROUNDED
    if all(isinstance(r, Normed) and r.norm in ("layer_norm", "rms_norm") and r.options[0] is not None for r in records):
        if len({(r.norm, r.options, r.shape) for r in records if isinstance(r, Normed)}) == 1:
            return BOUNDED
    return OPERANDS


def common(kinds: Sequence[int]) -> int:
    """What can be said of the sum over ranks that say this."""
    found = set(kinds) - {EMPTY} or {ROUNDED}
    if OPERANDS in found or len(found) == 1:
        return min(found)
    return BOUNDED if BOUNDED in found else ROUNDED


def _products(uses: Sequence[Use], shape: Sequence[int]) -> list[Product] | None:
    """Matrix products of one format and this shape, in the order of the leaf's elements; None where a use is something else."""
    found = []
    for use in uses:
        try:
            r = arranged(use)
        except Uncovered:
            return None
        if not isinstance(r, Product) or r.shape != tuple(shape) or len({o.format for o in operands_of(r)}) > 1:
            return None
        found.append(r)
    return found


def bounds_of(kind: int, shape: Sequence[int], n: int) -> int:
    """How many bounds belong to n elements of a sum."""
    return {BOUNDED: n, FACTORED: sum(shape)}.get(kind, 0)


def part(uses: Sequence[Use], shape: Sequence[int], kind: int) -> tuple[Array, Array]:
    """The elements of a sum, and the bounds of their errors, of the kind that is common to all ranks: none where these are u times the elements, one for each, or
    those of the rows and of the columns."""
    size = int(np.prod(shape, dtype=np.int64))
    if not uses:
        return np.zeros(size), np.zeros(bounds_of(kind, shape, size))
    if kind == FACTORED:
        return _product(_products(uses, shape) or [], shape)
    with np.errstate(all="ignore"):
        if isinstance(uses[0].record, Normed):
            return _norm_weight([u.record for u in uses if isinstance(u.record, Normed)])
        if all(isinstance(u.record, Terms) for u in uses):
            wide = list(uses)
        else:
            wide = [Use(_widened(u.record), u.layout) for u in uses]
        value: Array = settle(wide, shape, torch.float64).numpy().reshape(-1)
        return value, UNIT * np.abs(value) if kind == BOUNDED else np.empty(0)


def _product(records: Sequence[Product], shape: Sequence[int]) -> tuple[Array, Array]:
    """Sums of several products are joined as those of several ranks: bounds are added up, and allow for these additions."""
    value, bounds = np.zeros(tuple(shape)), np.zeros(sum(shape))
    for i, r in enumerate(records):
        p = _partials.product(*r.operands(), len(records) - 1)
        value = p.sums if i == 0 else value + p.sums
        bounds += np.concatenate([p.rows, p.cols])
    return value.reshape(-1), bounds


def _widened(record: Any) -> Any:
    """The record with operands of binary64."""
    changed: dict[str, Any] = {}
    for f in dataclasses.fields(record):
        value = getattr(record, f.name)
        if isinstance(value, Operand) and value.floats:
            changed[f.name] = Received(value.array().astype(np.float64))
        elif isinstance(value, Record):
            changed[f.name] = _widened(value)
    return dataclasses.replace(record, **changed)


def _norm_weight(records: Sequence[Normed]) -> tuple[Array, Array]:
    """Sums over rows of g (x - m) r with m the mean of the row's n elements (0 for RMS norms), r = 1/sqrt(v), v = mean((x - m)^2) + eps, and bounds.

    With u = 2^-53, and hats for what is computed. The row's sum is rounded once, and divided: |m^ - m| <= 2.01 u |m^|. So d^ = x - m^ has an error of at most
    e = u (|d^| + 2.02 |m^|). The sum of the n squares d^2 has one of at most E = sum(2 |d^| e + e^2) + (n + 1) u sum(d^2), and v^ one of
    E/n + 3 u v^ = p v^. While p <= 1/8, r^ has a relative error of at most 3 u + p, since (1 - p)^(-1/2) <= 1 + p there. A term g d^ r^, of two products, has then one
    of at most |g r^| (|d^| (p + 6 u) + (1 + p) e), and adding T terms one of T u times the sum of their absolute values. Nothing underflows: elements are multiples
    of 2^-149. Bounds are computed with relative errors far below 1/64, by which they are enlarged.
    """
    first = records[0]
    shape, eps = first.shape, float(first.options[0])
    pairs = [(r.g.array().reshape(-1, *shape), r.x.array().reshape(-1, *shape)) for r in records]
    g, x = (
        np.concatenate([p[i] for p in pairs]).astype(np.float64).reshape(-1, int(np.prod(shape, dtype=np.int64)))
        for i in (0, 1)
    )
    t, n = x.shape
    m = np.asarray(_reductions.sum(x, axis=1))[:, None] / n if first.norm == "layer_norm" else np.zeros((t, 1))
    d = x - m
    size = np.abs(d)
    e = UNIT * (size + 2.02 * np.abs(m)) if first.norm == "layer_norm" else np.zeros_like(d)
    squares = (d * d).sum(1, keepdims=True)
    v = squares / n + eps
    p = (((2 * size + e) * e).sum(1, keepdims=True) + (n + 1) * UNIT * squares) / n / v + 3 * UNIT
    r = np.where(p <= 0.125, 1 / np.sqrt(v), np.nan)
    slopes = g * r
    terms = slopes * d
    bound = (np.abs(slopes) * (size * (p + 6 * UNIT) + (1 + p) * e)).sum(0) + t * UNIT * np.abs(terms).sum(0)
    return terms.sum(0), bound * (1 + 2.0**-6)


def of_elements(rows: Array, cols: Array, first: int, count: int) -> Array:
    """The bounds of elements of a matrix, by the bounds of its rows and columns."""
    n = len(cols)
    if n == 0:
        return np.empty(0)
    begin, end = first // n, -(-(first + count) // n)
    with np.errstate(all="ignore"):
        made: Array = np.multiply.outer(np.sqrt(rows[begin:end]), np.sqrt(cols)).reshape(-1)
    return made[first - begin * n :][:count]


def error_of(ranks: int, size: Array, bounds: Array | None) -> Array:
    """How far a sum of parts, whose magnitudes add up to `size`, is from what they stand for at most. Of the last step, sum -+ this, too, whose result is at most
    2 size."""
    if bounds is None:
        return np.asarray(((2 * ranks + 4) * UNIT * _SLACK) * size)
    return np.asarray(((ranks + 4) * UNIT * size + bounds) * _SLACK)


def joined(parts: Array, bounds: Array | None, dtype: torch.dtype) -> tuple[Array, Array]:
    """The rounded sums of the rows of `parts`, and which of them are not decided. `bounds` has the sums of the parts' bounds."""
    ranks, n = parts.shape
    with np.errstate(all="ignore"):
        total, size = parts.sum(0) + 0.0, np.abs(parts).sum(0)
        bound = error_of(ranks, size, bounds)
        lower, upper = (_rounded(v, dtype) for v in (total - bound, total + bound))
        bits = np.dtype(f"u{lower.itemsize}")
        open_ = (lower.view(bits) != upper.view(bits)) | ~np.isfinite(size + bound)
        open_ |= (size != 0) & (np.abs(total) < _SMALL)
        if bounds is not None:
            open_ |= (bounds != 0) & (np.abs(total) < _SMALL)
    return lower, open_


def _rounded(a: Array, dtype: torch.dtype) -> Array:
    if dtype is torch.float32:
        return a.astype(np.float32)
    return np.asarray(_reductions.sum(a[None], axis=0, dtype=FORMATS[dtype]))


# --- what is not decided


def divisible(uses: Sequence[Use]) -> int:
    """Whether `some_of` has less than all operands: 1 of products, 2 of terms, 0 of others; 3 where there is nothing."""
    try:
        records = [arranged(u) for u in uses]
    except Uncovered:
        return 0
    return all(isinstance(r, Product) for r in records) + 2 * all(isinstance(r, Terms) for r in records)


def some_of(uses: Sequence[Use], elements: Array) -> list[Use]:
    """Records of some elements of a sum: rows and columns of a product in which they lie, or terms."""
    found = []
    for use in uses:
        r = arranged(use)
        if isinstance(r, Product):
            a, b = r.operands()
            rows, cols = (np.unique(v) for v in np.divmod(elements, r.shape[1]))
            found.append(Use(Product(Received(a[rows]), Received(b[:, cols]), (len(rows), len(cols)), name=r.name)))
        elif isinstance(r, Terms):
            found.append(Use(Terms(Received(r.rows()[:, elements]), (0,), (len(elements),), name=r.name)))
    return found


def settled_at(uses: Sequence[Use], elements: Array, shape: Sequence[int], dtype: torch.dtype, few: bool) -> torch.Tensor:
    """Elements of a sum, of all operands or, if `few`, of those that `some_of` has."""
    if not few:
        return settle(uses, shape, dtype).reshape(-1)[torch.from_numpy(elements)]
    if isinstance(uses[0].record, Terms):
        return settle(uses, (len(elements),), dtype)
    rows, cols = np.divmod(elements, shape[1])
    (own_rows, at), (own_cols, to) = (np.unique(v, return_inverse=True) for v in (rows, cols))
    made = settle(uses, (len(own_rows), len(own_cols)), dtype)
    return made[torch.from_numpy(at), torch.from_numpy(to)]
