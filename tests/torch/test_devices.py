"""Tensors on a GPU under reproducible(), with a device of PyTorch's that is in main memory in its place (tests/support/stand_in.cpp): the bits
of the CPU. A process of its own, as PyTorch then has that device for good."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from native import need  # noqa: E402
from stand_in_cases import CASES  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "support/stand_in_cases.py"


@pytest.fixture(scope="module")
def found():
    need("c++")
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", CASES)
def test_on_a_device(found, name):
    if name == "transformers":
        pytest.importorskip("transformers", reason="transformers is not installed")
    assert found[name] is None, found[name]
