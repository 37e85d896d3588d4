"""PyTorch's samples of its operators under reproducible() have the same bits on every instruction set: a digest of each call, forward and
backward, in four formats. What the bits must be is compared with exact values in torch/test_opinfo.py, where the others are then right too.

PyTorch's own vectors are of one kind throughout, since the samples are drawn by them; what depends on these is in torch/test_moves.py.
REPMATH_OPINFO_SAMPLES: samples of each operator and format, `make test-opinfo` takes many."""

import json
import os
import pathlib
import subprocess
import sys

import elementwise_library
import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

SAMPLES = os.environ.get("REPMATH_OPINFO_SAMPLES", "1")


def digests(isa, *options):
    program = pathlib.Path(__file__).resolve().parents[1] / "support/opinfo_digests.py"
    environment = {**os.environ, "REPMATH_ISA": isa, "ATEN_CPU_CAPABILITY": "default"}
    done = subprocess.run(
        [sys.executable, program, SAMPLES, *options], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def differing(one, other):
    assert one.keys() == other.keys()
    return [name for name in one if one[name] != other[name]]


def test_bits_on_every_instruction_set():
    """The control, without the block: PyTorch's own results differ, so that the samples do depend on rounding."""
    isas = list(elementwise_library.libraries())
    found = {isa: digests(isa) for isa in isas}
    first = found[isas[0]]
    assert len(first) > 350 and sum(map(len, first.values())) > 1000
    for isa in isas[1:]:
        assert differing(first, found[isa]) == [], isa
    assert len(differing(first, digests(isas[0], "plain"))) > 150
