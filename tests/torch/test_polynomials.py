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


def test_fast_tier():
    """Its bounds hold, those of a hundredth do not; what it decides is what integers give, nearly all of binary32 at low degrees."""
    g = torch.Generator().manual_seed(3)
    x = torch.rand(600, generator=g) * 4 - 2
    degree = torch.randint(1, 12, (600,), generator=g)
    beyond = 0
    for name in NAMES:
        family = polynomials.FAMILIES[name]
        made, bound = polynomials._by_recurrence(family, x.double().numpy(), degree.numpy())
        low, sure = polynomials._fast(family, x.double().numpy(), degree.numpy(), np.dtype(np.float32))
        for i, (v, n) in enumerate(zip(x.tolist(), degree.tolist(), strict=True)):
            error = abs(Fraction(*polynomials._exact(family, v, n)) - Fraction(float(made[i])))
            assert error <= Fraction(float(bound[i])), (name, v, n)
            beyond += error > Fraction(float(bound[i])) / 100
            want = np.float32(polynomials._one(family, v, n, np.dtype(np.float32)))
            assert not sure[i] or low[i] == want
        assert sure.mean() > 0.99
    assert beyond > 100


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


def test_polygamma_fast_tier():
    """What the fast tier decides is what the sum gives; most it decides. With the rest of its series lost it is wrong."""
    g = torch.Generator().manual_seed(4)
    x = torch.rand(1500, generator=g) * 30
    for n in (1, 4, 7):
        low, sure = zeta._fast(x.double().numpy(), n, np.dtype(np.float32))
        slow = np.array([zeta._one(v, n, np.dtype(np.float32)) for v in x[:300].tolist()]).astype(np.float32)
        assert sure.mean() > 0.999 and (low[:300] == slow)[sure[:300]].all()
    shift = zeta._SHIFT
    # Left of 0, beside poles and beside the zeros of even derivatives, where terms of both signs cancel, in two formats.
    poles = -torch.arange(1.0, 15).repeat(8)
    left = torch.cat(
        [-torch.rand(400, generator=g) * 16, poles + torch.randn(112, generator=g) * 2.0 ** -torch.arange(112).div(7)]
    )
    zeros = torch.tensor([-1.5697, -2.5727, -3.5758, -4.5783]).repeat(40) * (1 + torch.randn(160, generator=g) * 2.0**-20)
    for n in (1, 2, 3, 7):
        for dtype, v in ((np.float32, torch.cat([left, zeros])), (np.float16, left.half().float())):
            low, sure = zeta._fast(v.double().numpy(), n, np.dtype(dtype))
            some = np.flatnonzero(sure)
            right = zeta.convert_array(np.array([zeta._one(v[i].item(), n, np.dtype(dtype)) for i in some]), np.dtype(dtype))
            assert (low[some] == right).all() and sure.mean() > 0.85  # in float16 a tenth are poles
    loose = zeta._whole_power
    try:  # the control: powers that are 2**-25 off, which the bound does not allow for, round otherwise at some
        zeta._whole_power = lambda v, s: loose(v, s) * (1 + 2.0**-25)
        low, sure = zeta._fast(left.double().numpy(), 3, np.dtype(np.float32))
        some = np.flatnonzero(sure)
        right = np.array([zeta._one(left[i].item(), 3, np.dtype(np.float32)) for i in some]).astype(np.float32)
        assert (low[some] != right).any()
    finally:
        zeta._whole_power = loose
    try:
        zeta._SHIFT = 1
        low, sure = zeta._fast(x.double().numpy(), 7, np.dtype(np.float32))
        assert ((low[:300] != slow) & sure[:300]).any()
    finally:
        zeta._SHIFT = shift
