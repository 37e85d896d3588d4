"""Products of many factors (rm_products) beside boundaries of rounding, for controls: what the call leaves undecided is as exact numbers say, so that
results do not depend on the instruction set."""

from __future__ import annotations

import ctypes
import functools
import math
from fractions import Fraction

import numpy as np
from exact_oracle import CANONICAL_NAN, FORMATS, round_rational

NAMES = list(FORMATS)
FACTORS, ROWS = 130, 400


def product_bits(factors, fmt: str) -> int:
    """The bits of the product of numbers."""
    _, _, fraction, _, infinity, shift = FORMATS[fmt]
    special = [v for v in factors if v == 0 or not np.isfinite(v)]
    sign = sum(bool(np.signbit(v)) for v in factors) % 2 << shift
    if special:
        with np.errstate(all="ignore"):
            value = np.prod(special)
        return CANONICAL_NAN[fmt] if np.isnan(value) else sign | (infinity << fraction if value else 0)
    pairs = [float(v).as_integer_ratio() for v in factors]
    exact = Fraction(math.prod(n for n, _ in pairs), math.prod(d for _, d in pairs))
    return round_rational(exact, fmt) or sign


def call(lib, x: np.ndarray, fmt: str, fmt_out: str, partial: bool):
    """The bits of the products of rows, and where they are undecided."""
    rows, n = x.shape
    out = np.zeros((rows, n if partial else 1), FORMATS[fmt_out][0])
    undecided = np.full(out.shape, 7, np.uint8)
    f = lib.rm_products
    f.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int, ctypes.c_int]
    f.argtypes += [ctypes.c_void_p, ctypes.c_void_p]
    x = np.ascontiguousarray(x)
    status = f(
        NAMES.index(fmt), rows, n, x.ctypes.data, partial, NAMES.index(fmt_out), out.ctypes.data, undecided.ctypes.data
    )
    assert status == 0
    return out.view(FORMATS[fmt_out][1]), undecided


def completed(lib, x, fmt, fmt_out, partial):
    made, undecided = call(lib, x, fmt, fmt_out, partial)
    for i, j in np.argwhere(undecided):
        made[i, j] = product_bits((x[i, : j + 1] if partial else x[i]).astype(float).tolist(), fmt_out)
    return made.ravel().tolist()


def beside_midpoints(rng, rows: int):
    """Rows whose products are off from a midpoint by 2^-39 to 2^-52 of what is between two numbers."""
    from bound_data import beside_half

    found: list[np.ndarray] = []
    while len(found) < rows:
        row = [int(v) | 1 for v in rng.integers(2**52, 2**53, FACTORS - 1)]
        others = math.prod(row)
        bits = others.bit_length()
        last = beside_half(rng, Fraction(others, 1 << bits - 1), 2**52, -38, 15)
        if last is None or (others * last).bit_length() != bits + 52:  # another number of bits has another midpoint
            continue
        exponents = np.full(FACTORS, -52)
        exponent = int(rng.choice([0, 1023, -1022]))  # of the product
        exponents[0] += (exponent - (bits + 51 - 52 * FACTORS)) // 2
        exponents[-1] += exponent - (bits + 51 + int(exponents.sum()))
        found.append(np.ldexp(np.array([*row, last], float), exponents))
    return np.array(found)


@functools.cache
def _midpoint_rows():
    """Such rows, and the bits of their products: the same for every library."""
    rows = beside_midpoints(np.random.default_rng(0), ROWS)
    return rows, np.array([product_bits(row, "f64") for row in rows.tolist()], np.uint64)


def many_factors(lib, rng):
    rows, want = _midpoint_rows()
    found = []
    for partial in (False, True):  # row by row, and in lanes; of the partial products only the last are beside midpoints
        made, undecided = call(lib, rows, "f64", "f64", partial)
        found += np.where(undecided[:, -1] == 1, want, made[:, -1]).tolist()
    return found


def rows_of_factors(rng, fmt: str) -> list[np.ndarray]:
    """Ties, subnormal factors and results, the ends of the range, zeros, infinities and NaN."""
    kind, _, fraction, least, _, _ = FORMATS[fmt]
    found, most, n = [], -least - fraction, 5  # the largest exponent is most
    signs = rng.choice([-1.0, 1.0], (24, n))
    odd = rng.integers(0, 2 ** (fraction // 2), (24, 1)) * 2.0 + 1
    last = 2.0**-fraction
    powers = 2.0 ** rng.integers(-1, 2, (24, n))
    half = powers.copy()  # an odd number of halves of the least number, and as far as 2^-3 from it
    half[:, :1], half[:, 1:] = np.ldexp(odd, least // 2), np.ldexp(1.0, [least - least // 2, -1, 0, 0])
    found += [
        half,
        half * [1, 1, 1, 1 + last, 1],
        half * [1, 1, 1, 1 - last / 2, 1],
        half * [1, 1, 1 + last, 1, 1 - last / 2],
    ]
    found += [half * [1, 1, 1, 1 + 2.0**-30, 1 - 2.0**-30], half * [1, 1, 1, 1 + last, 1 - last]]
    found += [half * [1, 1, 0.5, 1, 1], half * [1, 1, 0.25, 1 - last / 2, 1]]
    ends = np.tile([2 - last, 1.0, 1.0, 1.0, 1.0], (24, 1))
    ends[:, 0], ends[:, 1] = np.ldexp(2 - last, most // 2), np.ldexp(1.0, most - most // 2)
    found += [
        ends,
        ends * [1, 1, 1 + last, 1, 1],
        ends * [1, 1, 1 + last, 1 - last / 2, 1],
        ends * [1, 1, 2, 0.5, 1 - last / 2],
    ]
    found += [ends * [1, 1, 1 + last, 1 - last, 1 + last], 1 / ends, 1 / ends * [1, 0.5, 1 + last, 1, 1]]
    normal = np.tile(
        np.ldexp(1.0, [(1 - most) // 2, 1 - most - (1 - most) // 2, 0, 0, 0]), (24, 1)
    )  # the least normal number
    found += [
        normal,
        normal * [1, 1, 1 - last / 2, 1, 1],
        normal * [1, 1, 1 - last, 1 + last, 1],
        normal * [1, 1, 1 - last / 2, 1 + last, 1],
    ]
    found += [rng.choice([3.0, 5.0, 7.0, 11.0, 1.0, 2.0, 13.0], (24, n)), 1 + last * rng.integers(-3, 4, (24, n))]
    found += [np.where(rng.random((24, n)) < 0.3, rng.choice([0.0, -0.0, np.inf, np.nan], (24, n)), powers)]
    found += [np.where(rng.random((24, n)) < 0.3, np.ldexp(odd, least), np.ldexp(1.0, most // 4))]
    found += [np.ldexp(1.0, rng.integers(least, most, (24, n)))]
    with np.errstate(all="ignore"):
        return [(v * signs).astype(kind) for v in found]


@functools.cache
def _long_rows():
    """Of binary32, whose products are nearest to a midpoint among many last factors, and 0, infinities and NaN among factors; their bits."""
    rng, rows = np.random.default_rng(1), []
    for _ in range(16):
        row = rng.uniform(0.9, 1.11, 3000).astype("f4")
        near = (np.float32(0.75).view("u4") + np.arange(1 << 22, dtype="u4")).view("f4").astype("f8")
        start = math.prod(Fraction(float(v)) for v in row[:-1])
        hi = float(start)
        made = hi * near + float(start - Fraction(hi)) * near
        quantum = np.exp2(np.floor(np.log2(made)) - 23)
        row[-1] = near[np.argmin(np.abs(np.mod(made / quantum, 1) - 0.5))]
        rows.append(row)
    return np.array(rows), np.array([product_bits(row, "f32") for row in np.array(rows, float).tolist()], np.uint32)


def long_products(lib, rng):
    rows, want = _long_rows()
    made, undecided = call(lib, rows, "f32", "f32", False)
    return np.where(undecided[:, -1] == 1, want, made[:, -1])


def few_factors(lib, rng):
    """All pairs of formats, in lanes and row by row; long rows with what is special in one place, too."""
    found = []
    for fmt in NAMES:
        for x in rows_of_factors(rng, fmt):
            for fmt_out in NAMES if fmt == "f32" else (fmt,):
                found += completed(lib, x, fmt, fmt_out, True) + completed(lib, x, fmt, fmt_out, False)
                found += completed(lib, x[:1], fmt, fmt_out, False)
        long = rng.choice([-1.0, 1.0, -3.0, 0.25], (14, 5000)).astype(FORMATS[fmt][0])
        for k, v in enumerate((0.0, -0.0, np.inf, np.nan, 3.0, 2.0**-30)):
            long[2 * k, 300 + k] = long[2 * k + 1, k] = v
        long[12, [300, 3000]], long[13, [300, 3000]] = (np.inf, 0.0), (0.0, -np.inf)
        found += completed(lib, long, fmt, fmt, False)
    return found
