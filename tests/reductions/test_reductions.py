"""The C reductions against exact integers: sum, dot, matmul and the accumulator, bit by bit."""

import ctypes
import hashlib
import itertools
import math
import os
import pathlib
import subprocess
import sys

import exact_oracle
import native
import numpy as np
import pytest
import reduction_data as data
from exact_oracle import CANONICAL_NAN, FORMATS, bits_of, exact_bits, round_units, to_units
from real_oracle import kept
from reductions_library import (
    COL_MAJOR,
    CONJ_TRANS,
    ENUM,
    FE_INVALID,
    FE_OVERFLOW,
    LD,
    NO_TRANS,
    NULL,
    OK,
    OVERLAP,
    ROW_MAJOR,
    SIZE,
    TRANS,
    TYPES,
    Accumulator,
    Reductions,
    status,
)

matmul_bits = kept(exact_oracle.matmul_bits)
FMT = pytest.mark.parametrize("fmt", ["f32", "f64"])
KINDS = pytest.mark.parametrize("kind", list(data.PAIRS))


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def unsigned(x, fmt):
    return np.ascontiguousarray(x).view(FORMATS[fmt][1])


def check(lib, fmt, a, b, bias=None):
    got = unsigned(lib.matmul(fmt, a, b, bias), fmt)
    want = matmul_bits(a, b, fmt, bias)
    wrong = np.argwhere(got != want)
    assert not len(wrong), (
        f"{len(wrong)} of {want.size}, first {wrong[0]}: {got[tuple(wrong[0])]:x} {want[tuple(wrong[0])]:x}"
    )


def operands(rng, kind, fmt, m, n, k):
    make_a, make_b = data.PAIRS[kind]
    return make_a(rng, TYPES[fmt], m, k), make_b(rng, TYPES[fmt], k, n)


# ------------------------------------------------------------------------------------------------------------------ matmul


@pytest.mark.sample(3)
@FMT
@KINDS
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (7, 5, 3), (8, 24, 8), (13, 29, 40), (33, 50, 300), (1, 50, 300), (1, 257, 300)], ids=str
)
def test_matmul(lib, rng, fmt, kind, shape):
    m, n, k = shape
    a, b = operands(rng, kind, fmt, m, n, k)
    check(lib, fmt, a, b)
    bias = data.PAIRS[kind][1](rng, TYPES[fmt], 1, n)[0]
    check(lib, fmt, a, b, bias)
    check(lib, fmt, a, b, (bias * TYPES[fmt](2.0**-30)).astype(TYPES[fmt]))


@FMT
@pytest.mark.parametrize("shape", list(itertools.product([1, 2, 9], [1, 3, 8, 23, 25, 49], [1, 2, 17, 129])), ids=str)
def test_matmul_shapes(lib, rng, fmt, shape):
    a, b = operands(rng, "mixed", fmt, *shape)
    check(lib, fmt, a, b)


@FMT
def test_matmul_long(lib, rng, fmt):
    a, b = operands(rng, "gaussian", fmt, 3, 4, 100_000)
    check(lib, fmt, a, b)
    check(lib, fmt, a[:1], b)
    check(lib, fmt, a, np.ascontiguousarray(b[:, :1]))


@FMT
def test_matmul_many_blocks(lib, rng, fmt):
    """More than one block of C; a sample of the elements is compared."""
    a, b = operands(rng, "gaussian", fmt, 600, 700, 150)
    c = lib.matmul(fmt, a, b)
    rows, cols = rng.integers(0, 600, 40), rng.integers(0, 700, 40)
    want = matmul_bits(a[rows], b[:, cols], fmt)
    assert np.array_equal(unsigned(c[np.ix_(rows, cols)], fmt), want)


def test_matmul_helped(lib, rng):
    """Three blocks on two threads: whoever has none left takes panels of the last one. Bits and counts are those of one thread, and a
    sample is compared. Terms that cancel widen the bounds, so that some elements of every panel stay open."""
    m, n, k = 60, 300, 500
    a, b = rng.standard_normal((3, m, k)).astype("f4"), rng.standard_normal((3, k, n)).astype("f4")
    a[:, :, :2], b[:, 0], b[:, 1] = 2.0**12, 1.0, -1.0
    results = []
    for threads in (1, *[2] * 8):
        lib.threads(threads)
        c = np.full((3, m, n), 7, "f4")
        lib.stats()
        assert lib.batched("f32", a, b, c) == OK
        results.append((c.tobytes(), lib.stats()))
    lib.threads(1)
    assert set(results) == {results[0]}
    assert sum(results[0][1]) == c.size
    assert results[0][1][1] > 500
    rows, cols = rng.integers(0, m, 12), rng.integers(0, n, 12)
    for one in range(3):
        want = matmul_bits(a[one][rows], b[one][:, cols], "f32")
        assert np.array_equal(unsigned(c[one][np.ix_(rows, cols)], "f32"), want)


@KINDS
@pytest.mark.parametrize("k", [40, 300])
def test_matmul_blocks_full_of_open_elements(lib, rng, kind, k):
    """Blocks of f32 beyond the size from which the double-double engine takes over where the plain one decides too little."""
    a, b = operands(rng, kind, "f32", 67, 70, k)
    lib.stats()
    check(lib, "f32", a, b, (data.gaussian(rng, np.float32, 1, 70)[0] * 2.0**-60).astype(np.float32))
    check(lib, "f32", a, b)
    fast, double_double, accumulator = lib.stats()
    assert fast + double_double + accumulator == 2 * 67 * 70
    assert kind != "cancelling" or double_double > 67 * 70


@FMT
@pytest.mark.parametrize("kind", ["gaussian", "cancelling", "spread"])
def test_matmul_permuted_terms(lib, rng, fmt, kind):
    a, b = operands(rng, kind, fmt, 20, 30, 400)
    order = rng.permutation(400)
    one, two = lib.matmul(fmt, a, b), lib.matmul(fmt, np.ascontiguousarray(a[:, order]), np.ascontiguousarray(b[order]))
    assert np.array_equal(unsigned(one, fmt), unsigned(two, fmt))


def shifted(x, by):
    """A copy of x that starts `by` bytes after an aligned address."""
    raw = np.zeros(x.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64 + by
    view = raw[start : start + x.nbytes].view(x.dtype).reshape(x.shape) if by % x.itemsize == 0 else None
    if view is None:
        view = np.ndarray(x.shape, x.dtype, buffer=raw, offset=start)
    view[...] = x
    return view


LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: np.asfortranarray(x),
    "every other": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "reversed columns": lambda x: np.asfortranarray(x[:, ::-1])[:, ::-1],
    "misaligned": lambda x: shifted(x, 1),
    "odd address": lambda x: shifted(x, 12),
}


@FMT
@pytest.mark.parametrize("shape", [(11, 27, 35), (24, 48, 64), (1, 53, 141), (53, 1, 141)], ids=str)
def test_matmul_views(lib, rng, fmt, shape):
    m, n, k = shape
    a, b = operands(rng, "gaussian", fmt, m, n, k)
    bias = rng.standard_normal(n).astype(TYPES[fmt])
    want = matmul_bits(a, b, fmt, bias)
    for la, lb, lc in itertools.product(LAYOUTS, LAYOUTS, ["plain", "transposed", "reversed", "misaligned", "every other"]):
        c = LAYOUTS[lc](np.full((m, n), 7, TYPES[fmt]))
        assert lib.strided(fmt, LAYOUTS[la](a), LAYOUTS[lb](b), c, np.repeat(bias, 2)[::2]) == OK
        assert np.array_equal(unsigned(c, fmt), want), (la, lb, lc)


@FMT
def test_matmul_broadcast(lib, rng, fmt):
    a = np.broadcast_to(rng.standard_normal((1, 20)).astype(TYPES[fmt]), (9, 20))
    b = np.broadcast_to(rng.standard_normal((20, 1)).astype(TYPES[fmt]), (20, 30))
    check(lib, fmt, a, b)
    check(lib, fmt, np.broadcast_to(TYPES[fmt](1.1), (9, 20)), b)


@FMT
def test_matmul_leaves_the_rest_of_c(lib, rng, fmt):
    whole = np.full((20, 40), 3, TYPES[fmt])
    a, b = operands(rng, "gaussian", fmt, 10, 12, 9)
    assert lib.strided(fmt, a, b, whole[5:15, 7:19]) == OK
    assert np.array_equal(unsigned(whole[5:15, 7:19], fmt), matmul_bits(a, b, fmt))
    whole[5:15, 7:19] = 3
    assert (whole == 3).all()


@FMT
@pytest.mark.parametrize("layout", [ROW_MAJOR, COL_MAJOR])
@pytest.mark.parametrize("ta", [NO_TRANS, TRANS, CONJ_TRANS])
@pytest.mark.parametrize("tb", [NO_TRANS, TRANS])
def test_matmul_dense(lib, rng, fmt, layout, ta, tb):
    m, n, k = 13, 17, 19
    a, b = operands(rng, "gaussian", fmt, m, n, k)
    order = "C" if layout == ROW_MAJOR else "F"

    def stored(x, transposed):  # with two unused places at the end of each line
        x = x.T if transposed else x
        x = x if order == "C" else x.T
        out = np.zeros((x.shape[0], x.shape[1] + 2), x.dtype)
        out[:, :-2] = x
        return out

    sa, sb = stored(a, ta != NO_TRANS), stored(b, tb != NO_TRANS)
    sc = stored(np.zeros((m, n), TYPES[fmt]), False)
    assert lib.dense(fmt, layout, ta, tb, m, n, k, sa, sa.shape[1], sb, sb.shape[1], None, sc, sc.shape[1]) == OK
    c = sc[:, :-2] if order == "C" else sc[:, :-2].T
    assert np.array_equal(unsigned(c, fmt), matmul_bits(a, b, fmt))


@FMT
@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (0, 0, 0), (3, 5, 0)], ids=str)
def test_matmul_empty(lib, fmt, shape):
    m, n, k = shape
    a, b = np.zeros((m, k), TYPES[fmt]), np.zeros((k, n), TYPES[fmt])
    assert not unsigned(lib.matmul(fmt, a, b), fmt).any()
    bias = np.array([1.5, -0.0, 2.5, np.inf, -1e-40][:n] or [0], TYPES[fmt])
    c = lib.matmul(fmt, a, b, bias)
    assert np.array_equal(unsigned(c, fmt), unsigned(np.broadcast_to(bias[:n] + TYPES[fmt](0), (m, n)), fmt))


@FMT
def test_matmul_special(lib, rng, fmt):
    for n in (4, 30):
        a, b = (data.special(rng, TYPES[fmt], *shape) for shape in ((20, n), (n, 25)))
        for bias in (None, data.special(rng, TYPES[fmt], 1, 25)[0]):
            got = unsigned(lib.matmul(fmt, a, b, bias), fmt)
            for i, j in itertools.product(range(20), range(25)):
                terms = list(zip(a[i], b[:, j], strict=True)) + ([bias[j]] if bias is not None else [])
                assert int(got[i, j]) == exact_bits(terms, fmt), (i, j)


@FMT
def test_zero_is_positive(lib, fmt):
    t = TYPES[fmt]
    for a, b in (([[-0.0]], [[1.0]]), ([[1.0, -1.0]], [[2.0], [2.0]]), ([[0.0, 0.0]], [[-1.0], [-2.0]])):
        a, b = np.array(a, t), np.array(b, t)
        assert bits_of(lib.matmul(fmt, a, b)[0, 0], fmt) == 0
        assert bits_of(lib.matmul(fmt, a, b, np.array([-0.0], t))[0, 0], fmt) == 0
        assert bits_of(lib.dot(fmt, a[0], np.ascontiguousarray(b[:, 0])), fmt) == 0
    assert bits_of(lib.sum(fmt, np.array([-0.0, -0.0], t)), fmt) == 0
    least = np.array([[-np.finfo(t).smallest_subnormal]], t)  # but a sum that is not zero keeps its sign
    assert bits_of(lib.matmul(fmt, least, -least)[0, 0], fmt) == 1 << FORMATS[fmt][5]


# ---------------------------------------------------------------------------------------------------------------- sum, dot


@FMT
@KINDS
@pytest.mark.parametrize("n", [1, 2, 31, 1000, 5000])
def test_sum_and_dot(lib, rng, fmt, kind, n):
    x = data.PAIRS[kind][0](rng, TYPES[fmt], 1, n)[0]
    y = data.PAIRS[kind][1](rng, TYPES[fmt], n, 1)[:, 0]
    want_sum, want_dot = exact_bits(x, fmt), exact_bits(list(zip(x, y, strict=True)), fmt)
    if fmt == "f64" and abs(want_sum & ~(1 << 63)) < 0x7FF << 52:
        assert want_sum == bits_of(math.fsum(x) + 0.0, fmt)  # the oracle's oracle
    wide = np.zeros((n, 3), TYPES[fmt])
    wide[:, 1] = x
    reversed_y = y[::-1].copy()[::-1]
    for vx, vy in ((x, np.ascontiguousarray(y)), (wide[:, 1], reversed_y), (shifted(x, 1), y)):
        assert bits_of(lib.sum(fmt, vx), fmt) == want_sum
        assert bits_of(lib.dot(fmt, vx, vy), fmt) == want_dot
    order = rng.permutation(n)
    assert bits_of(lib.sum(fmt, x[order]), fmt) == want_sum


@FMT
def test_sum_empty_and_repeated(lib, fmt):
    t = TYPES[fmt]
    assert bits_of(lib.sum(fmt, np.empty(0, t)), fmt) == 0
    assert bits_of(lib.dot(fmt, np.empty(0, t), np.empty(0, t)), fmt) == 0
    tenth = np.broadcast_to(t(0.1), (1000,))
    assert bits_of(lib.sum(fmt, tenth), fmt) == exact_bits(tenth, fmt)


@FMT
def test_ties(lib, fmt):
    """Half-way between neighbours, and the least step to either side of it, with cancelling large terms."""
    t, fraction = TYPES[fmt], FORMATS[fmt][2]
    big = 2.0 ** (100 if fmt == "f32" else 900)
    for odd in (0, 1):
        base = 1.0 + odd * 2.0**-fraction
        half = 2.0 ** -(fraction + 1)
        for nudge in (0.0, 2.0**-120, -(2.0**-120)):
            x = np.array([big, base, half, nudge, -big], t)
            for order in itertools.permutations(range(5)):
                y = x[list(order)]
                want = exact_bits(x, fmt)
                assert bits_of(lib.sum(fmt, y), fmt) == want
                assert bits_of(lib.dot(fmt, y, np.ones(5, t)), fmt) == want
    x = np.array([np.finfo(t).max, np.finfo(t).max, -np.finfo(t).max], t)  # beyond the range and back
    assert bits_of(lib.sum(fmt, x), fmt) == bits_of(x[0], fmt)


@FMT
def test_sum_special(lib, rng, fmt):
    for n in (1, 2, 3, 5, 70):
        for _ in range(60):
            x, y = (data.special(rng, TYPES[fmt], 1, n)[0] for _ in range(2))
            assert bits_of(lib.sum(fmt, x), fmt) == exact_bits(x, fmt)
            assert bits_of(lib.dot(fmt, x, y), fmt) == exact_bits(list(zip(x, y, strict=True)), fmt)


@FMT
def test_random_bits(lib, rng, fmt):
    """Any bit patterns at all."""
    unsigned_type = FORMATS[fmt][1]
    for n in range(1, 60):
        x, y = (rng.integers(0, 2 ** (8 * np.dtype(unsigned_type).itemsize), n, unsigned_type).view(TYPES[fmt]) for _ in "xy")
        assert bits_of(lib.sum(fmt, x), fmt) == exact_bits(x, fmt)
        assert bits_of(lib.dot(fmt, x, y), fmt) == exact_bits(list(zip(x, y, strict=True)), fmt)


@FMT
@pytest.mark.parametrize("kind", ["gaussian", "integers", "cancelling"])
def test_large_sum_by_threads(lib, rng, fmt, kind):
    x = data.PAIRS[kind][0](rng, TYPES[fmt], 1, 1_200_001)[0]
    want = (
        bits_of(math.fsum(x) + 0.0, "f64")
        if fmt == "f64"
        else round_units(sum(map(to_units_f32, x[:-1])) + to_units(x[-1]), fmt)
    )
    for threads in (1, 2, 3):
        lib.threads(threads)
        assert bits_of(lib.sum(fmt, x), fmt) == want
    lib.threads(1)


def to_units_f32(x):
    return int(float(x) * 2.0**149) << (2148 - 149)


# ------------------------------------------------------------------------------------------------------------- accumulator


@FMT
def test_accumulator_splits(lib, rng, fmt):
    x = data.spread(rng, TYPES[fmt], 1, 500)[0]
    p, q = (data.spread(rng, np.float64, 1, 300)[0] for _ in range(2))
    terms = list(x) + list(zip(p, q, strict=True))
    for _ in range(10):
        cuts = np.sort(rng.integers(0, 501, 4))
        parts = [Accumulator(lib).add(fmt, piece) for piece in np.split(x, cuts)]
        parts.append(Accumulator(lib).add_products(p, q))
        total = Accumulator(lib)
        for i in rng.permutation(len(parts)):
            total.merge(parts[i])
        for out in ("f32", "f64"):
            assert bits_of(total.round(out), out) == exact_bits(terms, out)


def test_accumulator_ends_of_the_range(lib):
    largest, least = np.finfo(np.float64).max, np.finfo(np.float64).smallest_subnormal
    acc = Accumulator(lib).add_products(np.array([largest] * 3), np.array([largest] * 3))
    assert acc.round("f64") == np.inf
    acc.add_products(np.array([-largest] * 3), np.array([largest] * 3)).add_products(np.array([least]), np.array([-least]))
    assert bits_of(acc.round("f64"), "f64") == 1 << 63
    scale = Accumulator(lib).add_products(np.array([least]), np.array([least]))
    for _ in range(90):  # 2^90 times the least product, by doubling: 2^-2058
        scale.merge(scale)
    assert bits_of(scale.round("f64"), "f64") == round_units(1 << 90, "f64") == 0
    one = Accumulator(lib).add("f64", np.array([1.0]))
    for _ in range(62):
        one.merge(one)
    assert one.round("f64") == 2.0**62
    assert Accumulator(lib).add("f64", np.array([-1.0] * 3)).merge(Accumulator(lib).add("f64", np.ones(3))).round("f64") == 0


def test_accumulator_special(lib):
    inf, nan = np.inf, np.nan
    for values in ([inf], [-inf, 1], [inf, -inf], [nan], [inf, nan], [1, 2]):
        acc = Accumulator(lib)
        for v in values:
            acc.merge(Accumulator(lib).add("f64", np.array([v], float)))
        for fmt in ("f32", "f64"):
            assert bits_of(acc.round(fmt), fmt) == exact_bits(values, fmt)
    acc = Accumulator(lib).add_products(np.array([0.0]), np.array([inf]))
    assert bits_of(acc.round("f32"), "f32") == CANONICAL_NAN["f32"]


# ------------------------------------------------------------------------------------------------------------------- tiers


@FMT
def test_every_tier_is_taken(lib, rng, fmt):
    lib.threads(1)
    lib.stats()
    a, b = operands(rng, "gaussian", fmt, 100, 100, 100)
    lib.matmul(fmt, a, b)
    fast, double_double, accumulator = lib.stats()
    assert fast + double_double + accumulator == 10_000 and fast > 9_900
    integers = operands(rng, "integers", fmt, 100, 100, 1000)
    lib.matmul(fmt, *integers)
    assert lib.stats() == (10_000, 0, 0)  # certified exact: no tie and no zero is sent further
    kind = "cancelling" if fmt == "f32" else "outliers"
    a, b = operands(rng, kind, fmt, 40, 40, 60)
    if fmt == "f64":
        a[:, 0], b[0] = 2.0**60, 0.0
    lib.matmul(fmt, a, b)
    _, double_double, accumulator = lib.stats()
    assert double_double > 0
    lib.matmul(fmt, *operands(rng, "spread", fmt, 10, 10, 60))
    big = TYPES[fmt](2.0**60)
    tie = np.array([[big, 1.0, 2.0 ** -(FORMATS[fmt][2] + 1), 2.0**-110, big]], TYPES[fmt])
    ones = np.array([[1.0], [1.0], [1.0], [1.0], [-1.0]], TYPES[fmt])
    lib.stats()
    check(lib, fmt, tie, ones)
    assert lib.stats() == (0, 0, 1)
    x = rng.standard_normal(5000).astype(TYPES[fmt])
    lib.sum(fmt, x)
    assert lib.stats() == (1, 0, 0)
    lib.sum(fmt, np.append(tie[0] * ones[:, 0], x[:0]))
    assert lib.stats() == (0, 0, 1)
    if fmt == "f32":
        lib.sum(fmt, np.concatenate([x, -x, [TYPES[fmt](2.0**-60)]]).astype(TYPES[fmt]))
        assert lib.stats() == (0, 1, 0)


# ------------------------------------------------------------------------------------------------------------------- flags


@FMT
def test_flags(lib, fmt):
    t = TYPES[fmt]
    libm = ctypes.CDLL(None)
    inf, nan, big, one = t(np.inf), t(np.nan), np.finfo(t).max, t(1)
    signalling = np.array([0x7F800001 if fmt == "f32" else 0x7FF0000000000001], FORMATS[fmt][1]).view(t)

    def raised(call):
        libm.feclearexcept(61)
        call()
        return libm.fetestexcept(FE_INVALID | FE_OVERFLOW)

    def both(x, y):
        """Flags of the dot product and of every matmul path: alone, among others, and in a longer sum."""
        x, y = np.array(x, t), np.array(y, t)
        seen = {raised(lambda: lib.dot(fmt, x, y)), raised(lambda: lib.matmul(fmt, x[None], y[:, None]))}
        a, b = np.tile(x, (20, 1)), np.tile(y[:, None], (1, 30))
        seen.add(raised(lambda: lib.matmul(fmt, a, b)))
        pad = np.zeros((20, 40), t)
        seen.add(raised(lambda: lib.matmul(fmt, np.hstack([a, pad]), np.vstack([b, np.ones((40, 30), t)]))))
        assert len(seen) == 1, seen
        return seen.pop()

    assert both([inf, inf], [one, one]) == 0
    assert both([inf, -inf], [one, one]) == FE_INVALID
    assert both([inf, one], [t(0), one]) == FE_INVALID
    assert both([nan, one], [one, one]) == 0
    assert both([nan, inf], [one, t(0)]) == 0
    assert both([big, big], [one, one]) == FE_OVERFLOW
    assert both([big, big, big], [one, one, -one]) == 0
    assert both([big, inf], [big, one]) == 0
    assert both([big], [big]) == FE_OVERFLOW
    assert both([one, np.finfo(t).smallest_subnormal], [one, one]) == 0
    assert raised(lambda: lib.sum(fmt, np.array([signalling[0]]).view(t))) in (FE_INVALID, 0)  # NumPy may quiet a scalar
    assert raised(lambda: lib.sum(fmt, np.concatenate([signalling, signalling]))) == FE_INVALID
    column = np.ones((2, 1), t)
    assert raised(lambda: lib.matmul(fmt, np.concatenate([signalling, signalling])[None], column)) == FE_INVALID


# --------------------------------------------------------------------------------------------------------------- arguments


@FMT
def test_bad_arguments(lib, fmt):
    t = TYPES[fmt]
    a, b, c = np.ones((4, 4), t), np.ones((4, 4), t), np.full((4, 4), 5, t)
    good = [ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, a, 4, b, 4, None, c, 4]

    def dense(**changes):
        args = list(good)
        for position, value in changes.items():
            args[int(position[1:]) - 1] = value
        return lib.dense(fmt, *args)

    for position in (1, 2, 3):
        assert dense(**{f"p{position}": 100}) == status(ENUM, position)
    for position in (4, 5, 6):
        assert dense(**{f"p{position}": -1}) == status(SIZE, position)
    for position in (8, 10, 13):
        assert dense(**{f"p{position}": 3}) == status(LD, position)
        assert dense(p4=0, p5=0, p6=0, **{f"p{position}": 0}) == status(LD, position)
    for position in (7, 9, 12):
        assert dense(**{f"p{position}": None}) == status(NULL, position)
    assert dense(p7=None, p9=None, p6=0, p12=np.zeros((4, 4), t)) == OK
    assert dense(p4=0, p7=None, p9=None, p12=None) == OK
    assert dense(p12=a) == status(OVERLAP, 12)
    assert dense(p11=c[2]) == status(OVERLAP, 12)
    assert (c == 5).all() and (a == 1).all()

    def strided(c, a=a, b=b):
        return lib.strided(fmt, a, b, c)

    from numpy.lib.stride_tricks import as_strided

    size = t().itemsize
    base = np.full(100, 5, t)
    for strides in ((0, size), (size, 0), (size, size), (4 * size, size // 2), (2 * size, 3 * size)):
        assert strided(as_strided(base, (4, 4), strides)) == status(OVERLAP, 12), strides
    assert (base == 5).all()
    for strides in ((4 * size, size), (size, 4 * size), (5 * size, 4 * size), (4 * size, 5 * size)):
        assert strided(as_strided(base, (4, 4), strides)) == OK, strides
    whole = np.ones((4, 12), t)  # blocks of one matrix are apart
    assert strided(whole[:, 8:], whole[:, :4], whole[:, 4:8]) == OK
    assert strided(whole[:, 5:9], whole[:, :4], whole[:, 4:8]) == status(OVERLAP, 12)

    out = np.full(1, 5, t)
    size_t = ctypes.c_int64
    f, g = getattr(lib.c, f"rm_sum_{fmt}"), getattr(lib.c, f"rm_dot_{fmt}")
    px, po = ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(out.ctypes.data)
    assert f(size_t(-1), px, size_t(size), po) == status(SIZE, 1)
    assert f(size_t(1), None, size_t(size), po) == status(NULL, 2)
    assert f(size_t(1), px, size_t(size), None) == status(NULL, 4)
    assert g(size_t(-1), px, size_t(size), px, size_t(size), po) == status(SIZE, 1)
    assert g(size_t(1), px, size_t(size), None, size_t(size), po) == status(NULL, 4)
    assert g(size_t(1), None, size_t(size), px, size_t(size), po) == status(NULL, 2)
    assert g(size_t(1), px, size_t(size), px, size_t(size), None) == status(NULL, 6)
    assert out[0] == 5


# ---------------------------------------------------------------------------------- the same bits in every build and thread


def digest(path: str, threads: int) -> str:
    """SHA-256 over the results of a fixed set of problems."""
    lib, rng, h = Reductions(path), np.random.default_rng(5), hashlib.sha256()
    lib.threads(threads)
    for fmt, kind in itertools.product(TYPES, data.PAIRS):
        for m, n, k in ((5, 7, 9), (40, 90, 130), (120, 130, 300)):
            a, b = operands(rng, kind, fmt, m, n, k)
            h.update(unsigned(lib.matmul(fmt, a, b), fmt).tobytes())
            h.update(unsigned(lib.matmul(fmt, a.T.copy().T, b.T.copy().T, b[0]), fmt).tobytes())
            h.update(unsigned(lib.sum(fmt, a.ravel()), fmt).tobytes())
            h.update(unsigned(lib.dot(fmt, a.ravel(), np.resize(b.ravel(), a.size)), fmt).tobytes())
    return f"{lib.isa()} {h.hexdigest()}"


def test_every_build_and_thread_count(library_path):
    answers = {}
    lib = Reductions(library_path)
    isas = [isa for isa in ("base", "avx2", "avx512", "neon") if lib.c.rm_isa_available(isa.encode())]
    assert "base" in isas
    for isa, threads in itertools.product(isas, (1, 2)):
        done = subprocess.run(
            [sys.executable, pathlib.Path(__file__), str(library_path), str(threads)],
            env={**os.environ, "REPMATH_ISA": isa, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        name, answers[isa, threads] = done.stdout.split()
        assert name == isa
    assert len(set(answers.values())) == 1, answers


def test_unknown_isa_is_an_error(library_path):
    code = f"import ctypes; print(ctypes.CDLL({str(library_path)!r}).rm_sum_f32(ctypes.c_int64(0), None, None, None) & 255)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "REPMATH_ISA": "mmx"}, capture_output=True, text=True
    )
    assert done.stdout.strip() == "5"


# ----------------------------------------------------------------------------------------------------------------- control


@FMT
def test_control_with_bounds_too_small(fmt, rng):
    """With bounds made 2^20 times too small results are wrong, and this oracle sees it."""
    path = native.control_library()
    lib, wrong = Reductions(path), {"matmul": 0, "sum": 0}
    for _ in range(20):
        a, b = operands(rng, "outliers" if fmt == "f64" else "cancelling", fmt, 20, 20, 500)
        if fmt == "f64":
            a[:, ::2] = -a[:, 1::2]
            b[::2] = np.nextafter(b[1::2], np.inf)
        wrong["matmul"] += np.count_nonzero(unsigned(lib.matmul(fmt, a, b), fmt) != matmul_bits(a, b, fmt))
        x = (rng.standard_normal(3000) * 2.0 ** rng.integers(0, 30, 3000)).astype(TYPES[fmt])
        tail = (rng.standard_normal(3) * 2.0 ** (-5 if fmt == "f32" else -19)).astype(TYPES[fmt])
        y = np.concatenate([x, tail, -x])[rng.permutation(6003)]
        wrong["sum"] += bits_of(lib.sum(fmt, y), fmt) != exact_bits(y, fmt)
    assert wrong["matmul"] > 0
    assert wrong["sum"] > 0


if __name__ == "__main__":
    print(digest(sys.argv[1], int(sys.argv[2])))
