"""The definitions of specification section 6 in Python integers and NumPy, sharing nothing with the library."""

import functools
from fractions import Fraction

import definitions
import gmpy2
import numpy as np
from exact_oracle import UNIT, round_units

# Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011
MULTIPLIERS, WEYL = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
PRECISION = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}

# Known answers published with the paper's code, Random123 (tests/kat_vectors, philox4x32 10): counter, key, result
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def philox(counter, key):
    """Ten rounds on a counter of four words; each word an integer or an array of uint64."""
    a, b, c, d = (np.asarray(w, np.uint64) for w in counter)
    low = np.uint64(0xFFFFFFFF)
    for r in range(10):
        k0, k1 = (np.uint64((k + r * w) % 2**32) for k, w in zip(key, WEYL, strict=True))
        p, q = a * np.uint64(MULTIPLIERS[0]), c * np.uint64(MULTIPLIERS[1])
        a, b, c, d = (q >> np.uint64(32)) ^ b ^ k0, q & low, (p >> np.uint64(32)) ^ d ^ k1, p & low
    return a, b, c, d


def blocks(seed, stream, counters):
    """An array of four words for each counter of 64 bits."""
    at = np.asarray(counters, np.uint64)
    counter = at & np.uint64(0xFFFFFFFF), at >> np.uint64(32), stream % 2**32, stream >> 32
    return np.stack(np.broadcast_arrays(*philox(counter, (seed % 2**32, seed >> 32))), axis=-1)


def words(seed, stream, first, n):
    start = first // 4
    at = np.arange(start, start + (n + 7) // 4 + 1, dtype=np.uint64)
    return blocks(seed, stream, at).reshape(-1)[first - 4 * start :][:n].astype(np.uint32)


def draws(seed, stream, first, n):
    start = first // 2
    at = np.arange(start, start + (n + 3) // 2 + 1, dtype=np.uint64)
    w = blocks(seed, stream, at).reshape(-1, 2)
    return (w[:, 0] | w[:, 1] << np.uint64(32))[first - 2 * start :][:n]


def more_bits(seed, stream, i):
    """The 128 bits that follow draw i, as an integer."""
    w = [int(v) for v in blocks(seed, stream, 2**63 + i)]
    return (w[0] | w[1] << 32) << 64 | w[2] | w[3] << 32


def rounded(value, fmt):
    """The bits of a Fraction rounded to nearest. What lies below the units of the oracle is told by its being there."""
    if value == 0:
        return 0
    units, rest = divmod(abs(value.numerator) << UNIT, value.denominator)
    return round_units((units | (rest != 0)) * (-1 if value < 0 else 1), fmt)


def unit(fmt, seed, stream, first, n):
    """The integers m and the precision p of u = m 2^-p."""
    p = PRECISION[fmt]
    if fmt == "f64":
        return draws(seed, stream, first, n) >> np.uint64(11), p
    return words(seed, stream, first, n).astype(np.uint64) >> np.uint64(32 - p), p


@functools.cache
def uniform(fmt, seed, stream, first, n, low, high):
    """The bits of the results."""
    m, p = unit(fmt, seed, stream, first, n)
    low, high = Fraction(low), Fraction(high)
    return [rounded(low + Fraction(int(k), 2**p) * (high - low), fmt) for k in m]


@functools.cache
def bernoulli(seed, stream, first, n, p):
    m, _ = unit("f64", seed, stream, first, n)
    limit = Fraction(p) * 2**53
    return np.array([int(k) < limit for k in m], np.uint8)


@functools.cache
def integers(seed, stream, first, n, low, last):
    out = []
    more = blocks(seed, stream, [2**63 + first + i for i in range(n)]).astype(object)
    for d, (a, b, c, e) in zip(draws(seed, stream, first, n), more, strict=True):
        u = int(d) << 128 | (a | b << 32) << 64 | c | e << 32
        out.append(low + ((last - low + 1) * int(u) >> 192))
    return np.array(out, np.int64)


@functools.cache
def permutation(seed, stream, first, n, bits=64):
    d = draws(seed, stream, first, n) & np.uint64(2**64 - 2 ** (64 - bits))
    if len(set(d.tolist())) == n:
        return np.argsort(d, kind="stable")
    return np.array(sorted(range(n), key=lambda i: (int(d[i]), more_bits(seed, stream, first + i), i)), np.int64)


@functools.cache
def quantile(draw):
    """Phi^-1((draw + 1/2) 2^-64), to about 190 bits."""
    tail = 2 * min(draw, 2**64 - 1 - draw) + 1
    with definitions.wide():
        v = gmpy2.mpfr(tail) / 2**64
        z = gmpy2.sqrt(gmpy2.mpfr(2)) * definitions.erfinv_of(1 - v, v, definitions.FIRST)
        return Fraction(*map(int, z.as_integer_ratio())) * (1 if draw >> 63 else -1)


@functools.cache
def normal(fmt, seed, stream, first, n, mean, std):
    """The bits of the results. A result beside zero has the sign of the exact number."""
    mean, std = Fraction(mean), Fraction(std)
    return [rounded(mean + std * quantile(int(d)), fmt) for d in draws(seed, stream, first, n)]


@functools.cache
def truncated_values(seed, stream, first, n, mean, std, low, high):
    """The real numbers, from the tails on both sides, to about 190 bits."""
    out = []
    with definitions.wide(400):
        root = gmpy2.sqrt(gmpy2.mpfr(2))
        m, s = (gmpy2.mpfr(v) for v in (mean, std))
        a, b = ((gmpy2.mpfr(v) - m) / s / root for v in (low, high))
        for d in draws(seed, stream, first, n).tolist():
            u = (2 * gmpy2.mpz(d) + 1) * gmpy2.mpfr(2) ** -65
            below = (1 - u) * gmpy2.erfc(-a) + u * gmpy2.erfc(-b)
            above = (1 - u) * gmpy2.erfc(a) + u * gmpy2.erfc(b)
            z = root * definitions.erfinv_of(abs(below - above) / 2, min(below, above), definitions.FIRST)
            z = Fraction(*map(int, z.as_integer_ratio())) * (-1 if below < above else 1)
            out.append(Fraction(mean) + Fraction(std) * z)
    return out


def truncated(fmt, *arguments):
    """The bits of the results."""
    return [rounded(v, fmt) for v in truncated_values(*arguments)]
