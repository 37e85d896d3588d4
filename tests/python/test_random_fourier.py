"""Fourier transforms under the random modes, beside sums of cosines in many digits and the words of their parts."""

import itertools
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle

import repmath
from repmath import _random_fourier, rounding

SEED, SAMPLE = 7, 2
DIGITS = 1500
FORMATS = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}


def value(x, k, lengths, sign, scale):
    """The parts of a result: a sum with 1,500 digits. A number that has few digits but for a last 300 is one of these few."""
    with gmpy2.context(precision=DIGITS):
        turn = 2 * gmpy2.const_pi() * sign
        parts = [gmpy2.mpfr(0), gmpy2.mpfr(0)]
        for j in np.ndindex(*lengths):
            angle = turn * gmpy2.mpq(sum(Fraction(a * b, n) for a, b, n in zip(j, k, lengths, strict=True)) % 1)
            s, c = gmpy2.sin_cos(angle)
            a, b = float(x[j].real), float(x[j].imag)
            parts[0] += a * c - b * s
            parts[1] += a * s + b * c
        n = int(np.prod(lengths))
        factor = {"one": gmpy2.mpfr(1), "n": gmpy2.mpfr(n), "root": gmpy2.sqrt(gmpy2.mpfr(n))}[scale]
        size = max(float(abs(x).max()), 1e-300)
        found = []
        for v in parts:
            v = v / factor
            near = gmpy2.mpq(gmpy2.mpz(gmpy2.rint(v / size * 2**1000))) / 2**1000 * gmpy2.mpq(size)
            few = Fraction(int(near.numerator), int(near.denominator)).limit_denominator(2**400)
            few = gmpy2.mpq(few.numerator, few.denominator)
            found.append(few if abs(few - gmpy2.mpq(v)) < gmpy2.mpq(size) / 2**1200 else gmpy2.mpq(v))
        return found


def expected(values, fmt, mode, stream, first=0):
    words = rounding_oracle.words(SEED, stream, first, len(values))
    return [rounding_oracle.rounded(v, fmt, mode, int(w)) if v else 0 for v, w in zip(values, words, strict=True)]


def bits(a):
    return np.ascontiguousarray(a).reshape(-1).view(f"u{a.dtype.itemsize}").tolist()


def check(x, made, lengths, outputs, sign, scale, mode, number=0):
    values = [value(x, k, lengths, sign, scale) for k in np.ndindex(*outputs)]
    real = made.real.dtype
    stream = (SAMPLE << 32) + number
    for part in range(2 if made.dtype.kind == "c" else 1):
        want = expected([v[part] for v in values], FORMATS[real], mode, stream, part << 40)
        assert bits(made.imag if part else made.real) == want


def numbers(kind, shape, dtype, seed):
    """normal: none is near a threshold. whole: parts that are numbers of the format, or 0. wide: exponents that are far apart."""
    rng = np.random.default_rng(seed)

    def draw():
        if kind == "whole":
            return rng.integers(-4, 5, shape).astype(dtype)
        x = rng.standard_normal(shape)
        return (x * 2.0 ** rng.integers(-60, 60, shape) if kind == "wide" else x).astype(dtype)

    return draw(), draw()


CASES = [((n,), scale, kind) for n, (scale, kind) in zip([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16], itertools.cycle(itertools.product(("one", "root", "n"), ("normal", "whole", "wide"))), strict=False)] + [
    ((8,), "root", "whole"), ((12,), "root", "whole"), ((3, 4), "one", "whole"), ((2, 6), "root", "normal"), ((2, 3, 2), "n", "whole")
]  # fmt: skip


@pytest.mark.parametrize("mode", [*rounding_oracle.MODES, *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])
def test_transforms(dtype, mode):
    for i, (lengths, scale, kind) in enumerate(CASES):
        re, im = numbers(kind, lengths, dtype, i)
        x = (re + 1j * im).astype(np.complex64 if dtype is np.float32 else np.complex128)
        norm = {"one": "backward", "root": "ortho", "n": "forward"}[scale]
        back = {"backward": "forward", "forward": "backward"}.get(norm, norm)
        with rounding.scope(mode, seed=SEED, sample=SAMPLE) as block:
            found = [repmath.fft.fftn(x, norm=norm), repmath.fft.ifftn(x, norm=back), repmath.fft.rfftn(re, norm=norm)]
            half = found[2].shape
            cut = x[..., : half[-1]]
            found.append(repmath.fft.irfftn(cut, s=lengths, axes=range(len(lengths)), norm=back))
        assert block.calls == 4
        check(x, found[0], lengths, lengths, -1, scale, mode, 0)
        check(x, found[1], lengths, lengths, 1, scale, mode, 1)
        check(re.astype(x.dtype), found[2], lengths, half, -1, scale, mode, 2)
        weights = np.array([1 if k in (0, lengths[-1] / 2) else 2 for k in range(half[-1])])
        whole = np.zeros(lengths, np.complex128)
        whole[..., : half[-1]] = cut.astype(np.complex128) * weights
        check(whole, found[3], lengths, lengths, 1, scale, mode, 3)


def test_a_control():
    """Parts that have the words of other elements, and those of nearest, are seen."""
    re, im = numbers("normal", (6,), np.float32, 1)
    x = (re + 1j * im).astype(np.complex64)
    with rounding.scope("stochastic", seed=SEED, sample=SAMPLE):
        made = repmath.fft.fft(x)
    check(x, made, (6,), (6,), -1, "one", "stochastic")
    for other in (made[::-1], made.conj(), repmath.fft.fft(x)):
        with pytest.raises(AssertionError):
            check(x, other, (6,), (6,), -1, "one", "stochastic")


@pytest.fixture
def open_balls(monkeypatch):
    """Binary64 decides nothing."""
    balls = _random_fourier._random_modes.balls

    def none(*arguments):
        made, _ = balls(*arguments)
        return np.zeros_like(made), np.asarray(arguments[0]) != 0

    monkeypatch.setattr(_random_fourier._random_modes, "balls", none)


@pytest.mark.parametrize("mode", ["stochastic", "random", *rounding_oracle.DIRECTED])
@pytest.mark.parametrize("some", [False, True])
def test_what_binary64_leaves_open(mode, some, open_balls, monkeypatch):
    """Whole transforms of whole numbers, and sums of cosines alone."""
    if some:
        enclose = _random_fourier._Rows.enclose
        monkeypatch.setattr(
            _random_fourier._Rows, "enclose", lambda rows, parts, bits: [enclose(rows, [part], bits)[0] for part in parts]
        )
    for lengths, scale, kind in (
        ((9,), "one", "normal"),
        ((10,), "root", "wide"),
        ((3, 4), "n", "normal"),
        ((11,), "root", "whole"),
    ):
        re, im = numbers(kind, lengths, np.float32, len(lengths))
        x = (re + 1j * im).astype(np.complex64)
        with rounding.scope(mode, seed=SEED, sample=SAMPLE):
            made = repmath.fft.fftn(x, norm={"one": "backward", "root": "ortho", "n": "forward"}[scale])
        check(x, made, lengths, lengths, -1, scale, mode)


def jacobi(a, n):
    found = 1
    for p in (3, 5, 7, 11, 13):
        while n % p == 0:
            n //= p
            found *= 0 if a % p == 0 else 1 if pow(a, (p - 1) // 2, p) == 1 else -1
    return found


@pytest.mark.parametrize("n", [3, 5, 7, 8, 11, 13, 15, 35, 105])
def test_numbers_divided_by_their_root(n):
    """Sums of Gauss: the transforms of these signs are the root of n times them, or that times -i. So divided by the root all parts are -1, 0 or 1, and none moves."""
    x = [{1: 1, 3: -1, 5: -1, 7: 1}.get(j, 0) for j in range(8)] if n == 8 else [jacobi(j, n) for j in range(n)]
    for dtype, mode in itertools.product((np.float32, np.float64), ("stochastic", "random")):
        for seed in range(3):
            with rounding.scope(mode, seed=seed):
                made = repmath.fft.fft(np.array(x, dtype), norm="ortho")
            assert (made if n == 8 or n % 4 == 1 else made * 1j).tolist() == x


def test_places_count_and_memory_does_not():
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        x = rng.standard_normal((3, 8, 5)).astype(dtype)

        def made(a, dtype=dtype, **options):
            with rounding.scope("stochastic", seed=SEED, sample=SAMPLE):
                return repmath.fft.fft(a, **options)

        want = made(x, axis=1)
        values = [
            [value(x[i, :, k].astype(complex), (j,), (8,), -1, "one") for k in range(5)] for i in range(3) for j in range(8)
        ]
        flat = [v for row in values for v in row]
        for part in (0, 1):
            got = want.imag if part else want.real
            assert bits(got) == expected(
                [v[part] for v in flat], FORMATS[np.dtype(dtype)], "stochastic", SAMPLE << 32, part << 40
            )
        assert made(np.asfortranarray(x), axis=1).tobytes() == want.tobytes()
        longer = made(x, n=11, axis=1)
        padded = made(np.concatenate((x, np.zeros((3, 3, 5), dtype)), 1), axis=1)
        assert longer.tobytes() == padded.tobytes()


def test_infinities_nan_and_nothing():
    x = np.ones((3, 4), np.float64)
    x[0, 1], x[1, 2] = np.inf, np.nan
    for dtype in (np.float32, np.float64):
        plain = repmath.fft.fft(x.astype(dtype))
        for mode in rounding.RANDOM_MODES:
            with rounding.scope(mode, seed=SEED):
                made = repmath.fft.fft(x.astype(dtype))
                assert repmath.fft.fft(np.ones((0, 4), dtype)).shape == (0, 4)
            assert np.array_equal(made[:2], plain[:2], equal_nan=True)
            assert mode == "up_down" or np.array_equal(made[2], plain[2])
    big = np.full(3, 1.7e308)
    with np.errstate(all="ignore"), rounding.scope("stochastic"):
        made = repmath.fft.fft(big)
    assert made[0] == np.inf and not made[1:].any()


def beside_thresholds(n=20000):
    """Pairs 1, y whose sums lie next to the threshold of their element, nearer than binary64 tells where y is small; and how many sums are wrong."""
    words = rounding_oracle.words(SEED, SAMPLE << 32, 0, 2 * n)[::2].astype(np.float64)
    y = ((words + 0.5) * 2.0**-55).astype(np.float32)
    y = np.where(np.arange(n) % 2 == 0, np.nextafter(y, np.float32(0)), np.nextafter(y, np.float32(1)))
    with rounding.scope("stochastic", seed=SEED, sample=SAMPLE):
        made = repmath.fft.fft(np.stack([np.ones(n, np.float32), y], 1))[:, 0].real
    want = [
        rounding_oracle.rounded(1 + Fraction(v), "f32", "stochastic", int(w))
        for v, w in zip(y.tolist(), words.tolist(), strict=True)
    ]
    return sum(a != b for a, b in zip(bits(made), want, strict=True))


def test_values_beside_their_thresholds(monkeypatch):
    """With the control: balls without a radius decide some of them wrongly."""
    assert beside_thresholds() == 0
    balls = _random_fourier._random_modes.balls
    monkeypatch.setattr(_random_fourier._random_modes, "balls", lambda middle, radius, *rest: balls(middle, None, *rest))
    assert beside_thresholds() > 0


def test_a_bound_of_whole_transforms_that_is_left_out_is_seen(monkeypatch):
    """The control of the enclosures: without their errors values that binary64 cannot have are taken for exact."""
    x = np.random.default_rng(2).standard_normal(9)
    rows = _random_fourier._Rows(x[None], (9,), "complex", -1, "one")
    parts = [(0, part, k) for part in (0, 1) for k in range(9)]
    wide, narrow = rows.enclose(parts, 512), rows.enclose(parts, 128)
    assert all(a.low <= b.low <= b.high <= a.high for a, b in zip(narrow, wide, strict=True))
    made = _random_fourier._Rows._made
    monkeypatch.setattr(_random_fourier._Rows, "_made", lambda self, row, bits: (*made(self, row, bits)[:3], Fraction(0)))
    narrow = _random_fourier._Rows(x[None], (9,), "complex", -1, "one").enclose(parts, 128)
    assert not all(a.low <= b.low <= b.high <= a.high for a, b in zip(narrow, wide, strict=True))
