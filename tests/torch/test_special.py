"""Bessel's Y and K, Airy's Ai, Hurwitz's zeta, the incomplete gamma functions and sin(x)/x under reproducible(), beside MPFR's and mpmath's of 400 bits and more:
roots, ends of the ranges of each expansion, numbers whose values are beside boundaries, special values."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("expecttest", reason="expecttest, which PyTorch's samples need, is not installed")
mpmath = pytest.importorskip("mpmath", reason="mpmath is not installed")

import gmpy2  # noqa: E402
from aten_exact import hurwitz, rn  # noqa: E402
from gmpy2 import mpq  # noqa: E402
from prepared_calls import FORMATS, checked, tensor, turned  # noqa: E402

import repmath.torch as rt  # noqa: E402
from repmath import _core  # noqa: E402
from repmath._narrow import convert_array  # noqa: E402
from repmath._special import enclosures as en  # noqa: E402
from repmath._special import functions as special  # noqa: E402

ONE = {
    "bessel_y0": gmpy2.y0,
    "bessel_y1": gmpy2.y1,
    "modified_bessel_k0": lambda x: mpmath.besselk(0, x),
    "modified_bessel_k1": lambda x: mpmath.besselk(1, x),
    "scaled_modified_bessel_k0": lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
    "scaled_modified_bessel_k1": lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
    "spherical_bessel_j0": lambda x: mpmath.sin(x) / x,
    "airy_ai": gmpy2.ai,
}
# Roots of Y0, Y1 and Ai, a multiple of pi; where one expansion follows another; large and small numbers.
HARD = [
    0.8935769662791675,
    2.197141326031017,
    -2.338107410459767,
    3.141592653589793,
    2.0,
    25.0,
    26.0,
    11.5,
    -11.2,
    1.0,
    40.5,
    600.0,
    1e-9,
    2.0**-12,
]
PAIRS = [
    (0.5, 0.25),
    (0.5, 30.0),
    (1.0, 1.0),
    (3.0, 4.0),
    (3.0, 4.5),
    (20.25, 20.0),
    (20.25, 22.0),
    (2.0, 0.125),
    (1e-3, 3.0),
    (7.5, 90.0),
    (40.0, 3.0),
]
ORDERS = [
    (2.0, 1.0),
    (1.5, 0.125),
    (1.0000001192092896, 4.0),
    (30.0, 0.75),
    (30.0, 7.0),
    (6.5, 300.0),
    (100.0, 1.5),
    (3.0, -2.5),
    (2.0, -0.25),
    (70.0, 1.0),
]


def number(value):
    sign, m, e, _ = value._mpf_
    return (-1) ** sign * mpq(int(m)) * mpq(2) ** e


def exact(function, *row):
    if str(getattr(function, "__module__", "")).startswith("gmpy2"):
        with gmpy2.context(precision=400):
            return mpq(function(*map(gmpy2.mpfr, row)))
    with mpmath.workprec(200 + 8 * max(0, *(-math.frexp(v)[1] for v in row))):
        return number(function(*map(mpmath.mpf, row)))


@pytest.mark.parametrize("name", ONE)
def test_bits(name):
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        y = torch.tensor(HARD, dtype=torch.float64).to(dtype)
        y = y[y != 0] if name in ("airy_ai", "spherical_bessel_j0") else y[y > 0]
        with rt.reproducible():
            made = getattr(torch.special, name)(y)
        assert made.dtype is dtype
        for a, v in zip(made.tolist(), y.tolist(), strict=True):
            assert a == rn(exact(ONE[name], v), dtype), (dtype, v)


@pytest.mark.parametrize("name", ["igamma", "igammac", "zeta"])
def test_bits_of_pairs(name):
    of = {
        "igamma": lambda a, x: mpmath.gammainc(a, 0, x, regularized=True),
        "igammac": lambda a, x: mpmath.gammainc(a, x, mpmath.inf, regularized=True),
        "zeta": lambda s, q: hurwitz(mpmath, s, q),
    }[name]
    call = torch.special.zeta if name == "zeta" else getattr(torch, name)
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        a, x = torch.tensor(ORDERS if name == "zeta" else PAIRS, dtype=torch.float64).T.to(dtype)
        keep = a > 1 if name == "zeta" else a > 0
        a, x = a[keep], x[keep]
        with rt.reproducible():
            made = call(a, x)
        for r, *row in zip(made.tolist(), a.tolist(), x.tolist(), strict=True):
            assert r == rn(exact(of, *row), dtype), (dtype, row)


@pytest.mark.parametrize("name", special.FUNCTIONS)
def test_both_tiers_agree(name):
    """Double-double decides nearly all, and what it decides has the bits that the intervals have. An interval that is moved by 2**-30 of itself has not."""
    rng = np.random.default_rng(len(name))
    two = name in ("igamma", "igammac", "zeta", "beta")
    x = np.concatenate([rng.random(6) * 50, 10 ** rng.uniform(-4, 2, 6)])
    a = np.concatenate([rng.random(6) * 30, 10 ** rng.uniform(-2, 2, 6)]) + (name == "zeta")
    x = np.where(rng.random(x.size) < 0.5, x, -x) if name == "airy" else x
    made, undecided = np.empty(x.size), np.empty(x.size, np.uint8)
    _core.special_values(special.NUMBERS[name], "f64", a if two else None, x, made, undecided)
    assert undecided.sum() < 5
    rows = list(zip(a.tolist(), x.tolist(), strict=True)) if two else [(v,) for v in x.tolist()]
    want = [special.FUNCTIONS[name](*row, np.dtype(np.float64)) for row in rows]
    assert [m for m, u in zip(made, undecided, strict=True) if not u] == [
        w for w, u in zip(want, undecided, strict=True) if not u
    ]
    assert special.decided(lambda p: (3 << p, 3 << p, -p), np.dtype(np.float64), "3") == 3.0
    assert special.decided(lambda p: (3 << p, 3 << p, -p), np.dtype(np.float64), "3") != special.decided(
        lambda p: ((3 << p) + (1 << p - 30),) * 2 + (-p,), np.dtype(np.float64), "3"
    )


def test_enclosures_hold():
    def holds(interval, value, p):
        low, high = (mpmath.mpf(m) * mpmath.mpf(2) ** interval[2] for m in interval[:2])
        assert low <= value <= high and high - low <= abs(value) * mpmath.mpf(2) ** (20 - p)

    with mpmath.workprec(400):
        for p in (70, 200):
            holds(en.pi(p), mpmath.pi + 0, p)
            holds(en.log2(p), mpmath.log(2), p)
            holds(en.euler(p), mpmath.euler + 0, p)
            holds(en.gamma_third(p), mpmath.gamma(mpmath.mpf(1) / 3), p)
            for v in (0.7, 300.1, 1e-3):
                x = mpmath.mpf(v)
                holds(en.exp(en.dyadic(-v), p), mpmath.exp(-x), p)
                holds(en.log(en.dyadic(v), p), mpmath.log(x), p)
                holds(en.gamma_inverse(en.dyadic(v), p), 1 / mpmath.gamma(x), p)
                sine, cosine = en.sin_cos(en.dyadic(v), p)
                holds(sine, mpmath.sin(x), p - 12)
                holds(cosine, mpmath.cos(x), p - 12)
    with pytest.raises(en.TooWide):
        en.log((-1, 1, 0), 70)
    with pytest.raises(en.TooWide):
        en.div((1, 1, 0), (-1, 1, 0), 70)


def test_special_values():
    inf, nan = math.inf, math.nan
    x = torch.tensor([0.0, -0.0, inf, -inf, -1.0, nan])
    want = {
        "bessel_y0": [-inf, -inf, 0.0, nan, nan, nan],
        "bessel_y1": [-inf, -inf, 0.0, nan, nan, nan],
        "modified_bessel_k0": [inf, inf, 0.0, nan, nan, nan],
        "modified_bessel_k1": [inf, inf, 0.0, nan, nan, nan],
        "scaled_modified_bessel_k0": [inf, inf, 0.0, nan, nan, nan],
        "scaled_modified_bessel_k1": [inf, inf, 0.0, nan, nan, nan],
        "spherical_bessel_j0": [1.0, 1.0, 0.0, 0.0, rn(exact(mpmath.sin, 1.0), torch.float32), nan],
        "airy_ai": [
            *[rn(exact(gmpy2.ai, 0.0), torch.float32)] * 2,
            0.0,
            0.0,
            rn(exact(gmpy2.ai, -1.0), torch.float32),
            nan,
        ],
    }
    with rt.reproducible():
        for name, values in want.items():
            assert str(getattr(torch.special, name)(x).tolist()) == str(values), name
        for s, q, value in [
            (1, 2, inf),
            (0.5, 2, nan),
            (2, 0, inf),
            (2, -1, inf),
            (2.5, -1.5, nan),
            (inf, 2, 0.0),
            (2, inf, 0.0),
            (inf, 1, 1.0),
            (nan, 1, nan),
        ]:
            assert str(torch.special.zeta(torch.tensor(float(s)), torch.tensor(float(q))).item()) == str(value), (s, q)
        for a, v, value in [
            (0, 0, nan),
            (0, 1, 1.0),
            (1, 0, 0.0),
            (-1, 1, nan),
            (1, -1, nan),
            (inf, 1, 0.0),
            (1, inf, 1.0),
            (inf, inf, nan),
            (1e9, 1, 0.0),
            (5, 1e9, 1.0),
        ]:
            t = torch.tensor(float(a)), torch.tensor(float(v))
            assert str(torch.igamma(*t).item()) == str(value), (a, v)
            assert str(torch.igammac(*t).item()) == str(1 - value), (a, v)
        assert torch.special.zeta(torch.tensor([2, 3]), 2).dtype is torch.float32
        least = torch.tensor(5e-324, dtype=torch.float64)
        assert torch.special.modified_bessel_k1(least).item() == inf and torch.special.bessel_y1(least).item() == -inf
        two, one = torch.full((1,), 2.0), torch.ones(1)
        assert torch.special.zeta(2, one).item() == torch.special.zeta(two, 1).item() == torch.special.zeta(two, one).item()
        assert torch.special.bessel_y0(torch.tensor([[1, 2], [3, 4]])).shape == (2, 2)
        assert torch.special.airy_ai(torch.empty(0, 3)).shape == (0, 3)
        assert torch.igamma(torch.ones(2, 1), torch.ones(3)).shape == (2, 3)
        with pytest.raises(rt.UncoveredOperatorError, match="above 1048576"):
            torch.igamma(torch.tensor(2.0**30), torch.tensor(2.0**30))
        leaf = torch.tensor([0.75, 2.5], dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(torch.igamma(torch.full_like(leaf, 1.0), leaf).sum(), leaf)
        assert torch.equal(slope, torch.exp(-leaf.detach()))  # (a - 1) log(x) - x - lgamma(a) is -x
        y = torch.tensor([0.5])
        assert torch.equal(y.clone().igammac_(torch.tensor([0.25])), torch.igammac(y, torch.tensor([0.25])))


def test_beside_boundaries():
    """Of float32 numbers those whose values in binary64 are nearest to the middle of two numbers of bfloat16, and of float32."""
    x = torch.rand(4096, generator=torch.Generator().manual_seed(5)) * 9 + 0.5
    for name in ("modified_bessel_k1", "bessel_y1", "airy_ai", "spherical_bessel_j0"):
        with rt.reproducible():
            wide = getattr(torch.special, name)(x.double())
            made = getattr(torch.special, name)(x)
        part = (wide.view(torch.int64) & ((1 << 29) - 1)) - (1 << 28)
        for i in part.abs().argsort()[:3].tolist():
            assert made[i].item() == rn(exact(ONE[name], x[i].item()), torch.float32)
        assert not np.array_equal(convert_array(wide.numpy() * (1 + 2.0**-23), np.dtype(np.float32)), made.numpy())


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_prepared_calls(dtype, general):
    """They have the bits of the table's functions; NaN, infinities, zeros and what is undecided are left to these."""
    aten = torch.ops.aten

    def calls():
        x = (tensor(dtype, 3, 5).abs().clamp(0.1, 30) + 0.5).contiguous()
        strange = tensor(dtype, 3, 5, special=True)
        for name in ONE:
            for place in ("", "_"):
                overload = getattr(getattr(aten, f"special_{name}{place}", None), "default", None)
                if overload is not None:
                    yield True, overload, (x,)
                    yield not place, overload, (turned(x),)
                    yield None, overload, (strange,)
        a = x.flip(0).contiguous()
        for overload in (aten.igamma.default, aten.igammac.default, aten.igamma_.default, aten.igammac_.default):
            yield None, overload, (a, x)
            yield None, overload, (strange, x)
            yield False, overload, (a, x[:1])
        yield True, aten.special_zeta.default, (a + 1, x)
        yield None, aten.special_zeta.default, (strange, x)

    checked(calls(), general)
