"""PyTorch's samples of its operators under reproducible() have the same bits on every instruction set: a digest of each call, forward and
backward, in four formats. What the bits must be is compared with exact values in torch/test_opinfo.py, where the others are then right too.

PyTorch's own vectors are of one kind throughout, since the samples are drawn by them; what depends on these is in torch/test_moves.py.
REPMATH_OPINFO_SAMPLES: samples of each operator and format, `make test-opinfo` takes many."""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import time

import elementwise_library
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

SAMPLES = os.environ.get("REPMATH_OPINFO_SAMPLES", "1")


def digests(isa, *options):
    program = pathlib.Path(__file__).resolve().parents[1] / "support/opinfo_digests.py"
    # Some samples stand in the order of a set of strings.
    fixed = {"ATEN_CPU_CAPABILITY": "default", "PYTHONHASHSEED": "0"}
    environment = {**os.environ, **fixed, "REPMATH_ISA": isa}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, program, SAMPLES, *options], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    calls, seconds = [call for several in found.values() for call in several], time.monotonic() - started
    left = ", ".join(sorted(name for name, several in found.items() if "left out" in several)) or "none"
    where = f"{isa} outside of the block" if options else isa
    few = f"{calls.count('left out')} of them left out, of large tensors: {left}"
    print(f"{where}: {len(found)} operators, {len(calls)} calls, {few}; {seconds:.0f} s", flush=True)
    return found


def differing(one, other):
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


@pytest.mark.long
def test_bits_on_every_instruction_set():
    """The control, without the block: PyTorch's own results differ, so that the samples do depend on rounding."""
    isas = list(elementwise_library.libraries())
    # Where many samples are asked for, nothing else runs.
    with concurrent.futures.ThreadPoolExecutor(1 if SAMPLES == "1" else os.cpu_count()) as pool:
        plain = pool.submit(digests, isas[0], "plain")
        found = {isa: pool.submit(digests, isa) for isa in isas}
    first = found[isas[0]].result()
    assert [name for name, calls in first.items() if not calls] == []
    assert len(first) > 350 and sum(map(len, first.values())) > 1000
    for isa in isas[1:]:
        assert differing(first, found[isa].result()) == [], isa
    assert len(differing(first, plain.result())) > 150
