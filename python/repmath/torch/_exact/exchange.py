"""Exact gradients over ranks: sums of records of all ranks, rounded once.

There are two ways. Each rank makes its part of a sum as binary64 numbers with bounds (partials.py), and the sum's elements are divided among the
ranks: each gets its share of all parts, and adds and rounds them. For elements that this leaves undecided it gets windows or operands. Where operands are
shorter than parts, or a part cannot be made, the parameter has an owner instead, which gets the operands of all ranks and makes the sum. Then
the results are given to all, or each rank gets its part of them. Which way a parameter takes depends on what all ranks say of it.
"""

import math
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch

from ... import _partials
from .._aten.collectives import _gathered, agree
from .._aten.common import Array, Uncovered
from .._tensors import as_tensor
from . import partials
from .held import Held, extended, rounded
from .records import Use, settle

_T = TypeVar("_T")


def owners(sizes: Sequence[int], ranks: int) -> list[int]:
    """An owner for each of so many elements: the next largest goes to the rank that has the fewest."""
    load = [0] * ranks
    made = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        made[i] = min(range(ranks), key=lambda r: (load[r], r))
        load[made[i]] += sizes[i]
    return made


class _Errors:
    """Keeps the first error inside of it, as the text that all ranks shall have: they go on to the next agreement together."""

    def __init__(self) -> None:
        self.text = ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if isinstance(error, Exception):
            self.text = self.text or (str(error) if isinstance(error, Uncovered) else f"{type(error).__name__}: {error}")
        return error is None or isinstance(error, Exception)


def _empty(n: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    return torch.empty(n, dtype=dtype)


def _with_room(group: Any, make: Callable[[], _T]) -> _T:
    """What is made before ranks send anything into it: where one has no memory for it, that is the error of all."""
    errors = _Errors()
    made: Any = None
    with errors:
        made = make()
    agree(group, (11,), errors.text)
    return made  # type: ignore[no-any-return]


def _exchanged(group: Any, parts: Sequence[bytes]) -> list[memoryview]:
    """Bytes for each rank; those that each rank has for this one."""
    lengths = _gathered(group, torch.tensor([len(p) for p in parts])).tolist()
    incoming = [row[group.rank()] for row in lengths]

    def room() -> tuple[torch.Tensor, torch.Tensor]:
        sent, first = _empty(sum(map(len, parts))), 0
        for p in parts:
            if p:
                sent[first : first + len(p)] = torch.frombuffer(bytearray(p), dtype=torch.uint8)
            first += len(p)
        return sent, _empty(sum(incoming))

    sent, received = _with_room(group, room)
    group.alltoall_base(received, sent, incoming, [len(p) for p in parts]).wait()
    found, made, first = memoryview(received.numpy()), [], 0
    for n in incoming:
        made.append(found[first : first + n])
        first += n
    return made


def gathered_arrays(group: Any, place: int, a: Array) -> list[tuple[int, Array]]:
    """The arrays of all ranks, with their places."""
    agree(group, (9, a.ndim, *a.shape[1:3]))
    data = _with_room(group, lambda: pickle.dumps((place, np.ascontiguousarray(a)), protocol=5))
    return [pickle.loads(part) for part in _exchanged(group, [data] * group.size())]


def part_of(n: int, ranks: int, rank: int) -> tuple[int, int]:
    """First place and length of a rank's part of n places, as torch.chunk divides: none for the last ones where there are too few."""
    share = -(-n // ranks)
    first = min(rank * share, n)
    return first, min(share, n - first)


# Sums that are exchanged together have so many elements, but for a larger one: what is sent is in memory twice.
_TOGETHER = 1 << 19


@dataclass
class _Sum:
    """A sum over ranks: the gradient of a leaf."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    uses: Sequence[Use]
    held: Held | None  # what there is of the first uses
    axis: int | None  # along which the result is divided; None if each rank gets all of it
    kind: int = partials.OPERANDS
    few: bool = False  # whether operands of single elements can be sent, where there are no windows
    owner: int = -1
    made: Any = None  # the owner's result, or this rank's share
    size: int = field(init=False)

    def __post_init__(self) -> None:
        self.size = math.prod(self.shape)

    def share(self, flat: Array, ranks: int, rank: int) -> Array:
        """A rank's share of the elements."""
        if self.axis is None:
            first, count = part_of(self.size, ranks, rank)
            return flat[first : first + count]
        first, count = part_of(self.shape[self.axis], ranks, rank)
        whole = flat.reshape(self.shape)
        return whole[(slice(None),) * self.axis + (slice(first, first + count),)].reshape(-1)

    def places(self, found: Array, ranks: int, rank: int) -> Array:
        """Where elements of a rank's share lie in the sum."""
        if self.axis is None:
            return part_of(self.size, ranks, rank)[0] + found
        return self.share(np.arange(self.size), ranks, rank)[found]

    def bounds_of_share(self, joined: Array, ranks: int, rank: int) -> tuple[int, Array, Array] | None:
        """Bounds of rows and columns for a rank's share of the elements, and the place in them where it begins; None where numbers are rounded once."""
        rows = partials.matrix(self.kind, self.shape)[0]
        if not rows:
            return None
        of_rows, of_cols = joined[:rows], joined[rows:]
        if self.axis is None:
            return part_of(self.size, ranks, rank)[0], of_rows, of_cols
        first, count = part_of(self.shape[self.axis], ranks, rank)
        if self.axis == 0:
            return first * (self.size // self.shape[0]), of_rows, of_cols
        shape = self.shape if rows == 1 and self.kind == partials.NORMED else self.shape[1:]
        ahead = (slice(None),) * (self.axis - len(self.shape) + len(shape))
        return 0, of_rows, of_cols.reshape(shape)[(*ahead, slice(first, first + count))].reshape(-1)

    def part(self) -> tuple[Array, Array]:
        """This rank's part, and the bounds of its rows and columns."""
        if (
            self.held is not None and self.held.kind == self.kind != partials.ROUNDED
        ):  # what is held of these is not rounded once
            found = extended(self.held, self.uses, self.shape, self.kind)
            return found.sums, found.bounds
        return partials.part(self.uses, self.shape, self.kind)

    def numbers(self, ranks: int, rank: int) -> int:
        """How many numbers each rank sends for the share of one."""
        return self.length(ranks, rank) + sum(partials.matrix(self.kind, self.shape))

    def length(self, ranks: int, rank: int) -> int:
        if self.axis is None:
            return part_of(self.size, ranks, rank)[1]
        n = self.shape[self.axis]
        return part_of(n, ranks, rank)[1] * (self.size // n) if n else 0


def reduced(
    group: Any,
    leaves: Sequence[torch.Tensor],
    uses: Sequence[Sequence[Use]],
    axes: Sequence[int] | None = None,
    problem: str = "",
    holds: Sequence[Held | None] | None = None,
) -> list[torch.Tensor]:
    """The gradients of leaves of all ranks: RN of one exact sum of all uses on all of them. With axes, this rank's parts of them.

    A problem of this rank is an error of all. `holds` has what there is of the sums of former passes.
    """
    size, rank = group.size(), group.rank()
    along: Sequence[int | None] = axes or [None] * len(leaves)
    known = holds or [None] * len(leaves)
    sums = [_Sum(tuple(p.shape), p.dtype, u, h, a) for p, u, h, a in zip(leaves, uses, known, along, strict=True)]
    agree(
        group,
        (7, len(sums), sum(s.size for s in sums), sum(s.size * (i + 1) for i, s in enumerate(sums))),
        problem,
    )
    errors = _Errors()
    if size == 1:
        with errors:
            for s in sums:
                if s.held is None:
                    s.made = settle(s.uses, s.shape, s.dtype)
                else:
                    s.made, s.held = rounded(s.held, s.uses, s.shape, s.dtype)
        agree(group, (8,), errors.text)
        return [s.made for s in sums]
    _choose(group, sums)
    by_parts, by_operands = ([s for s in sums if (s.owner < 0) == way] for way in (True, False))
    open_: list[tuple[int, Array]] = []
    batches = _batches(by_parts)
    if batches:  # one room for all of them, since each agreement on a new one would make the ranks wait for the slowest
        lengths = [[sum(s.numbers(size, r) for s in together) for r in range(size)] for together in batches]
        rooms = max(map(sum, lengths)), size * max(n[rank] for n in lengths)
        sent, received = _with_room(group, lambda: [_empty(n, torch.float64) for n in rooms])
        for together, n in zip(batches, lengths, strict=True):
            open_ += _exchange_parts(group, together, n, sent[: sum(n)], received[: size * n[rank]], errors)
        del sent, received
    _exchange_operands(group, by_operands, errors)
    agree(group, (8,), errors.text)
    numbers = {id(s): i for i, s in enumerate(sums)}
    _decide(group, sums, {numbers[i]: v for i, v in open_})
    return _shared(group, sums, rank) if axes is None else _divided(group, sums)


def _choose(group: Any, sums: Sequence[_Sum]) -> None:
    """Which way each sum takes: that on which fewer bytes are sent."""
    size = group.size()
    mine = [[partials.kind(s.uses, s.shape, s.dtype), partials.nbytes(s.uses), partials.divisible(s.uses)] for s in sums]
    of_all = _gathered(group, torch.tensor(mine, dtype=torch.int64).reshape(-1)).reshape(size, len(sums), 3)
    owned = []
    for i, s in enumerate(sums):
        kinds, lengths, few = of_all[:, i].T.tolist()
        s.kind = partials.common(kinds)
        s.few = all(few)
        of_parts = 8 * (s.size + sum(partials.matrix(s.kind, s.shape))) * (size - 1)
        if s.kind == partials.OPERANDS or sum(lengths) - max(lengths) <= of_parts:
            owned.append(s)
    for s, owner in zip(owned, owners([s.size for s in owned], size), strict=True):
        s.owner = owner


def _batches(sums: Sequence[_Sum]) -> list[list[_Sum]]:
    """Sums that are exchanged at once."""
    made: list[list[_Sum]] = []
    room = 0
    for s in sums:
        if s.size > room:
            made.append([])
            room = _TOGETHER
        made[-1].append(s)
        room -= s.size
    return made


def _exchange_parts(
    group: Any, sums: Sequence[_Sum], lengths: list[int], sent: torch.Tensor, received: torch.Tensor, errors: _Errors
) -> list[tuple[int, Array]]:
    """Give each rank its share of the parts of sums, of so many numbers; add and round this rank's. Which elements of which sums are not decided.
    `sent` and `received` are room for that."""
    size, rank = group.size(), group.rank()
    ends = np.cumsum(lengths).tolist()
    at = [end - n for n, end in zip(lengths, ends, strict=True)]
    outgoing, incoming = sent.numpy(), received.numpy()
    for s in sums:
        made: tuple[Array, Array] | None = None
        with errors:
            made = s.part()
        for r in range(size):
            n, end = s.length(size, r), at[r] + s.numbers(size, r)
            if made is None:  # the error is to be that of all ranks
                outgoing[at[r] : end] = np.nan
            else:
                outgoing[at[r] : at[r] + n] = s.share(made[0], size, r)
                outgoing[at[r] + n : end] = made[1]
            at[r] = end
    group.alltoall_base(received, sent, [lengths[rank]] * size, lengths).wait()
    rows, first, open_ = incoming.reshape(size, -1), 0, []
    for s in sums:
        n = s.length(size, rank)
        with errors:
            end = first + s.numbers(size, rank)
            with np.errstate(all="ignore"):
                bounds = s.bounds_of_share(rows[:, first + n : end].sum(0), size, rank)
            s.made, undecided = partials.joined(rows[:, first : first + n], bounds, s.dtype)
            open_.append((id(s), undecided))
        first += s.numbers(size, rank)
    return open_


def _exchange_operands(group: Any, sums: Sequence[_Sum], errors: _Errors) -> None:
    """Give each sum's owner the operands of all ranks; make those that this rank owns."""
    size, rank = group.size(), group.rank()
    if not sums:
        return
    of_rank: dict[int, list[Use]] = {i: list(s.uses) for i, s in enumerate(sums) if s.owner == rank}
    data = [b""] * size
    with errors:
        data = [
            pickle.dumps([(i, s.uses) for i, s in enumerate(sums) if s.owner == r != rank], protocol=5) for r in range(size)
        ]
    received = _exchanged(group, data)
    del data
    if errors.text:
        return
    with errors:
        for part in filter(None, received):  # another rank's error leaves nothing
            for i, found in pickle.loads(part):
                of_rank[i].extend(found)
        for i, uses in of_rank.items():
            s = sums[i]
            s.made = settle(uses, s.shape, s.dtype)


def _decide(group: Any, sums: Sequence[_Sum], open_: dict[int, Array]) -> None:
    """Make the elements that are not decided from windows, or from the operands, of all ranks."""
    size, rank = group.size(), group.rank()
    counts = torch.tensor([len(open_.get(i, ())) for i in range(len(sums))], dtype=torch.int64)
    of_all = _gathered(group, counts)
    most = int(of_all.sum(1).max())
    if not most:
        return
    errors = _Errors()

    def room() -> tuple[torch.Tensor, torch.Tensor]:
        mine = _empty(most, torch.int64).zero_()
        first = 0
        for i, v in sorted(open_.items()):
            mine[first : first + len(v)] = torch.from_numpy(sums[i].places(v, size, rank))
            first += len(v)
        return mine, _empty(size * most, torch.int64)

    mine, rows = _with_room(group, room)
    group._allgather_base(rows, mine).wait()
    places = rows.view(size, -1).numpy()
    asked: list[dict[int, Array]] = []
    for r in range(size):
        ends = np.cumsum(of_all[r].numpy())
        asked.append({i: places[r, e - n : e] for i, (n, e) in enumerate(zip(of_all[r].tolist(), ends, strict=True)) if n})
    data = [b""] * size
    with errors:
        said = [_of_elements(s, [of_rank.get(i) for of_rank in asked]) for i, s in enumerate(sums)]
        data = [pickle.dumps({i: said[i][r] for i in asked[r]}, protocol=5) for r in range(size)]
    received = _exchanged(group, data)
    if not errors.text:
        with errors:
            found: dict[int, list[Any]] = {}
            for part in filter(None, received):
                for i, one in pickle.loads(part).items():
                    found.setdefault(i, []).append(one)
            for i, elements in asked[rank].items():
                s = sums[i]
                if s.kind == partials.FACTORED:
                    _partials.decide(s.made, open_[i], sum(found[i]))
                    continue
                uses = [use for part in found[i] for use in part]
                exact = partials.settled_at(uses, elements, s.shape, s.dtype, s.few)
                as_tensor(s.made)[torch.from_numpy(open_[i])] = exact
    agree(group, (10,), errors.text)


def _of_elements(s: _Sum, asked: Sequence[Array | None]) -> list[Any]:
    """What this rank says to each of the elements that it has not decided."""
    some = [e for e in asked if e is not None]
    if some and s.kind == partials.FACTORED:  # at once, since operands must be found and checked for each call
        windows = partials.windows(s.uses, s.shape, np.concatenate(some))
        return np.split(windows, np.cumsum([0 if e is None else len(e) for e in asked[:-1]]))
    return [None if e is None else partials.some_of(s.uses, e) if s.few else list(s.uses) for e in asked]


def _bytes(made: Any) -> Array:
    t = as_tensor(made) if isinstance(made, np.ndarray) else made
    view: Array = t.contiguous().view(-1).view(torch.uint8).numpy()
    return view


def _shared(group: Any, sums: Sequence[_Sum], rank: int) -> list[torch.Tensor]:
    """What all ranks have made, on each of them."""
    size = group.size()

    def held(s: _Sum, r: int) -> int:
        return int(s.dtype.itemsize) * (s.length(size, r) if s.owner < 0 else s.size * (s.owner == r))

    most = max(sum(held(s, r) for s in sums) for r in range(size))
    mine, rows, *flat = _with_room(group, lambda: [_empty(n) for n in (most, size * most, *map(_nbytes, sums))])
    first = 0
    for s in sums:
        n = held(s, rank)
        if n:
            mine[first : first + n] = torch.from_numpy(_bytes(s.made))
        first += n
        s.made = None
    group._allgather_base(rows, mine).wait()
    at = [r * most for r in range(size)]
    for s, whole in zip(sums, flat, strict=True):
        first = 0
        for r in range(size):
            n = held(s, r)
            whole[first : first + n] = rows[at[r] : at[r] + n]
            first += n
            at[r] += n
    return [whole.view(s.dtype).view(s.shape) for s, whole in zip(sums, flat, strict=True)]


def _nbytes(s: _Sum) -> int:
    return int(s.size * s.dtype.itemsize)


def _divided(group: Any, sums: Sequence[_Sum]) -> list[torch.Tensor]:
    """This rank's parts of what owners have made, beside those that it has made itself."""
    size, rank = group.size(), group.rank()
    owned = [s for s in sums if s.owner >= 0]

    def room() -> tuple[list[bytes], list[torch.Tensor]]:
        mine = [(s, _bytes(s.made).view(f"V{s.dtype.itemsize}")) for s in owned if s.owner == rank]
        results = [torch.empty(0) if s.owner < 0 else _empty(s.length(size, rank), s.dtype) for s in sums]
        return [b"".join(s.share(v, size, r).tobytes() for s, v in mine) for r in range(size)], results

    sent, results = _with_room(group, room)
    received = _exchanged(group, sent) if owned else []
    at = [0] * size
    for i, s in enumerate(sums):
        assert s.axis is not None
        shape = list(s.shape)
        shape[s.axis] = part_of(shape[s.axis], size, rank)[1]
        if s.owner < 0:
            results[i] = as_tensor(s.made).view(shape)
            continue
        n = s.length(size, rank) * s.dtype.itemsize
        if n:
            results[i].view(torch.uint8).numpy()[:] = received[s.owner][at[s.owner] : at[s.owner] + n]
        at[s.owner] += n
        results[i] = results[i].view(shape)
    return results
