"""hardsigmoid and hardswish of float64 beside rational numbers: around 3 and 0, of any size, in few and many elements."""

from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import by_mode, by_table  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import steps  # noqa: E402

aten = torch.ops.aten


def numbers(rng):
    near = [3.0, -3.0, 2.0**-60, -(2.0**-60), 2.0**-54, -(2.0**-54), 5e-324, -1e-310, 0.0, 1e308, -1e308, 1.5, -0.75]
    beside = [np.nextafter(v, to) for v in near for to in (-np.inf, np.inf)]
    wide = np.ldexp(rng.uniform(1, 2, 200), rng.integers(-1074, 1023, 200)) * rng.choice([-1, 1], 200)
    return np.array([*near, *beside, *wide, *rng.standard_normal(300), *(rng.integers(-48, 48, 200) / 16)])


def test_beside_rational_numbers():
    x = numbers(np.random.default_rng(9))
    sigmoid = np.array([float(min(max((Fraction(v) + 3) / 6, Fraction(0)), Fraction(1))) for v in x.tolist()])
    swish = np.where(x <= -3, 0.0, x * sigmoid)
    swish = np.where(x >= 3, x, swish)  # one rounding each
    for copies in (1, 100):
        t = torch.from_numpy(np.tile(x, copies))
        with rt.reproducible():
            made = torch.nn.functional.hardsigmoid(t).numpy(), torch.nn.functional.hardswish(t).numpy()
        for got, want in zip(made, (sigmoid, swish), strict=True):
            assert (got.view(np.uint64) == np.tile(want, copies).view(np.uint64)).all()


def test_ends():
    t = torch.tensor([np.inf, -np.inf, np.nan, -0.0], dtype=torch.float64)
    with rt.reproducible():
        sigmoid, swish = torch.nn.functional.hardsigmoid(t).tolist(), torch.nn.functional.hardswish(t)
    assert sigmoid[:2] == [1, 0] and np.isnan(sigmoid[2]) and sigmoid[3] == 0.5
    assert swish[0] == np.inf and swish[1] == 0 and swish[2].isnan() and torch.signbit(swish).tolist()[1::2] == [False, True]


def in_blocks():
    """More elements than a block has, an odd number of them, with infinities, NaN and zeros of both signs."""
    x = np.tile(numbers(np.random.default_rng(11)), 7)
    x[5::83], x[6::89], x[7::97], x[8::101], x[9::103] = np.inf, -np.inf, np.nan, -0.0, 0.0
    return torch.from_numpy(x[: x.size - x.size % 2 - 1].copy())


@pytest.mark.parametrize("name", ["hardsigmoid", "hardswish", "hardsigmoid_backward", "hardswish_backward", "hardswish_"])
def test_blocks_beside_the_table(name, general):
    overload, x = getattr(aten, name).default, in_blocks()
    args = [x.flip(0), x] if "backward" in name else [x]
    assert by_mode(overload, args, {}) == by_table(overload, args, {}) and overload not in general


@pytest.mark.parametrize("limit, least", [(2.0, 2.0**-60), (3.0, 2.0**-40), (4.0, 2.0**-60)])
def test_another_clamp_is_seen(limit, least, monkeypatch):
    """The control."""
    overload = aten.hardsigmoid.default
    before = _core.prepare_call(overload, None)
    monkeypatch.setattr(steps, "_half_and", lambda p, x, n: p.formula("quotient", 1.0, 0.5, p.clamped(x, limit, least), n))
    try:
        _core.prepare_call(overload, steps._call(overload, "hardsigmoid", steps._hardsigmoid, {"doubles": True}, "new"))
        assert by_mode(overload, [in_blocks()], {}) != by_table(overload, [in_blocks()], {})
    finally:
        _core.prepare_call(overload, before)
