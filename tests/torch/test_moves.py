"""What runs as PyTorch runs it has the same bits in each of PyTorch's builds, with any number of threads, and where subnormals were flushed."""

import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import torch_moves as moves  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath._core import available_isas  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "support/torch_moves.py"


def run(capability, *arguments):
    environment = os.environ | {"ATEN_CPU_CAPABILITY": capability}
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.fixture(scope="module")
def first():
    return run("default", "1")


@pytest.mark.long
@pytest.mark.parametrize("capability,arguments", [("avx2", ("2", "flush")), ("avx512", ("2",))])
def test_builds_threads_and_flushing(first, capability, arguments):
    if capability not in available_isas():
        pytest.skip(f"this CPU has no {capability}")
    assert len(first) > 300
    other = run(capability, *arguments)
    assert [(a, b) for a, b in zip(first, other, strict=True) if a != b] == []


def test_control():
    """Of PyTorch's own, some depend on the build: NaN in 16 bits and of nextafter."""
    own = ("neg", "ceil", "nextafter of two")
    program = (
        "import torch, torch_moves as m; d = torch.float16; print([(n, m.digest(c())) for n, c in m.calls(d) if n in %r])"
    )
    found = set()
    for capability in ("default", "avx2"):
        environment = os.environ | {"ATEN_CPU_CAPABILITY": capability, "PYTHONPATH": str(PROGRAM.parent)}
        command = [sys.executable, "-c", program % (own,)]
        found.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(found) == 2


def test_the_last_line_stays():
    x, rows = torch.zeros(5, 3), torch.arange(60_000.0).view(20_000, 3)
    index = torch.tensor([3, 1, 3, 0]).repeat(5000)
    with rt.reproducible():
        made = x.index_copy(0, index, rows)
        turned = x.t().contiguous().index_copy_(1, index, rows.t())
        assert torch.ones(()).index_copy(0, torch.tensor([0]), torch.full((1,), 2.0)) == 2
        with pytest.raises((RuntimeError, IndexError)):
            x.index_copy(0, index - 4, rows)
    want = x.clone()
    for i, at in enumerate(index[-4:].tolist()):
        want[at] = rows[20_000 - 4 + i]
    assert torch.equal(made, want) and torch.equal(turned, want.t())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nan_is_canonical(dtype):
    """Of operators that compute, not of copies: sign 0, payload 0; numbers are as they were."""
    x = moves.hard(dtype, 500)
    with rt.reproducible():
        for name in ("ceil", "floor", "trunc", "round", "ceil_", "floor_", "trunc_", "round_"):
            made = getattr(x.clone(), name)()
            assert torch.equal(made.isnan(), x.isnan())
            codes = made[made.isnan()].view({2: torch.int16, 4: torch.int32, 8: torch.int64}[made.itemsize])
            assert len(codes) and bool((codes == torch.full((), torch.nan, dtype=dtype).view(codes.dtype)).all())
        copies = x.clone(), x.expand(2, -1).contiguous()[1]
    codes = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.itemsize]
    assert all(torch.equal(copy.view(codes), x.view(codes)) for copy in copies)


def test_zeros_without_memory():
    """PyTorch makes such tensors in derivatives: they lie over nothing."""
    zeros, x = torch._efficientzerotensor(3), torch.arange(3.0)
    with rt.reproducible():
        assert torch.equal(x.clone().copy_(zeros), torch.zeros(3)) and torch.equal(x.clone().add_(zeros), x)
