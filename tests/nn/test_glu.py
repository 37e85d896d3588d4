"""rm_glu and rm_glu_gradient against MPFR, bit by bit, on every instruction set, and what IEEE 754 gives of the rest."""

import ctypes

import gmpy2
import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS, rational_of, round_rational
from optimizers_library import NAMES
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, pointer, status

BELOW = ("f16", "bf16", "f32")
each_format = pytest.mark.parametrize("fmt", BELOW)


def run(lib, fmt, rows, n, x, g=None):
    out = np.empty(rows * n * (1 if g is None else 2), x.dtype)
    if g is None:
        code = lib.rm_glu(NAMES.index(fmt), I64(rows), I64(n), pointer(x), pointer(out))
    else:
        code = lib.rm_glu_gradient(NAMES.index(fmt), I64(rows), I64(n), pointer(g), pointer(x), pointer(out))
    assert code == OK
    return out


def made(fmt, values):
    """Binary64 numbers as codes of the format."""
    with np.errstate(all="ignore"):
        if fmt == "bf16":
            return np.array([round_rational(gmpy2.mpq(float(v)), fmt) for v in values], np.uint16)
        return np.asarray(values).astype(FORMATS[fmt][0]).view(FORMATS[fmt][1])


def value(code, fmt):
    return rational_of(int(code), fmt)


def is_special(code, fmt):
    _, _, fraction, _, infinity, shift = FORMATS[fmt]
    return int(code) & ((1 << shift) - 1) >= infinity << fraction


def rounded(factor, b, slope, fmt):
    """The factor times s or s (1 - s), to 600 bits; beside a number that b = 0 gives the sign of what is left decides, which so many bits have where b is
    at least 2^-149."""
    if factor == 0:
        return None
    with gmpy2.context(precision=1400, emin=-(10**7), emax=10**7):
        e = gmpy2.exp(-gmpy2.mpfr(b))
        s = 1 / (1 + e)
        return round_rational(gmpy2.mpq(gmpy2.mpfr(factor) * (s * s * e if slope else s)), fmt)


def negative(code, fmt):
    return int(code) >> FORMATS[fmt][5] & 1


def want(fmt, a, b, g=None):
    """Codes of finite numbers; a zero has the sign of its factors."""
    factors = [(a, None)] if g is None else [(g, None), (g, a)]
    results = []
    for slope, (one, other) in enumerate(factors):
        for i, (u, w) in enumerate(zip(one, b, strict=True)):
            factor = value(u, fmt) * (1 if other is None else value(other[i], fmt))
            sign = negative(u, fmt) ^ (0 if other is None else negative(other[i], fmt))
            made = rounded(gmpy2.mpq(factor), gmpy2.mpq(value(w, fmt)), slope, fmt)
            results.append((made or 0) | sign << FORMATS[fmt][5])
    return np.array(results, FORMATS[fmt][1])


def numbers(fmt, seed):
    """g, a and b: of all sizes; beside 0 and beside ties; subnormal; such that a product, 2^-k with 1 - 2^-p, lies on a boundary."""
    rng = np.random.default_rng(seed)
    bits = FORMATS[fmt][2] + 1
    low, high = {"f16": (-24, 15), "bf16": (-133, 127), "f32": (-149, 127)}[fmt]
    n = 700
    few = lambda: rng.integers(1, 2**bits, n) * rng.choice([-1.0, 1.0], n)  # noqa: E731
    scaled = lambda lo, hi: np.ldexp(few(), rng.integers(lo, hi, n) - bits)  # noqa: E731
    plain = rng.standard_normal(n) * 3
    near = np.where(rng.random(n) < 0.5, 1 + rng.integers(0, 8, n) * 2.0 ** (1 - bits), 2.0**-bits) * rng.choice(
        [-1.0, 1.0], n
    )
    small = np.ldexp(rng.integers(1, 64, n) * rng.choice([-1.0, 1.0], n), low)
    tiny = np.ldexp(rng.choice([-1.0, 1.0], n), rng.integers(low, -bits + 3, n))
    powers = np.ldexp(rng.choice([-1.0, 1.0], n), rng.integers(-3, 3, n))
    sets = [
        (plain, plain[::-1], rng.standard_normal(n) * 8),
        (near, near[::-1], near.copy()),
        (near, np.ones(n), tiny),
        (near, np.roll(near, 3), np.zeros(n)),
        (small, np.ones(n), tiny),
        (np.ones(n), small, tiny),
        (powers, powers[::-1], rng.integers(-8, 9, n) * 2.0**-bits),
        (small, np.ldexp(1.0, rng.integers(-3, 3, n)), np.zeros(n)),
        (scaled(low + bits, high), scaled(-20, 20), np.ldexp(few(), rng.integers(-30, 9, n) - bits)),
        (scaled(high - 2, high), scaled(high - 2, high), rng.choice([-1.0, 1.0], n) * rng.uniform(1, 230, n)),
        (plain, plain[::-1], rng.choice([-1.0, 1.0], n) * rng.uniform(60, 120, n)),
        (scaled(-5, 5), scaled(-5, 5), np.ldexp(few(), -22 - rng.integers(0, 3, n) - bits)),
    ]
    return [np.concatenate([made(fmt, s[k]) for s in sets]) for k in range(3)]


def finite(fmt, *arrays):
    keep = ~np.any([[is_special(c, fmt) for c in a] for a in arrays], 0)
    return [a[keep] for a in arrays]


WANT: dict = {}


@each_format
def test_every_kind_of_number(isa_library, fmt):
    g, a, b = finite(fmt, *numbers(fmt, 3))
    n = len(a)
    x = np.concatenate([a, b])
    value_of, slope_of = WANT.setdefault(fmt, (want(fmt, a, b), want(fmt, a, b, g)))
    for got, right in ((run(isa_library, fmt, 1, n, x), value_of), (run(isa_library, fmt, 1, n, x, g), slope_of)):
        wrong = np.flatnonzero(got != right)
        assert not len(wrong), [(hex(g[i % n]), hex(a[i % n]), hex(b[i % n]), hex(got[i]), hex(right[i])) for i in wrong[:5]]


def test_control():
    """The data lie beside boundaries: with s and s (1 - s) of binary64 many results are others."""
    g, a, b = finite("f32", *numbers("f32", 3))
    f = [v.view(np.float32).astype(np.float64) for v in (g, a, b)]
    with np.errstate(all="ignore"):
        s = 1 / (1 + np.exp(-f[2]))
        near = (f[1] * s).astype(np.float32).view(np.uint32), (f[0] * f[1] * s * (1 - s)).astype(np.float32).view(np.uint32)
    n = len(a)
    assert (near[0] != want("f32", a, b)).sum() > 50 and (near[1] != want("f32", a, b, g)[n:]).sum() > 50


@each_format
def test_what_is_not_finite(isa_library, fmt):
    _, kind, fraction, _, infinity, shift = FORMATS[fmt]
    inf, sign = infinity << fraction, 1 << shift
    some = np.array(
        [0, 1, inf - 1, inf, inf | 1, inf | 1 << (fraction - 1), int(made(fmt, [1.0])[0]), int(made(fmt, [-3.0])[0])], kind
    )
    some = np.concatenate([some, some | kind(sign)])
    g, a, b = (v.ravel() for v in np.meshgrid(some, some, some))
    n, nan = len(a), CANONICAL_NAN[fmt]

    def code(c):
        c = int(c)
        size = c & (sign - 1)
        return ("nan" if size > inf else "inf" if size == inf else "zero" if size == 0 else "number"), c >> shift

    def product(f, w, slope):
        (kind_f, sign_f), (kind_b, sign_b) = f, code(w)
        vanishes = kind_b == "inf" and (slope or sign_b)
        if "nan" in (kind_f, kind_b) or (kind_f == "inf" and vanishes):
            return nan
        if kind_f == "inf":
            return inf | sign_f << shift
        if kind_f == "zero" or vanishes:
            return sign_f << shift
        return None

    def both(u, w):
        (k, s), (m, t) = code(u), code(w)
        if "nan" in (k, m) or {k, m} == {"inf", "zero"}:
            return "nan", 0
        return ("inf" if "inf" in (k, m) else "zero" if "zero" in (k, m) else "number"), s ^ t

    x = np.concatenate([a, b])
    got, gradient = run(isa_library, fmt, 1, n, x), run(isa_library, fmt, 1, n, x, g)
    seen = 0
    for i in range(n):
        for found, right in (
            (got[i], product(code(a[i]), b[i], False)),
            (gradient[i], product(code(g[i]), b[i], False)),
            (gradient[n + i], product(both(g[i], a[i]), b[i], True)),
        ):
            if right is not None:
                assert found == right, (hex(g[i]), hex(a[i]), hex(b[i]), hex(found), hex(right))
                seen += 1
    assert seen > n


@each_format
def test_exceptions(isa_library, fmt):
    libm = ctypes.CDLL(None)
    _, kind, fraction, _, infinity, shift = FORMATS[fmt]
    inf, one, sign = infinity << fraction, int(made(fmt, [1.0])[0]), 1 << shift
    for g, a, b, of_value, of_gradient in (
        (one, one, one, 0, 0),
        (one, inf, one, 0, 0),
        (one, inf, inf | sign, 1, 1),
        (inf, 0, one, 0, 1),
        (one, inf | 1, one, 1, 1),
        (one, inf | 1 << (fraction - 1), one, 0, 0),
        (inf | 1, one, one, 0, 1),
        (one, one, inf | 1, 1, 1),
        (inf - 1, inf - 1, one, 0, 8),
        (one, one, inf | sign, 0, 0),
    ):
        for n in (1, 50):
            x, received = np.zeros(2 * n, kind), np.zeros(n, kind)
            x[n - 1], x[2 * n - 1], received[-1] = a, b, g
            for given, raised in ((None, of_value), (received, of_gradient)):
                libm.feclearexcept(61)
                run(isa_library, fmt, 1, n, x, given)
                assert libm.fetestexcept(29) & 13 == raised, (hex(g), hex(a), hex(b), n)


@each_format
def test_rows_and_threads(isa_library, fmt):
    g, a, b = numbers(fmt, 4)
    want = {k: run(isa_library, fmt, 1, len(a), np.concatenate([a, b]), g if k else None) for k in (0, 1)}
    for n in (1, 3, 8, 17, 100):
        rows = len(a) // n
        m = rows * n
        x = np.stack([a[:m].reshape(rows, n), b[:m].reshape(rows, n)], 1).reshape(-1)
        assert (run(isa_library, fmt, rows, n, x) == want[0][:m]).all()
        made = run(isa_library, fmt, rows, n, x, g[:m].copy()).reshape(rows, 2, n)
        for k in (0, 1):
            assert (made[:, k].reshape(-1) == want[1].reshape(2, -1)[k, :m]).all()
    rows, n = 70, 1001
    x, received = np.resize(np.concatenate([a, b]), 2 * rows * n), np.resize(g, rows * n)
    alone = run(isa_library, fmt, rows, n, x), run(isa_library, fmt, rows, n, x, received)
    isa_library.rm_set_num_threads(3)
    shared = run(isa_library, fmt, rows, n, x), run(isa_library, fmt, rows, n, x, received)
    isa_library.rm_set_num_threads(1)
    assert all((p == q).all() for p, q in zip(alone, shared, strict=True))


def test_bad_arguments(library):
    x, g, out = np.zeros(16, np.float32), np.zeros(8, np.float32), np.full(16, 7, np.float32)
    value_of = lambda f, rows, n, p, q: library.rm_glu(f, I64(rows), I64(n), p, q)  # noqa: E731
    slope_of = lambda f, rows, n, o, p, q: library.rm_glu_gradient(f, I64(rows), I64(n), o, p, q)  # noqa: E731
    px, pg, to = pointer(x), pointer(g), pointer(out)
    assert value_of(3, 2, 4, px, to) == slope_of(3, 2, 4, pg, px, to) == status(ENUM, 1)
    assert value_of(-1, 2, 4, px, to) == status(ENUM, 1)
    assert value_of(2, -1, 4, px, to) == slope_of(2, -1, 4, pg, px, to) == status(SIZE, 2)
    assert value_of(2, 2, -4, px, to) == slope_of(2, 2**40, 2**40, pg, px, to) == status(SIZE, 3)
    assert value_of(2, 2, 4, None, to) == slope_of(2, 2, 4, None, px, to) == status(NULL, 4)
    assert value_of(2, 2, 4, px, None) == slope_of(2, 2, 4, pg, None, to) == status(NULL, 5)
    assert slope_of(2, 2, 4, pg, px, None) == status(NULL, 6)
    assert value_of(2, 2, 4, px, px) == status(OVERLAP, 5)
    assert slope_of(2, 2, 4, pg, px, px) == slope_of(2, 2, 4, to, px, to) == status(OVERLAP, 6)
    assert value_of(2, 0, 4, None, None) == slope_of(2, 4, 0, None, None, None) == OK
    assert (out == 7).all()
