"""prod and cumprod under reproducible(): RN of the exact product, in any order, against rational numbers."""

import itertools
import math
from fractions import Fraction

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import numpy as np  # noqa: E402
from exact_oracle import bits, round_rational  # noqa: E402

import repmath  # noqa: E402
import repmath.torch as rt  # noqa: E402
from repmath import _prod as prod  # noqa: E402
from repmath.torch._tensors import as_array  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}


def numbers(dtype, rows, n, spread, seed):
    """Of random significands and exponents; of the second half of the rows, small whole numbers, whose products are ties."""
    draw = np.asarray(repmath.random.uniform(seed, (2, rows, n), -1, 1))
    wide = draw[0] * np.exp2(np.round(spread * draw[1]))
    wide[rows // 2 :] = np.round(wide[rows // 2 :] / np.abs(wide[rows // 2 :]).max() * 15) + 0.5 * (
        draw[1][rows // 2 :] > 0.5
    )
    return torch.from_numpy(wide).to(dtype)


def check(ours, exact, form):
    assert bits(as_array(ours).reshape(-1)).tolist() == [round_rational(v, form) for v in exact]


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("n, spread", [(2, 3), (3, 40), (7, 1), (8, 300), (60, 4), (257, 0)])
def test_products(dtype, n, spread):
    spread = min(spread, {torch.float16: 10, torch.float64: 300}.get(dtype, 100))
    x = numbers(dtype, 24, n, spread, n)
    rows = [[Fraction(float(v)) for v in row] for row in x]
    with rt.reproducible():
        made, partial = x.prod(1), x.cumprod(1)
        assert torch.equal(x.flip(1).prod(1), made) and torch.equal(x.t().contiguous().prod(0), made)
        wide = x.prod(1, dtype=torch.float64)
    zero = torch.zeros((), dtype=dtype)
    good = (made != zero) & (partial != zero).all(1)  # the sign of a zero is that of the factors, tested below
    assert bool(good.any()) or n > 7
    exact = [math.prod(row) for row in rows]
    check(made[good], [v for v, g in zip(exact, good, strict=True) if g], FORMATS[dtype])
    check(wide[good], [v for v, g in zip(exact, good, strict=True) if g], "f64")
    sums = [list(itertools.accumulate(row, lambda a, b: a * b)) for row in rows]
    check(partial[good], [v for row, g in zip(sums, good, strict=True) if g for v in row], FORMATS[dtype])


def test_partial_products_beyond_the_range():
    """Where a chain of two at a time would overflow, or lose what is subnormal."""
    for dtype, big in ((torch.float16, 2.0**15), (torch.float32, 2.0**127), (torch.float64, 2.0**1023)):
        x = torch.tensor([big, big, 1.5, 1 / big, 1 / big], dtype=dtype)
        with rt.reproducible():
            assert x.prod() == 1.5 and x.flip(0).prod() == 1.5 and x.cumprod(0).tolist()[-1] == 1.5
            least = torch.tensor([1 / big, 1 / big, 1.5 * big], dtype=dtype)
            assert least.prod() == 1.5 / big
    tiny = torch.tensor([2.0**-1000, 3 * 2.0**-75], dtype=torch.float64)  # a tie of subnormal numbers
    with rt.reproducible():
        assert tiny.prod() == 2 * 2.0**-1074 and (tiny * torch.tensor([1, -0.5])).prod() == -1 * 2.0**-1074


def test_zeros_infinities_and_nothing():
    inf, nan = math.inf, math.nan
    cases = [([0.0, -2], -0.0), ([-0.0, -2], 0.0), ([inf, -3, 1e-3], -inf), ([0.0, inf], nan), ([nan, 0.0], nan), ([], 1.0)]
    for values, want in cases:
        for dtype in FORMATS:
            with rt.reproducible():
                made = torch.tensor(values, dtype=dtype).prod()
            assert as_array(made).tobytes() == as_array(torch.tensor(want, dtype=dtype)).tobytes(), values
    with rt.reproducible():
        made = torch.tensor([2.0, -0.0, 3, inf, 1]).cumprod(0)
        assert torch.tensor([[2, 3], [4, 5]]).prod() == 120 and torch.ones(0, 3).prod(0).tolist() == [1, 1, 1]
    assert made.tolist()[:3] == [2, 0, 0] and bool(made[1:3].signbit().all()) and bool(made[3:].isnan().all())


def test_control_products_of_rounded_products(monkeypatch):
    """A tie less 2**-104 is decided by integers; a chain of rounded products loses what is missing."""
    x = torch.tensor([1 + 3 * 2.0**-24, 1 + 2.0**-52, 1 - 2.0**-52], dtype=torch.float64)
    with rt.reproducible():
        good = x.prod(dtype=torch.float32)
        check(good[None], [math.prod(Fraction(float(v)) for v in x)], "f32")
    monkeypatch.setattr(prod, "_by_integers", lambda factors, dtype: math.prod(factors[::-1]))
    with rt.reproducible():
        assert x.prod(dtype=torch.float32) != good
