"""Backward passes under reproducible() on PyTorch's own samples, against those in binary64.

A gradient that is one operator of the arguments is that of binary64, rounded once. Others are composed by PyTorch of several operators,
or take a rounded result: they may be off by some units of rounding of the largest gradient that is given or received.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import opinfo_cases as cases  # noqa: E402
import opinfo_names as names  # noqa: E402
from opinfo_cases import DATABASE, arguments, leaves_of, samples, scale_of, steps, tensors, wrong  # noqa: E402
from test_torch_opinfo import TESTED, in_the_block, one_thread  # noqa: E402, F401

import repmath.torch as rt  # noqa: E402

WITH_GRADIENT = [
    name for name in TESTED if DATABASE[name].supports_autograd and name not in (*names.ANY_NUMBERS, *names.WITHOUT_GRADIENT)
]


def of(op, sample, dtype, seeds=None):
    """The gradients of a sample, and what was received; None where it has none."""
    args, keywords = arguments(sample, dtype, True)
    results = tensors(op(*args, **keywords))
    if op.name.startswith(("native_", "_native")):  # whose statistics are not returned
        results = results[:1]
    leaves = leaves_of(args, keywords)
    return cases.gradients(results, leaves, seeds) if leaves and any(t.requires_grad for t in results) else None


@pytest.mark.parametrize("name", WITH_GRADIENT)
def test_gradients(name):
    op, refused = DATABASE[name], []
    for sample in samples(op, torch.float32, 6, True):
        try:
            found = of(op, sample, torch.float32)
        except RuntimeError:
            continue  # no sample that PyTorch can differentiate
        if found is None or sample.kwargs.get("dropout_p"):
            continue
        _, seeds = found
        wide, _ = of(op, sample, torch.float64, seeds)
        ours = in_the_block(name, refused, lambda: of(op, sample, torch.float32, seeds))  # noqa: B023
        if ours is None:
            continue
        scale = scale_of(seeds, [g for g in wide if g is not None])
        for a, b in zip(ours[0], wide, strict=True):
            assert (a is None) == (b is None)
            if a is None:
                continue
            assert a.shape == b.shape and a.dtype is torch.float32
            if name in names.GRADIENT_COMPOSED:
                assert steps(a, b, scale) <= names.GRADIENT_STEPS.get(name, 8)
            else:
                assert wrong(a, b, 2**10 * scale) == 0


def test_control():
    """The check finds a gradient of binary32 arithmetic."""
    x = torch.randn(3, 400, generator=torch.Generator().manual_seed(1), requires_grad=True)
    wide = x.detach().double().requires_grad_()
    seed = torch.randn(3, 400, generator=torch.Generator().manual_seed(2))
    (ours,) = torch.autograd.grad(torch.nn.functional.silu(x), x, seed)
    (exact,) = torch.autograd.grad(torch.nn.functional.silu(wide), wide, seed.double())
    assert wrong(ours, exact)
    with rt.reproducible():
        (ours,) = torch.autograd.grad(torch.nn.functional.silu(x), x, seed)
    assert not wrong(ours, exact)


def test_uncovered_gradients():
    """What is named as without a gradient is refused: else it must be tested."""
    for name in names.WITHOUT_GRADIENT:
        sample = samples(DATABASE[name], torch.float32, 1, True)[0]
        with pytest.raises(rt.UncoveredOperatorError), rt.reproducible():
            of(DATABASE[name], sample, torch.float32)
