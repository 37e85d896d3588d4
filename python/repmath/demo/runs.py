"""The runs of the demo: settings, subprocesses, the table, the verdict."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

import repmath
from repmath._cuda import _library

from . import published

REQUIRED_ACCURACY = 0.95
REQUIRED_LOSS = 2.5  # nats a byte
CONVOLUTION_STEPS, SHORT, LONG = 200, 15, 420
# What may choose other kernels or other thread counts; a run sets some, the others are removed.
VARIABLES = (
    "REPMATH_ISA",
    "REPMATH_NUM_THREADS",
    "OMP_NUM_THREADS",
    "ATEN_CPU_CAPABILITY",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
    "XLA_FLAGS",
)


@dataclass
class Run:
    library: str
    label: str
    setting: dict[str, str]
    command: list[str]
    digest: str = ""
    figure: str = ""
    seconds: float = 0.0
    steps: int = 0
    text: str = ""  # the digest of what a language model reads
    marks: dict[int, str] = field(default_factory=dict)  # the digest of the weights after some steps
    losses: np.ndarray = field(default_factory=lambda: np.zeros(0))


def scripts() -> pathlib.Path:
    """The folder of the example scripts: installed beside this file, or in a source tree."""
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here / "scripts", here.parents[2] / "examples" / "python"):
        if (folder / "gpt2_text.py").exists():
            return folder
    raise FileNotFoundError("the scripts of examples/python are not installed")


def count(n, noun):
    return f"{n} {noun}{'s' * (n != 1)}"


def settings():
    """Each instruction set of this machine, with one thread and with two."""
    for isa in repmath.config()["available isas"]:
        for n in (1, 2):
            yield (
                f"{isa}, {count(n, 'thread')}",
                {"REPMATH_ISA": isa, "REPMATH_NUM_THREADS": str(n), "OMP_NUM_THREADS": str(n)},
            )


def gpu_name():
    """The name of the GPU that PyTorch and the CUDA library of this installation can use; None where there is none."""
    ask = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    name = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True).stdout.strip()
    if not name:
        return None
    try:
        _library.load()
    except ImportError as error:
        print(f"(not on the {name}: {error})")
        return None
    return name


def convolution_runs():
    steps = ["--steps", str(CONVOLUTION_STEPS)]
    gpu = gpu_name()
    return [
        Run(library, label, setting, [f"digits_{script}.py", *steps])
        for library, script in (("NumPy", "numpy"), ("PyTorch", "torch"), ("JAX", "jax"))
        for label, setting in settings()
    ] + ([Run("PyTorch", gpu, {}, ["digits_gpu.py", *steps])] if gpu else [])


def text_runs():
    return [Run("repmath", label, setting, ["gpt2_text.py", "--steps", str(SHORT)]) for label, setting in settings()]


def plain_runs():
    """What other machines would do: the kernels of PyTorch and MKL for the CPUs whose instructions this one has, other thread counts."""
    runs = []
    here = repmath.config()["available isas"]
    for capability in ("default", *(isa for isa in ("avx2", "avx512") if isa in here)):
        for n in (1, 2):
            setting = {"ATEN_CPU_CAPABILITY": capability, "OMP_NUM_THREADS": str(n)}
            if capability != "avx512":
                setting["MKL_ENABLE_INSTRUCTIONS"] = "AVX2" if capability == "avx2" else "SSE4_2"
            runs.append(
                Run(
                    "PyTorch",
                    f"{capability}, {count(n, 'thread')}",
                    setting,
                    ["gpt2_text.py", "--plain", "--steps", str(SHORT)],
                )
            )
    return runs


def execute(run: Run) -> None:
    # Passive: a thread that waits does not hold the CPU, which matters where other programs want it too.
    environment = {"OMP_WAIT_POLICY": "passive"}
    environment |= {k: v for k, v in os.environ.items() if k not in VARIABLES} | run.setting
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        losses = pathlib.Path(folder, "losses.npy")
        command = [sys.executable, str(scripts() / run.command[0]), *run.command[1:]]
        if run.command[0].startswith("gpt2"):
            command += ["--losses", str(losses)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"the run '{run.label}' of {run.library} failed:\n{done.stderr}")
        if losses.exists():
            run.losses = np.load(losses)
    run.seconds = time.perf_counter() - begin
    digest = re.search(r"SHA-256 of the weights: ([0-9a-f]{64})", done.stdout)
    figure = re.search(r"(?:accuracy on the test images|validation loss): ([0-9.]+)", done.stdout)
    if not digest or not figure:
        raise RuntimeError(f"the run '{run.label}' of {run.library} printed no digest:\n{done.stdout}")
    run.digest, run.figure = digest[1], figure[1]
    run.steps = int(run.command[run.command.index("--steps") + 1])
    text = re.search(r"SHA-256 of the text: ([0-9a-f]{64})", done.stdout)
    run.text = text[1] if text else ""
    run.marks = {int(step): mark for step, mark in re.findall(r"SHA-256 after (\d+) steps: ([0-9a-f]{64})", done.stdout)}


def show(runs, unit):
    for run in runs:
        execute(run)
        print(
            f"{run.library:8} {run.label:22} {run.digest[:16]}...  {run.figure:>7} {unit}  {run.seconds:6.1f} s", flush=True
        )
    return len({run.digest for run in runs})


def agreement(name, runs):
    """Say whether runs are as published; what is wrong, as a list."""
    faults, said = [], []
    for run in runs:
        good, sentence = published.compare(name, run)
        said.append(sentence)
        if not good:
            faults.append(f"{run.library}, {run.label}: {sentence}")
    for sentence in dict.fromkeys(said):
        print(f"{said.count(sentence)} of {count(len(runs), 'run')}: {sentence}.")
    return faults


def generated_run(steps: int = 20) -> Run:
    """The convolutional network on generated images, which needs NumPy alone."""
    return Run("NumPy", "generated images", {}, ["digits_numpy.py", "--generated", "--steps", str(steps)])


def missing():
    """What the demo needs and is not installed."""
    from importlib.util import find_spec

    return [name for name in ("sklearn", "torch", "jax", "transformers", "ml_dtypes") if find_spec(name) is None]


def main(output: str) -> int:
    """Run everything, print the tables, draw the picture. Returns the exit status."""
    lacking = missing()
    if lacking:
        print(f"repmath demo: {', '.join(lacking)} missing; pip install 'repmath[demo]'", file=sys.stderr)
        return 2
    faults = []
    print("One convolutional network on scikit-learn's digits, written for NumPy, PyTorch and JAX.\n")
    print(f"{'library':8} {'setting':22} {'SHA-256 of the weights':19}  accuracy        time, all")
    convolutions = convolution_runs()
    digests = show(convolutions, "%")
    print(f"\n{count(len(convolutions), 'run')}, {count(digests, 'digest')}.\n")
    if digests != 1:
        faults.append("the runs of the convolutional network differ")
    faults += agreement("digits", convolutions)
    if min(float(run.figure) for run in convolutions) < 100 * REQUIRED_ACCURACY:
        faults.append(f"an accuracy is below {100 * REQUIRED_ACCURACY:.0f} %")

    print("GPT-2 of transformers, unmodified, on the text of Python's documentation: under repmath.torch.reproducible(), and")
    print("by PyTorch alone with use_deterministic_algorithms(True).\n")
    print(f"{'library':8} {'setting':22} {'SHA-256 of the weights':19}  nats a byte     time, all")
    ours, theirs = text_runs(), plain_runs()
    one, several = show(ours, "   "), show(theirs, "   ")
    print(
        f"\nrepmath: {count(len(ours), 'run')}, {count(one, 'digest')}.  PyTorch: {count(len(theirs), 'run')}, {count(several, 'digest')}."
    )
    if one != 1:
        faults.append("the runs of GPT-2 under repmath differ")
    faults += agreement("gpt2", ours)
    print(f"\nThe same for {LONG} steps:")
    longer = Run("repmath", "as it comes", {}, ["gpt2_text.py", "--steps", str(LONG)])
    show([longer], "   ")
    if not float(longer.figure) < REQUIRED_LOSS:
        faults.append(f"the validation loss is not below {REQUIRED_LOSS} nats a byte")

    try:
        from .plot import draw
    except ImportError:
        print("(matplotlib is missing: no picture)")
    else:
        print(f"Picture: {draw(convolutions, ours, theirs, pathlib.Path(output))}")
    for fault in faults:
        print(f"FAILED: {fault}", file=sys.stderr)
    return 1 if faults else 0
