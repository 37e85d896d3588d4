"""What the ranks of tests/python/test_mpi.py do: mpirun -n N python mpi_program.py DIRECTORY"""

import contextlib
import pathlib
import pickle
import sys
from unittest import mock

import numpy as np
from exact_oracle import FORMATS

ROWS, N = 10, 53


def rows(fmt):
    """Rows of numbers of far exponents that cancel, with special ones; ranks share them out."""
    kind, unsigned, fraction, _, _, sign = FORMATS[fmt]
    rng = np.random.default_rng(fraction)
    made = rng.integers(0, 1 << (sign + 1), (ROWS, N), dtype=np.uint64).astype(unsigned).view(kind)
    made[:, 5:40] = (rng.integers(-9, 10, (ROWS, 35)) * np.exp2(rng.integers(-8, 8, (ROWS, 35)))).astype(kind)
    made[5:, 20:30] = -made[:5, 20:30]
    return made


def refused(call):
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main():
    from mpi4py import MPI  # which begins MPI

    import repmath.mpi

    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    found = {"size": size}
    for fmt, (kind, *_) in FORMATS.items():
        made = rows(fmt)
        mine = made[rank % ROWS :: size] if rank < ROWS else made[:0]
        for op in ("sum", "mean"):
            found[fmt, op] = repmath.mpi.allreduce(comm, made[rank % ROWS].reshape(1, N), op)
        with np.errstate(all="ignore"):
            columns = [comm.allreduce(repmath.Accumulator(mine[:, j])) for j in range(N)]
        found[fmt, "accumulators"] = np.array([c.round(kind) for c in columns], kind)
    found["scalar"] = repmath.mpi.allreduce(comm, np.float32(0.1))
    found["few"] = repmath.mpi.allreduce(comm, np.ones((2, 1)))
    found["none"] = repmath.mpi.allreduce(comm, np.ones((0, 3)))
    last = rank == size - 1
    found["dtype"] = refused(lambda: repmath.mpi.allreduce(comm, np.ones(3, np.int32 if last else np.float32)))
    found["shape"] = refused(lambda: repmath.mpi.allreduce(comm, np.ones(3 + last)))
    found["op"] = refused(lambda: repmath.mpi.allreduce(comm, np.ones(3), "max"))

    def short(*_, **__):
        return np.empty(1 << 58)

    for name, where, what in (("room", repmath.mpi, "_room"), ("memory", repmath.mpi._reductions, "sum")):
        with mock.patch.object(where, what, short) if last else contextlib.nullcontext():
            found[name] = refused(lambda: repmath.mpi.allreduce(comm, np.ones(3)))
    found["after errors"] = repmath.mpi.allreduce(comm, np.ones(3)).tolist()
    pathlib.Path(sys.argv[1], f"{size}-{rank}.pickle").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main()
