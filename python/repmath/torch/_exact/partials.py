"""A rank's part of a sum over ranks: a binary64 number for each element, with what bounds its error.

Of matrix products, rows that are scattered into a matrix beside them or alone, gradients of convolutions, and weights of layer, RMS and group norms the part is a sum
in binary64 with bounds for rows and columns (repmath/partials.h). Of other sums of at most binary32 numbers it is the exact sum of the rank's own terms, rounded once
to binary64: c with |c - S| <= u |c|, u = 2^-53. (All terms are multiples of 2^-298, so that no c is subnormal.) Parts are added and rounded where that is
decided (rm_join_partials). For what is not, for instance a tie, each rank makes windows of its exact sums, integers that are added; where there are none, one
rank gets the operands of all.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from ... import _partials, _reductions
from ...nn._normalization import _rms_eps
from .._aten.common import Array, Uncovered
from .._tensors import FORMATS
from .records import Convolved, Normed, Operand, Placed, Product, Received, Record, Scattered, Terms, Use, arranged, settle

# What a rank can say of a sum without the operands: nothing, numbers that are rounded once, those of norms' weights with bounds, or a matrix with bounds and windows.
# Or it has no terms.
OPERANDS, ROUNDED, NORMED, FACTORED, EMPTY = range(5)


@functools.cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(kind))


def operands_of(record: Any) -> list[Operand]:
    """The tensors that a record needs."""
    found = []
    of: Any = type(record)
    for name in _fields(of):
        value = getattr(record, name)
        if isinstance(value, Operand):
            found.append(value)
        elif isinstance(value, Record):
            found += operands_of(value)
    return found


def nbytes(uses: Sequence[Use]) -> int:
    """How much memory the operands of sums have."""
    return sum(o.nbytes for use in uses for o in operands_of(use.record))


def _rounds_to_nearest() -> bool:
    """Whether this thread's additions do, as the bounds of joined parts assume."""
    one = np.ones(2) + np.array([2.0**-54, -(2.0**-55)])
    return bool((one == 1).all())


def kind(uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> int:
    """What can be said of the sum of all of them, of this shape."""
    records = [u.record for u in uses]
    if dtype not in FORMATS or dtype is torch.float64 or not _rounds_to_nearest():
        return OPERANDS
    floats = [o for r in records for o in operands_of(r) if o.floats]
    if any(o.itemsize > 4 for o in floats):
        return OPERANDS
    if not uses:
        return EMPTY
    if len({o.format for o in floats}) == 1:
        found = _matrices(uses, shape)
        if found is not None and not all(isinstance(r, Terms) for r in found):
            return FACTORED
        if all(isinstance(r, Normed) and r.norm in ("layer_norm", "rms_norm", "group_norm") for r in records):
            alike = len({(r.norm, r.options, r.shape) for r in records if isinstance(r, Normed)}) == 1
            return NORMED if alike and 0 not in shape and all(u.layout is None for u in uses) else OPERANDS
    inner = [r.record if isinstance(r, Placed) else r for r in records]
    return ROUNDED if all(isinstance(r, (Product, Terms, Scattered, Convolved)) for r in inner) else OPERANDS


def formats(uses: Sequence[Use]) -> set[str]:
    return {o.format for u in uses for o in operands_of(u.record) if o.floats}


def kind_of_passes(uses: Sequence[Use], shape: Sequence[int], dtype: torch.dtype) -> int:
    """What a rank can hold of a sum between passes: a matrix or norms' weights with bounds, sums of terms that are rounded once, or the operands."""
    found = kind(uses, shape, dtype)
    return found if found in (FACTORED, NORMED) or (found == ROUNDED and divisible(uses)) else OPERANDS


def common(kinds: Sequence[int]) -> int:
    """What can be said of the sum over ranks that say this."""
    found = set(kinds) - {EMPTY} or {ROUNDED}
    if len(found) == 1:
        return found.pop()
    return ROUNDED if found == {ROUNDED, FACTORED} else OPERANDS


def matrix(kind: int, shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of the bounds of a sum: none where there are no other bounds than those of rounded numbers."""
    if kind == NORMED:
        return 1, math.prod(shape)
    return (shape[0], math.prod(shape[1:])) if kind == FACTORED else (0, 0)


def _matrices(uses: Sequence[Use], shape: Sequence[int]) -> list[Record] | None:
    """Records of matrices of this shape, in the order of the leaf's elements; None where a use is something else."""
    found: list[Record] = []
    if 0 in shape:
        return None
    for use in uses:
        try:
            r = arranged(use)
        except Uncovered:
            return None
        convolved = isinstance(r, Convolved) and not r.transposed and dict(r.options).get("groups") == 1
        if not convolved and not (len(shape) == 2 and isinstance(r, (Product, Scattered, Terms))):
            return None
        if math.prod(r.shape) != math.prod(shape) or (r.shape != tuple(shape) and not isinstance(r, Terms)):
            return None
        found.append(r)
    return found


def _sum(r: Record, shape: Sequence[int]) -> _partials.Sum:
    """The sum of which a rank makes a part, and windows."""
    if isinstance(r, Product):
        return _partials.product(*r.operands())
    if isinstance(r, Convolved):
        return _partials.convolved(r.x.array(), tuple(shape), r.g.array(), **dict(r.options))
    if isinstance(r, Scattered):
        index, values = r.rows()
        return _partials.scattered(values, index, shape[0])
    assert isinstance(r, Terms)
    rows = r.rows().reshape(-1, shape[1])
    return _partials.scattered(rows, np.tile(np.arange(shape[0]), len(rows) // max(shape[0], 1)), shape[0])


def _together(records: Sequence[Record]) -> list[Record]:
    """The same sum, in which matrix products are one of longer rows."""
    products = [r.operands() for r in records if isinstance(r, Product)]
    if len(products) < 2:
        return list(records)
    a, b = (Received(np.concatenate([p[i] for p in products], 1 - i)) for i in (0, 1))
    shape = next(r.shape for r in records if isinstance(r, Product))
    return [Product(a, b, shape), *(r for r in records if not isinstance(r, Product))]


def part(uses: Sequence[Use], shape: Sequence[int], kind: int, joins: int | None = None) -> tuple[Array, Array]:
    """The elements of a sum, and the bounds of the rows and of the columns of `matrix`, of the kind that is common to all ranks.
    Bounds allow for so many additions on the way to a sum of parts of this rank, by default those of the uses."""
    if not uses:
        return np.zeros(math.prod(shape)), np.zeros(sum(matrix(kind, shape)))
    if joins is None:
        joins = len(uses) - 1
    if kind == FACTORED:
        made = [_sum(r, shape).part(joins) for r in _together(_matrices(uses, shape) or ())]
    elif kind == NORMED:
        made = [_norm_weight([u.record for u in uses if isinstance(u.record, Normed)]).part(joins)]
    else:
        alike = all(isinstance(u.record, Terms) for u in uses)
        wide = uses if alike else [Use(_widened(u.record), u.layout) for u in uses]
        value: Array = settle(wide, shape, torch.float64).numpy().reshape(-1)
        return value, np.empty(0)
    sums, rows, cols = made[0]
    if any(not isinstance(u.record, Product) for u in uses):
        made = [_partials.Part(m.sums, *balanced(m.rows, m.cols)) for m in made]
        _, rows, cols = made[0]
    with np.errstate(all="ignore"):
        for other in made[1:]:  # joined as those of several ranks
            sums, rows, cols = sums + other.sums, rows + other.rows, cols + other.cols
    return sums.reshape(-1), np.concatenate([rows, cols.reshape(-1)])


def balanced(rows: Array, cols: Array) -> tuple[Array, Array]:
    """Bounds whose products are the same, and whose largest numbers are alike: rows of a scattered sum do not meet columns of a
    product that are far greater.

    They are scaled by a power of two, which is exact: numbers that are not 0 are at least 2^-406 and at most 2^300 or so
    (bound_b64.h, src/blas/partials.c), and the factor is within 2^353 and its inverse, so that nothing is subnormal or overflows."""
    r, c = (float(v.max(initial=0.0)) for v in (rows, cols))
    if not (r and c and math.isfinite(r) and math.isfinite(c)):
        return rows, cols
    factor = 2.0 ** ((math.frexp(c)[1] - math.frexp(r)[1]) // 2)
    return rows * factor, cols * (1.0 / factor)


def windows(uses: Sequence[Use], shape: Sequence[int], elements: Array) -> Array:
    """The exact sums of some elements of a sum of kind FACTORED, as integers that are added over ranks."""
    found = np.zeros((len(elements), _partials.WINDOW), np.int64)
    for r in _matrices(uses, shape) or ():
        found += _sum(r, shape).windows(elements)
    return found


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


def _norm_weight(records: Sequence[Normed]) -> _partials.Sum:
    """Norms of a longer batch, as four axes: those of sets, blocks and elements."""
    first = records[0]
    pairs = [(r.g.array(), r.x.array()) for r in records]
    split: tuple[int, ...]  # of what follows the first axis of an array
    if first.norm == "group_norm":
        (c,), (groups, eps) = first.shape, first.options
        blocks = c // groups
        split = groups, blocks, -1
    else:
        (eps,) = first.options
        blocks = 0
        split = 1, 1, math.prod(first.shape)

    def sets(a: Array) -> Array:
        return a.reshape(a.shape[0] if blocks else -1, *split)

    g, x = (np.concatenate([sets(p[i]) for p in pairs]) if len(pairs) > 1 else sets(pairs[0][i]) for i in (0, 1))
    return _partials.normed(g, x, blocks, first.norm != "rms_norm", _rms_eps(eps, x))


def joined(parts: Array, bounds: tuple[int, Array, Array] | None, dtype: torch.dtype) -> tuple[Array, Array]:
    """The rounded sums of the rows of `parts`, and the places in it of those that are not decided. `bounds` has the sums of the parts' bounds of rows and of columns,
    and where the elements lie in them from on."""
    if bounds is None:
        return _partials.joined(parts, FORMATS[dtype])
    return _partials.joined(parts, FORMATS[dtype], bounds[0], bounds[1:])


# --- what is not decided, and has no windows

# So many terms of single elements are in memory at once.
_TERMS = 1 << 20


def decided_at(uses: Sequence[Use], elements: Array, shape: Sequence[int], dtype: torch.dtype) -> Array | None:
    """Elements of a sum of kind FACTORED, or of terms, of which this rank has all operands: exact sums of their terms, rounded once.
    A product of two numbers of binary32 is exact in binary64, and a row that is added elsewhere counts as zero. None where terms of
    elements are not at hand, as of convolutions."""
    records = [r for r in map(arranged, uses) if not isinstance(r, Convolved)]
    if len(records) < len(uses):
        return None
    made = np.empty(len(elements), FORMATS[dtype])
    found = [_terms_of(r, math.prod(shape[1:])) for r in records]
    some = max(1, _TERMS // max(1, sum(n for n, _ in found)))
    for first in range(0, len(elements), some):
        at = elements[first : first + some]
        terms = np.concatenate([of(at) for _, of in found], axis=1)
        made[first : first + some] = _reductions.sum(terms, axis=1, dtype=FORMATS[dtype])
    return made


def _terms_of(r: Record, width: int) -> tuple[int, Callable[[Array], Array]]:
    """How many terms an element has, and a function of elements that returns those of each as a row of binary64."""
    if isinstance(r, Product):
        a, b = r.operands()
        return a.shape[1], lambda at: a[at // width].astype(np.float64) * b[:, at % width].T
    if isinstance(r, Terms):
        rows = r.rows()
        return len(rows), lambda at: rows[:, at].T.astype(np.float64)
    assert isinstance(r, Scattered)
    index, values = r.rows()
    return len(index), lambda at: np.where(index == (at // width)[:, None], values[:, at % width].T, 0.0).astype(np.float64)


def divisible(uses: Sequence[Use]) -> bool:
    """Whether `some_of` has less than all operands."""
    try:
        return all(isinstance(arranged(u), Terms) for u in uses)
    except Uncovered:
        return False


def some_of(uses: Sequence[Use], elements: Array) -> list[Use]:
    """Records of some elements of a sum of terms."""
    records = [r for r in map(arranged, uses) if isinstance(r, Terms)]
    return [Use(Terms(Received(r.rows()[:, elements]), (0,), (len(elements),), name=r.name)) for r in records]


def settled_at(uses: Sequence[Use], elements: Array, shape: Sequence[int], dtype: torch.dtype, few: bool) -> torch.Tensor:
    """Elements of a sum, of all operands or, if `few`, of those that `some_of` has."""
    if few:
        return settle(uses, (len(elements),), dtype)
    return settle(uses, shape, dtype).reshape(-1)[torch.from_numpy(elements)]
