"""Backward passes under reproducible() on PyTorch's own samples, against exact values.

Each call of an operator of the table that they make is compared with the exact value of its definition, as in torch/test_opinfo.py. A
gradient that is one operator of the arguments is that of binary64, rounded once; others are composed by PyTorch of several operators, or
take a rounded result.
"""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import aten_exact  # noqa: E402
import opinfo_cases as cases  # noqa: E402
import opinfo_names as names  # noqa: E402
from opinfo_cases import DATABASE, arguments, leaves_of, samples, scale_of, tensors, wrong  # noqa: E402
from opinfo_runs import TESTED, in_the_block, one_thread  # noqa: E402, F401

import repmath.torch as rt  # noqa: E402

WITH_GRADIENT = [
    name for name in TESTED if DATABASE[name].supports_autograd and name not in (*names.ANY_NUMBERS, *names.WITHOUT_GRADIENT)
]

CALLS, DONE = aten_exact.Calls(), set()


def of(op, sample, dtype, seeds=None):
    """The gradients of a sample, and what was received; None where it has none."""
    args, keywords = arguments(sample, dtype, True)
    results = tensors(op(*args, **keywords))
    if op.name.startswith(("native_", "_native")):  # whose statistics are not returned
        results = results[:1]
    leaves = leaves_of(args, keywords)
    return cases.gradients(results, leaves, seeds) if leaves and any(t.requires_grad for t in results) else None


@pytest.mark.sample(3)
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
        ours = in_the_block(name, refused, lambda: of(op, sample, torch.float32, seeds), CALLS)  # noqa: B023
        if ours is None:
            continue
        CALLS.check()
        scale = scale_of(seeds, [g for g in wide if g is not None])
        for a, b in zip(ours[0], wide, strict=True):
            assert (a is None) == (b is None)
            if a is None:
                continue
            assert a.shape == b.shape and a.dtype is torch.float32
            if name not in names.GRADIENT_COMPOSED:
                assert wrong(a, b, 2**10 * scale) == 0
    DONE.add(name)


def test_what_no_sample_reaches():
    def leaf(*shape):
        return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape))).requires_grad_()

    functional = torch.nn.functional
    calls = {
        "col2im": lambda: functional.fold(leaf(2, 12, 6), (4, 3), (2, 2)),
        "attention_backward": lambda: functional.scaled_dot_product_attention(
            leaf(1, 2, 5, 4), leaf(1, 2, 6, 4), leaf(1, 2, 6, 3)
        ),
        "attention_backward, causal": lambda: functional.scaled_dot_product_attention(
            *(leaf(1, 1, 5, 4),) * 3, is_causal=True
        ),
        "batch_norm_without_running": lambda: torch.ops.aten._native_batch_norm_legit.no_stats(
            leaf(4, 3, 2), None, None, True, 0.1, 1e-5
        )[0],
        "fractional_max_pool2d_backward": lambda: functional.fractional_max_pool2d(
            leaf(2, 2, 6, 7), (3, 2), output_size=(3, 4)
        ),
        "fractional_max_pool3d_backward": lambda: functional.fractional_max_pool3d(leaf(2, 5, 6, 7), 2, output_size=3),
        "rrelu_with_noise_backward": lambda: functional.rrelu(leaf(5, 4), training=True),
        "rrelu_with_noise_backward, not trained": lambda: functional.rrelu(leaf(5, 4)),
    }
    for call in calls.values():
        with CALLS, rt.reproducible():
            made = call()
            made.backward(torch.randn(made.shape, generator=torch.Generator().manual_seed(7)))
        CALLS.check()
    DONE.add("others")


def test_every_definition_was_compared():
    """Those of gradients, and for each a number beside the right one was found to be wrong."""
    if set(WITH_GRADIENT) | {"others"} != DONE:
        pytest.skip("only some of the samples were run")
    assert set(names.BY_GRADIENTS) - set(CALLS.counts) == set()
    assert {n for n in CALLS.counts if not CALLS.found[n]} == set() and set(CALLS.missing) <= set(names.ELSEWHERE)


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
