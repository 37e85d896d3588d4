"""Exact sums over the ranks of MPI. Needs mpi4py: `pip install mpi4py`.

Accumulators need no function of their own: ``comm.allreduce(accumulator)`` merges them, which is exact in any order, as `+` of two
accumulators is.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from . import _reductions, _statistics
from ._dtypes import NAMES


def allreduce(comm: Any, x: ArrayLike, op: str = "sum") -> Any:
    """The sum or mean over all ranks, element by element: the exact value, rounded once.

    Each rank gets its share of the elements of all ranks, adds them, and the shares are
    gathered. Neither the number of ranks nor their order or MPI's algorithm has a say.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        All its ranks must call this function.
    x : array_like
        Of float16, bfloat16, float32 or float64, and of one shape and dtype on all ranks.
    op : {"sum", "mean"}, optional
        The mean is RN(exact sum / number of ranks).

    Returns
    -------
    ndarray or scalar
        Of the shape and dtype of `x`, the same on every rank. Zeros, NaN and infinities as in
        `sum`.

    Raises
    ------
    TypeError, ValueError, MemoryError
        The same on every rank, if one of them passes another dtype or has no memory, or
        they pass several shapes, dtypes or ops.
    """
    a = np.asarray(x)
    problem: Exception | None = None
    room = None
    try:
        if a.dtype not in NAMES:
            raise TypeError(f"x has dtype {a.dtype}; it must be float16, bfloat16, float32 or float64")
        room = _room(comm, a)
    except (TypeError, MemoryError) as error:
        problem = error
    known = set(_agreed(comm, problem, (a.shape, str(a.dtype), op)))
    if len(known) > 1:
        raise ValueError(
            "ranks pass several shapes, dtypes or ops: " + ", ".join(sorted(f"{k[0]} {k[1]} {k[2]}" for k in known))
        )
    if op not in ("sum", "mean"):
        raise ValueError(f"op must be 'sum' or 'mean', not {op!r}")
    return _reduced(comm, a, room, _reductions.sum if op == "sum" else _statistics.mean)


def _agreed(comm: Any, problem: Exception | None, what: Any = None) -> list[Any]:
    """What each rank is about to do. The first problem that a rank has is raised by all, so that none waits for another."""
    kind = next(k for k in (TypeError, MemoryError, Exception) if problem is None or isinstance(problem, k))
    text = f"{type(problem).__name__}: {problem}" if kind is Exception else str(problem)
    known = comm.allgather((what, problem and (kind, text)))
    for rank, (_, found) in enumerate(known):
        if found is not None:
            raise (RuntimeError if found[0] is Exception else found[0])(f"on rank {rank}: {found[1]}")
    return [w for w, _ in known]


def _shares(size: int, n: int) -> list[int]:
    """How many of n elements each rank adds."""
    share = -(-n // size)
    return [max(0, min(share, n - i * share)) for i in range(size)]


def _room(comm: Any, a: Any) -> tuple[Any, Any, Any]:
    """Of this rank its elements one after the other, what gets those of its share, and what gets the result: all that needs much memory."""
    size, flat = comm.Get_size(), np.ascontiguousarray(a).reshape(-1)
    return flat, np.empty((size, _shares(size, flat.size)[comm.Get_rank()]), flat.dtype), np.empty_like(flat)


def _reduced(comm: Any, a: Any, room: Any, over_axis: Any) -> Any:
    from mpi4py import MPI

    flat, rows, out = room
    size, width = len(rows), flat.itemsize
    counts = _shares(size, flat.size)
    starts = [min(i * counts[0], flat.size) for i in range(size)]
    n = rows.shape[1]
    mine = [[c * width for c in counts], [s * width for s in starts]]
    incoming = [n * width] * size, [i * n * width for i in range(size)]
    comm.Alltoallv([flat.view(np.uint8), *mine, MPI.BYTE], [rows.reshape(-1).view(np.uint8), *incoming, MPI.BYTE])
    made, problem = rows[:1], None
    try:
        made = np.ascontiguousarray(over_axis(rows, axis=0))
    except Exception as error:
        problem = error
    _agreed(comm, problem)
    comm.Allgatherv(made.view(np.uint8), [out.view(np.uint8), *mine, MPI.BYTE])
    return out.reshape(a.shape)[()]


__all__ = ["allreduce"]
