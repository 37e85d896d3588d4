"""rm_convert against exact rationals, bit by bit, on every instruction set."""

import ctypes

import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, FORMATS, rational_of, round_rational
from optimizers_library import NAMES
from reductions_library import ENUM, I64, NULL, OK, OVERLAP, SIZE, pointer, status

PAIRS = [(a, b) for a in NAMES for b in NAMES]
EACH = pytest.mark.parametrize("source, target", PAIRS, ids=" ".join)


def convert(lib, source, target, x):
    out = np.zeros(len(x), FORMATS[target][1])
    code = lib.rm_convert(NAMES.index(source), NAMES.index(target), I64(len(x)), pointer(x), pointer(out))
    assert code == OK
    return out


def expected(source, target, code):
    _, _, fraction, _, infinity, shift = FORMATS[source]
    negative = code >> shift << FORMATS[target][5]
    size = code & ((1 << shift) - 1)
    if size > infinity << fraction:
        return CANONICAL_NAN[target]
    if size == infinity << fraction:
        return FORMATS[target][4] << FORMATS[target][2] | negative
    return round_rational(rational_of(code, source), target) or negative


def codes(source, target):
    """All of 16 bits; else any, and those at and beside the midpoints of the target."""
    _, kind, fraction, _, _, shift = FORMATS[source]
    if shift == 15:
        return np.arange(65536, dtype=kind)
    rng = np.random.default_rng(60)
    some = (
        [rng.integers(0, 2 ** (shift + 1), 1500, np.uint64, endpoint=False)]
        if shift == 31
        else [rng.integers(0, 2**63, 1500, np.uint64) * 2]
    )
    low = {"f16": -26, "bf16": -135, "f32": -151, "f64": -1074}[target]
    high = {"f16": 17, "bf16": 128, "f32": 128, "f64": 1023}[target]
    with np.errstate(all="ignore"):
        for bits_ in (FORMATS[target][2], FORMATS[target][2] + 1, FORMATS[target][2] + 2, 3):
            odd = 2 * rng.integers(0, 2**bits_, 700) + 1
            x = np.ldexp(odd.astype(float) * rng.choice([-1, 1], 700), rng.integers(low - bits_, high - bits_, 700))
            near = x.astype(FORMATS[source][0]).view(kind).astype(np.uint64)
            some += [near, near + 1, near - 1]
    inf = FORMATS[source][4] << fraction
    ends = np.array([0, 1, 2, inf - 1, inf, inf + 1, inf | 1 << (fraction - 1), inf | 5], np.uint64)
    return np.concatenate([*some, ends, ends | np.uint64(1 << shift)]).astype(kind)


@pytest.mark.sample(4)
@EACH
def test_every_kind_of_number(isa_library, source, target):
    x = codes(source, target)
    got = convert(isa_library, source, target, x)
    want = WANT.setdefault((source, target), [expected(source, target, int(c)) for c in x])
    wrong = np.flatnonzero(got != np.array(want, np.uint64).astype(got.dtype))
    assert not len(wrong), [(hex(x[i]), hex(got[i]), hex(want[i])) for i in wrong[:3]]


WANT: dict = {}


@pytest.mark.parametrize("target", ["f16", "bf16"])
def test_control(target):
    """By way of binary32, some numbers of binary64 would be rounded twice."""
    x = codes("f64", target)
    with np.errstate(all="ignore"):
        twice = x.view(np.float64).astype(np.float32).astype(FORMATS[target][0]).view(np.uint16)
    want = np.array([expected("f64", target, int(c)) for c in x], np.uint16)
    assert (twice != want).sum() > 20


@EACH
def test_lengths_and_threads(isa_library, source, target):
    x = np.resize(codes(source, target), 140001)
    want = convert(isa_library, source, target, x)
    for n in (0, 1, 7, 31, 33, 100):
        assert (convert(isa_library, source, target, x[1 : n + 1].copy()) == want[1 : n + 1]).all()
    isa_library.rm_set_num_threads(3)
    assert (convert(isa_library, source, target, x) == want).all()
    isa_library.rm_set_num_threads(1)


@EACH
def test_exceptions(isa_library, source, target):
    libm = ctypes.CDLL(None)
    _, kind, fraction, _, infinity, _ = FORMATS[source]
    inf = infinity << fraction
    most = inf - 1
    overflows = round_rational(rational_of(most, source), target) == FORMATS[target][4] << FORMATS[target][2]
    for code, raised in (
        (inf, 0),
        (inf | 1, 1),
        (inf | 1 << (fraction - 1), 0),
        (most, 8 if overflows else 0),
        (1, 0),
        (0, 0),
    ):
        for n in (1, 50):
            x = np.zeros(n, kind)
            x[-1] = code
            libm.feclearexcept(61)
            convert(isa_library, source, target, x)
            assert libm.fetestexcept(29) & 13 == raised, (hex(code), n)


def test_bad_arguments(library):
    x, out = np.zeros(8, np.float32), np.full(8, 7, np.uint16)
    call = lambda a, b, n, p, q: library.rm_convert(a, b, I64(n), p, q)  # noqa: E731
    assert call(4, 0, 8, pointer(x), pointer(out)) == status(ENUM, 1)
    assert call(2, -1, 8, pointer(x), pointer(out)) == status(ENUM, 2)
    assert call(2, 0, -1, pointer(x), pointer(out)) == status(SIZE, 3)
    assert call(2, 0, 8, None, pointer(out)) == status(NULL, 4)
    assert call(2, 0, 8, pointer(x), None) == status(NULL, 5)
    assert call(2, 0, 8, pointer(x), pointer(x)) == status(OVERLAP, 5)
    assert call(2, 0, 0, None, None) == OK
    assert (out == 7).all()
