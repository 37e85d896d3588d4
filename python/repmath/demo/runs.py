"""The runs of the demo: settings, subprocesses, the table, the verdict."""

import os
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

import numpy as np

import repmath

from .train import EPOCHS

REQUIRED_ACCURACY = 0.95
TEST_ROWS = 360
# What may choose other kernels or other thread counts; a run sets some, the others are removed.
VARIABLES = (
    "REPMATH_ISA",
    "REPMATH_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
    "NPY_DISABLE_CPU_FEATURES",
)


@dataclass
class Run:
    backend: str
    setting: dict[str, str]
    label: str
    result: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def digest(self):
        return str(self.result["digest"])


def repmath_runs():
    """Each instruction set of this machine, with one thread and with two."""
    return [
        Run("repmath", {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": str(n)}, f"{isa}, {n} thread{'s' * (n > 1)}")
        for isa in repmath.config()["available isas"]
        for n in (1, 2)
    ]


def numpy_runs():
    """What other machines would do: the OpenBLAS kernels and NumPy loops of other CPUs, other thread counts."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__  # type: ignore[import-not-found,unused-ignore]

    dispatched = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    wide = [name for name in dispatched if "512" in name or name == "X86_V4"]
    runs = [Run("numpy", {}, "as it comes")]
    if __cpu_features__.get("AVX2"):
        cores = ["Haswell", "Nehalem", "Prescott"]
        if __cpu_features__.get("AVX512F"):
            cores.insert(0, "SkylakeX")
    elif sys.platform == "linux" and __cpu_features__.get("ASIMD"):
        cores = ["ARMV8", "NEOVERSEN1"]
    else:
        cores = []
    runs += [Run("numpy", {"OPENBLAS_CORETYPE": core}, f"OpenBLAS for {core}") for core in cores]
    if wide:
        runs.append(Run("numpy", {"NPY_DISABLE_CPU_FEATURES": " ".join(wide)}, "loops without AVX-512"))
    if dispatched and dispatched != wide:
        runs.append(Run("numpy", {"NPY_DISABLE_CPU_FEATURES": " ".join(dispatched)}, "baseline loops"))
    runs.append(Run("numpy", {"OPENBLAS_NUM_THREADS": "1"}, "1 thread"))
    return runs


def save_data(path):
    """The digits, split and shuffled by integers only. Pixels are sixteenths: exact."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    rng = np.random.Generator(np.random.PCG64(0))
    order = rng.permutation(len(x))
    x, y = (x[order] / 16).astype(np.float32), y[order]
    rows = len(x) - TEST_ROWS
    orders = np.array([rng.permutation(rows) for _ in range(EPOCHS)])
    np.savez(path, x_train=x[:rows], y_train=y[:rows], x_test=x[rows:], y_test=y[rows:], orders=orders)


def execute(run, data, result):
    # Passive: a thread that waits does not hold the CPU, which matters where other programs want it too.
    environment = {"OMP_WAIT_POLICY": "passive"}
    environment |= {k: v for k, v in os.environ.items() if k not in VARIABLES} | run.setting
    command = [sys.executable, "-m", "repmath.demo.train", run.backend, str(data), str(result)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the run '{run.label}' of {run.backend} failed:\n{done.stderr}")
    run.result = dict(np.load(result))


def show(run):
    print(
        f"{run.backend:8} {run.label:24} {run.digest[:16]}...  {100 * float(run.result['accuracy']):5.1f} %"
        f"  {float(run.result['seconds']):6.2f} s",
        flush=True,
    )


def count(n, noun):
    return f"{n} {noun}{'s' * (n != 1)}"


def main(output: str) -> int:
    """Run everything, print the table, draw the picture. Returns the exit status."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        print("repmath demo: scikit-learn is missing; install repmath[demo]", file=sys.stderr)
        return 2
    print("A perceptron learns handwritten digits: the same data, order and first weights in every run.\n")
    print(f"{'library':8} {'setting':24} {'SHA-256 of the weights':19}  accuracy     time")
    ours, theirs = repmath_runs(), numpy_runs()
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder, "digits.npz")
        save_data(data)
        for run in ours + theirs:
            execute(run, data, pathlib.Path(folder, "result.npz"))
            show(run)

    digests = len({run.digest for run in ours})
    print(
        f"\nrepmath: {count(len(ours), 'run')}, {count(digests, 'digest')}."
        f"  NumPy: {count(len(theirs), 'run')}, {count(len({run.digest for run in theirs}), 'digest')}."
    )
    try:
        from .plot import draw
    except ImportError:
        print("(matplotlib is missing: no picture)")
    else:
        print(f"Picture: {draw(ours, theirs, pathlib.Path(output))}")

    status = 0
    if digests != 1:
        print("FAILED: repmath's runs differ", file=sys.stderr)
        status = 1
    worst = min(float(run.result["accuracy"]) for run in ours)
    if worst < REQUIRED_ACCURACY:
        print(f"FAILED: accuracy {100 * worst:.1f} % is below {100 * REQUIRED_ACCURACY:.0f} %", file=sys.stderr)
        status = 1
    return status
