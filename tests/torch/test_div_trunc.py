"""Quotients of float64 toward zero beside rational numbers: by numbers and tensors, of few and many elements, in place too."""

import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from prepared_calls import by_mode, by_table  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath.torch._aten import steps  # noqa: E402

DIVIDE = torch.ops.aten.div.Tensor_mode
NUMBERS = (0.7, -0.3, 3, 1e-300, 5e-324, -1e308, 2.0**-52 + 1, math.inf, 0.0, math.nan)


def toward_zero(x, y):
    """The value as a number, NaN as None."""
    if math.isnan(x) or math.isnan(y) or (math.isinf(x) and math.isinf(y)) or (x == 0 and y == 0):
        return None
    sign = math.copysign(1.0, x) * math.copysign(1.0, y)
    if math.isinf(x) or y == 0:
        return sign * math.inf
    if math.isinf(y):
        return sign * 0.0
    whole = math.trunc(Fraction(x) / Fraction(y))
    try:
        return math.copysign(float(abs(whole)), sign)  # rounded once
    except OverflowError:
        return sign * math.inf


def pairs(n):
    """Quotients beside whole numbers below and beyond 2**53, ties of these among them, of any exponents, and special operands."""
    rng = np.random.default_rng(7)
    y = rng.standard_normal(n) * 2.0 ** rng.integers(-20, 20, n)
    whole = np.trunc(rng.uniform(0, 1, n) * 2.0 ** rng.integers(0, 108, n)) * rng.choice([-1, 1], n)
    x = np.nextafter(whole * y, np.where(rng.integers(0, 2, n), np.inf, -np.inf))
    with np.errstate(all="ignore"):
        x = np.where(rng.integers(0, 3, n) == 0, whole * y, x)
    wide = rng.integers(0, 3, n) == 0
    x = np.where(wide, np.ldexp(rng.uniform(-2, 2, n), rng.integers(-1074, 1023, n)), x)
    y = np.where(wide, np.ldexp(rng.uniform(-2, 2, n), rng.integers(-1074, 1023, n)), y)
    small = rng.integers(0, 8, n) == 0
    x, y = np.where(small, rng.integers(-90, 90, n) * 5e-324, x), np.where(small, rng.integers(-9, 9, n) * 5e-324, y)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1.7976931348623157e308, 2.0**53, 2.0**106])
    at = rng.integers(0, 12, n) == 0
    x = np.where(at, rng.choice(special, n), x)
    return torch.from_numpy(x), torch.from_numpy(np.where(rng.integers(0, 12, n) == 0, rng.choice(special, n), y))


def same(got, want):
    return all(
        math.isnan(a) if b is None else a == b and math.copysign(1, a) == math.copysign(1, b)
        for a, b in zip(got, want, strict=True)
    )


@pytest.mark.parametrize("n", [7, 6001], ids=str)
def test_beside_rational_numbers(n):
    x, y = pairs(n)
    with rt.reproducible():
        made = x.div(y, rounding_mode="trunc"), x.clone().div_(y, rounding_mode="trunc")
        assert same(made[0].tolist(), list(map(toward_zero, x.tolist(), y.tolist()))) and torch.equal(
            *(m.view(torch.int64) for m in made)
        )
        for number in NUMBERS:
            want = [toward_zero(v, float(number)) for v in x.tolist()]
            assert same(x.div(number, rounding_mode="trunc").tolist(), want), number
            assert same(x.clone().div_(number, rounding_mode="trunc").tolist(), want), number


def test_beside_the_table(general):
    """With the bits of NaN, and of rows that are repeated."""
    x, y = pairs(6000)
    for divisor in (y, *NUMBERS):
        args = [x, divisor], {"rounding_mode": "trunc"}
        assert by_mode(DIVIDE, *args) == by_table(DIVIDE, *args) and DIVIDE not in general, divisor
    args = [x.view(60, 100), y[:100]], {"rounding_mode": "trunc"}
    assert by_mode(DIVIDE, *args) == by_table(DIVIDE, *args) and DIVIDE not in general


@pytest.mark.parametrize("recipe", ["truncated", "turned"])
def test_a_wrong_quotient_is_seen(recipe):
    """The control: whole numbers of rounded quotients, and another divisor for what is left."""
    wrong = {
        "truncated": lambda p, x, y: p.whole("trunc", p.divide(x, y)),
        "turned": lambda p, x, y: p._step("toward_zero", None, p.divide(x, y), x, p.neg(y)),
    }[recipe]
    args, before = ([*pairs(6000)], {"rounding_mode": "trunc"}), _core.prepare_call(DIVIDE, None)
    same_ = {"rounding_mode": "trunc", "doubles": True, "large": True}
    try:
        _core.prepare_call(DIVIDE, steps._call(DIVIDE, "divide_by_mode", wrong, same_, "new"))
        assert by_mode(DIVIDE, *args) != by_table(DIVIDE, *args)
    finally:
        _core.prepare_call(DIVIDE, before)


@pytest.mark.parametrize("rounding_mode", ["trunc", "floor", None])
def test_numbers_alone(rounding_mode):
    """PyTorch takes two Python numbers, as models write it for sizes."""
    for pair in ((512, 64), (-7, 2), (7.5, 2.0), (7, 2.5)):
        want = torch.div(*pair, rounding_mode=rounding_mode)
        with rt.reproducible():
            made = torch.div(*pair, rounding_mode=rounding_mode)
        assert made.dtype is want.dtype and made.equal(want), pair
