"""Exact gradients over ranks: each parameter has an owner, which gets the records of all ranks, makes one sum of them, and gives the result to all."""

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .._aten.collectives import _gathered, agree
from .._aten.common import Uncovered
from .records import Use, settle


def owners(sizes: Sequence[int], ranks: int) -> list[int]:
    """An owner for each of so many elements: the next largest goes to the rank that has the fewest."""
    load = [0] * ranks
    made = [0] * len(sizes)
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        made[i] = min(range(ranks), key=lambda r: (load[r], r))
        load[made[i]] += sizes[i]
    return made


def _exchanged(group: Any, parts: Sequence[bytes]) -> list[bytes]:
    """Bytes for each rank; those that each rank has for this one."""
    lengths = _gathered(group, torch.tensor([len(p) for p in parts])).tolist()
    incoming = [row[group.rank()] for row in lengths]
    data = bytearray(b"".join(parts))
    sent = torch.frombuffer(data, dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    received = torch.empty(sum(incoming), dtype=torch.uint8)
    group.alltoall_base(received, sent, incoming, [len(p) for p in parts]).wait()
    found, made, first = received.numpy().tobytes(), [], 0
    for n in incoming:
        made.append(found[first : first + n])
        first += n
    return made


def gathered_arrays(group: Any, place: int, a: np.ndarray[Any, Any]) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """The arrays of all ranks, with their places."""
    agree(group, (9, a.ndim, *a.shape[1:3]))
    data = pickle.dumps((place, np.ascontiguousarray(a)), protocol=5)
    return [pickle.loads(part) for part in _exchanged(group, [data] * group.size())]


def part_of(n: int, ranks: int, rank: int) -> tuple[int, int]:
    """First place and length of a rank's part of n places, as torch.chunk divides: none for the last ones where there are too few."""
    share = -(-n // ranks)
    first = min(rank * share, n)
    return first, min(share, n - first)


def reduced(
    group: Any,
    leaves: Sequence[torch.Tensor],
    uses: Sequence[Sequence[Use]],
    axes: Sequence[int] | None = None,
    problem: str = "",
) -> list[torch.Tensor]:
    """The gradients of leaves of all ranks: RN of one exact sum of all uses on all of them. With axes, this rank's parts of them.

    A problem of this rank is an error of all.
    """
    size, rank = group.size(), group.rank()
    owner = owners([p.numel() for p in leaves], size)
    parts = [b""] * size
    try:
        for r in range(size):
            parts[r] = pickle.dumps([(i, uses[i]) for i in range(len(leaves)) if owner[i] == r], protocol=5)
    except Exception as error:
        problem = problem or f"{type(error).__name__}: {error}"
    agree(
        group,
        (7, len(leaves), sum(p.numel() for p in leaves), sum(p.numel() * (i + 1) for i, p in enumerate(leaves))),
        problem,
    )
    received = _exchanged(group, parts)
    of_all: dict[int, list[Use]] = {}
    made: dict[int, torch.Tensor] = {}
    try:
        for part in received:
            for i, found in pickle.loads(part):
                of_all.setdefault(i, []).extend(found)
        for i, found in of_all.items():
            p = leaves[i]
            made[i] = settle(found, p.shape, p.dtype) if found else torch.zeros(p.shape, dtype=p.dtype)
    except Exception as error:
        problem = str(error) if isinstance(error, Uncovered) else f"{type(error).__name__}: {error}"
    agree(group, (8,), problem)
    return _shared(group, leaves, owner, made, rank) if axes is None else _parted(group, leaves, owner, made, axes)


def _shared(
    group: Any, leaves: Sequence[torch.Tensor], owner: Sequence[int], made: dict[int, torch.Tensor], rank: int
) -> list[torch.Tensor]:
    """What every owner has made, on each rank."""
    nbytes = [p.numel() * p.itemsize for p in leaves]
    share = max(sum(n for n, o in zip(nbytes, owner, strict=True) if o == r) for r in range(group.size()))
    mine = np.zeros(share, np.uint8)
    first = 0
    for i, o in enumerate(owner):
        if o == rank:
            mine[first : first + nbytes[i]] = made[i].contiguous().view(-1).view(torch.uint8).numpy()
            first += nbytes[i]
    rows = _gathered(group, torch.from_numpy(mine))
    at = [0] * group.size()
    results = []
    for i, o in enumerate(owner):
        row = rows[o, at[o] : at[o] + nbytes[i]].clone()
        results.append(row.view(leaves[i].dtype).view(leaves[i].shape))
        at[o] += nbytes[i]
    return results


def _bytes(t: torch.Tensor) -> bytes:
    made: bytes = t.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    return made


def _parted(
    group: Any, leaves: Sequence[torch.Tensor], owner: Sequence[int], made: dict[int, torch.Tensor], axes: Sequence[int]
) -> list[torch.Tensor]:
    """Of what every owner has made, each rank's parts."""
    size, rank = group.size(), group.rank()

    def cut(i: int, r: int) -> bytes:
        return _bytes(made[i].narrow(axes[i], *part_of(leaves[i].shape[axes[i]], size, r)))

    mine = [i for i, o in enumerate(owner) if o == rank]
    received = _exchanged(group, [b"".join(cut(i, r) for i in mine) for r in range(size)])
    at = [0] * size
    results = []
    for leaf, o, axis in zip(leaves, owner, axes, strict=True):
        shape = list(leaf.shape)  # a leaf may have no memory now
        shape[axis] = part_of(shape[axis], size, rank)[1]
        result = torch.empty(shape, dtype=leaf.dtype)
        end = at[o] + result.numel() * leaf.itemsize
        if result.numel():
            result.view(-1).view(torch.uint8).copy_(torch.frombuffer(bytearray(received[o][at[o] : end]), dtype=torch.uint8))
        at[o] = end
        results.append(result)
    return results
