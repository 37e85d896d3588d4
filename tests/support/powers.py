"""Powers with an integer from MPFR (through gmpy2), and the C functions of repmath/powers.h by ctypes, as bits in and bits out.

MPFR cuts x^n, x^(1/n) and (1 + x)^n to 80 bits and says whether something was cut off, which is all that one rounding needs: no boundary of
rounding has more than 54. The rounding is done here in integers. Special values are a table of C23's annex F."""

from __future__ import annotations

import ctypes
import itertools
import math

import gmpy2
import numpy as np
import oracle
import tools_path

KINDS = tools_path.powers()
_CUT = gmpy2.context(precision=80, round=gmpy2.RoundToZero, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())
_WIDE = gmpy2.context(precision=2300, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())
_FINE = {
    rule: gmpy2.context(precision=400, round=rule, emax=gmpy2.get_emax_max(), emin=gmpy2.get_emin_min())
    for rule in (gmpy2.RoundDown, gmpy2.RoundUp)
}
_MAX = (1 << 63) - 1


def _round(negative: bool, m: int, e: int, more: bool, fmt: str, rule: str) -> tuple[int, int]:
    """The bits of (-1)^negative m 2^e, or a hair more, and the flag of overflow."""
    precision, emax, uint = oracle.FORMATS[fmt]
    m, e, place = 2 * m + more, e - 1, m.bit_length() + e
    if place > emax + 9 or place < -emax - precision - 9:  # as others beyond all numbers
        m, e = 3, emax + 9 if place > 0 else -emax - precision - 20
    top = m.bit_length() - 1
    shift = max(e + top, 1 - emax) - (precision - 1) - e  # the quantum is 2^shift units
    q, rest, half = (m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1)) if shift > 0 else (m << -shift, 0, 1)
    up = rest > half or (rest == half and q & 1) if rule == "nearest" else rest and rule == ("down" if negative else "up")
    q += bool(up)
    sign = (1 << (8 * uint.itemsize - 1)) if negative else 0
    if q.bit_length() - 1 + shift + e > emax:
        away = rule == "nearest" or rule == ("down" if negative else "up")
        infinity = (2 * emax + 1) << (precision - 1)
        return sign | (infinity if away else infinity - 1), oracle.OVERFLOW
    scale = shift + e + precision - 1
    return sign | (((scale + emax - 1) << (precision - 1)) + q), 0


def _cut(f, *arguments) -> tuple[int, int, bool]:
    """Integers m and e and whether f is more than m 2^e: it is positive. Beyond MPFR's numbers, a number that every format rounds alike."""
    with gmpy2.context(_CUT) as ctx:
        ctx.clear_flags()
        v = f(*arguments)
        more = bool(ctx.inexact)
        if ctx.overflow:
            return 1, 1 << 40, True
        if ctx.underflow:
            return 1, -(1 << 40), True
        m, e = v.as_mantissa_exp()
    return int(m), int(e), more


def _root(a: float, n: int) -> tuple[int, int, bool]:
    if 0 < n < 1 << 62:
        return _cut(gmpy2.rootn, gmpy2.mpfr(a), n)
    fraction, exponent = math.frexp(a)
    if fraction == 0.5 and (exponent - 1) % n == 0:  # a power of two
        return 1, (exponent - 1) // n, False
    ends = []  # log a and the quotient, outwards: the root is no number of few bits
    for rule in (gmpy2.RoundDown, gmpy2.RoundUp):
        with gmpy2.context(_FINE[rule]):
            logarithm = gmpy2.log(gmpy2.mpfr(a))
        with gmpy2.context(_FINE[rule]):
            ends.append(logarithm)
    low, high = (ends[0], ends[1]) if n > 0 else (ends[1], ends[0])
    found = []
    for rule, end in ((gmpy2.RoundDown, low), (gmpy2.RoundUp, high)):
        with gmpy2.context(_FINE[rule]):
            found.append(gmpy2.exp(end / gmpy2.mpfr(gmpy2.mpz(n), 70)))
    with gmpy2.context(_CUT):
        first, second = (+v for v in found)
        assert first == second
        m, e = first.as_mantissa_exp()
    return int(m), int(e), True


def expected(kind: str, x: float, n: int, fmt: str, rule: str = "nearest") -> tuple[int, int]:
    """The bits of the result and its flags; x is a number of the format and no signalling NaN."""
    precision, emax, uint = oracle.FORMATS[fmt]
    infinity, nan, one = (2 * emax + 1) << (precision - 1), oracle.nan_bits(fmt), emax << (precision - 1)
    minus = (1 << (8 * uint.itemsize - 1)) if math.copysign(1.0, x) < 0 else 0
    odd_minus = minus if n % 2 else 0
    if kind == "compound":
        if x < -1:
            return nan, oracle.INVALID
        if n == 0 or x == 0:
            return one, 0
        if math.isnan(x):
            return nan, 0
        if x == -1:
            return (infinity, oracle.DIVBYZERO) if n < 0 else (0, 0)
        if math.isinf(x):
            return (infinity if n > 0 else 0), 0
        with gmpy2.context(_WIDE):
            base = 1 + gmpy2.mpfr(x)
        return _round(False, *_cut(lambda: base ** gmpy2.mpfr(gmpy2.mpz(n), 70)), fmt, rule)
    if n == 0:
        return (one, 0) if kind == "pown" else (nan, oracle.INVALID)
    if math.isnan(x):
        return nan, 0
    if kind == "rootn" and x < 0 and n % 2 == 0:
        return nan, oracle.INVALID
    if x == 0 or math.isinf(x):
        if (x == 0) == (n > 0):
            return odd_minus, 0
        return infinity | odd_minus, oracle.DIVBYZERO if x == 0 else 0
    if abs(x) == 1:
        return one | odd_minus, 0
    if kind == "rootn":
        return _round(bool(odd_minus), *_root(abs(x), n), fmt, rule)
    return _round(bool(odd_minus), *_cut(lambda: gmpy2.mpfr(abs(x)) ** gmpy2.mpfr(gmpy2.mpz(n), 70)), fmt, rule)


def values(kind: str, x, n, fmt: str, rule: str = "nearest") -> tuple[np.ndarray, int]:
    """The bits of all results, and the flags of all together."""
    rows = [expected(kind, float(a), int(b), fmt, rule) for a, b in zip(x, n, strict=True)]
    flags = 0
    for row in rows:
        flags |= row[1]
    return np.array([row[0] for row in rows], dtype=np.uint64).astype(oracle.FORMATS[fmt][2]), flags


def call(library, kind: str, bits: np.ndarray, n: np.ndarray, fmt: str, rule: str | None = None) -> np.ndarray:
    """rm_v<kind>_<fmt> of contiguous arrays."""
    bits, n = np.ascontiguousarray(bits, dtype=oracle.FORMATS[fmt][2]), np.ascontiguousarray(n, dtype=np.int64)
    out = np.empty_like(bits)
    f = getattr(library.library, f"rm_v{kind}_{fmt}" if rule is None else f"rm_v{kind}_rounded_{fmt}")
    size = ctypes.c_ssize_t(bits.itemsize)
    more = [] if rule is None else [ctypes.c_int(list(oracle.RULES).index(rule))]
    pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (bits, n, out)]
    status = f(ctypes.c_int64(bits.size), pointers[0], size, pointers[1], ctypes.c_ssize_t(8), pointers[2], size, *more)
    assert status == 0
    return out


def _numbers(values: np.ndarray, fmt: str) -> np.ndarray:
    """Numbers of the format near these values."""
    with np.errstate(all="ignore"):
        if fmt == "f64":
            return np.asarray(values, dtype=np.float64)
        bits = np.asarray(values, dtype=np.float32)
        if fmt == "f16":
            return bits.astype(np.float16).astype(np.float64)
        return (bits if fmt == "f32" else (bits.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)).astype(np.float64)


def specials(fmt: str) -> tuple[np.ndarray, np.ndarray]:
    """Every combination of special numbers and integers."""
    x = oracle.special_tuples(fmt, 1)[0]
    precision = oracle.FORMATS[fmt][0]
    more = [1 - 2.0**-precision, -(1 - 2.0**-precision), 9.0, -8.0, 0.125, -0.5, -0.25, 81.0, 2.0**-10, -(2.0**-10), -2.0]
    n = [0, 1, 2, 3, 4, 5, 7, 8, 10, 33, 34, 64, 1023, 1 << 24, (1 << 24) + 1, (1 << 51) - 1, 1 << 51, (1 << 53) - 1, 1 << 53]
    n += [(1 << 53) + 1, (1 << 53) + 2, (1 << 62) - 1, _MAX - 1, _MAX]
    n += [-v for v in n] + [-(1 << 63)]
    pairs = list(itertools.product([*x.tolist(), *more], n))
    return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs], dtype=np.int64)


def samples(kind: str, fmt: str, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs: small integers and any number, and pairs whose result is in range."""
    precision, emax, _ = oracle.FORMATS[fmt]
    rng = np.random.default_rng(seed)
    x, n = oracle.random_values(fmt, count, seed), rng.integers(-12, 13, count)
    third = count // 3
    # z = n log a spread over the range of results: a near 1 for great n.
    n[:third] = np.sign(rng.uniform(-1, 1, third)) * np.exp2(rng.uniform(0, precision + 6, third)).astype(np.int64)
    z = rng.uniform(-1.1, 1.1, third) * (emax + 2) * math.log(2)
    if kind == "rootn":
        n[:third] = np.sign(rng.uniform(-1, 1, third)) * np.exp2(rng.uniform(0, 20, third)).astype(np.int64)
        x[:third] = np.abs(x[:third])
    else:
        x[:third] = _numbers(np.expm1(np.clip(z / n[:third], -700, 700)) + (kind == "pown"), fmt)
    # Powers of numbers of few digits: exact results and ties.
    few = rng.integers(0, 1 << max(precision // 2 + 2, 4), third) / 2.0 ** rng.integers(0, 8, third)
    x[third : 2 * third] = _numbers(few - (kind == "compound"), fmt)
    n[third : 2 * third] = rng.integers(-3, 6, third)
    if kind == "rootn":
        x[third : 2 * third] = _numbers(few ** np.maximum(n[third : 2 * third], 1), fmt)
    return x, n.astype(np.int64)
