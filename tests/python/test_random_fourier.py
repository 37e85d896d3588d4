"""Fourier transforms under the random modes, beside sums of cosines in many digits and the words of their parts."""

import itertools
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
import rounding_oracle

import repmath
from repmath import rounding

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


@pytest.mark.parametrize("mode", ["stochastic", "random", "up_down"])
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
