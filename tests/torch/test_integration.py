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
    """vmap copies the deviations of a norm before it calls the gradient: eps goes with each copy, and what no norm has made is refused."""
    aten, x, g, mask = torch.ops.aten, torch.randn(3, 8), torch.randn(3, 8), [True, False, False]
    with rt.reproducible():
        _, mean, root = aten.native_layer_norm(x, [8], None, None, 1e-3)
        want = aten.native_layer_norm_backward(g, x, [8], mean, root, None, None, mask)[0]
        for copied in (root.clone(), root.t().clone().t(), root.clone().clone(memory_format=torch.preserve_format)):
            assert torch.equal(aten.native_layer_norm_backward(g, x, [8], mean, copied, None, None, mask)[0], want)
        several = root.expand(2, 3, 1).contiguous()
        made = aten.native_layer_norm_backward(
            g.expand(2, 3, 8), x.expand(2, 3, 8), [8], mean.expand(2, 3, 1), several, None, None, mask
        )[0]
        assert torch.equal(made[0], want) and torch.equal(made[1], want)
        _, _, other = aten.native_group_norm(x, None, None, 3, 8, 1, 2, 1e-2)
        want = aten.native_group_norm_backward(g, x, mean, other, None, 3, 8, 1, 2, mask)[0]
        assert torch.equal(aten.native_group_norm_backward(g, x, mean, other.clone(), None, 3, 8, 1, 2, mask)[0], want)
        nothing = torch.empty(0).as_strided((0,), (1,), 4)
        with pytest.raises(rt.UncoveredOperatorError, match="outside of reproducible"):
            aten.native_layer_norm_backward(g, x, [8], mean, nothing, None, None, mask)
        assert nothing.clone().shape == (0,) and nothing.untyped_storage().nbytes() == 0
        for strange in (torch.ones_like(root), torch.ones(7)[4:].clone().view(3, 1)):
            with pytest.raises(rt.UncoveredOperatorError, match="outside of reproducible"):
                aten.native_layer_norm_backward(g, x, [8], mean, strange, None, None, mask)
