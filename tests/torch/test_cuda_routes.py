"""Each operator that PyTorch calls for tensors of a CUDA device in a step of training has a line of the table and is computed on the device. The tensors
have no memory (tests/support/fake_cuda.py): no GPU is needed, and the names are those of CUDA's own kernels."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from native import ROOT, need  # noqa: E402

NETWORKS = ["lenet", "resnet18", "gpt2", "gpt2 fused"]
OF_TRANSFORMERS = ["transformers", "bert", "llama"]
# Operators without elements, of PyTorch's own accounts.
WITHOUT = {"prim.device.default"}


def found(*networks):
    need("c++")
    command = [sys.executable, str(ROOT / "tests/support/fake_cuda.py"), *networks]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def routed(made, name, elsewhere=frozenset()):
    places = made[name]
    assert set(places) <= {"moved", "on the device", "in main memory"}, places  # all have a line of the table
    assert set(places.get("in main memory", ())) - WITHOUT <= elsewhere, (name, places["in main memory"])
    return set(places["on the device"])


def test_networks_of_pytorch():
    made = found(*NETWORKS)
    names = {name: routed(made, name) for name in NETWORKS}
    assert "aten.convolution.default" in names["resnet18"] and "aten._foreach_lerp_.Scalar" in names["gpt2"]
    assert "aten._fused_adamw_.default" in names["gpt2 fused"] and len(names["gpt2"]) > 20
    # The control: without products on the device the products are named.
    assert {"aten.addmm.default", "aten.mm.default"} <= set(made["control"]["in main memory"])


@pytest.mark.long
def test_networks_of_transformers():
    pytest.importorskip("transformers", reason="transformers is not installed")
    made = found(*OF_TRANSFORMERS)
    for name in OF_TRANSFORMERS:
        assert len(routed(made, name, ELSEWHERE.get(name, frozenset()))) > 20


# Positions are integers, which become binary32.
ELSEWHERE = {"llama": frozenset(("aten._to_copy.default",))}
