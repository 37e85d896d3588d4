"""repmath.mpi: sums over the ranks of MPI are exact, rounded once."""

import os
import pathlib
import pickle
import shutil
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None
    or "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout,
    reason="not installed: mpirun of Open MPI",
)

import loopback  # noqa: E402
from exact_oracle import FORMATS, exact_bits, round_rational  # noqa: E402
from mpi_program import rows  # noqa: E402  which begins no MPI here

PROGRAM = pathlib.Path(__file__).parent.parent / "support/mpi_program.py"
SIZES = (1, 2, 3, 4, 5)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    directory = tmp_path_factory.mktemp("mpi")
    made = {}
    for size in SIZES:
        # All ranks are on this machine; the options are those of Open MPI, whose mpirun listens on all addresses.
        options = [
            "--oversubscribe",
            "--allow-run-as-root",
            "--mca",
            "btl",
            "self,vader",
            "--mca",
            "oob_tcp_if_include",
            "lo",
        ]
        command = loopback.alone("mpirun", *options, "-n", str(size), sys.executable, str(PROGRAM), str(directory))
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | {"OMP_NUM_THREADS": "1"})
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        made |= {(size, rank): pickle.loads((directory / f"{size}-{rank}.pickle").read_bytes()) for rank in range(size)}
    return made


def _bits(a, fmt):
    return np.asarray(a).reshape(-1).view(FORMATS[fmt][1]).tolist()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("size", SIZES)
def test_sums_and_means(found, fmt, size):
    with np.errstate(invalid="ignore"):
        columns = rows(fmt)[:size].astype(np.float64).T.tolist()
        every = rows(fmt).astype(np.float64).T.tolist()
    sums = [exact_bits(column, fmt) for column in columns]
    means = [
        round_rational(sum(map(Fraction, c)) / size, fmt) if np.isfinite(c).all() else s
        for c, s in zip(columns, sums, strict=True)
    ]
    for rank in range(size):
        mine = found[size, rank]
        assert mine[fmt, "sum"].shape == (1, 53)
        assert _bits(mine[fmt, "sum"], fmt) == sums
        assert _bits(mine[fmt, "mean"], fmt) == means
        assert _bits(mine[fmt, "accumulators"], fmt) == [exact_bits(column, fmt) for column in every]


@pytest.mark.parametrize("size", SIZES)
def test_shapes_and_errors(found, size):
    for rank in range(size):
        mine = found[size, rank]
        assert float(mine["scalar"]) == float(np.float32(float(Fraction(float(np.float32(0.1))) * size)))
        assert (mine["few"] == size).all()
        assert mine["few"].shape == (2, 1)
        assert mine["none"].shape == (0, 3)
        assert (
            mine["dtype"]
            == f"TypeError: on rank {size - 1}: x has dtype int32; it must be float16, bfloat16, float32 or float64"
        )
        assert mine["op"].startswith("ValueError: op must be")
        assert mine["room"] == mine["memory"]
        assert mine["room"].startswith(f"MemoryError: on rank {size - 1}: Unable to allocate")
        assert mine["after errors"] == [size] * 3
        assert mine["shape"].startswith("ValueError: ranks pass several") == (size > 1)
