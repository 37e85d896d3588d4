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
    sent = torch.frombuffer(bytearray(b"".join(parts)), dtype=torch.uint8)
    received = torch.empty(sum(incoming), dtype=torch.uint8)
    group.alltoall_base(received, sent, incoming, [len(p) for p in parts]).wait()
    data, made, first = received.numpy().tobytes(), [], 0
    for n in incoming:
        made.append(data[first : first + n])
        first += n
    return made


def gathered_arrays(group: Any, place: int, a: np.ndarray[Any, Any]) -> list[tuple[int, np.ndarray[Any, Any]]]:
    """The arrays of all ranks, with their places."""
    agree(group, (9, a.ndim, *a.shape[1:3]))
    data = pickle.dumps((place, np.ascontiguousarray(a)), protocol=5)
    return [pickle.loads(part) for part in _exchanged(group, [data] * group.size())]


def reduced(group: Any, leaves: Sequence[torch.Tensor], uses: Sequence[Sequence[Use]]) -> list[torch.Tensor]:
    """The gradients of leaves of all ranks: RN of one exact sum of all uses on all of them."""
    size, rank = group.size(), group.rank()
    owner = owners([p.numel() for p in leaves], size)
    problem, parts = "", [b""] * size
    try:
        for r in range(size):
            parts[r] = pickle.dumps([(i, uses[i]) for i in range(len(leaves)) if owner[i] == r], protocol=5)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
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
    return _shared(group, leaves, owner, made, rank)


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
