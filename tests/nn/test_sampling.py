"""rm_gather_sum against exact rationals on every instruction set, and the refusals of it and of rm_grid_terms. tests/torch/test_images.py has the weights
of grids."""

import ctypes
import itertools
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import CANONICAL_NAN, bits, rounded
from reductions_library import ENUM, NULL, OK, OVERLAP, SIZE, status
from sampling_library import NAMES, Gather, gather_sum, sum_of_all
from statistics_library import dtype_of

INDEX = 12
NARROW = ["f16", "bf16", "f32"]


def data(rng, fmt, shape):
    dtype = dtype_of(fmt)
    x = rng.standard_normal(shape)
    yield x.astype(dtype)
    yield np.round(x * 2).astype(dtype)  # ties
    yield (x * 2.0 ** rng.integers(-12, 12, shape)).astype(dtype)
    yield (np.round(x * 9) * (2.0**-24 if fmt == "f16" else 2.0**-133)).astype(dtype)
    yield (np.sign(x) * (6e4 if fmt == "f16" else 3e38)).astype(dtype)
    yield np.where(x > 0.5, 0.0, -0.0).astype(dtype)


def weights(rng, shape):
    yield rng.standard_normal(shape)  # of 53 bits: products leave something over
    yield rng.integers(-4, 5, shape) / 4
    yield rng.standard_normal(shape) * 2.0 ** rng.integers(-40, 40, shape)
    yield np.where(rng.random(shape) < 0.3, rng.choice([1e-300, 1e300, 5e-324, 0.0]), rng.standard_normal(shape))


def exact(x, at, weight, terms, mean):
    """Of one result: x the elements of its line."""
    total = Fraction(0)
    for i in terms:
        if at[i] >= 0:
            total += Fraction(float(x[at[i]])) * (1 if weight is None else Fraction(float(weight[i])))
    return total / len(terms) if mean and len(terms) else total


# lines, elements, inner, points, taps, lines of a list
SHAPES = [
    (3, 7, 1, 5, 4, 1),
    (2, 40, 1, 260, 3, 2),
    (1, 5, 1, 1, 19, 1),
    (2, 6, 5, 4, 3, 2),
    (1, 4, 258, 1, 9, 1),
    (6, 3, 1, 64, 2, 3),
]


@pytest.mark.parametrize("fmt", NARROW)
def test_sums(isa_library, fmt):
    rng, dtype = np.random.default_rng(3), dtype_of(fmt)
    for number, (lines, elements, inner, points, taps, group) in enumerate(SHAPES):
        lists = -(-lines // group)
        at = rng.integers(-1, elements, (lists, taps, points))
        for j, x in enumerate(data(rng, fmt, (lines, elements, inner))):
            if lines * points * inner > 100 and (j + number) % 3:
                continue
            w = None if (j + number) % 4 == 3 else next(itertools.islice(weights(rng, at.shape), (j + number) % 4, None))
            y = np.full((lines, points, inner), 7, dtype)
            if number % 2:
                x = np.asfortranarray(x)
            assert gather_sum(isa_library, fmt, fmt, x, at, w, y, group=group, mean=j % 2) == OK
            got = bits(y)
            for line, p, c in np.ndindex(y.shape):
                terms = at[line // group, :, p], None if w is None else w[line // group, :, p]
                want = exact(x[line, :, c], *terms, range(taps), j % 2)
                assert got[line, p, c] == rounded(want, dtype), (number, j, line, p, c)


@pytest.mark.parametrize("format_x, fmt", [("f32", "f32"), ("f64", "f32"), ("f64", "bf16"), ("f16", "f32")])
def test_bags(isa_library, format_x, fmt):
    """Lists of several lengths, of binary64 too."""
    rng = np.random.default_rng(4)
    first = np.array([0, 0, 3, 4, 40, 40, 47], np.int64)
    at = rng.integers(-1, 9, first[-1])
    for mean, x in itertools.product((False, True), (rng.standard_normal((1, 9, 6)), rng.integers(-9, 9, (1, 9, 6)) / 2)):
        if mean and format_x == "f64":
            continue
        x = x.astype(dtype_of(format_x))
        y = np.full((1, 6, 6), 7, dtype_of(fmt))
        assert gather_sum(isa_library, format_x, fmt, x, at, None, y, first=first, mean=mean) == OK
        for p, c in np.ndindex(6, 6):
            want = exact(x[0, :, c], at, None, range(first[p], first[p + 1]), mean)
            assert bits(y)[0, p, c] == rounded(want, y.dtype), (p, c)


@pytest.mark.parametrize("fmt", NARROW)
def test_special_values(isa_library, fmt):
    inf, nan = np.inf, np.nan
    rows = np.array([[1, inf, 2], [-inf, 1, 1], [inf, -inf, 0], [nan, 1, inf], [0, -0.0, -0.0]], dtype_of(fmt))
    made = bits(sum_of_all(isa_library, fmt, rows)).ravel().tolist()
    want = bits(np.array([inf, -inf], rows.dtype)).tolist() + [CANONICAL_NAN[fmt]] * 2 + [0]
    assert made == want
    at, w = np.array([[[0, 0], [1, -1]]]), np.array([[[1.0, 1.0], [0.0, 0.0]]])
    y = np.zeros((1, 2, 1), rows.dtype)
    assert gather_sum(isa_library, fmt, fmt, rows[:1, :, None], at, w, y) == OK
    assert bits(y).ravel().tolist() == [CANONICAL_NAN[fmt], *bits(rows[:1, 0]).tolist()]  # 0 times infinity, and no term


def test_few_terms_of_lines(isa_library):
    """Of binary32: one to eight terms, of which two may be a tie, or on its side, by what is far below; short and long lines, of lists in common."""
    rng = np.random.default_rng(5)
    for taps, points, elements, group in (
        (1, 5, 3, 1),
        (2, 67, 40, 1),
        (2, 300, 7, 2),
        (3, 41, 9, 3),
        (4, 260, 30, 1),
        (8, 37, 20, 3),
    ):
        for j, exponents in enumerate((0, 3, 26, 60)):
            x = (
                rng.standard_normal((3, elements, 1)) * 2.0 ** rng.integers(-exponents, exponents + 1, (3, elements, 1))
            ).astype("f4")
            for w in itertools.islice(weights(rng, (-(-3 // group), taps, points)), 3):
                at, w, y = (
                    rng.integers(-1, elements, w.shape),
                    w.astype("f4").astype("f8") if j % 2 else w,
                    np.full((3, points, 1), 7, "f4"),
                )
                assert gather_sum(isa_library, "f32", "f32", x, at, w, y, group=group) == OK
                for line, p in np.ndindex(3, points):
                    terms = exact(x[line, :, 0], at[line // group, :, p], w[line // group, :, p], range(taps), False)
                    assert bits(y)[line, p, 0] == rounded(terms, y.dtype), (taps, exponents, line, p)


def test_what_is_not_finite_in_few_terms(isa_library):
    """Bits, and the exception that signalling NaNs, products of 0 and infinity, and infinities of both signs owe."""
    rng, libm, one = np.random.default_rng(6), ctypes.CDLL(None), np.ones((1, 2, 40))
    inf, quiet, signalling = np.inf, np.nan, np.array(0x7F800001, "u4").view("f4")
    for special, weight, raised in (
        ([quiet], 1, False), ([inf], 1, False), ([-inf, quiet], 1, False), ([inf, -inf], 1, True), ([signalling], 1, True), ([quiet, signalling], 1, True),
        ([inf], 0, True), ([quiet], 0, False), ([-inf], -1, False),
    ):  # fmt: skip
        x, at = rng.standard_normal((2, 50, 1)).astype("f4"), np.arange(80).reshape(1, 2, 40) // 2
        x[1, 7 : 7 + len(special), 0] = special
        at[0, :, 30:32] = [[7, 7], [min(8, 6 + len(special)), 9]]
        y, w = np.zeros((2, 40, 1), "f4"), one * weight
        libm.feclearexcept(61)
        assert gather_sum(isa_library, "f32", "f32", x, at, w, y, group=2) == OK
        assert bool(libm.fetestexcept(1)) == raised, (special, weight)
        with np.errstate(invalid="ignore"):
            want = (x[:, at[0, 0], 0] * weight + x[:, at[0, 1], 0] * weight)[..., None]
        want[np.isnan(want)] = np.nan
        here = ~np.isfinite(want)
        assert (
            here.any() and (bits(y)[here] & 0x7FFFFFFF == bits(want)[here] & 0x7FFFFFFF).all() and np.isfinite(y[~here]).all()
        )
        assert (np.signbit(y[here]) == (y[here] < 0)).all()


def test_refusals(library):
    x, y = np.ones((2, 3, 2), "f4"), np.full((2, 4, 2), 7, "f4")
    at, w = np.zeros((1, 5, 4), np.int64), np.ones((1, 5, 4))

    def call(x=x, at=at, y=y, formats=("f32", "f32"), **options):
        return gather_sum(library, *formats, x, at, options.pop("w", w), y, **options)

    assert call(formats=("f32", "f64")) == status(ENUM, 2)
    assert call(x=x.astype("f8"), formats=("f64", "f32")) == status(ENUM, 3)
    for bad in (-2, 3):
        wrong = at.copy()
        wrong[0, 4, 3] = bad
        assert call(at=wrong) == status(INDEX, 3)
    assert call(first=np.array([0, 2, 1, 3, 4]), w=None) == status(SIZE, 3)
    assert call(first=np.array([1, 2, 3, 3, 4]), w=None) == status(SIZE, 3)
    both = np.ones((2, 4, 2), "f4")
    assert call(x=both[:, :3], y=both) == status(OVERLAP, 6)
    assert (y == 7).all() and (both == 1).all()
    g = Gather(2, 3, 2, 4, 5, 0, None, at.ctypes.data, None, 0)
    f32 = NAMES.index("f32")
    assert library.rm_gather_sum(f32, f32, ctypes.byref(g), None, None, None) == status(SIZE, 3)
    assert library.rm_gather_sum(f32, f32, None, None, None, None) == status(NULL, 3)
    grid = (ctypes.c_int * 4)(4, 0, 0, 0)
    assert library.rm_grid_terms(f32, ctypes.byref(grid), None, None, None, None) == status(ENUM, 2)
    assert library.rm_grid_terms(7, None, None, None, None, None) == status(ENUM, 1)
