"""rm_index_add and rm_segment_sum against exact integers, bit by bit, on every instruction set."""

import ctypes
import itertools

import elementwise_library
import native
import numpy as np
import pytest
import reduction_data as data
from exact_oracle import CANONICAL_NAN, FORMATS, bits, exact_bits
from reductions_library import ENUM, FE_INVALID, FE_OVERFLOW, I64, NULL, OK, OVERLAP, SIZE, Reductions, pointer, status
from scatter_library import (
    KINDS,
    NAMES,
    call,
)

INDEX = 12
FMT = pytest.mark.parametrize("fmt", NAMES)
FUNCTIONS = ("index_add", "segment_sum")


@pytest.fixture
def rng():
    return np.random.default_rng(50)


def kind(fmt):
    return np.dtype(FORMATS[fmt][0])


def expected(function, fmt, out, index, src):
    """The bits that the specification asks for."""
    want = bits(np.ascontiguousarray(out)).copy() if function == "index_add" else np.zeros(out.shape, FORMATS[fmt][1])
    for row in np.unique(index):
        for col in range(out.shape[1]):
            terms = list(src[index == row, col]) + ([out[row, col]] if function == "index_add" else [])
            want[row, col] = exact_bits(terms, fmt)
    return want


def check(lib, fmt, out, index, src):
    for function in FUNCTIONS:
        want, got = expected(function, fmt, out, index, src), out.copy()
        assert call(lib, function, fmt, got, index, src) == OK
        wrong = np.argwhere(bits(got) != want)
        assert not len(wrong), f"{function}: {len(wrong)} of {want.size}, first {wrong[0]}"


def hard(rng, name, fmt, m, n):
    """Hard data, in a 16-bit format with its exponents."""
    if fmt in ("f32", "f64"):
        return getattr(data, name)(rng, kind(fmt).type, m, n)
    scale = {"spread": 2.0 ** rng.integers(-12, 8, (m, n)), "tiny": 2.0 ** (-14 if fmt == "f16" else -126)}
    scale |= {"subnormal": float(np.array(1, np.uint16).view(kind(fmt))), "huge": 2.0 ** (14 if fmt == "f16" else 126)}
    base = getattr(data, name if name not in scale else "gaussian")(rng, np.float32, m, n)
    with np.errstate(all="ignore"):
        return np.clip(base * np.float64(scale.get(name, 1.0)), -60000, 60000).astype(kind(fmt))


@FMT
@pytest.mark.parametrize("name", KINDS)
def test_hard_data(lib, rng, fmt, name):
    for n, rows, cols in ((40, 7, 37), (150, 3, 9), (30, 100, 5)):
        src, out = hard(rng, name, fmt, n, cols), hard(rng, name, fmt, rows, cols)
        check(lib, fmt, out, rng.integers(0, rows, n), src)


@FMT
def test_shapes(lib, rng, fmt):
    """Every number of columns around whole vectors and blocks; few and many contributions; empty destinations."""
    for cols in (*range(1, 20), 31, 32, 33, 47, 65):
        for n, rows in ((1, 1), (5, 9), (40, 2)):
            src, out = hard(rng, "gaussian", fmt, n, cols), hard(rng, "gaussian", fmt, rows, cols)
            check(lib, fmt, out, rng.integers(0, rows, n), src)


COLUMNS = pytest.mark.parametrize("cols", [1, 3, 40])


@FMT
@pytest.mark.parametrize("n, rows", [(400, 7), (50, 150), (20, 3000), (1, 10**6)], ids=str)
def test_single_elements(lib, rng, fmt, n, rows):
    """One column: by cells, by counting, by digits; strided too."""
    for name in ("gaussian", "cancelling", "spread"):
        src, out = hard(rng, name, fmt, n, 4), hard(rng, "gaussian", fmt, rows, 2)
        index = rng.integers(0, rows, n)
        check(lib, fmt, out[:, :1].copy(), index, src[:, :1].copy())
        check(lib, fmt, out[:, :1].copy(), index, src[:, 1:2])


@FMT
@COLUMNS
@pytest.mark.parametrize("few", [True, False])
def test_ties_and_beside_them(lib, fmt, cols, few):
    """Half-way between neighbours, and the least step to either side, with large terms that cancel; few and many terms."""
    t, (_, _, fraction, least, _, _) = kind(fmt), FORMATS[fmt]
    half, hair, big = 2.0 ** -(fraction + 1), max(2.0**-140, 2.0**least), 2.0 ** (13 if fmt == "f16" else 100)
    terms = []
    for odd, nudge, sign in itertools.product((0, 1), (0.0, hair, -hair), (1, -1)):
        x = sign * np.array([big, 1.0 + odd * 2 * half, half, nudge, -big], np.float64)
        terms.append(np.concatenate([x, np.zeros(0 if few else 30)]))
    rows, each = len(terms), len(terms[0])
    src = np.repeat(np.concatenate(terms).astype(t)[:, None], cols, axis=1)
    index = np.repeat(np.arange(rows), each)
    rng = np.random.default_rng(3)
    for old in (0.0, half / 2, hair):
        out = np.full((rows, cols), old, t)
        order = rng.permutation(len(index))
        check(lib, fmt, out, index[order], np.ascontiguousarray(src[order]))


@FMT
@COLUMNS
def test_special_values(lib, rng, fmt, cols):
    t = kind(fmt)
    inf, nan, big = np.inf, np.nan, float(np.array((FORMATS[fmt][4] << FORMATS[fmt][2]) - 1, FORMATS[fmt][1]).view(t))
    least = float(np.array(1, FORMATS[fmt][1]).view(t))
    cases = [[inf], [-inf, 1], [inf, -inf], [nan], [nan, inf], [-0.0], [-0.0, -0.0], [1, -1], [big, big], [-big, -big]]
    cases += [[big, big, -big], [big, big, -big, -big], [-least], [least, -least], [least, least], [big, least], [inf, -big]]
    cases += [case + [0.0] * 30 for case in cases]
    index = np.repeat(np.arange(len(cases)), [len(case) for case in cases])
    src = np.repeat(np.concatenate(cases).astype(t)[:, None], cols, axis=1)
    for old in (0.0, -0.0, 1.0, inf, -inf, nan, big):
        order = rng.permutation(len(index))
        check(lib, fmt, np.full((len(cases), cols), old, t), index[order], np.ascontiguousarray(src[order]))
    if t != np.float64:
        values = np.arange(0, 1 << (8 * t.itemsize), 1 if t.itemsize == 2 else 65537 * 251, dtype=np.uint64)
        src = values.astype(FORMATS[fmt][1]).view(t)[:, None]
        alone = np.zeros_like(src)  # every number alone: itself, but for the sign of zero and the kind of NaN
        assert call(lib, "segment_sum", fmt, alone, np.arange(len(src)), src) == OK
        sign, infinity = 1 << FORMATS[fmt][5], FORMATS[fmt][4] << FORMATS[fmt][2]
        size = bits(src) & (sign - 1)
        want = np.where(size > infinity, CANONICAL_NAN[fmt], np.where(size == 0, 0, bits(src)))
        assert np.array_equal(bits(alone), want)


@FMT
@COLUMNS
def test_random_bits(lib, rng, fmt, cols):
    unsigned = FORMATS[fmt][1]
    top = 1 << (8 * np.dtype(unsigned).itemsize)
    for n, rows in ((12, 6), (60, 6), (80, 2)):
        src, out = (rng.integers(0, top, (m, cols), unsigned, endpoint=False).view(kind(fmt)) for m in (n, rows))
        check(lib, fmt, out, rng.integers(0, rows, n), src)


@FMT
def test_rows_without_contributions_keep_their_bits(lib, rng, fmt):
    unsigned = FORMATS[fmt][1]
    for cols, rows in ((1, 50), (1, 5000), (5, 50)):
        out = rng.integers(0, np.iinfo(unsigned).max, (rows, cols), unsigned).view(kind(fmt))
        bits(out)[:3] = [[1 << FORMATS[fmt][5]], [CANONICAL_NAN[fmt] | 1], [(FORMATS[fmt][4] << FORMATS[fmt][2]) | 1]]
        before = bits(out).copy()
        index = rng.integers(rows // 2, rows, 20)
        assert call(lib, "index_add", fmt, out, index, hard(rng, "gaussian", fmt, 20, cols)) == OK
        named = np.isin(np.arange(rows), index)
        assert np.array_equal(bits(out)[~named], before[~named]) and (bits(out)[named] != before[named]).any()


@FMT
@COLUMNS
@pytest.mark.parametrize("name", ["gaussian", "spread", "cancelling", "special"])
def test_permutations_and_threads(lib, rng, fmt, cols, name):
    n, rows = 40_000 // cols + 700_000 // max(cols, 20), 300
    src, out = hard(rng, name, fmt, n, cols), hard(rng, "gaussian", fmt, rows, cols)
    index = rng.integers(0, rows, n) ** 2 // rows
    index[: n // 2] = 17  # one row has most of them
    for function in FUNCTIONS:
        seen = set()
        for threads in (1, 2, 3):
            lib.threads(threads)
            order = rng.permutation(n)
            got = out.copy()
            assert call(lib, function, fmt, got, index[order], np.ascontiguousarray(src[order])) == OK
            seen.add(bits(got).tobytes())
        lib.threads(1)
        assert len(seen) == 1
        some = rng.integers(0, rows, 5)
        kept = np.isin(index, some)
        if n > 5 * cols:
            want = expected(function, fmt, out, index[kept], src[kept])
            assert np.array_equal(bits(got)[some], want[some])


@FMT
@pytest.mark.parametrize("cols, name", [(1, "cancelling"), (10, "gaussian")])
def test_all_to_one_row(lib, rng, fmt, cols, name):
    n = 100_000
    src, out = hard(rng, name, fmt, n, cols), hard(rng, "gaussian", fmt, 3, cols)
    got = out.copy()
    assert call(lib, "index_add", fmt, got, np.ones(n, np.int64), src) == OK
    assert np.array_equal(bits(got)[[0, 2]], bits(out)[[0, 2]])
    assert bits(got)[1, -1] == exact_bits([*src[:, -1], out[1, -1]], fmt)


def misaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = np.ndarray(x.shape, x.dtype, buffer=raw, offset=1)
    view[...] = x
    return view


LAYOUTS = {
    "plain": lambda x: x.copy(),
    "transposed": lambda x: x.T.copy().T,
    "apart": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "misaligned": misaligned,
    "padded": lambda x: np.pad(x, 3)[3:-3, 3:-3],
}


@FMT
@pytest.mark.parametrize("cols", [1, 21, 34])
def test_views(lib, rng, fmt, cols):
    src, out = hard(rng, "gaussian", fmt, 60, cols), hard(rng, "gaussian", fmt, 9, cols)
    index = rng.integers(0, 9, 60)
    strided = np.repeat(index, 2)[::2], index[::-1].copy()[::-1], misaligned(index)
    for function in FUNCTIONS:
        want = expected(function, fmt, out, index, src)
        for k, (a, b) in enumerate(itertools.product(LAYOUTS, LAYOUTS)):
            got = LAYOUTS[a](out)
            around = got.base.copy() if got.base is not None and a == "padded" else None
            assert call(lib, function, fmt, got, strided[k % 3], LAYOUTS[b](src)) == OK
            assert np.array_equal(bits(np.ascontiguousarray(got)), want), (function, a, b)
            if around is not None:
                got[...] = out
                assert np.array_equal(bits(got.base), bits(around))
        for one in (np.broadcast_to(src[:1], src.shape), np.broadcast_to(src[:, :1], src.shape)):  # strides of 0
            got = out.copy()
            assert call(lib, function, fmt, got, index, one) == OK
            assert np.array_equal(bits(got), expected(function, fmt, out, index, one))


@FMT
def test_empty(lib, fmt):
    t = kind(fmt)
    for rows, cols, n in itertools.product((0, 1, 5), (0, 1, 4), (0, 3)):
        out, src, index = np.full((rows, cols), 7, t), np.ones((n, cols), t), np.zeros(n, np.int64)
        for function in FUNCTIONS:
            got = out.copy()
            assert call(lib, function, fmt, got, index, src) == (OK if rows or not n else status(INDEX, 8))
            want = out.copy() if function == "index_add" else np.zeros_like(out)
            want[:1] += t.type(n)
            assert np.array_equal(got, want)
    f = lib.c.rm_index_add
    assert f(0, I64(0), I64(0), None, I64(0), I64(0), I64(0), None, I64(0), None, I64(0), I64(0)) == OK


# ------------------------------------------------------------------------------------------------------- tiers, flags, errors


@pytest.mark.parametrize("cols", [1, 32])
def test_every_tier_is_taken(lib, rng, cols):
    lib.threads(1)
    index = np.repeat(np.arange(50), 100)

    def tiers(fmt, src):
        lib.stats()
        out = np.zeros((50, cols), kind(fmt))
        assert call(lib, "index_add", fmt, out, index, np.ascontiguousarray(src)) == OK
        return np.array(lib.stats())

    for fmt in NAMES:
        src = hard(rng, "gaussian", fmt, 5000, cols)
        fast, double_double, accumulator = tiers(fmt, src)
        assert fast > 0.9 * 50 * cols and accumulator == 0 and fast + double_double == 50 * cols
        small = rng.integers(-9, 10, (5000, cols)).astype(kind(fmt))  # exact sums, many of them ties or zeros
        assert tiers(fmt, small)[2] == 0
        if fmt in ("bf16", "f32"):  # sums of f16 are nearly always exact in binary64, and for f64 this tier is the first
            src[::100], src[99::100] = 2.0**100, -(2.0**100)
            assert tiers(fmt, src)[1] > 0.9 * 50 * cols
    src = np.zeros((5000, cols))
    src[::100], src[1::100], src[2::100], src[3::100], src[4::100] = 1e300, 1.0, 2.0**-53, 1e-300, -1e300
    assert tiers("f64", src)[2] == 50 * cols
    wide = np.zeros((5000, cols), np.float32)
    wide[::100], wide[1::100], wide[2::100], wide[3::100], wide[4::100] = 2.0**120, 1.0, 2.0**-24, 2.0**-149, -(2.0**120)
    assert tiers("f32", wide)[2] == 50 * cols


@FMT
@COLUMNS
def test_masks_need_no_accumulator(lib, rng, fmt, cols):
    """Sums of -inf and finite numbers, which are -inf, are known from the additions alone below binary64; NaN are not."""
    src = hard(rng, "gaussian", fmt, 400, cols)
    index = np.sort(rng.integers(0, 40, 400))
    src[::3] = -np.inf
    for function in FUNCTIONS:
        out = hard(rng, "gaussian", fmt, 40, cols)
        want = expected(function, fmt, out, index, src)
        lib.stats()
        assert call(lib, function, fmt, out, index, src) == OK
        assert np.array_equal(bits(out), want) and (fmt == "f64" or lib.stats()[2] == 0)


@FMT
def test_groups_of_cells(lib, rng, fmt):
    """Every number of elements about a group of cells and the vectors of it."""
    for rows in (*range(1, 20), 31, 33):
        n = 2 * rows
        check(lib, fmt, hard(rng, "gaussian", fmt, rows, 1), rng.integers(0, rows, n), hard(rng, "gaussian", fmt, n, 1))
        check(lib, fmt, hard(rng, "gaussian", fmt, rows, 1), rng.integers(0, rows, 1), hard(rng, "gaussian", fmt, 1, 1))


@FMT
@COLUMNS
def test_flags(lib, fmt, cols):
    t, libm = kind(fmt), ctypes.CDLL(None)
    inf, nan, big = np.inf, np.nan, float(np.array((FORMATS[fmt][4] << FORMATS[fmt][2]) - 1, FORMATS[fmt][1]).view(t))
    signalling = np.array((FORMATS[fmt][4] << FORMATS[fmt][2]) | 1, FORMATS[fmt][1])

    def raised(function, terms, old=0.0, extra=0):
        src = np.repeat(np.array([*terms, *[0.0] * extra]).astype(t)[:, None], cols, axis=1)
        out, index = np.full((2, cols), old, t), np.zeros(len(src), np.int64)
        libm.feclearexcept(61)
        assert call(lib, function, fmt, out, index, src) == OK
        return libm.fetestexcept(FE_INVALID | FE_OVERFLOW)

    for function, extra in itertools.product(FUNCTIONS, (0, 40)):
        for terms, want in (
            ([inf, inf], 0),
            ([inf, -inf], FE_INVALID),
            ([nan, 1], 0),
            ([nan, inf, -inf], 0),
            ([big, big], FE_OVERFLOW),
            ([big, big, -big], 0),
            ([big, inf], 0),
            ([1, 2.0**-10], 0),
        ):
            assert raised(function, terms, extra=extra) == want, (function, terms)
        src = np.full((1 + extra, cols), 0, t)
        bits(src)[0] = signalling
        out = np.zeros((1, cols), t)
        libm.feclearexcept(61)
        assert call(lib, function, fmt, out, np.zeros(1 + extra, np.int64), src) == OK
        assert libm.fetestexcept(FE_INVALID | FE_OVERFLOW) == FE_INVALID
    assert raised("index_add", [inf], old=-inf) == FE_INVALID and raised("segment_sum", [inf], old=-inf) == 0


def test_bad_arguments_write_nothing(lib):
    out, src, index = np.full((4, 3), 7.0), np.ones((5, 3)), np.arange(5) % 4
    for function in FUNCTIONS:
        f = getattr(lib.c, f"rm_{function}")
        good = [
            3,
            I64(4),
            I64(3),
            pointer(out),
            I64(24),
            I64(8),
            I64(5),
            pointer(index),
            I64(8),
            pointer(src),
            I64(24),
            I64(8),
        ]

        def bad(position, value, code, f=f, good=good):
            arguments = list(good)
            arguments[position - 1] = value
            found = f(*[ctypes.c_void_p(None) if a is None else a for a in arguments])
            assert found == status(code, {5: 4, 6: 4}.get(position, position)), (position, found)

        bad(1, 4, ENUM)
        bad(1, -1, ENUM)
        bad(2, I64(-1), SIZE)
        bad(3, I64(-1), SIZE)
        bad(4, None, NULL)
        bad(5, I64(0), OVERLAP)
        bad(6, I64(0), OVERLAP)
        bad(6, I64(4), OVERLAP)
        bad(7, I64(-1), SIZE)
        bad(8, None, NULL)
        bad(10, None, NULL)
        bad(4, pointer(src), OVERLAP)
        for value in (-1, 4, 2**62, -(2**63)):
            for place in range(5):
                wrong = index.copy()
                wrong[place] = value
                bad(8, pointer(wrong), INDEX)
        bad(4, pointer(index), OVERLAP)
        assert (out == 7).all() and (src == 1).all() and np.array_equal(index, np.arange(5) % 4)
    whole = np.ones((5, 6))  # src and out as two blocks of one matrix are apart
    assert call(lib, "index_add", "f64", whole[:, :3], np.arange(5), whole[:, 3:]) == OK
    assert (whole[:, :3] == 2).all() and (whole[:, 3:] == 1).all()


# ---------------------------------------------------------------------------------------------------------------- control


@pytest.mark.sample(4)
@FMT
@pytest.mark.parametrize("cols", [1, 32])
def test_control_with_bounds_too_small(lib, rng, fmt, cols):
    """Sums beside a midpoint, of terms whose binary64 sums err by more: with bounds made 2^20 times too small some are wrong."""
    if fmt == "f16":
        pytest.skip("binary64 sums of that many f16 numbers are exact")
    n, rows, t = 60, 40, kind(fmt)
    fraction = FORMATS[fmt][2]
    # Of a size at which sums lose what decides a rounding of numbers near 1.
    noise = rng.standard_normal((rows, n, cols)) * 2.0 ** (53 if fmt == "f64" else 53 - fraction)
    noise = noise.astype(t).astype(np.float64)
    hair = 2.0 ** (-40 if fmt != "f64" else -70) * rng.choice([-1, 1], (rows, 1, cols))
    ends = np.stack([np.ones((rows, cols)), np.full((rows, cols), 2.0 ** -(fraction + 1)), hair[:, 0]], axis=1)
    src = np.concatenate([noise, -noise, ends], axis=1).astype(t)
    src = rng.permuted(src, axis=1).reshape(-1, cols)
    index = np.repeat(np.arange(rows), 2 * n + 3)
    out = np.zeros((rows, cols), t)
    want = expected("segment_sum", fmt, out, index, src)
    got = out.copy()
    assert call(lib, "segment_sum", fmt, got, index, src) == OK and np.array_equal(bits(got), want)
    shrunk = elementwise_library.libraries(native.control_library())
    assert call(Reductions(shrunk[lib.isa()].library), "segment_sum", fmt, got, index, src) == OK
    assert not np.array_equal(bits(got), want)
