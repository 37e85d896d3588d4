"""Orthogonal polynomials and derivatives of digamma under reproducible(): in four formats, beside their coefficients in rational numbers and
differences of MPFR's digamma; numbers at roots and midpoints, special values, degrees and orders that are refused."""

import math
from fractions import Fraction

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")

import aten_exact  # noqa: E402
from aten_exact import derivative, exact, polynomial, rn  # noqa: E402
from gmpy2 import mpq  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten import polynomials, zeta  # noqa: E402

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
NAMES = list(aten_exact.POLYNOMIALS)


def points(dtype, seed):
    g = torch.Generator().manual_seed(seed)
    near = torch.rand(10, generator=g, dtype=torch.float64) * 2 - 1
    far = torch.randn(6, generator=g, dtype=torch.float64) * 30
    # Roots of some and numbers beside them, the ends of the interval, both ends of the range.
    roots = [0.5**0.5, 0.75**0.5, 0.6**0.5, 1 / 3**0.5, 0.5, 0.25, 0.0, 1.0, -1.0, 2.0, 2 - 2**0.5]
    ends = [float(torch.finfo(dtype).smallest_normal) / 4, -float(torch.finfo(dtype).max) / 2, 1 - 2.0**-9]
    return torch.cat([near, far, torch.tensor(roots + ends, dtype=torch.float64)]).to(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_polynomials(name):
    function, checked = getattr(torch.special, name), 0
    for dtype in DTYPES:
        x = points(dtype, len(name))
        for degree in (0, 1, 2, 5, 30 if dtype is torch.float64 else 13):
            with rt.reproducible():
                made = function(x, degree)
            for a, v in zip(made.tolist(), x.tolist(), strict=True):
                assert a == rn(polynomial(name, exact(v), degree), dtype), (dtype, degree, v)
                checked += 1
    assert checked > 300


def test_numbers_of_several_kinds():
    """Degrees lose what is behind the point; numbers and integers count as they are; one bit in each form."""
    x = torch.tensor([0.3, -1.7, 2.0])
    n = torch.tensor([3.9, 2.0, 5.0])
    with rt.reproducible():
        for name in NAMES:
            f = getattr(torch.special, name)
            made = f(x, n)
            assert torch.equal(made, f(x, torch.tensor([3, 2, 5])))
            assert torch.equal(f(x, 3), f(x, torch.tensor([3.0] * 3))) and f(x, n).dtype is torch.float32
            assert f(0.3, n)[0].item() == rn(polynomial(name, mpq(0.3), 3), torch.float32)
            assert f(2**60 + 1, torch.tensor([2.0]))[0].item() == rn(polynomial(name, mpq(2**60 + 1), 2), torch.float32)
            assert torch.equal(torch.stack([f(v, k) for v, k in zip(x, n, strict=True)]), made)
            out = torch.empty(3)
            f(x, n, out=out)
            assert torch.equal(out, made)
            assert f(x, -1).tolist() == [0.0] * 3 and f(x, torch.tensor([-0.5] * 3)).tolist() == [1.0] * 3
            assert f(torch.tensor([], dtype=torch.float64), 3).shape == (0,)
            # Every root is +0: never -0.
            assert math.copysign(1.0, f(torch.tensor([-0.0]), 9).item() or 1.0)
            for bad in (math.nan, math.inf, 5000):
                with pytest.raises(rt.UncoveredOperatorError, match="degree"):
                    f(x, bad)


def test_special_values():
    inf, nan = math.inf, math.nan
    x = torch.tensor([inf, -inf, nan])
    with rt.reproducible():
        for name in NAMES:
            f = getattr(torch.special, name)
            sign = -1 if name.startswith("laguerre") else 1
            assert f(x, 0).tolist() == [1.0] * 3
            assert f(x, 3)[:2].tolist() == [sign * inf, -sign * inf] and f(x, 4)[:2].tolist() == [inf, inf]
            assert f(x, 3)[2].isnan() and f(x.double(), 3)[2].isnan()
        large = torch.special.hermite_polynomial_h(torch.tensor([3.0, -3.0], dtype=torch.float64), 399)
        small = torch.special.hermite_polynomial_h(torch.tensor([3.0], dtype=torch.float64), 600)
    want = [rn(polynomial("hermite_polynomial_h", mpq(v), 399), torch.float64) for v in (3, -3)]
    assert large.tolist() == want and small.tolist() == [rn(polynomial("hermite_polynomial_h", mpq(3), 600), torch.float64)]


def test_what_the_recurrence_leaves():
    """Numbers of few digits, roots, NaN and infinities have the values that integers give, most of them without these; so has any number. Where a step is not
    exact in binary64, the value would be another one."""
    g = torch.Generator().manual_seed(3)
    short = torch.randint(-(2**9), 2**9, (60,), generator=g) / 2.0 ** torch.randint(0, 10, (60,), generator=g)
    few = torch.tensor([0.0, -0.0, 0.5, math.nan, math.inf, -math.inf])
    x = torch.cat([short, torch.randn(20, generator=g), few]).double().numpy()
    n = torch.randint(-1, 6, x.shape, generator=g).double().numpy()
    held = other = 0
    for name in NAMES:
        family = polynomials.FAMILIES[name]
        for dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            made = polynomials._rest(family, x, n, dtype)
            for v, k, a in zip(x.tolist(), n.tolist(), made.tolist(), strict=True):
                want = np.array(polynomials._one(family, v, int(k), dtype)).astype(dtype)
                assert a == want or (a != a and want != want), (name, v, k)
                assert a != 0 or not np.signbit(a)
        finite = np.isfinite(x) & (n > 0)
        values, known = polynomials._short(family, x[finite], n[finite])
        held += known[:30].sum()
        for v, k, a, sure in zip(x[finite].tolist(), n[finite].tolist(), values.tolist(), known.tolist(), strict=True):
            same = Fraction(*polynomials._exact(family, v, int(k))) == Fraction(a)
            assert same or not sure
            other += not same
    assert held > 200 and other > 50


def test_prepared_calls_decide_nearly_all():
    """Small calls of any numbers have no other tier."""
    x = torch.randn(500, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    for name in NAMES:
        for v in (x.float(), x):
            assert polynomials.CALLS[name](v, 4) is not NotImplemented
            assert polynomials.CALLS[name](v, torch.full_like(v, 7)) is not NotImplemented


# --- derivatives of digamma


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 4])
def test_polygamma(dtype, n):
    g = torch.Generator().manual_seed(n)
    x = torch.cat(
        [
            torch.rand(6, generator=g, dtype=torch.float64) * 20,
            -torch.rand(5, generator=g, dtype=torch.float64) * 6,
            # Zeros of the second derivative, small and large numbers, whole ones, numbers beside poles.
            torch.tensor(
                [-0.5, -1.5, -1.5698, -3.0 - 2.0**-7, 2.0**-10, -(2.0**-10), 0.5, 1.0, 3.0, 1000.0, 30000.0, -200.25]
            ),
        ]
    ).to(dtype)
    with rt.reproducible():
        made = torch.polygamma(n, x)
        assert torch.equal(x.clone().polygamma_(n), made) and torch.equal(torch.special.polygamma(n, x), made)
    for a, v in zip(made.tolist(), x.tolist(), strict=True):
        value = derivative(n, exact(v))
        if value is None:
            assert a == math.inf * (1 if n % 2 else -1)
        else:
            assert a == rn(value, dtype), (v, a)


def test_polygamma_special_values():
    x = torch.tensor([0.0, -0.0, -1.0, -7.0, math.inf, -math.inf, math.nan])
    for dtype in DTYPES:
        with rt.reproducible():
            odd, even = torch.polygamma(3, x.to(dtype)), torch.polygamma(2, x.to(dtype))
            assert torch.equal(
                torch.polygamma(0, torch.tensor([1.5], dtype=dtype)), torch.digamma(torch.tensor([1.5], dtype=dtype))
            )
        assert odd[:5].tolist() == [math.inf] * 4 + [0.0] and odd[5:].isnan().all()
        assert even[:5].tolist() == [-math.inf] * 4 + [0.0] and even[5:].isnan().all()
        assert not odd[4].signbit() and even[4].signbit()
    with rt.reproducible():
        for v in (1e-300, -1e-300, 5e-324):  # beyond the range
            assert torch.polygamma(1, torch.tensor([v], dtype=torch.float64)).item() == math.inf
        for v in (1e200, 1e300):  # 1/x + 1/(2 x**2) + ..., whose first term is a hair below
            made = torch.polygamma(1, torch.tensor([v], dtype=torch.float64)).item()
            assert made == float(1 / Fraction(v) + 1 / (2 * Fraction(v) ** 2))
            assert torch.polygamma(4, torch.tensor([v], dtype=torch.float64)).item() == 0.0
        with pytest.raises(rt.UncoveredOperatorError, match="above 200"):
            torch.polygamma(201, torch.ones(1))
        with pytest.raises(RuntimeError):
            torch.polygamma(-1, torch.ones(1))
        assert torch.polygamma(1, torch.tensor([1, 2])).tolist() == [rn(derivative(1, mpq(v)), torch.float32) for v in (1, 2)]
        # The derivatives of lgamma, and of its derivative.
        leaf = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
        (once,) = torch.autograd.grad(torch.lgamma(leaf), leaf, create_graph=True)
        (twice,) = torch.autograd.grad(once, leaf)
    assert twice.item() == rn(derivative(1, exact(0.7)), torch.float64)


def test_polygamma_of_numbers_that_the_fast_tier_leaves():
    """Poles, numbers beside them and far below 0, higher orders; any other numbers are decided at once."""
    x = torch.rand(200, generator=torch.Generator().manual_seed(4)) * 40 - 14
    for v in (x, x.double()):
        assert zeta.CALL(3, v) is not NotImplemented and zeta.CALL(8, v) is NotImplemented
    few = torch.tensor([-3.0, -15.0, -15.5, -20.25, -1.0 - 2.0**-20, 0.0, math.inf, math.nan, 2.0**101])
    for n in (2, 5, 9):
        for dtype in DTYPES:
            with rt.reproducible():
                made = torch.polygamma(n, few.to(dtype))
            target = np.dtype(np.float32)
            want = [
                zeta._one(v, n, target if dtype is torch.float32 else np.dtype(np.float64)) for v in few.to(dtype).tolist()
            ]
            if dtype in (torch.float32, torch.float64):
                assert torch.equal(
                    made.nan_to_num(0.125), torch.tensor(want, dtype=torch.float64).to(dtype).nan_to_num(0.125)
                )
