"""Prepared calls of equally spaced numbers, which are compared with rationals, and of histograms, which have the bits of the table's functions."""

import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402
from prepared_calls import FORMATS, bits, checked, tensor, values  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402

aten = torch.ops.aten
NAMES = dict(zip(FORMATS, ("f16", "bf16", "f32", "f64"), strict=True))


def limits():
    """Limits and steps: ordinary ones, of few bits, whose quotients are often midpoints, cancelling, of very different magnitudes."""
    rng = np.random.default_rng(5)
    for k in range(40):
        n = int(rng.integers(2, 40))
        a, b = rng.standard_normal(2)
        yield float(a), float(b), n
        yield float(np.float32(a)), float(np.float32(b)), 5 + 4 * (k % 3)
        yield -float(a), float(a), n
        yield float(a), math.nextafter(float(a), 9.0), 1 + n
        yield float(a), float(b) * 2.0 ** -int(rng.integers(20, 90)), n
        yield float(rng.integers(-9, 9)), float(rng.integers(-9, 9)) + 0.5, 2 ** (k % 6) + 1
        yield float(rng.integers(2**51, 2**52)), 1.0, 3
    yield from (
        (0, 1, 1),
        (0.0, -1.0, 4),
        (-0.0, -1.0, 3),
        (0.1, 0.1, 4),
        (1e-300, 1e250, 9),
        (2.0**-1074, 1.0, 3),
        (3, -3, 7),
    )


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_spaced_numbers(dtype):
    """The control: the quotients of binary64, rounded again, are others somewhere."""
    call, taken, once = _core.Spaced(), 0, 0
    for start, end, steps in limits():
        made = call(start, end, steps, dtype=dtype)
        with rt.reproducible():
            assert bits(torch.linspace(start, end, steps, dtype=dtype)) == bits(
                made if made is not NotImplemented else torch.linspace(start, end, steps, dtype=dtype)
            )
        if made is NotImplemented:
            continue
        taken += 1
        n = max(steps - 1, 1)
        exact = [Fraction(start) + i * (Fraction(end) - Fraction(start)) / n for i in range(steps)]
        found = [v % (1 << 8 * dtype.itemsize) for v in bits(made)[-1]]
        assert found == [round_rational(v, NAMES[dtype]) for v in exact], (start, end, steps)
        plain = torch.tensor([start + i * ((end - start) / n) for i in range(steps)], dtype=torch.float64).to(dtype)
        once += bits(plain)[-1] != bits(made)[-1]
    assert taken > 200 and once > 5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_histograms(dtype, general):
    def calls():
        several = tensor(dtype, 40, 2), tensor(dtype, 5, 8, 2), tensor(dtype, 2, 40).mT, tensor(dtype, 40, 2).round()
        for x in [t.clamp(-9, 9) for t in several]:
            edges = torch.linspace(-3, 3, 7, dtype=dtype), torch.tensor([-1.0, 0, 0, 0.5], dtype=dtype)
            weight, ones = values(dtype, x.numel() // 2, 3).view(x.shape[:-1]), tensor(dtype, *x.shape, seed=4)
            for bins in ((3, 4), (1, 1)):
                for options in ({}, {"range": [-2.0, 2.0, -1.0, 0.5]}):
                    yield True, aten._histogramdd_bin_edges.default, (x, bins), options
                    yield True, aten._histogramdd_from_bin_cts.default, (x, bins), options
                    yield True, aten._histogramdd_from_bin_cts.default, (x, bins), options | {"weight": weight}
                    yield False, aten._histogramdd_from_bin_cts.default, (x, bins), options | {"density": True}
            yield False, aten._histogramdd_from_bin_cts.default, (x, (3, 0)), {}
            yield False, aten._histogramdd_from_bin_cts.default, (x, (3,)), {}
            yield False, aten._histogramdd_from_bin_cts.default, (x, (3, 4)), {"range": [1.0, 1.0, 0.0, 1.0]}
            yield True, aten._histogramdd_from_bin_tensors.default, (x, edges), {}
            yield True, aten._histogramdd_from_bin_tensors.default, (x, edges), {"weight": weight}
            yield False, aten._histogramdd_from_bin_tensors.default, (x, [edges[0], edges[1].flip(0)]), {}
            for options in ({}, {"range": [-2.0, 2.0]}, {"weight": ones}):
                yield True, aten.histogram.bin_ct, (x, 6), options
                yield False, aten.histogram.bin_ct, (x, 6), options | {"density": True}
            yield True, aten.histogram.bins_tensor, (x, edges[0]), {}
            yield True, aten.histogram.bins_tensor, (x, edges[1]), {"weight": ones}
            yield (
                False,
                aten.histogram.bins_tensor,
                (x, edges[0].to(torch.float32 if dtype is torch.float64 else torch.float64)),
                {},
            )
        strange = values(dtype, 80, 1).view(40, 2)
        yield False, aten._histogramdd_from_bin_cts.default, (strange, (3, 4)), {}
        yield True, aten.histogram.bins_tensor, (strange, edges[0]), {}
        yield True, aten._histogramdd_from_bin_tensors.default, (strange, edges), {}

    checked(calls(), general)
