"""pown, rootn and compound of repmath/powers.h: bits and flags against MPFR, in every format and rounding mode, on every instruction set."""

import ctypes
import math
import os
from fractions import Fraction

import gmpy2
import mpmath
import numpy as np
import oracle
import powers
import pytest
from accurate_phase import compiled  # noqa: F401 (fixture)
from elementwise_library import SCALAR, libraries

FORMATS = list(oracle.FORMATS)
EXHAUSTIVE = bool(os.environ.get("REPMATH_EXHAUSTIVE"))
FLAGS = {oracle.INVALID: 1, oracle.DIVBYZERO: 4, oracle.OVERFLOW: 8}  # bits of MXCSR and of <fenv.h> on x86


def check(kind, x, n, fmt, want=None):
    bits = oracle.to_bits(x, fmt)
    want = powers.values(kind, x, n, fmt)[0] if want is None else want
    for isa, library in libraries().items():
        wrong = np.flatnonzero(powers.call(library, kind, bits, n, fmt) != want)
        assert wrong.size == 0, (isa, wrong.size, [(float(x[i]).hex(), int(n[i])) for i in wrong[:5]])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", powers.KINDS)
def test_special_values_and_random_pairs(kind, fmt):
    check(kind, *powers.specials(fmt), fmt)
    check(kind, *powers.samples(kind, fmt, 60000 if EXHAUSTIVE else 1500, 5), fmt)


@pytest.mark.parametrize("rule", [r for r in oracle.RULES if r != "nearest"])
@pytest.mark.parametrize("kind", powers.KINDS)
def test_rounding_modes(kind, rule):
    library = next(iter(libraries().values()))
    for fmt in FORMATS:
        for x, n in (powers.specials(fmt), powers.samples(kind, fmt, 300, 6)):
            got = powers.call(library, kind, oracle.to_bits(x, fmt), n, fmt, rule)
            assert (got == powers.values(kind, x, n, fmt, rule)[0]).all(), fmt


@pytest.mark.parametrize("kind", powers.KINDS)
def test_every_number_of_16_bits(kind):
    for fmt in ("f16", "bf16"):
        every = oracle.to_double(np.arange(1 << 16, dtype=np.uint16), fmt)
        for n in range(-9, 10) if EXHAUSTIVE else (3,):
            x = every if EXHAUSTIVE else every[n % 7 :: 7]
            check(kind, x, np.full(x.size, n), fmt)


def beside(kind, fmt, rng, count):
    """Pairs whose result lies beside a midpoint: of an integer and the midpoint's inverse power, as near as the format has it, the nearest ones."""
    precision = oracle.FORMATS[fmt][0]
    rows = []
    with mpmath.workprec(200):
        for _ in range(count):
            n = int(rng.integers(2, 40)) * (1 if rng.random() < 0.7 else -1)
            half = mpmath.mpf(int(rng.integers(1 << (precision - 1), 1 << precision)) * 2 + 1) / 2**precision
            x = mpmath.root(half, n) if kind == "pown" else half**n if kind == "rootn" else mpmath.root(half, n) - 1
            rows.append((abs(float(x)), n) if kind != "compound" else (float(x), n))
    x = powers._numbers(np.array([r[0] for r in rows]), fmt)
    return x, np.array([r[1] for r in rows])


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("kind", powers.KINDS)
def test_results_beside_midpoints(kind, fmt):
    check(kind, *beside(kind, fmt, np.random.default_rng(3), 1000), fmt)


@pytest.mark.parametrize("kind", powers.KINDS)
def test_exact_results_and_ties(kind):
    """Powers of numbers of few digits, a bit longer than the format's; numbers of 1 + x that binary64 lacks, beside an exact power."""
    rng = np.random.default_rng(8)
    for fmt in FORMATS:
        precision = oracle.FORMATS[fmt][0]
        rows = []
        for n in (2, 3, 4, 5, 7):
            bits = -(-(precision + 1) // n)
            for _ in range(40):
                d = int(rng.integers(1 << (bits - 1), 1 << bits)) | 1
                rows.append((float(d) if kind == "pown" else float(d) - 1 if kind == "compound" else float(d**n), n))
                rows.append((-rows[-1][0], n) if kind == "pown" else (rows[-1][0] / 2.0**n, n))
        x = np.array([r[0] for r in rows])
        keep = powers._numbers(x, fmt) == x
        check(kind, x[keep], np.array([r[1] for r in rows])[keep], fmt)
    if kind == "compound":
        big = [(2.0**k, n) for k in (53, 54, 80, 109, 110, 200, 500, 1023) for n in (-3, -2, -1, 1, 2, 3)]
        big += [((2.0**27 + 1) * 2.0**k, 2) for k in (30, 90, 200, 480)]
        big += [
            (s * 2.0**-k * m, n)
            for k in (54, 60, 100)
            for m in (1, 1.5)
            for s in (1, -1)
            for n in (2, 3, -5, 1 << 50, 3 << 58)
        ]
        x, n = np.array([b[0] for b in big]), np.array([b[1] for b in big])
        check(kind, x, n, "f64")
        for rule in ("down", "up", "toward_zero"):
            got = powers.call(next(iter(libraries().values())), kind, oracle.to_bits(x, "f64"), n, "f64", rule)
            assert (got == powers.values(kind, x, n, "f64", rule)[0]).all()


@pytest.mark.parametrize("kind", powers.KINDS)
def test_flags(kind):
    """Those of each element, and none else: in C, one value at a time and as an array."""
    libm = ctypes.CDLL(None)
    for fmt in FORMATS:
        x, n = powers.specials(fmt)
        pick = np.random.default_rng(4).permutation(x.size)[:250]
        for i in pick.tolist():
            want, flag = powers.expected(kind, float(x[i]), int(n[i]), fmt)
            for isa, library in libraries().items():
                libm.feclearexcept(61)
                got = powers.call(library, kind, oracle.to_bits(x[i : i + 1], fmt), n[i : i + 1], fmt)[0]
                assert libm.fetestexcept(13) == FLAGS.get(flag, 0), (isa, fmt, x[i], n[i])
                assert got == want
            f, uint = getattr(library.library, f"rm_{kind}_{fmt}"), oracle.FORMATS[fmt][2]
            f.restype, f.argtypes = SCALAR[fmt], [SCALAR[fmt], ctypes.c_int64]
            bits = oracle.to_bits(x[i : i + 1], fmt)
            whole = SCALAR[fmt] is ctypes.c_uint16
            given = int(bits[0]) if whole else float(bits.view(np.float32 if fmt == "f32" else np.float64)[0])
            libm.feclearexcept(61)
            made = f(given, int(n[i]))
            assert libm.fetestexcept(13) == FLAGS.get(flag, 0)
            assert (made if whole else int((np.float32 if fmt == "f32" else np.float64)(made).view(uint))) == want
    signalling = {"f16": 0x7C01, "bf16": 0x7F81, "f32": 0x7F800001, "f64": 0x7FF0000000000001}
    for fmt, bits in signalling.items():
        for library in libraries().values():
            libm.feclearexcept(61)
            powers.call(library, kind, np.array([bits]), np.array([2]), fmt)
            assert libm.fetestexcept(13) == 1


def test_strides_and_overlap():
    """Any strides; an output that is the argument, or meets arguments otherwise, element after element."""
    rng = np.random.default_rng(2)
    for library in libraries().values():
        for fmt, dtype in (("f32", np.float32), ("f64", np.float64)):
            f, size = getattr(library.library, f"rm_vpown_{fmt}"), np.dtype(dtype).itemsize
            x, n = rng.uniform(0.5, 2, 500).astype(dtype), rng.integers(-5, 6, 500)

            def call(count, a, sa, b, sb, c, sc, f=f):
                where = [ctypes.c_void_p(v) for v in (a, b, c)]
                return f(
                    ctypes.c_int64(count),
                    where[0],
                    ctypes.c_ssize_t(sa),
                    where[1],
                    ctypes.c_ssize_t(sb),
                    where[2],
                    ctypes.c_ssize_t(sc),
                )

            def want(values, integers, library=library, fmt=fmt, dtype=dtype):
                return powers.call(library, "pown", values.view(oracle.FORMATS[fmt][2]), integers, fmt).view(dtype)

            out = np.zeros(1000, dtype)
            assert call(100, x[300:].ctypes.data, -3 * size, n[200:].ctypes.data, -16, out.ctypes.data, 2 * size) == 0
            assert (out[:200:2] == want(x[300:0:-3][:100].copy(), n[200:0:-2][:100].copy())).all() and not out[1::2].any()
            out[:] = 0
            assert call(130, x.ctypes.data, size, n[7:].ctypes.data, 0, out.ctypes.data, size) == 0
            assert (out[:130] == want(x[:130].copy(), np.full(130, n[7]))).all()
            same = x.copy()
            assert call(500, same.ctypes.data, size, n.ctypes.data, 8, same.ctypes.data, size) == 0
            assert (same == want(x, n)).all()
            chain = x.copy()  # each result is the next argument
            assert call(499, chain.ctypes.data, size, n.ctypes.data, 8, chain[1:].ctypes.data, size) == 0
            steps = [x[:1]]
            for k in range(499):
                steps.append(want(steps[-1].copy(), n[k : k + 1]))
            assert (chain == np.concatenate(steps)).all()
            both = n[:100].copy()  # the output covers integers that are still to come
            place = both.view(dtype)
            order = []
            for k in range(100):
                order.append(want(x[k : k + 1].copy(), both[k : k + 1].copy())[0])
                place[k] = order[-1]
            again = n[:100].copy()
            assert call(100, x.ctypes.data, size, again.ctypes.data, 8, again.ctypes.data, size) == 0
            assert (again.view(dtype)[:100].view(np.uint8) == place[:100].view(np.uint8)).all()
            assert call(-1, x.ctypes.data, size, n.ctypes.data, 8, out.ctypes.data, size) & 0xFF
            for missing in range(3):
                pointers = [x.ctypes.data, n.ctypes.data, out.ctypes.data]
                pointers[missing] = None
                assert call(1, pointers[0], size, pointers[1], 8, pointers[2], size) != 0
            assert call(0, None, size, None, 8, None, size) == 0


CASES = {
    "pown": (lambda x, n: n * mpmath.log(x), [(0.1, 9.0), (0.99, 1.01), (2.0**-500, 2.0**-400), (2.0**300, 2.0**900)]),
    "rootn": (lambda x, n: mpmath.log(x) / n, [(0.1, 9.0), (0.99, 1.01), (2.0**-500, 2.0**-400), (2.0**300, 2.0**900)]),
    "compound": (
        lambda x, n: n * mpmath.log1p(x),
        [
            (-0.9, 9.0),
            (-0.01, 0.01),
            (-(2.0**-29), 2.0**-29),
            (-(2.0**-51), 2.0**-51),
            (-(2.0**-52), 2.0**-52),
            (1e-20, 1e-19),
            (2.0**50, 2.0**60),
        ],
    ),
}


@pytest.mark.parametrize("kind", powers.KINDS)
def test_exponents_are_within_their_bounds(compiled, kind):  # noqa: F811
    """z in binary64 for numbers of f32, within 132 units, and in double-double for any, within pow's bound: two roundings or one."""
    driver, out = ctypes.CDLL(str(compiled("power_driver.c"))), (ctypes.c_double * 2)()
    b64, dd, which = driver.rm_test_power_b64, driver.rm_test_power_dd, powers.KINDS.index(kind)
    b64.restype = ctypes.c_double
    f, parts = CASES[kind]
    rng, first, second = np.random.default_rng(5), mpmath.mpf(0), mpmath.mpf(0)
    limit = mpmath.mpf(float.fromhex("0x1.28p-78"))
    with mpmath.workprec(400):
        for low, high in parts:
            for x, n in zip(rng.uniform(low, high, 300).tolist(), rng.integers(1, 1 << 50, 300).tolist(), strict=True):
                value = f(mpmath.mpf(x), n)
                dd(which, ctypes.c_double(x), ctypes.c_int64(n), out)
                second = max(second, abs((mpmath.mpf(out[0]) + mpmath.mpf(out[1])) / value - 1) / limit)
                narrow = float(np.float32(x)) if 2.0**-120 < abs(x) < 2.0**120 else 1.5
                z = b64(which, ctypes.c_double(narrow), ctypes.c_int64(n))
                first = max(first, abs(z / f(mpmath.mpf(narrow), n) - 1) * 2**53 / 132)
    assert 2.0**-8 < first < 1 and 2.0**-8 < second < 1


BUILDS = {"dd": (), "mp-from-1-limb": ("-O0", "-DRM_CFG_CALLS", "-DRM_CFG_NO_DD", "-DRM_CFG_MP_FIRST=1")}


@pytest.mark.parametrize("build", BUILDS)
def test_accurate_phase(compiled, build):  # noqa: F811
    """Of any arguments, in each of its evaluations."""
    driver = ctypes.CDLL(str(compiled("power_driver.c", *BUILDS[build])))
    f = driver.rm_test_power_accurate
    f.restype = ctypes.c_uint64
    for which, kind in enumerate(powers.KINDS):
        for fmt in FORMATS:
            x, n = (
                np.concatenate(p)
                for p in zip(powers.samples(kind, fmt, 240, 3), beside(kind, fmt, np.random.default_rng(6), 60), strict=True)
            )
            for a, b in zip(x.tolist(), n.tolist(), strict=True):
                for mode, rule in enumerate(oracle.RULES):
                    got = f(which, FORMATS.index(fmt), mode, ctypes.c_double(a), ctypes.c_int64(b))
                    assert got == powers.expected(kind, a, b, fmt, rule)[0], (kind, fmt, rule, a.hex(), b)


def fast(driver, kind, fmt, x, n):
    out = np.empty_like(x)
    pointers = [v.ctypes.data_as(ctypes.c_void_p) for v in (x, n, out)]
    driver.rm_test_power_fast(powers.KINDS.index(kind), FORMATS.index(fmt), ctypes.c_int64(x.size), *pointers)
    return out


def test_bounds_are_needed(compiled):  # noqa: F811
    """A control: of numbers that the fast phase leaves undecided, a far smaller bound takes some for decided that are wrong."""
    driver, small = (
        ctypes.CDLL(str(compiled("power_driver.c", *more)))
        for more in ((), ("-DRM_CFG_CALLS", "-DRM_CFG_BOUND_SHRINK=0x1p-20"))
    )
    rng = np.random.default_rng(12)
    for fmt, count, largest in (("f32", 1 << 22, 80.0), ("f64", 1 << 19, 700.0)):
        wrong = 0
        for kind in ("pown", "compound"):
            n = rng.integers(2, 60, count)
            x = powers._numbers(np.exp(rng.uniform(largest / 2, largest, count) / n) - (kind == "compound"), fmt)
            open_ = np.isnan(fast(driver, kind, fmt, x, n))
            assert 0 < 5000 * open_.sum() < count  # the rest is decided, and compared with the oracle above
            x, n = x[open_], n[open_]
            taken = fast(small, kind, fmt, x, n)
            known = ~np.isnan(taken)
            stored = taken[known] if fmt == "f64" else taken[known].astype(np.float32).astype(np.float64)
            wrong += int((oracle.to_bits(stored, fmt) != powers.values(kind, x[known], n[known], fmt)[0]).sum())
        assert wrong > 0


def test_oracle_has_no_share_in_the_library():
    """The oracle itself, of powers that are rationals, in fractions."""
    rng = np.random.default_rng(9)
    for fmt in FORMATS:
        for _ in range(200):
            x, n = float(powers._numbers(rng.uniform(0.5, 2, 1), fmt)[0]), int(rng.integers(-6, 7))
            for kind in ("pown", "compound"):
                exact = (Fraction(x) + (kind == "compound")) ** n
                with mpmath.workprec(500):
                    value = mpmath.mpf(exact.numerator) / exact.denominator
                tie = gmpy2.is_power(exact.denominator) or exact.denominator == 1
                if not tie:
                    assert powers.expected(kind, x, n, fmt)[0] == oracle.rounded(value, fmt)
    assert math.isnan(oracle.to_double(np.array([powers.expected("rootn", 2.0, 0, "f64")[0]]), "f64")[0])
