"""linspace, logspace, arange and windows against rationals and MPFR: limits that cancel, subnormal numbers, decimals, ranges that the format holds."""

import functools
import math
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from exact_oracle import round_rational  # noqa: E402

import repmath.torch as rt  # noqa: E402

FORMATS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64"}
INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
DTYPE = pytest.mark.parametrize("dtype", FORMATS, ids=str)


def check(made, exact, what):
    fmt, width = FORMATS[made.dtype], 8 * made.dtype.itemsize
    got = [v % (1 << width) for v in made.view(INTEGERS[made.dtype.itemsize]).tolist()]
    want = [round_rational(v, fmt) or int(v < 0) << (width - 1) for v in exact]
    wrong = [i for i, (g, w) in enumerate(zip(got, want, strict=True)) if g != w]
    assert not wrong, (what, wrong[:3])


def limits(rng):
    yield from (
        (0.0, 1.0),
        (-1.0, 1.0),
        (1.0, 0.1),
        (-0.0, 0.0),
        (0.3, 0.3),
        (-9, 300),
        (1.0, -1.0 - 2.0**-52),
        (1e-45, -7e-45),
    )
    for scale in (1.0, 2.0**-20, 2.0**-140, 2.0**-1060, 2.0**10):
        a = float(rng.standard_normal()) * scale
        yield from ((a, float(rng.standard_normal())), (a, -a * (1 + 2.0**-51)), (a, float(rng.standard_normal()) * scale))


@DTYPE
def test_linspace(dtype):
    made = {}
    with rt.reproducible():
        for k, (start, end) in enumerate(limits(np.random.default_rng(1))):
            steps = (1, 2, 7, 33, 100, 257)[k % 6]
            made[start, end, steps] = torch.linspace(start, end, steps, dtype=dtype)
    for (start, end, steps), numbers in made.items():
        a, b = Fraction(start), Fraction(end)
        check(numbers, [a + i * (b - a) / max(steps - 1, 1) for i in range(steps)], (start, end, steps))


@DTYPE
def test_arange(dtype):
    made = {}
    with rt.reproducible():
        for start in (0, 1, -3.5, 0.1, 2.0**20, 2.0**-30):
            for step in (1, 0.5, 0.1, 3, 2.0**-30, -7.0, 2.0**12 + 1):
                made[start, step] = torch.arange(start, start + step * 40, step, dtype=dtype)
    for (start, step), numbers in made.items():
        check(numbers, [Fraction(start) + i * Fraction(step) for i in range(numbers.numel())], (start, step))


def test_pieces():
    """Numbers beyond the first piece are those of the same places."""
    with rt.reproducible():
        made = torch.linspace(-0.1, 0.7, 9000)
    a, b = Fraction(-0.1), Fraction(0.7)
    check(made[::11], [a + i * (b - a) / 8999 for i in range(0, 9000, 11)], "pieces")


def test_control():
    """Sums and quotients of binary64 give other numbers."""
    i = np.arange(1000.0)
    plain = torch.from_numpy(((999 - i) * 0.1 + i * 0.7) / 999)
    with rt.reproducible():
        assert not torch.equal(torch.linspace(0.1, 0.7, 1000, dtype=torch.float64), plain)


def by_mpfr(f):
    """A function of a number of binary64, rounded once to binary64."""

    def of(x):
        with gmpy2.context(precision=400):
            exact = f(gmpy2.mpfr(x))
        return float(exact)  # 400 bits round to the nearest: no value here is a middle of two numbers

    return of


sinpi, cospi = by_mpfr(lambda x: gmpy2.sin(gmpy2.const_pi() * x)), by_mpfr(lambda x: gmpy2.cos(gmpy2.const_pi() * x))


WINDOWS = {
    "hann": ((), lambda j, d: sinpi(j / d) * sinpi(j / d)),
    "hamming": ((), lambda j, d: 0.54 - 0.46 * quarters(2 * j / d)),
    "hamming of numbers": ((0.3, 0.7), lambda j, d: 0.3 - 0.7 * quarters(2 * j / d)),
    "blackman": ((), lambda j, d: (0.42 - 0.5 * quarters(2 * j / d)) + 0.08 * quarters(4 * j / d)),
    "bartlett": ((), lambda j, d: Fraction(2 * j, d)),
}


def quarters(x):
    """cospi, exactly where it is 0."""
    return 0.0 if x % 1 == 0.5 else cospi(x)


@functools.cache
def kaiser(j, d, beta):
    """The quotient by mpmath's Bessel functions, to 300 bits: far more than a boundary of rounding takes."""
    with mpmath.workprec(300):
        z = mpmath.mpf(beta) * mpmath.sqrt(mpmath.mpf(4 * j * (d - j))) / d
        sign, man, exp, _ = (mpmath.besseli(0, z) / mpmath.besseli(0, mpmath.mpf(beta)))._mpf_
    return Fraction(1) if 2 * j == d else (-1) ** sign * Fraction(int(man)) * Fraction(2) ** exp


for number in (12.0, 0.1, -3.7, 60.0, 2.0**-40, 0.0):
    WINDOWS[f"kaiser {number}"] = ((number,), functools.partial(kaiser, beta=number))
WINDOWS["kaiser"] = ((), functools.partial(kaiser, beta=12.0))


def test_kaiser_windows_of_large_numbers():
    """At the ends they are beneath all numbers of float32, and of binary64."""
    for beta in (200.0, 800.0, 4096.0):
        for dtype in (torch.float32, torch.float64):
            with rt.reproducible(strict=True):
                made = torch.kaiser_window(25, True, beta, dtype=dtype)
            check(made, [kaiser(min(i, 25 - i), 25, beta) for i in range(25)], (beta, dtype))
            assert made[0] == 0 or beta == 200.0
    for beta in (4097.0, math.inf, math.nan):
        with (
            rt.reproducible(strict=True),
            pytest.raises(rt.UncoveredOperatorError, match="beta=.* is not from -4096 to 4096"),
        ):
            torch.kaiser_window(25, True, beta)


def test_kaiser_control():
    """PyTorch's own, and a quotient of rounded numbers, have other bits."""
    with rt.reproducible(strict=True):
        made = torch.kaiser_window(200, dtype=torch.float64)
        j = torch.minimum(torch.arange(200), 200 - torch.arange(200)).double()
        steps = torch.i0(12 * (4 * j * (200 - j)).sqrt() / 200) / torch.i0(torch.tensor(12.0, dtype=torch.float64))
    assert not torch.equal(made, torch.kaiser_window(200, dtype=torch.float64)) and not torch.equal(made, steps)


@DTYPE
@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name, dtype):
    numbers, of = WINDOWS[name]
    window = getattr(torch, f"{name.split()[0]}_window")
    for n in (2, 3, 8, 33, 200):
        for periodic in (True, False):
            d = n if periodic else n - 1
            with rt.reproducible(strict=True):
                made = window(n, periodic, *numbers, dtype=dtype)
                if periodic and not numbers:
                    assert torch.equal(window(n, dtype=dtype), made)
            check(made, [Fraction(of(min(i, d - i), d)) for i in range(n)], (name, n, periodic))
    with rt.reproducible(strict=True):
        assert window(0, dtype=dtype).shape == (0,) and window(1, dtype=dtype).tolist() == [1.0]
        assert window(4, dtype=dtype, device="meta").is_meta


def test_windows_that_are_refused():
    with rt.reproducible(strict=True):
        with pytest.raises(RuntimeError, match="negative"):
            torch.hann_window(-1)
        with pytest.raises(RuntimeError, match="floating point"):
            torch.hann_window(4, dtype=torch.int32)
        with pytest.raises(NotImplementedError, match="Complex"):
            torch.hann_window(4, dtype=torch.complex64)


def test_windows_control():
    """PyTorch's own, in binary64, have other bits."""
    for name in ("hann", "hamming", "blackman"):
        window = getattr(torch, f"{name}_window")
        with rt.reproducible(strict=True):
            made = window(200, dtype=torch.float64)
        assert not torch.equal(made, window(200, dtype=torch.float64)), name
