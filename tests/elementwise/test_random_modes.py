"""The accurate phases under the random rounding modes, at words whose thresholds are next to the value, against rationals."""

import ctypes

import numpy as np
import oracle
import pytest
import ranges
import rounding_oracle
from accurate_phase import FIRST, accurate, compiled  # noqa: F401

KINDS = {"stochastic": 4, "random": 5}
INVERSES = ["erfinv", "ndtri"]  # stochastic in at most 24 digits; their definition is slow
EACH = 5


def call(phase, function, columns, fmt, kind, words):
    arrays = [np.ascontiguousarray(v, np.float64) for v in columns]
    y, words = np.empty(arrays[0].size, np.uint64), np.ascontiguousarray(words, np.uint32)
    pointers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
    phase.library.rm_test_accurate_random(
        phase.first,
        oracle.FUNCTIONS.index(function),
        len(arrays),
        list(oracle.FORMATS).index(fmt),
        kind,
        ctypes.c_int64(y.size),
        pointers,
        words.ctypes.data_as(ctypes.c_void_p),
        y.ctypes.data_as(ctypes.c_void_p),
    )
    return y


def held(columns, fmt):
    """Numbers of the format."""
    return [oracle.to_double(oracle.narrow(np.asarray(v, np.float64), fmt), fmt) if fmt != "f64" else v for v in columns]


def rows(function, fmt, each):
    """Arguments from where the function is worth sampling, tiny and large ones, and integers: closed forms, and where they end."""
    rng, arity = np.random.default_rng(17), oracle.ARITY[function]
    found = [[rng.uniform(low, high, each) for low, high in (box if arity > 1 else [box])] for box in ranges.RANGES[function]]
    found.append(list(oracle.random_tuples(fmt, arity, 4 * each, 18)))

    def other(n):
        return [rng.uniform(-2, 2, n) for _ in range(arity - 1)]

    sign = rng.choice([-1.0, 1.0], 4 * each)
    for column in (
        sign * 2.0 ** rng.uniform(-100, -20, 4 * each),
        sign * rng.uniform(2, 80, 4 * each),
        sign * 2.0 ** rng.uniform(1, 10, 4 * each),
    ):
        found += [[column, *other(4 * each)], [*other(4 * each), column]] if arity > 1 else [[column]]
    found.append(
        [rng.integers(-40, 40, 2 * each).astype(float)]
        + [rng.integers(-9, 9, 2 * each).astype(float) for _ in range(arity - 1)]
    )
    columns = [np.concatenate(c) for c in zip(*(held(f, fmt) for f in found), strict=True)]
    return [row for row in zip(*[c.tolist() for c in columns], strict=True) if not any(v != v for v in row)]


def cases(function, fmt, each=EACH):
    """Rows, words and values: both words next to each value, and one of the generator."""
    rng = np.random.default_rng(19)
    out = []
    for row in rows(function, fmt, each):
        value = rounding_oracle.exact_value(function, row)
        if value is not None:
            for word in (*rounding_oracle.near_words(value, fmt), int(rng.integers(0, 2**32))):
                out.append((row, word, value))
    return out


def is_told(function, value, fmt, mode):
    """Whether the oracle knows enough: a definition may have 1 - 2^-400 as 1, and what is beside a number to a hair."""
    _, f = rounding_oracle.split(value, fmt)
    near = min(f, 1 - f)
    return (
        function not in rounding_oracle.definitions.DEFINITIONS
        or near > 2**-40
        or (f != 0 and mode == "random" and near > 2**-200)
    )


@pytest.mark.parametrize("fmt", list(oracle.FORMATS))
@pytest.mark.parametrize("function", [f for f in oracle.FUNCTIONS if f not in INVERSES])
def test_words_next_to_the_value(accurate, function, fmt):  # noqa: F811
    phase = accurate("all", function)
    assert phase.first == FIRST
    found = cases(function, fmt, EACH if fmt in ("f32", "f64") else 2)
    for mode, kind in KINDS.items():
        some = [c for c in found if is_told(function, c[2], fmt, mode)]
        words = [w for _, w, _ in some]
        got = call(phase, function, list(zip(*[row for row, _, _ in some], strict=True)), fmt, kind, words)
        want = [rounding_oracle.rounded(v, fmt, mode, w) for _, w, v in some]
        wrong = [i for i, (a, b) in enumerate(zip(got.tolist(), want, strict=True)) if a != b]
        assert not wrong, (
            mode,
            len(wrong),
            [([v.hex() for v in some[i][0]], hex(some[i][1]), hex(got[i]), hex(want[i])) for i in wrong[:3]],
        )


@pytest.mark.parametrize("fmt", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("function", INVERSES)
def test_words_next_to_the_value_of_an_inverse(accurate, function, fmt):  # noqa: F811
    rng = np.random.default_rng(20)
    x = held([rng.uniform(0.01, 0.98, 12)], fmt)[0]
    some = []
    for v in x.tolist():
        value = rounding_oracle.exact_value(function, (v,), 200)
        if value is not None:
            some += [((v,), w, value) for w in rounding_oracle.near_words(value, fmt)]
    for mode, kind in KINDS.items():
        got = call(
            accurate("all", function),
            function,
            list(zip(*[r for r, _, _ in some], strict=True)),
            fmt,
            kind,
            [w for _, w, _ in some],
        )
        assert got.tolist() == [rounding_oracle.rounded(v, fmt, mode, w) for _, w, v in some]


@pytest.mark.parametrize("change", ["offset 0", "16-bit words", "f64 first", "f32 first"])
def test_controls_see_other_thresholds(change):
    """The data tell the thresholds of the definition from others: (w + 0) 2^-32, the top 16 bits, and a value rounded before."""
    from fractions import Fraction

    import gmpy2

    fmt, seen = "f16" if change == "f32 first" else "f32", 0
    for _, word, value in cases("exp", fmt):
        want = rounding_oracle.rounded(value, fmt, "stochastic", word)
        if change.endswith("first"):
            with gmpy2.context(precision=53 if change == "f64 first" else 24, emax=2**20, emin=-(2**20)):
                other = rounding_oracle.rounded(gmpy2.mpq(gmpy2.mpfr(value)), fmt, "stochastic", word)
        else:
            k, f = rounding_oracle.split(value, fmt)
            t = Fraction(word, 2**32) if change == "offset 0" else Fraction(2 * (word >> 16) + 1, 2**17)
            other = (value < 0) << 31 | min(k + (f > t), 0xFF << 23)
        seen += want != other
    assert seen > 10


class Rounding(ctypes.Structure):
    _fields_ = [("mode", ctypes.c_int32), ("seed", ctypes.c_uint64), ("stream", ctypes.c_uint64), ("first", ctypes.c_int64)]


def vectors(library, function, columns, fmt, kind, stream):
    """The results of the library's loops, columns of bits of the format."""
    size = columns[0].itemsize
    x = (ctypes.c_void_p * len(columns))(*[c.ctypes.data for c in columns])
    strides = (ctypes.c_ssize_t * len(columns))(*[size] * len(columns))
    out = np.empty_like(columns[0])
    status = library.rm_random_elementwise(
        function.encode(), list(oracle.FORMATS).index(fmt), ctypes.c_int64(out.size), x, strides, ctypes.c_void_p(out.ctypes.data),
        ctypes.c_ssize_t(size), ctypes.byref(Rounding(kind, 5, stream, 3)),
    )  # fmt: skip
    assert status == 0
    return out


def check_loops(library, phase, function, columns, fmt, streams=(1,)):
    """The loops have the bits of the accurate phase, element by element. Returns how many of them are not those of another stream."""
    wide, other = [oracle.to_double(c, fmt) for c in columns], 0
    for stream in streams:
        words = rounding_oracle.words(5, stream, 3, columns[0].size)
        for mode, kind in KINDS.items():
            got = vectors(library, function, columns, fmt, kind, stream)
            want = call(phase, function, wide, fmt, kind, words)
            wrong = np.flatnonzero(got != want)
            assert not wrong.size, (mode, wrong.size, [(hex(columns[0][i]), hex(got[i]), hex(want[i])) for i in wrong[:3]])
            other += int((vectors(library, function, columns, fmt, kind, stream + 99) != want).sum())
    return other


@pytest.mark.sample(8)
@pytest.mark.parametrize("fmt", ["f16", "bf16"])
@pytest.mark.parametrize("function", [f for f in oracle.UNARY if f not in INVERSES])
def test_every_number_of_16_bits(isa_library, accurate, function, fmt):  # noqa: F811
    """All 65,536 arguments with several words each, under both modes: and another stream is seen."""
    numbers = np.arange(65536, dtype=np.uint16)
    assert check_loops(isa_library, accurate("all", function), function, [numbers], fmt, (1, 2, 3)) > 20


@pytest.mark.sample(8)
@pytest.mark.parametrize("fmt", list(oracle.FORMATS))
@pytest.mark.parametrize("function", [f for f in oracle.FUNCTIONS if f not in INVERSES])
def test_loops_are_the_accurate_phase(isa_library, accurate, function, fmt):  # noqa: F811
    """Of the arguments of the tests above, and as many as fill some chunks of words."""
    columns = [oracle.narrow(np.array(c), fmt) for c in zip(*rows(function, fmt, 60), strict=True)]
    check_loops(isa_library, accurate("all", function), function, [np.ascontiguousarray(c) for c in columns], fmt)


def test_a_changed_loop_is_seen(library, accurate):  # noqa: F811
    """The control: results to nearest."""
    numbers = np.arange(65536, dtype=np.uint16)
    plain = oracle.values("exp", (oracle.to_double(numbers[:2000], "f16"),), "f16")
    words = rounding_oracle.words(5, 1, 3, 2000)
    want = call(accurate("all", "exp"), "exp", [oracle.to_double(numbers[:2000], "f16")], "f16", KINDS["stochastic"], words)
    assert (plain != want).sum() > 100
