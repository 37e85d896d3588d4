"""Bessel functions of the orders 0 and 1 under reproducible(), beside mpmath's of 600 bits and more: small and large numbers, roots, special values."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")

from aten_exact import rn  # noqa: E402
from gmpy2 import mpq  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten import special as bessel  # noqa: E402

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NAMES = {
    "i0": lambda x: mpmath.besseli(0, x),
    "i1": lambda x: mpmath.besseli(1, x),
    "i0e": lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)),
    "i1e": lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)),
    "bessel_j0": lambda x: mpmath.besselj(0, x),
    "bessel_j1": lambda x: mpmath.besselj(1, x),
}
# Roots of J, the overflow of I, numbers whose results are beside boundaries.
HARD = [
    2.404825557695773,
    3.8317059702075125,
    -5.520078110286311,
    713.9,
    700.0,
    -90.0,
    30.5,
    400.0,
    1e-9,
    -1e-4,
    2.0**-12,
    5e-324,
    -1e-300,
]
FAR = [4096.5, 5000.3, -70000.25, 1e10, -1.5e300]


def exact(name, x):
    """Near 1, and small ones: the smaller the number, the more bits. Series cancel up to 4096, angles of far numbers are reduced."""
    more = 3 * int(abs(x)) if abs(x) <= 4096 else 0
    with mpmath.workprec(600 + abs(math.frexp(x)[1]) * (4 if abs(x) < 1 else 1) + more):
        value = NAMES[name](mpmath.mpf(x))
        sign, m, e, _ = value._mpf_
        return (-1) ** sign * mpq(int(m)) * mpq(2) ** e


@pytest.mark.parametrize("name", NAMES)
def test_bits(name):
    x = torch.cat(
        [
            torch.randn(16, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 8,
            torch.tensor(HARD, dtype=torch.float64),
        ]
    )
    for dtype in DTYPES:
        y = x.to(dtype)
        y = y[(y != 0) & (y.abs() <= 4096)]
        with rt.reproducible():
            made = getattr(torch.special, name)(y)
        for a, v in zip(made.tolist(), y.tolist(), strict=True):
            assert a == rn(exact(name, v), dtype), (dtype, v)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "i0e", "i1e"])
def test_far_numbers(name):
    x = torch.tensor(FAR, dtype=torch.float64)
    for dtype in DTYPES:
        y = x.to(dtype)
        y = y[y.isfinite()]
        with rt.reproducible():
            made = getattr(torch.special, name)(y)
        assert made.tolist() == [rn(exact(name, v), dtype) for v in y.tolist()], dtype


def test_special_values():
    inf = math.inf
    x = torch.tensor([inf, -inf, 0.0, -0.0, math.nan])
    want = {
        "i0": [inf, inf, 1.0, 1.0],
        "i1": [inf, -inf, 0.0, -0.0],
        "i0e": [0.0, 0.0, 1.0, 1.0],
        "i1e": [0.0, -0.0, 0.0, -0.0],
        "bessel_j0": [0.0, 0.0, 1.0, 1.0],
        "bessel_j1": [0.0, -0.0, 0.0, -0.0],
    }
    for dtype in DTYPES:
        with rt.reproducible():
            for name, values in want.items():
                made = getattr(torch.special, name)(x.to(dtype))
                assert made[:4].tolist() == values and made[4].isnan()
                assert made[:4].signbit().tolist() == [math.copysign(1.0, v) < 0 for v in values]
    large, whole = torch.tensor([5000.0], dtype=torch.float64), torch.tensor([1, 2])
    with rt.reproducible():
        assert torch.i0(large).item() == torch.special.i1(large).item() == inf
        assert torch.i0(whole).tolist() == [rn(exact("i0", float(v)), torch.float32) for v in (1, 2)]
        assert torch.equal(torch.special.modified_bessel_i0(large / 50), torch.i0(large / 50))
        assert torch.equal(torch.special.modified_bessel_i1(large / 50), torch.special.i1(large / 50))
        leaf = torch.tensor([1.25], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.i0(leaf), leaf)
    assert slope.item() == rn(exact("i1", 1.25), torch.float64)


def test_what_the_series_leaves():
    """Numbers beyond 64, zeros and those that are not finite; any other numbers are decided at once."""
    x = torch.rand(300, generator=torch.Generator().manual_seed(3)) * 60 + 1
    for name in NAMES:
        for v in (x, x.double()):
            call = bessel.CALLS[{"bessel_j0": "j0", "bessel_j1": "j1"}.get(name, name)]
            assert call(v * (0.1 if "j" in name else 1.0)) is not NotImplemented
            assert call(torch.cat([v, v + 64])) is NotImplemented
    far = torch.tensor([64.5, -70.25, 100.0, 719.0], dtype=torch.float64)
    for name in ("i0", "i1e"):
        with rt.reproducible():
            made = getattr(torch.special, name)(far)
        assert made.tolist() == [rn(exact(name, v), torch.float64) for v in far.tolist()]
