"""stochastic() of complex numbers, Fourier transforms, ranges and integers, beside rational numbers and the words of their elements."""

from fractions import Fraction

import pytest
import rounding_oracle

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import repmath  # noqa: E402
from repmath.torch import UncoveredOperatorError, _stochastic_steps, reproducible, stochastic  # noqa: E402

SEED, SAMPLE = 4, 9
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
MODES = (*rounding_oracle.MODES, *rounding_oracle.DIRECTED)


def numbers(shape, dtype, seed=1):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def parts(z):
    return [(Fraction(v.real), Fraction(v.imag)) for v in z.resolve_conj().reshape(-1).tolist()]


def bits(t):
    kind = {2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]
    return t.contiguous().view(kind).reshape(-1).numpy().view(f"u{t.element_size()}").tolist()


def expected(values, dtype, mode, number, first=0):
    words = rounding_oracle.words(SEED, (SAMPLE << 32) + number, first, len(values))
    rows = zip(values, words, strict=True)
    return [rounding_oracle.rounded(v, FORMATS[dtype], mode, int(w)) if v else 0 for v, w in rows]


def check(made, values, mode, number=0, name=""):
    """The values of a result's elements; of complex ones the two parts of each."""
    if not made.is_complex():
        assert bits(made) == expected(values, made.dtype, mode, number), name
        return
    for part in (0, 1):
        got = torch.view_as_real(made.resolve_conj())[..., part]
        assert bits(got) == expected([v[part] for v in values], got.dtype, mode, number, part << 40), (name, part)


def times(p, q):
    return p[0] * q[0] - p[1] * q[1], p[0] * q[1] + p[1] * q[0]


def over(p, q):
    square = q[0] ** 2 + q[1] ** 2
    return (p[0] * q[0] + p[1] * q[1]) / square, (p[1] * q[0] - p[0] * q[1]) / square


def added(rows):
    return tuple(sum((v[k] for v in rows), Fraction(0)) for k in (0, 1))


def matrix(p, q, n, k, m, c=None):
    return [
        added([times(p[i * k + a], q[a * m + j]) for a in range(k)] + ([c[i * m + j]] if c else []))
        for i in range(n)
        for j in range(m)
    ]


def cases(dtype):
    x, y = numbers((3, 4), dtype), numbers((3, 4), dtype, 2)
    x[0, :2], y[0, :2] = 1 + 2.0**-20, complex(1, 1 + 2.0**-20)  # products that nearly cancel
    x[1, 0], y[1, 0] = 3, complex(0, 4)  # and what is exact
    r = numbers((3, 4), REAL[dtype], 3)
    p, q, s = parts(x), parts(y), [Fraction(v) for v in r.reshape(-1).tolist()]
    w, third = y.mT.contiguous(), Fraction(0.1)
    t = parts(w)
    c = numbers((3, 3), dtype, 5)
    return {
        "add": (lambda: x + y, [added(v) for v in zip(p, q, strict=True)]),
        "alpha": (lambda: torch.sub(x, y, alpha=3), [(a[0] - 3 * b[0], a[1] - 3 * b[1]) for a, b in zip(p, q, strict=True)]),
        "mul": (lambda: x * y, [times(a, b) for a, b in zip(p, q, strict=True)]),
        "real": (lambda: x * r, [(a[0] * v, a[1] * v) for a, v in zip(p, s, strict=True)]),
        "number": (lambda: x * 0.1, [(a[0] * third, a[1] * third) for a in p]),
        "in place": (lambda: x.clone().mul_(y), [times(a, b) for a, b in zip(p, q, strict=True)]),
        "view": (lambda: x.clone()[:].add_(y), [added(v) for v in zip(p, q, strict=True)]),
        "div": (lambda: x / y, [over(a, b) for a, b in zip(p, q, strict=True)]),
        "by": (lambda: x / r, [(a[0] / v, a[1] / v) for a, v in zip(p, s, strict=True)]),
        "reciprocal": (lambda: y.reciprocal(), [over((1, 0), b) for b in q]),
        "square": (lambda: x**2, [times(a, a) for a in p]),
        "sum": (lambda: x.sum(1), [added(p[4 * i : 4 * i + 4]) for i in range(3)]),
        "mean": (lambda: x.mean(0), [tuple(v / 3 for v in added(p[i::4])) for i in range(4)]),
        "mm": (lambda: x @ w, matrix(p, t, 3, 4, 3)),
        "bmm": (lambda: torch.bmm(x[None], w[None]), matrix(p, t, 3, 4, 3)),
        "addmm": (lambda: torch.addmm(c, x, w), matrix(p, t, 3, 4, 3, parts(c))),
        "mv": (lambda: torch.mv(x, w[:, 0].clone()), matrix(p, t[::3], 3, 4, 1)),
        "vdot": (lambda: torch.vdot(x[0], y[0]), [added([times((a[0], -a[1]), b) for a, b in zip(p[:4], q[:4], strict=True)])]),
    }  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", REAL, ids=str)
def test_arithmetic(dtype, mode):
    """The real parts have the words of an array, the imaginary ones those of the next."""
    for name, (call, values) in cases(dtype).items():
        with stochastic(SEED, SAMPLE, mode) as block:
            made = call()
        assert made.dtype is dtype and block.calls == 1, name
        check(made, values, mode, 0, name)


@pytest.mark.parametrize("mode", rounding_oracle.OF_VALUES)
def test_conversions_and_magnitudes(mode):
    z = numbers((40,), torch.complex128)
    with stochastic(SEED, SAMPLE, mode) as block:
        narrow, real = z.to(torch.complex64), z.real.to(torch.complex64)
        into = torch.zeros(40, dtype=torch.complex64).copy_(z)
        size = z.abs()
        held = narrow.to(torch.complex128)
    assert block.calls == 5 and torch.equal(held, narrow.to(torch.complex128))
    check(narrow, parts(z), mode, 0)
    check(real, [(a, Fraction(0)) for a, _ in parts(z)], mode, 1)
    check(into, parts(z), mode, 2)
    rows = [rounding_oracle.exact_value("hypot", (v.real, v.imag)) for v in z.tolist()]
    assert bits(size) == expected(rows, torch.float64, mode, 3)


@pytest.mark.parametrize("mode", MODES)
def test_transforms_are_those_of_numpys_names(mode):
    """tests/python/test_random_fourier.py has their values. So are their gradients."""
    x, z = numbers((3, 10), torch.float32), numbers((3, 6), torch.complex64, 2)
    with stochastic(SEED, SAMPLE, mode) as block:
        made = [torch.fft.rfft(x), torch.fft.irfft(z), torch.fft.fft2(z), torch.fft.ifft(z, norm="ortho", dim=0)]
    assert block.calls == 4
    with repmath.rounding.scope(mode, seed=SEED, sample=SAMPLE):
        f = repmath.fft
        own = [f.rfft(x.numpy()), f.irfft(z.numpy()), f.fft2(z.numpy()), f.ifft(z.numpy(), norm="ortho", axis=0)]
    assert [t.numpy().tobytes() for t in made] == [v.tobytes() for v in own]
    x.requires_grad_()
    seen = set()
    for sample in (0, 0, 1):
        with stochastic(SEED, sample, mode):
            y = torch.fft.irfft(torch.fft.rfft(x) * z)
            (g,) = torch.autograd.grad(y.sum(), x)
        seen.add((y.detach().numpy().tobytes(), g.numpy().tobytes()))
    assert len(seen) == 1 + (mode in rounding_oracle.MODES)  # the others ask no words


@pytest.mark.parametrize("mode", MODES)
def test_ranges_and_integers(mode):
    """What has no tensor of floats to begin with is rounded too."""
    tenth, n, big = Fraction(0.1), torch.tensor([1, 2, 3, 5, 7, 11]), 12345678901234567
    whole = [Fraction(v) for v in n.tolist()]
    calls = {
        "arange": (lambda: torch.arange(0.3, 1.2, 0.1), [Fraction(0.3) + i * tenth for i in range(9)]),
        "arange of float64": (lambda: torch.arange(0.3, 1.2, 0.1, dtype=torch.float64), [Fraction(0.3) + i * tenth for i in range(9)]),
        "arange of bfloat16": (lambda: torch.arange(300, 304, dtype=torch.bfloat16), [Fraction(i) for i in range(300, 304)]),
        "linspace": (lambda: torch.linspace(0.1, 1.0, 8), [tenth + i * (1 - tenth) / 7 for i in range(8)]),
        "quotients": (lambda: n / 3, [v / 3 for v in whole]),
        "of integers": (lambda: n / n.flip(0), [a / b for a, b in zip(whole, reversed(whole), strict=True)]),
        "large": (lambda: (n * 1234567891) / 7, [v * 1234567891 / 7 for v in whole]),
        "sum": (lambda: n + 0.1, [v + tenth for v in whole]),
        "mean": (lambda: n.mean(dtype=torch.float32), [Fraction(29, 6)]),
        "float32": (lambda: (n * 123456789).to(torch.float32), [v * 123456789 for v in whole]),
        "float64": (lambda: (n * big).to(torch.float64), [v * big for v in whole]),
        "held": (lambda: n.to(torch.float64), whole),
        "copy": (lambda: torch.zeros(6).copy_(n * 123456789), [v * 123456789 for v in whole]),
        "copy to float16": (lambda: torch.zeros(6, dtype=torch.float16).copy_(n * 4099), [v * 4099 for v in whole]),
        "root": (lambda: n.sqrt(), [rounding_oracle.exact_value("sqrt", (float(v),)) for v in whole]),
    }  # fmt: skip
    for name, (call, values) in calls.items():
        with stochastic(SEED, SAMPLE, mode) as block:
            made = call()
        assert made.is_floating_point() and block.calls == 1, name
        check(made, values, mode, 0, name)


@pytest.mark.parametrize("mode", MODES)
def test_halves_of_complex_numbers(mode):
    """PyTorch's complex numbers of two float16 are only converted."""
    z = numbers((60,), torch.complex64)
    with stochastic(SEED, SAMPLE, mode) as block:
        made = torch.view_as_real(z.to(torch.complex32))
    assert block.calls == 1
    for part in (0, 1):
        assert bits(made[:, part]) == expected([v[part] for v in parts(z)], torch.float16, mode, 0, part << 40)


def test_what_rounds_nothing_has_no_number():
    x = torch.tensor([0.5, 2.5])
    with stochastic(mode="up_down") as block:
        assert torch.arange(5).sum() == 10 and torch.arange(3).dtype is torch.int64
        assert x.to(torch.int64).tolist() == [0, 2] and x.to(torch.bool).all()
    assert not block.uncovered


def test_controls(monkeypatch):
    """Words that the parts share, and a divisor that is off by 2^-40 of it, are seen."""
    call, values = cases(torch.complex64)["mul"]
    monkeypatch.setattr(_stochastic_steps, "_APART", 0)
    with stochastic(SEED, SAMPLE) as block:
        made = call()
    with pytest.raises(AssertionError):
        check(made, values, "stochastic")
    assert block.calls == 1
    monkeypatch.undo()
    call, values = cases(torch.complex128)["div"]
    with stochastic(SEED, SAMPLE):
        made = call()
    check(made, values, "stochastic")
    with reproducible(), pytest.raises(AssertionError):
        check(call(), values, "stochastic")


def test_what_is_not_there_raises():
    z = numbers((3, 3), torch.complex64)
    for call, name in (
        (lambda: z.tanh(), "tanh"),
        (lambda: torch.addmm(z, z, z, alpha=2j), "addmm"),
        (lambda: z.cumsum(0), "cumsum"),
    ):
        with pytest.raises(UncoveredOperatorError, match=name), stochastic():
            call()


@pytest.mark.parametrize("mode", MODES)
def test_what_is_written_into_another_tensor(mode):
    """The overloads with `out` round as the others; where a result would be rounded again they raise."""
    x, y = numbers((4, 4), torch.float32), numbers((4, 4), torch.float32, 2)
    calls = {
        "mm": lambda **o: torch.mm(x, y, **o), "div": lambda **o: torch.div(x, y, **o), "exp": lambda **o: torch.exp(x, **o),
        "sum": lambda **o: torch.sum(x, 1, **o), "mish": lambda **o: torch.logaddexp2(x, y, **o),
    }  # fmt: skip
    for name, call in calls.items():
        with stochastic(SEED, SAMPLE, mode):
            wanted = call()
        out = torch.empty_like(wanted)
        with stochastic(SEED, SAMPLE, mode) as block:
            assert call(out=out) is out
        assert out.equal(wanted) and block.calls == 1, name
    with stochastic(SEED, SAMPLE, mode), pytest.raises(TypeError, match="float64"):
        torch.exp(x.double(), out=torch.empty(4, 4))
