"""rm_cumsum and repmath.cumsum against exact prefix sums: all formats, hard data, strides, every tier, bad arguments, the control."""

import ctypes
from fractions import Fraction
from itertools import accumulate

import elementwise_library
import native
import numpy as np
import oracle
import pytest
import reduction_data as data
from exact_oracle import CANONICAL_NAN, bits, rounded
from numpy_dtypes import DTYPES
from reductions_library import ENUM, I64, NULL, OK, SIZE, Reductions, pointer, status
from statistics_library import FORMATS, cumsum, dtype_of

import repmath


@pytest.fixture
def rng():
    return np.random.default_rng(50)


def prefixes(x):
    return accumulate(Fraction(float(v)) for v in x)


def expected(x, out_fmt):
    known = {}  # sums repeat in some data
    return [known[s] if s in known else known.setdefault(s, rounded(s, dtype_of(out_fmt))) for s in prefixes(x)]


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_pair_of_formats(lib, rng, fmt):
    for n in (0, 1, 2, 63, 64, 65, 300):
        x = (rng.standard_normal(n) * 2.0 ** rng.integers(-6, 7, n)).astype(dtype_of(fmt))
        for out_fmt in FORMATS:
            assert cumsum(lib, fmt, x, out_fmt) == expected(x, out_fmt), (n, out_fmt)


@pytest.mark.sample(3)
@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted({f.__name__ for pair in data.PAIRS.values() for f in pair}))
def test_hard_data(lib, rng, fmt, name):
    x = getattr(data, name)(rng, dtype_of(fmt).type, 1, 400)[0]
    for out_fmt in FORMATS:
        assert cumsum(lib, fmt, x, out_fmt) == expected(x, out_fmt)


@pytest.mark.parametrize("fmt", FORMATS)
def test_ties_and_hairs_beside_them(lib, rng, fmt):
    """Sums that are midpoints of the format, exactly and but for terms far below, of either sign."""
    p = oracle.FORMATS[fmt][0]
    half = 2.0**-p
    x = []
    for _ in range(40):
        hair = 2.0 ** -float(rng.integers(p + 1, 2 * p + 3)) * rng.choice([-1, 1])
        x += [1.0, half, hair, -hair, 2 * half, -1.0 - 2 * half, -half]
    values = np.array(x, dtype_of("f64"))
    for out_fmt in FORMATS:
        assert cumsum(lib, "f64", values, out_fmt) == expected(values, out_fmt)


def test_beyond_the_range_and_back(lib, rng):
    x = np.concatenate([[1e308] * 5, rng.standard_normal(70), [-1e308] * 5, rng.standard_normal(200), [-1.7e308, -1.7e308]])
    for out_fmt in FORMATS:
        assert cumsum(lib, "f64", x, out_fmt) == expected(x, out_fmt)
    lib.stats()
    cumsum(lib, "f64", np.append(x[:-2], rng.standard_normal(5000)), "f64")
    fast, _, accumulator = lib.stats()
    assert accumulator < 300 and fast > 4900  # it starts again when the sum is in the range


def test_special_values(lib):
    inf, nan = np.inf, np.nan
    for fmt in FORMATS:
        number = lambda v, fmt=fmt: int(bits(np.array(v, dtype_of(fmt))))  # noqa: E731
        canonical = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}[fmt]
        got = lambda values, fmt=fmt: cumsum(lib, fmt, np.array(values, dtype_of(fmt)), fmt)  # noqa: E731
        assert got([1, nan, 2]) == [number(1), canonical, canonical]
        assert got([-0.0, -0.0, 1, -1]) == [0, 0, number(1), 0]
        assert got([1, -inf, 5, inf, 1]) == [number(1), number(-inf), number(-inf), canonical, canonical]
        assert got([inf] + [1] * 200) == [number(inf)] * 201


def with_infinities(x, fmt):
    """Exact sums up to the first term that is not finite, then what IEEE 754 makes of those that are not."""
    first = int(np.argmin(np.isfinite(x))) if not np.isfinite(x).all() else len(x)
    with np.errstate(all="ignore"):
        rest = np.cumsum(np.where(np.isfinite(x), 0.0, x.astype(np.float64)))[first:]
    codes = [CANONICAL_NAN[fmt] if np.isnan(v) else int(bits(np.array(v, dtype_of(fmt)))) for v in rest]
    return (expected(x[:first], fmt) if first else []) + codes


@pytest.mark.parametrize("fmt", FORMATS)
def test_after_terms_that_are_not_finite(lib, rng, fmt):
    """Wherever the first one is, and whatever comes behind it: the other infinity, NaN, all of a mask's."""
    inf, nan = np.inf, np.nan
    for first in (0, 1, 62, 63, 64, 65, 130, 199):
        for later in ([], [(first + 1, inf)], [(180, inf)], [(180, nan)], [(first + 70, -inf), (first + 71, inf)]):
            x = rng.standard_normal(200).astype(dtype_of(fmt))
            for place, value in [(first, -inf), *later]:
                x[min(place, 199)] = value
            assert cumsum(lib, fmt, x, fmt) == with_infinities(x, fmt)
        x[first:] = -inf
        lib.stats()
        assert cumsum(lib, fmt, x, fmt) == with_infinities(x, fmt)
        assert fmt == "f64" or lib.stats()[2] == 0  # below binary64 nothing of a mask comes to the accumulator


def test_flags_after_terms_that_are_not_finite(lib):
    libm, inf, nan = ctypes.CDLL(None), np.inf, np.nan
    signalling = np.array(0x7F800001, np.uint32).view(np.float32)
    for terms, want in (([-inf, 1, -inf], 0), ([-inf, 1, inf], 1), ([nan, 1, -inf, inf], 0), ([inf, 2, signalling], 1)):
        for gap in (0, 100):
            x = np.concatenate([[term] + [1.0] * gap for term in terms]).astype(np.float32)
            for i in range(len(terms)):
                bits(x)[i * (gap + 1)] = bits(np.float32(terms[i])) if terms[i] is not signalling else bits(signalling)
            libm.feclearexcept(61)
            cumsum(lib, "f32", x, "f32")
            assert libm.fetestexcept(1) == want, terms


@pytest.mark.parametrize("fmt", ["f32", "f64"])
def test_strides_and_tiers(lib, rng, fmt):
    x = data.spread(rng, dtype_of(fmt).type, 1, 500)[0]
    want = cumsum(lib, fmt, x, fmt)
    wide = np.zeros((500, 3), x.dtype)
    wide[:, 1] = x
    lib.stats()
    assert cumsum(lib, fmt, wide[:, 1], fmt) == want
    assert sum(lib.stats()) == 500
    assert cumsum(lib, fmt, x[::-1][::-1], fmt) == want
    assert cumsum(lib, fmt, x[::-1], fmt) == expected(x[::-1], fmt)
    assert cumsum(lib, fmt, np.broadcast_to(x[:1], (100,)), fmt) == expected([x[0]] * 100, fmt)
    out = np.full((500, 2), 7, x.dtype)
    f = lib.c.rm_cumsum
    code = FORMATS.index(fmt)
    assert f(code, I64(500), pointer(x), I64(x.itemsize), code, pointer(out), I64(2 * x.itemsize)) == OK
    assert bits(out[:, 0].copy()).tolist() == want and (out[:, 1] == 7).all()


def test_bad_arguments_write_nothing(lib):
    x, out = np.ones(3), np.full(3, 7.0)
    good = [3, I64(3), pointer(x), I64(8), 3, pointer(out), I64(8)]
    for position, value, code in ((0, 4, ENUM), (1, I64(-1), SIZE), (2, None, NULL), (4, -1, ENUM), (5, None, NULL)):
        arguments = list(good)
        arguments[position] = value
        assert lib.c.rm_cumsum(*[ctypes.c_void_p(None) if a is None else a for a in arguments]) == status(code, position + 1)
    assert (out == 7).all()
    assert lib.c.rm_cumsum(3, I64(0), None, I64(8), 3, None, I64(8)) == OK


def cumsum_rows(lib, fmt, x, out_fmt):
    """Of each row of x, by one call; as in memory, so that out has the layout of x."""
    out = np.empty_like(x, np.full(0, 0, dtype_of(out_fmt)).dtype)
    out[...] = 7
    f, (rows, n) = lib.c.rm_cumsum_rows, x.shape
    strides = [[I64(s) for s in v.strides] for v in (x, out)]
    codes = FORMATS.index(fmt), FORMATS.index(out_fmt)
    assert f(codes[0], I64(rows), I64(n), pointer(x), *strides[0], codes[1], pointer(out), *strides[1]) == OK
    return [bits(line.copy()).tolist() for line in out]


@pytest.mark.parametrize("fmt", FORMATS)
def test_rows_at_once(lib, rng, fmt):
    """Beside each other in memory or not, and as many as there are lanes or not; one of them has no sums that vectors decide."""
    p, dtype = oracle.FORMATS[fmt][0], dtype_of(fmt)
    for rows, n in ((1, 5), (2, 3), (3, 64), (4, 1), (7, 65), (8, 130), (13, 9), (40, 8)):
        x = rng.standard_normal((rows, n)) * 2.0 ** rng.integers(-6, 7, (rows, n))
        x[::3] = rng.choice([1.0, 2.0**-p, 2.0 ** (1 - p), -(2.0**-p), -0.0, -1.0], x[::3].shape)
        x = x.astype(dtype)
        x[rows // 2, n // 2 :] = rng.choice(np.array([np.inf, np.nan, -np.inf], dtype))
        for out_fmt in FORMATS:
            want = [cumsum(lib, fmt, line.copy(), out_fmt) for line in x]
            lib.stats()
            assert cumsum_rows(lib, fmt, x, out_fmt) == want, (rows, n, out_fmt)
            assert sum(lib.stats()) == rows * n
            assert cumsum_rows(lib, fmt, np.asfortranarray(x), out_fmt) == want, (rows, n, out_fmt)
            assert cumsum_rows(lib, fmt, x[::-1], out_fmt) == want[::-1], (rows, n, out_fmt)


@pytest.mark.parametrize("fmt", ["f32", "f64"])
@pytest.mark.parametrize("name", sorted({f.__name__ for pair in data.PAIRS.values() for f in pair}))
def test_rows_of_hard_data(lib, rng, fmt, name):
    x = getattr(data, name)(rng, dtype_of(fmt).type, 8, 100)
    x = np.ascontiguousarray(x if x.shape == (8, 100) else x.reshape(8, -1))
    for out_fmt in FORMATS:
        assert cumsum_rows(lib, fmt, x, out_fmt) == [cumsum(lib, fmt, line.copy(), out_fmt) for line in x]


def test_bad_arguments_of_rows_write_nothing(lib):
    x, out = np.ones((2, 3)), np.full((2, 3), 7.0)
    good = [3, I64(2), I64(3), pointer(x), I64(24), I64(8), 3, pointer(out), I64(24), I64(8)]
    wrong = (
        (0, 4, ENUM),
        (1, I64(-1), SIZE),
        (2, I64(-1), SIZE),
        (2, I64(2**62), SIZE),
        (3, None, NULL),
        (6, -1, ENUM),
        (7, None, NULL),
    )
    for position, value, code in wrong:
        arguments = [ctypes.c_void_p(None) if a is None else a for a in [*good[:position], value, *good[position + 1 :]]]
        assert lib.c.rm_cumsum_rows(*arguments) == status(code, position + 1)
    assert (out == 7).all()
    for rows, n in ((0, 3), (3, 0)):
        assert lib.c.rm_cumsum_rows(3, I64(rows), I64(n), None, I64(0), I64(8), 3, None, I64(0), I64(8)) == OK


def lost_terms(rng):
    """Sums just below a midpoint of binary64, that 2^17 terms carry beyond it, each below half a place of what they are added to."""
    return np.concatenate([[1.0, 2.0**-53, -(2.0**-92)], np.full(2**17, 2.0**-108)])


def test_many_lost_terms_and_the_control(lib, rng):
    x = lost_terms(rng)
    one, above = (int(bits(np.array(v))) for v in (1.0, 1 + 2.0**-52))
    want = [above if s > 1 + Fraction(1, 2**53) else one for s in prefixes(x)]
    assert want.count(above) == 2**16
    assert cumsum(lib, "f64", x, "f64") == want
    shrunk = elementwise_library.libraries(native.control_library())
    wrong = Reductions(shrunk[lib.isa()].library)
    assert cumsum(wrong, "f64", x, "f64") != want
    rows = np.tile(x, (8, 1))
    assert cumsum_rows(lib, "f64", rows, "f64") == [want] * 8
    assert all(line != want for line in cumsum_rows(wrong, "f64", rows, "f64"))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_axes_and_dtypes(rng, dtype, axis):
    x = rng.standard_normal((3, 4, 5)).astype(dtype)
    for result in (None, *DTYPES):
        got = repmath.cumsum(x, axis=axis, dtype=result)
        want_dtype = dtype if result is None else result
        assert got.dtype == want_dtype and got.shape == (x.shape if axis is not None else (60,))
        rows, sums = (x.reshape(1, -1), got.reshape(1, -1)) if axis is None else (np.moveaxis(v, axis, -1) for v in (x, got))
        for row, line in zip(rows.reshape(-1, rows.shape[-1]), sums.reshape(-1, rows.shape[-1]), strict=True):
            assert bits(line.copy()).tolist() == [rounded(s, want_dtype) for s in prefixes(row)]


def test_each_element_is_the_sum_up_to_it(rng):
    x = rng.standard_normal(200).astype("f4") * np.float32(2.0) ** rng.integers(-30, 30, 200).astype("f4")
    got = repmath.cumsum(x)
    assert all(got[i] == repmath.sum(x[: i + 1]) for i in range(200))


def test_integers_layouts_out_and_errors(rng):
    assert repmath.cumsum([1, 2, 3]).tolist() == [1, 3, 6] and repmath.cumsum([True, True]).dtype == np.float64
    big = np.array([2**53, 1, 1, 2**62, -(2**62)])
    for result in DTYPES:
        with np.errstate(over="ignore"):
            got = repmath.cumsum(big, dtype=result)
        assert bits(got).tolist() == [rounded(Fraction(s), result) for s in accumulate(map(int, big))]
    x = rng.standard_normal((6, 7)).astype(">f4")
    want = repmath.cumsum(x.astype("f4"), axis=0)
    for view in (x, np.asfortranarray(x), np.pad(x, 1)[1:-1, 1:-1]):
        assert np.array_equal(repmath.cumsum(view, axis=0), want)
    same = x.astype("f4")
    assert repmath.cumsum(same, axis=0, out=same) is same and np.array_equal(same, want)
    assert repmath.cumsum(5.0).tolist() == [5.0] and repmath.cumsum(np.zeros((0, 3)), axis=1).shape == (0, 3)
    assert repmath.cumsum(np.zeros((3, 0)), axis=1).shape == (3, 0) and repmath.cumsum([]).shape == (0,)
    out = np.full(42, 7.0, "f4")
    with pytest.raises(ValueError, match="out has shape"):
        repmath.cumsum(x, axis=0, out=out)
    with pytest.raises(TypeError, match="out has dtype"):
        repmath.cumsum(x, out=out.astype("f2"))
    with pytest.raises(TypeError, match="has dtype complex128"):
        repmath.cumsum([1j])
    with pytest.raises(np.exceptions.AxisError):
        repmath.cumsum(x, axis=2)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        repmath.cumsum(x, out=out)
    assert (out == 7).all()
