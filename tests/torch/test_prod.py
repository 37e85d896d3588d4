"""Products and partial products beside those of integers: exact ones, ties, exponents of any size, exceptional factors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import CANONICAL_NAN, FORMATS, round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._tensors import as_tensor  # noqa: E402

LENGTHS = (1, 2, 3, 5, 7, 31, 32, 33, 40, 100, 300)
MAKERS = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "integers": lambda rng, n: rng.choice([-3, -2, -1, 1, 2, 3], n),
    "powers": lambda rng, n: 2.0 ** rng.integers(-12, 13, n),
    "near one": lambda rng, n: 1 + rng.standard_normal(n) * 0.02,
    "wide": lambda rng, n: np.exp(rng.standard_normal(n) * 6),
    "exceptional": lambda rng, n: np.where(rng.random(n) < 3 / n, rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], n), -1.5),
}


def expected(factors, fmt):
    """The bits of the product of numbers."""
    _, _, fraction, _, infinity, shift = FORMATS[fmt]
    special = [v for v in factors if v == 0 or not np.isfinite(v)]
    sign = sum(bool(np.signbit(v)) for v in factors) % 2 << shift
    if special:
        with np.errstate(all="ignore"):
            value = np.prod(special)
        return CANONICAL_NAN[fmt] if np.isnan(value) else sign | (infinity << fraction if value else 0)
    exact = Fraction(1)
    for v in factors:
        exact *= Fraction(v)
    return round_rational(exact, fmt) or sign


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32", "f64"])
def test_products(fmt):
    dtype, unsigned = FORMATS[fmt][0], FORMATS[fmt][1]
    rng = np.random.default_rng(1)
    with rt.reproducible():
        for name, make in MAKERS.items():
            for n in LENGTHS:
                with np.errstate(over="ignore"):
                    x = make(rng, n).astype(dtype)
                t = as_tensor(np.stack([x, x[::-1]], 1))  # rows apart in memory, too
                whole, part = torch.prod(t, 0), torch.cumprod(t[:, :1].reshape(1, -1), 1)[0]
                numbers = [float(v) for v in x]
                want = expected(numbers, fmt)
                assert [int(b) for b in whole.view(_INTEGERS[fmt]).numpy().view(unsigned)] == [want] * 2, (name, n)
                for k in {0, n // 2, n - 1}:
                    got = int(part.view(_INTEGERS[fmt]).numpy().view(unsigned)[k])
                    assert got == expected(numbers[: k + 1], fmt), (name, n, k)


_INTEGERS = {"f16": torch.int16, "bf16": torch.int16, "f32": torch.int32, "f64": torch.int64}


def test_wide_products():
    """Of binary64: beside midpoints and on them, beside the ends of the range, of subnormal factors and results, in rows and in parts of one row."""
    rng = np.random.default_rng(2)
    tail = 1 + rng.integers(0, 2**52, (40, 4)) * 2.0**-52
    ties = tail * np.array([2.0**-52 * 3, 1, 1, 1])  # three times 53 digits, beside three factors of 1
    ties[:, 1:] = 1
    near = np.stack([1 + k * 2.0**-52 for k in range(40)])[:, None] * np.array([1.5, 1 - 2.0**-53, 1 + 2.0**-52, 1])
    exponents = rng.integers(-3, 3, (40, 4)) + np.array([-500, -400, -171, -2])
    small, large = np.ldexp(tail, exponents), np.ldexp(tail, np.array([500, 400, 120, 0]) + rng.integers(0, 2, (40, 4)))
    subnormal = np.ldexp(tail, np.array([-1060, 1000, -1050, 1100 - 80]))
    special = np.where(rng.random((40, 4)) < 0.2, rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan], (40, 4)), small)
    odd = (
        rng.integers(0, 2**20, (40, 1)) * 2 + 1
    )  # ties of subnormal numbers, beside them, and beside the least normal and all numbers
    halves = np.hstack([np.ldexp(odd, -500), np.ldexp(np.ones((40, 1)), -575), np.ones((40, 1)), np.ones((40, 1))])
    beside = halves * np.array([1, 1, 1 + 2.0**-52, 1 - 2.0**-53])
    both = halves * np.array([1, 1, 1 + 2.0**-52, 1 - 2.0**-52])
    least = np.ldexp(tail[:, :1], -1022) * np.ones(4) * np.array([1, 1 - 2.0**-53, 1 + 2.0**-52, 0.5])
    least[:, 1:] = np.array([1 - 2.0**-53, 1 + 2.0**-52, 0.5])
    ends = np.array([1 - 2.0**-53, 2.0**1000, 2.0**24, 1 - 2.0**-53]) * np.where(rng.random((40, 1)) < 0.5, -1, 1)
    several = 0
    for rows in (halves, beside, both, least, ends, ties, near, small, large, subnormal, special, -small):
        want = np.array([[expected(list(row[:k]), "f64") for k in range(1, 5)] for row in rows.tolist()], np.uint64)
        t = torch.from_numpy(rows)
        with rt.reproducible():
            part, whole = torch.cumprod(t, 1), torch.prod(t, 1)
            single = torch.stack([torch.prod(row) for row in t])
            turned = torch.cumprod(t.t().contiguous(), 0).t()
        assert (part.numpy().view(np.uint64) == want).all()
        assert (turned.contiguous().numpy().view(np.uint64) == want).all()
        assert (whole.numpy().view(np.uint64) == want[:, 3]).all() and (single.numpy().view(np.uint64) == want[:, 3]).all()
        with np.errstate(all="ignore"):
            several += int((np.multiply.accumulate(rows, 1).view(np.uint64) != want).sum())
    assert several  # the control: each multiplication rounded


def test_long_products():
    """Parts of a row in lanes, some of which hold what is special: the place of a 0, an infinity or a NaN does not matter."""
    rng = np.random.default_rng(3)
    for fmt in FORMATS:
        x = np.where(rng.random(5000) < 0.5, -1.0, 1.0).astype(FORMATS[fmt][0])
        for at, values in (
            (-1, (0.0,)),
            (10, (np.inf,)),
            (2500, (0.0, np.inf)),
            (4999, (np.nan,)),
            (3, (-0.0, 2.0)),
            (3000, (3.0,)),
        ):
            row = x.copy()
            row[at - len(values) + 1 : at + 1 or None] = values
            with rt.reproducible():
                got = torch.prod(as_tensor(row)).view(_INTEGERS[fmt]).item() & (1 << 8 * row.itemsize) - 1
            assert got == expected([float(v) for v in row], fmt), (fmt, at)


def test_control():
    """Rounded after each factor, products of the same numbers differ; out of the range of binary64 they are lost."""
    rng = np.random.default_rng(1)
    rows = np.stack([MAKERS["near one"](rng, 300) for _ in range(20)]).astype(np.float32)
    tail = torch.cat((torch.full((30,), 2.0**-100), torch.full((30,), 2.0**100)))
    with rt.reproducible():
        made, one = torch.prod(torch.from_numpy(rows), 1).numpy(), float(torch.prod(tail))
    assert (np.multiply.reduce(rows, 1) != made).any()
    assert one == 1.0 != np.multiply.reduce(tail.double().numpy())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_axes_in_any_order(dtype):
    """Products over an axis, and products and norms of all elements, of tensors that fill their memory in another order."""
    rng = np.random.default_rng(7)
    for shape in ((3, 4, 5), (1, 4, 5, 2), (2, 1, 1, 3), (70, 3, 2)):
        for order in itertools.permutations(range(len(shape))):
            x = torch.from_numpy(rng.standard_normal(shape)).to(dtype).permute(order)
            with rt.reproducible():
                for dim, keep in itertools.product(range(x.ndim), (False, True)):
                    made, wanted = x.prod(dim, keep), x.contiguous().prod(dim, keep)
                    assert made.shape == wanted.shape and torch.equal(made, wanted)
                assert torch.equal(x.prod(), x.contiguous().prod())
                assert torch.equal(torch.linalg.vector_norm(x), torch.linalg.vector_norm(x.contiguous()))
