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
    TypeError, ValueError
        The same on every rank, if one of them passes another dtype, or they pass
        several shapes, dtypes or ops.
    """
    a = np.asarray(x)
    problem = "" if a.dtype in NAMES else f"x has dtype {a.dtype}; it must be float16, bfloat16, float32 or float64"
    known = comm.allgather((a.shape, str(a.dtype), op, problem))
    for rank, (_, _, _, said) in enumerate(known):
        if said:
            raise TypeError(f"on rank {rank}: {said}")
    if len(set(known)) > 1:
        raise ValueError(
            "ranks pass several shapes, dtypes or ops: " + ", ".join(sorted({f"{k[0]} {k[1]} {k[2]}" for k in known}))
        )
    if op not in ("sum", "mean"):
        raise ValueError(f"op must be 'sum' or 'mean', not {op!r}")
    return _reduced(comm, a, _reductions.sum if op == "sum" else _statistics.mean)


def _reduced(comm: Any, a: Any, over_axis: Any) -> Any:
    from mpi4py import MPI

    size, flat = comm.Get_size(), np.ascontiguousarray(a).reshape(-1)
    share = -(-flat.size // size)
    counts = [max(0, min(share, flat.size - i * share)) for i in range(size)]
    starts = [min(i * share, flat.size) for i in range(size)]
    n = counts[comm.Get_rank()]
    rows = np.empty((size, n), flat.dtype)
    width = flat.itemsize
    mine = [[c * width for c in counts], [s * width for s in starts]]
    incoming = [n * width] * size, [i * n * width for i in range(size)]
    comm.Alltoallv([flat.view(np.uint8), *mine, MPI.BYTE], [rows.reshape(-1).view(np.uint8), *incoming, MPI.BYTE])
    made = np.ascontiguousarray(over_axis(rows, axis=0))
    out = np.empty_like(flat)
    comm.Allgatherv(made.view(np.uint8), [out.view(np.uint8), *mine, MPI.BYTE])
    return out.reshape(a.shape)[()]


__all__ = ["allreduce"]
