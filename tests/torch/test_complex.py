"""Complex numbers under reproducible(): parts that are rounded once beside rational numbers, functions beside their steps in MPFR."""

import math
import random
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from exact_oracle import round_rational

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath.torch as rt  # noqa: E402
from repmath.torch._aten import complex_quotients  # noqa: E402

REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


def numbers(shape, dtype, seed=1):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def rounded(value, dtype):
    fmt, unsigned = ("f32", np.uint32) if dtype is torch.complex64 else ("f64", np.uint64)
    return np.array([round_rational(v, fmt) for v in value], unsigned).view(REAL[dtype].__str__().removeprefix("torch."))


def parts(z):
    flat = z.resolve_conj().reshape(-1).tolist()
    return [(Fraction(v.real), Fraction(v.imag)) for v in flat]


def quotient(a, b, c, d):
    square = c * c + d * d
    return (a * c + b * d) / square, (b * c - a * d) / square


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_arithmetic_rounds_each_part_once(dtype):
    x, y = numbers((3, 5), dtype), numbers((3, 5), dtype, 2)
    x[0, :2], y[0, :2] = 1 + 2.0**-20, complex(1, 1 + 2.0**-20)  # products that nearly cancel
    r = numbers((3, 5), REAL[dtype], 3)
    cases = {
        "add": (lambda: x + y, lambda a, b, c, d, v: (a + c, b + d)),
        "alpha": (lambda: torch.add(x, y, alpha=3), lambda a, b, c, d, v: (a + 3 * c, b + 3 * d)),
        "sub": (lambda: x - y, lambda a, b, c, d, v: (a - c, b - d)),
        "mul": (lambda: x * y, lambda a, b, c, d, v: (a * c - b * d, a * d + b * c)),
        "conj": (lambda: x * y.conj(), lambda a, b, c, d, v: (a * c + b * d, b * c - a * d)),
        "real": (lambda: x * r, lambda a, b, c, d, v: (a * v, b * v)),
        "number": (lambda: x * 0.1, lambda a, b, c, d, v: (a * Fraction(0.1), b * Fraction(0.1))),
        "i": (lambda: x * 1j, lambda a, b, c, d, v: (-b, a)),
        "plus": (lambda: x + 0.25, lambda a, b, c, d, v: (a + Fraction(0.25), b)),
        "quotient": (lambda: x / y, lambda a, b, c, d, v: quotient(a, b, c, d)),
        "of a number": (lambda: 2 / y, lambda a, b, c, d, v: quotient(2, 0, c, d)),
        "reciprocal": (lambda: y.reciprocal(), lambda a, b, c, d, v: quotient(1, 0, c, d)),
        "square": (lambda: x**2, lambda a, b, c, d, v: (a * a - b * b, 2 * a * b)),
        "over": (lambda: x / 3.0, lambda a, b, c, d, v: (a / 3, b / 3)),
        "by": (lambda: x / r, lambda a, b, c, d, v: (a / v, b / v)),
        "in place": (lambda: x.clone().mul_(2.5), lambda a, b, c, d, v: (a * Fraction(2.5), b * Fraction(2.5))),
        "view": (lambda: x.clone()[:].add_(y), lambda a, b, c, d, v: (a + c, b + d)),
    }
    for name, (call, definition) in cases.items():
        with rt.reproducible():
            made = call()
        rows = zip(parts(x), parts(y), r.reshape(-1).tolist(), strict=True)
        want = np.array([rounded(definition(*p, *q, Fraction(v)), dtype) for p, q, v in rows])
        got = torch.view_as_real(made.resolve_conj()).reshape(-1, 2).numpy()
        assert made.dtype is dtype and np.array_equal(got, want), name


def test_sums_and_means():
    z = numbers((7, 40), torch.complex64)
    with rt.reproducible():
        for made, want in (
            (z.sum(), lambda t: t.sum()), (z.sum(1, keepdim=True), lambda t: t.sum(1, keepdim=True)), (z.mean(0), lambda t: t.mean(0))
        ):  # fmt: skip
            assert torch.equal(made.real, want(z.real.clone())) and torch.equal(made.imag, want(z.imag.clone()))


def test_magnitudes_and_conversions():
    z = numbers((40,), torch.complex64)
    with rt.reproducible():
        assert torch.equal(z.abs(), torch.hypot(z.real.contiguous(), z.imag.contiguous()))
        assert torch.equal(z.to(torch.complex128).to(torch.complex64), z)
        assert torch.equal(z.real.clone().to(torch.complex64), torch.complex(z.real.contiguous(), torch.zeros(40)))
        w = torch.zeros(3, 40, dtype=torch.complex64)
        w[1] = z
        w[2] = z.real
    assert torch.equal(w[1], z) and torch.equal(w[2].real, z.real)


def nearly_ties(digits, count):
    """Numbers a, b, c, d such that (a c + b d)/(c**2 + d**2) is a midpoint M/2**(digits + 1) but for e/(2**(digits + 1) (c**2 + d**2)),
    with a small odd e: M is e over the divisor modulo that power of 2, and a and b follow modulo d."""
    g, found, power = random.Random(7), [], 2 ** (digits + 1)
    while len(found) < count:
        c, d = (g.randrange(2 ** (digits - 2), 2 ** (digits - 1)) for _ in range(2))
        square = c * c + d * d
        if not square % 2 or math.gcd(c, d) > 1:
            continue
        e = g.choice((-7, -5, -3, -1, 1, 3, 5, 7))
        midpoint = e * pow(square, -1, power) % power
        if midpoint < power // 2:
            continue
        n = (midpoint * square - e) // power
        a = n * pow(c, -1, d) % d
        found.append((a, (n - a * c) // d, c, d))
    return found


def hard_quotients(dtype):
    """Beside midpoints, exact quotients and ties, parts that cancel, wide exponents, results that are subnormal or too large."""
    digits = 24 if dtype is torch.complex64 else 53
    real, reach = REAL[dtype], 30 if digits == 24 else 300
    g = torch.Generator().manual_seed(5)
    ties = torch.tensor([[float(v) for v in row] for row in nearly_ties(digits, 12)], dtype=real)
    drawn = torch.randn(2, 2, 40, dtype=real, generator=g)
    wide = torch.randn(2, 2, 40, dtype=real, generator=g) * 2.0 ** torch.randint(-reach, reach, (2, 2, 40), generator=g).to(
        real
    )
    ulp, one = 2.0 ** (1 - digits), torch.ones(8, dtype=real)
    near = 1 + ulp * torch.arange(8.0, dtype=real)
    halves = torch.tensor([2.0, 4, 8, 1, 2, 4, 8, 1], dtype=real)
    ends = 2.0 ** torch.tensor([-120.0, -126, -130, 100] if digits == 24 else [-1000.0, -1022, -1040, 1000], dtype=real)
    low = 2.0 ** torch.tensor([20.0, 4, 2, -27], dtype=real)
    rows = [
        (ties[:, 0], ties[:, 1], ties[:, 2], ties[:, 3]),
        (*drawn[0], *drawn[1]),
        (*wide[0], *wide[1]),
        (near, one, one, near.flip(0)),
        (one, near, near.flip(0), one),
        (near, 3 * one, halves, 0 * one),
        (2.0**-reach * one, near, near, 2.0**-reach * one),
        (ends * (1 + ulp), ends * 3, low, low / 16),
    ]
    a, b, c, d = (torch.cat(side).to(real) for side in zip(*rows, strict=True))
    return torch.complex(a, b), torch.complex(c, d)


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_quotients_beside_boundaries(dtype, monkeypatch):
    x, y = hard_quotients(dtype)
    with rt.reproducible():
        made = torch.view_as_real(x / y).numpy()
    want = np.array([rounded(quotient(*p, *q), dtype) for p, q in zip(parts(x), parts(y), strict=True)])
    assert np.array_equal(made, want)
    # The control: estimates that are taken as they are have other bits.
    name = "_narrow" if dtype is torch.complex64 else "_wide"
    estimate = getattr(complex_quotients, name)
    monkeypatch.setattr(complex_quotients, name, lambda *a: (estimate(*a)[0], np.ones(len(x), bool)))
    with rt.reproducible():
        assert not np.array_equal(torch.view_as_real(x / y).numpy(), want)


def test_quotients_of_special_numbers():
    infinity, nan = float("inf"), float("nan")
    x = torch.tensor([1 + 2j, 0j, complex(infinity, 0), 1 + 1j, complex(nan, 1)])
    y = torch.tensor([0j, 0j, 1 + 1j, complex(infinity, 0), 1 + 0j])
    with rt.reproducible():
        made = torch.view_as_real(x / y)
    assert made[0].tolist() == [infinity, infinity] and made[1:3].isnan().all(1).tolist() == [True, False]
    assert made[4].isnan().all() and (torch.zeros(3, dtype=torch.complex64) / (1 + 1j)).eq(0).all()


@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_products_of_matrices_are_exact_sums(dtype):
    a, b, c = numbers((2, 3, 4), dtype), numbers((2, 4, 5), dtype, 2), numbers((2, 3, 5), dtype, 3)
    left = np.array(parts(a)).reshape(2, 3, 4, 2)
    right = np.array(parts(b)).reshape(2, 4, 5, 2)
    re = np.matmul(left[..., 0], right[..., 0]) - np.matmul(left[..., 1], right[..., 1])
    im = np.matmul(left[..., 0], right[..., 1]) + np.matmul(left[..., 1], right[..., 0])
    plus = np.array(parts(c)).reshape(2, 3, 5, 2)

    def same(made, want):
        got = torch.view_as_real(made.resolve_conj()).reshape(-1, 2).numpy()
        return made.dtype is dtype and np.array_equal(got, np.array([rounded(pair, dtype) for pair in want]))

    both = np.stack((re, im), -1)
    with rt.reproducible():
        assert same(torch.bmm(a, b), both.reshape(-1, 2)) and same(a[0] @ b[0], both[0].reshape(-1, 2))
        assert same(a[0].conj() @ b[0].conj(), both[0].reshape(-1, 2) * np.array([1, -1]))
        assert same(torch.addmm(c[0], a[0], b[0], alpha=3, beta=2), (3 * both[0] + 2 * plus[0]).reshape(-1, 2))
        assert same(torch.baddbmm(c, a, b), (both + plus).reshape(-1, 2))
        assert same(a[0] @ b[0, :, 0], both[0, :, 0]) and same(torch.dot(a[0, 0], b[0, :, 0])[None], both[0, :1, 0])
        assert same(torch.addmv(c[0, :, 0], a[0], b[0, :, 0]), both[0, :, 0] + plus[0, :, 0])
        assert same(torch.vdot(a[0, 0].conj().resolve_conj(), b[0, :, 0])[None], both[0, :1, 0])


def step(name, *values):
    with gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True):
        return float(getattr(gmpy2, name)(*(gmpy2.mpfr(v) for v in values)))


def exponential(a, b):
    return step("exp", a) * step("cos", b), step("exp", a) * step("sin", b) if b else b


def root(a, b):
    t = float(np.sqrt((abs(a) + step("hypot", a, b)) * 0.5))
    other = abs(b) / (t * 2) if t else t
    return (other, float(np.copysign(t, b))) if a < 0 else (t, float(np.copysign(other, b)))


FUNCTIONS = {
    "exp": exponential,
    "log": lambda a, b: (step("log", step("hypot", a, b)), step("atan2", b, a)),
    "sgn": lambda a, b: (a / step("hypot", a, b), b / step("hypot", a, b)) if a or b else (a, b),
    "sqrt": root,
    "angle": lambda a, b: (step("atan2", b, a),),
}


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_their_steps(name, dtype):
    z = torch.cat((numbers((40,), dtype), torch.tensor([1, -4, 2j, -2j, 3 - 4j, -3 + 0j], dtype=dtype)))
    with rt.reproducible():
        made = getattr(torch, name)(z)
    got = torch.view_as_real(made).numpy() if made.is_complex() else made.numpy()[:, None]
    real = torch.view_as_real(z).double().tolist()
    assert np.array_equal(got, np.array([FUNCTIONS[name](a, b) for a, b in real]).astype(got.dtype))


def test_polar_and_rotary_embeddings():
    angle, size = numbers((40,), torch.float32) * 20, numbers((40,), torch.float32, 2)
    with rt.reproducible():
        made = torch.view_as_real(torch.polar(size, angle)).numpy()
    steps = [(r * step("cos", t), r * step("sin", t)) for r, t in zip(size.tolist(), angle.tolist(), strict=True)]
    assert np.array_equal(made, np.array(steps).astype(np.float32))
    frequencies = torch.outer(torch.arange(5.0), 1 / 10000 ** (torch.arange(0, 8, 2) / 8))
    x = numbers((2, 5, 8), torch.float32).requires_grad_()
    with rt.reproducible():
        turned = torch.view_as_complex(x.reshape(2, 5, 4, 2)) * torch.polar(torch.ones_like(frequencies), frequencies)
        torch.view_as_real(turned).flatten(2).square().sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach(), atol=1e-5)


CALLS = {
    "quotient": lambda z, w: z / w,
    "reciprocal": lambda z, w: z.reciprocal(),
    "exp": lambda z, w: z.exp() * w.log(),
    "sqrt": lambda z, w: z.sqrt(),
    "abs": lambda z, w: z.abs() * w.angle() + z.sgn().real,
    "mm": lambda z, w: z @ w.mT,
    "square": lambda z, w: z**2,
    "polar": lambda z, w: torch.polar(z.abs(), w.real.contiguous()),
}


@pytest.mark.parametrize("name", CALLS)
def test_gradients(name):
    z, w = numbers((2, 3), torch.complex128).requires_grad_(), numbers((2, 3), torch.complex128, 2).requires_grad_()
    with rt.reproducible():
        assert torch.autograd.gradcheck(CALLS[name], (z, w))


def test_what_is_left_out_is_refused():
    z = numbers((4,), torch.complex64)
    for call in (
        lambda: z.prod(),
        lambda: z**3,
        lambda: z**z,
        lambda: torch.addmv(z, z.outer(z), z, alpha=1j),
        lambda: z.sin(),
        lambda: z.to(torch.float32),
    ):
        with pytest.raises(rt.UncoveredOperatorError), rt.reproducible():
            call()
    with rt.reproducible(strict=False) as block:
        z.prod()
    assert block.uncovered
