"""Tensors on a GPU under reproducible(), with a device of PyTorch's that is in main memory in its place (tests/support/stand_in.cpp), and the
emulated library: the bits of the CPU. Processes of their own, as PyTorch then has that device for good."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from native import emulated_cuda, need  # noqa: E402
from stand_in_cases import CASES  # noqa: E402

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
# Samples of operators that launch kernels, and of some that do not.
SAMPLES = """abs add arange nn.functional.avg_pool3d nn.functional.max_pool3d addbmm addcdiv addcmul addmm amax argmax atan2 baddbmm bmm cat clamp cumsum div[no_rounding_mode] dot exp expand_as fill fmod gather
index_add index_put index_select lerp linalg.vector_norm log_softmax logsumexp masked_fill matmul max[reduction_with_dim] maximum mean mm mul
mv nn.functional.adaptive_avg_pool2d nn.functional.avg_pool2d nn.functional.batch_norm nn.functional.binary_cross_entropy_with_logits
nn.functional.conv2d nn.functional.cross_entropy nn.functional.dropout nn.functional.embedding nn.functional.gelu nn.functional.glu
nn.functional.group_norm nn.functional.hardtanh nn.functional.huber_loss nn.functional.kl_div nn.functional.layer_norm nn.functional.linear
nn.functional.logsigmoid nn.functional.max_pool2d nn.functional.mse_loss nn.functional.relu nn.functional.rms_norm
nn.functional.scaled_dot_product_attention nn.functional.silu nn.functional.softsign normal pow rand_like reciprocal rsub scatter_add
sigmoid sort sqrt sub sum tanh to topk var where""".split()  # noqa: SIM905


def run(program, *arguments, library):
    need("c++")
    environment = {**os.environ, "REPMATH_CUDA_LIBRARY": str(library)}
    command = [sys.executable, str(SUPPORT / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found():
    return run("stand_in_cases.py", library=emulated_cuda())


@pytest.fixture(scope="module")
def found_in_main_memory():
    return run("stand_in_cases.py", library="no library")


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_on_a_device(found, name):
    if name in ("transformers", "bert", "llama"):
        pytest.importorskip("transformers", reason="transformers is not installed")
    assert found[name] is None, found[name]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", CASES)
def test_in_main_memory(found_in_main_memory, name):
    """Without the library for the device."""
    if name in ("transformers", "bert", "llama"):
        pytest.importorskip("transformers", reason="transformers is not installed")
    assert found_in_main_memory[name] is None, found_in_main_memory[name]


def test_samples_of_operators():
    pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
    found = run("stand_in_samples.py", "1", *SAMPLES, library=emulated_cuda())
    assert found["differ"] == {} and found["compared"] > len(SAMPLES)
    assert all(found["places"].values())  # each place was met
