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
