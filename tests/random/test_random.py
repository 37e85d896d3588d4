"""Random numbers of the C library against the definitions in Python, bit by bit, on every instruction set."""

import ctypes
import functools
import math
import pathlib
from fractions import Fraction

import elementwise_library
import native
import numpy as np
import pytest
import random_oracle as oracle
from exact_oracle import CANONICAL_NAN, FORMATS, bits
from flushing import flushing
from random_library import F64, NAMES, SELDOM, U64, Random, kind
from reductions_library import ENUM, FE_INVALID, FE_OVERFLOW, I64, NULL, OK, OVERLAP, RANGE, SIZE, pointer, status

FMT = pytest.mark.parametrize("fmt", NAMES)
SEED, STREAM = 0x299F31D0A4093822, 0x0370734413198A2E
PLACES = [(0, 0, 0), (SEED, STREAM, 5), (2**64 - 1, 2**64 - 1, 2**63 - 5000), (1, 2**32, 2**34 - 3)]


@pytest.fixture(scope="module")
def lib(isa_library):
    return Random(isa_library)


def same(got, want):
    return got.dtype == want.dtype and np.array_equal(bits(got), bits(want))


# ------------------------------------------------------------------------------------------------------------ generator


def test_known_answers(lib):
    for counter, key, want in oracle.KNOWN:
        assert tuple(int(w) for w in oracle.philox(counter, key)) == want
        out = (ctypes.c_uint32 * 4)()
        low, high, stream, more = counter
        lib.c.rm_random_block(U64(key[0] | key[1] << 32), U64(stream | more << 32), U64(low | high << 32), out)
        assert tuple(out) == want
    assert tuple(lib.words32((0, 0, 0), 4)) == oracle.KNOWN[0][2]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_words_and_draws(lib, place):
    for n in (1, 2, 3, 7, 64, 1023, 2500):
        assert same(lib.words32(place, n), oracle.words(*place, n))
        assert same(lib.words64(place, n), oracle.draws(*place, n))
    pairs = lib.words32((place[0], place[1], 40), 20).reshape(-1, 2).astype(np.uint64)  # low word first
    assert same(lib.words64((place[0], place[1], 20), 10), pairs[:, 0] | pairs[:, 1] << np.uint64(32))


def test_any_slice_is_the_same_numbers(lib):
    n = 3000
    whole = {name: call() for name, call in lib.everything((SEED, STREAM, 0), n).items() if name != "permutation"}
    for first, count in ((0, 1), (1, 1), (2, 5), (3, 1500), (1023, 2), (1025, 1900), (n - 1, 1)):
        parts = lib.everything((SEED, STREAM, first), count)
        for name, all_of_it in whole.items():
            if not name.startswith("dropout"):
                assert same(parts[name](), all_of_it[first : first + count]), (name, first, count)
    x = np.linspace(-3, 3, n).astype("f4")
    assert same(lib.dropout("f32", (SEED, STREAM, 1001), x[1001:], 0.1), whole["dropout_f32"][1001:])


def test_any_number_of_threads_gives_the_same_numbers(lib):
    n = 300_007
    try:
        found = []
        for threads in (1, 2, 5):
            assert lib.c.rm_set_num_threads(threads) == OK
            found.append({name: call() for name, call in lib.everything((9, 9, 9), n).items()})
    finally:
        lib.c.rm_set_num_threads(2)
    for other in found[1:]:
        for name, numbers in found[0].items():
            assert same(other[name], numbers), name


def test_strides(lib):
    n = 1300
    for name, call in lib.everything((3, 4, 5), n).items():
        want = call()
        for make in (lambda a: np.zeros(3 * n, a.dtype)[::3], lambda a: np.zeros(n, a.dtype)[::-1]):
            got = make(want)
            assert same(call(out=got), want), name
        raw = np.full(n * want.itemsize + 2, 0xA5, np.uint8)
        got = np.ndarray(n, want.dtype, buffer=raw, offset=1)
        assert same(call(out=got), want) and raw[0] == raw[-1] == 0xA5, name


# -------------------------------------------------------------------------------------------------------------- uniform


@FMT
@pytest.mark.parametrize("place", PLACES[:2], ids=str)
def test_uniform(lib, fmt, place):
    m, p = oracle.unit(fmt, *place, 2000)
    want = (m.astype(np.float64) * 2.0**-p).astype(kind(fmt))  # exact
    assert same(lib.uniform(fmt, place, 2000), want)
    assert want.min() >= 0 and want.max() < 1


RANGES = {
    "unit": (0.0, 1.0), "symmetric": (-1.0, 1.0), "wide": (-3.0, 3.0), "ties": (1.0, 2.0), "bound": (-0.08838834764831845, 0.08838834764831845),
    "thirds": (-1 / 3, 2 / 3), "near": (1.0, 1.0 + 2.0**-20), "nearer": (1.0, 1.0 + 2.0**-52), "above a tie": (1.0 + 2.0**-52, 2.0),
    "one": (0.7, 0.7), "zero": (0.0, 0.0), "minus zero": (-0.0, 0.0), "from zero": (0.0, 10.0), "to zero": (-0.1, 0.0), "apart": (-1e-30, 1e4),
    "small": (-2.0**-14, 2.0**-15), "large": (-60000.0, 65504.0),
}  # fmt: skip
WIDE = {
    "f32": [(-3.4e38, 3.4e38), (-1e-45, 1e-40), (-1e-300, 1e-300)],
    "bf16": [(-3.3e38, 3.3e38), (0.0, 1e-38), (1e-300, 1e-299)],
}
WIDE |= {
    "f16": [(-1e-7, 2e-7), (0.0, 5e-324)],
    "f64": [(-1.7e308, 1.7e308), (-5e-324, 1e-310), (-1e-250, 1e-270), (1e-300, 1e300)],
}


@FMT
def test_uniform_of_a_range(lib, fmt):
    for k, (low, high) in enumerate([*RANGES.values(), *WIDE[fmt]]):
        place = (SEED + k, 5, 3)
        assert bits(lib.uniform(fmt, place, 300, low, high)).tolist() == oracle.uniform(fmt, *place, 300, low, high), (
            low,
            high,
        )


@FMT
def test_uniform_where_the_ends_cancel(lib, fmt):
    """The ends are such that one element lies beside zero: of either sign, when it rounds to zero too."""
    for i in range(8):
        m, p = oracle.unit(fmt, SEED, 3, i, 1)
        u = Fraction(int(m[0]), 2**p)
        if u:
            for high in (0.7, 1.0 + 2.0**-52, 3.0):
                near = float(-u * Fraction(high) / (1 - u))
                for low in (near, math.nextafter(near, -1), math.nextafter(near, 1)):
                    got = lib.uniform(fmt, (SEED, 3, i), 1, low, high)
                    assert bits(got).tolist() == oracle.uniform(fmt, SEED, 3, i, 1, low, high), (low, high)


# --------------------------------------------------------------------------------------------------------------- normal

MOMENTS = [
    (0.0, 1.0), (0.0, 0.02), (1.0, 1.0), (0.7, 3.1), (-1000.0, 1e-3), (0.1, 2.0**-30), (1e-300, 1.0), (3.0, 2.0**-70), (-3.0, 5e-324), (0.0, 1e-8),
    (0.0, 1e-40), (1e5, 7e4), (0.0, 1e-310), (-5e-324, 5e-324), (0.25, 0.0), (-0.0, 0.0), (2.0**-24, 2.0**-25), (1e200, 1e200), (1e308, 1e308), (-1e-170, 1e-175),
]  # fmt: skip


@FMT
def test_normal(lib, fmt):
    for k, (mean, std) in enumerate(MOMENTS):
        place = (SEED, 77, 40 * (k % 3))
        want = oracle.normal(fmt, *place, 120, mean, std)
        assert bits(lib.normal(fmt, place, 120, mean, std)).tolist() == want, (mean, std)


TRUNCATIONS = [
    (0.0, 1.0, -2.0, 2.0), (0.0, 0.02, -2.0, 2.0), (0.0, 1.0, -math.inf, math.inf), (0.0, 1.0, 0.0, math.inf), (0.0, 1.0, -math.inf, 0.0), (0.5, 2.0, 0.5, 1.5),
    (1.0, 0.1, 1.2, 1.3), (0.0, 1.0, 5.0, 7.0), (0.0, 1.0, -9.0, -6.0), (0.0, 1.0, 29.0, math.inf), (0.0, 1.0, -1000.0, -29.5), (0.0, 1.0, 28.0, 33.0),
    (0.0, 1.0, 1.0, 1.0 + 2.0**-40), (0.3, 3.0, -1e300, 0.3), (1e10, 1e-5, -math.inf, 1e10), (0.0, 1e-250, -1e-250, 1e-249), (0.0, 1e-8, -1e-8, 1e-8), (0.0, 1e5, -3e4, 6.5e4),
]  # fmt: skip


@FMT
def test_truncated_normal(lib, fmt):
    for k, truncation in enumerate(TRUNCATIONS):
        place = (SEED, 78, 50 * (k % 3))
        want = oracle.truncated(fmt, *place, 40, *truncation)
        assert bits(lib.truncated(fmt, place, 40, *truncation)).tolist() == want, truncation


@FMT
def test_without_ends_it_is_the_normal_distribution(lib, fmt):
    for mean, std in ((0.0, 1.0), (0.7, 0.02)):
        got = lib.truncated(fmt, (1, 2, 3), 3000, mean, std, -math.inf, math.inf)
        assert same(got, lib.normal(fmt, (1, 2, 3), 3000, mean, std))


@FMT
def test_normal_where_mean_and_deviation_cancel(lib, fmt):
    """The mean is minus the deviation times a number beside z: the result has few bits in common with both."""
    for i, std in enumerate((1.0, 0.3, 1e4)):
        z = oracle.quantile(int(oracle.draws(SEED, 6, i, 1)[0]))
        for beside in (float(z), float(np.float32(float(z)))):
            mean = -float(Fraction(std) * Fraction(beside))
            want = oracle.normal(fmt, SEED, 6, i, 1, mean, std)
            assert bits(lib.normal(fmt, (SEED, 6, i), 1, mean, std)).tolist() == want


@functools.cache
def beside_midpoints(fmt):
    """(fill, element, its parameters, the right bits): numbers as near to a midpoint as parameters of 53 bits allow; in the 16-bit formats
    near enough for binary32 to round them to it."""
    cases, p = [], oracle.PRECISION[fmt]

    def middle(x):
        """A midpoint near x > 0, or a number beside it."""
        e = math.frexp(x)[1] - p - 1
        aside = 1 + Fraction((-1) ** i, 2**30) if p < 24 else 1
        return Fraction(2 * int(Fraction(x) / Fraction(2) ** (e + 1)) + 1) * Fraction(2) ** e * aside

    for i in range(24):
        m, bits_of_u = oracle.unit(fmt, SEED, 9, i, 1)
        u, high = Fraction(int(m[0]), 2**bits_of_u), 0.7
        low = float((middle(0.5 + i / 50) - u * Fraction(high)) / (1 - u))
        if low <= high:
            cases.append(("uniform", i, (low, high), oracle.uniform(fmt, SEED, 9, i, 1, low, high)))
        z = oracle.quantile(int(oracle.draws(SEED, 9, i, 1)[0]))
        for mean in (0.0, 0.75):
            std = float((middle(0.8 + i / 50) * (1 if z > 0 else -1) - Fraction(mean)) / z)
            if std > 0:
                want = oracle.normal(fmt, SEED, 9, i, 1, mean, std)
                cases.append(("normal", i, (mean, std), want))
                cases.append(("truncated", i, (mean, std, -math.inf, math.inf), want))
        x = np.array([1 + i / 50]).astype(kind(fmt))
        drop = float(1 - Fraction(float(x[0])) / middle(2 * float(x[0])))
        if not oracle.bernoulli(SEED, 9, i, 1, drop)[0]:
            cases.append(("dropout", i, (x, drop), [kept(x[0], drop, fmt)]))
    return cases


def wrong(lib, fmt):
    """The fills that give a wrong number, and how often."""
    found = []
    for name, i, args, want in beside_midpoints(fmt):
        place = SEED, 9, i
        got = lib.dropout(fmt, place, *args) if name == "dropout" else getattr(lib, name)(fmt, place, 1, *args)
        found += [name] * (bits(got).tolist() != want)
    return {name: found.count(name) for name in set(found)}


@FMT
def test_beside_midpoints(lib, fmt):
    assert wrong(lib, fmt) == {}


@pytest.mark.parametrize("fmt", NAMES[:3])
def test_control_with_bounds_too_small(lib, fmt):
    """The same with bounds made 2^20 times too small."""
    path = native.control_library()
    shrunk = elementwise_library.libraries(path)[lib.c.rm_isa().decode()]
    assert set(wrong(Random(shrunk.library), fmt)) == {"uniform", "normal", "truncated", "dropout"}


# --------------------------------------------------------------------------------------------------- bernoulli, dropout


PROBABILITIES = [0.0, 1.0, 0.5, 0.1, 0.75, 2.0**-53, 2.0**-54, 1 - 2.0**-53, 1e-3, 5e-324, 1 / 3, 2.0**-30, 0.999]


def test_bernoulli(lib):
    for p in PROBABILITIES:
        assert same(lib.bernoulli(PLACES[1], 1500, p), oracle.bernoulli(*PLACES[1], 1500, p)), p
    m = int(oracle.unit("f64", 1, 2, 77, 1)[0][0])  # at the very threshold
    for k, want in ((m - 1, 0), (m, 0), (m + 1, 1)):
        assert lib.bernoulli((1, 2, 77), 1, k * 2.0**-53).tolist() == [want]
    assert lib.bernoulli((1, 2, 77), 1, math.nextafter(m * 2.0**-53, 1)).tolist() == [1]


def kept(x, p, fmt):
    value = float(x)
    if math.isnan(value):
        return CANONICAL_NAN[fmt]
    if math.isinf(value) or value == 0:
        return int(bits(x))
    return oracle.rounded(Fraction(value) / (1 - Fraction(p)), fmt)


@functools.cache
def numbers_to_drop(fmt, p):
    """Numbers of any size, special ones among them, some of them beside numbers whose quotient is a midpoint; and the results."""
    rng, size, precision = np.random.default_rng(1), 8 * kind(fmt).itemsize, oracle.PRECISION[fmt]
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0] * 6
    middle = (2 * rng.integers(2 ** (precision - 1), 2**precision, 200).astype(object) + 1) * (1 - Fraction(p))
    x = np.array([*special, *map(float, middle), *rng.standard_normal(100)]).astype(kind(fmt))
    x = np.concatenate([x, rng.integers(0, 2**size, 150, dtype=f"u{size // 8}").view(kind(fmt))])
    gone = oracle.bernoulli(*DROPS, len(x), p)
    return x, [0 if drop else kept(v, p, fmt) for v, drop in zip(x, gone, strict=True)], gone


DROPS = (7, 8, 9)


@FMT
def test_dropout(lib, fmt):
    for p in [*PROBABILITIES, 1e-17, 1e-20]:
        x, want, gone = numbers_to_drop(fmt, p)
        assert bits(lib.dropout(fmt, DROPS, x, p)).tolist() == want, p
        same_array = x.copy()
        assert bits(lib.dropout(fmt, DROPS, same_array, p, out=same_array)).tolist() == want
        assert bits(lib.dropout(fmt, DROPS, np.repeat(x, 2)[::2], p)).tolist() == want
        one = kept(x[5], p, fmt) if p < 1 else 0
        assert bits(lib.dropout(fmt, DROPS, np.broadcast_to(x[5:6], 50), p)).tolist() == [0 if d else one for d in gone[:50]]


@FMT
def test_dropout_flags(lib, fmt):
    libm = ctypes.CDLL(None)
    largest = np.array((FORMATS[fmt][4] << FORMATS[fmt][2]) - 1, FORMATS[fmt][1]).view(kind(fmt))
    signalling = np.array((FORMATS[fmt][4] << FORMATS[fmt][2]) | 1, FORMATS[fmt][1]).view(kind(fmt))
    for value, p, flag in ((largest, 0.1, FE_OVERFLOW), (signalling, 0.1, FE_INVALID), (largest, 1.0, 0), (largest, 0.0, 0), (1.0, 0.3, 0), (np.inf, 0.5, 0)):  # fmt: skip
        x = np.full(50, value, kind(fmt))
        libm.feclearexcept(61)
        lib.dropout(fmt, (1, 2, 3), x, p)
        assert libm.fetestexcept(FE_INVALID | FE_OVERFLOW) == flag, (value, p)


# ----------------------------------------------------------------------------------------------- integers, permutations


BOUNDS = [
    (0, 0), (0, 1), (-3, 3), (5, 104), (0, 2**31 - 1), (0, 2**32 - 2), (0, 2**32 - 1), (0, 2**32), (-(2**40), 2**41), (0, 2**62),
    (0, 2**63 - 1), (-1, 2**63 - 1), (-(2**63), 2**63 - 2), (-(2**63), 2**63 - 1), (-(2**63), -(2**63)), (-7, 2**63 - 1),
]  # fmt: skip


def test_integers(lib):
    for low, last in BOUNDS:
        for place in PLACES[1:3]:
            want = oracle.integers(*place, 200, low, last)
            assert same(lib.integers(place, 200, low, last), want), (low, last)
            assert want.min() >= low and want.max() <= last


def test_a_seldom_case_of_integers(lib):
    """Draws beside a multiple of 2^64/count, where the bits that follow decide. Of a small count they are one in 2^32: these were
    searched for."""
    for place, count in SELDOM:
        d = int(oracle.draws(*place, 1)[0])
        assert count < 2**32 and d * count % 2**64 > 2**64 - count
        for n in (1, 16):
            assert same(lib.integers(place, n, 0, count - 1), oracle.integers(*place, n, 0, count - 1))
    plain = [int(oracle.draws(*place, 1)[0]) * count >> 64 for place, count in SELDOM]
    assert [int(lib.integers(place, 1, 0, count - 1)[0]) - h for (place, count), h in zip(SELDOM, plain, strict=True)] == [
        1,
        1,
        0,
        0,
    ]


def test_permutation(lib):
    for n in (0, 1, 2, 3, 8, 9, 100, 5000):
        assert same(lib.permutation((4, 5, 6), n), oracle.permutation(4, 5, 6, n))
    assert sorted(lib.permutation((4, 5, 6), 70_000)) == list(range(70_000))


@pytest.mark.parametrize("used", [3, 8])
def test_permutation_with_equal_draws(library_path, tmp_path, used):
    """The sort itself, built to use only some bits of each draw."""
    (cc,) = native.need("cc")
    program = tmp_path / "driver"
    folder = pathlib.Path(library_path).parent
    flags = [f"-DRM_CFG_PERMUTATION_BITS={used}", f"-I{native.ROOT}/include", f"-L{folder}", f"-Wl,-rpath,{folder}"]
    native.run(
        cc, "-std=gnu11", "-O1", native.ROOT / "tests/support/permutation_driver.c", "-o", program, *flags, "-lrepmath"
    )
    for n in (1, 2, 200, 1000):
        got = [int(line) for line in native.run(program, 11, 12, 13, n).split()]
        assert got == oracle.permutation(11, 12, 13, n, used).tolist()
        assert n < 200 or got != oracle.permutation(11, 12, 13, n).tolist()


# --------------------------------------------------------------------------------------------- environment and arguments


def test_where_the_caller_flushes_subnormal_numbers(lib):
    tiny = np.full(64, 5e-324)
    want = lib.uniform("f64", (1, 1, 1), 64, -1e-310, 5e-324), lib.uniform("f32", (1, 1, 1), 64, 0, 1e-40), lib.dropout("f64", (1, 1, 1), tiny, 0.5)  # fmt: skip
    assert all(np.count_nonzero(w) > 20 for w in want)
    with flushing():
        got = lib.uniform("f64", (1, 1, 1), 64, -1e-310, 5e-324), lib.uniform("f32", (1, 1, 1), 64, 0, 1e-40), lib.dropout("f64", (1, 1, 1), tiny, 0.5)  # fmt: skip
    assert all(same(a, b) for a, b in zip(got, want, strict=True))


def test_bad_arguments_write_nothing(lib):
    out, x, nan = np.full(16, 7.0), np.ones(16), float("nan")
    u, i, d = U64, I64, F64
    place = [u(1), u(2), i(3), i(4)]
    calls = {
        "rm_random_words32": [*place, pointer(out), i(8)],
        "rm_random_words64": [*place, pointer(out), i(8)],
        "rm_random_uniform": [3, *place, d(0), d(1), pointer(out), i(8)],
        "rm_random_normal": [3, *place, d(0), d(1), pointer(out), i(8)],
        "rm_random_truncated_normal": [3, *place, d(0), d(1), d(-2), d(2), pointer(out), i(8)],
        "rm_random_bernoulli": [*place, d(0.5), pointer(out), i(8)],
        "rm_random_integers": [*place, i(0), i(9), pointer(out), i(8)],
        "rm_random_permutation": [*place, pointer(out), i(8)],
        "rm_dropout": [3, *place, d(0.5), pointer(x), i(8), pointer(out), i(8)],
    }

    def bad(name, position, value, code, at=None):
        arguments = list(calls[name])
        arguments[position - 1] = value
        assert getattr(lib.c, name)(*arguments) == status(code, at or position), (name, position)

    for name, good in calls.items():
        shift = name in ("rm_random_uniform", "rm_random_normal", "rm_random_truncated_normal", "rm_dropout")
        bad(name, 3 + shift, i(-1), RANGE)
        bad(name, 4 + shift, i(-1), SIZE)
        bad(name, 4 + shift, i(2**63 - 1), RANGE)
        bad(name, len(good) - 1, None, NULL)
        bad(name, len(good), i(0), OVERLAP, len(good) - 1)
        if shift:
            bad(name, 1, 4, ENUM)
            bad(name, 1, -1, ENUM)
    for value in (nan, math.inf, -math.inf):
        bad("rm_random_uniform", 6, d(value), RANGE)
        bad("rm_random_uniform", 7, d(value), RANGE)
        bad("rm_random_normal", 6, d(value), RANGE)
        bad("rm_random_normal", 7, d(value), RANGE)
        bad("rm_random_truncated_normal", 6, d(value), RANGE)
        bad("rm_random_truncated_normal", 7, d(value), RANGE)
    for at, value in (
        (7, 0.0),
        (7, -1.0),
        (8, nan),
        (8, 31.0),
        (8, math.inf),
        (9, nan),
        (9, -31.0),
        (9, -math.inf),
        (9, -2.0),
        (9, -2.5),
    ):
        bad("rm_random_truncated_normal", at, d(value), RANGE)
    bad("rm_random_truncated_normal", 6, d(2.0**51), RANGE, 7)
    bad("rm_random_normal", 7, d(-5e-324), RANGE)
    bad("rm_random_uniform", 6, d(1.5), RANGE, 7)
    for fmt, beyond in ((0, 65520.0), (1, 3.4e38), (2, 3.5e38)):
        assert lib.c.rm_random_uniform(fmt, *place, d(0), d(beyond), pointer(out), i(8)) == status(RANGE, 7)
        assert lib.c.rm_random_uniform(fmt, *place, d(-beyond), d(0), pointer(out), i(8)) == status(RANGE, 6)
    for name, at in (("rm_random_bernoulli", 5), ("rm_dropout", 6)):
        for value in (nan, -5e-324, math.nextafter(1, 2)):
            bad(name, at, d(value), RANGE)
    bad("rm_random_integers", 6, i(-1), RANGE)
    bad("rm_dropout", 7, None, NULL)
    bad("rm_dropout", 7, pointer(out[1:]), OVERLAP, 9)
    assert lib.c.rm_dropout(3, *place, d(0.5), pointer(out), i(8), pointer(out), i(16)) == status(OVERLAP, 9)
    assert (out == 7).all() and (x == 1).all()
    for good in (["rm_random_words32", u(1), u(2), i(3), i(0), None, i(0)],):
        assert getattr(lib.c, good[0])(*good[1:]) == OK
