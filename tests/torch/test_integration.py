"""What programs do around a model, under reproducible(): transforms of torch.func, workers, copies, scaled gradients, operators of their own, exports."""

import json
import os
import pathlib
import subprocess
import sys

import elementwise_library
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "support/integration_program.py"
QUICK = "jacobians tangents per_sample averaged copies scaled clipped own_operators meta twice checkpointed".split()  # noqa: SIM905


def test_every_part_has_one_result():
    """On each instruction set, with another number of threads on each and PyTorch's own choices of kernels. What imports PyTorch's compiler
    runs on the first and the last."""
    running, isas = [], list(elementwise_library.libraries())
    for threads, isa in enumerate(isas, 1):
        capability = ("default", "avx2", "avx512")[threads % 3]
        environment = {**os.environ, "REPMATH_ISA": isa, "ATEN_CPU_CAPABILITY": capability}
        command = [sys.executable, str(PROGRAM), str(threads), *(QUICK if isa in isas[1:-1] else ())]
        running.append(
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
        )
    found = []
    for process in running:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        found.append(json.loads(out))
    assert len(found[0]) == 14 and len(set(found[0].values())) == 14
    for other in found[1:]:
        assert {name: found[0][name] for name in other} == other and len(other) in (len(QUICK), 14)


def test_deviations_that_were_copied():
    """vmap copies the deviations of a norm without its eps: the gradient takes the only one that gives them, and refuses two."""
    aten, x, g = torch.ops.aten, torch.randn(3, 8), torch.randn(3, 8)
    known = set(_core.norm_eps)
    try:
        _core.norm_eps.clear()
        with rt.reproducible():
            _, mean, root = aten.native_layer_norm(x, [8], None, None, 1e-3)
            want = aten.native_layer_norm_backward(g, x, [8], mean, root, None, None, [True, False, False])[0]
            made = aten.native_layer_norm_backward(g, x, [8], mean.clone(), root.clone(), None, None, [True, False, False])[0]
            assert torch.equal(made, want)
            _, _, other = aten.native_group_norm(x, None, None, 3, 8, 1, 2, 1e-2)
            want = aten.native_group_norm_backward(g, x, mean, other, None, 3, 8, 1, 2, [True, False, False])[0]
            made = aten.native_group_norm_backward(g, x, mean, other.clone(), None, 3, 8, 1, 2, [True, False, False])[0]
            assert torch.equal(made, want)
            aten.native_layer_norm(x, [8], None, None, 1e-3 * (1 + 2**-52))  # which gives the same deviations
            for copied in (root.clone(), torch.ones_like(root)):
                with pytest.raises(rt.UncoveredOperatorError, match="outside of reproducible"):
                    aten.native_layer_norm_backward(g, x, [8], mean, copied, None, None, [True, False, False])
    finally:
        _core.norm_eps.clear()
        _core.norm_eps.update(known)
