"""The 8-bit formats: every code of every function against MPFR, the rounding of float64 against the definition."""

import warnings
from fractions import Fraction

import gmpy2
import numpy as np
import oracle
import pytest

import repmath

ml_dtypes = pytest.importorskip("ml_dtypes")
# name -> precision, least exponent of a normal number, greatest number
FORMATS = {"float8_e4m3fn": (4, -6, 448.0), "float8_e5m2": (3, -14, 57344.0)}
formats = pytest.mark.parametrize("name", FORMATS)


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name))


def all_codes(name):
    return np.arange(256, dtype=np.uint8).view(dtype_of(name))


def canonical(name):
    return 0x7F if name == "float8_e4m3fn" else 0x7E


def codes_of(values, name):
    """The codes of numbers of the format, or of what is beyond: infinity, in e4m3fn NaN."""
    with np.errstate(all="ignore"):
        codes = np.array(values).astype(dtype_of(name)).view(np.uint8)
    greatest = FORMATS[name][2]
    beyond = np.isnan(values) | ((np.abs(values) > greatest) if name == "float8_e4m3fn" else False)
    return np.where(beyond, canonical(name), codes)


def context(name):
    precision, least, greatest = FORMATS[name]
    # Wide enough above for a number beyond the greatest one, which is no infinity yet in e4m3fn.
    emax = 1 + int(np.log2(greatest)) + (1 if name == "float8_e4m3fn" else 0)
    # MPFR's significands are in [1/2, 1), so its exponents are larger by one.
    return gmpy2.context(precision=precision, emax=emax, emin=least - precision + 2, subnormalize=True)


def mpfr(function, x, name):
    return np.array(oracle.results(function, x, context(name)))


@formats
@pytest.mark.parametrize("function", oracle.UNARY)
def test_every_code(function, name):
    x = all_codes(name)
    with np.errstate(all="ignore"):
        y = getattr(repmath, function)(x)
        again = getattr(repmath, function)(np.repeat(x, 2)[::2][::-1])[::-1]
        want = codes_of(mpfr(function, x.astype(np.float64), name), name)
    assert y.dtype == dtype_of(name)
    wrong = np.flatnonzero(y.view(np.uint8) != want)
    assert wrong.size == 0, [(float(x[i]), hex(y.view(np.uint8)[i]), hex(want[i])) for i in wrong[:5]]
    assert np.array_equal(again.copy().view(np.uint8), want)


WARNINGS = {"divide by zero": 2, "invalid value": 1, "overflow": 4}


@formats
@pytest.mark.parametrize("function", ["exp", "log", "rsqrt", "tanh"])
def test_warnings(function, name):
    for value in all_codes(name):
        v = float(value)
        if v != v:
            continue
        exact = np.array(oracle.results(function, np.array([v]), oracle.context("f64")))[0]
        want = 1 if exact != exact else 2 if np.isinf(exact) and np.isfinite(v) and function != "exp" else 0
        if (
            not want
            and np.isfinite(v)
            and not np.isfinite(codes_to_double(codes_of(mpfr(function, np.array([v]), name), name), name))
        ):
            want = 4
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(repmath, function)(np.array([value]))
        got = sum(flag for text, flag in WARNINGS.items() for w in caught if str(w.message).startswith(text))
        assert got == want, (v, got, want)


def codes_to_double(codes, name):
    return np.asarray(codes, dtype=np.uint8).view(dtype_of(name)).astype(np.float64)


def exact_codes(x, name):
    """The definition, by rational numbers."""
    precision, least, greatest = FORMATS[name]
    out = []
    for v in x.tolist():
        if v != v:
            out.append(canonical(name))
            continue
        sign = 0x80 if np.signbit(v) else 0
        beyond = canonical(name) if name == "float8_e4m3fn" else sign | 0x7C
        if np.isinf(v):
            out.append(beyond)
            continue
        size = abs(Fraction(v))
        exponent = max(int(np.frexp(abs(v))[1]) - 1, least) if v else least
        quantum = Fraction(2) ** (exponent - precision + 1)
        q, rest = divmod(size, quantum)
        q += rest * 2 > quantum or (rest * 2 == quantum and q % 2 == 1)
        value = q * quantum
        out.append(beyond if value > greatest else sign | int(codes_of(np.array([float(value)]), name)[0]))
    return np.array(out, np.uint8)


@formats
def test_rounding(name):
    numbers = np.unique(np.abs(codes_to_double(np.arange(256), name)))
    numbers = numbers[np.isfinite(numbers)]
    greatest = numbers[-1]
    step = numbers[-1] - numbers[-2]
    numbers = np.append(numbers, [greatest + step, greatest + 2 * step, greatest * 2])
    middle = (numbers[1:] + numbers[:-1]) / 2
    x = np.concatenate([numbers, middle])
    x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, 0), x * (1 + 2.0**-40), x * (1 - 2.0**-40)])
    rng = np.random.default_rng(3)
    more = rng.uniform(1, 2, 2000) * 2.0 ** rng.integers(-30, 20, 2000)
    x = np.concatenate([x, more, [5e-324, 1e-310, 1.7e308, np.inf, np.nan]])
    x = np.concatenate([x, -x])
    y = repmath.to_float8(x, dtype_of(name))
    assert y.dtype == dtype_of(name)
    assert np.array_equal(y.view(np.uint8), exact_codes(x, name))


@formats
def test_what_is_rounded(name):
    target = dtype_of(name)
    assert np.array_equal(repmath.to_float8(all_codes(name)[:120], target).view(np.uint8), np.arange(120))
    for kind in (np.float16, np.float32, ml_dtypes.bfloat16, np.int8, bool):
        x = np.array([[0, 1], [1, 0]]).astype(kind)
        y = repmath.to_float8(x.T[::-1], target)
        assert y.shape == (2, 2) and np.array_equal(y.astype(np.float64), x.T[::-1].astype(np.float64))
    assert repmath.to_float8(1.5, target) == 1.5 and np.ndim(repmath.to_float8(1.5, target)) == 0
    assert repmath.to_float8([], target).shape == (0,)
    with pytest.raises(TypeError, match="dtype must be"):
        repmath.to_float8([1.0], np.float16)
    with pytest.raises(TypeError, match="which is not"):
        repmath.to_float8([1j], target)


@formats
def test_out_and_layout(name):
    x = all_codes(name)[:112].reshape(8, 14)
    with np.errstate(all="ignore"):
        want = repmath.tanh(x).view(np.uint8)
        out = np.zeros((14, 8), x.dtype).T
        assert repmath.tanh(x, out=out) is out
        assert np.array_equal(out.copy().view(np.uint8), want)
        assert np.array_equal(repmath.tanh(x[::-1, ::3]).view(np.uint8), want[::-1, ::3])
        assert repmath.tanh(x[3, 5]) == out[3, 5]
        y = x.copy()
        repmath.tanh(y, out=y)
    assert np.array_equal(y.view(np.uint8), want)


@formats
def test_functions_of_two_arguments_take_float32(name):
    x = np.array([1.5, 2.0], dtype_of(name))
    y = repmath.add(x, x)
    assert y.dtype == np.float32 and y.tolist() == [3.0, 4.0]
